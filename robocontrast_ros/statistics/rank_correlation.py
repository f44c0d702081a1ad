"""Spearman's rank correlation of trials that belong to groups: its test by permutation, its interval by bootstrap.

Seed 003 (section V-C) correlates four to seven numbers with a t-approximation, and averages p-values of sets. Here the
values of one group are exchanged among themselves alone, so that a difference between groups is no correlation, and
whole groups are drawn for the interval.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocontrast_ros.statistics.estimate import CONFIDENCE, NO_ESTIMATE, Estimate

DRAWS = 1999
"""Permutations, and bootstrap samples."""


@dataclass(frozen=True)
class RankCorrelation:
    """A rank correlation.

    Attributes:
        rho: Spearman's rho with its interval; empty if a variable does not vary.
        p: two-sided p-value of the permutation test; None if a variable does not vary.
        pairs: number of pairs.
    """

    rho: Estimate
    p: float | None
    pairs: int


def rank_correlation(
    x: ArrayLike, y: ArrayLike, groups: ArrayLike, rng: np.random.Generator, within: bool = True, draws: int = DRAWS
) -> RankCorrelation:
    """Return Spearman's rank correlation of pairs.

    Args:
        x: first variable, shape (n,).
        y: second variable, shape (n,).
        groups: label of each pair, shape (n,); whole groups are drawn with replacement for the interval.
        rng: generator of the draws.
        within: whether values are exchanged within their groups alone, and ranks are centred there.
        draws: number of permutations, and of bootstrap samples.

    Raises:
        ValueError: the arrays are not of one length.
    """
    a, b, labels = np.asarray(x, dtype=float), np.asarray(y, dtype=float), np.asarray(groups)
    if not a.shape == b.shape == labels.shape:
        raise ValueError(f"got {len(a)} x, {len(b)} y and {len(labels)} groups, expected as many")
    _, group = np.unique(labels, return_inverse=True)
    rho = _rho(a, b, group, within)
    if rho is None:
        return RankCorrelation(NO_ESTIMATE, None, len(a))
    members = [np.flatnonzero(group == g) for g in range(int(group.max()) + 1)]
    exceeded = 0
    for _ in range(draws):
        order = np.concatenate([rng.permutation(m) for m in members]) if within else rng.permutation(len(a))
        shuffled = np.empty_like(a)
        shuffled[np.concatenate(members) if within else np.arange(len(a))] = a[order]
        drawn = _rho(shuffled, b, group, within)
        exceeded += drawn is None or abs(drawn) >= abs(rho) - 1e-12
    found = []
    for _ in range(draws):
        chosen = rng.integers(len(members), size=len(members))
        rows = np.concatenate([members[g] for g in chosen])
        again = np.concatenate([np.full(len(members[g]), number) for number, g in enumerate(chosen)])
        drawn = _rho(a[rows], b[rows], again, within)
        if drawn is not None:
            found.append(drawn)
    enough = len(members) > 1 and len(found) > draws // 2
    low, high = np.quantile(found, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]).tolist() if enough else (None, None)
    return RankCorrelation(Estimate(rho, low, high), (1 + exceeded) / (1 + draws), len(a))


def _rho(x: NDArray[np.float64], y: NDArray[np.float64], group: NDArray[np.intp], within: bool) -> float | None:
    """Return the correlation of ranks, centred in each group if ``within``; None if one does not vary."""
    from scipy.stats import rankdata  # it takes long to import

    if len(x) < 2:
        return None
    ranks = [rankdata(values) for values in (x, y)]
    sizes = np.maximum(np.bincount(group), 1) if within else None
    centred = [values - ((np.bincount(group, values) / sizes)[group] if within else values.mean()) for values in ranks]
    spread = [float(np.sum(values * values)) for values in centred]
    if min(spread) <= 1e-9:
        return None
    return float(np.sum(centred[0] * centred[1]) / np.sqrt(spread[0] * spread[1]))
