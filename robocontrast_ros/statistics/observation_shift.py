"""How much worse skills are after a change of the scene that does not concern them: observation-space shift (seed 003).

The paper's numbers (section V-A-2), and beside each what it is without any effect. Its averages are over harmed tasks
alone, so they are not zero then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from scipy import stats

from robocontrast_ros.statistics.multiplicity import holm

ALPHA = 0.05
"""Error rate of the family of tests."""


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


def _by_chance(pair: Pair) -> tuple[float, float]:
    """Return the probability that a skill counts as harmed if nothing changes, and its expected RPD, 0 where unharmed.

    Both numbers of successes are then binomial, with the rate of all its trials together.
    """
    counts = np.arange(pair.trials + 1)
    one = stats.binom.pmf(counts, pair.trials, (pair.original + pair.modified) / (2 * pair.trials))
    together = np.outer(one, one)
    before, after = np.meshgrid(counts, counts, indexing="ij")
    delta = np.where(after < before, (before - after) / np.maximum(before, 1), 0.0)
    return float(together[after < before].sum()), float((together * delta).sum())


def _found(pairs: Sequence[Pair], alternative: str) -> int:
    """Return the number of skills for which a one-sided test rejects equal rates."""
    tests = []
    for pair in pairs:
        table = [[k, pair.trials - k] for k in (pair.original, pair.modified)]
        tests.append(float(stats.fisher_exact(table, alternative=alternative).pvalue))
    adjusted = holm(tests) if len(tests) > 1 else tests
    return sum(p <= ALPHA for p in adjusted)
