"""The pacing of a run in a world that did not wait: control rate, speed of the robot, and source of a base's pose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robocontrast_ros.analysis.data.run_record import RunRecord
from robocontrast_ros.domain.words import counted
from robocontrast_ros.robots.speed_scaling import is_slowed, percent
from robocontrast_ros.runs.events import TrialFinished

OVERRUN = 0.01
"""Excess of a control period over its nominal length above which it is an overrun [s]."""


@dataclass(frozen=True)
class Pacing:
    """The control periods of trials that count, and the answers that came too late.

    Attributes:
        periods: control periods on the wall clock; 0 if the world waited.
        jitter: 99th percentile of the absolute difference between a period and its nominal length [s].
        worst: the largest absolute difference [s].
        overruns: periods that exceed their nominal length by more than ``OVERRUN``.
        answers: number of the policy's answers.
        late_answers: those that took longer than the control period in which they were asked for.
        waited: control steps that passed while the robot waited for them.
    """

    periods: int
    jitter: float
    worst: float
    overruns: int
    answers: int
    late_answers: int
    waited: int

    @property
    def words(self) -> str:
        """All of it in one sentence or two; empty if the world waited and no answer was late."""
        parts = []
        if self.periods:
            parts.append(
                f"{self.periods} control periods on the wall clock: jitter {1e3 * self.jitter:.1f} ms (99 %), at most "
                f"{1e3 * self.worst:.1f} ms; {self.overruns} longer by more than {1e3 * OVERRUN:.0f} ms."
            )
        if self.periods or self.late_answers:
            parts.append(f"{self.late_answers} of {self.answers} answers late, {self.waited} control steps waited.")
        return " ".join(parts)


def pacing_of(run: RunRecord) -> Pacing:
    """Return the pacing of a run's trials that count."""
    trials = run.finished
    errors = [error for trial in trials for error in trial.period_errors]
    waits = [wait for trial in trials for wait in trial.waits]
    return _pacing(errors, waits, sum(len(trial.policy_latency) for trial in trials))


def pose_sources_of(run: RunRecord) -> str:
    """Return the driver's sources of a base's pose, in one sentence; empty if its file leaves no choice."""
    counts = Counter(trial.pose_source for trial in run.finished if trial.pose_source)
    if not counts:
        return ""
    trials = "; ".join(f"{source} in {counted(number, 'trial', 'trials')}" for source, number in counts.most_common())
    return f"Pose of the base: {trials}."


def speed_scaling_of(run: RunRecord) -> str:
    """Return a sentence on the robot's slowing from outside, or on the reason why it is unknown.

    It is empty at full speed, and if the session noted nothing.
    """
    trials, said = run.finished, run.speed_notes
    slowed = [trial.speed_scaling for trial in trials if is_slowed(trial.speed_scaling)]
    if slowed:
        span = percent(min(slowed)) + (
            f" to {percent(max(slowed))}" if percent(min(slowed)) != percent(max(slowed)) else ""
        )
        return (
            f"Something outside slowed the robot: {span} of its full speed in {len(slowed)} of "
            f"{counted(len(trials), 'trial', 'trials')}."
        )
    unknown = any(trial.speed_scaling is None for trial in trials)
    return f"{said[-1][0].upper()}{said[-1][1:]}." if said and unknown else ""


def pacing_of_trial(trial: TrialFinished) -> Pacing:
    """Return the pacing of one trial."""
    return _pacing(trial.period_errors, trial.waits, len(trial.policy_latency))


def _pacing(errors: Sequence[float], waits: Sequence[int], answers: int) -> Pacing:
    differences = np.abs(errors) if errors else np.zeros(1)
    return Pacing(
        periods=len(errors),
        jitter=float(np.quantile(differences, 0.99)),
        worst=float(differences.max()),
        overruns=sum(error > OVERRUN for error in errors),
        answers=answers,
        late_answers=sum(wait > 0 for wait in waits),
        waited=sum(waits),
    )
