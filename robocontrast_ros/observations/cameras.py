"""The filter that moves cameras: what another pose shows cannot be made from an image, so the world draws it."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from robocontrast_ros.domain import Pose
from robocontrast_ros.domain.rotations import from_vector
from robocontrast_ros.policies.protocol import Observation


class MovedCamera:
    """Each camera stands elsewhere for a trial: in a random direction, turned about a random axis.

    Severities go from what a bump leaves behind to a camera that somebody else has put up. At a distance of 1 m, a
    degree moves what is seen as far as 1.7 cm do, so that both grow together; 8 degrees are a fifth of what the table's
    cameras see, so that the table is still there. What a policy knows of its camera does not move along.
    """

    description: ClassVar[str] = "each camera stands elsewhere, turned"
    plausible: ClassVar[bool] = True
    of_images: ClassVar[bool] = True
    moves_cameras: ClassVar[bool] = True
    amounts = (1, 2, 3, 5, 8)
    levels: ClassVar[tuple[str, ...]] = tuple(
        f"{amount} cm, {amount} degree{'s' if amount > 1 else ''}" for amount in amounts
    )

    def __init__(self, severity: int, camera: str, rng: np.random.Generator) -> None:
        self._amount, self._camera = self.amounts[severity - 1], camera
        self._seed = int(rng.integers(2**32))

    def apply(self, observation: Observation) -> Observation:
        """Return the observation, whose images are those of the moved camera."""
        return observation

    def offset(self, camera: str) -> Pose | None:
        """Return where a camera is, in the optical frame that it has at its place [m]; None where it stays there."""
        if self._camera not in ("", camera):
            return None
        # Of one camera alone: the others that a bench draws have no part in it.
        rng = np.random.default_rng([self._seed, *camera.encode()])
        position = _drawn(rng, self._amount / 100)
        return Pose(position, from_vector(_drawn(rng, math.radians(self._amount))))


def _drawn(rng: np.random.Generator, length: float) -> tuple[float, float, float]:
    """Return a vector of a length, whose direction is uniform among all."""
    x, y, z = rng.normal(size=3).tolist()
    share = length / math.sqrt(x * x + y * y + z * z)
    return x * share, y * share, z * share
