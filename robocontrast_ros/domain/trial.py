"""A trial and its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import Any

from robocontrast_ros.domain.fault import Fault
from robocontrast_ros.domain.instance import TestInstance
from robocontrast_ros.domain.scene import Scene

BASE = "base"
"""Used in place of a perturbation's name for the unperturbed trial."""


class Outcome(IntEnum):
    """The end of a trial. The values are those of ``TrialResult.msg``."""

    UNKNOWN = 0
    SUCCESS = 1
    FAILURE = 2
    POLICY_FAULT = 3
    VOID = 4


class Start(IntEnum):
    """The start scene of a trial. The values are those of ``Trial.msg``."""

    UNKNOWN = 0
    FULL_RESET = 1
    """The test instance's own scene, set up anew."""
    LEFT = 2
    """The scene left by the trial before, as it is or perturbed."""
    GONE_BACK = 3
    """The test instance's own scene, perturbed: the perturbation did not apply to the scene of the trial before."""
    ROBOT_ALONE = 4
    """The scene left by the trial before, as it is: only the robot was put to its start, as in a chain of skills."""


@dataclass(frozen=True)
class Trial:
    """One execution f(l, s) to run.

    Attributes:
        index: position in the session, from 0.
        base_id: instance_id of the unperturbed test instance.
        perturbation: ``base``, or the perturbation's name.
        repeat: number of the repeat, from 0.
        instance: the initial conditions, already perturbed.
        seed: seed of the policy's own randomness in this trial.
        note: in words, the perturbation or the reason of a reset; never shown to the policy.
        start: its start scene; never shown to the policy.
        twin: trial_id of the base trial of the same repeat, for comparison; never shown to the policy. Empty for a base
            trial, without such a trial before it, and in older journals and bags.
        block: position in the session, from 0, of its block: the successive trials of one test instance. -1 if unknown,
            in older journals and bags.
        step_limit: control steps after which it ends; 0 for the task's limit of its instance.
    """

    index: int
    base_id: str
    perturbation: str
    repeat: int
    instance: TestInstance
    seed: int
    note: str = ""
    start: Start = Start.UNKNOWN
    twin: str = ""
    block: int = -1
    step_limit: int = 0

    @property
    def trial_id(self) -> str:
        """A name that is unique in a session and sorts in the order of running."""
        return f"{self.index:04d}"

    @property
    def is_base(self) -> bool:
        """Whether the trial is unperturbed."""
        return self.perturbation == BASE


class Delivery(IntEnum):
    """Whether the policy received the sent values. The values are those of ``RunEpisode.action``."""

    UNKNOWN = 0
    """The policy server does not report everything that it received."""
    CONFIRMED = 1
    """The policy server received the instruction and the first images that were sent."""
    DIFFERENT = 2
    """It received others: the trial is void."""


@dataclass(frozen=True)
class Observed:
    """The values that the policy received, recorded to find leaks; or the values that were sent to it.

    Attributes:
        instruction: its text.
        image_digest: SHA-256, in hex, of the first observation's images (names, shapes, pixels); empty if it received
            none.
        told: whether the instruction is known although it is empty: the policy got no words.
        segments_digest: ``domain.segments_digest`` of the segments that it got in place of the text; empty if it got
            the text.
    """

    instruction: str = ""
    image_digest: str = ""
    told: bool = field(default=False, compare=False)
    segments_digest: str = ""

    @property
    def known(self) -> bool:
        """Whether the instruction is known."""
        return self.told or bool(self.instruction)


@dataclass(frozen=True, kw_only=True)
class EpisodeRecord:
    """The course of an episode, besides its result. ``RunEpisode.action`` carries it.

    Attributes:
        observed: the values that the policy received.
        delivered: whether these are the sent values.
        policy_latency: time that the policy itself took for each answer [s], without warm-up.
        period_errors: excess of each control period over the wanted one [s]; empty if the world waits.
        waits: control steps that passed before each answer was there; empty if none ever did.
        pose_source: the driver's source of a base's pose, in words; empty if the robot's file leaves no choice.
        speed_scaling: the lowest share of full speed that the robot's driver allowed, 0 to 1; None if it does not
            report it, and in simulation.
    """

    observed: Observed = Observed()
    delivered: Delivery = Delivery.UNKNOWN
    policy_latency: tuple[float, ...] = ()
    period_errors: tuple[float, ...] = ()
    waits: tuple[int, ...] = ()
    pose_source: str = ""
    speed_scaling: float | None = None

    @property
    def episode(self) -> dict[str, Any]:
        """The values of this record by name, without those of a record that extends it."""
        return {each.name: getattr(self, each.name) for each in fields(EpisodeRecord)}


@dataclass(frozen=True)
class Judgement:
    """A judgement of a trial at its end from outside: by a person or a camera.

    Attributes:
        success: whether the trial is a success.
        progress: progress-to-goal, in [0, 1].
        by: name of the judge.
        note: anything else, in words.
        advises: whether it is only kept, to be compared: the session's judge has decided without it.
        stage: the first failure, or the furthest stage that was reached; empty if nothing was chosen.
        tags: short labels.
    """

    success: bool
    progress: float
    by: str = ""
    note: str = ""
    advises: bool = False
    stage: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Progress:
    """A trial's state at one instant.

    Attributes:
        stamp: time of the scene it was computed from [ns].
        success: whether the goal predicate holds.
        scores: name -> value, up to now, of the scores that are live (``ScoreSpec.live``).
    """

    stamp: int
    success: bool
    scores: Mapping[str, float]


@dataclass(frozen=True)
class TrialResult:
    """The end of one trial, and its scores.

    Attributes:
        outcome: its outcome.
        fault: its fault; NONE if there is none.
        detail: the fault in words.
        scores: name -> value of every score of the session (``ScoreSpec`` describes each); NaN if a score does not
            exist, and all NaN if void. A score that an older record did not have is missing.
        optimal_path_length: the planner's path length [m].
        steps: control steps executed.
        duration: time from the first to the last scored scene [s].
        clamped_steps: control steps whose action was clamped to a limit.
        final_scene: the scene at the end, from which the next trial starts.
        stopped: whether the policy itself ended the trial, by the action ``stop``.
        subgoals: subgoals of the trial, at least 1.
        interventions: kind -> commands in which the safety filter intervened, in the order of the names.
    """

    outcome: Outcome
    fault: Fault
    detail: str
    scores: Mapping[str, float]
    optimal_path_length: float
    steps: int
    duration: float
    clamped_steps: int
    final_scene: Scene
    stopped: bool = False
    subgoals: int = 1
    interventions: Mapping[str, int] = field(default_factory=dict)

    @property
    def success(self) -> float:
        """S: 1.0 or 0.0; NaN if void."""
        return self.scores["success"]
