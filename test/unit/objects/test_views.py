"""How much of a thing others hide, and what cameras see without a robot."""

from __future__ import annotations

import importlib
import math

import mujoco
import numpy as np
import pytest

from robocontrast_ros.domain import ObjectState, Pose, Scene
from robocontrast_ros.images.rendering import Camera, working_backend
from robocontrast_ros.objects import load_library
from robocontrast_ros.objects.settling import WORLD
from robocontrast_ros.objects.views import SceneViews

LIBRARY = load_library()
SIZE = 320, 240


def scene(**places):
    fixtures = [ObjectState(name, name, Pose()) for name in ("oak_table", "beige_room", "ceiling_lamp")]
    return Scene((*fixtures, *(ObjectState(name, name, Pose.planar(*place)) for name, place in places.items())))


def views():
    return SceneViews(LIBRARY, WORLD, [Camera(name, *SIZE) for name in ("front", "top")])


def pixels(model, data, camera, own):
    """Return how many pixels of MuJoCo's own segmentation image show some geometries."""
    context = importlib.import_module(f"mujoco.{working_backend()}").GLContext(*SIZE)
    context.make_current()
    model.vis.global_.offwidth, model.vis.global_.offheight = SIZE
    model.vis.quality.offsamples = 0
    drawn = mujoco.MjvScene(model, maxgeom=2000)
    drawn.flags[mujoco.mjtRndFlag.mjRND_SEGMENT] = drawn.flags[mujoco.mjtRndFlag.mjRND_IDCOLOR] = True
    resources = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
    mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, resources)
    view = mujoco.MjvCamera()
    view.type, view.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, model.camera(camera).id
    option, every = mujoco.MjvOption(), mujoco.mjtCatBit.mjCAT_ALL.value
    mujoco.mjv_updateScene(model, data, option, None, view, every, drawn)
    area, image = mujoco.MjrRect(0, 0, *SIZE), np.empty((SIZE[1], SIZE[0], 3), dtype=np.uint8)
    mujoco.mjr_render(area, drawn, resources)
    mujoco.mjr_readPixels(image, None, area, resources)
    shown = {geom.segid + 1: geom.objid for geom in drawn.geoms[: drawn.ngeom]}
    found = sum(shown.get(code, -1) in own for code in (image @ np.array([1, 1 << 8, 1 << 16])).ravel().tolist())
    resources.free()
    context.free()
    return found


@pytest.mark.parametrize("camera", ["front", "top"])
def test_occlusion_is_what_a_segmentation_image_shows(camera):
    there = scene(red_mug=(0.42, 0.02), red_cracker_box=(0.53, -0.02, 0.4), blue_cup=(0.40, 0.12))
    looking = views()
    hidden = looking.occlusion(there, "red_mug", camera)
    model, data = looking._placed(there, looks=False)
    own = set(np.flatnonzero(model.body_rootid[model.geom_bodyid] == model.body("red_mug/red_mug").id).tolist())
    visible = pixels(model, data, camera, own)
    # Drawn with nothing else.
    for name in ("red_cracker_box", "blue_cup"):
        data.joint(f"{name}/free").qpos[2] = -50.0
    mujoco.mj_kinematics(model, data)
    alone = pixels(model, data, camera, own)
    assert alone > 100
    assert hidden == pytest.approx(1 - visible / alone, abs=0.02)
    assert (hidden > 0.1) == (camera == "front")


def test_nothing_is_hidden_of_a_thing_alone_and_all_of_one_out_of_view():
    looking = views()
    assert looking.occlusion(scene(banana=(0.45, 0.0)), "banana", "front") == 0.0
    assert looking.occlusion(scene(banana=(-3.0, 0.0)), "banana", "top") == 1.0
    # Behind the wall of a box that is larger.
    assert (
        looking.occlusion(
            scene(green_marker=(0.45, 0.0), red_cracker_box=(0.49, 0.0, math.pi / 2)), "green_marker", "front"
        )
        > 0.9
    )


def test_a_view_is_the_image_of_the_world_without_a_robot_and_follows_what_is_moved():
    looking = views()
    here, there = (looking.image(scene(red_mug=(0.45, y)), "front") for y in (-0.1, 0.1))
    assert here.shape == (240, 320, 3) and (here != there).any()
    assert (looking.image(scene(red_mug=(0.45, -0.1)), "front") == here).all()
    assert (views().image(scene(red_mug=(0.45, -0.1)), "front") == here).all()


def test_looking_does_not_change_what_is_looked_at():
    looking, there = views(), scene(red_mug=(0.42, 0.02), red_cracker_box=(0.53, -0.02, 0.4))
    first = looking.occlusion(there, "red_mug", "front")
    looking.image(there, "top")
    assert looking.occlusion(there, "red_mug", "front") == first
    with pytest.raises(KeyError):
        looking.occlusion(there, "banana", "front")


def test_the_cameras_of_the_world_are_where_its_file_says():
    found = views().positions
    assert list(found) == ["front", "top"]
    assert found["front"] == pytest.approx((1.446, 0.0, 0.575))
