"""How far a policy's answers are apart before they are rounded, under the kernels of other processors.

The first trials of a session are run in processes of their own, once for each set of kernels; rounded, the answers are
the same, so that every process asks the policy the same:

    python -m benchmark.rounding_ties film_bc_state film_bc

The probability of a tie (a difference that rounding does not remove) is the mean difference in units of the rounding.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from robocontrast_ros.policies.film_bc import policy as film_bc
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.system.numerics import processor_flags
from scripts import golden

KERNELS = {
    "avx2": {"OPENBLAS_CORETYPE": "Haswell", "ATEN_CPU_CAPABILITY": "avx2", "OMP_NUM_THREADS": "1"},
    "avx512f": {"OPENBLAS_CORETYPE": "SkylakeX", "ATEN_CPU_CAPABILITY": "avx512", "OMP_NUM_THREADS": "2"},
    "sse4_2": {"OPENBLAS_CORETYPE": "Zen", "ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"},
}
"""Environments of the processes, by the flag that a processor needs for them: without it they die of SIGILL."""

STEP = 10.0**-film_bc.DECIMALS
"""What answers are rounded to [m]."""

SESSION = "language_table_demo"
TRIALS = {"film_bc_state": 30, "film_bc": 4}


def answers(policy: str, trials: int) -> NDArray[np.float64]:
    """Run the first trials and return every answer before it is rounded, shape (n, 2) [m]."""
    golden.unpin()
    given, rounded = [], film_bc.rounded

    def spied(action):
        given.append(action.numpy().ravel().copy())
        return rounded(action)

    film_bc.rounded = spied
    golden.events(golden.Run(SESSION, policy), trials)
    return np.array(given)


def measured(policy: str, trials: int) -> dict[str, float]:
    """Return how far the answers of a policy are apart [m], over all pairs of kernels that this processor has."""
    found = []
    for needed, kernels in KERNELS.items():
        if needed not in processor_flags():
            continue
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "answers.npy"
            command = [sys.executable, "-m", "benchmark.rounding_ties", policy, "--save", str(file)]
            subprocess.run(
                [*command, "--trials", str(trials)],
                env={**os.environ, **kernels},
                check=True,
                stdout=sys.stderr,
            )
            found.append(np.load(file))
    stacked = np.stack(found)
    apart = stacked.max(axis=0) - stacked.min(axis=0)
    mean = float(apart.mean())
    return {"numbers": apart.size, "largest": float(apart.max()), "mean": mean, "probability": mean / STEP}


def main() -> None:
    """Print the table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("policies", nargs="*", default=list(TRIALS))
    parser.add_argument("--trials", type=int, help="of each policy; else enough for two minutes")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--save", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.save:
        np.save(asked.save, answers(asked.policies[0], asked.trials))
        return
    left_out = sorted(KERNELS.keys() - processor_flags())
    found = {policy: measured(policy, asked.trials or TRIALS[policy]) for policy in asked.policies}
    if asked.json:
        # As texts: numbers this small would be rounded to zero where results are kept.
        shown = {policy: {k: f"{v:.3g}" for k, v in row.items()} for policy, row in found.items()}
        without = {"left_out": left_out} if left_out else {}
        print(json.dumps({"seed": resolve(SESSION).parameters.seed, **without, **shown}))
        return
    title = f"without the kernels that need {', '.join(left_out)}, which this processor lacks" if left_out else None
    table = Table("policy", "numbers", "largest [m]", "mean [m]", "probability of a tie", title=title)
    for policy, row in found.items():
        table.add_row(policy, str(row["numbers"]), *(f"{row[k]:.1e}" for k in ("largest", "mean", "probability")))
    Console().print(table)


if __name__ == "__main__":
    main()
