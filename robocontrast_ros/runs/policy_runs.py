"""A run folder for each policy of a blind session that was opened: code that reads a run reads it as any other."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from robocontrast_ros.configuration import read_yaml, write_yaml
from robocontrast_ros.runs.blinding import events_of_policies
from robocontrast_ros.runs.events import PolicyLoaded, to_line
from robocontrast_ros.runs.journal import Journal
from robocontrast_ros.runs.run_folder import PROFILES, TEST_SET, RunFolder
from robocontrast_ros.system.disk import make_folder, write_file, writing


def write_policy_runs(run: RunFolder, journal: Journal) -> tuple[RunFolder, ...]:
    """Write ``policies/NAME`` of each policy: parameters, journal, and a link to the bags.

    An existing folder is updated; files made from its journal (tables, maps) stay.

    Args:
        run: folder of the blind session.
        journal: its journal, opened.

    Returns:
        The folders, in the order in which the session names the policies.

    Raises:
        JournalError: the journal is not opened, or does not prove the opened assignment.
        DiskError: something cannot be written.
    """
    folders = []
    for name, events in events_of_policies(journal).items():
        folder = RunFolder(run.policies / name)
        make_folder(folder.parameters)
        policy = next(event for event in events if isinstance(event, PolicyLoaded))
        session = read_yaml(run.session_file)
        given = session["blind"]["policies"][len(folders)]
        write_yaml(folder.session_file, {**session, "blind": None, "policy": given})
        for copy in (run.parameters / f"{kind}.yaml" for kind in ("robot", "task", TEST_SET, PROFILES)):
            if copy.is_file():  # a drawn test set has no file, nor has a task without profiles
                write_file(folder.parameters / copy.name, copy.read_bytes())
        write_file(folder.parameters / "policy.yaml", policy.parameters)
        write_file(folder.journal, b"".join(map(to_line, events)))
        if run.bags.is_dir():
            _link(folder.bags, Path(os.path.relpath(run.bags, folder.path)))
        folders.append(folder)
    return tuple(folders)


def _link(path: Path, to: Path) -> None:
    with writing(path), contextlib.suppress(FileExistsError):
        path.symlink_to(to, target_is_directory=True)
