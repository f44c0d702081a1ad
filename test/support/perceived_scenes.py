"""Blocks and tags on a table, drawn without OpenGL as a camera at a known place sees them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import cv2
import numpy as np
from board_images import looking_at

from robocontrast_ros.domain import Pose
from robocontrast_ros.images.boards import Intrinsics
from robocontrast_ros.perception import CalibratedCamera, ObjectTag, SolidBlock
from robocontrast_ros.perception.plates import picture, with_border

LENS = Intrinsics(640, 480, np.array([[600.0, 0.0, 319.5], [0.0, 600.0, 239.5], [0.0, 0.0, 1.0]]), np.zeros(5))
CAMERA = CalibratedCamera(LENS, looking_at((0.9, 0.05, 0.6), (0.4, 0.0, 0.0)))
TABLE = (205, 202, 196)

SQUARE = SolidBlock(((-0.02, -0.02), (0.02, -0.02), (0.02, 0.02), (-0.02, 0.02)), 0.03, (0.82, 0.1, 0.1))
WEDGE = SolidBlock(((-0.02, -0.018), (0.032, -0.018), (-0.02, 0.024)), 0.03, (0.82, 0.1, 0.1))
BLUE = SolidBlock(SQUARE.outline, 0.03, (0.08, 0.25, 0.8))


def table(shade: Sequence[int] = TABLE) -> np.ndarray:
    """Return a picture of an empty table, with a darker edge that gives it something sharp."""
    image = np.full((480, 640, 3), shade, dtype=np.uint8)
    image[:40], image[440:] = 70, 70
    return image


def put_block(image: np.ndarray, block: SolidBlock, pose: Pose, camera: CalibratedCamera = CAMERA) -> None:
    """Draw a block: its sides darker than its top."""
    c, s = np.cos(pose.yaw), np.sin(pose.yaw)
    flat = np.einsum("ij,kj->ki", np.array(((c, -s), (s, c))), block.corners) + pose.xy
    count, fine = len(flat), 4
    low, high = (np.column_stack((flat, np.full(count, z))) for z in (0.0, block.height))
    bottom, top = (np.round(((camera.project(p) + 0.5) * fine - 0.5) * 64).astype(np.int32) for p in (low, high))
    canvas = cv2.resize(image, None, fx=fine, fy=fine, interpolation=cv2.INTER_NEAREST)
    colour = tuple(round(235 * part + 10) for part in block.colour)
    for k in range(count):
        quad = np.stack((bottom[k - 1], bottom[k], top[k], top[k - 1]))
        cv2.fillConvexPoly(canvas, quad, tuple(0.7 * part for part in colour), cv2.LINE_8, 6)
    cv2.fillPoly(canvas, [top], colour, cv2.LINE_8, 6)
    image[:] = cv2.resize(canvas, (640, 480), interpolation=cv2.INTER_AREA)


def put_tag(image: np.ndarray, tag: ObjectTag, pose: Pose, camera: CalibratedCamera = CAMERA) -> None:
    """Draw a tag that is fixed to an upright object."""
    grey, fine = picture(tag), 4
    c, s = np.cos(pose.yaw), np.sin(pose.yaw)
    turn = np.array(((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0)))
    middle = tag.corners.mean(axis=0)
    whole = middle + (tag.corners - middle) * with_border(tag) / tag.size
    seen = camera.project(np.einsum("ij,kj->ki", turn, whole) + pose.position)
    edge = grey.shape[0] - 0.5
    source = np.float32(((-0.5, -0.5), (edge, -0.5), (edge, edge), (-0.5, edge)))
    mapped = cv2.getPerspectiveTransform(source, np.float32((seen + 0.5) * fine - 0.5))
    size = (640 * fine, 480 * fine)
    drawn = cv2.warpPerspective(grey, mapped, size, flags=cv2.INTER_AREA)
    mask = cv2.warpPerspective(np.full_like(grey, 255), mapped, size)
    drawn, mask = (cv2.resize(part, (640, 480), interpolation=cv2.INTER_AREA) for part in (drawn, mask))
    share = mask[..., None] / 255.0
    image[:] = np.clip(image * (1.0 - share) + drawn[..., None], 0, 255).astype(np.uint8)


def noisy(image: np.ndarray, seed: int = 0, noise: float = 3.0, blur: float = 0.7) -> np.ndarray:
    """Return a picture as a sensor takes it."""
    soft = cv2.GaussianBlur(image, (0, 0), blur) if blur else image
    return np.clip(soft + np.random.default_rng(seed).normal(0.0, noise, image.shape), 0, 255).astype(np.uint8)


def drawn_blocks(blocks: Mapping[str, tuple[SolidBlock, Pose]]) -> np.ndarray:
    """Return a picture of blocks, the farther ones first."""
    image = table()
    for block, pose in sorted(blocks.values(), key=lambda pair: -pair[1].distance_to(CAMERA.pose)):
        put_block(image, block, pose)
    return image
