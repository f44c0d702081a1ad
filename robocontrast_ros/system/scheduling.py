"""Priority for threads that must not wait for a processor."""

from __future__ import annotations

import os

PRIORITY = 10
"""Priority of SCHED_FIFO: above all ordinary threads, below the kernel's and a driver's own."""


NICENESS = -10
"""Niceness of a process whose threads share one interpreter: a thread that holds it must not wait long for a
processor."""


def run_process_sooner() -> bool:
    """Give every thread of this process a larger share of the processors; return whether the machine allows it."""
    try:
        for thread in os.listdir("/proc/self/task"):
            os.setpriority(os.PRIO_PROCESS, int(thread), NICENESS)
    except (AttributeError, OSError):
        return False
    return True


def run_before_others() -> bool:
    """Let this thread, and those that it starts, run before all ordinary ones; return whether the machine allows it.

    Linux allows it to root and to users with a limit ``rtprio`` (the group ``realtime`` of a robot's computer).
    """
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    except (AttributeError, OSError):
        return False
    return True
