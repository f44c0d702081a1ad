"""Run a function on many things in several processes; a process that dies costs no more than its own thing."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")


@dataclass(frozen=True)
class ProcessLost:
    """What stands in the place of a result when its process died twice, the second time with this job alone."""


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0))


def run_in_processes(
    function: Callable[[Job], Result], jobs: Sequence[Job], processes: int
) -> Iterator[tuple[int, Result | ProcessLost]]:
    """Yield the index and the result of each job as it is done.

    With one process, or one job, everything happens in this process. Interrupted, nothing new is begun, and
    what is under way is waited for.

    Args:
        function: can be pickled, as its jobs and results can.
        jobs: what to run it on.
        processes: that run at a time, at least 1.

    Raises:
        Exception: whatever the function raises; jobs that were not begun are not run then.
    """
    if min(processes, len(jobs)) <= 1:
        yield from ((index, function(job)) for index, job in enumerate(jobs))
        return
    lost = []
    with _pool(min(processes, len(jobs))) as pool:
        futures = {_submit(pool, function, job): index for index, job in enumerate(jobs)}
        for future in as_completed(futures):
            try:
                yield futures[future], future.result()
            # It takes all that wait with it, and does not say which of them it was.
            except BrokenProcessPool:
                lost.append(futures[future])
    lost.sort()
    while lost:
        with _pool(1) as pool:
            while lost:
                index = lost.pop(0)
                try:
                    yield index, pool.submit(function, jobs[index]).result()
                except BrokenProcessPool:
                    yield index, ProcessLost()
                    break


@contextmanager
def _pool(processes: int) -> Iterator[ProcessPoolExecutor]:
    # A process that is forked from one with threads (polars has them) may hang.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(processes, context, initializer=_leave_interrupts_to_the_parent)
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _submit(pool: ProcessPoolExecutor, function: Callable[[Job], Result], job: Job) -> Future[Result]:
    try:
        return pool.submit(function, job)
    except BrokenProcessPool as error:
        broken: Future[Result] = Future()
        broken.set_exception(error)
        return broken


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
