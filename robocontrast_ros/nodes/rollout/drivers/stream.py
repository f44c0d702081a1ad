"""Repeated messages between two control steps."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from robocontrast_ros.nodes.rollout.drivers.faults import Trouble

Tick = Callable[[float], bool]
"""Called with the time since its start [s]; returns whether it is to be called again."""


class Stream:
    """Calls a function at a rate on a thread of its own, until the function returns False, or another replaces it."""

    def __init__(self, rate: float, trouble: Trouble) -> None:
        """Take the rate [Hz], and the receiver of a function's failure; the thread waits for the first function."""
        self._period, self._trouble, self._changed = 1.0 / rate, trouble, threading.Condition()
        self._tick: Tick | None = None
        self._began, self._closed = 0.0, False
        self._thread = threading.Thread(target=self._run, name="stream", daemon=True)
        self._thread.start()

    def play(self, tick: Tick | None) -> None:
        """Call a function from now on, in place of the previous one; None for no function."""
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
                    # Under the lock: when `play` returns, the previous function is not called any more.
                    if not self._go_on(tick, now - self._began):
                        self._tick = None
                    due = max(due + self._period, now)
                else:
                    self._changed.wait(due - now)

    def _go_on(self, tick: Tick, elapsed: float) -> bool:
        try:
            return tick(elapsed)
        except Exception as error:  # the thread must not end, because it also sends stops
            self._trouble.report(f"nothing is sent any more, {type(error).__name__}: {error}")
            return False
