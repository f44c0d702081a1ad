"""The folder of one run: parameters, journal, bags and results. docs/run_folder.md shows it."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from robocontrast_ros.configuration import ConfigurationError, write_yaml
from robocontrast_ros.system.disk import make_folder, write_file

GRAPH_VARIABLES = (
    "ROS_DOMAIN_ID",
    "ROS_AUTOMATIC_DISCOVERY_RANGE",
    "ROS_STATIC_PEERS",
    "ROS_LOCALHOST_ONLY",
    "RMW_IMPLEMENTATION",
)
"""Environment variables that determine which nodes discover one another."""

PROFILES = "problems"
"""Name of the file of the task's problems among a run's parameters."""

LOCKED_PLAN = "locked_plan.json"
"""Name of the copy of a locked plan among a run's parameters."""

TEST_SET = "test_set"
"""Name of the copy of recorded test instances among a run's parameters."""


@dataclass(frozen=True)
class RunFolder:
    """Paths in a run folder.

    Attributes:
        path: the folder.
    """

    path: Path

    @classmethod
    def create(
        cls,
        output: Path,
        name: str,
        now: float,
        *,
        session: dict[str, Any],
        copies: Mapping[str, Path],
        profiles: Mapping[str, Any] | None = None,
        source: str,
    ) -> RunFolder:
        """Make a new run folder that holds a session's parameters.

        Args:
            output: folder of the run folders, made if it is not there.
            name: of the session.
            now: seconds since the epoch, for the folder's name.
            session: the session's parameters, overrides applied.
            copies: ``robot``, ``policy``, ``task``, ``test_set``, ``calibration``, ``tags`` or ``fixed_tags``, or a
                file's name with its ending -> file to copy.
            profiles: problem of the task -> its profile (``tasks.protocol.Profile``) as plain values: the task's file
                may only refer to them. None if it has none.
            source: the session's file, for errors.

        Raises:
            ConfigurationError: the folder cannot be made.
            DiskError: its content cannot be written; there is no folder then.
        """
        stamp = datetime.fromtimestamp(now, tz=timezone.utc).strftime("%Y%m%d_%H%M%S")
        parent = output.expanduser().resolve()
        try:
            parent.mkdir(parents=True, exist_ok=True)
            run = cls(_new_folder(parent, f"{name}_{stamp}"))
        except OSError as error:
            raise ConfigurationError(
                source,
                "output",
                str(parent),
                "a folder that can be written",
                f"{error.strerror}: {error.filename}.",
            ) from None
        try:
            make_folder(run.bags)
            make_folder(run.parameters)
            write_yaml(run.session_file, session)
            for kind, file in copies.items():
                write_file(run.parameters / (kind if "." in kind else f"{kind}.yaml"), file.read_bytes())
            if profiles:
                write_yaml(run.profiles, {"problems": profiles})
        except BaseException:
            shutil.rmtree(run.path, ignore_errors=True)
            raise
        return run

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """Return the run folder at a path.

        Raises:
            ConfigurationError: the path is no run folder.
        """
        run = cls(path.expanduser().resolve())
        if not run.session_file.is_file():
            raise ConfigurationError(
                "command line",
                "run",
                str(path),
                "a run folder, which holds parameters/session.yaml and journal.jsonl",
                "Give the folder that `robocontrast evaluate` printed.",
            )
        return run

    @property
    def name(self) -> str:
        """Name of the run."""
        return self.path.name

    @property
    def parameters(self) -> Path:
        """Folder of the parameters: session, and copies of robot, policy, task and recorded test instances."""
        return self.path / "parameters"

    @property
    def session_file(self) -> Path:
        """The session's parameters with overrides applied."""
        return self.parameters / "session.yaml"

    @property
    def profiles(self) -> Path:
        """The profiles of the task's problems when the session was started; not there if the task has none."""
        return self.parameters / f"{PROFILES}.yaml"

    @property
    def locked_plan(self) -> Path:
        """The copy of the plan that was locked before the session; not there without one."""
        return self.parameters / LOCKED_PLAN

    @property
    def models(self) -> Path:
        """Folder of the models of the session's world for another physics engine; not there without one."""
        return self.parameters / "models"

    @property
    def journal(self) -> Path:
        """The journal."""
        return self.path / "journal.jsonl"

    @property
    def graph(self) -> Path:
        """File with the node to ask, and its ROS environment, while the session runs."""
        return self.path / "graph.yaml"

    def write_graph(self, manager: str) -> None:
        """Write that file, from the environment of this process.

        Args:
            manager: full name of the episode manager's node.
        """
        found = {name: os.environ[name] for name in GRAPH_VARIABLES if name in os.environ}
        write_yaml(self.graph, {"episode_manager": manager, "host": socket.gethostname(), "environment": found})

    def forget_graph(self) -> None:
        """Remove that file: the session has stopped running."""
        self.graph.unlink(missing_ok=True)

    def remove_unbegun(self) -> None:
        """Remove the folder if only the parameters were written into it."""
        others = [path for path in self.path.rglob("*") if path.is_file() and self.parameters not in path.parents]
        if all(path == self.journal and not path.stat().st_size for path in others):
            shutil.rmtree(self.path, ignore_errors=True)

    @property
    def secret(self) -> Path:
        """File with the assignment of a blind session, until it is opened; only its owner may read it."""
        return self.path / "blinding.json"

    @property
    def policies(self) -> Path:
        """Folder with a run folder for each policy of a blind session, once it is opened."""
        return self.path / "policies"

    @property
    def instances(self) -> Path:
        """File of the test instances that were recorded while the session ran."""
        return self.path / "instances.yaml"

    @property
    def bags(self) -> Path:
        """Folder of the bags, one a trial."""
        return self.path / "bags"

    @property
    def figures(self) -> Path:
        """Folder of the pictures."""
        return self.path / "figures"

    @property
    def shift(self) -> Path:
        """Folder of the sizes and pictures of changed scenes, by `robocontrast shift`."""
        return self.path / "shift"

    @property
    def videos(self) -> Path:
        """Folder of the videos, by `robocontrast export`."""
        return self.path / "videos"

    @property
    def maps(self) -> Path:
        """Folder of the maps, one a trial that counts."""
        return self.path / "maps"

    def map(self, trial_id: str) -> Path:
        """Return the path for the map of a trial."""
        return self.maps / f"{trial_id}.png"

    def bag(self, trial_id: str, attempt: int) -> Path:
        """Return the path for the bag of one execution of a trial."""
        # With this module alone, commands find out that there is no such run.
        from robocontrast_ros.episodes.bench import bag_name

        return self.path / bag_name(trial_id, attempt)


def _new_folder(parent: Path, name: str) -> Path:
    """Make and return a new folder; a second one of the same second gets a number."""
    number = 1
    while True:
        path = parent / (name if number == 1 else f"{name}_{number}")
        try:
            path.mkdir()
        except FileExistsError:
            number += 1
        else:
            return path
