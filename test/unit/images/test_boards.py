"""A board of tags, photographed by a camera at a known pose, which is found again with the error that is told."""

from __future__ import annotations

import math

import numpy as np
import pytest
from board_images import LENS, looking_at, photograph

from robocontrast_ros.domain import Pose
from robocontrast_ros.domain.rotations import between
from robocontrast_ros.images.boards import Board, BoardNotSeen, camera_pose, drawn, seen_corners

BOARD = Board()
MIDDLE = (BOARD.size[0] / 2.0, BOARD.size[1] / 2.0, 0.0)


def drawn_camera(rng: np.random.Generator) -> Pose:
    """Return a camera in front of the board that looks at its middle."""
    position = rng.uniform((-0.2, -0.4, 0.35), (0.3, 0.0, 0.6)).tolist()
    return looking_at(tuple(position), MIDDLE, float(rng.uniform(-0.5, 0.5)))


def test_cameras_are_found_where_they_stand_and_the_error_that_is_told_is_the_error_that_is_made():
    rng, ratios = np.random.default_rng(20), []
    for trial in range(15):
        camera = drawn_camera(rng)
        image = photograph(BOARD, camera, blur=0.7, noise=4.0, light=float(rng.uniform(0.5, 1.0)), seed=trial)
        found = camera_pose([image], BOARD, LENS, Pose())
        off = found.pose.distance_to(camera)
        assert off < min(4.0 * found.position_error, 0.005)
        assert math.hypot(*between(found.pose.orientation, camera.orientation)) < math.radians(0.3)
        assert found.reprojection < 0.5
        ratios.append((off / found.position_error) ** 2)
    # Of errors that are told right, the mean square is 1.
    assert 0.4 < np.mean(ratios) < 2.5


def test_the_pose_is_in_the_frame_in_which_the_boards_pose_is_given():
    camera = looking_at((0.1, -0.2, 0.5), MIDDLE)
    image, placed = photograph(BOARD, camera), Pose.planar(0.4, -0.1, math.pi / 2.0, 0.02)
    seen, moved = (camera_pose([image], BOARD, LENS, where).pose for where in (Pose(), placed))
    (x, y, z), (mx, my, mz) = seen.position, moved.position
    assert (mx, my, mz) == pytest.approx((0.4 - y, -0.1 + x, 0.02 + z), abs=1e-9)
    turn = between(seen.orientation, moved.orientation)
    assert turn == pytest.approx((0.0, 0.0, math.pi / 2.0), abs=1e-9)


def test_more_pictures_make_the_error_less():
    camera = looking_at((0.1, -0.2, 0.5), MIDDLE)
    images = [photograph(BOARD, camera, noise=8.0, seed=k) for k in range(9)]
    one, all_ = (camera_pose(some, BOARD, LENS, Pose()) for some in (images[:1], images))
    assert all_.position_error < 0.6 * one.position_error
    assert (all_.images, all_.corners) == (9, 9 * 24)


def test_a_print_has_every_tag_once_and_its_line_is_100_mm_long():
    page = drawn(BOARD, 254)
    corners, which = seen_corners(np.repeat(page[..., None], 3, axis=2), BOARD)
    assert sorted(which) == list(range(len(BOARD.corners())))
    assert np.ptp(corners[:, 0]) == pytest.approx((BOARD.columns - 2) * BOARD.square * 10_000, abs=2.0)
    foot = page[round(page.shape[0] - 0.03 * 10_000) :]
    longest = max(int(np.count_nonzero(row == 0)) for row in foot)
    assert longest == 1000


@pytest.mark.parametrize("spoil", ["dark", "grey", "twice", "another board"])
def test_what_hides_the_board_is_named(spoil):
    camera = looking_at((0.1, -0.2, 0.5), MIDDLE)
    image, board = photograph(BOARD, camera), BOARD
    words = {"dark": "is dark", "grey": "0 of 24 corners", "twice": "there twice", "another board": "has 100 to 116"}
    if spoil == "dark":
        image = np.full_like(image, 3)
    elif spoil == "grey":
        image = np.full_like(image, 128)
    elif spoil == "twice":
        small = photograph(BOARD, looking_at((0.085, 0.119, 0.6), MIDDLE))
        image = np.concatenate([small, small], axis=1)
    else:
        board = Board(first_tag=100)
    with pytest.raises(BoardNotSeen, match=words[spoil]):
        seen_corners(image, board)
