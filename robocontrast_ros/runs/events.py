"""The events of a journal: frozen records, each written as one line of standard JSON and read back without loss.

Numbers that JSON cannot write are the strings "NaN", "Infinity" and "-Infinity"; pixels are base64. Codes (outcome,
fault, delivered) are the numbers of the messages that have them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import to_json

from robocontrast_ros.configuration.loading import parse_record
from robocontrast_ros.domain import (
    EpisodeRecord,
    Fault,
    Judgement,
    PerturbationSpec,
    Scene,
    ScoreSpec,
    SetupMove,
    Trial,
    TrialResult,
)
from robocontrast_ros.episodes.bench import Recording
from robocontrast_ros.episodes.scoring import STANDARD_SPECS
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.runs.recorded_session import RecordedSession
from robocontrast_ros.strategies.effort import angle_between

Amount = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
"""A cost, or a duration [s]: finite and not negative."""


@dataclass(frozen=True)
class SessionStarted:
    """The first line of every journal.

    Attributes:
        session: name of the session.
        seed: the session's seed, which every other seed is made from.
        versions: what ran: package -> version.
        parameters: the resolved parameters, by file.
        digest: SHA-256 of them, in hex.
        cost_unit: what costs are counted in, ``m`` or ``s``.
        budget: K; infinity when there is none.
        time: seconds since the epoch.
        metric: the score that summaries show.
        symbols: perturbation's name -> the paper's symbol.
        perturbations: perturbation's name -> what it says of itself; empty in journals written before it did.
        machine: what the session ran on: processor, its vectors, Python and C library.
        world: what simulates and renders the scenes, as the bench says; empty where unknown.
        pairs: maximum number of pairs of the sequential sign test of ``stop_early``; None where there is
            none, and in journals written before there was one.
        scores: what the session's scores are, in the order of tables; of a journal written before it told them,
            the standard ones.
    """

    session: str
    seed: int
    versions: dict[str, str]
    parameters: dict[str, Any]
    digest: str
    cost_unit: str
    budget: Annotated[float, Field(ge=0.0)]
    time: float
    metric: str = "spl"
    symbols: dict[str, str] = field(default_factory=dict)
    perturbations: dict[str, PerturbationSpec] = field(default_factory=dict)
    machine: dict[str, str] = field(default_factory=dict)
    world: str = ""
    pairs: Annotated[int, Field(ge=1)] | None = None
    scores: tuple[ScoreSpec, ...] = STANDARD_SPECS
    event: Literal["session_started"] = "session_started"

    @cached_property
    def recorded(self) -> RecordedSession:
        """What is read of the parameters.

        Raises:
            ConfigurationError: a value is of another type.
        """
        return parse_record(RecordedSession, self.parameters, f"the journal of session '{self.session}'")


@dataclass(frozen=True)
class PolicyLoaded:
    """The policy that serves from here on: at the start, when the session goes on in a new process, at a swap.

    Attributes:
        name: what it calls itself.
        file: its parameter file, on the machine where it runs.
        parameters: the file's text.
        digest: SHA-256, in hex, of what the file says; comments have no part in it.
        load_time: time that loading it took [s].
        warm_up_time: time that its warm-up took [s]; None without one.
        time: seconds since the epoch.
        description: what it needs and answers with; None where unknown, as in journals of older versions.
    """

    name: str
    file: str
    parameters: str
    digest: str
    load_time: float
    warm_up_time: float | None
    time: float
    description: PolicyDescription | None = None
    event: Literal["policy_loaded"] = "policy_loaded"


@dataclass(frozen=True)
class PolicyRefused:
    """A policy that was asked for and cannot serve; the one before goes on.

    Attributes:
        policy: its name or file, as in the request.
        reason: in words.
        time: seconds since the epoch.
    """

    policy: str
    reason: str
    time: float
    event: Literal["policy_refused"] = "policy_refused"


@dataclass(frozen=True)
class BlindingBegan:
    """What a blind session commits itself to, before its first trial: which policy runs which trial.

    Attributes:
        commitment: SHA-256, in hex, of a random salt and that assignment (``runs.blinding.commitment_of``).
        policies: number of policies, each of which runs every trial.
        swap_time: how long each change of the policy takes at least [s].
        answer_time: how long each answer of a policy takes at least [s]; 0 where answers are not held back.
        time: seconds since the epoch.
    """

    commitment: str
    policies: Annotated[int, Field(ge=2)]
    swap_time: Amount
    answer_time: Amount
    time: float
    event: Literal["blinding_began"] = "blinding_began"


@dataclass(frozen=True)
class BlindSwap:
    """The policy of the next attempt was loaded, which a blind session does before each, whichever policy it is.

    Attributes:
        trial: trial_id of that attempt.
        took: until it served, with the time that was waited for all to take as long [s].
        time: seconds since the epoch.
    """

    trial: str
    took: Amount
    time: float
    event: Literal["blind_swap"] = "blind_swap"


@dataclass(frozen=True)
class BlindingOpened:
    """Which policy ran which trial of a blind session.

    Attributes:
        salt: what the commitment was made with, in hex.
        assignment: the text that the commitment was made of (``runs.blinding.Assignment``).
        policies: what the journal of another session says when such a policy is loaded, in the assignment's order.
        early: whether trials may come after it: the blinding is broken.
        trials: number of trials that count before it.
        time: seconds since the epoch.
        by: who opened it early.
        reason: why.
    """

    salt: str
    assignment: str
    policies: tuple[PolicyLoaded, ...]
    early: bool
    trials: int
    time: float
    by: str = ""
    reason: str = ""
    event: Literal["blinding_opened"] = "blinding_opened"


@dataclass(frozen=True)
class SpeedScalingNoted:
    """When the session began, or went on in a new process, something outside of it slowed the robot, or nobody knows.

    Attributes:
        detail: what it is, and what a person does about it; or why it is not known.
        time: seconds since the epoch.
    """

    detail: str
    time: float
    event: Literal["speed_scaling"] = "speed_scaling"


@dataclass(frozen=True)
class TrialSkipped:
    """A perturbation that could not be applied to a test instance, or what a person left out, and why.

    Attributes:
        base_id: instance_id of the test instance.
        perturbation: its name, or ``base``.
        reason: why, in words.
        time: seconds since the epoch.
        by_person: whether the person at the robot left it out, and not the strategy.
        repeat: the first repeat that is left out; those before it count. Of a base trial, of the whole test instance.
        trials: trial_ids of runs of that repeat that were finished before, in a blind session by other policies. They
            count no longer, as void attempts do not, because not every policy ran that trial.
    """

    base_id: str
    perturbation: str
    reason: str
    time: float
    by_person: bool = False
    repeat: Annotated[int, Field(ge=0)] = 0
    trials: tuple[str, ...] = ()
    event: Literal["trial_skipped"] = "trial_skipped"


@dataclass(frozen=True)
class SetUp:
    """A scene that was set up.

    Attributes:
        trial: the trial it was set up for.
        before: the actual scene before it.
        target: the wanted scene.
        moves: from one to the other.
        cost: of the moves; 0 for a restore.
        after: the scene as it was read back.
        restore: whether it restored the last known scene when the session was resumed.
        time: seconds since the epoch.
        measured: how long the person took for it [s]; None where it was not measured, as in simulation.
        read: what was seen for certain of a scene that a person set up, when they said that it was done; None where
            nothing saw it, and where no person sets scenes up.
        overruled: what was in doubt then, one line each, where the person said that the scene stands right all the
            same.
    """

    trial: Trial
    before: Scene
    target: Scene
    moves: tuple[SetupMove, ...]
    cost: Amount
    after: Scene
    restore: bool
    time: float
    measured: Amount | None = None
    read: Scene | None = None
    overruled: tuple[str, ...] = ()
    event: Literal["set_up"] = "set_up"

    @property
    def errors(self) -> tuple[tuple[float, float], ...]:
        """Distance [m] and angle [rad] from where it should be of each object that was placed and seen."""
        if self.read is None:
            return ()
        placed = [move.name for move in self.moves if move.goal is not None and move.name in self.read]
        pairs = [(self.read[name].pose, self.target[name].pose) for name in placed]
        return tuple((seen.distance_to(wanted), angle_between(seen, wanted)) for seen, wanted in pairs)


@dataclass(frozen=True)
class TrialStarted:
    """A trial that is about to be executed; ``attempt`` counts its executions from 0."""

    trial: Trial
    attempt: int
    time: float
    event: Literal["trial_started"] = "trial_started"


@dataclass(frozen=True, kw_only=True)
class TrialFinished(EpisodeRecord):
    """A trial that counts, unless a ``TrialSkipped`` after it names it.

    Attributes:
        trial: what was run.
        attempt: how many void attempts came before it.
        result: the scores.
        recording: where it was recorded.
        cost: of all its set-ups, void attempts included.
        wall_time: of the execution, on the wall clock [s].
        time: seconds since the epoch.
        left: the scene after the robot went to rest, which may have moved something; None where it did not go.
        judgement: what somebody outside said of it; None where nobody was asked.
    """

    trial: Trial
    attempt: int
    result: TrialResult
    recording: Recording
    cost: Amount
    wall_time: Amount
    time: float
    left: Scene | None = None
    judgement: Judgement | None = None
    event: Literal["trial_finished"] = "trial_finished"

    @property
    def scene_left(self) -> Scene:
        """The scene in which the next trial finds the objects."""
        return self.left or self.result.final_scene


@dataclass(frozen=True)
class TrialCorrected:
    """A person corrects how a trial was judged; what was judged first stays in the journal.

    Attributes:
        trial_id: of a trial that counts.
        judgement: what is right; its ``by`` is the person.
        reason: why, in words.
        result: of the trial, scored anew from its bag with that judgement.
        time: seconds since the epoch.
    """

    trial_id: str
    judgement: Judgement
    reason: str
    result: TrialResult
    time: float
    event: Literal["trial_corrected"] = "trial_corrected"


@dataclass(frozen=True)
class TrialVoid:
    """An attempt that tells nothing about the policy.

    Attributes:
        trial: what was to be run.
        attempt: how many void attempts came before it.
        fault: what failed.
        detail: the fault in words.
        scene: the scene that it left; None when it cannot be known.
        time: seconds since the epoch.
    """

    trial: Trial
    attempt: int
    fault: Fault
    detail: str
    scene: Scene | None
    time: float
    event: Literal["trial_void"] = "trial_void"


@dataclass(frozen=True)
class Paused:
    """The session waits between two trials.

    Attributes:
        time: when [s].
        detail: why the robot is stopped, or could not go home, and what a person does about it; empty where somebody
            asked for the pause.
    """

    time: float
    detail: str = ""
    event: Literal["paused"] = "paused"


@dataclass(frozen=True)
class Resumed:
    """The session goes on: after a pause, or, ``restarted``, in a new process.

    Attributes:
        restarted: whether in a new process.
        time: when [s].
        by: who released the robot, where it was stopped; empty where it was not, or nobody knows.
    """

    restarted: bool
    time: float
    by: str = ""
    event: Literal["resumed"] = "resumed"


@dataclass(frozen=True)
class SequentialTest:
    """State of the sequential test of ``stop_early`` when the session ended.

    Attributes:
        score: its name, for instance ``spl``.
        question: ``threshold``, ``compare_with`` (then the mean is one of differences) or ``half_width``.
        decided: whether it is answered.
        instances: number of base instances in it.
        low: lower end of the time-uniform confidence sequence for the mean.
        high: upper end.
        error_rate: of the decision; and the probability that the mean was ever outside.
        pairs: where the decision is that of a sequential sign test, the maximum number of pairs; None where it
            is that of the confidence sequence.
        here_alone: number of the test's pairs in which the policy of this session alone succeeded.
        there_alone: number in which the policy of the other run alone succeeded.
    """

    score: str
    question: Literal["threshold", "compare_with", "half_width"]
    decided: bool
    instances: int
    low: float
    high: float
    error_rate: float
    pairs: int | None = None
    here_alone: int | None = None
    there_alone: int | None = None


@dataclass(frozen=True)
class SessionFinished:
    """The last line of a finished session.

    Attributes:
        reason: ``all_trials``, ``budget``, ``max_trials`` or, by ``stop_early``, ``decided``.
        detail: the reason in words.
        time: seconds since the epoch.
        sequential: state of the test of ``stop_early``; None without one.
    """

    reason: Literal["all_trials", "budget", "max_trials", "decided"]
    detail: str
    time: float
    sequential: SequentialTest | None = None
    event: Literal["session_finished"] = "session_finished"


@dataclass(frozen=True)
class SessionInterrupted:
    """The session ended early and can be resumed; ``fault`` is NONE when an exception ended it."""

    fault: Fault
    detail: str
    time: float
    event: Literal["session_interrupted"] = "session_interrupted"


@dataclass(frozen=True)
class ProcessDied:
    """A process of the session terminated without a final event."""

    process: str
    detail: str
    time: float
    event: Literal["process_died"] = "process_died"


Event = (
    SessionStarted
    | PolicyLoaded
    | PolicyRefused
    | BlindingBegan
    | BlindSwap
    | BlindingOpened
    | SpeedScalingNoted
    | TrialSkipped
    | SetUp
    | TrialStarted
    | TrialFinished
    | TrialCorrected
    | TrialVoid
    | Paused
    | Resumed
    | SessionFinished
    | SessionInterrupted
    | ProcessDied
)

_ADAPTER: TypeAdapter[Event] = TypeAdapter(
    Annotated[Event, Field(discriminator="event")], config=ConfigDict(defer_build=True)
)


def to_line(event: Event) -> bytes:
    """Return the event as one line of JSON in UTF-8, its newline included."""
    return to_json(event, inf_nan_mode="strings", bytes_mode="base64") + b"\n"


def from_line(line: bytes) -> Event:
    """Return the event that a line describes.

    Raises:
        ValueError: the line is not JSON, or not one of our events; in one line.
    """
    try:
        return _ADAPTER.validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ValueError(f"{where}: {first['msg']}" if where else first["msg"]) from None
