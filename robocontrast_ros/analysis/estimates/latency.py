"""The latency of a run's policies."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from robocontrast_ros.analysis.data.run_record import RunRecord

BINS = 30


@dataclass(frozen=True)
class Latency:
    """The times that one policy itself took for its answers, in trials that count; warm-up is not among them.

    Attributes:
        policy: its name.
        answers: number of its answers, at least one.
        median: [s].
        p95: the 95th percentile [s].
        longest: [s].
        counts: answers in each bin, shape (``BINS``,).
        edges: of the bins, of equal width from 0 to the longest, or to 1 if that is 0, shape (``BINS`` + 1,) [s].
    """

    policy: str
    answers: int
    median: float
    p95: float
    longest: float
    counts: tuple[int, ...]
    edges: tuple[float, ...]


def latencies(run: RunRecord) -> tuple[Latency, ...]:
    """Return the latency of each policy that answered, in the order of their first trials that count."""
    answers: defaultdict[str, list[float]] = defaultdict(list)
    for each in run.trials:
        if each.counts and each.ended.policy_latency:
            answers[each.policy] += each.ended.policy_latency
    return tuple(_latency(policy, times) for policy, times in answers.items())


def _latency(policy: str, times: list[float]) -> Latency:
    median, p95, longest = np.quantile(times, (0.5, 0.95, 1.0)).tolist()
    counts, edges = np.histogram(times, BINS, range=(0.0, longest or 1.0))
    return Latency(policy, len(times), median, p95, longest, tuple(counts.tolist()), tuple(edges.tolist()))
