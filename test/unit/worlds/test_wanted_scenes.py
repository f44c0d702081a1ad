"""Drawings of wanted scenes, which the page lays over a camera's picture."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from language_table_instances import EIGHT

from robocontrast_ros.domain import ObjectState, Pose, Scene
from robocontrast_ros.domain.rotations import from_vector
from robocontrast_ros.images.boards import Intrinsics
from robocontrast_ros.images.rendering import Camera
from robocontrast_ros.objects.frames import compose
from robocontrast_ros.perception import CalibratedCamera
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.worlds.mujoco.wanted import WantedScenes
from robocontrast_ros.worlds.table_camera import TableCamera

CAMERA = Camera("board", 640, 480)
PLACES = {"red_moon": (0.35, -0.1, 0.3), "blue_cube": (0.42, 0.12, 0.2), "yellow_star": (0.3, 0.05, -0.4)}
SCENE = Scene(tuple(ObjectState(name, name, Pose.planar(*at)) for name, at in PLACES.items()))


@pytest.fixture(scope="module")
def robot():
    return load_profile("ur5e")


def drawn(robot, real=None):
    wanted = WantedScenes(robot, EIGHT, CAMERA, real)
    try:
        return wanted.draw(SCENE), wanted.calibrated()
    finally:
        wanted.close()


def off(picture, camera):
    """Return how far each block of a picture is from where the scene has it, read by a camera [m]."""
    reading = TableCamera(EIGHT, camera).read(picture, SCENE)
    assert not reading.unsure, reading.unsure
    return [math.dist(reading.scene[o.name].pose.xy, o.pose.xy) for o in SCENE]


def test_a_wanted_scene_is_drawn_as_the_calibrated_camera_sees_it(robot):
    picture, as_modelled = drawn(robot)
    assert max(off(picture, as_modelled)) < 0.003
    matrix = np.array(as_modelled.intrinsics.matrix) * ((0.85,), (0.9,), (1.0,))
    matrix[0, 2], matrix[1, 2] = 300.0, 260.0
    lens = Intrinsics(640, 480, matrix, np.array((-0.12, 0.05, 0.001, -0.002, 0.0)))
    moved = Pose((0.02, -0.01, -0.04), from_vector((0.03, -0.02, 0.1)))
    real = CalibratedCamera(lens, compose(as_modelled.pose, moved), as_modelled.frame_id)
    picture, _ = drawn(robot, real)
    assert picture.shape == (480, 640, 3) and max(off(picture, real)) < 0.003
    # The corners of the picture are drawn, too, although the modelled camera does not see that much.
    assert picture[[0, 0, -1, -1], [0, -1, 0, -1]].any(axis=1).all()


def test_nothing_is_drawn_for_a_camera_that_the_modelled_world_does_not_have(robot):
    real = CalibratedCamera(Intrinsics(640, 480, np.diag((600.0, 600.0, 1.0)), np.zeros(5)), Pose())
    wanted = WantedScenes(robot, EIGHT, replace(CAMERA, name="unknown"), real)
    assert wanted.draw(SCENE) is None
    wanted.close()
