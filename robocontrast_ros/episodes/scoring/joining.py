"""Pair the scene and the tool's pose of one control step by their stamp, and the arm's joints if a score needs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from robocontrast_ros.domain import JointTracking, Pose, Scene


@dataclass(frozen=True)
class Sample:
    """Input of the scores at one control step.

    Attributes:
        stamp: of all parts, which are equal [ns].
        scene: ground truth; None if it is not known at this control step.
        tool_pose: pose of the tool (or of the base) in the scene's frame.
        joints: the arm's joints, and where they were commanded to be; None if no score of the session needs them.
    """

    stamp: int
    scene: Scene | None
    tool_pose: Pose
    joints: JointTracking | None = None

    @property
    def robot_pose(self) -> Pose:
        """A pose of the robot's path: the ground truth of a mobile robot's base, else the tool's pose."""
        truth = None if self.scene is None else self.scene.robot
        return truth or self.tool_pose


class StampJoin:
    """Makes samples of tool poses, scenes and joints of equal stamp, whichever arrives first.

    Samples come out in the order of their stamps, each stamp once, and only stamps after ``after``.
    That rule, and not the moment of arrival, decides the samples of a trial, so that the live scorer
    and a bag agree. A message whose partner never comes is dropped when a later stamp is paired.
    """

    def __init__(self, after: int = -1, scenes: bool = True, joints: bool = False) -> None:
        """Begin a trial.

        Args:
            after: stamp of the start scene [ns]; samples up to it are not part of the trial.
            scenes: whether samples have scenes; not if the scene is known only on request: the one at the end is no
                control step.
            joints: whether samples have joints.
        """
        self._last = after
        wanted = {"scene": scenes, "tool_pose": True, "joints": joints}
        self._waiting: dict[str, dict[int, Any]] = {part: {} for part, has in wanted.items() if has}
        self.unpaired = 0

    def add_scene(self, stamp: int, scene: Scene) -> Sample | None:
        """Take a scene [ns] and return the sample that it completes, if any."""
        return self._add("scene", stamp, scene)

    def add_tool_pose(self, stamp: int, pose: Pose) -> Sample | None:
        """Take a tool pose [ns] and return the sample that it completes, if any."""
        return self._add("tool_pose", stamp, pose)

    def add_joints(self, stamp: int, joints: JointTracking) -> Sample | None:
        """Take an arm's joints [ns] and return the sample that they complete, if any."""
        return self._add("joints", stamp, joints)

    def _add(self, part: str, stamp: int, value: Scene | Pose | JointTracking) -> Sample | None:
        if stamp <= self._last or part not in self._waiting:
            return None
        self._waiting[part][stamp] = value
        if not all(stamp in waiting for waiting in self._waiting.values()):
            return None
        parts = {name: waiting.pop(stamp) for name, waiting in self._waiting.items()}
        self._last = stamp
        for waiting in self._waiting.values():
            for old in [s for s in waiting if s < stamp]:
                del waiting[old]
                self.unpaired += 1
        return Sample(stamp, **{"scene": None} | parts)
