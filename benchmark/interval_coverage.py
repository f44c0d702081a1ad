"""How often each interval holds the truth: simulated coverage of what statistics/ says, and of what it could have said.

Base instances are drawn with a chance of success of their own (beta-binomial, so that trials of one instance are
correlated), each with one trial, five, or 1 to 15. SPL-like scores are successes times an efficiency that instances
share in part. Every interval is to hold the truth in 95 % of the draws. For each share of successes and number of
instances the table has the lowest coverage over sizes and correlations, and the mean width.

    python benchmark/interval_coverage.py                  all tables, some five minutes
    python benchmark/interval_coverage.py --draws 200      the same, coarser
    python benchmark/interval_coverage.py --json           all numbers as one JSON object
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy import stats

from robocontrast_ros.statistics.clusters import bell_mccaffrey, cluster_mean, cr2, paired_difference
from robocontrast_ros.statistics.decisions import paired_bootstrap
from robocontrast_ros.statistics.estimate import Estimate
from robocontrast_ros.statistics.prediction import adjusted_mean
from robocontrast_ros.statistics.sequential import BettingTest

SHARES, INSTANCES = (0.02, 0.5, 0.95, 1.0), (5, 12, 40)
CORRELATIONS = (0.0, 0.3, 0.8)
SIZES = ((1, 1), (5, 5), (1, 15))
EFFICIENCY = (8.0, 2.0)
"""Beta distribution of a success's SPL, whose mean is 0.8."""

RESAMPLES = 799
"""Of the bootstraps; with so many draws of data, more change nothing."""

Interval = tuple[float, float]

Lines = list[list[str | float]]
"""Rows of a table."""

METHODS = ("percentile", "BCa", "bootstrap-t", "CR2", "shipped")
HEADINGS = {
    "means": ("scores", "share", "instances", *METHODS),
    "differences": ("share", "other share", "instances", "coverage", "width", "found a difference"),
    "adjusted": (
        *("covariates", "run", "bias plain", "bias adjusted", "rms base", "rms adjusted"),
        *("coverage X", "width X", "coverage domain", "width domain"),
    ),
    "sequences": ("scores", "share", "ever excluded the truth", "width at 25", "width at the end"),
}
"""Table -> its columns: coverages in per cent, the mean width behind each of those of ``means``."""


@dataclass(frozen=True)
class Sample:
    """Scores of trials, and the base instance of each, shape (n,)."""

    scores: NDArray[np.float64]
    clusters: NDArray[np.int64]

    @property
    def sums(self) -> NDArray[np.float64]:
        """Sum of the scores of each instance."""
        return np.bincount(self.clusters, self.scores)

    @property
    def sizes(self) -> NDArray[np.float64]:
        """Number of trials of each instance."""
        return np.bincount(self.clusters).astype(float)


def draw(
    rng: np.random.Generator, share: float, correlation: float, instances: int, sizes: Interval, spl: bool
) -> Sample:
    each = rng.integers(sizes[0], sizes[1] + 1, instances)
    chance = np.full(instances, share)
    if correlation and share < 1.0:
        s = 1.0 / correlation - 1.0
        chance = rng.beta(share * s, (1.0 - share) * s, instances)
    clusters = np.repeat(np.arange(instances), each)
    scores = (rng.random(len(clusters)) < chance[clusters]).astype(float)
    if spl:
        own, shared = rng.beta(*EFFICIENCY, len(clusters)), rng.beta(*EFFICIENCY, instances)[clusters]
        scores *= 0.5 * (own + shared)
    return Sample(scores, clusters)


def shipped(sample: Sample) -> Interval:
    return ends(cluster_mean(sample.scores, sample.clusters))


def without_imaginary(sample: Sample) -> Interval:
    return ends(cluster_mean(sample.scores, sample.clusters, bounds=None))


def bootstraps(sample: Sample, weights: NDArray[np.float64]) -> dict[str, Interval]:
    """Return the percentile, BCa and studentised intervals; weights say how often each instance is drawn again."""
    sums, sizes, g = sample.sums, sample.sizes, len(sample.sizes)
    totals = weights @ sizes
    means = weights @ sums / totals
    mean, error = cr2(sums, sizes, np.ones(g))
    percentile = np.quantile(means, (0.025, 0.975))
    below = (np.mean(means < mean) + np.mean(means <= mean)) / 2.0
    bias = stats.norm.ppf(np.clip(below, 1.0 / RESAMPLES, 1.0 - 1.0 / RESAMPLES))
    left_out = (sums.sum() - sums) / (sizes.sum() - sizes)
    skew = left_out.mean() - left_out
    scale = 6.0 * np.sum(skew**2) ** 1.5
    acceleration = np.sum(skew**3) / scale if scale > 0.0 else 0.0
    z = bias + stats.norm.ppf((0.025, 0.975))
    bca = np.quantile(means, stats.norm.cdf(bias + z / (1.0 - acceleration * z)))
    squares = weights @ sums**2 - 2.0 * means * (weights @ (sums * sizes)) + means**2 * (weights @ sizes**2)
    errors = np.sqrt(np.maximum(squares, 0.0) * g / (g - 1)) / totals
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(errors > 1e-12, (means - mean) / errors, np.sign(means - mean) * np.inf)
    ratios = np.where(np.isnan(ratios), 0.0, ratios)
    low, high = np.quantile(ratios, (0.025, 0.975), method="nearest")
    studentised = (mean - high * error, mean - low * error) if error > 0.0 else (mean, mean)
    return {
        "percentile": tuple(percentile),
        "BCa": tuple(bca),
        "bootstrap-t": tuple(np.clip(studentised, 0.0, 1.0)),
    }


def ends(estimate: Estimate) -> Interval:
    return float(estimate.low), float(estimate.high)


def means_table(draws: int, spl: bool, track: Callable[[str], None]) -> Lines:
    table: Lines = []
    rng = np.random.default_rng(1)
    for share in SHARES:
        for instances in INSTANCES:
            covered: dict[str, list[float]] = {name: [] for name in METHODS}
            widths: dict[str, list[float]] = {name: [] for name in METHODS}
            for sizes, correlation in settings(share):
                found: dict[str, list[Interval]] = {name: [] for name in METHODS}
                weights = rng.multinomial(instances, np.full(instances, 1.0 / instances), RESAMPLES).astype(
                    float
                )
                for _ in range(draws):
                    sample = draw(rng, share, correlation, instances, sizes, spl)
                    intervals = bootstraps(sample, weights)
                    intervals["CR2"] = tuple(np.clip(without_imaginary(sample), 0.0, 1.0))
                    intervals["shipped"] = shipped(sample)
                    for name, interval in intervals.items():
                        found[name].append(interval)
                truth = share * (EFFICIENCY[0] / sum(EFFICIENCY) if spl else 1.0)
                for name, intervals in found.items():
                    low, high = np.array(intervals).T
                    covered[name].append(np.mean((low <= truth + 1e-12) & (truth <= high + 1e-12)))
                    widths[name].append(np.mean(high - low))
            cells = [value for n in METHODS for value in (100.0 * min(covered[n]), float(np.mean(widths[n])))]
            table.append(["SPL" if spl else "success", share, instances, *cells])
            track(f"{share:g} {instances}")
    return table


def settings(share: float) -> Iterator[tuple[Interval, float]]:
    """Return sizes and correlations; single trials, and certain ones, have no correlation."""
    for sizes in SIZES:
        for correlation in CORRELATIONS:
            if correlation == 0.0 or (sizes != (1, 1) and share < 1.0):
                yield sizes, correlation


def differences_table(draws: int) -> Lines:
    table: Lines = []
    rng = np.random.default_rng(2)
    for first, second in ((0.5, 0.5), (0.95, 0.95), (0.9, 0.7), (0.99, 0.95)):
        for instances in INSTANCES:
            held, width, rejected = 0, 0.0, 0
            for _ in range(draws):
                clusters = np.repeat(np.arange(instances), 3)
                shared = rng.random(instances)[clusters]
                mine = np.where(rng.random((2, len(clusters))) < 0.5, shared, rng.random((2, len(clusters))))
                a, b = (mine[0] < first).astype(float), (mine[1] < second).astype(float)
                low, high = ends(paired_difference(a, b, clusters))
                held += low <= first - second <= high
                width += high - low
                rejected += paired_bootstrap(a, b, clusters, rng).p_value <= 0.05
            shares = 100.0 * held / draws, width / draws, 100.0 * rejected / draws
            table.append([first, second, instances, *map(float, shares)])
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
    rng = np.random.default_rng(3)
    for words, slope in (("useless", 0.0), ("weak", 0.4), ("useful", 1.2)):
        domain = np.mean([test_set(rng, 2, 50_000, slope)[1].mean() for _ in range(10)])
        for run in (8, 12, 40, 100):
            errors, held, widths = [], np.zeros(2), np.zeros(2)
            for _ in range(draws):
                arguments, truth = test_set(rng, run, 250, slope)
                target = truth.mean()
                of_x, of_domain = (adjusted_mean(**arguments, finite=finite) for finite in (True, False))
                errors.append((arguments["outcomes"].mean(), of_x.mean, truth[:run].mean()) - target)
                for i, (estimate, value) in enumerate(((of_x, target), (of_domain, domain))):
                    low, high = ends(estimate)
                    held[i] += low <= value <= high
                    widths[i] += high - low
            plain, adjusted, base = np.array(errors).T
            rms = [float(np.sqrt(np.mean(e**2))) for e in (base, adjusted)]
            cells = [value for i in range(2) for value in (100.0 * held[i] / draws, widths[i] / draws)]
            table.append([words, run, float(plain.mean()), float(adjusted.mean()), *rms, *map(float, cells)])
    return table


def sequence_table(draws: int, looks: int = 100) -> Lines:
    """Look at the betting test, whose error rate is 5 %, after each value."""
    table: Lines = []
    rng = np.random.default_rng(4)
    for spl in (False, True):
        for share in (0.05, 0.5, 0.95):
            truth, wrong, early, late = share * (0.8 if spl else 1.0), 0, 0.0, 0.0
            for _ in range(draws):
                test = BettingTest(0.05)
                for score in draw(rng, share, 0.0, looks, (1, 1), spl).scores:
                    test.update(float(score))
                    if test.number == 25:
                        early += np.ptp(test.interval)
                wrong += test.rejects(truth)
                late += np.ptp(test.interval)
            cells = 100.0 * wrong / draws, early / draws, late / draws
            table.append(["SPL" if spl else "success", share, *map(float, cells)])
    return table


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=500, help="data sets a cell")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    asked = parser.parse_args()
    draws, errors = asked.draws, Console(stderr=True)
    freedom = bell_mccaffrey(np.array([1.0, *[5.0] * 10, 15.0]), np.ones(12))
    found = {
        "means": [
            line
            for spl in (False, True)
            for line in means_table(draws, spl, lambda words: errors.print(words, style="dim"))
        ],
        "differences": differences_table(draws),
        "adjusted": adjusted_table(draws),
        "sequences": sequence_table(max(1, draws // 2)),
    }
    if asked.json:
        print(json.dumps({"seed": [1, 2, 3, 4], "draws": draws, **found}))
        return
    console = Console(width=140)
    console.print(f"degrees of freedom of 12 instances with 1, 5 (ten times) and 15 trials: {freedom:.1f}")
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
