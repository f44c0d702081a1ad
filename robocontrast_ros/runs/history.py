"""The state of a session, computed from its journal, so that a new process can resume it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from robocontrast_ros.domain import Fault, Scene
from robocontrast_ros.runs.events import (
    BlindingBegan,
    BlindingOpened,
    Event,
    PolicyLoaded,
    SessionFinished,
    SetUp,
    TrialFinished,
    TrialSkipped,
    TrialStarted,
    TrialVoid,
)


@dataclass
class History:
    """The state of a session after some events.

    Attributes:
        finished: the trials that count, in order.
        served: the policy of each of these trials; None if unknown.
        skipped: (base_id, perturbation) of each perturbation that could not be applied.
        left_out: trials that the person at the robot left out, by (base_id, perturbation), from some repeat on.
        retracted: indices of trials that counted, until the rest of the trial was left out.
        spent: sum of all set-up costs.
        pending_cost: set-up costs of the trial that is not finished yet.
        carried: time that people took for all set-ups, as far as measured [s].
        void: number of void attempts.
        attempts: index of a trial -> number of executions begun.
        scene: the last scene that is known; None before the first set-up. Once a trial is set up, that is
            its starting scene, until it ends.
        running: the execution that has begun and not ended.
        policy: the policy that serves; None if unknown.
        first_policy: the one that served first.
        blinding: the commitment of a blind session; None in any other, and before it.
        opened: the opened assignment of its policies to trials; None before.
        end: the end of the session; None if it is not finished.
    """

    finished: list[TrialFinished] = field(default_factory=list)
    served: list[PolicyLoaded | None] = field(default_factory=list)
    skipped: set[tuple[str, str]] = field(default_factory=set)
    left_out: dict[tuple[str, str], TrialSkipped] = field(default_factory=dict)
    retracted: set[int] = field(default_factory=set)
    spent: float = 0.0
    pending_cost: float = 0.0
    carried: float = 0.0
    void: int = 0
    attempts: Counter[int] = field(default_factory=Counter)
    scene: Scene | None = None
    running: TrialStarted | None = None
    policy: PolicyLoaded | None = None
    first_policy: PolicyLoaded | None = None
    blinding: BlindingBegan | None = None
    opened: BlindingOpened | None = None
    end: SessionFinished | None = None

    @classmethod
    def of(cls, events: Iterable[Event]) -> History:
        """Return the state after these events."""
        history = cls()
        for event in events:
            history.add(event)
        return history

    def add(self, event: Event) -> None:
        """Take one more event into account."""
        if isinstance(event, TrialSkipped):
            key = event.base_id, event.perturbation
            if event.repeat == 0:
                self.skipped.add(key)
            if event.by_person:
                self.left_out.setdefault(key, event)
                self._retract(event.trials)
        elif isinstance(event, SetUp):
            self.spent += event.cost
            self.pending_cost += event.cost
            self.carried += event.measured or 0.0
            self.scene = event.target
        elif isinstance(event, TrialStarted):
            self.attempts[event.trial.index] += 1
            self.running = event
        elif isinstance(event, TrialVoid):
            self.void += 1
            self.running = None
            self.scene = event.scene or self.scene
        elif isinstance(event, TrialFinished):
            self.finished.append(event)
            self.served.append(self.policy)
            self.pending_cost = 0.0
            self.scene, self.running = event.scene_left, None
        elif isinstance(event, PolicyLoaded):
            self.policy = event
            self.first_policy = self.first_policy or event
        elif isinstance(event, BlindingBegan):
            self.blinding = event
        elif isinstance(event, BlindingOpened):
            self.opened = event
        elif isinstance(event, SessionFinished):
            self.end = event

    def _retract(self, trials: Sequence[str]) -> None:
        """Let trials count no longer: like those of void attempts, their set-ups are paid for with the next trial."""
        for place in reversed(range(len(self.finished))):
            event = self.finished[place]
            if event.trial.trial_id in trials:
                self.retracted.add(event.trial.index)
                self.pending_cost += event.cost
                del self.finished[place], self.served[place]


def as_counted(events: Iterable[Event]) -> tuple[Event, ...]:
    """Return the events, in which each trial that was finished and counts no longer is a void attempt."""
    events = tuple(events)
    why = {trial: e.reason for e in events if isinstance(e, TrialSkipped) for trial in e.trials}
    return tuple(
        TrialVoid(e.trial, e.attempt, Fault.SKIPPED, why[e.trial.trial_id], e.scene_left, e.time)
        if isinstance(e, TrialFinished) and e.trial.trial_id in why
        else e
        for e in events
    )
