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
"""Stands in place of a perturbation's name: the unperturbed trial."""


class Outcome(IntEnum):
    """How a trial ended. The values are those of ``TrialResult.msg``."""

    UNKNOWN = 0
    SUCCESS = 1
    FAILURE = 2
    POLICY_FAULT = 3
    VOID = 4


class Start(IntEnum):
    """Which scene a trial starts in. The values are those of ``Trial.msg``."""

    UNKNOWN = 0
    FULL_RESET = 1
    """The test instance's own scene, set up anew."""
    LEFT = 2
    """The scene that the trial before left, as it is or perturbed."""
    GONE_BACK = 3
    """The test instance's own scene, perturbed: the perturbation did not apply to the scene that was left."""


@dataclass(frozen=True)
class Trial:
    """One execution f(l, s) to run.

    Attributes:
        index: position in the session, from 0.
        base_id: instance_id of the unperturbed test instance.
        perturbation: ``base``, or the perturbation's name.
        repeat: from 0.
        instance: the initial conditions, already perturbed.
        seed: seed of the policy's own randomness in this trial.
        note: in words, what was perturbed or why a scene was reset; never shown to the policy.
        start: which scene it starts in; never shown to the policy.
        twin: trial_id of the base trial of the same repeat, which it is compared with; never shown to the policy. Empty
            for a base trial, where no such trial was proposed before it, and in older journals and bags.
        block: position in the session, from 0, of its block: the successive trials of one test instance. -1 when
            unknown, in older journals and bags.
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

    @property
    def trial_id(self) -> str:
        """A name that is unique in a session and sorts in the order of running."""
        return f"{self.index:04d}"

    @property
    def is_base(self) -> bool:
        """Whether the trial is unperturbed."""
        return self.perturbation == BASE


class Delivery(IntEnum):
    """Whether what was sent to the policy is what it received. The values are those of ``RunEpisode.action``."""

    UNKNOWN = 0
    """The policy server does not say all of what it received."""
    CONFIRMED = 1
    """The policy server received the instruction and the first images that were sent."""
    DIFFERENT = 2
    """It received others: the trial is void."""


@dataclass(frozen=True)
class Observed:
    """What the policy received, recorded to find leaks; or what was sent to it.

    Attributes:
        instruction: the text it was given.
        image_digest: SHA-256, in hex, of the first observation's images (names, shapes, pixels);
            empty when it received none.
        told: whether the instruction is known although it is empty: nothing was said to the policy.
        segments_digest: ``domain.segments_digest`` of the segments that it was given in place of the text; empty where
            it was given the text.
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
    """What is known of how an episode went, besides its result. ``RunEpisode.action`` carries it.

    Attributes:
        observed: what the policy received.
        delivered: whether that is what was sent.
        policy_latency: time that the policy itself took for each answer [s], without warm-up.
        period_errors: how much longer each control period was than it should be [s]; empty where the world waits.
        waits: control steps that passed before each answer was there; empty where none ever did.
        pose_source: where the driver has a base's pose from, in words; empty where the robot's file leaves no choice.
        speed_scaling: the lowest share of full speed that the robot's driver allowed, 0 to 1; None where it does not
            say it, and in simulation.
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
    """What somebody outside, a person or a camera, says of a trial at its end.

    Attributes:
        success: whether it is a success.
        progress: progress-to-goal, in [0, 1].
        by: who says it.
        note: anything else, in words.
        advises: whether it is only kept, to be compared: the session's judge has decided without it.
        stage: what went wrong first, or the furthest stage that was reached; empty where nothing was chosen.
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
    """How one trial ended, and its scores.

    Attributes:
        outcome: how it ended.
        fault: what went wrong, NONE when nothing did.
        detail: the fault in words.
        scores: name -> value of every score of the session (``ScoreSpec`` says what each is); NaN where a score
            does not exist, and all NaN when void. A score that an older record did not have is missing.
        optimal_path_length: the planner's [m].
        steps: control steps executed.
        duration: from the first to the last scored scene [s].
        clamped_steps: control steps whose action was clamped to a limit.
        final_scene: the scene at the end, which the next trial starts from.
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
        """S: 1.0 or 0.0; NaN when void."""
        return self.scores["success"]
