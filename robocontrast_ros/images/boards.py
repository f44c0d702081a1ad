"""A printed board of tags, and the pose of the camera that sees it: a chessboard with tags, by OpenCV.

The board's frame: origin at its lower left corner, x to the right, y up, z towards the viewer. So a board
that lies on a table has z up. A camera's frame is the optical one (REP-103): x to the right, y down, z forward.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from transforms3d.quaternions import mat2quat

from robocontrast_ros.configuration import record
from robocontrast_ros.domain import Pose
from robocontrast_ros.domain.rotations import to_vector
from robocontrast_ros.images.tag_families import USUAL, Family, dictionary, in_words, last_number

LEAST_CORNERS = 8
"""Least number of the chessboard's corners seen in an image; four would do without noise."""
DARK = 40
"""Mean brightness of an image, of 255, below which darkness is reported as the likely reason."""
RULER = 0.1
"""Length of the line beside a printed board, which shows whether the printer kept the size [m]."""
INCH = 0.0254

Floats = NDArray[np.float64]
Picture = NDArray[np.uint8]


@record
class Board:
    """A board of tags: its squares, as printed. The defaults fit a sheet of A4 or letter paper."""

    columns: int = Field(default=5, ge=3, le=30, description="squares side by side")
    rows: int = Field(default=7, ge=3, le=30, description="squares above each other")
    square: float = Field(default=0.032, gt=0.001, le=1.0, description="side of a square, as measured on the print [m]")
    tag: float = Field(default=0.024, gt=0.001, le=1.0, description="side of a tag in a white square [m]")
    first_tag: int = Field(default=0, ge=0, le=2000, description="number of the first tag; each tag in sight is unique")
    family: Family = Field(default=USUAL, description="of its tags: AprilTags or ArUco markers, as OpenCV has them")

    def __post_init__(self) -> None:
        """Refuse tags that fill their squares, and more tags than there are."""
        if not self.tag < 0.9 * self.square:
            raise ValueError("`tag`: less than 0.9 of `square`, so that a tag has a white border")
        if self.first_tag + self.tags - 1 > (last := last_number(self.family)):
            raise ValueError(
                f"`first_tag`: a number so that the last tag is at most {last}, the last of {in_words(self.family)}"
            )

    @property
    def tags(self) -> int:
        """Number of its tags."""
        return self.columns * self.rows // 2

    @property
    def size(self) -> tuple[float, float]:
        """Width and height [m]."""
        return self.columns * self.square, self.rows * self.square

    def pattern(self) -> cv2.aruco.CharucoBoard:
        """Return the board as OpenCV's object."""
        numbers = np.arange(self.first_tag, self.first_tag + self.tags)
        size = self.columns, self.rows
        return cv2.aruco.CharucoBoard(size, self.square, self.tag, dictionary(self.family), numbers)

    def corners(self) -> Floats:
        """Return the inner corners in the board's frame, in OpenCV's order [m], shape (n, 3)."""
        # OpenCV's frame begins at the upper left corner, with y down and z into the board.
        return np.asarray(self.pattern().getChessboardCorners(), dtype=float) * (1.0, -1.0, -1.0) + (
            0.0,
            self.size[1],
            0.0,
        )


@dataclass(frozen=True)
class Intrinsics:
    """A camera's mapping from directions to pixels, as in sensor_msgs/msg/CameraInfo.

    Attributes:
        width: of its images [pixel].
        height: of its images [pixel].
        matrix: K, shape (3, 3) [pixel].
        distortion: D of the model plumb_bob or rational_polynomial, shape (4,), (5,) or (8,).
    """

    width: int
    height: int
    matrix: Floats
    distortion: Floats


@dataclass(frozen=True)
class CameraPose:
    """Pose of a camera, and its errors.

    Attributes:
        pose: of its optical frame, in the frame in which the board's pose was given.
        position_error: standard deviation of the position, from the corners' scatter alone [m].
        orientation_error: standard deviation of the rotation [rad].
        reprojection: root of the mean square distance of corners from their places by the result [pixel].
        corners: number seen, in all images.
        images: number in which they were seen.
    """

    pose: Pose
    position_error: float
    orientation_error: float
    reprojection: float
    corners: int
    images: int


class BoardNotSeen(ValueError):
    """An image shows too little of the board; the message has the likely reason.

    Attributes:
        image: its position among those given; None if only one was given.
    """

    image: int | None = None


def drawn(board: Board, dots_per_inch: int = 300) -> Picture:
    """Return the board for print, with a line of 100 mm and its numbers; grey, shape (rows, columns)."""
    per_metre = dots_per_inch / INCH
    width, height = (round(side * per_metre) for side in board.size)
    margin, foot = round(0.01 * per_metre), round(0.025 * per_metre)
    page = np.full((height + 2 * margin + foot, max(width, round(RULER * per_metre)) + 2 * margin), 255, np.uint8)
    page[margin : margin + height, margin : margin + width] = board.pattern().generateImage((width, height), None, 0, 1)
    line, stroke = height + 2 * margin, max(round(0.0005 * per_metre), 1)
    page[line : line + stroke, margin : margin + round(RULER * per_metre)] = 0
    last = board.first_tag + board.tags - 1
    tags = f"{in_words(board.family)} {board.first_tag}-{last}"
    words = f"100 mm | {board.columns}x{board.rows}, {1e3 * board.square:g} mm | {tags}"
    scale = per_metre / 12000.0
    cv2.putText(page, words, (margin, line + foot // 2), cv2.FONT_HERSHEY_SIMPLEX, scale, 0, max(round(2 * scale), 1))
    return page


def seen_corners(image: Picture, board: Board) -> tuple[Floats, NDArray[np.int64]]:
    """Return the corners of the board that an image shows, and their numbers.

    Args:
        image: RGB, shape (rows, columns, 3).
        board: the board to find.

    Returns:
        Their positions [pixel], shape (n, 2); their numbers in ``Board.corners``, shape (n,).

    Raises:
        BoardNotSeen: the corners are too few, or a tag is there twice.
    """
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    _, numbers, _ = cv2.aruco.ArucoDetector(dictionary(board.family)).detectMarkers(grey)
    found = [] if numbers is None else numbers.ravel().tolist()
    if twice := sorted({number for number in found if found.count(number) > 1}):
        several = ", ".join(map(str, twice))
        raise BoardNotSeen(
            f"tag {several} is there twice; cover one of the two, or print a board with another first_tag"
        )
    detector = cv2.aruco.CharucoDetector(board.pattern())
    corners, which, _, _ = detector.detectBoard(grey)
    number = 0 if which is None else len(which)
    if number < LEAST_CORNERS:
        raise BoardNotSeen(
            f"{number} of {len(board.corners())} corners of the board are seen, expected at least {LEAST_CORNERS}"
            f"{_reason(grey, found, board)}"
        )
    return np.asarray(corners, dtype=float).reshape(-1, 2), np.asarray(which, dtype=np.int64).ravel()


def _reason(grey: Picture, found: Sequence[int], board: Board) -> str:
    if grey.mean() < DARK:
        return f"; the image is dark (mean {grey.mean():.0f} of 255): switch a light on"
    ours = range(board.first_tag, board.first_tag + board.tags)
    if found and not any(number in ours for number in found):
        return f"; tags {min(found)} to {max(found)} are seen, and the board has {ours.start} to {ours.stop - 1}"
    return "; move it nearer, turn it towards the camera, and let nothing cover it"


def camera_pose(images: Sequence[Picture], board: Board, intrinsics: Intrinsics, placed: Pose) -> CameraPose:
    """Return the pose of a camera that took images of a board; neither moved between them.

    Args:
        images: RGB, at least one; several average the noise.
        board: as printed.
        intrinsics: of the camera.
        placed: pose of the board's frame in the frame of the result [m].

    Raises:
        BoardNotSeen: an image shows too little of it.
        ValueError: an image has another size than the intrinsics, or the board is not seen from its front.
    """
    known, points, pixels = board.corners(), [], []
    for number, image in enumerate(images):
        if image.shape[:2] != (intrinsics.height, intrinsics.width):
            size = f"{image.shape[1]}x{image.shape[0]}"
            raise ValueError(f"image {number}: {size} pixels, expected {intrinsics.width}x{intrinsics.height}")
        try:
            corners, which = seen_corners(image, board)
        except BoardNotSeen as error:
            error.image = number
            raise
        points.append(known[which])
        pixels.append(corners)
    wanted, seen = np.concatenate(points), np.concatenate(pixels)
    _, rotation, translation = cv2.solvePnP(
        wanted, seen, intrinsics.matrix, intrinsics.distortion, flags=cv2.SOLVEPNP_IPPE
    )
    rotation, translation = cv2.solvePnPRefineLM(
        wanted, seen, intrinsics.matrix, intrinsics.distortion, rotation, translation
    )
    projected, jacobian = cv2.projectPoints(wanted, rotation, translation, intrinsics.matrix, intrinsics.distortion)
    off = projected.reshape(-1, 2) - seen
    turn = cv2.Rodrigues(rotation)[0]
    inside = turn.T  # of the camera, in the board's frame
    position = -inside @ translation.ravel()
    if position[2] <= 0.0:
        raise ValueError("the camera would stand behind the board; give the board's own file")
    variance = float(np.sum(off**2)) / max(off.size - 6, 1)
    covariance = variance * np.linalg.inv(jacobian[:, :6].T @ jacobian[:, :6])
    # Position of the camera from rotation vector and translation: the effect of a small change of each.
    to_position = np.hstack([_by_rotation(rotation, translation), -inside])
    spread = to_position @ covariance @ to_position.T
    frame = _matrix(placed)
    x, y, z = (frame[:3, :3] @ position + frame[:3, 3]).tolist()
    qw, qx, qy, qz = mat2quat(frame[:3, :3] @ inside).tolist()
    return CameraPose(
        Pose((x, y, z), (qx, qy, qz, qw)),
        math.sqrt(float(np.trace(spread))),
        math.sqrt(float(np.trace(covariance[:3, :3]))),
        math.sqrt(float(np.mean(np.sum(off**2, axis=1)))),
        len(seen),
        len(images),
    )


def _by_rotation(rotation: Floats, translation: Floats, step: float = 1e-6) -> Floats:
    """Return the derivative of the camera's position by the rotation vector, shape (3, 3)."""
    columns = []
    for axis in range(3):
        ends = []
        for sign in (1.0, -1.0):
            moved = np.array(rotation, dtype=float).ravel()
            moved[axis] += sign * step
            ends.append(-cv2.Rodrigues(moved)[0].T @ translation.ravel())
        columns.append((ends[0] - ends[1]) / (2.0 * step))
    return np.stack(columns, axis=1)


def _matrix(pose: Pose) -> Floats:
    """Return a pose as a matrix, shape (4, 4)."""
    found = np.eye(4)
    found[:3, :3] = cv2.Rodrigues(np.array(to_vector(pose.orientation)))[0]
    found[:3, 3] = pose.position
    return found
