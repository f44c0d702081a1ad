"""Objects with tags: AprilTags or ArUco markers of known size at known places on them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from transforms3d.quaternions import mat2quat, quat2mat

from robocontrast_ros.configuration import record
from robocontrast_ros.domain import Pose
from robocontrast_ros.images.tag_families import USUAL, Family, dictionary, in_words, last_number, modules
from robocontrast_ros.perception.camera import CalibratedCamera, Floats

ALONG = (0.14, 0.86)
"""Part of a side on which its edge is looked for: blur rounds the corners."""
ACROSS = 0.9, 2.5
"""Distance on either side of an edge in which its slope is looked for: in modules, beyond which is the next edge, and
[pixel]."""
SLOPE = 0.5
"""Share of the usual slope from which a place belongs to an edge, and is not hidden."""
ROUNDS = 3
"""Times that edges are looked for around their last place."""
FAR = 2.0
"""Distance by which the lines along the edges may correct a corner [pixel]."""
CORNER = 0.15
"""Least standard deviation of a corner that is seen [pixel]."""
STEPS = 8
"""Steps of least squares, at most."""
SHRINK = 0.15
"""Length by which a tag's side may be seen too short [pixel]."""
FITS = 1.5
"""Distance of corners from their places by the result up to which tags and calibration fit together, RMS [pixel]."""
UPRIGHT = 12.0
"""Tilt from which an object is not upright [deg]."""
FLOATS = 0.004
"""Difference of heights that no error explains [m]."""
SIGMAS = 3.0
"""Standard deviations within which a known height explains the picture."""
LONGEST = 0.1
"""Step of least squares, at most [m]."""
SMALL = 14.0
"""Side of a tag below which its number is hard to read [pixel]."""


@record
class ObjectTag:
    """A tag that is fixed to an object, or to the world.

    Its frame: origin at the middle of its black square, x to the right and y up as it is printed, z towards the viewer.
    """

    number: int = Field(ge=0, description="in its family")
    size: float = Field(gt=0.001, le=1.0, description="side of its black square, as measured on the print [m]")
    position: tuple[float, float, float] = Field(description="of its middle, in the object's frame [m]")
    orientation: tuple[float, float, float, float] = Field(
        default=(0.0, 0.0, 0.0, 1.0), description="of its frame in the object's, quaternion x, y, z, w"
    )
    family: Family = Field(default=USUAL, description="AprilTags or ArUco markers, as OpenCV has them")

    def __post_init__(self) -> None:
        """Refuse a number that its family does not have, and a quaternion of another length than 1."""
        if self.number > (last := last_number(self.family)):
            raise ValueError(f"`number`: at most {last}, the last of {in_words(self.family)}")
        if abs(math.sqrt(sum(part * part for part in self.orientation)) - 1.0) > 1e-3:
            raise ValueError("`orientation`: a quaternion x, y, z, w of length 1")

    @property
    def corners(self) -> Floats:
        """Its corners in the object's frame, in the order in which OpenCV finds them, shape (4, 3) [m]."""
        half = self.size / 2.0
        own = np.array(((-half, half, 0.0), (half, half, 0.0), (half, -half, 0.0), (-half, -half, 0.0)))
        x, y, z, w = self.orientation
        return np.einsum("ij,kj->ki", quat2mat((w, x, y, z)), own) + self.position


@dataclass(frozen=True)
class Support:
    """A place for something else on an object, or in it.

    Attributes:
        height: its height above the object's origin [m].
        polygon: corners of the area for the other's origin, in the object's frame, shape (n, 2) [m].
    """

    height: float
    polygon: tuple[tuple[float, float], ...]

    def away(self, pose: Pose, xy: tuple[float, float]) -> float:
        """Return a world point's distance from the support, for an object at a pose; negative inside [m]."""
        x, y = xy[0] - pose.position[0], xy[1] - pose.position[1]
        c, s = math.cos(pose.yaw), math.sin(pose.yaw)
        own = np.float32((c * x + s * y, c * y - s * x)).tolist()
        return -cv2.pointPolygonTest(np.array(self.polygon, dtype=np.float32), own, True)


@dataclass(frozen=True)
class SeenTags:
    """The tags in a picture.

    Attributes:
        corners: number -> its corners, shape (4, 2) [pixel]; those that appear once.
        twice: numbers that appear several times, in order.
    """

    corners: Mapping[int, Floats]
    twice: tuple[int, ...]


@dataclass(frozen=True)
class Placed:
    """The place of a tagged object.

    Attributes:
        pose: world frame.
        position_std: standard deviation along each of x and y, for a camera exactly at its calibrated pose [m].
        yaw_std: [rad].
        off: distance of corners from their places by the pose, RMS [pixel].
        unsure: reasons for a person to look.
        others: its poses at other heights that explain the picture as well.
    """

    pose: Pose
    position_std: float
    yaw_std: float
    off: float
    unsure: tuple[str, ...] = ()
    others: tuple[Pose, ...] = ()


class TagReader:
    """Finds the tags of one family in pictures."""

    def __init__(self, family: str = USUAL) -> None:
        self._modules = modules(family)
        parameters = cv2.aruco.DetectorParameters()
        parameters.cornerRefinementMethod = cv2.aruco.CORNER_REFINE_SUBPIX
        # A tag of some 20 pixels has modules of two: a wider window would take the neighbours' edges in.
        parameters.cornerRefinementWinSize = 3
        parameters.relativeCornerRefinmentWinSize = 0.3
        parameters.adaptiveThreshWinSizeMin, parameters.adaptiveThreshWinSizeMax = 5, 25
        parameters.adaptiveThreshWinSizeStep = 10
        parameters.minMarkerPerimeterRate = 0.02
        self._detector = cv2.aruco.ArucoDetector(dictionary(family), parameters)

    def read(self, grey: NDArray[np.uint8]) -> SeenTags:
        """Return the tags in a grey picture, shape (rows, columns)."""
        corners, numbers, _ = self._detector.detectMarkers(grey)
        found = [] if numbers is None else numbers.ravel().tolist()
        several = sorted({number for number in found if found.count(number) > 1})
        once = {
            number: _by_edges(grey, np.asarray(four, dtype=float).reshape(4, 2), self._modules)
            for number, four in zip(found, corners, strict=True)
            if number not in several
        }
        return SeenTags(once, tuple(several))


class KnownTagReader:
    """Finds known tags, which may be of several families, in pictures."""

    def __init__(self, tags: Iterable[ObjectTag]) -> None:
        """Take the tags, each with a number of its own."""
        self._numbers: dict[str, set[int]] = {}
        for tag in tags:
            self._numbers.setdefault(tag.family, set()).add(tag.number)
        self._readers = {family: TagReader(family) for family in self._numbers}

    def read(self, grey: NDArray[np.uint8]) -> SeenTags:
        """Return the known tags in a grey picture, shape (rows, columns)."""
        corners: dict[int, Floats] = {}
        twice: list[int] = []
        for family, reader in self._readers.items():
            seen, known = reader.read(grey), self._numbers[family]
            corners |= {number: four for number, four in seen.corners.items() if number in known}
            twice += [number for number in seen.twice if number in known]
        return SeenTags(corners, tuple(sorted(twice)))


def place(
    camera: CalibratedCamera,
    tags: Sequence[ObjectTag],
    seen: Mapping[int, Floats],
    heights: Sequence[float],
    table: float = 0.0,
) -> Placed | None:
    """Return the place of an object from its tags; None if none is seen.

    Args:
        camera: the camera of the picture.
        tags: the tags on the object.
        seen: number -> corners, shape (4, 2) [pixel].
        heights: possible heights of the object's origin, world frame [m]: that of the table, and those of supports.
        table: height of the table [m].
    """
    mine = [tag for tag in tags if tag.number in seen]
    if not mine:
        return None
    points = np.concatenate([tag.corners for tag in mine])
    pixels = np.concatenate([seen[tag.number] for tag in mine])
    start = _on_table(camera, points, pixels, table)
    if start is None:
        return None
    best, spread, off = _upright(camera, points, pixels, start, free_height=True)
    if off > FITS and len(mine) > 1:
        # Something covers a part of one of its tags: the others are enough if they fit.
        rest = [place(camera, [tag for tag in mine if tag is not one], seen, heights, table) for one in mine]
        fitting = [found for found in rest if found is not None and found.off <= FITS]
        if fitting:
            return min(fitting, key=lambda found: found.off)
    reasons, others = [], []
    if off > FITS and (lying := _lying(camera, points, pixels)) is not None:
        turn, position, tilted = lying
        tilt = math.degrees(math.acos(min(max(float(turn[2, 2]), -1.0), 1.0)))
        if tilt > UPRIGHT and tilted < off / 2.0:
            qw, qx, qy, qz = mat2quat(turn).tolist()
            x, y, z = position.tolist()
            deviation = math.sqrt(float(np.linalg.eigvalsh(spread[:2, :2])[-1]))
            return Placed(
                Pose((x, y, z), (qx, qy, qz, qw)),
                deviation,
                math.sqrt(float(spread[3, 3])),
                tilted,
                (f"it does not stand upright: it is tilted by {tilt:.0f}°",),
            )
    sides = np.linalg.norm(pixels.reshape(-1, 4, 2) - np.roll(pixels.reshape(-1, 4, 2), 1, axis=1), axis=2)
    distance = _distance(camera, best[:3])
    # Blur of all edges makes a tag look smaller or larger, and so farther away or nearer.
    error = math.hypot(
        math.sqrt(float(spread[2, 2])), camera.shift_at(distance), SHRINK * distance / float(sides.max())
    )
    near = min(heights, key=lambda height: abs(height - best[2])) if heights else None
    if near is not None and abs(near - best[2]) < max(SIGMAS * error, FLOATS):
        several = [h for h in heights if abs(h - best[2]) < SIGMAS * error and abs(h - near) > FLOATS]
        for height in several:
            x, y, z, yaw = _upright(camera, points, pixels, np.array((*best[:2], height, best[3])), False)[0].tolist()
            others.append(Pose.planar(x, y, yaw, z))
        best, spread, off = _upright(camera, points, pixels, np.array((*best[:2], near, best[3])), free_height=False)
    elif near is not None:
        reasons.append(f"it seems to be {1e3 * (best[2] - near):+.0f} mm above or below what it can stand on")
    if off > FITS:
        reasons.append(f"its tag is not where the calibration puts it ({off:.1f} pixels off)")
    side = min(
        float(np.linalg.norm(four - np.roll(four, 1, axis=0), axis=1).min()) for four in pixels.reshape(-1, 4, 2)
    )
    if side < SMALL:
        reasons.append(f"its tag is small in the picture ({side:.0f} pixels)")
    x, y, z, yaw = best.tolist()
    deviation = math.sqrt(max(float(np.linalg.eigvalsh(spread[:2, :2])[-1]), 0.0))
    turned = math.hypot(math.sqrt(max(float(spread[3, 3]), 0.0)), camera.orientation_error)
    return Placed(Pose.planar(x, y, yaw, z), deviation, turned, off, tuple(reasons), tuple(others))


def _by_edges(grey: NDArray[np.uint8], corners: Floats, along_side: int) -> Floats:
    """Return the corners of a tag as the points where the lines along its edges meet.

    Blur moves the corners of a square inwards, which turns it and makes it seem farther away, but not its edges.

    Args:
        grey: the picture.
        corners: as they were found, shape (4, 2) [pixel]; they are returned if an edge cannot be followed.
        along_side: modules along a side of the tag.
    """
    sides = np.linalg.norm(corners - np.roll(corners, -1, axis=0), axis=1)
    reach = min(ACROSS[0] * float(sides.mean()) / along_side, ACROSS[1])
    along = np.linspace(*ALONG, max(int((ALONG[1] - ALONG[0]) * float(sides.mean())), 6))
    across = np.linspace(-reach, reach, 17)
    found = corners
    for _ in range(ROUNDS):
        lines = [_edge(grey, found, side, along, across) for side in range(4)]
        if any(line is None for line in lines):
            return corners
        found = np.stack([_meet(*lines[side - 1], *lines[side]) for side in range(4)])
        if not (np.abs(found - corners) < FAR).all():
            return corners
    return found


def _edge(
    grey: NDArray[np.uint8], corners: Floats, side: int, along: Floats, across: Floats
) -> tuple[Floats, Floats] | None:
    """Return a point and the direction of the line along one side of a tag, each of shape (2,) [pixel]."""
    begin, end = corners[side], corners[(side + 1) % 4]
    length = max(float(np.linalg.norm(end - begin)), 1e-6)
    forward = (end - begin) / length
    outward = np.array((forward[1], -forward[0]))
    if float((((begin + end) / 2.0 - corners.mean(axis=0)) * outward).sum()) < 0.0:
        outward = -outward
    looked = begin + along[:, None, None] * (end - begin) + across[None, :, None] * outward
    columns, rows = (looked[..., k].astype(np.float32) for k in (0, 1))
    shown = cv2.remap(grey, columns, rows, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE).astype(float)
    # From black to white: the middle of the slope is the edge, however wide it is.
    slope = np.maximum(np.diff(shown, axis=1), 0.0)
    height = slope.sum(axis=1)
    off = (slope * (across[1:] + across[:-1]) / 2.0).sum(axis=1) / np.maximum(height, 1e-9)
    place, clear = (along - 0.5) * length, height > SLOPE * np.median(height)
    for _ in range(2):
        if clear.sum() < len(along) / 2:
            return None
        tilt, shift = np.polyfit(place[clear], off[clear], 1)
        apart = np.abs(off - shift - tilt * place)
        clear &= apart < max(0.5, 2.5 * float(apart[clear].std()))
    return (begin + end) / 2.0 + shift * outward, forward + tilt * outward


def _meet(one: Floats, along_one: Floats, other: Floats, along_other: Floats) -> Floats:
    """Return the point where two lines meet, shape (2,); infinity if they do not."""
    turn = along_one[0] * along_other[1] - along_one[1] * along_other[0]
    if abs(turn) < 1e-9:
        return np.full(2, math.inf)
    away = other - one
    return one + along_one * (away[0] * along_other[1] - away[1] * along_other[0]) / turn


def seen_off(camera: CalibratedCamera, tag: ObjectTag, corners: Floats) -> float:
    """Return the distance of the corners of a tag fixed to the world from their expected places, RMS [pixel]."""
    return float(np.sqrt(((camera.project(tag.corners) - corners) ** 2).sum(axis=1).mean()))


def _on_table(camera: CalibratedCamera, points: Floats, pixels: Floats, table: float) -> Floats | None:
    """Return x, y, z [m] and yaw [rad] of an object as if it stood on the table; None if the camera cannot see that."""
    seen = np.concatenate(
        [camera.on_plane([pixel], table + point[2]) for pixel, point in zip(pixels, points, strict=True)]
    )
    if not np.isfinite(seen).all():
        return None
    own, middle = points[:, :2] - points[:, :2].mean(axis=0), seen.mean(axis=0)
    away = seen - middle
    yaw = math.atan2(float((own[:, 0] * away[:, 1] - own[:, 1] * away[:, 0]).sum()), float((own * away).sum()))
    c, s = math.cos(yaw), math.sin(yaw)
    x, y = points[:, :2].mean(axis=0)
    return np.array((middle[0] - c * x + s * y, middle[1] - s * x - c * y, table, yaw))


def _lying(camera: CalibratedCamera, points: Floats, pixels: Floats) -> tuple[Floats, Floats, float] | None:
    """Return an object's rotation, however it lies, shape (3, 3), position [m], and corner distance, RMS [pixel]."""
    k, d = camera.intrinsics.matrix, camera.intrinsics.distortion
    flat = np.linalg.matrix_rank(points - points.mean(axis=0), tol=1e-6) < 3
    flag = cv2.SOLVEPNP_IPPE if flat else cv2.SOLVEPNP_SQPNP
    found, rotations, translations, _ = cv2.solvePnPGeneric(points, pixels, k, d, flags=flag)
    if not found:
        return None
    to_camera, translation = camera.world_to_camera
    poses = []
    for rotation, place_ in zip(rotations, translations, strict=True):
        turn = np.einsum("ji,jk->ik", to_camera, cv2.Rodrigues(rotation)[0])
        position = np.einsum("ji,j->i", to_camera, place_.ravel() - translation)
        poses.append((turn, position, _off(camera, points, pixels, turn, position)))
    return min(poses, key=lambda pose: pose[2])


def _upright(
    camera: CalibratedCamera, points: Floats, pixels: Floats, start: Floats, free_height: bool
) -> tuple[Floats, Floats, float]:
    """Return x, y, z [m] and yaw [rad] of an upright object, their covariance, and the distance of corners [pixel]."""
    state, change = start.astype(float).copy(), 1e-5
    columns = [0, 1, 2, 3] if free_height else [0, 1, 3]

    def off(of: Floats) -> Floats:
        c, s = math.cos(of[3]), math.sin(of[3])
        turned = np.column_stack(
            (c * points[:, 0] - s * points[:, 1], s * points[:, 0] + c * points[:, 1], points[:, 2])
        )
        return (camera.project(turned + of[:3]) - pixels).ravel()

    for _ in range(STEPS):
        error = off(state)
        jacobian = np.empty((len(error), len(columns)))
        for k, column in enumerate(columns):
            moved = state.copy()
            moved[column] += change
            jacobian[:, k] = (off(moved) - error) / change
        step = np.linalg.lstsq(jacobian, -error, rcond=None)[0]
        # Corners that are seen wrongly must not throw the object behind the camera.
        state[columns] += step * min(1.0, LONGEST / max(float(abs(step[:-1]).max()), 1e-12))
        if abs(step).max() < 1e-6:
            break
    error = off(state)
    variance = max(float((error**2).sum()) / max(len(error) - len(columns), 1), CORNER**2)
    spread = np.zeros((4, 4))
    normal = np.einsum("ij,ik->jk", jacobian, jacobian)
    spread[np.ix_(columns, columns)] = variance * np.linalg.pinv(normal)
    return state, spread, math.sqrt(float((error**2).sum()) / (len(error) / 2))


def _off(camera: CalibratedCamera, points: Floats, pixels: Floats, turn: Floats, position: Floats) -> float:
    placed = np.einsum("ij,kj->ki", turn, points) + position
    return float(np.sqrt(((camera.project(placed) - pixels) ** 2).sum(axis=1).mean()))


def _distance(camera: CalibratedCamera, point: Floats) -> float:
    return math.dist(camera.pose.position, point.tolist())
