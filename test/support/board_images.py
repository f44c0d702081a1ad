"""Images of a printed board, as a camera at a known pose takes them."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray
from transforms3d.quaternions import mat2quat

from robocontrast_ros.domain import Pose
from robocontrast_ros.images.boards import Board, Intrinsics

SIZE = 640, 480
LENS = Intrinsics(*SIZE, np.array([[610.0, 0.0, 322.0], [0.0, 612.0, 238.0], [0.0, 0.0, 1.0]]), np.zeros(5))
SAMPLES = 4
"""Samples of a pixel, along each side."""


def looking_at(position: tuple[float, float, float], target: tuple[float, float, float], roll: float = 0.0) -> Pose:
    """Return the pose of the optical frame of a camera that looks at a target, turned about its axis."""
    forward = np.subtract(target, position)
    forward = forward / np.linalg.norm(forward)
    down = -np.array((0.0, 1.0, 0.05)) if abs(forward[2]) > 0.9 else np.array((0.0, 0.0, -1.0))
    right = np.cross(down, forward)
    right /= np.linalg.norm(right)
    matrix = np.stack((right, np.cross(forward, right), forward), axis=1)
    matrix = matrix @ cv2.Rodrigues(np.array((0.0, 0.0, roll)))[0]
    w, x, y, z = mat2quat(matrix).tolist()
    return Pose(position, (x, y, z, w))


def photograph(
    board: Board, camera: Pose, *, blur: float = 0.0, noise: float = 0.0, light: float = 1.0, seed: int = 0
) -> NDArray[np.uint8]:
    """Return an image of a board that lies at the origin of the world, on grey.

    Args:
        board: the board.
        camera: pose of the camera's optical frame in the board's frame [m].
        blur: standard deviation [pixel].
        noise: standard deviation, of 255.
        light: factor of brightness.
        seed: of the noise.
    """
    per_metre = 6000.0
    width, height = (round(side * per_metre) for side in board.size)
    print_ = board.pattern().generateImage((width, height), None, 0, 1)
    print_ = cv2.copyMakeBorder(print_, 60, 60, 60, 60, cv2.BORDER_CONSTANT, value=255)
    # From pixels of the print to the board's frame; the middle of the first pixel is at half a pixel.
    to_board = np.array(
        [[1 / per_metre, 0, -59.5 / per_metre], [0, -1 / per_metre, board.size[1] + 59.5 / per_metre], [0, 0, 1.0]]
    )
    x, y, z, w = camera.orientation
    angle = 2.0 * np.arctan2(np.linalg.norm((x, y, z)), w)
    axis = np.array((x, y, z)) / (np.linalg.norm((x, y, z)) or 1.0)
    outside = cv2.Rodrigues(axis * angle)[0].T
    plane = np.column_stack((outside[:, 0], outside[:, 1], -outside @ np.array(camera.position)))
    finer = np.array([[SAMPLES, 0, (SAMPLES - 1) / 2], [0, SAMPLES, (SAMPLES - 1) / 2], [0, 0, 1.0]])
    homography = finer @ LENS.matrix @ plane @ to_board
    large = cv2.warpPerspective(print_, homography, (SIZE[0] * SAMPLES, SIZE[1] * SAMPLES), borderValue=128)
    image = cv2.resize(large, SIZE, interpolation=cv2.INTER_AREA).astype(float)
    if blur:
        image = cv2.GaussianBlur(image, (0, 0), blur)
    image = image * light + noise * np.random.default_rng(seed).standard_normal(image.shape)
    return np.repeat(np.clip(np.rint(image), 0, 255).astype(np.uint8)[..., None], 3, axis=2)
