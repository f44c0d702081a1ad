"""How much faster than real time trials are scored from their bags: `python -m benchmark.offline_scoring RUN`."""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from robocontrast_ros.analysis.rescoring.recorded_trials import find_recorded
from robocontrast_ros.analysis.rescoring.scores_from_bags import score_recorded
from robocontrast_ros.analysis.rescoring.thresholds import Thresholds

REPEATS = 3


def main() -> None:
    """Score a run several times and print the fastest and the median."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="run folder with bags")
    parser.add_argument("--set", action="append", default=[], help="score under another threshold, too")
    parser.add_argument("--processes", type=int, help="as the command does when left out")
    arguments = parser.parse_args()

    trials = find_recorded([arguments.run])
    scores = score_recorded(trials, processes=1)
    simulated = sum(score.offline.duration for score in scores if score.offline)
    size = sum(f.stat().st_size for t in trials if t.bag for f in t.bag.iterdir()) / 2**20
    print(f"{len(scores)} trials, {simulated:.0f} s of simulated time, {size:.1f} MiB of bags")
    thresholds = Thresholds.parse(None, tuple(arguments.set))
    options = [option for setting in arguments.set for option in ("--set", setting)]
    if arguments.processes:
        options += ["--processes", str(arguments.processes)]
    command = "from robocontrast_ros.cli.main import app; app()"

    def in_process() -> None:
        score_recorded(trials, thresholds=thresholds, processes=1)

    def as_command() -> None:
        words = ["score", str(arguments.run), *options]
        subprocess.run([sys.executable, "-c", command, *words], stdout=subprocess.DEVNULL, check=True)

    for name, run in (
        ("one process, started already", in_process),
        ("the command, with its start", as_command),
    ):
        taken = [_seconds(run) for _ in range(REPEATS)]
        for what, times in zip(("on the clock", "of processor time"), zip(*taken, strict=True), strict=True):
            for words, seconds in (("median", statistics.median(times)), ("least", min(times))):
                faster = f"{simulated / seconds:.0f} times faster than real time"
                print(f"{name}: {words} {what} {seconds:.2f} s, {faster}")


def _seconds(run: Callable[[], None]) -> tuple[float, float]:
    """Return how long it takes, and how much time of processors it and the processes that it starts take [s]."""
    start, before = time.perf_counter(), os.times()
    run()
    after = os.times()
    return time.perf_counter() - start, sum(after[:4]) - sum(before[:4])


if __name__ == "__main__":
    main()
