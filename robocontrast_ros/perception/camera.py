"""A calibrated camera: the map from points of the world to pixels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray
from transforms3d.quaternions import quat2mat

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import Pose
from robocontrast_ros.images.boards import Intrinsics
from robocontrast_ros.images.camera_info import number, numbers_of, read_fields, read_intrinsics

Floats = NDArray[np.float64]

CALIBRATE = "Run `robocontrast calibrate` again, which writes this file."


@dataclass(frozen=True)
class CalibratedCamera:
    """A camera that does not move, and its pose.

    Attributes:
        intrinsics: size, K and distortion.
        pose: pose of its optical frame (REP-103: x right, y down, z forward) in the world frame [m].
        frame_id: the world frame.
        position_error: standard deviation of the position [m].
        orientation_error: standard deviation of the rotation [rad].
    """

    intrinsics: Intrinsics
    pose: Pose
    frame_id: str = "world"
    position_error: float = 0.0
    orientation_error: float = 0.0

    def __post_init__(self) -> None:
        """Compute the map from the world to the camera, once."""
        x, y, z, w = self.pose.orientation
        turn = quat2mat((w, x, y, z)).T
        place = -np.einsum("ij,j->i", turn, np.asarray(self.pose.position))
        object.__setattr__(self, "_rotation", cv2.Rodrigues(turn)[0])
        object.__setattr__(self, "_turn", turn)
        object.__setattr__(self, "_translation", place.reshape(3, 1))

    @property
    def world_to_camera(self) -> tuple[Floats, Floats]:
        """Rotation, shape (3, 3), and translation, shape (3,) [m], of world points to the optical frame."""
        return self._turn, self._translation.ravel()

    def project(self, points: ArrayLike) -> Floats:
        """Return the pixels of points of the world.

        Args:
            points: world frame, shape (n, 3) [m], in front of the camera.

        Returns:
            Columns and rows, shape (n, 2) [pixel]; (0, 0) is the centre of the upper left pixel.
        """
        world = np.asarray(points, dtype=float).reshape(-1, 1, 3)
        k, d = self.intrinsics.matrix, self.intrinsics.distortion
        return cv2.projectPoints(world, self._rotation, self._translation, k, d)[0].reshape(-1, 2)

    def depth(self, points: ArrayLike) -> Floats:
        """Return the distances of points of the world, shape (n, 3), from the camera along its axis, (n,) [m]."""
        world = np.asarray(points, dtype=float).reshape(-1, 3)
        return np.einsum("ij,j->i", world, self._turn[2]) + self._translation[2, 0]

    def on_plane(self, pixels: ArrayLike, z: float) -> Floats:
        """Return the points on a horizontal plane that pixels show.

        Args:
            pixels: columns and rows, shape (n, 2).
            z: height of a horizontal plane, world frame [m].

        Returns:
            x and y, world frame, shape (n, 2) [m]; NaN if the ray does not meet the plane in front of the camera.
        """
        seen = np.asarray(pixels, dtype=float).reshape(-1, 1, 2)
        flat = cv2.undistortPoints(seen, self.intrinsics.matrix, self.intrinsics.distortion).reshape(-1, 2)
        rays = np.einsum("ij,jk->ik", np.column_stack((flat, np.ones(len(flat)))), self._turn)
        x, y, height = self.pose.position
        with np.errstate(divide="ignore", invalid="ignore"):
            along = (z - height) / rays[:, 2]
        along[~(along > 0.0)] = np.nan
        return np.array((x, y)) + along[:, None] * rays[:, :2]

    def shifts(self, point: ArrayLike) -> Floats:
        """Return the shifts of a point as seen, by one standard deviation of each of the calibration's errors.

        The errors are those of the position along x, y, z and of the rotation about them, independent of each other.
        They are the same for all points in one camera's view, so that near things have similar shifts.

        Args:
            point: world frame, shape (3,) [m], in front of the camera; it keeps its height.

        Returns:
            Shifts along x and y of the world, shape (6, 2) [m]; NaN if the point is not in front of the camera.
        """
        ray = np.asarray(point, dtype=float) - self.pose.position
        along = np.eye(3) * self.position_error / math.sqrt(3.0)
        turned = np.cross(np.eye(3), ray) * self.orientation_error / math.sqrt(3.0)
        moved = np.concatenate((along, turned))
        with np.errstate(divide="ignore", invalid="ignore"):
            # The point where the moved ray meets the same height again.
            back = np.where(ray[2] < 0.0, moved[:, 2] / ray[2], np.nan)
        return moved[:, :2] - back[:, None] * ray[:2]

    def shift_at(self, distance: float) -> float:
        """Return the standard deviation of the shift by the calibration's own error at a distance, both in [m]."""
        # Both errors are those of three axes together, and the shift is along two.
        return math.hypot(self.position_error, self.orientation_error * distance) / math.sqrt(2.0)


def load_camera(file: Path, info: Path | None = None) -> CalibratedCamera:
    """Return the camera that `robocontrast calibrate` found.

    Args:
        file: camera.yaml, as `robocontrast calibrate` wrote it.
        info: file with the intrinsics, as `read_intrinsics` takes it; None if camera.yaml has them.

    Raises:
        ConfigurationError: a value is missing or wrong.
    """
    content = read_fields(file)
    position = numbers_of(file, content, ("position",), (3,), CALIBRATE)
    x, y, z, w = numbers_of(file, content, ("orientation_xyzw",), (4,), CALIBRATE)
    length = math.sqrt(x * x + y * y + z * z + w * w)
    if abs(length - 1.0) > 1e-3:
        raise ConfigurationError(
            str(file), "orientation_xyzw", [x, y, z, w], "a quaternion x, y, z, w of length 1", CALIBRATE
        )
    errors = [_error(file, content, name) for name in ("position_error", "orientation_error")]
    frame = content.get("frame_id")
    if not (isinstance(frame, str) and frame):
        raise ConfigurationError(str(file), "frame_id", frame, "the name of the world frame", CALIBRATE)
    px, py, pz = position.tolist()
    if info is None and "k" not in content:
        raise ConfigurationError(
            str(file), "k", "nothing", "the camera's matrix", "Calibrate again, or name the file of its CameraInfo."
        )
    intrinsics = read_intrinsics(file if info is None else info)
    pose = Pose((px, py, pz), (x / length, y / length, z / length, w / length))
    return CalibratedCamera(intrinsics, pose, frame, *errors)


def _error(file: Path, content: dict[str, Any], name: str) -> float:
    value = number(content.get(name, 0.0))
    if value is None or value < 0.0:
        raise ConfigurationError(str(file), name, content[name], "a number of at least 0", CALIBRATE)
    return value
