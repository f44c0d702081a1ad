"""The numbers that claims may be about: a record for each kind, which estimates its number from the evidence.

Intervals are percentiles of the bootstrap's draws (``evidence``) unless a docstring names another one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidatorFunctionWrapHandler

from robocontrast_ros.configuration import ConfigurationError, parse_record, record
from robocontrast_ros.domain import BASE
from robocontrast_ros.statistics.changes import difference_in_differences
from robocontrast_ros.statistics.clusters import DIFFERENCES, cluster_mean, paired_difference, student_quantile
from robocontrast_ros.statistics.difficulty import difficulty
from robocontrast_ros.statistics.estimate import CONFIDENCE, NO_ESTIMATE, Estimate
from robocontrast_ros.statistics.observation_shift import Pair
from robocontrast_ros.statistics.slopes import VARIES, slopes_of
from robocontrast_ros.statistics.unpaired import unpaired_difference
from robocontrast_ros.studies.evidence import ORDERS_SEED, Array, Evidence, Seed, instance_mean
from robocontrast_ros.studies.orders import ESTIMATORS, Estimator, expected_trials
from robocontrast_ros.studies.seed_run import DIFFICULTY, ROUNDING, Cost, SeedRun, Trials

Named = tuple[Iterable[str], Collection[str], str]
"""Names that the study must have, names that it has, and the words for their kind in an error, such as "policy"."""

_FAMILY = "family of the study's test set"

KINDS: dict[str, type[Measure]] = {}
"""Kind -> its record."""

_UNITS: Mapping[Cost, str] = {"budget": "", "metres": " [m]", "seconds": " [s]"}


@dataclass(frozen=True)
class Offered:
    """The names that the claims about a study may use.

    Attributes:
        perturbations: label of each strategy -> its perturbations.
        measures: label of each strategy -> the measures that scenes of its perturbations have.
        control: the study's control; empty if it has none.
        policies: names of the policies.
        families: of the test instances.
        scores: each score of the sessions -> whether its range is 0 to 1.
    """

    perturbations: Mapping[str, tuple[str, ...]]
    measures: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    control: str = ""
    policies: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    scores: Mapping[str, bool] = field(default_factory=dict)


@record
class Measure:
    """A number that a claim is about. A record with a default ``kind`` is the record of that kind.

    Attributes:
        WORDS: template of the number's words; the record is its argument ``0``, and ``words`` gives the named ones.
        SEVERAL: keys that may name several strategies; any other key of strategies names one.
    """

    WORDS: ClassVar[str] = ""
    SEVERAL: ClassVar[tuple[str, ...]] = ()

    kind: str = Field(description="what is measured; docs/study_numbers.md defines each")
    of: tuple[str, ...] = Field(min_length=1, description="labels of the strategies that are measured")
    score: str = Field(
        default="metric",
        min_length=1,
        description="metric, the task's; success; or one of the study's scores from 0 to 1",
    )
    cost: Cost = Field(default="budget", description="the study's own cost, or metres, or seconds")

    def __init_subclass__(cls) -> None:
        if "kind" in vars(cls):
            KINDS[cls.kind] = cls

    def __post_init__(self) -> None:
        for key, labels in self.strategies.items():
            if key not in self.SEVERAL and len(labels) != 1:
                raise ValueError(f"one strategy in `{key}` where `kind` is {self.kind}")

    @property
    def strategies(self) -> Mapping[str, tuple[str, ...]]:
        """Each key that names strategies -> their labels."""
        return {"of": self.of}

    @property
    def label(self) -> str:
        """Label of the first strategy that is measured."""
        return self.of[0]

    @property
    def needs_control(self) -> bool:
        """Whether the number needs a control in the study; the control itself then has no such number."""
        return False

    def is_for(self, policy: str) -> bool:
        """Return whether the claim is decided for a policy."""
        return True

    def names(self, offered: Offered) -> Iterator[Named]:
        """Yield what it names of the study."""
        for labels in self.strategies.values():
            yield labels, offered.perturbations, "strategy of the study"

    def estimate(self, evidence: Evidence) -> Estimate:
        """Return the number with its interval; it has no interval if too few draws yield a number."""
        raise NotImplementedError

    def same_trials(self, evidence: Evidence) -> bool:
        """Return whether the compared strategies ran the same trials."""
        return False

    @property
    def words(self) -> str:
        """The number, in words."""
        named = {key: " and ".join(f"'{label}'" for label in labels) for key, labels in self.strategies.items()}
        mean, score = ("mean", "the metric") if self.score == "metric" else (self.score, self.score)
        number = self.WORDS.format(self, mean=mean, score=score, **named)
        control = ", minus the control's" if self.needs_control else ""
        return f"{number}{control}{_UNITS[self.cost]}"


@record
class CostPerTrial(Measure):
    """The cost of all set-ups divided by trials."""

    WORDS = "cost of a trial of {of}"
    kind: Literal["cost_per_trial"] = "cost_per_trial"

    def estimate(self, evidence: Evidence) -> Estimate:
        """Return the cost per trial, without the first scene of a session, whose cost is not known."""
        return evidence.interval(evidence.price(self.label))


@record
class PerturbingCost(Measure):
    """The cost of all perturbed trials of a test instance together."""

    WORDS = "cost of all perturbed trials of a test instance in {of}"
    kind: Literal["perturbing_cost"] = "perturbing_cost"

    def estimate(self, evidence: Evidence) -> Estimate:
        """Return the cost per test instance, over the instances that the strategy completed."""
        return evidence.interval(evidence.over_seeds(self.label, self._cost))

    def _cost(self, seed: Seed, trials: Trials) -> Array:
        whole = np.zeros(seed.run.size)
        whole[seed.run.complete(self.label)] = 1.0
        chosen = ~trials.is_base & (whole[trials.instance] > 0.0)
        return seed.sums(self.label, trials.cost, chosen)[0] / (seed.weights @ whole)


@record
class Comparing(Measure):
    """A number that compares strategies with others."""

    against: tuple[str, ...] = Field(description="labels of the strategies that they are compared with")

    @property
    def strategies(self) -> Mapping[str, tuple[str, ...]]:
        """Each key that names strategies -> their labels."""
        return {"of": self.of, "against": self.against}

    def same_trials(self, evidence: Evidence) -> bool:
        """Return whether two strategies ran the same trials; False unless exactly two are compared."""
        one, other = self.label, self.against[0]
        return len({*self.of, *self.against}) == 2 and all(
            seed.run.sessions[one].same(seed.run.sessions[other]) for seed in evidence.seeds
        )


@record
class TrialsRatio(Comparing):
    """Trials of a strategy for the cost of one trial of another."""

    WORDS = "trials of {of} for the cost of one trial of {against}"
    kind: Literal["trials_ratio"] = "trials_ratio"

    def estimate(self, evidence: Evidence) -> Estimate:
        """Return the ratio of the costs of a trial."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return evidence.interval(evidence.price(self.against[0]) / evidence.price(self.label))


@record
class TrialsWithin(Comparing):
    """Trials of a strategy within a cost, over those of another."""

    WORDS = (
        "trials of {of} within {0.budget:.0%} of what the standard evaluation costs, over those of {against}, over "
        "random orders of the test set"
    )
    kind: Literal["trials_within"] = "trials_within"
    budget: float = Field(gt=0, le=1, description="limit, as a share of the standard evaluation's cost")

    def estimate(self, evidence: Evidence) -> Estimate:
        """Return the mean over random orders of the test set, with the interval of a jackknife."""
        rng = np.random.default_rng(ORDERS_SEED)
        return expected_trials(evidence.seed_runs, self.label, self.against[0], self.budget, rng)


@record
class CostRatio(Comparing):
    """Cost of a trial of a strategy, divided by that of the cheapest of some other strategies."""

    WORDS = "cost of a trial of {of}, over that of the cheapest of {against}"
    SEVERAL = ("against",)
    kind: Literal["cost_ratio"] = "cost_ratio"

    def estimate(self, evidence: Evidence) -> Estimate:
        """Return the greatest of the ratios; their intervals hold simultaneously (Bonferroni)."""
        own, number = self._cost(evidence, self.label), len(self.against)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = [evidence.interval(own / self._cost(evidence, label), number) for label in self.against]
        return _combined(ratios, max)

    def _cost(self, evidence: Evidence, label: str) -> Array:
        return evidence.price(label)


@record
class TotalCostRatio(CostRatio):
    """Cost of all trials of a strategy, divided by that of the cheapest of some other strategies."""

    WORDS = "cost of all trials of {of}, over that of the cheapest of {against}"
    kind: Literal["total_cost_ratio"] = "total_cost_ratio"

    def _cost(self, evidence: Evidence, label: str) -> Array:
        return evidence.over_seeds(label, lambda seed, trials: seed.sums(label, trials.cost)[0])


@record
class OfPerturbation(Measure):
    """A number of the trials of one perturbation."""

    perturbation: str = Field(description="name of the perturbation")

    def names(self, offered: Offered) -> Iterator[Named]:
        """Yield what it names of the study."""
        yield from super().names(offered)
        yield (self.perturbation,), offered.perturbations[self.label], f"perturbation of '{self.label}'"


@record
class Controlled(Measure):
    """A number from which the same number of the control may be subtracted."""

    less_control: bool = Field(
        default=False, description="whether the same number of the study's control is subtracted"
    )

    @property
    def needs_control(self) -> bool:
        """Whether the number of the control is subtracted."""
        return self.less_control

    def estimate(self, evidence: Evidence) -> Estimate:
        """Return the number, minus the control's if ``less_control``; that difference is empty without a control."""
        values = self._values(evidence)
        if not self.less_control:
            return self._interval(values, evidence)
        return NO_ESTIMATE if evidence.control is None else self._beyond(values, evidence, evidence.control)

    def _values(self, evidence: Evidence) -> Array:
        """Return the data of the estimate: the number and its draws, or a value of each base instance."""
        raise NotImplementedError

    def _interval(self, values: Array, evidence: Evidence) -> Estimate:
        return evidence.interval(values)

    def _beyond(self, values: Array, evidence: Evidence, control: Evidence) -> Estimate:
        """Return the estimate minus the control's."""
        return self._interval(values - self._values(control), evidence)


@record
class Sensitivity(Controlled, OfPerturbation):
    """Mean of a perturbation's trials minus the test-set mean."""

    WORDS = "{mean} of the {0.perturbation} trials of {of}, minus the test-set mean"
    kind: Literal["sensitivity"] = "sensitivity"

    def _values(self, evidence: Evidence) -> Array:
        return evidence.off(self.label, self.perturbation)


@record
class SensitivityInSet(Controlled, OfPerturbation):
    """Mean of a perturbation's trials minus that of all trials of the strategy."""

    WORDS = "{mean} of the {0.perturbation} trials of {of}, minus that of all its trials"
    kind: Literal["sensitivity_in_set"] = "sensitivity_in_set"

    def _values(self, evidence: Evidence) -> Array:
        return evidence.off(self.label, self.perturbation) - evidence.off(self.label)


@record
class PairedChange(Controlled):
    """Mean change of a score from the instance's own base trial, over all instances that have both.

    The instances of all seeds are pooled, with the interval of ``cluster_mean``; minus the control, with that of
    ``difference_in_differences``.
    """

    def _interval(self, values: Array, evidence: Evidence) -> Estimate:
        return instance_mean(values, DIFFERENCES)

    def _beyond(self, values: Array, evidence: Evidence, control: Evidence) -> Estimate:
        controls = self._values(control)
        both = ~np.isnan(values) & ~np.isnan(controls)
        return difference_in_differences(values[both], controls[both])


@record
class PairedSensitivity(PairedChange, OfPerturbation):
    """Mean of a perturbation's trials, each minus the base trial of its own instance."""

    WORDS = "{mean} of the {0.perturbation} trials of {of}, each minus its own base trial"
    kind: Literal["paired_sensitivity"] = "paired_sensitivity"

    def _values(self, evidence: Evidence) -> Array:
        return _changes(evidence, self.label, perturbation=self.perturbation)


@record
class PooledRpd(OfPerturbation):
    """The Ratio Performance Delta of seed 003 (section V-A-2) of the mean rates: (ORI - MOD)/ORI; positive is harmed.

    Both are means over the instances that have trials of both, seeds pooled.
    """

    WORDS = "(ORI - MOD)/ORI of {mean} of {of}, where MOD are the {0.perturbation} trials and ORI their base trials"
    kind: Literal["rpd"] = "rpd"

    def estimate(self, evidence: Evidence) -> Estimate:
        """Return the ratio; it is empty if no base trial succeeds, and has no interval if all draws are equal."""
        totals = np.zeros((2, len(evidence.seeds[0].weights)))
        for seed in evidence.seeds:
            trials, size = seed.run.sessions[self.label], seed.run.size
            means = [trials.by_instance(m, size) for m in (trials.is_base, trials.perturbation == self.perturbation)]
            both = ~np.isnan(means[0]) & ~np.isnan(means[1])
            totals += [seed.weights @ np.where(both, each, 0.0) for each in means]
        original, modified = totals
        with np.errstate(divide="ignore", invalid="ignore"):
            values = (original - modified) / original
            found = evidence.interval(values)
            # A policy that never fails says nothing of the spread.
            varies = found.low is not None and np.nanstd(values[1:]) > ROUNDING
        return found if varies else Estimate(found.mean)


@record
class DifficultyAndHarm(OfPerturbation):
    """Whether the harder skills are harmed more: hypothesis I of seed 003 (section VI).

    A skill is a problem, or a family where instances are of no problem. Of each, ORI and MOD are the shares of its
    instances that have a score of 1, seeds pooled.
    """

    WORDS = (
        "Spearman's rho of ORI and RPD of the {0.perturbation} trials of {of} over skills, minus its expectation if "
        "each loses the same share"
    )
    kind: Literal["difficulty"] = "difficulty"

    def estimate(self, evidence: Evidence) -> Estimate:
        """Return the difference (``statistics.difficulty``); the interval is of skills drawn with replacement."""
        counts: dict[str, Array] = {}
        for seed in evidence.seeds:
            trials, run = seed.run.sessions[self.label], seed.run
            chosen = (trials.is_base, trials.perturbation == self.perturbation)
            means = np.stack([trials.by_instance(each, run.size) for each in chosen], axis=-1)
            for skill, pair in zip(run.skill, means, strict=True):
                if not np.isnan(pair).any():
                    counts[skill] = np.add(counts.get(skill, np.zeros(3)), [*(pair == 1.0), 1.0])
        pairs = [Pair(*map(int, counts[skill])) for skill in sorted(counts)]
        found = difficulty(pairs, np.random.default_rng(ORDERS_SEED))
        ends = (found.rho.mean, found.rho.low, found.rho.high)
        if found.by_chance is None:
            return NO_ESTIMATE
        return Estimate(*(None if end is None else end - found.by_chance for end in ends))


@record
class Selection(OfPerturbation):
    """Mean base score of the instances to which a perturbation could be applied, minus that of the others."""

    WORDS = (
        "{mean} of the base trials of {of} that {0.perturbation} could be applied to, minus that of those that "
        "refused it"
    )
    kind: Literal["selection"] = "selection"

    def estimate(self, evidence: Evidence) -> Estimate:
        """Return the difference of two disjoint groups of base instances, seeds pooled (``unpaired_difference``)."""
        return unpaired_difference(*evidence.base_means(self.label, self.perturbation))


@record
class OfEstimator(Measure):
    """A number of an estimator of the test-set mean."""

    estimator: Estimator = Field(default="plain", description="mean of all or of the base trials, or the adjusted mean")

    @property
    def estimator_words(self) -> str:
        """The estimator, in words."""
        return ESTIMATORS[self.estimator]


@record
class Bias(OfEstimator):
    """An estimate at a strategy's end minus the test-set mean."""

    WORDS = "{0.estimator_words} of {of} at its end, minus the test-set mean"
    kind: Literal["bias"] = "bias"

    def estimate(self, evidence: Evidence) -> Estimate:
        """Return the bias; for the adjusted mean, its interval is made of the estimator's own intervals."""
        if self.estimator == "adjusted":
            return self._adjusted(evidence.seed_runs)
        return evidence.interval(evidence.off(self.label, BASE if self.estimator == "base" else ""))

    def _adjusted(self, seed_runs: Sequence[SeedRun]) -> Estimate:
        """Return the bias with the estimator's own intervals, one per seed, combined."""
        estimates = [seed_run.adjusted(self.label) for seed_run in seed_runs]
        if any(estimate.mean is None for estimate in estimates):
            return NO_ESTIMATE
        errors = [each.mean - seed_run.target for each, seed_run in zip(estimates, seed_runs, strict=True)]
        mean, widths = float(np.mean(errors)), [estimate.half_width for estimate in estimates]
        if None in widths:
            return Estimate(mean)
        half = float(np.sqrt(np.sum(np.square(widths)))) / len(widths)
        return Estimate(mean, mean - half, mean + half)


@record
class Closer(Comparing):
    """The least absolute bias of the strategies ``against`` minus the greatest of the strategies ``of``."""

    WORDS = "absolute bias at the end: the least of {against}, minus the greatest of {of}"
    SEVERAL = ("of", "against")
    kind: Literal["closer"] = "closer"

    def estimate(self, evidence: Evidence) -> Estimate:
        """Return the least of the differences; their intervals hold simultaneously (Bonferroni)."""
        pairs = [(one, other) for one in self.of for other in self.against]
        return _combined([self._nearer(evidence, *pair, len(pairs)) for pair in pairs], min)

    @staticmethod
    def _nearer(evidence: Evidence, one: str, other: str, comparisons: int) -> Estimate:
        """Return the absolute bias of ``other`` minus that of ``one``.

        A bootstrap of absolute values would be biased, because noise makes them greater. But |b| - |a| is the smaller
        of |b - a| and |b + a|, positive if b - a and b + a have the same sign, and both of these are means.
        """
        a, b = evidence.off(one), evidence.off(other)
        less, more = (evidence.interval(values, comparisons) for values in (b - a, b + a))
        if less.mean is None or more.mean is None:
            return NO_ESTIMATE
        mean = _smaller(less.mean, more.mean)
        if less.low is None or less.high is None or more.low is None or more.high is None:
            return Estimate(mean)
        corners = [_smaller(x, y) for x in (less.low, less.high) for y in (more.low, more.high)]
        return Estimate(mean, min(corners), max(corners))


@record
class ErrorAtEqualCost(Comparing):
    """The difference between two mean errors over costs up to the standard evaluation's, in the order that was run."""

    WORDS = "mean error over all costs up to the standard's, of {of} minus that of {against}, in the order that was run"
    kind: Literal["error_at_equal_cost"] = "error_at_equal_cost"

    def estimate(self, evidence: Evidence) -> Estimate:
        """Return the difference.

        Errors are absolute values, which resampling makes greater. So the draws give only the spread of the
        difference, and they are shifted to have the difference as their mean.
        """
        own, other = (self._mean_error(evidence, label) for label in (self.label, self.against[0]))
        values = own - other
        return evidence.interval(np.concatenate([values[:1], values[1:] - np.nanmean(values[1:]) + values[0]]))

    @staticmethod
    def _mean_error(evidence: Evidence, label: str) -> Array:
        """Return the absolute error of the running mean, over evenly spaced costs up to the standard evaluation's.

        A strategy that has ended keeps its estimate.
        """

        def of_seed(seed: Seed, trials: Trials) -> Array:
            costs = np.linspace(0.0, seed.run.standard_cost, evidence.bins + 1)[1:]
            reached = np.searchsorted(trials.cumulative_cost, costs + ROUNDING, side="right")
            last = np.maximum(reached, 1) - 1
            weights = seed.weights[:, trials.instance]
            running = (np.cumsum(weights * trials.score, axis=1) / np.cumsum(weights, axis=1))[:, last]
            # The running mean is NaN while none of the trials so far was drawn.
            return np.nanmean(np.abs(running - seed.target[:, None]), axis=1)

        return evidence.over_seeds(label, of_seed)


@record
class ErrorOverOrders(Comparing, OfEstimator):
    """The difference between two mean errors over costs, averaged over random orders of the test set."""

    WORDS = (
        "mean error over all costs up to the standard's, of the {0.estimator_words} of {of} minus that of {against}, "
        "over random orders of the test set"
    )
    kind: Literal["expected_error"] = "expected_error"

    def estimate(self, evidence: Evidence) -> Estimate:
        """Return the difference, with the interval of a jackknife."""
        return evidence.expected_error(self.label, self.estimator, self.against[0]).difference

    def same_trials(self, evidence: Evidence) -> bool:
        """Return whether both are plain means of the same trials."""
        return self.estimator == "plain" and super().same_trials(evidence)


@record
class ChangeFromBase(PairedChange):
    """Mean of all perturbed trials of an instance minus the mean of its own base trials."""

    WORDS = "{mean} of all perturbed trials of {of}{0._of_families}, minus that of the instances' own base trials"
    kind: Literal["change"] = "change"
    families: tuple[str, ...] = Field(default=(), description="families of instructions; all when left out")

    def names(self, offered: Offered) -> Iterator[Named]:
        """Yield what it names of the study."""
        yield from super().names(offered)
        yield self.families, offered.families, _FAMILY

    def _values(self, evidence: Evidence) -> Array:
        return _changes(evidence, self.label, families=self.families)

    @property
    def _of_families(self) -> str:
        return f" of {' and '.join(self.families)}" if self.families else ""


@record
class FamilyDifference(Measure):
    """The change over the instances of some families minus that over those of others."""

    WORDS = "{mean} of all perturbed trials of {of}, minus that of the instances' own base trials: {0._of_families}"
    kind: Literal["family_difference"] = "family_difference"
    families: tuple[str, ...] = Field(default=(), description="families of instructions")
    other_families: tuple[str, ...] = Field(description="families whose change is subtracted")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.families or set(self.families) & set(self.other_families):
            raise ValueError("values for `families` and `other_families` that have none in common")

    def names(self, offered: Offered) -> Iterator[Named]:
        """Yield what it names of the study."""
        yield from super().names(offered)
        yield (*self.families, *self.other_families), offered.families, _FAMILY

    def estimate(self, evidence: Evidence) -> Estimate:
        """Return the difference of two disjoint groups of base instances, seeds pooled (``unpaired_difference``)."""
        groups = (_changes(evidence, self.label, families=group) for group in (self.families, self.other_families))
        return unpaired_difference(*(instance_mean(changes, DIFFERENCES) for changes in groups))

    @property
    def _of_families(self) -> str:
        families, others = (" and ".join(names) for names in (self.families, self.other_families))
        return f"of {families}, minus the same of {others}"


@record
class Slope(Controlled):
    """The slope of the least-squares line through the trials of all seeds, with Student's interval.

    Its standard error is the standard deviation of the draws, as in ``statistics.slopes``.
    """

    WORDS = "change of {score} per unit of {0.by} over the {0._trials} of {of}{0._within}"
    kind: Literal["slope"] = "slope"
    by: str = Field(description="a measure of the perturbed scenes, for example distractors; or difficulty")
    range: tuple[float, float] | None = Field(
        default=None, description="only trials whose measure is from the first of these to the second"
    )
    within: str = Field(
        default="", description="a measure; scores and `by` are centred among the trials of one value of it"
    )
    base: float | None = Field(
        default=None, description="value of `by` for base trials; if left out, base trials are left out"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.range is not None and self.range[0] >= self.range[1]:
            raise ValueError("less for the first number of `range` than for the second")
        if self.within and (self.within == self.by or self.base is not None):
            raise ValueError("for `within` another measure than `by`, and no `base` beside it")
        if self.by == DIFFICULTY and self.base is not None:
            raise ValueError(f"no `base` where `by` is {DIFFICULTY}, which base trials have themselves")

    def names(self, offered: Offered) -> Iterator[Named]:
        """Yield what it names of the study."""
        yield from super().names(offered)
        known = offered.measures.get(self.label, ())
        yield filter(None, (self.by, self.within)), known, f"measure of the scenes of '{self.label}'"

    def _interval(self, values: Array, evidence: Evidence) -> Estimate:
        found = evidence.interval(values)
        spread = 0.0 if found.low is None else float(np.nanstd(values[1:]))
        if spread <= ROUNDING:
            # Equal scores, also if they are equal only within each value of `within`, give no estimate of the spread.
            return Estimate(found.mean)
        instances = [len(np.unique(instance)) for _, _, instance, _ in self._placed(evidence)]
        quantile = student_quantile(0.5 + CONFIDENCE / 2, max(sum(instances) - len(instances), 1))
        reach = quantile * spread
        return Estimate(found.mean, found.mean - reach, found.mean + reach)

    def _values(self, evidence: Evidence) -> Array:
        """Return the slope and its draws, shape (resamples + 1,); NaN for a draw in which the measure does not vary."""
        chosen = self._placed(evidence)
        levels = np.unique(np.concatenate([level for _, _, _, level in chosen]))
        number = len(levels)
        middle, mean = (np.mean(np.concatenate([one[i] for one in chosen])) if number else 0.0 for i in (0, 1))
        sums = np.zeros((5, len(evidence.seeds[0].weights), number))
        for seed, (x, y, instance, level) in zip(evidence.seeds, chosen, strict=True):
            size = seed.run.size
            cells = instance * number + np.searchsorted(levels, level)
            # Centred values have the smallest rounding errors, and the slope of equal scores is exactly zero.
            x, y = x - middle, y - mean
            for total, values in zip(sums, (np.ones_like(x), x, y, x * x, x * y), strict=True):
                total += seed.weights @ np.bincount(cells, values, size * number).reshape(size, number)
        # The first row is not drawn: it has every trial once.
        return slopes_of(sums, VARIES * max(float(np.sum(sums[3, 0])), 1e-300))

    def _placed(self, evidence: Evidence) -> list[tuple[Array, Array, NDArray[np.int64], Array]]:
        """Return, for each seed, the trials' measure, score, instance, and value of ``within`` (0 without that key)."""
        found = []
        for seed in evidence.seeds:
            trials = seed.run.sessions[self.label]
            unknown = np.full(len(trials.score), np.nan)
            x = trials.measures.get(self.by, unknown).copy()
            if self.base is not None:
                x[trials.is_base] = self.base
            level = trials.measures.get(self.within, unknown) if self.within else np.zeros(len(x))
            known = ~np.isnan(x) & ~np.isnan(level)
            if self.range is not None:
                known &= (x >= self.range[0]) & (x <= self.range[1])
            found.append((x[known], trials.score[known], trials.instance[known], level[known]))
        return found

    @property
    def _within(self) -> str:
        return f", among those of equal {self.within}" if self.within else ""

    @property
    def _trials(self) -> str:
        if self.by == DIFFICULTY:
            return "trials"
        words = "perturbed trials" if self.base is None else f"perturbed and base trials (which count as {self.base:g})"
        return words if self.range is None else f"{words} from {self.range[0]:g} to {self.range[1]:g}"


@record
class OfTwoPolicies(Measure):
    """A number that is decided for one policy and compares it with another, in the perturbed trials that both ran.

    The trials of all seeds are pooled, with an interval whose clusters are the base instances.
    """

    policy: str = Field(description="the policy whose trials these are, and for which the claim is decided")
    than: str = Field(description="the policy that it is compared with")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.than == self.policy:
            raise ValueError("another policy for `than` than for `policy`")

    def is_for(self, policy: str) -> bool:
        """Return whether it is the policy that the number is decided for."""
        return policy == self.policy

    def names(self, offered: Offered) -> Iterator[Named]:
        """Yield what it names of the study."""
        yield from super().names(offered)
        yield (self.policy, self.than), offered.policies, "policy of the study"

    def estimate(self, evidence: Evidence) -> Estimate:
        """Return the number over the trials that both ran; empty without the trials of other policies."""
        if evidence.others is None:
            return NO_ESTIMATE
        parts, first = [], 0
        for seed, other_run in zip(evidence.seeds, evidence.others(self.than), strict=True):
            own, other = (_perturbed(run.sessions[self.label]) for run in (seed.run, other_run))
            _, a, b = np.intersect1d(own.key, other.key, return_indices=True)
            parts.append((own.score[a], other.score[b], own.instance[a] + first))
            first += seed.run.size
        return self._compared(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def _compared(self, own: Array, other: Array, clusters: NDArray[np.int64]) -> Estimate:
        """Return the estimate from both policies' scores and the base instances of the trials that both ran."""
        raise NotImplementedError


@record
class PolicyDifference(OfTwoPolicies):
    """Mean score of one policy minus that of the other."""

    WORDS = "{mean} of the perturbed trials of {of}, minus that of '{0.than}' in the same trials"
    kind: Literal["policy_difference"] = "policy_difference"

    def _compared(self, own: Array, other: Array, clusters: NDArray[np.int64]) -> Estimate:
        return paired_difference(own, other, clusters)


@record
class PolicyAgreement(OfTwoPolicies):
    """Share of the trials with a score of 1 in which the other policy also has 1."""

    WORDS = "share of the perturbed trials of {of} with {score} 1 in which '{0.than}' has 1 too"
    kind: Literal["agreement"] = "agreement"

    def _compared(self, own: Array, other: Array, clusters: NDArray[np.int64]) -> Estimate:
        solved = own == 1.0
        return cluster_mean(other[solved] == 1.0, clusters[solved])


_KEYS = {
    key: info
    for cls in KINDS.values()
    for key, info in cls.__pydantic_fields__.items()
    if key not in Measure.__pydantic_fields__
}
"""The keys that only some kinds have."""


def read_measure(given: Any, usual: ValidatorFunctionWrapHandler) -> Measure:
    """Return the measure that a mapping describes by its ``kind``, or a measure as it is.

    Raises:
        ConfigurationError: the kind is not known, or its keys do not fit.
        ValueError: a key that only other kinds have has a value, or a key that the kind requires has none.
    """
    if not isinstance(given, dict) or "kind" not in given:
        return usual(given)
    kind = given["kind"]
    if kind not in list(KINDS):
        *names, last = map(repr, KINDS)
        raise ConfigurationError("", "kind", kind, f"{', '.join(names)} or {last}")
    own = KINDS[kind].__pydantic_fields__
    for key, info in _KEYS.items():
        says_nothing = given.get(key, info.default) in (None, "", [], (), info.default)
        if key in own and info.is_required() and says_nothing:
            raise ValueError(f"a value for `{key}` where `kind` is {kind}")
        if key not in own and not says_nothing:
            raise ValueError(f"no {'value for ' if info.is_required() else ''}`{key}` where `kind` is {kind}")
    return parse_record(KINDS[kind], {k: v for k, v in given.items() if k in own or k not in _KEYS}, "")


def _changes(evidence: Evidence, label: str, perturbation: str = "", families: Sequence[str] = ()) -> Array:
    """Return the mean score of each instance under a perturbation minus that of base, seeds pooled, shape (instances,).

    If no perturbation is named, the mean is over all of them. The change is NaN if an instance lacks trials of one of
    the two, or if families are named and it is of none of them.
    """
    found = []
    for seed in evidence.seeds:
        trials, run = seed.run.sessions[label], seed.run
        chosen = trials.perturbation == perturbation if perturbation else ~trials.is_base
        changes = trials.by_instance(chosen, run.size) - trials.by_instance(trials.is_base, run.size)
        found.append(np.where(np.isin(run.family, families), changes, np.nan) if families else changes)
    return np.concatenate(found)


def _perturbed(trials: Trials) -> Trials:
    return trials.taken(np.flatnonzero(~trials.is_base))


def _smaller(x: float, y: float) -> float:
    """Return the smaller of two absolute values, positive if both numbers have the same sign, else negative."""
    return math.copysign(min(abs(x), abs(y)), x * y)


def _combined(estimates: Sequence[Estimate], choose: Callable[[Iterable[float]], float]) -> Estimate:
    """Return the least, or the greatest, of several estimates, and likewise of the ends of their intervals."""
    means, lows, highs = ([getattr(e, name) for e in estimates] for name in ("mean", "low", "high"))
    if None in means:
        return NO_ESTIMATE
    if None in lows or None in highs:
        return Estimate(choose(means))
    return Estimate(choose(means), choose(lows), choose(highs))
