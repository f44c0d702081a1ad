"""The numbers that claims are about, with intervals from a bootstrap over base instances, seeds pooled.

A base instance is drawn together with its trials in every strategy, their costs, and its share in the test-set
mean. So strategies that ran the same instances are compared in pairs, and a contrast set's error is relative to the
mean of the instances drawn. Instances are drawn within each seed, and every number is the mean over seeds.
Intervals are percentiles of ``resamples`` draws unless a docstring says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from robocontrast_ros.domain import BASE
from robocontrast_ros.statistics.changes import difference_in_differences
from robocontrast_ros.statistics.clusters import DIFFERENCES, UNIT, cluster_mean, paired_difference
from robocontrast_ros.statistics.estimate import CONFIDENCE, NO_ESTIMATE, Estimate
from robocontrast_ros.statistics.slopes import VARIES, slopes_of
from robocontrast_ros.statistics.unpaired import unpaired_difference
from robocontrast_ros.studies.claims import COMPARING, Claim, Decided, Estimator, Kind, Measure
from robocontrast_ros.studies.orders import ExpectedError, expected_error, expected_trials
from robocontrast_ros.studies.seed_run import ROUNDING, SeedRun, Trials

Array = NDArray[np.float64]

ORDERS_SEED = 0
"""Seed of the random orders of the test set."""

ENOUGH = 0.9
"""Share of the draws that must yield a number for it to have an interval."""


class Evidence:
    """The trials of one policy, seed by seed, and their bootstrap draws."""

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
            bins: number of costs at which errors at equal cost are taken.
            resamples: number of draws.
            rng: the only source of randomness.
            control: the same for the study's control, with the same instances drawn.
            others: the trials of another policy, by its name, with the same score and the same seeds.
        """
        self._seed_runs, self._bins, self._control, self._others = seed_runs, bins, control, others
        self._expected: dict[tuple[str, Estimator, str], ExpectedError] = {}
        self._weights = []
        for seed_run in seed_runs:
            drawn = rng.multinomial(seed_run.size, np.full(seed_run.size, 1.0 / seed_run.size), resamples)
            self._weights.append(np.vstack([np.ones(seed_run.size), drawn]).astype(float))

    def decide(self, claim: Claim, policy: str, is_control: bool = False) -> Decided:
        """Decide a claim."""
        measure = claim.measure
        same = measure.kind in COMPARING and measure.estimator == "plain" and self._same_trials(measure)
        return Decided(claim, policy, self.estimate(measure), same, is_control)

    def estimate(self, measure: Measure) -> Estimate:
        """Return a number with its interval; without one where too few draws yield a number."""
        return _ESTIMATES[measure.kind](self, measure)

    def expected_error(self, of: str, estimator: Estimator, against: str) -> ExpectedError:
        """Return the error of an estimator at equal cost, over random orders of the test set."""
        asked = (of, estimator, against)
        if asked not in self._expected:
            rng = np.random.default_rng(ORDERS_SEED)
            self._expected[asked] = expected_error(self._seed_runs, *asked, rng)
        return self._expected[asked]

    def applied(self, label: str, perturbation: str) -> tuple[int, int]:
        """Return how many base instances a perturbation could be applied to, and to how many it could not."""
        masks = [self._applied(seed_run, label, perturbation) for seed_run in self._seed_runs]
        return sum(int(yes.sum()) for yes, _ in masks), sum(int(no.sum()) for _, no in masks)

    def _same_trials(self, measure: Measure) -> bool:
        """Tell whether the compared strategies ran the same trials."""
        labels = {*measure.of, *measure.against}
        return len(labels) == 2 and all(
            s.sessions[measure.of[0]].same(s.sessions[measure.against[0]]) for s in self._seed_runs
        )

    def _cost_per_trial(self, measure: Measure) -> Estimate:
        return self._interval(self._price(measure.of[0]))

    def _perturbing_cost(self, measure: Measure) -> Estimate:
        values = []
        for seed, trials in self._sessions(measure.of[0]):
            seed_run = self._seed_runs[seed]
            whole = np.zeros(seed_run.size)
            whole[seed_run.complete(measure.of[0])] = 1.0
            chosen = ~trials.is_base & (whole[trials.instance] > 0.0)
            total, _ = self._sums(measure.of[0], seed, trials.cost, chosen)
            with np.errstate(invalid="ignore", divide="ignore"):
                values.append(total / (self._weights[seed] @ whole))
        return self._interval(np.mean(values, axis=0))

    def _trials_ratio(self, measure: Measure) -> Estimate:
        with np.errstate(divide="ignore", invalid="ignore"):
            return self._interval(self._price(measure.against[0]) / self._price(measure.of[0]))

    def _cost_ratio(self, measure: Measure) -> Estimate:
        return self._greatest_ratio(measure, self._price)

    def _total_cost_ratio(self, measure: Measure) -> Estimate:
        def total(label: str) -> Array:
            sums = [self._sums(label, seed, trials.cost)[0] for seed, trials in self._sessions(label)]
            return np.mean(sums, axis=0)

        return self._greatest_ratio(measure, total)

    def _greatest_ratio(self, measure: Measure, value: Callable[[str], Array]) -> Estimate:
        """Return the greatest of the ratios; their intervals hold simultaneously (Bonferroni)."""
        own, number = value(measure.of[0]), len(measure.against)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = [self._interval(own / value(label), number) for label in measure.against]
        return _combined(ratios, max)

    def _sensitivity(self, measure: Measure) -> Estimate:
        return self._controlled(measure, lambda own: own._off(measure.of[0], measure.perturbation))

    def _sensitivity_in_set(self, measure: Measure) -> Estimate:
        def values(own: Evidence) -> Array:
            return own._off(measure.of[0], measure.perturbation) - own._off(measure.of[0])

        return self._controlled(measure, values)

    def _controlled(self, measure: Measure, values: Callable[[Evidence], Array]) -> Estimate:
        """Return the interval of values, minus the control's where that is wanted."""
        if not measure.less_control:
            return self._interval(values(self))
        return NO_ESTIMATE if self._control is None else self._interval(values(self) - values(self._control))

    def _paired_sensitivity(self, measure: Measure) -> Estimate:
        """Return the mean change of a score from the instance's own base trial, over all instances that have both."""
        changes = np.concatenate(self._changes(measure))
        if not measure.less_control:
            return _mean(changes, DIFFERENCES)
        if self._control is None:
            return NO_ESTIMATE
        controls = np.concatenate(self._control._changes(measure))
        both = ~np.isnan(changes) & ~np.isnan(controls)
        return difference_in_differences(changes[both], controls[both])

    def _changes(self, measure: Measure) -> list[Array]:
        """Return, for each seed and instance, mean score under a perturbation minus that of base, shape (size,).

        Under all perturbations where the measure names none. NaN where an instance lacks one of the two, or is of
        none of the measure's families, if it names any.
        """
        found = []
        for seed, trials in self._sessions(measure.of[0]):
            size, family = self._seed_runs[seed].size, self._seed_runs[seed].family
            chosen = trials.perturbation == measure.perturbation if measure.perturbation else ~trials.is_base
            changes = _by_instance(trials, chosen, size) - _by_instance(trials, trials.is_base, size)
            found.append(np.where(np.isin(family, measure.families), changes, np.nan) if measure.families else changes)
        return found

    def _family_difference(self, measure: Measure) -> Estimate:
        """Return the difference between two disjoint groups of base instances, seeds pooled."""
        groups = (measure, replace(measure, kind="change", families=measure.other_families, other_families=()))
        return unpaired_difference(*(_mean(np.concatenate(self._changes(one)), DIFFERENCES) for one in groups))

    def _slope(self, measure: Measure) -> Estimate:
        """Return the slope of the least-squares line through the trials of all seeds, with Student's interval.

        Its standard error is the standard deviation of the draws, as in ``statistics.slopes``.
        """
        values = self._slopes(measure)
        if measure.less_control:
            values = values - self._control._slopes(measure) if self._control else np.full_like(values, np.nan)
        found = self._interval(values)
        spread = 0.0 if found.low is None else float(np.nanstd(values[1:]))
        if spread <= ROUNDING:
            # Scores that are all equal, also within one value of a measure, do not say how much others would vary.
            return Estimate(found.mean)
        instances = [len(np.unique(self._placed(trials, measure)[2])) for _, trials in self._sessions(measure.of[0])]
        quantile = stats.t.ppf(0.5 + CONFIDENCE / 2, max(sum(instances) - len(instances), 1))
        reach = float(quantile) * spread
        return Estimate(found.mean, found.mean - reach, found.mean + reach)

    def _slopes(self, measure: Measure) -> Array:
        """Return the slope and its draws, shape (resamples + 1,); NaN where the measure does not vary."""
        chosen = [self._placed(trials, measure) for _, trials in self._sessions(measure.of[0])]
        levels = np.unique(np.concatenate([level for _, _, _, level in chosen]))
        middle, mean = (np.mean(np.concatenate([one[i] for one in chosen])) if len(levels) else 0.0 for i in (0, 1))
        sums = np.zeros((5, len(self._weights[0]), len(levels)))
        for seed, (x, y, instance, level) in enumerate(chosen):
            size, number = self._seed_runs[seed].size, len(levels)
            cells = instance * number + np.searchsorted(levels, level)
            # Around the means rounding is smallest, and equal scores have no slope at all.
            x, y = x - middle, y - mean
            for total, values in zip(sums, (np.ones_like(x), x, y, x * x, x * y), strict=True):
                total += self._weights[seed] @ np.bincount(cells, values, size * number).reshape(size, number)
        # The first is no draw: every trial once.
        return slopes_of(sums, VARIES * max(float(np.sum(sums[3, 0])), 1e-300))

    @staticmethod
    def _placed(trials: Trials, measure: Measure) -> tuple[Array, Array, NDArray[np.int64], Array]:
        """Return measure, score, instance, and the measure that both are centred within, of the trials of a slope."""
        unknown = np.full(len(trials.score), np.nan)
        x = np.where(trials.is_base, np.nan, trials.measures.get(measure.by, unknown))
        if measure.base is not None:
            x[trials.is_base] = measure.base
        level = trials.measures.get(measure.within, unknown) if measure.within else np.zeros(len(x))
        known = ~np.isnan(x) & ~np.isnan(level)
        if measure.range is not None:
            known &= (x >= measure.range[0]) & (x <= measure.range[1])
        return x[known], trials.score[known], trials.instance[known], level[known]

    def _policy_difference(self, measure: Measure) -> Estimate:
        own, other, clusters = self._shared(measure)
        return paired_difference(own, other, clusters)

    def _agreement(self, measure: Measure) -> Estimate:
        own, other, clusters = self._shared(measure)
        solved = own == 1.0
        return cluster_mean(other[solved] == 1.0, clusters[solved])

    def _shared(self, measure: Measure) -> tuple[Array, Array, NDArray[np.int64]]:
        """Return the scores of both policies, and the base instance, of the perturbed trials that both ran."""
        if self._others is None:
            return np.zeros(0), np.zeros(0), np.zeros(0, np.int64)
        parts, first = [], 0
        for seed_run, other_run in zip(self._seed_runs, self._others(measure.than), strict=True):
            own, other = (
                s.sessions[measure.of[0]].taken(np.flatnonzero(~s.sessions[measure.of[0]].is_base))
                for s in (seed_run, other_run)
            )
            _, a, b = np.intersect1d(own.key, other.key, return_indices=True)
            parts.append((own.score[a], other.score[b], own.instance[a] + first))
            first += seed_run.size
        own, other, clusters = (np.concatenate(part) for part in zip(*parts, strict=True))
        return own, other, clusters

    def _selection(self, measure: Measure) -> Estimate:
        """Return the difference between two disjoint groups of base instances, seeds pooled."""
        return unpaired_difference(*self.base_means(measure.of[0], measure.perturbation))

    def base_means(self, label: str, perturbation: str) -> tuple[Estimate, Estimate]:
        """Return the mean base score of the instances that a perturbation was applied to, and of the others."""
        groups: tuple[list[Array], list[Array]] = ([], [])
        for seed, trials in self._sessions(label):
            seed_run = self._seed_runs[seed]
            means = _by_instance(trials, trials.is_base, seed_run.size)
            for group, mask in zip(groups, self._applied(seed_run, label, perturbation), strict=True):
                group.append(means[mask])
        applied, refused = (_mean(np.concatenate(group), UNIT) for group in groups)
        return applied, refused

    @staticmethod
    def _applied(seed_run: SeedRun, label: str, perturbation: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return to which base instances a perturbation was applied, and to which it could not be.

        Instances of families to which it was never applied are in neither: it is not made for them.
        """
        trials = seed_run.sessions[label]
        has_base, applied, whole = (np.zeros(seed_run.size, bool) for _ in range(3))
        has_base[trials.instance[trials.is_base]] = True
        whole[seed_run.complete(label)] = True
        applied[trials.instance[trials.perturbation == perturbation]] = True
        takes_it = np.isin(seed_run.family, seed_run.family[has_base & applied])
        return has_base & applied, has_base & whole & ~applied & takes_it

    def _bias(self, measure: Measure) -> Estimate:
        if measure.estimator == "adjusted":
            return self._adjusted_bias(measure.of[0])
        return self._interval(self._off(measure.of[0], BASE if measure.estimator == "base" else ""))

    def _closer(self, measure: Measure) -> Estimate:
        """Return the least of the differences; their intervals hold simultaneously (Bonferroni)."""
        pairs = [(one, other) for one in measure.of for other in measure.against]
        return _combined([self._nearer(one, other, len(pairs)) for one, other in pairs], min)

    def _nearer(self, one: str, other: str, comparisons: int) -> Estimate:
        """Return the absolute bias of ``other`` minus that of ``one``.

        A bootstrap of absolute values would be biased, since noise makes them greater. But |b| - |a| is the smaller
        of |b - a| and |b + a|, positive where these have the same sign; and both of these are means.
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

    def _trials_within(self, measure: Measure) -> Estimate:
        rng = np.random.default_rng(ORDERS_SEED)
        return expected_trials(self._seed_runs, measure.of[0], measure.against[0], float(measure.budget or 0.0), rng)

    def _expected_error(self, measure: Measure) -> Estimate:
        return self.expected_error(measure.of[0], measure.estimator, measure.against[0]).difference

    def _error_at_equal_cost(self, measure: Measure) -> Estimate:
        """Return the difference between two mean errors.

        Errors are absolute values, which resampling makes greater: the draws give the spread of the difference, not
        its location.
        """
        values = self._mean_error(measure.of[0]) - self._mean_error(measure.against[0])
        return self._interval(np.concatenate([values[:1], values[1:] - np.nanmean(values[1:]) + values[0]]))

    def _interval(self, values: Array, comparisons: int = 1) -> Estimate:
        """Return the estimate of a number and its draws, shape (resamples + 1,).

        Args:
            values: the number itself, then each draw.
            comparisons: how many intervals are to hold simultaneously (Bonferroni).
        """
        value, drawn = float(values[0]), values[1:][np.isfinite(values[1:])]
        if not np.isfinite(value):
            return NO_ESTIMATE
        if min(seed_run.size for seed_run in self._seed_runs) < 2 or len(drawn) < ENOUGH * (len(values) - 1):
            return Estimate(value)
        tail = (1.0 - CONFIDENCE) / (2.0 * comparisons)
        low, high = np.quantile(drawn, (tail, 1.0 - tail))
        return Estimate(value, float(low), float(high))

    def _price(self, label: str) -> Array:
        """Return the cost of a trial, shape (resamples + 1,)."""
        sums = [self._sums(label, seed, trials.cost, trials.is_priced) for seed, trials in self._sessions(label)]
        with np.errstate(invalid="ignore"):
            return np.mean([cost / number for cost, number in sums], axis=0)

    def _off(self, label: str, perturbation: str = "") -> Array:
        """Return the mean of a strategy's trials, or of those of a perturbation, minus the test-set mean."""
        values = []
        for seed, trials in self._sessions(label):
            chosen = trials.perturbation == perturbation if perturbation else np.ones(len(trials.score), bool)
            total, number = self._sums(label, seed, trials.score, chosen)
            with np.errstate(invalid="ignore"):
                values.append(total / number - self._targets[seed])
        return np.mean(values, axis=0)

    def _mean_error(self, label: str) -> Array:
        """Return the absolute error of the running mean, over evenly spaced costs up to the standard evaluation's.

        A strategy that has ended keeps its estimate.
        """
        values = []
        for seed, trials in self._sessions(label):
            costs = np.linspace(0.0, self._seed_runs[seed].standard_cost, self._bins + 1)[1:]
            reached = np.searchsorted(trials.cumulative_cost, costs + ROUNDING, side="right")
            last = np.maximum(reached, 1) - 1
            weights = self._weights[seed][:, trials.instance]
            with np.errstate(invalid="ignore"):
                running = (np.cumsum(weights * trials.score, axis=1) / np.cumsum(weights, axis=1))[:, last]
            # NaN while none of the trials so far was drawn.
            values.append(np.nanmean(np.abs(running - self._targets[seed][:, None]), axis=1))
        return np.mean(values, axis=0)

    def _adjusted_bias(self, label: str) -> Estimate:
        """Return the bias with the estimator's own intervals, one per seed, combined."""
        estimates = [seed_run.adjusted(label) for seed_run in self._seed_runs]
        errors = [
            estimate.mean - seed_run.target
            for estimate, seed_run in zip(estimates, self._seed_runs, strict=True)
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
        return [(seed, seed_run.sessions[label]) for seed, seed_run in enumerate(self._seed_runs)]

    def _sums(
        self, label: str, seed: int, values: Array, chosen: NDArray[np.bool_] | None = None
    ) -> tuple[Array, Array]:
        """Return sum and number of the chosen trials' values, for each draw."""
        seed_run = self._seed_runs[seed]
        instance = seed_run.sessions[label].instance
        if chosen is not None:
            instance, values = instance[chosen], values[chosen]
        weights = self._weights[seed]
        total = weights @ np.bincount(instance, values, seed_run.size)
        return total, weights @ np.bincount(instance, minlength=seed_run.size).astype(float)

    @cached_property
    def _targets(self) -> list[Array]:
        targets = []
        for seed, seed_run in enumerate(self._seed_runs):
            total, number = self._sums(seed_run.standard, seed, seed_run.sessions[seed_run.standard].score)
            targets.append(total / number)
        return targets


_ESTIMATES: Mapping[Kind, Callable[[Evidence, Measure], Estimate]] = {
    "cost_per_trial": Evidence._cost_per_trial,
    "perturbing_cost": Evidence._perturbing_cost,
    "trials_ratio": Evidence._trials_ratio,
    "trials_within": Evidence._trials_within,
    "cost_ratio": Evidence._cost_ratio,
    "total_cost_ratio": Evidence._total_cost_ratio,
    "sensitivity": Evidence._sensitivity,
    "sensitivity_in_set": Evidence._sensitivity_in_set,
    "paired_sensitivity": Evidence._paired_sensitivity,
    "selection": Evidence._selection,
    "bias": Evidence._bias,
    "closer": Evidence._closer,
    "error_at_equal_cost": Evidence._error_at_equal_cost,
    "expected_error": Evidence._expected_error,
    "change": Evidence._paired_sensitivity,
    "family_difference": Evidence._family_difference,
    "slope": Evidence._slope,
    "policy_difference": Evidence._policy_difference,
    "agreement": Evidence._agreement,
}


def _by_instance(trials: Trials, chosen: NDArray[np.bool_], size: int) -> Array:
    """Return the mean score of the chosen trials of each base instance, shape (size,); NaN where it has none."""
    where = trials.instance[chosen]
    with np.errstate(invalid="ignore"):
        return np.bincount(where, trials.score[chosen], size) / np.bincount(where, minlength=size)


def _mean(values: Array, bounds: tuple[float, float]) -> Estimate:
    """Return the mean over base instances; NaN values are left out."""
    known = values[~np.isnan(values)]
    return cluster_mean(known, np.arange(len(known)), bounds=bounds)


def _smaller(x: float, y: float) -> float:
    """Return the smaller of two absolute values, positive where both numbers have the same sign."""
    return math.copysign(min(abs(x), abs(y)), x * y)


def _combined(estimates: Sequence[Estimate], choose: Callable[[Iterable[float]], float]) -> Estimate:
    """Return the least, or the greatest, of several estimates and of the ends of their intervals."""
    means, lows, highs = ([getattr(e, name) for e in estimates] for name in ("mean", "low", "high"))
    if None in means:
        return NO_ESTIMATE
    if None in lows or None in highs:
        return Estimate(choose(means))
    return Estimate(choose(means), choose(lows), choose(highs))
