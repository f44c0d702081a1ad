"""Run functions in processes beside this one: numerics pinned, signals left to the parent, a death noticed."""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from typing import Any, TypeVar

from robocontrast_ros.system.garbage import YOUNG
from robocontrast_ros.system.numerics import pinned

PR_SET_PDEATHSIG = 1  # linux/prctl.h

Job = TypeVar("Job")
Result = TypeVar("Result")

# A process that is forked from one with threads (polars has them) may hang.
SPAWN = multiprocessing.get_context("spawn")
"""Context for starting processes and for making their shared objects."""

_stops: list[Event] = []
"""Stop events of this process's pool; empty in a process without a pool."""


class Stopped(Exception):
    """A call that ends early, because ``stopping`` is true."""


@dataclass(frozen=True)
class ProcessLost:
    """Replaces a result if its process died twice, the second time with this job alone."""


def processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0))


def die_with_parent() -> None:
    """Let the kernel end this process when its parent ends, even by SIGKILL (Linux)."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


@contextmanager
def process_pool(
    processes: int, begin: Callable[..., None] | None = None, *arguments: Any
) -> Iterator[Callable[..., Future[Any]]]:
    """Yield ``submit(function, *arguments)``, which calls a function in another process and returns its future.

    When the block ends, calls that have not begun are cancelled; those that have begun can see it by ``stopping``, and
    are waited for. If a process dies, all futures without a result raise ``BrokenProcessPool``. If this process dies,
    the others end at once.

    Args:
        processes: number of processes at a time, at least 1.
        begin: called once in each process, with ``arguments``.
        arguments: can be pickled, or come from ``SPAWN``.
    """
    stop = SPAWN.Event()
    pool = ProcessPoolExecutor(processes, SPAWN, _begin, (stop, begin, arguments))

    def submit(function: Callable[..., Result], *arguments: Any) -> Future[Result]:
        # A process has the environment and the signal mask of its parent: Ctrl-C, and the end of the terminal, reach
        # only the parent from the first moment.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGHUP))
        try:
            with pinned():
                return pool.submit(function, *arguments)
        except BrokenProcessPool as error:
            broken: Future[Result] = Future()
            broken.set_exception(error)
            return broken
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    try:
        yield submit
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def stopping() -> bool:
    """Return whether a call in a pool's process should end early, because its pool is ending."""
    return any(stop.is_set() for stop in _stops)


def _begin(stop: Event, begin: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
    _stops.append(stop)
    gc.set_threshold(YOUNG)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if begin is not None:
        begin(*arguments)


def _end_with_parent() -> None:
    """End with a killed parent; else this process would wait for its next call without end."""
    multiprocessing.parent_process().join()
    os._exit(1)


def run_in_processes(
    function: Callable[[Job], Result], jobs: Sequence[Job], processes: int
) -> Iterator[tuple[int, Result | ProcessLost]]:
    """Yield the index and the result of each job as it is done; a process that dies costs no more than its own job.

    With one process, or one job, everything happens in this process. After an interrupt no job begins, and running ones
    are waited for.

    Args:
        function: can be pickled, as its jobs and results can.
        jobs: arguments of its calls.
        processes: number of processes at a time, at least 1.

    Raises:
        Exception: any error of the function; jobs that were not begun are not run then.
    """
    if min(processes, len(jobs)) <= 1:
        yield from ((index, function(job)) for index, job in enumerate(jobs))
        return
    lost = []
    with process_pool(min(processes, len(jobs))) as submit:
        futures = {submit(function, job): index for index, job in enumerate(jobs)}
        for future in as_completed(futures):
            try:
                yield futures[future], future.result()
            # It ends all waiting calls, and does not show which of them was the cause.
            except BrokenProcessPool:
                lost.append(futures[future])
    lost.sort()
    while lost:
        with process_pool(1) as submit:
            while lost:
                index = lost.pop(0)
                try:
                    yield index, submit(function, jobs[index]).result()
                except BrokenProcessPool:
                    yield index, ProcessLost()
                    break
