"""What a comparison of two policies can find: the smallest difference, and the trials for a given one.

Every function is for a two-sided test at 5 % and a power of 80 %.

- Two groups of independent successes have the formula of the score test with the null hypothesis' own variance (Fleiss,
  Levin and Paik 2003, section 4.2, without correction for continuity). It is quick for any number of trials, and the
  power of Boschloo's test is close to it: summed over all tables, it is 77 to 81 % at the drop that the formula gives
  for 10 to 50 trials a side.
- McNemar's exact test has its own power, summed over the number of discordant pairs, because no formula is good for the
  few of them that 20 pairs have.
- Means over clusters have Connor's formula for pairs (1987), which needs only the variance of the clusters'
  differences.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
from scipy import special

ERROR_RATE, POWER = 0.05, 0.8
MOST_EXACT = 500
"""Pairs up to which the power of McNemar's test is summed; beyond it, Connor's formula is at most 3 % below."""
FEWEST_CLUSTERS = 6
"""Clusters without which neither exact test can reach 5 %: the least p-value of n is 2 / 2^n."""

_ALPHA, _BETA = float(special.ndtri(1.0 - ERROR_RATE / 2)), float(special.ndtri(POWER))


def shares_power(p1: float, n1: int, p2: float, n2: int) -> float:
    """Return the power to tell two shares apart, with so many independent trials of each."""
    pooled = (n1 * p1 + n2 * p2) / (n1 + n2)
    null = math.sqrt(pooled * (1.0 - pooled) * (1.0 / n1 + 1.0 / n2))
    spread = math.sqrt(p1 * (1.0 - p1) / n1 + p2 * (1.0 - p2) / n2)
    excess = abs(p1 - p2) - _ALPHA * null
    return float(special.ndtr(excess / spread)) if spread else float(excess > 0.0)


def smallest_drop_of_shares(reference: float, n1: int, n2: int) -> float | None:
    """Return the smallest drop of the first share below the second, ``reference``; None if none is found."""
    if _least_p(n1, n2) > ERROR_RATE:
        return None
    return _least(reference, lambda drop: shares_power(reference - drop, n1, reference, n2))


def trials_for_shares(p1: float, p2: float) -> int | None:
    """Return the trials of each side for shares that differ so much; None if they do not."""
    if p1 == p2:
        return None
    pooled = 0.5 * (p1 + p2)
    null, spread = 2.0 * pooled * (1.0 - pooled), p1 * (1.0 - p1) + p2 * (1.0 - p2)
    number = math.ceil(((_ALPHA * math.sqrt(null) + _BETA * math.sqrt(spread)) / (p1 - p2)) ** 2)
    # The formula is rough for few trials: fewer than these decide nothing, whatever comes out.
    return next(enough for enough in itertools.count(number) if _least_p(enough, enough) <= ERROR_RATE)


def _least_p(n1: int, n2: int) -> float:
    """Return the least p-value of Boschloo's test: all trials of one side succeed, none of the other."""
    likely = n1 / (n1 + n2)
    return 2.0 * likely**n1 * (1.0 - likely) ** n2


def mcnemar_power(n: int, only_first: float, only_second: float) -> float:
    """Return the power of McNemar's exact test.

    Args:
        n: number of pairs.
        only_first: probability that in a pair only the first policy succeeds.
        only_second: that only the second does.
    """
    discordant = only_first + only_second
    if discordant <= 0.0:
        return 0.0
    k = np.arange(n + 1)
    # The most successes of the policy that is behind with which the test rejects; -1 if none of k pairs is enough.
    most = np.floor(special.bdtrik(ERROR_RATE / 2, k, 0.5))
    most += special.bdtr(most + 1.0, k, 0.5) <= ERROR_RATE / 2
    most = np.where(special.bdtr(np.maximum(most, 0.0), k, 0.5) <= ERROR_RATE / 2, most, -1.0)
    seen = special.bdtr(k, n, min(1.0, discordant)) - np.where(
        k > 0, special.bdtr(np.maximum(k - 1, 0), n, min(1.0, discordant)), 0.0
    )
    share = only_first / discordant
    tails = sum(special.bdtr(np.maximum(most, 0.0), k, one) for one in (share, 1.0 - share))
    return float(np.sum(seen * np.where(most < 0.0, 0.0, tails)))


def smallest_drop_of_pairs(n: int, either: float) -> float | None:
    """Return the smallest mean drop that McNemar's test finds; None if it finds none.

    Args:
        n: number of independent pairs.
        either: share of pairs in which, besides the drop, only the first succeeds, and the same for only the second.
    """
    if n > MOST_EXACT:
        return _least(1.0 - 2.0 * either, lambda drop: _enough(n, drop, 2.0 * either + drop - drop**2))
    return _least(1.0 - 2.0 * either, lambda drop: mcnemar_power(n, either, either + drop))


def pairs_for_shares(only_first: float, only_second: float) -> int | None:
    """Return the independent pairs for such shares of discordant pairs; None if they are equal."""
    if only_first == only_second:
        return None
    difference = only_first - only_second
    number = clusters_for(difference, only_first + only_second - difference**2)
    if number is None or number > MOST_EXACT:
        return number
    # The exact test needs more pairs than the formula says.
    start = max(FEWEST_CLUSTERS, int(0.95 * number))
    return next(n for n in range(start, 4 * MOST_EXACT) if mcnemar_power(n, only_first, only_second) >= POWER)


def clusters_for(difference: float, variance: float) -> int | None:
    """Return the number of clusters for a mean difference; None if it is 0.

    Args:
        difference: the mean difference.
        variance: variance of the clusters' differences around their mean.
    """
    if difference == 0.0:
        return None
    null = _ALPHA * math.sqrt(variance + difference**2) + _BETA * math.sqrt(variance)
    return max(FEWEST_CLUSTERS, math.ceil((null / difference) ** 2))


def smallest_drop_of_clusters(number: int, variance: float, most: float = 1.0) -> float | None:
    """Return the smallest mean drop that so many clusters show, up to ``most``; None if they show none."""
    if number < FEWEST_CLUSTERS:
        return None
    return _least(most, lambda drop: _enough(number, drop, variance))


def trials_for_means(difference: float, first: float, second: float) -> int | None:
    """Return the trials of each side for two independent means; None if they do not differ.

    Args:
        difference: difference of the means.
        first: variance of the first side's values.
        second: variance of the second side's.
    """
    if difference == 0.0:
        return None
    return max(2, math.ceil((_ALPHA + _BETA) ** 2 * (first + second) / difference**2))


def smallest_drop_of_means(error: float, most: float = 1.0) -> float | None:
    """Return the smallest drop of a difference with this standard error; None if it is more than ``most``."""
    drop = (_ALPHA + _BETA) * error
    return drop if drop <= most else None


def _enough(number: int, drop: float, variance: float) -> float:
    """Return 80 % if so many clusters find a drop by Connor's formula, else 0."""
    needed = clusters_for(drop, variance)
    return POWER if needed is not None and needed <= number else 0.0


def _least(most: float, power: Callable[[float], float]) -> float | None:
    """Return the least drop with enough power, to three decimals upwards; None if not even ``most`` has it."""
    few, enough = 0, math.floor(1000 * most + 1e-9)
    if enough < 1 or power(enough / 1000) < POWER:
        return None
    while enough - few > 1:
        middle = (few + enough) // 2
        few, enough = (middle, enough) if power(middle / 1000) < POWER else (few, middle)
    return enough / 1000
