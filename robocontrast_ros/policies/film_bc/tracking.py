"""Tracks the blocks from image to image with a Kalman filter; hidden blocks keep their estimates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain.products import norm

SIGHTING = 0.003
"""Standard deviation of the measured position of a block in full view [m]."""

HIDDEN = 0.4
"""A block with a smaller share of heat around its peak than this counts as hidden."""

REACH = 0.075
"""A block nearer than this to the tool may be pushed [m]."""

PUSHED = 0.012
"""Standard deviation of the motion of a block within reach in one control step [m]."""

UNTOUCHED = 0.0003
"""The same of one out of reach [m]."""

GATE = 5.0
"""A measurement more standard deviations off than this counts as an outlier, unless it persists."""

UNKNOWN = 0.3
"""Standard deviation before a block was ever seen [m]."""


class Tracker:
    """A Kalman filter for each of b blocks; made anew for each trial."""

    def __init__(self, blocks: int) -> None:
        self.position = np.zeros((blocks, 2))
        self.turn = np.tile([1.0, 0.0], (blocks, 1))
        self.start = np.zeros((blocks, 2))
        self._variance = np.full(blocks, UNKNOWN**2)
        self._touched = np.zeros(blocks, dtype=bool)

    def update(
        self,
        tool: NDArray[np.float64],
        position: NDArray[np.float64],
        turn: NDArray[np.float64],
        sure: NDArray[np.float64],
    ) -> None:
        """Update with the measurements of one image.

        A block's start follows its estimate until the tool first comes near it.

        Args:
            tool: x, y [m], shape (2,).
            position: measured x, y of the blocks [m], shape (b, 2).
            turn: unit vectors of their yaws times symmetry, shape (b, 2).
            sure: share of each block's heat around its peak, shape (b,).
        """
        first = self._variance >= UNKNOWN**2
        self._variance = self._variance + np.where(self._within_reach(tool) & ~first, PUSHED, UNTOUCHED) ** 2
        # Half the certainty, twice the standard deviation.
        noise = (SIGHTING / np.maximum(sure, HIDDEN)) ** 2
        innovation = position - self.position
        off = (innovation**2).sum(-1)
        seen = sure >= HIDDEN
        stray = seen & ~first & (off > GATE**2 * (self._variance + noise))
        # A growing variance accepts an outlier that persists.
        self._variance = np.where(stray, self._variance + PUSHED**2, self._variance)
        taken = (seen & ~stray) | first
        gain = np.where(taken, self._variance / (self._variance + noise), 0.0)
        # The first measurement is taken as it is.
        gain = np.where(first, 1.0, gain)
        self.position = self.position + gain[:, None] * innovation
        # A block that is hidden at first stays unknown, so that its first good measurement counts in full.
        self._variance = np.where(first & ~seen, self._variance, (1.0 - gain) * self._variance)
        self._variance = np.where(first & seen, noise, self._variance)
        mixed = self.turn + gain[:, None] * (turn - self.turn)
        self.turn = mixed / np.maximum(norm(mixed)[:, None], 1e-9)
        self._touched |= self._within_reach(tool)
        self.start = np.where(self._touched[:, None] & ~first[:, None], self.start, self.position)

    def _within_reach(self, tool: NDArray[np.float64]) -> NDArray[np.bool_]:
        return norm(self.position - tool) < REACH
