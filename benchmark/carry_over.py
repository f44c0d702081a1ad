"""How often words and intervals of `compare --carry-over` are right, by simulation.

One policy succeeds in 90 % of the base trials of two worlds; four perturbations cost it a share of successes, which is
the same in both worlds or not. All trials of an instance are correlated, in both worlds. For each number of instances
and each case: how often which words are given, and how often intervals hold the true value.

    python -m benchmark.carry_over                   the table, some two minutes
    python -m benchmark.carry_over --draws 50        the same, coarser
    python -m benchmark.carry_over --json            all numbers as one JSON object
"""

from __future__ import annotations

import argparse
import gc
import json

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy import stats

from robocontrast_ros.analysis.estimates.carry_over import MARGIN, Carried, adjusted, carry_over
from robocontrast_ros.domain import ScoreSpec
from robocontrast_ros.statistics.change_agreement import change_agreement, mmrv
from robocontrast_ros.statistics.changes import difference_in_differences
from robocontrast_ros.statistics.clusters import paired_difference
from robocontrast_ros.statistics.estimate import Estimate
from robocontrast_ros.statistics.multiplicity import holm

SUCCESS = ScoreSpec("success", "success", "", 0.0, 1.0, "higher", False, "draws", "whether a trial succeeds")
SEED = 1
BASE_RATE = 0.9
CORRELATION = 0.5
"""Correlation of the normal variables behind any two trials of an instance, in one world or both."""
LOSSES = (0.0, 0.1, 0.25, 0.5)
CASES = {
    "the same": LOSSES,
    "apart by the margin": (0.1, 0.0, 0.35, 0.4),
    "half as large": (0.0, 0.05, 0.125, 0.25),
    "in another order": (0.25, 0.1, 0.5, 0.0),
}
"""Losses in the second world, by case; those in the first are ``LOSSES``."""
INSTANCES = (60, 200)
COLUMNS = {
    "any_differs": "any “does not”",
    "any_carries": "any “carries over”",
    "differs": "“does not”",
    "carries": "“carries over”",
    "held": "held",
    "difference_covered": "difference",
    "pearson_covered": "r",
    "mmrv_covered": "MMRV",
}


def outcomes(instances: int, losses: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Return changes of success of each instance by each perturbation in both worlds, shape (2, instances, 4)."""
    rates = np.concatenate([np.full((2, 1), BASE_RATE), BASE_RATE - losses], axis=1)
    common, own = rng.normal(size=(1, instances, 1)), rng.normal(size=(2, instances, rates.shape[1]))
    latent = np.sqrt(CORRELATION) * common + np.sqrt(1.0 - CORRELATION) * own
    successes = (latent < stats.norm.ppf(rates)[:, None, :]).astype(float)
    return successes[..., 1:] - successes[..., :1]


def one(instances: int, losses: NDArray[np.float64], rng: np.random.Generator) -> list[float]:
    """Return what is counted of one comparison, in the order of ``COLUMNS``."""
    first, second = outcomes(instances, losses, rng)
    clusters, zeros = np.arange(instances), np.zeros(instances)
    pairs = list(zip(first.T, second.T, strict=True))
    found = adjusted([carry_over(a, b, clusters, SUCCESS, MARGIN, paired_difference(a, zeros)) for a, b in pairs])
    words = [row.word for row in found]
    agreed = change_agreement(first, second, clusters, rng)
    true = losses[1] - losses[0]
    return [
        float(Carried.DIFFERS in words),
        float(Carried.CARRIES in words),
        words.count(Carried.DIFFERS) / len(words),
        words.count(Carried.CARRIES) / len(words),
        float(np.mean([row.held for row in found])),
        float(np.mean([holds(difference_in_differences(a, b), v) for (a, b), v in zip(pairs, true, strict=True)])),
        float(holds(agreed.pearson.value, float(np.corrcoef(losses)[0, 1]))),
        float(holds(agreed.mmrv_second.value, float(mmrv(-losses[0], -losses[1])))),
    ]


def holds(estimate: Estimate, value: float) -> bool:
    """Return whether an interval holds a value."""
    return estimate.low is not None and estimate.low - 1e-9 <= value <= estimate.high + 1e-9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=100, help="comparisons of each row")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    asked = parser.parse_args()
    # Holm's procedure of statsmodels collects garbage at each call, which takes long unless there is little.
    holm([0.5, 0.5])
    gc.freeze()
    rng, rows, errors = np.random.default_rng(SEED), [], Console(stderr=True)
    for instances in INSTANCES:
        for case, second in CASES.items():
            losses = np.array([LOSSES, second])
            counted = np.mean([one(instances, losses, rng) for _ in range(asked.draws)], axis=0)
            rows.append({"instances": instances, "case": case, **dict(zip(COLUMNS, counted.tolist(), strict=True))})
            errors.print(f"{instances} {case}", style="dim")
    if asked.json:
        print(json.dumps({"seed": SEED, "draws": asked.draws, "margin": MARGIN, "rows": rows}))
        return
    table = Table("instances", "changes in the second world", *COLUMNS.values())
    for row in rows:
        table.add_row(str(row["instances"]), row["case"], *(f"{row[name]:.1%}" for name in COLUMNS))
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
