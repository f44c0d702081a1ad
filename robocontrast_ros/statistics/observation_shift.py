"""How much worse skills are after a change of the scene that does not concern them: observation-space shift (seed 003).

The paper's numbers (section V-A-2), and beside each what it is without any effect. Its averages are over harmed tasks
alone, so they are not zero then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from robocontrast_ros.statistics.clusters import cluster_mean, student_quantile
from robocontrast_ros.statistics.equivalence import Equivalence, equivalence
from robocontrast_ros.statistics.estimate import CONFIDENCE, Estimate
from robocontrast_ros.statistics.multiplicity import holm
from robocontrast_ros.statistics.slopes import RESAMPLES, UNDEFINED

ALPHA = 0.05
"""Error rate of the family of tests."""

MARGIN = 0.05
"""Greatest pooled RPD, in either direction, that does not matter."""


@dataclass(frozen=True)
class Pair:
    """Trials of a skill in its own scenes, and in the same scenes with a change.

    Attributes:
        original: successes in its own scenes.
        modified: successes in the changed ones.
        trials: number of trials of each.
    """

    original: int
    modified: int
    trials: int

    def __post_init__(self) -> None:
        if self.trials < 1 or not all(0 <= k <= self.trials for k in (self.original, self.modified)):
            raise ValueError(f"a pair has from 0 to {self.trials} successes in 1 trial or more; got {self}")


@dataclass(frozen=True)
class ObservationShift:
    """The numbers of a policy over a set of skills.

    Attributes:
        skills: number of skills.
        harmed: number of those with a positive RPD.
        mean_rpd_harmed: mean RPD of those; None without any.
        pooled_rpd: RPD of the mean rates; None if the policy solves nothing.
        expected_harmed: expected share of harmed skills if each skill's true rate were the same in both scenes.
        expected_rpd_harmed: expected RPD of a harmed skill then; None if none can be harmed.
        found_harmed: skills that are worse by one-sided Fisher tests, adjusted by Holm over all skills.
        found_helped: those that are better, likewise.
    """

    skills: int
    harmed: int
    mean_rpd_harmed: float | None
    pooled_rpd: float | None
    expected_harmed: float
    expected_rpd_harmed: float | None
    found_harmed: int
    found_helped: int


def rpd(original: float, modified: float) -> float | None:
    """Return the Ratio Performance Delta (ORI - MOD)/ORI of two rates; None if the original one is 0.

    Positive is harmed. The paper prints 0.00 where it is undefined.
    """
    return (original - modified) / original if original else None


def upper_bound(originals: Sequence[float]) -> float:
    """Return the paper's Chain Upper Bound: the product of the rates of a chain's skills, each in its own scenes.

    It is no bound where outcomes depend on each other.
    """
    return prod(originals)


def dubr(chain: float, bound: float) -> float | None:
    """Return the Delta to Upper Bound Ratio (UB - actual)/UB; None if the bound is 0.

    Positive is harmed, as in the authors' code and figure; the paper's sentence has the other sign.
    """
    return (bound - chain) / bound if bound else None


def observation_shift(pairs: Sequence[Pair]) -> ObservationShift:
    """Return the numbers over a set of skills.

    Raises:
        ValueError: there are no skills.
    """
    if not pairs:
        raise ValueError("observation shift: got no skills, expected at least 1")
    rates = [(pair.original / pair.trials, pair.modified / pair.trials) for pair in pairs]
    harmed = [delta for original, modified in rates if (delta := rpd(original, modified)) is not None and delta > 0.0]
    original, modified = np.mean(rates, axis=0).tolist()
    share, total = np.mean([_by_chance(pair) for pair in pairs], axis=0).tolist()
    return ObservationShift(
        skills=len(pairs),
        harmed=len(harmed),
        mean_rpd_harmed=float(np.mean(harmed)) if harmed else None,
        pooled_rpd=rpd(original, modified),
        expected_harmed=share,
        expected_rpd_harmed=total / share if share else None,
        found_harmed=_found(pairs, "greater"),
        found_helped=_found(pairs, "less"),
    )


@dataclass(frozen=True)
class PooledShift:
    """The RPD of the mean rates over skills.

    Attributes:
        original: mean over skills of the rate in their own scenes.
        modified: the same in the changed ones.
        rpd: its interval is the wider, at each end, of the bootstrap over clusters and of the tests' (``same``): if no
            outcome changes, no draw of the bootstrap differs. Empty if the policy solves nothing.
        same: test of the hypothesis that the RPD is the margin or more in either direction; its differences are
            modified minus original, over trials. None if the policy solves nothing.
    """

    original: float
    modified: float
    rpd: Estimate
    same: Equivalence | None


def pooled_shift(
    original: ArrayLike,
    modified: ArrayLike,
    skills: ArrayLike,
    clusters: ArrayLike,
    rng: np.random.Generator,
    margin: float = MARGIN,
) -> PooledShift:
    """Return the RPD of the mean rates, with its interval and its test.

    The margin of the test is ``margin`` times the mean original rate, whose own error changes it in the second order.

    Args:
        original: success of each trial in a skill's own scene, 0 or 1, shape (n,), n at least 1.
        modified: success of its partner in the changed scene, in the same order.
        skills: the skill of each pair, shape (n,); any labels.
        clusters: the independent unit of each pair, shape (n,); any labels.
        rng: generator of the draws.
        margin: greatest RPD that does not matter, in (0, 1).

    Raises:
        ValueError: there is no pair, or as ``equivalence.equivalence``.
    """
    before, after = np.asarray(original, dtype=float), np.asarray(modified, dtype=float)
    if not len(before):
        raise ValueError("pooled shift: got no pairs, expected at least 1")
    numbers, cases = _crossed(clusters, skills, np.ones_like(before)), ((before, after))
    sums = [_crossed(clusters, skills, values) for values in cases]

    def rates(weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        return tuple(np.nanmean(_ratio(weights @ one, weights @ numbers), axis=-1) for one in sums)

    units = len(numbers)
    rate, rate_after = (float(one[0]) for one in rates(np.ones((1, units))))
    found = rpd(rate, rate_after)
    if found is None:
        return PooledShift(rate, rate_after, Estimate(), None)
    same = equivalence(after, before, np.asarray(clusters), margin=margin * rate)
    drawn = rates(_draws(units, rng))
    interval = _interval(found, 1.0 - _ratio(drawn[1], drawn[0]), units)
    ends = [None if end is None else -end / rate for end in (same.difference.high, same.difference.low)]
    return PooledShift(rate, rate_after, _wider(interval, Estimate(found, *ends)), same)


@dataclass(frozen=True)
class ChainShift:
    """Chains of skills beside the product of what their skills do alone.

    Attributes:
        actual: share of the chains that were done to their end.
        bound: the mean over them of the product of their skills' own rates; None if a skill has no trial of its own.
        dubr: its interval is the wider, at each end, of the bootstrap over chains and of the share's own interval with
            the bound as it is: if no outcome differs, no draw of the bootstrap does. Empty if undefined.
    """

    actual: Estimate
    bound: float | None
    dubr: Estimate


def chain_shifts(
    alone: tuple[ArrayLike, ArrayLike, ArrayLike],
    done: tuple[ArrayLike, ArrayLike, ArrayLike],
    chains: Sequence[Sequence[int]],
    rng: np.random.Generator,
) -> tuple[tuple[ChainShift, ...], ChainShift]:
    """Return the numbers of each chain of skills, and of all together, weighted by their runs.

    Drawn are whole clusters, each with the runs of its chain and the trials of its skills alone; for each chain of
    skills among its own clusters, and for all together among all.

    Args:
        alone: success, skill and cluster of each trial of a skill alone, shape (m,) each; skills are numbers from 0.
        done: success of the whole chain, chain and cluster of each run of a chain, shape (n,) each; chains are numbers
            from 0, all of which occur, and all runs of a cluster are of one chain.
        chains: the skills of each chain.
        rng: generator of the draws.
    """
    labels, units = np.unique(np.concatenate([np.asarray(alone[2]), np.asarray(done[2])]), return_inverse=True)
    skills = 1 + max(skill for chain in chains for skill in chain)
    shapes = ((len(labels), skills), (len(labels), len(chains)))
    cells = ((units[: len(units) - len(np.asarray(done[2]))], alone), (units[len(np.asarray(alone[2])) :], done))
    solved, tried, ended, runs = (
        table
        for (unit, (success, kind, _)), shape in zip(cells, shapes, strict=True)
        for table in (_table(unit, kind, success, shape), _table(unit, kind, np.ones(len(unit)), shape))
    )

    def numbers(weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the sums over runs of the bound, and of the share that was done, shape (..., chains)."""
        rates = _ratio(weights @ solved, weights @ tried)
        bounds = np.stack([np.prod(rates[..., list(chain)], axis=-1) for chain in chains], axis=-1)
        times = weights @ runs
        # A chain that was not drawn adds nothing, whatever its bound is.
        return np.where(times > 0.0, bounds * times, 0.0), weights @ ended

    bounds, _ = numbers(np.ones((1, len(labels))))
    within, among = (numbers(drawn) for drawn in (_draws_within(runs, rng), _draws(len(labels), rng)))
    values, kinds, groups = (np.asarray(part) for part in done)
    found = []
    for number in range(len(chains)):
        own = kinds == number
        drawn = tuple(part[:, number] for part in within)
        share = cluster_mean(values[own], groups[own])
        found.append(_chain_shift(share, float(bounds[0, number] / own.sum()), drawn, len(np.unique(groups[own]))))
    share = cluster_mean(values, groups)
    drawn = tuple(part.sum(axis=-1) for part in among)
    return tuple(found), _chain_shift(share, float(bounds[0].sum() / len(values)), drawn, len(np.unique(groups)))


def _chain_shift(actual: Estimate, bound: float, drawn: tuple[NDArray[np.float64], ...], units: int) -> ChainShift:
    if np.isnan(bound):
        return ChainShift(actual, None, Estimate())
    assert actual.mean is not None, "a chain is there because of its runs"
    found = dubr(actual.mean, bound)
    if found is None:
        return ChainShift(actual, bound, Estimate())
    interval = _interval(found, 1.0 - _ratio(drawn[1], drawn[0]), units)
    ends = [None if end is None else dubr(end, bound) for end in (actual.high, actual.low)]
    return ChainShift(actual, bound, _wider(interval, Estimate(found, *ends)))


def _crossed(clusters: ArrayLike, skills: ArrayLike, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums of values by cluster and skill, shape (clusters, skills)."""
    unit, kind = (np.unique(np.asarray(labels), return_inverse=True)[1] for labels in (clusters, skills))
    return _table(unit, kind, values, (int(unit.max()) + 1, int(kind.max()) + 1))


def _table(unit: ArrayLike, kind: ArrayLike, values: ArrayLike, shape: tuple[int, int]) -> NDArray[np.float64]:
    found = np.zeros(shape)
    np.add.at(found, (np.asarray(unit, dtype=int), np.asarray(kind, dtype=int)), np.asarray(values, dtype=float))
    return found


def _ratio(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a / b; NaN if b is 0."""
    return np.where(b > 0.0, a / np.where(b > 0.0, b, 1.0), np.nan)


def _draws(units: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return how often each cluster is in each draw, shape (draws, clusters)."""
    return rng.multinomial(units, np.full(units, 1.0 / units), RESAMPLES).astype(float)


def _draws_within(runs: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the same, each chain of skills drawn among its own clusters; clusters without runs stay."""
    drawn = np.ones((RESAMPLES, len(runs)))
    for own in (runs > 0.0).T:
        drawn[:, own] = _draws(int(own.sum()), rng)
    return drawn


def _interval(found: float, drawn: NDArray[np.float64], units: int) -> Estimate:
    """Return the interval of the draws; none if they are often undefined, or of one cluster.

    Its ends are percentiles, as a ratio's draws have far outliers, moved outwards for few clusters as Student's
    quantiles are (expanded percentiles; Hesterberg 2015).
    """
    known = drawn[~np.isnan(drawn)]
    if units < 2 or len(known) < (1.0 - UNDEFINED) * len(drawn):
        return Estimate(found)
    expanded = np.sqrt(units / (units - 1.0)) * student_quantile(0.5 + CONFIDENCE / 2, units - 1.0)
    tail = special.ndtr(-expanded)
    low, high = (float(end) for end in np.quantile(known, (tail, 1.0 - tail)))
    return Estimate(found, min(found, low), max(found, high))


def _wider(one: Estimate, other: Estimate) -> Estimate:
    """Return the estimate with the farther of both ends; without interval if one of them has none."""
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return Estimate(one.mean)
    # No rate is negative.
    return Estimate(one.mean, min(one.low, other.low), min(1.0, max(one.high, other.high)))


def _by_chance(pair: Pair) -> tuple[float, float]:
    """Return the probability that a skill counts as harmed if nothing changes, and its expected RPD, 0 where unharmed.

    Both numbers of successes are then binomial, with the rate of all its trials together.
    """
    from scipy.stats import binom  # it takes long to import

    counts = np.arange(pair.trials + 1)
    one = binom.pmf(counts, pair.trials, (pair.original + pair.modified) / (2 * pair.trials))
    together = np.outer(one, one)
    before, after = np.meshgrid(counts, counts, indexing="ij")
    delta = np.where(after < before, (before - after) / np.maximum(before, 1), 0.0)
    return float(together[after < before].sum()), float((together * delta).sum())


def _found(pairs: Sequence[Pair], alternative: str) -> int:
    """Return the number of skills for which a one-sided test rejects equal rates."""
    from scipy.stats import fisher_exact  # it takes long to import

    tests = []
    for pair in pairs:
        table = [[k, pair.trials - k] for k in (pair.original, pair.modified)]
        tests.append(float(fisher_exact(table, alternative=alternative).pvalue))
    adjusted = holm(tests) if len(tests) > 1 else tests
    return sum(p <= ALPHA for p in adjusted)
