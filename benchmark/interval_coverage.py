"""How often each interval holds the truth: simulated coverage of what statistics/ says, and of what it could have said.

Base instances are drawn with a chance of success of their own (beta-binomial, so that trials of one instance are
correlated), each with one trial, two, five, or 1 to 5. SPL-like scores are successes times an efficiency that instances
share in part. Every interval is to hold the truth in 95 % of the draws. One cell is one score, number of instances,
number of trials, correlation and share of successes.

    python -m benchmark.interval_coverage                  all tables, some six minutes
    python -m benchmark.interval_coverage --draws 400      the same, coarser
    python -m benchmark.interval_coverage --json           all numbers as one JSON object
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy import special

from robocontrast_ros.statistics.clusters import (
    effective_size,
    jackknife_variance,
    wilson_ends,
)
from robocontrast_ros.statistics.decisions import paired_bootstrap
from robocontrast_ros.statistics.estimate import CONFIDENCE
from robocontrast_ros.statistics.prediction import adjusted_mean
from robocontrast_ros.statistics.sequential import BettingTest

SCORES = ("success", "SPL")
INSTANCES = (6, 12, 30, 100)
TRIALS = ("1", "2", "5", "1-5")
"""Trials of each instance; a range is drawn from, instance by instance."""

CORRELATIONS = (0.0, 0.3, 0.8)
"""Between trials of an instance."""

SHARES = (0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95)
EFFICIENCY = (8.0, 2.0)
"""Beta distribution of a success's SPL, whose mean is 0.8."""

LUCK = (0.0, 0.5, 0.9)
"""How much of a trial's luck all trials of an instance share, those of the other policy too."""

PAIRS = ((0.5, 0.5), (0.95, 0.95), (1.0, 1.0), (0.3, 0.2), (0.9, 0.7), (0.7, 0.3), (0.99, 0.95), (1.0, 0.95))
"""Chances of success of two policies."""

SETS = ((250, 8), (250, 12), (250, 30), (250, 100), (14, 12))
"""Size of a test set, and how many of its instances are run."""

RESAMPLES = 799
"""Of the bootstraps; with so many draws of data, more change nothing."""

Ends = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Lower and upper ends of the intervals of all draws, shape (draws,)."""

Lines = list[list[str | float]]
"""Rows of a table."""

METHODS = ("percentile", "BCa", "bootstrap-t", "CR2", "CR3", "no caution", "ours")
HEADINGS = {
    "means": ("score", "instances", "trials", "correlation", "share", *METHODS),
    "differences": ("score", "instances", "trials", "luck", "share", "other share", "coverage", "width"),
    "decisions": ("share", "other share", "instances", "found a difference"),
    "adjusted": (
        *("covariates", "of", "run", "bias plain", "bias adjusted", "rms base", "rms adjusted"),
        *("coverage X", "width X", "coverage domain", "width domain"),
    ),
    "sequences": ("scores", "share", "ever excluded the truth", "width at 25", "width at the end"),
}
"""Table -> its columns: coverages in per cent, the mean width behind each of those of ``means``."""


@dataclass(frozen=True)
class Samples:
    """Draws of data, as sums over the trials of each instance, shape (draws, instances).

    Attributes:
        sums: of the scores.
        squares: of the squared scores.
        sizes: number of trials.
    """

    sums: NDArray[np.float64]
    squares: NDArray[np.float64]
    sizes: NDArray[np.int64]

    @property
    def means(self) -> NDArray[np.float64]:
        """Mean score of each draw."""
        return np.sum(self.sums, axis=1) / np.sum(self.sizes, axis=1)

    def first(self, number: int) -> Samples:
        """Return the first draws."""
        return Samples(self.sums[:number], self.squares[:number], self.sizes[:number])


def draw_sizes(rng: np.random.Generator, draws: int, instances: int, trials: str) -> NDArray[np.int64]:
    least, _, most = trials.partition("-")
    return rng.integers(int(least), int(most or least) + 1, (draws, instances))


def efficiency(rng: np.random.Generator, shape: tuple[int, int, int]) -> NDArray[np.float64]:
    """Return the SPL of each trial if it succeeds, half of which is its instance's."""
    return 0.5 * (rng.beta(*EFFICIENCY, shape) + rng.beta(*EFFICIENCY, (*shape[:2], 1)))


def summed(values: NDArray[np.float64], sizes: NDArray[np.int64]) -> Samples:
    """Return the sums over the first trials of each instance, as many as it has; values has one axis more."""
    kept = np.where(np.arange(values.shape[2]) < sizes[..., None], values, 0.0)
    return Samples(kept.sum(axis=2), (kept**2).sum(axis=2), sizes)


def draw_scores(
    rng: np.random.Generator, score: str, share: float, correlation: float, sizes: NDArray[np.int64]
) -> Samples:
    chance = np.full(sizes.shape, share)
    if correlation:
        s = 1.0 / correlation - 1.0
        chance = rng.beta(share * s, (1.0 - share) * s, sizes.shape)
    shape = (*sizes.shape, int(sizes.max()))
    values = (rng.random(shape) < chance[..., None]).astype(float)
    return summed(values * efficiency(rng, shape) if score == "SPL" else values, sizes)


def draw_pairs(
    rng: np.random.Generator, shares: tuple[float, float], luck: float, shape: tuple[int, int, int]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the successes of two policies in the same trials, shape (draws, instances, trials)."""
    shared = rng.random((*shape[:2], 1))
    first, second = (
        (np.where(rng.random(shape) < luck, shared, rng.random(shape)) < share).astype(float) for share in shares
    )
    return first, second


def ours(samples: Samples, caution: float = 1.0) -> Ends:
    """Return what ``cluster_mean`` gives, for all draws at once."""
    size = effective_size(samples.sums, samples.squares, samples.sizes, caution=caution)
    return wilson_ends(samples.means, size, CONFIDENCE)


def students(samples: Samples) -> dict[str, Ends]:
    """Return Student's intervals: CR2 with the degrees of freedom of Bell and McCaffrey, and the jackknife's CR3."""
    sizes, means = samples.sizes.astype(float), samples.means
    share = sizes / sizes.sum(axis=1, keepdims=True)
    residuals = (samples.sums - sizes * means[:, None]) / np.sqrt(1.0 - share)
    cr2 = np.sqrt(np.sum(residuals**2, axis=1)) / sizes.sum(axis=1)
    cr3 = np.sqrt(jackknife_variance(samples.sums, samples.sizes))
    found = {}
    for name, error, freedom in (
        ("CR2", cr2, bell_mccaffrey(share)),
        ("CR3", cr3, np.full(len(means), sizes.shape[1] - 1.0)),
    ):
        reach = special.stdtrit(freedom, 0.5 + CONFIDENCE / 2) * error
        found[name] = (np.clip(means - reach, 0.0, 1.0), np.clip(means + reach, 0.0, 1.0))
    return found


def bell_mccaffrey(w: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the degrees of freedom of CR2's variance (Satterthwaite), as if a cluster's values were all the same.

    Args:
        w: share of each cluster in all trials, shape (draws, g).
    """
    # The variance is a quadratic form; its matrix is diag(a) - u v' - v u' + s u u'.
    a, u, v, s = w**2 / (1.0 - w), w / np.sqrt(1.0 - w), w**2 / np.sqrt(1.0 - w), np.sum(w**2, axis=1)
    uu, uv, vv = np.sum(u**2, axis=1), np.sum(u * v, axis=1), np.sum(v**2, axis=1)
    trace = np.sum(a, axis=1) - 2.0 * uv + s * uu
    square = (
        np.sum(a**2, axis=1)
        + 2.0 * np.sum(a * (s[:, None] * u**2 - 2.0 * u * v), axis=1)
        + 2.0 * (uu * vv + uv**2)
        + (s * uu) ** 2
        - 4.0 * s * uu * uv
    )
    return trace**2 / square


def bootstraps(samples: Samples, weights: NDArray[np.float64]) -> dict[str, Ends]:
    """Return the percentile, BCa and studentised intervals.

    Args:
        samples: the data.
        weights: how often each instance is drawn again, the same for all draws of data, shape (resamples, instances).
    """
    sums, sizes, mean = samples.sums.T, samples.sizes.T.astype(float), samples.means
    g = len(sums)
    totals = weights @ sizes
    again = weights @ sums / totals
    tails = np.array([0.5 - CONFIDENCE / 2, 0.5 + CONFIDENCE / 2])
    ordered = np.sort(again, axis=0)
    draws = np.arange(len(mean))

    def quantile(of: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
        return of[np.rint(np.clip(q, 0.0, 1.0) * (RESAMPLES - 1)).astype(int), draws]

    below = (np.mean(again < mean - 1e-12, axis=0) + np.mean(again <= mean + 1e-12, axis=0)) / 2.0
    bias = special.ndtri(np.clip(below, 1.0 / RESAMPLES, 1.0 - 1.0 / RESAMPLES))
    left_out = (sums.sum(axis=0) - sums) / (sizes.sum(axis=0) - sizes)
    skew = left_out.mean(axis=0) - left_out
    scale = 6.0 * np.sum(skew**2, axis=0) ** 1.5
    acceleration = np.divide(np.sum(skew**3, axis=0), scale, out=np.zeros_like(scale), where=scale > 1e-18)
    z = bias + special.ndtri(tails)[:, None]
    corrected = special.ndtr(bias + z / (1.0 - acceleration * z))
    deviations = weights @ sums**2 - 2.0 * again * (weights @ (sums * sizes)) + again**2 * (weights @ sizes**2)
    errors = np.sqrt(np.maximum(deviations, 0.0) * g / (g - 1)) / totals
    away = again - mean
    ratios = np.where(
        errors > 1e-9,
        away / np.maximum(errors, 1e-9),
        np.where(np.abs(away) > 1e-9, np.sign(away) * 1e9, 0.0),
    )
    ratios.sort(axis=0)
    own = np.sqrt(np.sum((sums - sizes * mean) ** 2, axis=0) * g / (g - 1)) / sizes.sum(axis=0)
    least, most = (quantile(ratios, np.full(len(mean), q)) for q in tails)
    return {
        "percentile": (
            quantile(ordered, np.full(len(mean), tails[0])),
            quantile(ordered, np.full(len(mean), tails[1])),
        ),
        "BCa": (quantile(ordered, corrected[0]), quantile(ordered, corrected[1])),
        "bootstrap-t": (np.clip(mean - most * own, 0.0, 1.0), np.clip(mean - least * own, 0.0, 1.0)),
    }


def judged(ends: Ends, truth: float) -> list[float]:
    """Return the coverage [%] and the mean width."""
    low, high = ends
    held = (low <= truth + 1e-9) & (truth <= high + 1e-9)
    return [100.0 * float(np.mean(held)), float(np.mean(high - low))]


def settings() -> Iterator[tuple[str, int, str, float]]:
    """Return score, instances, trials and correlation; single trials have none."""
    for score, instances, trials, correlation in product(SCORES, INSTANCES, TRIALS, CORRELATIONS):
        if trials != "1" or not correlation:
            yield score, instances, trials, correlation


def means_table(draws: int) -> Lines:
    """Return a row for each cell; the bootstraps see a quarter of the draws."""
    table: Lines = []
    for number, (score, instances, trials, correlation) in enumerate(settings()):
        rng = np.random.default_rng([1, number])
        weights = rng.multinomial(instances, np.full(instances, 1.0 / instances), RESAMPLES).astype(float)
        for share in SHARES:
            samples = draw_scores(rng, score, share, correlation, draw_sizes(rng, draws, instances, trials))
            found = {
                **bootstraps(samples.first(max(1, draws // 4)), weights),
                **students(samples),
                "no caution": ours(samples, 1e-9),
                "ours": ours(samples),
            }
            truth = share * (EFFICIENCY[0] / sum(EFFICIENCY) if score == "SPL" else 1.0)
            cells = [cell for name in METHODS for cell in judged(found[name], truth)]
            table.append([score, instances, trials, correlation, share, *cells])
    return table


def differences_table(draws: int) -> Lines:
    table: Lines = []
    for number, (score, instances, trials, luck) in enumerate(product(SCORES, INSTANCES, TRIALS, LUCK)):
        rng = np.random.default_rng([2, number])
        for pair in PAIRS:
            sizes = draw_sizes(rng, draws, instances, trials)
            shape = (*sizes.shape, int(sizes.max()))
            first, second = draw_pairs(rng, pair, luck, shape)
            truth = pair[0] - pair[1]
            if score == "SPL":
                first, second = first * efficiency(rng, shape), second * efficiency(rng, shape)
                truth *= EFFICIENCY[0] / sum(EFFICIENCY)
            # Differences from -1 to 1, on the scale from 0 to 1.
            ends = ours(summed((first - second + 1.0) / 2.0, sizes), caution=0.5)
            low, high = (2.0 * end - 1.0 for end in ends)
            table.append([score, instances, trials, luck, *pair, *judged((low, high), truth)])
    return table


def decisions_table(draws: int) -> Lines:
    """Return how often the paired bootstrap finds a difference at 5 %, three pairs an instance, half of luck shared."""
    table: Lines = []
    for number, (pair, instances) in enumerate(product(PAIRS, INSTANCES)):
        rng = np.random.default_rng([3, number])
        clusters = np.repeat(np.arange(instances), 3)
        firsts, seconds = draw_pairs(rng, pair, 0.5, (draws, instances, 3))
        rejected = [
            paired_bootstrap(a.ravel(), b.ravel(), clusters, rng).p_value <= 0.05
            for a, b in zip(firsts, seconds, strict=True)
        ]
        table.append([*pair, instances, 100.0 * float(np.mean(rejected))])
    return table


def test_set(
    rng: np.random.Generator, run: int, size: int, slope: float
) -> tuple[dict[str, NDArray[np.float64]], NDArray[np.float64]]:
    """Return the arguments of adjusted_mean, perturbed trials being much harder, and all base scores of X."""
    family, length = rng.integers(0, 5, size), rng.random(size)
    ease = 0.5 + slope * (family - 2.0) - slope * (length - 0.5) + rng.normal(0.0, 0.7, size)
    features = np.column_stack([family[:, None] == np.arange(5), length]).astype(float)
    scores, covariates = [], []
    for number, harder in enumerate((0.0, -3.0, -2.0, -1.0, -1.5)):
        chance = 1.0 / (1.0 + np.exp(-ease - harder))
        scores.append((rng.random(size) < chance) * rng.beta(*EFFICIENCY, size))
        which = np.eye(5)[np.full(size, number)][:, 1:]
        covariates.append(np.hstack([features, which]))
    return {
        "outcomes": np.concatenate([score[:run] for score in scores]),
        "covariates": np.vstack([covariate[:run] for covariate in covariates]),
        "clusters": np.tile(np.arange(run), 5),
        "is_base": np.arange(5 * run) < run,
        "covariates_of_all": covariates[0],
    }, scores[0]


def adjusted_table(draws: int) -> Lines:
    table: Lines = []
    rng = np.random.default_rng(4)
    for words, slope in (("useless", 0.0), ("weak", 0.4), ("useful", 1.2)):
        domain = np.mean([test_set(rng, 2, 50_000, slope)[1].mean() for _ in range(10)])
        for size, run in SETS:
            errors, ends = [], np.zeros((draws, 4))
            for i in range(draws):
                arguments, truth = test_set(rng, run, size, slope)
                target = truth.mean()
                of_x, of_domain = (adjusted_mean(**arguments, finite=finite) for finite in (True, False))
                errors.append((arguments["outcomes"].mean(), of_x.mean, truth[:run].mean()) - target)
                # Each test set has a mean of its own.
                ends[i] = of_x.low - target, of_x.high - target, of_domain.low, of_domain.high
            plain, adjusted, base = np.array(errors).T
            rms = [float(np.sqrt(np.mean(e**2))) for e in (base, adjusted)]
            cells = judged((ends[:, 0], ends[:, 1]), 0.0) + judged((ends[:, 2], ends[:, 3]), float(domain))
            table.append([words, size, run, float(plain.mean()), float(adjusted.mean()), *rms, *cells])
    return table


def sequence_table(draws: int, looks: int = 100) -> Lines:
    """Look at the betting test, whose error rate is 5 %, after each value."""
    table: Lines = []
    rng = np.random.default_rng(5)
    for spl in (False, True):
        for share in (0.05, 0.5, 0.95):
            truth, wrong, early, late = share * (0.8 if spl else 1.0), 0, 0.0, 0.0
            ones = np.ones((draws, looks), dtype=int)
            for scores in draw_scores(rng, "SPL" if spl else "success", share, 0.0, ones).sums:
                test = BettingTest(0.05)
                for score in scores:
                    test.update(float(score))
                    if test.number == 25:
                        early += np.ptp(test.interval)
                wrong += test.rejects(truth)
                late += np.ptp(test.interval)
            cells = 100.0 * wrong / draws, early / draws, late / draws
            table.append(["SPL" if spl else "success", share, *map(float, cells)])
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=4000, help="data sets a cell of the means")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    asked = parser.parse_args()
    draws = asked.draws
    found = {
        "means": means_table(draws),
        "differences": differences_table(max(1, draws // 2)),
        "decisions": decisions_table(max(1, draws // 16)),
        "adjusted": adjusted_table(max(1, draws // 4)),
        "sequences": sequence_table(max(1, draws // 16)),
    }
    if asked.json:
        print(json.dumps({"seed": [1, 2, 3, 4, 5], "draws": draws, **found}))
        return
    console = Console(width=160)
    for name, lines in found.items():
        table = Table(title=name, box=None)
        for heading in HEADINGS[name]:
            table.add_column(heading, justify="right")
            if heading in METHODS:
                table.add_column("width", justify="right")
        for line in lines:
            table.add_row(*(f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in line))
        console.print(table)


if __name__ == "__main__":
    main()
