"""The numbers that claims are about, with intervals: a bootstrap over base instances, the seeds pooled.

A base instance is drawn with all that belongs to it: its trials in every strategy, their costs, and its share in the
test-set mean. So strategies that ran the same instances are compared in pairs, and a contrast set's error is that
against the mean of the very instances drawn. Instances are drawn within each seed, and every number is the mean
over seeds. Intervals are percentiles of ``resamples`` draws, where nothing else is said.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from robocontrast_ros.domain import BASE
from robocontrast_ros.statistics.estimate import CONFIDENCE, NO_ESTIMATE, Estimate
from robocontrast_ros.statistics.prediction import adjusted_mean
from robocontrast_ros.studies.claims import Claim, Decided, Measure

Array = NDArray[np.float64]

ROUNDING = 1e-9
"""A sum of costs that is the limit itself is within it."""

ENOUGH = 0.9
"""Share of the draws that have to have a number for it to have an interval."""


@dataclass(frozen=True, eq=False)
class Trials:
    """The trials of one session that count, in order.

    Attributes:
        instance: of each, the number of its base instance among those of the test set, shape (n,).
        score: the metric, shape (n,).
        cost: of its set-ups, shape (n,).
        perturbation: ``base`` or the perturbation's name, shape (n,).
        covariates: what is known before it is run: family (one-hot), length of the planner's path, perturbation
            (one-hot); shape (n, p).
    """

    instance: NDArray[np.int64]
    score: Array
    cost: Array
    perturbation: NDArray[np.str_]
    covariates: Array

    @property
    def cumulative_cost(self) -> Array:
        """Cost of all set-ups up to and including each trial's, shape (n,)."""
        return np.cumsum(self.cost)

    @property
    def is_base(self) -> NDArray[np.bool_]:
        """Whether each is unperturbed, shape (n,)."""
        return self.perturbation == BASE


class Sitting:
    """All sessions of one policy and one seed, and the instances of its test set that were drawn."""

    def __init__(self, table: pl.DataFrame, labels: Sequence[str], standard: str, metric: str) -> None:
        """Take the trials.

        Args:
            table: of a job (``JobFiles.read``).
            labels: of the strategies.
            standard: that of the standard evaluation, which has at least one trial.
            metric: the score that counts.
        """
        counting = table.filter("counts")
        instances = counting.filter(pl.col("strategy") == standard)["base_id"].unique(maintain_order=True)
        others = counting["base_id"].unique(maintain_order=True)
        order = {name: i for i, name in enumerate(dict.fromkeys([*instances, *others]))}
        self.standard, self.size = standard, len(order)
        families, perturbations = (sorted(counting[key].unique()) for key in ("family", "perturbation"))
        longest = float(counting["optimal_path_length_m"].max() or 1.0)
        self.sessions: dict[str, Trials] = {}
        for label in labels:
            known = counting.filter(pl.col("strategy") == label, pl.col(metric).is_not_null())
            self.sessions[label] = Trials(
                instance=np.array([order[name] for name in known["base_id"]], dtype=np.int64),
                score=known[metric].to_numpy().astype(float),
                cost=known["cumulative_cost"].diff().fill_null(known["cumulative_cost"].first()).to_numpy(),
                perturbation=known["perturbation"].to_numpy().astype(str),
                covariates=np.column_stack(
                    [
                        *(known["family"].to_numpy() == family for family in families),
                        (known["optimal_path_length_m"].fill_null(longest) / longest).to_numpy(),
                        *(known["perturbation"].to_numpy() == name for name in perturbations),
                    ]
                ).astype(float),
            )

    @property
    def target(self) -> float:
        """The test-set mean: that of the standard evaluation (the sample mean of seed 000, appendix A)."""
        return float(np.mean(self.sessions[self.standard].score))

    @property
    def standard_cost(self) -> float:
        """What the standard evaluation cost."""
        return float(np.sum(self.sessions[self.standard].cost))

    def within(self, label: str) -> int:
        """Return how many trials of a strategy the cost of the standard evaluation allows."""
        return int(np.sum(self.sessions[label].cumulative_cost <= self.standard_cost + ROUNDING))

    def adjusted(self, label: str, first: int | None = None) -> Estimate:
        """Return the adjusted mean of a strategy's first trials, all of them when None; it estimates ``target``."""
        every, trials = self.sessions[self.standard], self.sessions[label]
        chosen = slice(first)
        if not trials.is_base[chosen].any():
            return NO_ESTIMATE
        _, one_each = np.unique(every.instance, return_index=True)
        return adjusted_mean(
            trials.score[chosen],
            trials.covariates[chosen],
            trials.instance[chosen],
            trials.is_base[chosen],
            every.covariates[np.sort(one_each)],
            finite=True,
        )


class Evidence:
    """What the sittings of one policy say, seed by seed, as drawn and drawn again."""

    def __init__(
        self, sittings: Sequence[Sitting], bins: int, resamples: int, rng: np.random.Generator
    ) -> None:
        """Draw the instances again.

        Args:
            sittings: one a seed.
            bins: number of costs that errors at equal cost are taken at.
            resamples: number of draws.
            rng: what they are drawn with.
        """
        self._sittings, self._bins = sittings, bins
        self._weights = []
        for sitting in sittings:
            drawn = rng.multinomial(sitting.size, np.full(sitting.size, 1.0 / sitting.size), resamples)
            self._weights.append(np.vstack([np.ones(sitting.size), drawn]).astype(float))

    def decide(self, claim: Claim, policy: str) -> Decided:
        """Return how a claim came out."""
        return Decided(claim, policy, self.estimate(claim.measure))

    def estimate(self, measure: Measure) -> Estimate:
        """Return a number with its interval; without one where too little was drawn to have one."""
        return getattr(self, f"_{measure.kind}")(measure)

    def _cost_per_trial(self, measure: Measure) -> Estimate:
        return self._interval(self._price(measure.of[0]))

    def _trials_ratio(self, measure: Measure) -> Estimate:
        with np.errstate(divide="ignore", invalid="ignore"):
            return self._interval(self._price(measure.against[0]) / self._price(measure.of[0]))

    def _cost_ratio(self, measure: Measure) -> Estimate:
        """Return the greatest of the ratios; each has the confidence that makes all of them right together."""
        price, number = self._price(measure.of[0]), len(measure.against)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = [self._interval(price / self._price(label), number) for label in measure.against]
        return _combined(ratios, max)

    def _sensitivity(self, measure: Measure) -> Estimate:
        return self._interval(self._off(measure.of[0], measure.perturbation))

    def _paired_sensitivity(self, measure: Measure) -> Estimate:
        values = []
        for seed, trials in self._sessions(measure.of[0]):
            size = self._sittings[seed].size
            base, chosen = trials.is_base, trials.perturbation == measure.perturbation
            with np.errstate(invalid="ignore"):
                own = np.bincount(trials.instance[base], trials.score[base], size) / np.bincount(
                    trials.instance[base], minlength=size
                )
                total, number = self._sums(
                    measure.of[0],
                    seed,
                    trials.score - own[trials.instance],
                    chosen & ~np.isnan(own[trials.instance]),
                )
                values.append(total / number)
        return self._interval(np.mean(values, axis=0))

    def _bias(self, measure: Measure) -> Estimate:
        if measure.estimator == "adjusted":
            return self._adjusted_bias(measure.of[0])
        return self._interval(self._off(measure.of[0], BASE if measure.estimator == "base" else ""))

    def _closer(self, measure: Measure) -> Estimate:
        """Return the least of the differences; each has the confidence that makes all of them right together."""
        pairs = [(one, other) for one in measure.of for other in measure.against]
        return _combined([self._nearer(one, other, len(pairs)) for one, other in pairs], min)

    def _nearer(self, one: str, other: str, comparisons: int) -> Estimate:
        """Return the absolute bias of another strategy less that of one.

        A bootstrap of absolute values would be off, since noise makes every one of them greater. But |b| - |a| is
        the smaller of |b - a| and |b + a|, positive where these have one sign; and both of these are means.
        """
        a, b = self._off(one), self._off(other)
        less, more = (self._interval(values, comparisons) for values in (b - a, b + a))
        if less.mean is None or more.mean is None:
            return NO_ESTIMATE
        mean = _smaller(less.mean, more.mean)
        if less.low is None or less.high is None or more.low is None or more.high is None:
            return Estimate(mean)
        corners = [_smaller(x, y) for x in (less.low, less.high) for y in (more.low, more.high)]
        return Estimate(mean, min(corners), max(corners))

    def _error_at_equal_cost(self, measure: Measure) -> Estimate:
        """Return the difference of two mean errors.

        Errors are absolute values, which are greater in every draw than in what was drawn from: draws say how much the
        difference varies, not where it is.
        """
        values = self._mean_error(measure.of[0]) - self._mean_error(measure.against[0])
        return self._interval(np.concatenate([values[:1], values[1:] - np.nanmean(values[1:]) + values[0]]))

    def _interval(self, values: Array, comparisons: int = 1) -> Estimate:
        """Return the estimate of a number and its draws, shape (resamples + 1,).

        Args:
            values: the number itself, then each draw.
            comparisons: how many intervals are to be right together (Bonferroni).
        """
        value, drawn = float(values[0]), values[1:][np.isfinite(values[1:])]
        if not np.isfinite(value):
            return NO_ESTIMATE
        if min(sitting.size for sitting in self._sittings) < 2 or len(drawn) < ENOUGH * (len(values) - 1):
            return Estimate(value)
        tail = (1.0 - CONFIDENCE) / (2.0 * comparisons)
        low, high = np.quantile(drawn, (tail, 1.0 - tail))
        return Estimate(value, float(low), float(high))

    def _price(self, label: str) -> Array:
        """Return the cost of a trial, shape (resamples + 1,)."""
        sums = [self._sums(label, seed, trials.cost) for seed, trials in self._sessions(label)]
        with np.errstate(invalid="ignore"):
            return np.mean([cost / number for cost, number in sums], axis=0)

    def _off(self, label: str, perturbation: str = "") -> Array:
        """Return the mean of a strategy's trials, or of those of a perturbation, less the test-set mean."""
        values = []
        for seed, trials in self._sessions(label):
            chosen = trials.perturbation == perturbation if perturbation else np.ones(len(trials.score), bool)
            total, number = self._sums(label, seed, trials.score, chosen)
            with np.errstate(invalid="ignore"):
                values.append(total / number - self._targets[seed])
        return np.mean(values, axis=0)

    def _mean_error(self, label: str) -> Array:
        """Return the absolute error of the running mean, over evenly spaced costs up to the standard evaluation's.

        A strategy that has come to its end keeps its estimate.
        """
        values = []
        for seed, trials in self._sessions(label):
            costs = np.linspace(0.0, self._sittings[seed].standard_cost, self._bins + 1)[1:]
            reached = np.searchsorted(trials.cumulative_cost, costs + ROUNDING, side="right")
            last = np.maximum(reached, 1) - 1
            weights = self._weights[seed][:, trials.instance]
            with np.errstate(invalid="ignore"):
                running = (np.cumsum(weights * trials.score, axis=1) / np.cumsum(weights, axis=1))[:, last]
            # Where none of the first trials was drawn there is no estimate yet.
            values.append(np.nanmean(np.abs(running - self._targets[seed][:, None]), axis=1))
        return np.mean(values, axis=0)

    def _adjusted_bias(self, label: str) -> Estimate:
        """Return it with the estimator's own intervals, which are about the test set's mean, put together."""
        estimates = [sitting.adjusted(label) for sitting in self._sittings]
        errors = [
            estimate.mean - sitting.target
            for estimate, sitting in zip(estimates, self._sittings, strict=True)
            if estimate.mean is not None
        ]
        widths = [estimate.half_width for estimate in estimates if estimate.half_width is not None]
        if len(errors) < len(estimates):
            return NO_ESTIMATE
        mean = float(np.mean(errors))
        if len(widths) < len(estimates):
            return Estimate(mean)
        half = float(np.sqrt(np.sum(np.square(widths)))) / len(widths)
        return Estimate(mean, mean - half, mean + half)

    def _sessions(self, label: str) -> list[tuple[int, Trials]]:
        return [(seed, sitting.sessions[label]) for seed, sitting in enumerate(self._sittings)]

    def _sums(
        self, label: str, seed: int, values: Array, chosen: NDArray[np.bool_] | None = None
    ) -> tuple[Array, Array]:
        """Return sum and number of some trials' values, of each draw."""
        sitting = self._sittings[seed]
        instance = sitting.sessions[label].instance
        if chosen is not None:
            instance, values = instance[chosen], values[chosen]
        weights = self._weights[seed]
        total = weights @ np.bincount(instance, values, sitting.size)
        return total, weights @ np.bincount(instance, minlength=sitting.size).astype(float)

    @cached_property
    def _targets(self) -> list[Array]:
        targets = []
        for seed, sitting in enumerate(self._sittings):
            total, number = self._sums(sitting.standard, seed, sitting.sessions[sitting.standard].score)
            targets.append(total / number)
        return targets


def _smaller(x: float, y: float) -> float:
    """Return the smaller of two absolute values, positive where both numbers have one sign."""
    return math.copysign(min(abs(x), abs(y)), x * y)


def _combined(estimates: Sequence[Estimate], choose: Callable[[Iterable[float]], float]) -> Estimate:
    """Return the least, or the greatest, of several estimates; its interval is that of the ends."""
    means, lows, highs = ([getattr(e, name) for e in estimates] for name in ("mean", "low", "high"))
    if None in means:
        return NO_ESTIMATE
    if None in lows or None in highs:
        return Estimate(choose(means))
    return Estimate(choose(means), choose(lows), choose(highs))
