"""Tasks that show what becomes of a process in which something goes very wrong."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from pathlib import Path

from line_world import LineTask


class Deadly:
    """Takes its process with it."""

    @classmethod
    def from_file(cls, path: Path) -> Deadly:
        if multiprocessing.parent_process() is None:
            raise AssertionError("this would kill the tests")
        os.kill(os.getpid(), signal.SIGKILL)
        return cls()


class Slow(LineTask):
    """Says in its file's folder that it has begun, and waits there for the word to go on."""

    name = "slow"
    goals = None  # nothing is scored

    @classmethod
    def from_file(cls, path: Path) -> Slow:
        (path.parent / "begun").touch()
        deadline = time.monotonic() + 30.0
        while not (path.parent / "go").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        # The word comes right after the interrupt, which the parent process has to be the first to take.
        time.sleep(2.0)
        return cls()
