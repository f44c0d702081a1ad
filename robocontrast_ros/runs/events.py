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
        versions: package -> version of the code that ran.
        parameters: the resolved parameters, by file.
        digest: SHA-256 of them, in hex.
        cost_unit: unit of costs, ``m`` or ``s``.
        budget: K; infinity without a limit.
        time: seconds since the epoch.
        metric: the score that summaries show.
        symbols: perturbation's name -> the paper's symbol.
        perturbations: perturbation's name -> its description; empty in older journals without it.
        machine: processor, its vectors, Python and C library of the machine.
        world: simulator and renderer of the scenes, as the bench reports them; empty if unknown.
        pairs: maximum number of pairs of the sequential sign test of ``stop_early``; None without one, and in journals
            written before there was one.
        scores: descriptions of the session's scores, in the order of tables; the standard scores in older journals
            without them.
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
        """The parameters that are read from the record.

        Raises:
            ConfigurationError: a value is of another type.
        """
        return parse_record(RecordedSession, self.parameters, f"the journal of session '{self.session}'")


@dataclass(frozen=True)
class PolicyLoaded:
    """The policy that serves from here on: at the start, at a restart in a new process, at a swap.

    Attributes:
        name: its own name.
        file: its parameter file, on the machine where it runs.
        parameters: the file's text.
        digest: SHA-256, in hex, of the file's content without comments.
        load_time: time of loading it [s].
        warm_up_time: time of its warm-up [s]; None without one.
        time: seconds since the epoch.
        description: its inputs and outputs; None if unknown, as in journals of older versions.
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
    """A requested policy that cannot serve; the one before goes on.

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
    """The commitment of a blind session, before its first trial, to the policy that runs each trial.

    Attributes:
        commitment: SHA-256, in hex, of a random salt and that assignment (``runs.blinding.commitment_of``).
        policies: number of policies, each of which runs every trial.
        swap_time: least time of each change of the policy [s].
        answer_time: least time of each answer of a policy [s]; 0 if answers are not held back.
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
        took: time until it served, with the wait that makes all swaps take as long [s].
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
        salt: the salt of the commitment, in hex.
        assignment: the text that the commitment was made of (``runs.blinding.Assignment``).
        policies: the event that another session records when it loads such a policy, in the assignment's order.
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
    """At a session's start, or its restart in a new process, the robot was slowed from outside, or nobody knew.

    Attributes:
        detail: its cause and its remedy by a person; or why it is not known.
        time: seconds since the epoch.
    """

    detail: str
    time: float
    event: Literal["speed_scaling"] = "speed_scaling"


@dataclass(frozen=True)
class TrialSkipped:
    """A perturbation that could not be applied to a test instance, or trials that a person left out, and why.

    Attributes:
        base_id: instance_id of the test instance.
        perturbation: its name, or ``base``.
        reason: why, in words.
        time: seconds since the epoch.
        by_person: whether the person at the robot left it out, and not the strategy.
        repeat: the first repeat that is left out; those before it count. For a base trial, that of the whole test
            instance.
        trials: trial_ids of runs of that repeat that other policies of a blind session had finished. Like void
            attempts, they count no longer, because not every policy ran that trial.
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
        trial: the trial for which it was set up.
        before: the actual scene before it.
        target: the wanted scene.
        moves: from one to the other.
        cost: of the moves; 0 for a restore.
        after: the scene as it was read back.
        restore: whether it restored the last known scene when the session was resumed.
        time: seconds since the epoch.
        measured: time that the person took [s]; None if not measured, as in simulation.
        read: the parts of the scene that were seen for certain when the person said that it was done; None if nothing
            saw it, or if no person sets scenes up.
        overruled: the doubts at that time, one line each, if the person still said that the scene is right.
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
        trial: the trial that was run.
        attempt: number of void attempts before it.
        result: the scores.
        recording: place of its recording.
        cost: of all its set-ups, void attempts included.
        wall_time: of the execution, on the wall clock [s].
        time: seconds since the epoch.
        left: the scene after the robot went to rest, which may have moved something; None if it did not go.
        judgement: the judgement by somebody outside; None if nobody was asked.
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
    """A person corrects how a trial was judged; the first judgement stays in the journal.

    Attributes:
        trial_id: of a trial that counts.
        judgement: the right one; its ``by`` is the person.
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
    """An attempt without evidence about the policy.

    Attributes:
        trial: the trial that was to be run.
        attempt: number of void attempts before it.
        fault: code of the failure.
        detail: the fault in words.
        scene: the scene that it left; None if unknown.
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
        detail: why the robot is stopped, or could not go home, and the remedy by a person; empty if somebody asked for
            the pause.
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
        by: who released the robot, if it was stopped; empty if it was not, or if nobody knows.
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
        pairs: maximum number of pairs if a sequential sign test decides; None if the confidence sequence decides.
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
    """The session ended early and can be resumed; ``fault`` is NONE if an exception ended it."""

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
