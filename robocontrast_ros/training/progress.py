"""An estimate of the time left."""

from __future__ import annotations

import time


class TimeLeft:
    """Counts steps that take about the same time each."""

    def __init__(self, steps: int) -> None:
        """Begin now, with this many steps left."""
        self._began, self._steps = time.monotonic(), steps

    def after(self, done: int) -> str:
        """Return the time left after ``done`` steps, in words."""
        seconds = (time.monotonic() - self._began) / done * (self._steps - done)
        return f"{seconds:.0f} s left" if seconds < 100 else f"{seconds / 60:.0f} min left"
