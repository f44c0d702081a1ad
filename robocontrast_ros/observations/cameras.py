"""The filter that moves cameras: the world draws the view from another pose, because no image contains it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from robocontrast_ros.domain import Pose
from robocontrast_ros.domain.rotations import from_vector
from robocontrast_ros.policies.protocol import Observation


class MovedCamera:
    """Each camera has another pose for a trial: moved in a random direction, turned about a random axis.

    Severities go from a bump to a camera that another person has mounted. At a distance of 1 m, a degree moves the view
    as far as 1.7 cm do, so that both grow together; 8 degrees are a fifth of the table cameras' view, so that the table
    is still visible. A policy's knowledge of its camera does not change.
    """

    description: ClassVar[str] = "each camera stands elsewhere, turned"
    plausible: ClassVar[bool] = True
    of_images: ClassVar[bool] = True
    displaces_cameras: ClassVar[bool] = True
    amounts = (1, 2, 3, 5, 8)
    levels: ClassVar[tuple[str, ...]] = tuple(
        f"{amount} cm, {amount} degree{'s' if amount > 1 else ''}" for amount in amounts
    )

    def __init__(self, severity: int, camera: str, rng: np.random.Generator) -> None:
        self._amount, self._camera = self.amounts[severity - 1], camera
        self._seed = int(rng.integers(2**32))
        self._given: Pose | None = None

    @classmethod
    def from_drawn(cls, numbers: Sequence[float], camera: str) -> MovedCamera:
        """Return the filter that moves each camera in the same way in its own optical frame.

        Args:
            numbers: position [m] and rotation vector [rad], shape (6,).
            camera: the one that is moved; empty for all.

        Raises:
            ValueError: they are not six finite numbers.
        """
        if len(numbers) != 6 or not all(map(math.isfinite, numbers)):
            raise ValueError("three finite numbers of a position and three of a rotation vector")
        made = cls(1, camera, np.random.default_rng(0))
        made._given = Pose(tuple(numbers[:3]), from_vector(numbers[3:]))
        return made

    def apply(self, observation: Observation) -> Observation:
        """Return the observation; its images are those of the moved camera."""
        return observation

    def offset(self, camera: str) -> Pose | None:
        """Return a camera's pose in the optical frame of its own place [m]; None if it stays there."""
        if self._camera not in ("", camera):
            return None
        if self._given is not None:
            return self._given
        # It depends on this camera alone, not on the others that a bench draws.
        rng = np.random.default_rng([self._seed, *camera.encode()])
        position = _drawn(rng, self._amount / 100)
        return Pose(position, from_vector(_drawn(rng, math.radians(self._amount))))


def _drawn(rng: np.random.Generator, length: float) -> tuple[float, float, float]:
    """Return a vector of a length, whose direction is uniform among all."""
    x, y, z = rng.normal(size=3).tolist()
    share = length / math.sqrt(x * x + y * y + z * z)
    return x * share, y * share, z * share
