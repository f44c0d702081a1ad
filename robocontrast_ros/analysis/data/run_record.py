"""The content of a run's journal, read once: every execution of a trial, with all that belongs to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from robocontrast_ros.analysis.data.serving_policies import serving_policies
from robocontrast_ros.domain import Scene, SetupMove, TestInstance, Trial
from robocontrast_ros.runs.events import (
    Event,
    PolicyLoaded,
    SessionFinished,
    SessionStarted,
    SetUp,
    SpeedScalingNoted,
    TrialCorrected,
    TrialFinished,
    TrialSkipped,
    TrialStarted,
    TrialVoid,
)
from robocontrast_ros.runs.journal import corrected_event, corrections_of
from robocontrast_ros.runs.recorded_session import RecordedSession


@dataclass(frozen=True)
class TrialRecord:
    """One execution of a trial.

    Attributes:
        ended: its last event, with the result and the judgement of its last correction.
        first: its last event, as the session wrote it down.
        policy: name of the policy that served; empty if unknown.
        set_ups: those for this execution, and for the void attempts of its trial right before it, which then have none.
        moves: what was moved to set it up; of a repeat that needed no move, to set its instance up.
        spent: cost of all set-ups up to and including these.
        corrected_by: the person who corrected its judgement; None if nobody did.
    """

    ended: TrialFinished | TrialVoid
    first: TrialFinished | TrialVoid
    policy: str
    set_ups: tuple[SetUp, ...]
    moves: tuple[SetupMove, ...]
    spent: float
    corrected_by: str | None

    @property
    def trial(self) -> Trial:
        """The trial that was run."""
        return self.ended.trial

    @property
    def counts(self) -> bool:
        """Whether it counts: void attempts do not."""
        return isinstance(self.ended, TrialFinished)

    @property
    def start(self) -> Scene | None:
        """The scene as it was read back after set-up; None without a set-up."""
        return self.set_ups[-1].after if self.set_ups else None


@dataclass
class RunRecord:
    """The content of a run's journal, from which results are computed.

    Attributes:
        started: the first event of the session; None in a journal without it.
        trials: its executions in order, void attempts included.
        set_ups: all set-ups but those that restored a scene at no cost.
        skips: the skipped trials and perturbations, each with the name of the policy that served.
        policies: names of the policies that served, by when each served last; empty for an unknown one.
        loaded: the event of each loading of a policy.
        vocabularies: policy -> single words that it was trained with, in small letters; only of those that say so.
        corrections: trial_id -> the last correction of its judgement.
        instances: name -> test instance, of those whose base trials were begun.
        speed_notes: details of the events on the robot's slowing from outside.
        end: the last event of a finished session; None before.
    """

    started: SessionStarted | None = None
    trials: list[TrialRecord] = field(default_factory=list)
    set_ups: list[SetUp] = field(default_factory=list)
    skips: list[tuple[str, TrialSkipped]] = field(default_factory=list)
    policies: list[str] = field(default_factory=list)
    loaded: list[PolicyLoaded] = field(default_factory=list)
    vocabularies: dict[str, frozenset[str]] = field(default_factory=dict)
    corrections: dict[str, TrialCorrected] = field(default_factory=dict)
    instances: dict[str, TestInstance] = field(default_factory=dict)
    speed_notes: list[str] = field(default_factory=list)
    end: SessionFinished | None = None

    @classmethod
    def of(cls, events: Sequence[Event]) -> RunRecord:
        """Return the record of these events."""
        policies = serving_policies(events)
        record = cls(policies=[*dict.fromkeys(reversed(policies))][::-1], corrections=corrections_of(events))
        spent, set_ups = 0.0, ()
        for event, policy in zip(events, policies, strict=True):
            if isinstance(event, (TrialStarted, TrialFinished, TrialVoid)) and event.trial.is_base:
                record.instances[event.trial.base_id] = event.trial.instance
            if isinstance(event, SetUp) and not event.restore:
                record.set_ups.append(event)
                spent, set_ups = spent + event.cost, (*set_ups, event)
            elif isinstance(event, (TrialFinished, TrialVoid)):
                record._add(event, policy, set_ups, spent)
                set_ups = ()
            elif isinstance(event, TrialSkipped):
                record.skips.append((policy, event))
            elif isinstance(event, PolicyLoaded):
                record.loaded.append(event)
                if event.description is not None and event.description.vocabulary:
                    words = " ".join(event.description.vocabulary).lower().split()
                    record.vocabularies[policy] = frozenset(words)
            elif isinstance(event, SpeedScalingNoted):
                record.speed_notes.append(event.detail)
            elif isinstance(event, SessionStarted):
                record.started = event
            elif isinstance(event, SessionFinished):
                record.end = event
        return record

    def _add(self, event: TrialFinished | TrialVoid, policy: str, set_ups: tuple[SetUp, ...], spent: float) -> None:
        if self.trials and not self.trials[-1].counts and self.trials[-1].trial.index == event.trial.index:
            # The set-ups of a void attempt belong to the attempt after it.
            set_ups = self.trials[-1].set_ups + set_ups
            self.trials[-1] = replace(self.trials[-1], set_ups=())
        ended = corrected_event(event, self.corrections)
        by = self.corrections[event.trial.trial_id].judgement.by if ended is not event else None
        same = takewhile(lambda one: _instance(one.trial) == _instance(event.trial), reversed(self.set_ups))
        moves = next((one.moves for one in same if one.moves), ())
        self.trials.append(TrialRecord(ended, event, policy, set_ups, moves, spent, by))

    @property
    def recorded(self) -> RecordedSession:
        """The session's parameters; their defaults if the journal does not have them."""
        return self.started.recorded if self.started is not None else RecordedSession()

    @property
    def composed(self) -> frozenset[str]:
        """Names of the perturbations that are composed of others, whose parts alone explain no result."""
        known = self.started.perturbations if self.started is not None else {}
        return frozenset(name for name, spec in known.items() if spec.parts)

    def cluster_of(self, base_id: str) -> str:
        """Return the first test instance of the chain of another, which is the one itself without a chain.

        The skills of a chain share a scene, so intervals take chains as independent.
        """
        own = self.instances.get(base_id)
        return self.cluster_of(own.after) if own is not None and own.after else base_id

    @property
    def finished(self) -> tuple[TrialFinished, ...]:
        """The trials that count, as they were judged last."""
        return tuple(each.ended for each in self.trials if each.counts)


def _instance(trial: Trial) -> tuple[str, str]:
    return trial.base_id, trial.perturbation
