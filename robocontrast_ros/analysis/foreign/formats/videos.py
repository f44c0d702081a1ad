"""SIMPLER's videos, whose names are its only results: a folder of them, or a text file with a path a line."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

from robocontrast_ros.analysis.foreign.files import read_lines
from robocontrast_ros.analysis.foreign.outcomes import Outcome, ResultSet
from robocontrast_ros.configuration import ConfigurationError

NAME = re.compile(r"(success|failure)_(obj_episode_\d+|obj_-?[\d.]+_-?[\d.]+?)(?:_.*)?\.mp4")
"""What comes after the place or the episode are statistics of the trial itself, which no pair shares."""
LEVELS = 6
"""checkpoint/scene/control mode/environment/robot/video."""


class Videos:
    """Trials pair by scene, control mode, environment, pose of the robot and of the object."""

    description = "SIMPLER's videos: a folder, or a .txt file with a path a line"

    def matches(self, source: str) -> bool:
        """Return whether one of the names is that of a trial."""
        return any(NAME.fullmatch(path.name) for path in _paths(source))

    def read(self, source: str) -> ResultSet:
        """Return a trial for each video; other files of a folder are left out, other lines of a text are refused."""
        rows = []
        for path in _paths(source):
            found = NAME.fullmatch(path.name)
            if found is None and not Path(source).is_dir():
                raise ConfigurationError(
                    source, "", str(path), "a path whose name begins with success_obj_ or failure_obj_"
                )
            if found is not None:
                above = path.parts[-LEVELS:-1]
                policy = above[0] if len(above) == LEVELS - 1 else ""
                task, robot = "/".join(above[1:-1]) if policy else None, above[-1] if above else ""
                rows.append(Outcome(policy, task, f"{robot}/{found[2]}", success=found[1] == "success"))
        return ResultSet(tuple(rows))


def _paths(source: str) -> list[PurePosixPath]:
    """Return the paths; of a folder with its own name, which may be the checkpoint's."""
    place = Path(source)
    if place.is_dir():
        return sorted(PurePosixPath(path.resolve().as_posix()) for path in place.rglob("*.mp4"))
    if not (source.lower().endswith(".txt") and place.is_file()):
        return []
    return [PurePosixPath(line.replace("\\", "/")) for _, line in read_lines(source)]
