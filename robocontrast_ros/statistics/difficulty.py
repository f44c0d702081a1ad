"""Whether the harder skills are harmed more: hypothesis I of seed 003 (section VI, table II).

The paper correlates ORI with RPD = (ORI - MOD)/ORI over the skills of a set, and tests it as if both were independent.
But ORI is in RPD: a skill that was lucky in its own scenes has a high ORI and a high RPD, so the correlation is not 0
if every skill loses the same share. Here the test draws from that case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.statistics.estimate import CONFIDENCE, NO_ESTIMATE, Estimate
from robocontrast_ros.statistics.observation_shift import Pair

DRAWS = 1999
"""Draws of the test, and of the interval."""

ENOUGH = 0.5
"""Share of the draws in which the correlation is defined, below which there is no interval and no test."""


@dataclass(frozen=True)
class Difficulty:
    """Spearman's rank correlation of ORI and RPD over skills; negative where the harder skills are harmed more.

    Attributes:
        skills: number of skills whose ORI is not 0, of which RPD is defined.
        rho: the correlation; its interval is of skills drawn with replacement. Empty if ORI or RPD does not vary.
        by_chance: its expectation if each skill loses the same share of its rate; None if it has none.
        p: probability in that case of a correlation as low as this one or lower; None likewise.
    """

    skills: int
    rho: Estimate
    by_chance: float | None
    p: float | None


def difficulty(pairs: Sequence[Pair], rng: np.random.Generator, draws: int = DRAWS) -> Difficulty:
    """Return the correlation of ORI and RPD.

    Args:
        pairs: of each skill; the trials of a skill are independent.
        rng: generator of the draws.
        draws: their number.
    """
    counts = np.array([(pair.original, pair.modified, pair.trials) for pair in pairs], dtype=float).reshape(-1, 3)
    known = counts[counts[:, 0] > 0.0]
    original, modified, trials = known.T
    found = float(_correlations(original / trials, modified / trials))
    if np.isnan(found):
        return Difficulty(len(known), NO_ESTIMATE, None, None)
    # Skills that never succeed in their own scenes could have by chance, so the draws have them.
    original, modified, trials = counts.T
    kept = float(np.sum(modified / trials) / np.sum(original / trials))
    rate = np.minimum((original + modified) / (trials * (1.0 + kept)), 1.0)
    rates = (rate, np.minimum(kept * rate, 1.0))
    shape = (draws, len(counts))
    null = _correlations(*(rng.binomial(trials.astype(int), one, shape) / trials for one in rates))
    null = null[~np.isnan(null)]
    chosen = rng.integers(len(known), size=(draws, len(known)))
    own = known[:, :2] / known[:, 2:]
    drawn = _correlations(own[chosen, 0], own[chosen, 1])
    drawn = drawn[~np.isnan(drawn)]
    ends: tuple[float | None, float | None] = (None, None)
    if len(drawn) >= ENOUGH * draws:
        low, high = np.quantile(drawn, ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)).tolist()
        ends = (min(low, found), max(high, found))
    tested = len(null) >= ENOUGH * draws
    return Difficulty(
        len(known),
        Estimate(found, *ends),
        float(null.mean()) if tested else None,
        (1 + int(np.sum(null <= found + 1e-9))) / (1 + len(null)) if tested else None,
    )


def _correlations(original: NDArray[np.float64], modified: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Spearman's correlation of ORI and RPD of rates of shape (..., skills); NaN if one of them does not vary.

    Skills with ORI 0 are left out: both of their ranks are 0, which is the mean of ranks that are centred.
    """
    from scipy.stats import rankdata  # it takes long to import

    there = original > 0.0
    delta = np.where(there, (original - modified) / np.where(there, original, 1.0), np.nan)
    ranks = []
    for values in (np.where(there, original, np.nan), np.round(delta, 12)):
        own = rankdata(values, axis=-1, nan_policy="omit") if values.shape[-1] else values
        number = there.sum(-1, keepdims=True)
        ranks.append(np.where(there, own - (number + 1) / 2, 0.0))
    spread = [np.sum(one * one, axis=-1) for one in ranks]
    varies = np.minimum(*spread) > 1e-9
    product = np.sum(ranks[0] * ranks[1], axis=-1)
    return np.where(varies, product / np.sqrt(np.where(varies, spread[0] * spread[1], 1.0)), np.nan)
