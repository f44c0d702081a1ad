"""The input and the interface of a score."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol

from robocontrast_ros.domain import Fault, Scene, ScoreSpec, TestInstance
from robocontrast_ros.episodes.judging import Judging
from robocontrast_ros.episodes.scoring.joining import Sample
from robocontrast_ros.episodes.scoring.path import RobotPath
from robocontrast_ros.tasks.protocol import Goal, Task


@dataclass(frozen=True)
class ScoredTrial:
    """A trial as its scores see it. ``judging`` and ``path`` go on by themselves, before the scores.

    Attributes:
        task: its task.
        instance: its initial conditions, with the planner's optimal path length and the reference path.
        start_scene: the scene as it was read back after set-up.
        judging: the judgement so far.
        path: the robot's path so far.
    """

    task: Task
    instance: TestInstance
    start_scene: Scene
    judging: Judging
    path: RobotPath

    @cached_property
    def goal(self) -> Goal:
        """The expected behaviour b, as the task makes it."""
        return self.task.goals.goal(self.instance.instruction, self.start_scene)


@dataclass(frozen=True)
class End:
    """How a trial ended, or that it goes on.

    Attributes:
        success: 1.0 or 0.0; NaN while the trial goes on, or if its end is not known.
        stopped: whether the policy itself ended the trial.
        fault: code of the fault.
        steps: control steps executed.
    """

    success: float
    stopped: bool
    fault: Fault
    steps: int


class Score(Protocol):
    """Computes one score of one trial; calling the class begins a trial.

    Attributes:
        spec: description of the score.
        needs_contacts: whether it is wrong for a robot that reports no contacts, for which it is then refused; may be
            left out, as the following.
        needs_joints: the same of an arm's joints, which are then part of samples.
        needs_gripper: the same of how far a gripper is closed, which is then part of samples, with the joints.
    """

    spec: ClassVar[ScoreSpec]

    def __init__(self, trial: ScoredTrial) -> None:
        """Begin a trial.

        Raises:
            ValueError: the trial could not be scored.
        """

    def update(self, sample: Sample) -> None:
        """Take one control step; the trial's path, and its judgement if the scene is known, are up to date."""

    def value(self, end: End) -> float:
        """Return the score of the trial up to now, NaN if it does not exist; not called for a void trial."""


def need_joints(scores: Iterable[type[Score]]) -> bool:
    """Return whether a score of a session takes joints or a gripper, so that samples have them."""
    return any(getattr(score, need, False) for score in scores for need in ("needs_joints", "needs_gripper"))


class OfTrial:
    """A score that needs no more than the trial's path and judgement."""

    def __init__(self, trial: ScoredTrial) -> None:
        """Keep the trial."""
        self.trial = trial

    def update(self, sample: Sample) -> None:
        """Do nothing: no control step is kept."""
