"""Pair the scene and the tool's pose of one control step by their stamp."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

from robocontrast_ros.domain import Pose, Scene

Value = TypeVar("Value")


@dataclass(frozen=True)
class Sample:
    """Input of the scores at one control step.

    Attributes:
        stamp: of the scene and of the tool's pose, which are equal [ns].
        scene: ground truth; None if it is not known at this control step.
        tool_pose: pose of the tool (or of the base) in the scene's frame.
    """

    stamp: int
    scene: Scene | None
    tool_pose: Pose

    @property
    def robot_pose(self) -> Pose:
        """A pose of the robot's path: the ground truth of a mobile robot's base, else the tool's pose."""
        truth = None if self.scene is None else self.scene.robot
        return truth or self.tool_pose


class Join(Protocol):
    """Makes samples from scenes and tool poses, whichever arrives first; each is stamped [ns]."""

    def add_scene(self, stamp: int, scene: Scene) -> Sample | None:
        """Take a scene and return the sample that it completes, if any."""

    def add_tool_pose(self, stamp: int, pose: Pose) -> Sample | None:
        """Take a tool pose and return the sample that it completes, if any."""


def make_join(scene_when_asked: bool, after: int = -1) -> Join:
    """Return the maker of a trial's samples.

    Args:
        scene_when_asked: whether the scene is known only on request, and not at every control step.
        after: stamp of the start scene [ns]; samples up to it are not part of the trial.
    """
    return PosesAlone(after) if scene_when_asked else StampJoin(after)


class PosesAlone:
    """Makes a sample of each tool pose, if the scene is not known at control steps."""

    def __init__(self, after: int = -1) -> None:
        """Begin a trial; see ``make_join``."""
        self._last = after

    def add_scene(self, stamp: int, scene: Scene) -> Sample | None:
        """Leave the scene out: the one at the end is no control step."""
        return None

    def add_tool_pose(self, stamp: int, pose: Pose) -> Sample | None:
        """Return the sample of a tool pose; none for one that is not later than the one before."""
        if stamp <= self._last:
            return None
        self._last = stamp
        return Sample(stamp, None, pose)


class StampJoin:
    """Pairs scenes and tool poses of equal stamp, whichever arrives first.

    Samples come out in the order of their stamps, each stamp once, and only stamps after ``after``.
    That rule, and not the moment of arrival, decides the samples of a trial, so that the live scorer
    and a bag agree. A message whose partner never comes is dropped when a later stamp is paired.
    """

    def __init__(self, after: int = -1) -> None:
        """Begin a trial.

        Args:
            after: stamp of the start scene [ns]; samples up to it are not part of the trial.
        """
        self._last = after
        self._scenes: dict[int, Scene] = {}
        self._tool_poses: dict[int, Pose] = {}
        self.unpaired = 0

    def add_scene(self, stamp: int, scene: Scene) -> Sample | None:
        """Take a scene [ns] and return the sample that it completes, if any."""
        return self._add(self._scenes, stamp, scene)

    def add_tool_pose(self, stamp: int, pose: Pose) -> Sample | None:
        """Take a tool pose [ns] and return the sample that it completes, if any."""
        return self._add(self._tool_poses, stamp, pose)

    def _add(self, side: dict[int, Value], stamp: int, value: Value) -> Sample | None:
        if stamp <= self._last:
            return None
        side[stamp] = value
        if not (stamp in self._scenes and stamp in self._tool_poses):
            return None
        sample = Sample(stamp, self._scenes.pop(stamp), self._tool_poses.pop(stamp))
        self._last = stamp
        for waiting in (self._scenes, self._tool_poses):
            for old in [s for s in waiting if s < stamp]:
                del waiting[old]
                self.unpaired += 1
        return sample
