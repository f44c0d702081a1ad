"""Judges: they decide the progress and the success of a trial."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

from robocontrast_ros.domain import Judgement, Scene, TestInstance
from robocontrast_ros.episodes.composed import ComposedProgress
from robocontrast_ros.tasks.composed import ComposedGoal
from robocontrast_ros.tasks.protocol import AT_ONCE, DescribedGoal, Goal, Holding, StagedGoal, Task


class Judging(Protocol):
    """The judgement of one trial, which goes on from control step to control step.

    Attributes:
        distance: the goal's measure now [m]; NaN if the judge measures no distance.
        progress: progress-to-goal, in [0, 1].
        subgoals: number of subgoals, at least 1.
        reached: number of subgoals reached so far, in order.
        holds: whether the goal is reached now, as far as known before the trial ends.
        succeeded: whether the trial is a success, whatever comes later.
    """

    distance: float
    progress: float
    subgoals: int
    reached: int
    holds: bool
    succeeded: bool

    def update(self, scene: Scene) -> None:
        """Take the scene of one control step."""

    def tell(self, judgement: Judgement) -> None:
        """Take the judgement of somebody outside at the trial's end; only if the judge asks."""

    def success(self, stopped: bool) -> bool:
        """Return whether the trial is a success if it ends here; ``stopped`` by the policy itself."""


class Judge(Protocol):
    """Decides success and progress of trials. Its entry point names the class, which takes no arguments.

    A judge that inherits this class need not repeat its defaults.

    Attributes:
        asks: whether somebody outside is asked at the end of each trial; ``Judging.tell`` then hands the answer on.
        needs: feature that the world's backend must have, one of ``BackendFeatures``: ``console``, for a judge that is
            asked on its page; ``camera``, for one that judges by a camera's scene when a trial has ended; empty for
            none.
    """

    asks: bool = False
    needs: str = ""

    def begin(self, task: Task, instance: TestInstance, start_scene: Scene) -> Judging:
        """Begin a trial of a test instance.

        Args:
            task: its task.
            instance: its initial conditions.
            start_scene: the scene as it was read back after set-up.

        Raises:
            KeyError: the scene lacks an object that the goal needs.
            ValueError: the trial cannot be judged.
        """


@dataclass(frozen=True)
class TrueScene(Judge):
    """The judge that compares the true scene of each control step with the task's goal.

    Attributes:
        hold_steps: control steps in a row for which a goal, or subgoal, has to hold to be reached, at least 1.
    """

    hold_steps: int = 1

    def __post_init__(self) -> None:
        if self.hold_steps < 1:
            raise ValueError(f"hold_steps: got {self.hold_steps}, expected at least 1 control step")

    def begin(self, task: Task, instance: TestInstance, start_scene: Scene) -> Judging:
        """Begin with the goal of the instance in this scene."""
        return goal_progress(task.goals.goal(instance.instruction, start_scene), start_scene, self.hold_steps)


HAND_OPEN = 0.05
"""Closing of a hand up to which it holds nothing, 0 (wide open) to 1."""


def may_have_dropped(gripper_closed: float) -> bool:
    """Return whether a robot may have held something when a trial ended, and dropped it on its way to rest.

    Args:
        gripper_closed: closing of its hand then, 0 (wide open) to 1; NaN without a hand.
    """
    return gripper_closed > HAND_OPEN


class Outside(Judge):
    """The judge that asks somebody outside, a person or a camera, by the service ``judge/judge_trial``."""

    asks = True

    def begin(self, task: Task, instance: TestInstance, start_scene: Scene) -> Judging:
        """Begin with nothing known."""
        return ToldProgress()


class Person(Outside):
    """The person at the console, who is asked there when a trial has ended."""

    needs = "console"


class Camera(Judge):
    """The judge that compares the scene that a camera saw with the task's goal, and asks a person if it is unsure.

    The one who is asked reports by ``Judgement.advises`` whether the camera was sure, and has decided.
    """

    asks = True
    needs = "camera"

    def begin(self, task: Task, instance: TestInstance, start_scene: Scene) -> Judging:
        """Begin with the goal of the instance in this scene."""
        goal = task.goals.goal(instance.instruction, start_scene)
        staged = isinstance(goal, StagedGoal)
        return SeenProgress(LeftProgress(goal) if staged else goal_progress(goal, start_scene, 1))


def success_in_words(goal: Goal, judge: Judge, control_rate: float) -> str:
    """Return the condition of success, and its time, as one sentence for people.

    Args:
        goal: of a trial; if it is no ``DescribedGoal``, the common properties of goals are described.
        judge: of the session.
        control_rate: control steps per second [Hz].
    """
    what = goal.in_words() if isinstance(goal, DescribedGoal) else _in_words(goal, control_rate)
    stops = isinstance(goal, StagedGoal) and goal.stop_required
    when = "when the trial has ended" if judge.needs == "camera" else "at any time in the trial"
    return f"Success: {what}{', and the robot stops there by itself' if stops else f', {when}'}."


def _in_words(goal: Goal, control_rate: float) -> str:
    if not isinstance(goal, StagedGoal):
        return "what the words say is done"
    number, last = len(goal.subgoals), getattr(goal.subgoals[-1], "holding", None) or AT_ONCE
    words = f"all {number} steps are done in order" if number > 1 else "what the words say is done"
    if last.steps > 1:
        words += f", and the last one holds for {last.steps / control_rate:.1f} s"
    names = ", ".join(name.replace("_", " ") for name in last.still)
    return words + (f" while {names} is at rest" if names else "")


TRUE_SCENE = TrueScene()
"""The judge of every session that names no other."""


def goal_progress(goal: Goal, start: Scene, hold_steps: int) -> Judging:
    """Return the state of a trial at its start.

    Args:
        goal: the expected behaviour.
        start: the scene as it was read back after set-up.
        hold_steps: control steps in a row for which a goal, or subgoal, has to hold to be reached.

    Raises:
        KeyError: the scene lacks an object that the goal needs.
    """
    if isinstance(goal, ComposedGoal):
        return ComposedProgress(goal, start, hold_steps)
    kind = StagedProgress if isinstance(goal, StagedGoal) else DistanceProgress
    return kind(goal, start, hold_steps)


def progress_to_goal(distance: float, start_distance: float) -> float:
    """Return 1 - d / d0, clamped to [0, 1].

    If the trial starts at its goal (d0 = 0) the quotient is undefined: the progress is then 1 as
    long as the goal holds and 0 when it has been lost.

    Args:
        distance: d, measured by the goal predicate now [m].
        start_distance: d0, measured by it at the start [m].

    Raises:
        ValueError: a distance is negative or not finite.
    """
    for name, value in (("distance to goal", distance), ("distance to goal at the start", start_distance)):
        if not (math.isfinite(value) and value >= 0.0):
            raise ValueError(f"{name}: got {value}, expected a finite number of at least 0 m")
    if start_distance == 0.0:
        return 1.0 if distance == 0.0 else 0.0
    return min(max(1.0 - distance / start_distance, 0.0), 1.0)


class ToldProgress:
    """The judgement given after a trial's end; nothing is known before, and no distance is measured."""

    distance = math.nan
    subgoals = 1
    holds = False

    def __init__(self) -> None:
        """Begin a trial."""
        self.progress = math.nan
        self.succeeded = False

    @property
    def reached(self) -> int:
        """1 if the trial is a success."""
        return int(self.succeeded)

    def update(self, scene: Scene) -> None:
        """Do nothing: a scene decides nothing."""

    def tell(self, judgement: Judgement) -> None:
        """Take over the judgement."""
        self.succeeded, self.progress = judgement.success, judgement.progress

    def success(self, stopped: bool) -> bool:
        """Return whether it was judged a success."""
        return self.succeeded


class SeenProgress:
    """The judgement from the camera's scenes, unless somebody decides otherwise."""

    def __init__(self, seen: Judging) -> None:
        """Begin a trial, with the judgement from the scenes that the camera sees."""
        self._seen = seen
        self._told: Judgement | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._seen, name)

    @property
    def progress(self) -> float:
        """Progress-to-goal: as somebody judged, or as seen."""
        return self._seen.progress if self._told is None else self._told.progress

    @property
    def reached(self) -> int:
        """Number of subgoals reached: from the progress that somebody judged, or as seen."""
        return self._seen.reached if self._told is None else math.floor(self._told.progress * self.subgoals + 1e-9)

    @property
    def succeeded(self) -> bool:
        """Whether it is a success: as somebody judged, or as seen."""
        return self._seen.succeeded if self._told is None else self._told.success

    def tell(self, judgement: Judgement) -> None:
        """Take over the judgement if it decides."""
        self._told = None if judgement.advises else judgement

    def success(self, stopped: bool) -> bool:
        """Return whether it is a success: as somebody judged, or as seen."""
        return self._seen.success(stopped) if self._told is None else self._told.success


class LeftProgress:
    """The judgement from a trial's last scene, for a goal with subgoals: whether the goal itself is fulfilled.

    Nobody saw the subgoals on the way there, so that those of a failure do not count.
    """

    distance = 0.0
    holds = False

    def __init__(self, goal: StagedGoal) -> None:
        """Begin a trial with nothing reached."""
        self._goal, self._fulfilled = goal, False
        self.subgoals = len(goal.subgoals)
        self.reached = 0
        self.succeeded = False

    @property
    def progress(self) -> float:
        """All or nothing."""
        return self.reached / self.subgoals

    def update(self, scene: Scene) -> None:
        """Take the scene in which the trial was left."""
        self.distance, self._fulfilled = self._goal.distance(scene), self._goal.satisfied(scene)
        if self._fulfilled:
            self.reached = self.subgoals
        self.succeeded = not self._goal.stop_required and self.reached == self.subgoals

    def success(self, stopped: bool) -> bool:
        """Return whether the goal is fulfilled and, if required, the policy stopped there."""
        return self.succeeded or (stopped and self._fulfilled)


class DistanceProgress:
    """Progress is 1 - d / d0; success is latched once the goal has held long enough."""

    subgoals = 1

    def __init__(self, goal: Goal, start: Scene, hold_steps: int) -> None:
        """Begin a trial; see ``goal_progress``."""
        self._goal, self._hold_steps = goal, hold_steps
        self._start_distance = self.distance = goal.distance(start)
        self.progress = progress_to_goal(self.distance, self._start_distance)
        self._held = 0
        self.holds = self.succeeded = False

    @property
    def reached(self) -> int:
        """1 from the success on."""
        return int(self.succeeded)

    def update(self, scene: Scene) -> None:
        """Update with the scene of one control step."""
        distance = self._goal.distance(scene)
        progress = progress_to_goal(distance, self._start_distance)
        self._held = self._held + 1 if self._goal.satisfied(scene) else 0
        self.distance, self.progress = distance, progress
        self.holds = self._held >= self._hold_steps
        self.succeeded = self.succeeded or self.holds

    def success(self, stopped: bool) -> bool:
        """Return whether the goal has held long enough at any time."""
        return self.succeeded


class StagedProgress:
    """Progress is the share of the subgoals reached, in order; a reached subgoal stays reached.

    If the policy has to stop at the goal, no scene alone makes a success: ``holds`` and ``succeeded``
    stay false, so that only the policy ends such a trial.
    """

    def __init__(self, goal: StagedGoal, start: Scene, hold_steps: int) -> None:
        """Begin a trial; see ``goal_progress``. A subgoal can be reached in the start scene."""
        self._goal, self._hold_steps = goal, hold_steps
        self.subgoals = len(goal.subgoals)
        self.reached = 0
        self._held = 0
        self._before = start
        self._satisfied = False
        self.holds = self.succeeded = False
        self.distance = 0.0
        self.update(start)

    @property
    def progress(self) -> float:
        """The share that was reached."""
        return self.reached / self.subgoals

    def update(self, scene: Scene) -> None:
        """Update with the scene of one control step."""
        distance, satisfied = self._goal.distance(scene), self._goal.satisfied(scene)
        self._advance(scene)
        self.distance, self._satisfied = distance, satisfied
        if not self._goal.stop_required:
            self.holds = self.succeeded = self.reached == self.subgoals

    def success(self, stopped: bool) -> bool:
        """Return whether all subgoals were reached and, if required, the policy stopped at the goal."""
        complete = self.reached == self.subgoals
        return complete and (not self._goal.stop_required or (stopped and self._satisfied))

    def _advance(self, scene: Scene) -> None:
        """Latch the reached subgoals; several subgoals that need not be held may be reached in one scene."""
        before, self._before = self._before, scene
        while self.reached < self.subgoals:
            subgoal = self._goal.subgoals[self.reached]
            holding: Holding = getattr(subgoal, "holding", None) or AT_ONCE
            steps = max(self._hold_steps, holding.steps)
            holds = subgoal.satisfied(scene) or (self._held > 0 and subgoal.distance(scene) <= holding.leave)
            holds = holds and holding.at_rest(before, scene)
            self._held = self._held + 1 if holds else 0
            if self._held < steps:
                return
            self.reached += 1
            self._held = 0
            if steps > 1:
                return
