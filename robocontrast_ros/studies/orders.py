"""Error of an estimate at equal cost, averaged over random orders of the test set.

The error of a session's running mean depends on the order of its trials as much as on the strategy. The trials of a
base instance start from the instance's own scene, whatever ran before, so the trials of a standard evaluation and of
a contrast set can be reordered afterwards: instance by instance, with their costs. The mean over random orders is
the error to expect when the test set is shuffled.

Intervals are by a jackknife that leaves out groups of base instances, within each seed, and Student's t (Kott 2001,
*J. Off. Stat.* 17).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from robocontrast_ros.statistics.estimate import CONFIDENCE, NO_ESTIMATE, Estimate
from robocontrast_ros.studies.seed_run import ROUNDING, SeedRun, Trials

Array = NDArray[np.float64]

Estimator = Literal["plain", "base", "adjusted"]

ESTIMATORS: Mapping[Estimator, str] = {
    "plain": "mean of all trials",
    "base": "mean of the base trials",
    "adjusted": "adjusted mean",
}
"""Estimator -> its words."""

COSTS = 20
"""Number of costs at which errors are taken, evenly spaced up to the cost of the standard evaluation."""

PRECISION: dict[Estimator, tuple[int, int]] = {"plain": (200, 20), "base": (200, 20), "adjusted": (10, 10)}
"""Number of random orders, and number of groups of base instances that the jackknife leaves out in each seed.

With fewer than three times as many instances as groups, one instance at a time is left out, because groups would
differ too much in size. The adjusted mean has smaller numbers, because it takes a hundred times as long as the others.
"""

FEWEST = 5
"""Number of base instances of a seed below which there is no interval."""


@dataclass(frozen=True, eq=False)
class ExpectedError:
    """Mean absolute error of two estimates at equal cost.

    Attributes:
        costs: the costs, mean over seeds, shape (k,).
        of: error of the first, mean over orders and seeds, shape (k,); NaN if one of the two has no trial up to a cost.
        against: error of the second, likewise.
        difference: first minus second, mean over costs; empty if a seed has no instance to order.
    """

    costs: Array
    of: Array
    against: Array
    difference: Estimate


def expected_error(
    seed_runs: Sequence[SeedRun],
    of: str,
    estimator: Estimator,
    against: str,
    rng: np.random.Generator,
    orders: int | None = None,
) -> ExpectedError:
    """Return the error of an estimator on one strategy's trials, and of the plain mean on another's.

    Both run in the same orders. The target is the standard evaluation's mean over the instances that both strategies
    completed; costs go up to the cost of these instances in the standard evaluation.

    Args:
        seed_runs: one per seed.
        of: label of a strategy whose base trials all start from their own scenes.
        estimator: ``plain``, ``base`` or ``adjusted``.
        against: label of another such strategy.
        rng: the only source of randomness.
        orders: number of random orders; None for that of ``PRECISION``.

    Returns:
        The estimate has no interval if a seed has fewer than five instances.
    """
    usual, groups = PRECISION[estimator]
    ordered = [_Orders(seed_run, of, against, rng, orders or usual) for seed_run in seed_runs]
    found = [each.replicates(lambda own, some: own.errors(some, estimator), groups, rng) for each in ordered]
    if any(each is None for each in found):
        return ExpectedError(*(np.full(COSTS, np.nan) for _ in range(3)), NO_ESTIMATE)
    # If one of the two has no trial up to a cost, neither error counts at that cost.
    known = [np.where(np.isnan(each).any(axis=2, keepdims=True), np.nan, each) for each in found]
    of, against = np.mean([_mean_of_known(each[0], axis=0) for each in known], axis=0)
    costs = np.mean([each.costs(each.instances) for each in ordered], axis=0)
    differences = [_mean_of_known(each[:, :, 0] - each[:, :, 1], axis=2) for each in known]
    return ExpectedError(costs, of, against, _jackknifed(differences))


def expected_trials(
    seed_runs: Sequence[SeedRun], of: str, against: str, budget: float, rng: np.random.Generator
) -> Estimate:
    """Return the ratio of the numbers of trials that a budget allows two strategies, mean over random orders.

    Args:
        seed_runs: one per seed.
        of: label of a strategy whose base trials all start from their own scenes.
        against: label of another such strategy.
        budget: limit, as a share of the standard evaluation's cost of the instances that both completed.
        rng: the only source of randomness.

    Returns:
        The estimate has no interval if a seed has fewer than five instances, and is empty if a seed has none.
    """
    usual, groups = PRECISION["plain"]
    ordered = [_Orders(seed_run, of, against, rng, usual) for seed_run in seed_runs]
    found = [each.replicates(lambda own, some: own.trials(some, budget), groups, rng) for each in ordered]
    if any(each is None or not each[:, :, 1].all() for each in found):
        return NO_ESTIMATE
    return _jackknifed([each[:, :, 0] / each[:, :, 1] for each in found])


def _mean_of_known(values: Array, axis: int) -> Array:
    """Return the mean over an axis of the values that are not NaN; NaN if all are."""
    known = ~np.isnan(values)
    number = known.sum(axis=axis)
    total = np.where(known, values, 0.0).sum(axis=axis)
    return np.divide(total, number, out=np.full(total.shape, np.nan), where=number > 0)


def _jackknifed(replicates: Sequence[Array]) -> Estimate:
    """Return the mean over seeds and orders of a number, with the interval of a jackknife.

    The variance that random orders add to the replicates is subtracted, because the jackknife would multiply it by the
    number of groups; the variance that they add to the mean is added instead.

    Args:
        replicates: for each seed, the number with all instances, then without each group, in each order; shape
            (groups + 1, orders). A number that is not known is NaN. Such orders are not left out, because that would
            select orders; instead there is no mean, or, if the number is known with all instances, no interval.
    """
    if any(np.isnan(each[0]).any() for each in replicates):
        return NO_ESTIMATE
    mean = float(np.mean([each[0].mean() for each in replicates]))
    if min(len(each) for each in replicates) <= FEWEST or any(np.isnan(each).any() for each in replicates):
        return Estimate(mean)
    variances, freedom = [], 0
    for each in replicates:
        left, orders = each[1:], each.shape[1]
        by_chance = np.mean(np.var(left - left.mean(axis=0), axis=1, ddof=1)) / orders
        spread = max(0.0, float(np.var(left.mean(axis=1)) - by_chance))
        variances.append((len(left) - 1) * spread + np.var(each[0], ddof=1) / orders)
        freedom += len(left) - 1
    reach = float(stats.t.ppf(0.5 + CONFIDENCE / 2, freedom) * np.sqrt(np.sum(variances)) / len(replicates))
    return Estimate(mean, mean - reach, mean + reach)


class _Orders:
    """Two strategies of one seed in the same random orders."""

    def __init__(self, seed_run: SeedRun, of: str, against: str, rng: np.random.Generator, orders: int) -> None:
        self._of, self._against, self._standard = (
            _Blocks(seed_run.sessions[label]) for label in (of, against, seed_run.standard)
        )
        complete = [seed_run.complete(label) for label in (of, against, seed_run.standard)]
        self.instances = reduce(np.intersect1d, complete)
        # The session's first scene has no known cost, so it cannot be put elsewhere in the order.
        self.instances = np.setdiff1d(self.instances, seed_run.sessions[seed_run.standard].unpriced)
        self._number = seed_run.size
        self._orders = [rng.permutation(self.instances) for _ in range(orders)]

    def replicates(
        self,
        numbers: Callable[[_Orders, NDArray[np.int64]], Array],
        groups: int,
        rng: np.random.Generator,
    ) -> Array | None:
        """Return numbers with all instances, and without each group of them, shape (groups + 1, orders, ...).

        It is None if there is no instance, and has no groups if there are too few instances for an interval.
        """
        number = len(self.instances)
        if not number:
            return None
        number = groups if number >= 3 * groups else number
        left_out = np.array_split(rng.permutation(self.instances), number) if number >= FEWEST else []
        chosen = [self.instances, *(np.setdiff1d(self.instances, group) for group in left_out)]
        return np.array([numbers(self, some) for some in chosen])

    def costs(self, instances: NDArray[np.int64]) -> Array:
        """Return evenly spaced costs up to that of some instances in the standard evaluation, shape (costs,)."""
        cost = float(np.sum(self._standard.taken(instances).cost))
        return np.linspace(0.0, cost, COSTS + 1)[1:]

    def errors(self, instances: NDArray[np.int64], estimator: Estimator) -> Array:
        """Return the absolute errors of both in each order, with some of the instances, shape (orders, 2, costs)."""
        standard = self._standard.taken(instances)
        target = float(np.mean(standard.score))
        _, one_each = np.unique(standard.instance, return_index=True)
        every = standard.covariates[one_each]
        costs = self.costs(instances) + ROUNDING
        means = [
            [
                self._of.means(order, estimator, costs, every),
                self._against.means(order, "plain", costs, every),
            ]
            for order in self._ordered(instances)
        ]
        return np.abs(np.array(means) - target)

    def trials(self, instances: NDArray[np.int64], budget: float) -> Array:
        """Return the numbers of trials of both strategies that a budget allows in each order, shape (orders, 2)."""
        spent = budget * float(np.sum(self._standard.taken(instances).cost))
        both = [
            [blocks.trials(order, spent) for blocks in (self._of, self._against)] for order in self._ordered(instances)
        ]
        return np.array(both)

    def _ordered(self, instances: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        chosen = np.zeros(self._number, bool)
        chosen[instances] = True
        for order in self._orders:
            yield order[chosen[order]]


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
        """Return the estimate at each cost, shape (costs,); NaN if no trial is done up to a cost.

        Args:
            instances: in the order in which they are run.
            estimator: the kind of mean.
            costs: the costs, in rising order.
            every: covariates of the test set's instances, for the adjusted mean.
        """
        where = self._positions(instances)
        reached = np.searchsorted(np.cumsum(self._trials.cost[where]), costs, side="right")
        if estimator == "adjusted":
            means = [self._trials.taken(where[:number]).adjusted(every).mean for number in reached]
            return np.array(means, dtype=float)
        counted = self._counted[estimator][where]
        total, number = np.cumsum(self._trials.score[where] * counted), np.cumsum(counted)
        return np.where(reached > 0, (total / number)[np.maximum(reached, 1) - 1], np.nan)

    def trials(self, instances: NDArray[np.int64], cost: float) -> float:
        """Return the number of trials that a cost allows if instances are run in this order.

        The first trial beyond the cost counts as the fraction of its cost that is left, because the jumps of whole
        numbers would be as large as the differences that the jackknife measures.
        """
        done = np.cumsum(self._trials.cost[self._positions(instances)])
        number = int(np.searchsorted(done, cost + ROUNDING, side="right"))
        if number == len(done):
            return float(number)
        before = done[number - 1] if number else 0.0
        return float(number + (cost - before) / (done[number] - before))

    def _positions(self, instances: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.concatenate([self._where[i] for i in instances.tolist()])
