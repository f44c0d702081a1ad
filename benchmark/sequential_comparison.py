"""How many pairs it takes to see which of two policies succeeds more often, when one looks after every pair.

Both policies are tried on the same instances, one trial each, up to a most number of pairs. A test may answer after any
pair, "this one" or "that one", at an error rate of 0.05 in all. For each pair of success rates and each correlation
between the two trials of a pair: the mean number of pairs that were run (the most number where there was no answer) and
how often the better policy was found.

The betting test is computed exactly: it depends on how often each policy alone succeeded. The sequential sign test
depends on which pairs these were, too: which pairs they are is drawn, and all signs are summed over exactly.

    python -m benchmark.sequential_comparison                   the table, some two minutes
    python -m benchmark.sequential_comparison --draws 200       the same, coarser
    python -m benchmark.sequential_comparison --json            all numbers as one JSON object
"""

from __future__ import annotations

import argparse
import json
import math

import numpy as np
from rich.console import Console
from rich.table import Table

from robocontrast_ros.statistics.sequential import BettingTest
from robocontrast_ros.statistics.sign_test import SequentialSignTest

ERROR_RATE = 0.05

STEP = {
    (200, 0.5, 0.7, 0.0): (87.75, 0.9680),
    (200, 0.5, 0.7, 0.3): (90.06, 0.9832),
    (200, 0.5, 0.6, 0.0): (164.92, 0.4349),
    (200, 0.8, 0.9, 0.0): (135.83, 0.7273),
    (200, 0.8, 0.9, 0.3): (143.13, 0.7298),
    (200, 0.5, 0.9, 0.0): (25.87, 1.0),
    (50, 0.5, 0.7, 0.0): (41.20, 0.4563),
    (50, 0.5, 0.8, 0.0): (30.52, 0.8402),
    (50, 0.3, 0.9, 0.0): (11.94, 1.0),
    (50, 0.8, 0.9, 0.0): (45.94, 0.2271),
}
"""Most pairs, success rates, correlation -> mean number of pairs, and how often the better policy was found, of STEP
(Snyder et al. 2025).

Computed with the authors' package sequentialized-barnard-tests 0.0.9, which is no part of this one (its licence
forbids commercial use): the policy that its script synthesizes with default settings for this most number of pairs and
alpha 0.025, which in both directions together is an error rate of 0.05, then summed exactly over all of its states.
"""


def chances(first: float, second: float, correlation: float) -> tuple[float, float]:
    """Return the chances that the first policy alone succeeds in a pair, and that the second does."""
    both = first * second + correlation * math.sqrt(first * (1 - first) * second * (1 - second))
    return first - both, second - both


def by_signs(most: int, first: float, second: float, draws: int, rng: np.random.Generator) -> tuple[float, ...]:
    """Return mean number of pairs, its standard error, how often the second policy was found, and how often the first.

    Args:
        most: number of pairs.
        first: chance that the first policy alone succeeds.
        second: chance that the second does.
        draws: how often it is drawn which pairs count.
        rng: source of that.
    """
    share = second / (first + second)
    found = np.array([of_pattern(rng.random(most) < first + second, share) for _ in range(draws)])
    pairs, right, wrong = found.T
    return pairs.mean(), pairs.std(ddof=1) / math.sqrt(draws), right.mean(), wrong.mean()


def of_pattern(counts: np.ndarray, share: float) -> tuple[float, float, float]:
    """Return expected number of pairs, and the probabilities of both answers, given which pairs count."""
    most = len(counts)
    test = SequentialSignTest(ERROR_RATE, most)
    # Probability that there is no answer, and that the second policy is k - (most + 1) successes ahead.
    walk, ahead = np.zeros(2 * most + 3), np.arange(-most - 1, most + 2)
    walk[most + 1] = 1.0
    pairs = right = wrong = 0.0
    for counting in counts:
        pairs += walk.sum()
        test.update(0.0, float(counting))
        if not counting:
            continue
        after = np.zeros_like(walk)
        after[1:] = share * walk[:-1]
        after[:-1] += (1.0 - share) * walk[1:]
        right += after[ahead >= test.limit].sum()
        wrong += after[ahead <= -test.limit].sum()
        walk = np.where(abs(ahead) < test.limit, after, 0.0)
    return pairs, right, wrong


def by_betting(most: int, first: float, second: float) -> tuple[float, float, float]:
    """Return mean number of pairs, and how often the second policy was found, and how often the first."""
    answers = betting_answers(most)
    walk = np.zeros((most + 2, most + 2))
    walk[0, 0] = 1.0
    pairs = right = wrong = 0.0
    for _ in range(most):
        pairs += walk.sum()
        after = (1.0 - first - second) * walk
        after[1:] += first * walk[:-1]
        after[:, 1:] += second * walk[:, :-1]
        right += after[answers < 0].sum()
        wrong += after[answers > 0].sum()
        walk = np.where(answers == 0, after, 0.0)
    return pairs, right, wrong


def betting_answers(most: int) -> np.ndarray:
    """Return what the betting test says once each policy alone has succeeded so often, shape (most + 2, most + 2).

    Pairs in which both did the same neither add to the capital against equality nor take from it.
    """
    test = BettingTest(ERROR_RATE, -1.0, 1.0)
    nodes, weights = np.polynomial.legendre.leggauss(64)
    bets, times = 0.5 * (nodes + 1.0), np.arange(most + 2)
    won, lost = np.log1p(bets)[:, None] * times, np.log1p(-bets)[:, None] * times
    capital = np.einsum("b,bw,bl->wl", 0.5 * weights, np.exp(won), np.exp(lost))
    enough = capital >= 2.0 / test.error_rate
    return enough.astype(int) - enough.T.astype(int)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=2000, help="draws of which pairs count, for each row")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    asked = parser.parse_args()
    rng, lines, errors = np.random.default_rng(1), [], Console(stderr=True)
    for (most, first, second, correlation), (step_pairs, step_found) in STEP.items():
        alone = chances(first, second, correlation)
        pairs, error, found, wrong = by_signs(most, *alone, asked.draws, rng)
        betting_pairs, betting_found, _ = by_betting(most, *alone)
        tests = [pairs, found, betting_pairs, betting_found, step_pairs, step_found]
        lines.append([most, first, second, correlation, *tests, error, wrong])
        errors.print(f"{most} {first:g} {second:g} {correlation:g}", style="dim")
    if asked.json:
        print(json.dumps({"seed": 1, "draws": asked.draws, "comparisons": lines}))
        return
    table = Table(box=None)
    for heading in (
        *("most pairs", "success", "and", "correlation", "sign test: pairs", "found"),
        *("betting: pairs", "found", "STEP: pairs", "found", "±", "wrong"),
    ):
        table.add_column(heading, justify="right")
    for line in lines:
        table.add_row(*(f"{cell:.4g}" for cell in line))
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
