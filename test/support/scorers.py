"""Scorers of trials whose goal is given, without a whole task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import SimpleNamespace

from robocontrast_ros.domain import Instruction, Pose, Scene, TestInstance
from robocontrast_ros.episodes.judging import TrueScene
from robocontrast_ros.episodes.scoring import STANDARD, EpisodeScorer, Sample, Score
from robocontrast_ros.tasks.protocol import Goal


class OneGoal:
    """As much of a task as a scorer needs: one goal, whatever is asked for."""

    name, premise = "one_goal", None

    def __init__(self, goal: Goal, start_position: tuple[float, float, float], path_dimensions: int = 2) -> None:
        self.goals = SimpleNamespace(goal=lambda instruction, start: goal)
        self.scenes = SimpleNamespace(start_position=start_position)
        self.path_dimensions = path_dimensions


def scorer_of(
    goal: Goal,
    start: Scene,
    start_position: tuple[float, float, float],
    optimal: float,
    hold_steps: int = 1,
    reference: tuple[tuple[float, ...], ...] = (),
    dimensions: int = 2,
    scores: Iterable[type[Score]] = STANDARD,
) -> EpisodeScorer:
    """Return the scorer of a trial with this goal."""
    instance = TestInstance("x", "one_goal", Instruction("go", "family"), start, optimal, reference)
    task = OneGoal(goal, start_position, dimensions)
    return EpisodeScorer.for_instance(task, instance, start, TrueScene(hold_steps), scores)


def sample_of(stamp: int, scene: Scene | None, position: Sequence[float]) -> Sample:
    """Return a control step with the tool at a position [m]."""
    return Sample(stamp, scene, Pose(tuple(position)))
