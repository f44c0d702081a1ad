"""Score one trial, one control step at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence

from robocontrast_ros.domain import Fault, Outcome, Progress, Scene, TestInstance, TrialResult
from robocontrast_ros.episodes.judging import TRUE_SCENE, Judge, Judging, goal_progress
from robocontrast_ros.episodes.scoring.collisions import CollisionCounter
from robocontrast_ros.episodes.scoring.ndtw import normalised_dtw
from robocontrast_ros.episodes.scoring.spl import success_weighted_path_length
from robocontrast_ros.tasks.protocol import Goal, StagedGoal, Task, robot_start

NANOSECONDS = 1_000_000_000


class EpisodeScorer:
    """Scores one trial, control step by control step.

    A judge says what success and progress are. The true scene (``episodes.judging``): a plain goal is reached where
    it has held for ``hold_steps`` control steps in a row, whatever the robot does afterwards; a goal with
    stages is reached subgoal by subgoal, and may ask that the policy itself stops there. The distance is
    that of the last control step, and the path is the robot's whole path.

    The path starts at the task's start position and is measured in the x-y plane of the scene's frame,
    as the planner's path is, so that p and l of SPL are lengths of the same kind.
    """

    def __init__(
        self,
        goal: Goal,
        start_scene: Scene,
        start_position: Sequence[float],
        optimal_path_length: float,
        hold_steps: int = 1,
        reference_path: tuple[tuple[float, float], ...] = (),
        judging: Judging | None = None,
    ) -> None:
        """Begin a trial.

        Args:
            goal: the expected behaviour b of the trial's instance.
            start_scene: the scene as it was read back after set-up, from which progress is measured.
            start_position: where the robot's tool (or base) starts, in the scene's frame [m]; x and y count.
            optimal_path_length: the planner's path from there [m]; NaN when unknown.
            hold_steps: control steps in a row for which the goal has to hold, at least 1.
            reference_path: the path that the robot should take, shape (n, 2) [m]; nDTW compares it with the
                robot's where the goal has stages. Empty where the path does not matter.
            judging: who says success and progress; None for the true scene's goal.

        Raises:
            KeyError: the scene lacks an object that the goal needs.
            ValueError: a number is out of its range.
        """
        if hold_steps < 1:
            raise ValueError(f"hold_steps: got {hold_steps}, expected at least 1 control step")
        # Numbers that could not be scored after the trial are refused before it.
        success_weighted_path_length(False, 0.0, optimal_path_length)
        self._optimal_path_length = optimal_path_length
        self._reference = reference_path if isinstance(goal, StagedGoal) else ()
        self._threshold = goal.reach if isinstance(goal, StagedGoal) else math.nan
        if self._reference:
            normalised_dtw(self._reference[:1], self._reference[:1], self._threshold)
        self._scene = start_scene
        self._state = judging or goal_progress(goal, start_scene, hold_steps)
        self._collisions = CollisionCounter(start_scene)
        self._path = [_planar(start_position)]
        self._path_length = 0.0
        self._first_stamp: int | None = None
        self._last_stamp: int | None = None

    @classmethod
    def for_instance(
        cls, task: Task, instance: TestInstance, start_scene: Scene, judge: Judge = TRUE_SCENE
    ) -> EpisodeScorer:
        """Return the scorer of a trial of a test instance.

        Args:
            task: its task.
            instance: its initial conditions.
            start_scene: the scene as it was read back after set-up.
            judge: who says success and progress.

        Raises:
            KeyError: the scene lacks an object that the goal needs.
            ValueError: the scene does not say where the robot is, or a number is out of its range.
        """
        return cls(
            goal=task.goal(instance.instruction, start_scene),
            start_scene=start_scene,
            start_position=robot_start(task, start_scene).position,
            optimal_path_length=instance.optimal_path_length,
            reference_path=instance.reference_path,
            judging=judge.begin(task, instance, start_scene),
        )

    @property
    def last_stamp(self) -> int | None:
        """Stamp of the last scored control step [ns]; None before the first."""
        return self._last_stamp

    @property
    def succeeded(self) -> bool:
        """Whether the trial is a success already; never where the policy has to stop for it."""
        return self._state.succeeded

    def update(self, stamp: int, scene: Scene, tool_position: Sequence[float]) -> Progress:
        """Score one control step.

        Args:
            stamp: of the scene [ns], later than the one before.
            scene: the actual scene.
            tool_position: of the tool (or base), in the scene's frame [m]; x and y count.

        Returns:
            The state of the trial. Its ``success`` says whether the goal has held for ``hold_steps``
            control steps up to now; it stays false where the policy has to stop for a success.

        Raises:
            KeyError: the scene lacks an object that the goal needs.
            ValueError: the stamp is not later than the one before, or a number is not finite.
        """
        if self._last_stamp is not None and stamp <= self._last_stamp:
            raise ValueError(f"stamp: got {stamp} ns, expected one later than {self._last_stamp} ns")
        position = _planar(tool_position)
        self._state.update(scene)
        self._collisions.update(scene)
        self._path_length += math.dist(self._path[-1], position)
        self._path.append(position)
        self._scene = scene
        self._first_stamp = stamp if self._first_stamp is None else self._first_stamp
        self._last_stamp = stamp
        return Progress(
            stamp=stamp / NANOSECONDS,
            success=self._state.holds,
            progress=self._state.progress,
            distance_to_goal=self._state.distance,
            path_length=self._path_length,
            subgoals_reached=self._state.reached,
            collisions=self._collisions.count,
        )

    def result(
        self,
        fault: Fault = Fault.NONE,
        detail: str = "",
        steps: int = 0,
        clamped_steps: int = 0,
        stopped: bool = False,
    ) -> TrialResult:
        """Return the scores of the trial up to now.

        A fault of the policy makes it a failure with an SPL of 0; a fault of the bench makes it void,
        with NaN for every score.

        Args:
            fault: what went wrong.
            detail: the fault in words.
            steps: control steps executed.
            clamped_steps: control steps whose action was clamped to a limit of the robot.
            stopped: whether the policy itself ended the trial.
        """
        success = fault is Fault.NONE and self._state.success(stopped)
        spl = success_weighted_path_length(success, self._path_length, self._optimal_path_length)
        return TrialResult(
            outcome=_outcome(success, fault),
            fault=fault,
            detail=detail,
            success=math.nan if fault.voids else float(success),
            spl=math.nan if fault.voids else spl,
            progress=math.nan if fault.voids else self._state.progress,
            distance_to_goal=math.nan if fault.voids else self._state.distance,
            path_length=self._path_length,
            optimal_path_length=self._optimal_path_length,
            steps=steps,
            duration=self._duration(),
            clamped_steps=clamped_steps,
            final_scene=self._scene,
            stopped=stopped,
            subgoals=self._state.subgoals,
            subgoals_reached=self._state.reached,
            ndtw=math.nan if fault.voids else self._ndtw(),
            collisions=self._collisions.count,
        )

    def _ndtw(self) -> float:
        if not self._reference:
            return math.nan
        return normalised_dtw(self._path, self._reference, self._threshold)

    def _duration(self) -> float:
        if self._first_stamp is None or self._last_stamp is None:
            return 0.0
        return (self._last_stamp - self._first_stamp) / NANOSECONDS


def _outcome(success: bool, fault: Fault) -> Outcome:
    if fault.voids:
        return Outcome.VOID
    if fault.of_policy:
        return Outcome.POLICY_FAULT
    return Outcome.SUCCESS if success else Outcome.FAILURE


def _planar(position: Sequence[float]) -> tuple[float, float]:
    x, y = float(position[0]), float(position[1])
    if not (math.isfinite(x) and math.isfinite(y)):
        raise ValueError(f"tool position: got {tuple(position)}, expected finite coordinates [m]")
    return x, y
