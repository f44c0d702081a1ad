"""The trials of one policy with a bootstrap over base instances, from which measures make their estimates.

A base instance is drawn together with its trials in every strategy, their costs, and its share in the test-set
mean. So strategies that ran the same instances are compared in pairs, and a contrast set's error is relative to the
mean of the instances drawn. Instances are drawn within each seed. The numbers that ``Evidence`` draws are means over
seeds; measures of paired differences and slopes pool the instances of all seeds instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.statistics.clusters import UNIT, cluster_mean
from robocontrast_ros.statistics.estimate import CONFIDENCE, NO_ESTIMATE, Estimate
from robocontrast_ros.studies.orders import Estimator, ExpectedError, expected_error
from robocontrast_ros.studies.seed_run import SeedRun, Trials

Array = NDArray[np.float64]

ORDERS_SEED = 0
"""Seed of the random orders of the test set."""

ENOUGH = 0.9
"""Share of the draws that must yield a number for it to have an interval."""


@dataclass(frozen=True, eq=False)
class Seed:
    """The trials of one seed and their draws.

    Attributes:
        run: its sessions.
        weights: number of times that each draw has each base instance, shape (resamples + 1, size). The first row is
            not drawn: it has every instance once.
    """

    run: SeedRun
    weights: Array

    def sums(self, label: str, values: Array, chosen: NDArray[np.bool_] | None = None) -> tuple[Array, Array]:
        """Return the sum of the chosen trials' values and their number, for each draw."""
        instance = self.run.sessions[label].instance
        if chosen is not None:
            instance, values = instance[chosen], values[chosen]
        total = self.weights @ np.bincount(instance, values, self.run.size)
        return total, self.weights @ np.bincount(instance, minlength=self.run.size).astype(float)

    @cached_property
    def target(self) -> Array:
        """The test-set mean, for each draw."""
        total, number = self.sums(self.run.standard, self.run.sessions[self.run.standard].score)
        return total / number


class Evidence:
    """The trials of one policy, seed by seed, and their bootstrap draws.

    Attributes:
        seeds: one per seed.
        bins: number of costs at which errors at equal cost are taken.
        control: the evidence of the study's control, with the same instances drawn; None for the control itself and
            in a study without one.
        others: the trials of another policy, by its name, with the same score and the same seeds.
    """

    def __init__(
        self,
        seed_runs: Sequence[SeedRun],
        bins: int,
        resamples: int,
        rng: np.random.Generator,
        control: Evidence | None = None,
        others: Callable[[str], Sequence[SeedRun]] | None = None,
    ) -> None:
        """Draw the instances.

        Args:
            seed_runs: one per seed.
            bins: as the attribute.
            resamples: number of draws.
            rng: the only source of randomness.
            control: as the attribute.
            others: as the attribute.
        """
        self.bins, self.control, self.others = bins, control, others
        self._expected: dict[tuple[str, Estimator, str], ExpectedError] = {}
        self.seeds = []
        for run in seed_runs:
            drawn = rng.multinomial(run.size, np.full(run.size, 1.0 / run.size), resamples)
            self.seeds.append(Seed(run, np.vstack([np.ones(run.size), drawn]).astype(float)))

    @property
    def seed_runs(self) -> list[SeedRun]:
        """The trials, one per seed."""
        return [seed.run for seed in self.seeds]

    def interval(self, values: Array, comparisons: int = 1) -> Estimate:
        """Return the estimate of a number and its draws, shape (resamples + 1,).

        Args:
            values: the number itself, then each draw.
            comparisons: number of intervals that are to hold simultaneously (Bonferroni).
        """
        value, drawn = float(values[0]), values[1:][np.isfinite(values[1:])]
        if not np.isfinite(value):
            return NO_ESTIMATE
        if min(seed.run.size for seed in self.seeds) < 2 or len(drawn) < ENOUGH * (len(values) - 1):
            return Estimate(value)
        tail = (1.0 - CONFIDENCE) / (2.0 * comparisons)
        low, high = np.quantile(drawn, (tail, 1.0 - tail))
        return Estimate(value, float(low), float(high))

    def over_seeds(self, label: str, number: Callable[[Seed, Trials], Array]) -> Array:
        """Return the mean over seeds of a number of a strategy's trials, and its draws, shape (resamples + 1,)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.mean([number(seed, seed.run.sessions[label]) for seed in self.seeds], axis=0)

    def price(self, label: str) -> Array:
        """Return the cost of a trial, shape (resamples + 1,)."""
        return self.over_seeds(label, lambda seed, trials: np.divide(*seed.sums(label, trials.cost, trials.is_priced)))

    def off(self, label: str, perturbation: str = "") -> Array:
        """Return the mean of a strategy's trials, or of those of a perturbation, minus the test-set mean."""

        def of_seed(seed: Seed, trials: Trials) -> Array:
            chosen = trials.perturbation == perturbation if perturbation else None
            return np.divide(*seed.sums(label, trials.score, chosen)) - seed.target

        return self.over_seeds(label, of_seed)

    def expected_error(self, of: str, estimator: Estimator, against: str) -> ExpectedError:
        """Return the error of an estimator at equal cost, over random orders of the test set."""
        asked = (of, estimator, against)
        if asked not in self._expected:
            rng = np.random.default_rng(ORDERS_SEED)
            self._expected[asked] = expected_error(self.seed_runs, *asked, rng)
        return self._expected[asked]

    def applied(self, label: str, perturbation: str) -> tuple[int, int]:
        """Return the number of base instances to which a perturbation could be applied, and to which it could not."""
        masks = [run.applied(label, perturbation) for run in self.seed_runs]
        return sum(int(yes.sum()) for yes, _ in masks), sum(int(no.sum()) for _, no in masks)

    def base_means(self, label: str, perturbation: str) -> tuple[Estimate, Estimate]:
        """Return the mean base score of the instances to which a perturbation could be applied, and could not."""
        groups: tuple[list[Array], list[Array]] = ([], [])
        for run in self.seed_runs:
            trials = run.sessions[label]
            means = trials.by_instance(trials.is_base, run.size)
            for group, mask in zip(groups, run.applied(label, perturbation), strict=True):
                group.append(means[mask])
        applied, refused = (instance_mean(np.concatenate(group), UNIT) for group in groups)
        return applied, refused


def instance_mean(values: Array, bounds: tuple[float, float]) -> Estimate:
    """Return the mean over base instances; NaN values are left out."""
    known = values[~np.isnan(values)]
    return cluster_mean(known, np.arange(len(known)), bounds=bounds)
