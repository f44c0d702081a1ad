"""Error of an estimate at equal cost, on the mean over the orders in which a test set may be run.

The order in which a session ran is one of many, and the error of its running mean says as much about that order as
about the strategy. The trials of one base instance begin in the instance's own scene, whatever came before, so those
of a standard evaluation and of a contrast set may be put into other orders afterwards: instance by instance, with
their costs. The mean over random orders is what an experimenter has to expect who shuffles the test set.

Intervals are by a jackknife that leaves out groups of base instances, within each seed, and Student's t (Kott 2001,
*J. Off. Stat.* 17).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from robocontrast_ros.statistics.estimate import CONFIDENCE, NO_ESTIMATE, Estimate
from robocontrast_ros.statistics.prediction import adjusted_mean
from robocontrast_ros.studies.claims import Estimator
from robocontrast_ros.studies.sitting import ROUNDING, Sitting, Trials

Array = NDArray[np.float64]

COSTS = 10
"""Costs, evenly spaced up to that of the standard evaluation, at which errors are taken."""

PRECISION: dict[Estimator, tuple[int, int]] = {"plain": (100, 20), "base": (100, 20), "adjusted": (10, 10)}
"""Random orders of a test set, and groups of base instances that the jackknife leaves out in each seed.

Where a seed has fewer instances than groups, one at a time is left out. The adjusted mean takes a hundred times as long
as the others.
"""

FEWEST = 5
"""Base instances of a seed below which there is no interval."""


@dataclass(frozen=True)
class ExpectedError:
    """Mean absolute error of two estimates at equal cost.

    Attributes:
        of: of the one, mean over orders, costs and seeds.
        against: of the other.
        difference: of the one less that of the other.
    """

    of: float | None
    against: float | None
    difference: Estimate


def expected_error(
    sittings: Sequence[Sitting],
    of: str,
    estimator: Estimator,
    against: str,
    rng: np.random.Generator,
    orders: int | None = None,
) -> ExpectedError:
    """Return the error of an estimator on one strategy's trials, and of the plain mean on another's.

    Both are run in the same orders. The target is the standard evaluation's mean over the instances that both
    strategies ran to their end; costs go up to what the standard evaluation of these cost.

    Args:
        sittings: one a seed.
        of: label of a strategy whose base trials all begin in their own scenes.
        estimator: ``plain``, ``base`` or ``adjusted``.
        against: label of another such strategy.
        rng: what orders and groups are drawn with.
        orders: number of random orders; that of ``PRECISION`` when None.

    Returns:
        Without interval where a seed has fewer than five instances.
    """
    whole, variances, freedom = [], [], 0
    usual, most = PRECISION[estimator]
    for sitting in sittings:
        ordered = _Orders(sitting, of, estimator, against, rng, orders or usual)
        number = min(most, len(ordered.instances))
        if not number:
            return ExpectedError(None, None, NO_ESTIMATE)
        whole.append(ordered.errors(ordered.instances))
        if number >= FEWEST:
            groups = np.array_split(rng.permutation(ordered.instances), number)
            left = [ordered.errors(np.setdiff1d(ordered.instances, group)) for group in groups]
            variances.append((number - 1) * np.var([one - other for one, other in left]))
            freedom += number - 1
    one, other = np.mean(whole, axis=0)
    difference = float(one - other)
    if len(variances) < len(whole):
        return ExpectedError(float(one), float(other), Estimate(difference))
    reach = float(stats.t.ppf(0.5 + CONFIDENCE / 2, freedom) * np.sqrt(np.sum(variances)) / len(whole))
    return ExpectedError(
        float(one), float(other), Estimate(difference, difference - reach, difference + reach)
    )


class _Orders:
    """Two strategies of one sitting in the same random orders."""

    def __init__(
        self,
        sitting: Sitting,
        of: str,
        estimator: Estimator,
        against: str,
        rng: np.random.Generator,
        orders: int,
    ) -> None:
        self._of, self._against = (_Blocks(sitting.sessions[label]) for label in (of, against))
        self._standard = _Blocks(sitting.sessions[sitting.standard])
        self._estimator = estimator
        self.instances = np.intersect1d(
            np.intersect1d(sitting.complete(of), sitting.complete(against)),
            sitting.complete(sitting.standard),
        )
        self._number = sitting.size
        self._orders = [rng.permutation(self.instances) for _ in range(orders)]

    def errors(self, instances: NDArray[np.int64]) -> Array:
        """Return the mean absolute errors of both, over orders and costs, with some of the instances; shape (2,)."""
        standard = self._standard.taken(instances)
        target = float(np.mean(standard.score))
        _, one_each = np.unique(standard.instance, return_index=True)
        every = standard.covariates[one_each]
        costs = np.linspace(0.0, float(np.sum(standard.cost)), COSTS + 1)[1:] + ROUNDING
        chosen = np.zeros(self._number, bool)
        chosen[instances] = True
        means = []
        for order in self._orders:
            some = order[chosen[order]]
            means.append(
                [
                    self._of.means(some, self._estimator, costs, every),
                    self._against.means(some, "plain", costs, every),
                ]
            )
        errors = np.abs(np.concatenate(means, axis=1) - target)
        # Where one of them has no trial yet, neither counts.
        return errors[:, ~np.isnan(errors).any(axis=0)].mean(axis=1)


class _Blocks:
    """The trials of a session, instance by instance."""

    def __init__(self, trials: Trials) -> None:
        self._trials = trials
        order = np.argsort(trials.instance, kind="stable")
        instances, first = np.unique(trials.instance[order], return_index=True)
        self._where = dict(zip(instances.tolist(), np.split(order, first[1:]), strict=True))
        self._counted: dict[Estimator, Array] = {
            "plain": np.ones(len(trials.score)),
            "base": trials.is_base.astype(float),
        }

    def taken(self, instances: NDArray[np.int64]) -> Trials:
        """Return the trials of some instances, in their order."""
        return self._trials.taken(self._positions(instances))

    def means(self, instances: NDArray[np.int64], estimator: Estimator, costs: Array, every: Array) -> Array:
        """Return the estimate at each cost, shape (costs,); NaN where no trial is done yet.

        Args:
            instances: that are run, in this order.
            estimator: of the mean.
            costs: at which it is asked for, rising.
            every: covariates of the test set's instances, for the adjusted mean.
        """
        where = self._positions(instances)
        reached = np.searchsorted(np.cumsum(self._trials.cost[where]), costs, side="right")
        if estimator == "adjusted":
            return np.array([_adjusted(self._trials.taken(where[:number]), every) for number in reached])
        counted = self._counted[estimator][where]
        total, number = np.cumsum(self._trials.score[where] * counted), np.cumsum(counted)
        return np.where(reached > 0, (total / number)[np.maximum(reached, 1) - 1], np.nan)

    def _positions(self, instances: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.concatenate([self._where[i] for i in instances.tolist()])


def _adjusted(trials: Trials, every: Array) -> float:
    if not len(trials.score):
        return np.nan
    mean = adjusted_mean(
        trials.score, trials.covariates, trials.instance, trials.is_base, every, finite=True
    ).mean
    return np.nan if mean is None else mean
