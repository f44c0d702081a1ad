"""How many trials a second the fast mode runs, on the mix of families and perturbations of a study.

Each process runs ``language_table_held_out`` with a seed of its own: instances of all families, each with ΔLB1, ΔSB1,
ΔLB2 and ΔSB2 where they apply, in the scene that the trial before left, the journal synced to disk after each event.
Opening the bench is not counted: a study does it once.

    python -m benchmark.trial_rate film_bc_state noisy_oracle --processes 2 --trials 250
"""

from __future__ import annotations

import argparse
import gc
import math
import multiprocessing
import os
import tempfile
import time
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import ClassVar

from rich.console import Console
from rich.table import Table

from robocontrast_ros.runs.events import TrialFinished
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.sessions.fast_mode import open_bench
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.system.garbage import YOUNG
from robocontrast_ros.system.numerics import pin

SESSION = "language_table_held_out"


@dataclass(frozen=True)
class Share:
    """What one process did.

    Attributes:
        trials: how many it ran.
        steps: control steps in all of them.
        wall: time it took [s].
        processor: time of the processor it took [s].
    """

    trials: int
    steps: int
    wall: float
    processor: float


def run(policy: str, seed: int, trials: int, together: Barrier) -> Share:
    """Run a session on a fast bench, beginning when all processes are ready."""
    with tempfile.TemporaryDirectory() as folder:
        # An instance makes more than three trials; drawing one is the task's work, not the simulator's.
        size = math.ceil(trials / 3)
        session = resolve(SESSION, Overrides(seed=seed, policy=policy, size=size, max_trials=trials, fast=True))
        bench, journal = open_bench(session), Path(folder) / "journal.jsonl"
        together.wait()
        wall, processor = time.perf_counter(), time.process_time()
        run_session(session.evaluation(), bench, journal)
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
        bench.close()
        done = [event for event in read_journal(journal).events if isinstance(event, TrialFinished)]
    return Share(len(done), sum(event.result.steps for event in done), wall, processor)


class Worker:
    """What a process of the pool knows."""

    together: ClassVar[Barrier]

    @classmethod
    def begin(cls, together: Barrier) -> None:
        """Take what the processes wait at for each other."""
        cls.together = together
        # As in every process of a study.
        gc.set_threshold(YOUNG)

    @classmethod
    def run(cls, policy: str, seed: int, trials: int) -> Share:
        """Run a session when all processes are ready."""
        return run(policy, seed, trials, cls.together)


def main() -> None:
    """Measure each policy and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("policies", nargs="*", default=["film_bc_state", "noisy_oracle"])
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--trials", type=int, default=250, help="of each process")
    arguments = parser.parse_args()
    # As in every process of a session.
    pin(os.environ)
    context = multiprocessing.get_context("spawn")
    table = Table(
        "policy",
        "processes",
        "trials/s",
        "trials",
        "steps a trial",
        "processor time a trial [ms]",
        "a step [ms]",
    )
    for policy in arguments.policies:
        barrier = context.Barrier(arguments.processes)
        with context.Pool(arguments.processes, Worker.begin, (barrier,)) as pool:
            jobs = [(policy, seed, arguments.trials) for seed in range(arguments.processes)]
            shares = pool.starmap(Worker.run, jobs, chunksize=1)
        trials, steps = sum(share.trials for share in shares), sum(share.steps for share in shares)
        processor = 1e3 * sum(share.processor for share in shares)
        table.add_row(
            policy,
            str(arguments.processes),
            f"{sum(share.trials / share.wall for share in shares):.1f}",
            str(trials),
            f"{steps / trials:.0f}",
            f"{processor / trials:.0f}",
            f"{processor / steps:.2f}",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
