"""The measured times of a person who set scenes up, beside the model ``seconds_to_move``, and the model that fits best.

Seed 000, appendix C.3, times the experimenter. The model is linear in metres walked, metres carried and objects
handled. Its coefficients are found by least squares within the limits of ``HandlingTimes``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from robocontrast_ros.domain.geometry import Vector3
from robocontrast_ros.runs.events import SetUp
from robocontrast_ros.statistics.clusters import cluster_mean
from robocontrast_ros.statistics.estimate import Estimate
from robocontrast_ros.strategies.effort import HandlingTimes, SecondsToMove, handled

FASTEST = 5.0
"""Greatest speed of ``HandlingTimes`` [m/s]."""

LONGEST = 600.0
"""Greatest time of ``HandlingTimes`` [s]."""

LEAST_SET_UPS = 6
"""Least number of set-ups for a fit of the model: twice the number of its coefficients."""


@dataclass(frozen=True)
class MeasuredHandling:
    """A person's times beside the model.

    Attributes:
        set_ups: number of timed set-ups with an object that was carried on a known way.
        measured: their time in all [s].
        modelled: the model's time for them with the session's ``handling_times`` [s].
        difference: mean of measured minus modelled, a set-up [s], with its interval over set-ups.
        fitted: the times with which the model fits best; None if there are too few set-ups, or if walking, carrying and
            handling cannot be separated in them. Taking and placing share their time as in the session.
        residual: root of the mean square of measured minus the fitted model, a set-up [s]; None without one.
    """

    set_ups: int
    measured: float
    modelled: float
    difference: Estimate
    fitted: HandlingTimes | None = None
    residual: float | None = None


def handling_of(set_ups: Sequence[SetUp], times: HandlingTimes, store: Vector3 | None) -> MeasuredHandling | None:
    """Return a person's times beside the model; None if no set-up with a carried object was timed.

    Args:
        set_ups: the set-ups of a session.
        times: the session's handling times.
        store: place of the objects that are in no scene [m]; None if it is unknown.
    """
    timed = [(event, done) for event in set_ups if event.measured is not None for done in [handled(event.moves, store)]]
    timed = [(event, done) for event, done in timed if done.objects]
    if not timed:
        return None
    model = SecondsToMove(times, store)
    measured = np.array([event.measured for event, _ in timed])
    modelled = np.array([model.cost(event.moves) for event, _ in timed])
    # The timed unit is the set-up, which may move many objects.
    difference = cluster_mean(measured - modelled, np.arange(len(timed)), bounds=None)
    found = MeasuredHandling(len(timed), math.fsum(measured), math.fsum(modelled), difference)
    work = np.array([[done.walked, done.carried, done.objects] for _, done in timed])
    if len(timed) < LEAST_SET_UPS or np.linalg.matrix_rank(work) < work.shape[1]:
        return found
    # Few sessions are timed, and scipy.optimize takes longer than all other imports of the command that shows results.
    from scipy.optimize import lsq_linear

    least, most = (1.0 / FASTEST, 1.0 / FASTEST, 0.0), (math.inf, math.inf, 2.0 * LONGEST)
    per_walked, per_carried, per_object = lsq_linear(work, measured, (least, most)).x.tolist()
    usual = times.taking + times.placing
    taking = min(per_object * (times.taking / usual if usual else 0.5), LONGEST)
    fitted = HandlingTimes(
        walking_speed=min(1.0 / per_walked, FASTEST),
        carrying_speed=min(1.0 / per_carried, FASTEST),
        taking=taking,
        placing=min(per_object - taking, LONGEST),
    )
    rest = measured - work @ np.array([per_walked, per_carried, per_object])
    return replace(found, fitted=fitted, residual=float(np.sqrt(np.mean(rest**2))))
