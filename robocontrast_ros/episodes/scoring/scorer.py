"""The scoring of one trial, control step by control step."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from robocontrast_ros.domain import Fault, Judgement, Outcome, Progress, Scene, TestInstance, TrialResult, seconds
from robocontrast_ros.episodes.judging import TRUE_SCENE, Judge
from robocontrast_ros.episodes.scoring.joining import Sample
from robocontrast_ros.episodes.scoring.path import RobotPath
from robocontrast_ros.episodes.scoring.score import End, Score, ScoredTrial
from robocontrast_ros.episodes.scoring.standard import STANDARD
from robocontrast_ros.tasks.protocol import Task, path_dimensions, robot_start


class EpisodeScorer:
    """Runs the scores of one trial, control step by control step.

    A judge decides success and progress (``episodes.judging``); each score is a class of its own. The path starts at
    the task's start position and is measured as the planner's path is, in the plane or in space, so that p and l of SPL
    are lengths of the same kind.
    """

    def __init__(self, trial: ScoredTrial, scores: Iterable[type[Score]] = STANDARD) -> None:
        """Begin a trial.

        Args:
            trial: at its start.
            scores: those of the session.

        Raises:
            ValueError: a number is out of its range.
        """
        self._trial = trial
        self._scores = {score.spec.name: score(trial) for score in scores}
        self._live = {name: score for name, score in self._scores.items() if score.spec.live}
        self._scene = trial.start_scene
        self._reached = False
        self._steps = 0
        self._first_stamp: int | None = None
        self._last_stamp: int | None = None

    @classmethod
    def for_instance(
        cls,
        task: Task,
        instance: TestInstance,
        start_scene: Scene,
        judge: Judge = TRUE_SCENE,
        scores: Iterable[type[Score]] = STANDARD,
    ) -> EpisodeScorer:
        """Return the scorer of a trial of a test instance.

        Args:
            task: its task.
            instance: its initial conditions.
            start_scene: the scene as it was read back after set-up, from which progress is measured.
            judge: it decides success and progress.
            scores: those of the session.

        Raises:
            KeyError: the scene lacks an object that the goal needs.
            ValueError: the scene lacks the robot's position, or a number is out of its range.
        """
        path = RobotPath(robot_start(task, start_scene).position, path_dimensions(task))
        judging = judge.begin(task, instance, start_scene)
        return cls(ScoredTrial(task, instance, start_scene, judging, path), scores)

    @property
    def last_stamp(self) -> int | None:
        """Stamp of the last scored control step [ns]; None before the first."""
        return self._last_stamp

    @property
    def path_length(self) -> float:
        """Length of the robot's path so far [m]."""
        return self._trial.path.length

    @property
    def succeeded(self) -> bool:
        """Whether the trial is a success already; never if the policy has to stop for it."""
        return self._trial.judging.succeeded

    def update(self, sample: Sample) -> Progress:
        """Score one control step, with a stamp later than the one before.

        Returns:
            The state of the trial. Its ``success`` means that the goal holds now, by the judge; it stays false if the
            policy has to stop for a success.

        Raises:
            KeyError: the scene lacks an object that the goal needs.
            ValueError: the stamp is not later than the one before, or a number is not finite.
        """
        if self._last_stamp is not None and sample.stamp <= self._last_stamp:
            raise ValueError(f"stamp: got {sample.stamp} ns, expected one later than {self._last_stamp} ns")
        trial = self._trial
        if sample.scene is not None:
            trial.judging.update(sample.scene)
            self._scene = sample.scene
        trial.path.append(sample.robot_pose.position)
        for score in self._scores.values():
            score.update(sample)
        self._steps += 1
        self._first_stamp = sample.stamp if self._first_stamp is None else self._first_stamp
        self._last_stamp = sample.stamp
        now = End(math.nan, False, Fault.NONE, self._steps)
        return Progress(
            stamp=sample.stamp,
            success=trial.judging.holds or self._reached,
            scores={name: score.value(now) for name, score in self._live.items()},
        )

    def reach(self) -> None:
        """Take note that somebody sees the goal reached: the trial may end, and is then judged as any other."""
        self._reached = True

    def end(self, scene: Scene | None = None, judgement: Judgement | None = None) -> None:
        """Take the scene and the judgement of a trial's end.

        Args:
            scene: as it was read, if no control step had one.
            judgement: that of somebody outside, if the judge asks.

        Raises:
            KeyError: the scene lacks an object that the goal needs.
        """
        if scene is not None:
            self._trial.judging.update(scene)
            self._scene = scene
        if judgement is not None:
            self._trial.judging.tell(judgement)

    def result(
        self,
        fault: Fault = Fault.NONE,
        detail: str = "",
        steps: int = 0,
        clamped_steps: int = 0,
        stopped: bool = False,
        interventions: Mapping[str, int] | None = None,
    ) -> TrialResult:
        """Return the result of the trial, if it ends now.

        A fault of the policy makes it a failure; a fault of the bench makes it void, with NaN for every score.

        Args:
            fault: code of the fault.
            detail: the fault in words.
            steps: control steps executed.
            clamped_steps: control steps whose action was clamped to a limit of the robot.
            stopped: whether the policy itself ended the trial.
            interventions: kind of limit -> commands in which the safety filter intervened; none if left out.
        """
        success = fault is Fault.NONE and self._trial.judging.success(stopped)
        end = End(float(success), stopped, fault, steps)
        return self._result(_outcome(success, fault), end, detail, clamped_steps, interventions)

    def unfinished(self, steps: int) -> TrialResult:
        """Return the result of a trial whose end is not known: outcome UNKNOWN, and the scores so far.

        Args:
            steps: control steps executed, as far as is known.
        """
        return self._result(Outcome.UNKNOWN, End(math.nan, False, Fault.NONE, steps))

    def _result(
        self,
        outcome: Outcome,
        end: End,
        detail: str = "",
        clamped_steps: int = 0,
        interventions: Mapping[str, int] | None = None,
    ) -> TrialResult:
        void = outcome is Outcome.VOID
        return TrialResult(
            outcome=outcome,
            fault=end.fault,
            detail=detail,
            scores={name: math.nan if void else score.value(end) for name, score in self._scores.items()},
            optimal_path_length=self._trial.instance.optimal_path_length,
            steps=end.steps,
            duration=self._duration(),
            clamped_steps=clamped_steps,
            final_scene=self._scene,
            stopped=end.stopped,
            subgoals=self._trial.judging.subgoals,
            interventions=dict(interventions or {}),
        )

    def _duration(self) -> float:
        if self._first_stamp is None or self._last_stamp is None:
            return 0.0
        return seconds(self._last_stamp - self._first_stamp)


def _outcome(success: bool, fault: Fault) -> Outcome:
    if fault.voids:
        return Outcome.VOID
    if fault.of_policy:
        return Outcome.POLICY_FAULT
    return Outcome.SUCCESS if success else Outcome.FAILURE
