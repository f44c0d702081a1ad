"""Moving parts with tags: the position of a joint from a picture, for an object at a known pose."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from robocontrast_ros.domain import Pose
from robocontrast_ros.objects.frames import about, rotate
from robocontrast_ros.objects.joints import Joint, part_pose
from robocontrast_ros.perception.camera import CalibratedCamera, Floats
from robocontrast_ros.perception.tags import CORNER, FITS, SIGMAS, SMALL, STEPS, ObjectTag

TRIED = 25
"""Positions of a joint, from one end of its range to the other, from the best of which the search starts."""
CHANGE = 1e-5
"""Step of the derivatives [m, or rad]."""
LEAST = 0.001
"""Least way of a tag that is taken for its uncertainty [m], because tags are never glued more exactly."""


@dataclass(frozen=True)
class SeenWhole:
    """The errors of the pose of an object that the camera of the picture found.

    Attributes:
        position_std: standard deviation along each of x and y for an exact calibration [m].
        yaw_std: [rad].
        shifts: its shifts along x and y by each of the calibration's errors, as ``CalibratedCamera.shifts``, shape
            (6, 2) [m]. They shift the part nearly alike.
    """

    position_std: float
    yaw_std: float
    shifts: Floats


@dataclass(frozen=True)
class PlacedPart:
    """The joint of a tagged part.

    Attributes:
        position: its position [m, or rad].
        std: its standard deviation [m, or rad].
        low: least position that the picture allows: three standard deviations less, within the range [m, or rad].
        high: the greatest one.
        off: distance of corners from their places by the position, RMS [pixel].
        allowed: the same that the errors of camera and object explain [pixel].
        side: shortest side of its tags [pixel].
    """

    position: float
    std: float
    low: float
    high: float
    off: float
    allowed: float
    side: float

    @property
    def fits(self) -> bool:
        """Whether a position of the joint explains the picture."""
        return self.off <= self.allowed

    @property
    def small(self) -> bool:
        """Whether a tag is so small in the picture that its number is hard to read."""
        return self.side < SMALL


def place_part(
    camera: CalibratedCamera,
    joint: Joint,
    whole: Pose,
    tags: Sequence[ObjectTag],
    seen: Mapping[int, Floats],
    errors: SeenWhole | None = None,
) -> PlacedPart | None:
    """Return the joint of a part from the part's tags; None if none is seen, or none can be in front of the camera.

    Args:
        camera: the camera of the picture.
        joint: the joint, in its object's frame.
        whole: pose of the object, world frame.
        tags: the tags on the part, in the part's frame.
        seen: number -> corners, shape (4, 2) [pixel].
        errors: those of the object's pose; None if it is given.
    """
    mine = [tag for tag in tags if tag.number in seen]
    if not mine:
        return None
    corners = np.concatenate([tag.corners for tag in mine])
    pixels = np.concatenate([seen[tag.number] for tag in mine])

    def at(position: float) -> Floats:
        pose = part_pose(whole, joint, position)
        return np.array([rotate(pose.orientation, corner) for corner in corners.tolist()]) + pose.position

    def off(points: Floats) -> Floats:
        return (camera.project(points) - pixels).ravel()

    low, high = joint.range
    tried = [(position, at(position)) for position in np.linspace(low, high, TRIED).tolist()]
    before = [(float((off(points) ** 2).sum()), position) for position, points in tried if _in_front(camera, points)]
    if not before:
        return None
    position, most = min(before)[1], (high - low) / (TRIED - 1)
    for _ in range(STEPS):
        error = off(at(position))
        slope = (off(at(position + CHANGE)) - error) / CHANGE
        step = -float((slope * error).sum()) / max(float((slope**2).sum()), 1e-12)
        further = min(max(position + min(max(step, -most), most), low), high)
        change, position = abs(further - position), further
        if change < 1e-7:
            break
    points = at(position)
    error = off(points)
    slope = (off(at(position + CHANGE)) - error) / CHANGE
    steep = max(float((slope**2).sum()), 1e-12)
    variance = max(float((error**2).sum()) / max(len(error) - 1, 1), CORNER**2) / steep
    misfit = 0.0
    for moved in _moved(camera, whole, points, errors):
        shift = off(moved) - error
        along = float((slope * shift).sum()) / steep
        variance += along**2
        misfit += float(((shift - along * slope) ** 2).sum())
    half, std = len(error) / 2, math.sqrt(variance)
    reach = float(np.linalg.norm(at(position + CHANGE) - points, axis=1).max()) / CHANGE
    wide = max(SIGMAS * std, LEAST / max(reach, LEAST))
    sides = np.linalg.norm(pixels.reshape(-1, 4, 2) - np.roll(pixels.reshape(-1, 4, 2), 1, axis=1), axis=2)
    found = PlacedPart(
        position,
        std,
        max(position - wide, low),
        min(position + wide, high),
        math.sqrt(float((error**2).sum()) / half),
        math.hypot(FITS, SIGMAS * math.sqrt(misfit / half)),
        float(sides.min()),
    )
    if found.fits or len(mine) == 1:
        return found
    # Something covers a part of one of its tags: the others are enough if they fit.
    rest = (place_part(camera, joint, whole, [tag for tag in mine if tag is not one], seen, errors) for one in mine)
    return min((one for one in rest if one is not None and one.fits), key=lambda one: one.off, default=found)


def _in_front(camera: CalibratedCamera, points: Floats) -> bool:
    """Return whether points of the world, shape (n, 3) [m], are in front of the camera."""
    return bool((camera.depth(points) > 0.01).all())


def _moved(camera: CalibratedCamera, whole: Pose, points: Floats, errors: SeenWhole | None) -> list[Floats]:
    """Return points of a part, each time moved by one standard deviation of one error, shape (n, 3) [m].

    Args:
        camera: the camera, whose calibration has errors.
        whole: pose of the part's object.
        points: the points, world frame, shape (n, 3) [m].
        errors: those of the object's pose; None if it is given.
    """
    # A camera that is moved one way sees what it would see of points that are moved the other way.
    along = np.eye(3) * camera.position_error / math.sqrt(3.0)
    rays = points - np.asarray(camera.pose.position)
    turned = np.eye(3) * camera.orientation_error / math.sqrt(3.0)
    calibration = [*(points - shift for shift in along), *(points - np.cross(axis, rays) for axis in turned)]
    if errors is None:
        return calibration
    calibration = [
        moved + np.array((x, y, 0.0)) for moved, (x, y) in zip(calibration, errors.shifts.tolist(), strict=True)
    ]
    around, turn = np.asarray(whole.position), about((0.0, 0.0, 1.0), errors.yaw_std)
    yawed = np.array([rotate(turn, point) for point in (points - around).tolist()]) + around
    return [*calibration, *(points + shift for shift in errors.position_std * np.eye(3)[:2]), yawed]
