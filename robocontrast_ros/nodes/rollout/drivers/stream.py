"""What is sent again and again between two control steps."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from robocontrast_ros.nodes.rollout.drivers.faults import Trouble

Tick = Callable[[float], bool]
"""Called with the time since it was given [s]; returns whether it is to be called again."""


class Stream:
    """Calls a function at a rate on a thread of its own, until it has enough, or another takes its place."""

    def __init__(self, rate: float, trouble: Trouble) -> None:
        """Take the rate [Hz], and what is told where a function fails; the thread waits for the first one."""
        self._period, self._trouble, self._changed = 1.0 / rate, trouble, threading.Condition()
        self._tick: Tick | None = None
        self._began, self._closed = 0.0, False
        self._thread = threading.Thread(target=self._run, name="stream", daemon=True)
        self._thread.start()

    def play(self, tick: Tick | None) -> None:
        """Call a function from now on, and the one before no more; None for nothing."""
        with self._changed:
            self._tick, self._began = tick, time.monotonic()
            self._changed.notify_all()

    def close(self) -> None:
        """End the thread."""
        with self._changed:
            self._tick, self._closed = None, True
            self._changed.notify_all()
        self._thread.join(timeout=2.0)

    def _run(self) -> None:
        due = 0.0
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._tick is not None)
                if self._closed:
                    return
                now, tick = time.monotonic(), self._tick
                due = max(due, self._began)
                if now >= due:
                    # Under the lock: when `play` returns, the function before is not called any more.
                    if not self._go_on(tick, now - self._began):
                        self._tick = None
                    due = max(due + self._period, now)
                else:
                    self._changed.wait(due - now)

    def _go_on(self, tick: Tick, elapsed: float) -> bool:
        try:
            return tick(elapsed)
        except Exception as error:  # the thread must not end: it also sends what stops the robot
            self._trouble.report(f"nothing is sent any more, {type(error).__name__}: {error}")
            return False
