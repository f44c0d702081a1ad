"""Do perturbations change a score alike in two worlds? Pearson's r, Spearman's rho and MMRV of the mean changes.

SIMPLER (Li et al. 2024, arXiv 2405.05941) compares the success rates of several policies in simulation and on a robot
by Pearson's r and the *mean maximum rank violation* (MMRV), without intervals. Here the items are perturbations, each
with its mean change from base; whole instances are drawn for the intervals, the same in both worlds; and every number
has its value by chance: the same changes with the perturbations' labels exchanged in one world.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocontrast_ros.statistics.estimate import CONFIDENCE, NO_ESTIMATE, Estimate

DRAWS = 1999
"""Bootstrap samples, and orders of labels that are drawn if there are too many to enumerate."""
ENUMERATED = 7
"""Perturbations up to which all orders of their labels are enumerated (5040 of them)."""
LEAST = 3
"""Perturbations below which there is no agreement: two points always lie on a line."""
DECIMALS = 9
"""Decimals of mean changes; rounding errors beyond them must not decide which of two equal changes is greater."""


@dataclass(frozen=True)
class Agreed:
    """One number of agreement.

    Attributes:
        value: the number with its interval; empty if it is undefined, as r is where all changes are the same.
        by_chance: its mean over all orders of the second world's labels; None if it is undefined.
        p: the share of these orders, the true one among them, with as much agreement as was seen; None likewise.
    """

    value: Estimate = NO_ESTIMATE
    by_chance: float | None = None
    p: float | None = None


@dataclass(frozen=True)
class ChangeAgreement:
    """The agreement of the mean changes of perturbations in two worlds.

    Attributes:
        perturbations: number of perturbations.
        least_p: the least p-value that is possible with them: one over the number of orders.
        pearson: Pearson's r.
        spearman: Spearman's rho.
        mmrv_second: MMRV if the second world's changes predict the order of the first's; in units of the score.
        mmrv_first: MMRV if the first world's changes predict the order of the second's.
    """

    perturbations: int
    least_p: float
    pearson: Agreed
    spearman: Agreed
    mmrv_second: Agreed
    mmrv_first: Agreed


def mmrv(true: ArrayLike, predicted: ArrayLike) -> NDArray[np.float64]:
    """Return the mean maximum rank violation: 0 if predictions have the order of the true values.

    It is the mean over i of the greatest |true_i - true_j| among all j with (predicted_i > predicted_j) other than
    (true_i > true_j). It is not symmetric, and a tie in one of the two counts for one item of the pair alone.

    Args:
        true: values of the items, shape (..., k).
        predicted: values that predict their order, shape (..., k).

    Returns:
        Shape (...), in units of the true values.
    """
    t, p = np.asarray(true, dtype=float), np.asarray(predicted, dtype=float)
    violated = (p[..., :, None] > p[..., None, :]) != (t[..., :, None] > t[..., None, :])
    apart = np.abs(t[..., :, None] - t[..., None, :])
    return np.asarray(np.mean(np.max(np.where(violated, apart, 0.0), axis=-1), axis=-1))


def change_agreement(
    first: ArrayLike, second: ArrayLike, clusters: ArrayLike, rng: np.random.Generator, draws: int = DRAWS
) -> ChangeAgreement | None:
    """Return the agreement of mean changes; None with fewer than three perturbations.

    Args:
        first: change of each instance by each perturbation in the first world, shape (n, k); NaN if it has none.
        second: the same in the second world, with NaN at the same places.
        clusters: the independent unit of each instance, shape (n,); whole units are drawn, the same in both worlds.
        rng: generator of the draws.
        draws: number of bootstrap samples.

    Raises:
        ValueError: shapes differ, NaNs are at different places, or a perturbation has no change.
    """
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    known = ~np.isnan(a)
    if a.shape != b.shape or not np.array_equal(known, ~np.isnan(b)) or len(np.asarray(clusters)) != len(a):
        raise ValueError(f"got changes of shapes {a.shape} and {b.shape}, expected the same instances in both")
    if not known.any(axis=0).all():
        raise ValueError("a perturbation has no change")
    number = a.shape[1]
    if number < LEAST:
        return None
    _, group = np.unique(np.asarray(clusters), return_inverse=True)
    sums = np.zeros((3, int(group.max()) + 1, number))
    for part, values in zip(sums, (np.where(known, a, 0.0), np.where(known, b, 0.0), known), strict=True):
        np.add.at(part, group, values)
    seen = _numbers(*_means(sums, np.ones((1, sums.shape[1]))))[:, 0]
    drawn = _numbers(*_means(sums, rng.multinomial(sums.shape[1], np.full(sums.shape[1], 1 / sums.shape[1]), draws)))
    one, other = _means(sums, np.ones((1, sums.shape[1])))
    orders = _orders(number, rng)
    chance = _numbers(np.broadcast_to(one, orders.shape), other[0][orders])
    enough = sums.shape[1] > 1
    found = [
        _agreed(value, samples if enough else samples[:0], draws, by_chance, greater)
        for value, samples, by_chance, greater in zip(seen, drawn, chance, (True, True, False, False), strict=True)
    ]
    return ChangeAgreement(number, 1.0 / min(math.factorial(number), len(orders)), *found)


def _means(sums: NDArray[np.float64], weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean changes in both worlds, shape (draws, k); NaN if no instance was drawn that has one."""
    with np.errstate(invalid="ignore", divide="ignore"):
        first, second = (np.round((weights @ part) / (weights @ sums[2]), DECIMALS) for part in sums[:2])
    return first, second


def _numbers(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return r, rho and both MMRVs of each row of mean changes, shape (4, rows); NaN if undefined."""
    from scipy.stats import rankdata  # takes long to import, and most commands compare nothing

    known = ~np.isnan(first).any(axis=-1)
    found = np.full((4, len(first)), np.nan)
    a, b = first[known], second[known]
    if len(a):
        ranks = [rankdata(values, axis=-1) for values in (a, b)]
        found[:, known] = [_correlation(a, b), _correlation(*ranks), mmrv(a, b), mmrv(b, a)]
    return found


def _correlation(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Pearson's r of each row; NaN if a variable does not vary."""
    x, y = (values - values.mean(axis=-1, keepdims=True) for values in (a, b))
    spread = np.sqrt(np.sum(x * x, axis=-1) * np.sum(y * y, axis=-1))
    constant = (np.ptp(a, axis=-1) == 0.0) | (np.ptp(b, axis=-1) == 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        r = np.clip(np.sum(x * y, axis=-1) / spread, -1.0, 1.0)
    return np.where(constant, np.nan, r)


def _orders(number: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return orders of labels, shape (m, number), the true one first: all of them, or some that are drawn."""
    if number <= ENUMERATED:
        return np.array(list(permutations(range(number))))
    drawn = rng.permuted(np.tile(np.arange(number), (DRAWS, 1)), axis=1)
    return np.vstack([np.arange(number), drawn])


def _agreed(
    value: float, samples: NDArray[np.float64], draws: int, by_chance: NDArray[np.float64], greater: bool
) -> Agreed:
    """Return a number with its interval and its values by chance.

    The interval reaches as far to both sides as the farther of the two percentiles of the samples. Noise makes r less
    and MMRV greater than they are without it, and once more in each sample: percentiles alone leave the truth out.
    """
    if np.isnan(value):
        return Agreed()
    kept = samples[~np.isnan(samples)]
    estimate = Estimate(float(value))
    if len(kept) > draws // 2:
        reach = float(np.max(np.abs(np.quantile(kept, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]) - value)))
        least, most = (-1.0, 1.0) if greater else (0.0, np.inf)
        estimate = Estimate(float(value), max(least, float(value) - reach), min(most, float(value) + reach))
    as_good = by_chance >= value - 1e-12 if greater else by_chance <= value + 1e-12
    return Agreed(estimate, round(float(np.mean(by_chance)), DECIMALS) + 0.0, float(np.mean(as_good)))
