"""How the OpenGL platform is found, in processes of their own: an environment is read once."""

from __future__ import annotations

import os
import subprocess
import sys
from ctypes.util import find_library

import pytest

from robocontrast_ros.images.rendering import TRIED

REPORT = """
from robocontrast_ros.images.rendering import RenderingUnavailable, working_backend
try:
    print(working_backend())
except RenderingUnavailable as error:
    print(error)
"""


def backend(**environment: str) -> str:
    unset = ("MUJOCO_GL", "PYOPENGL_PLATFORM", TRIED)
    clean = {key: value for key, value in os.environ.items() if key not in unset}
    done = subprocess.run(
        [sys.executable, "-c", REPORT], env=clean | environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_egl_is_preferred():
    assert backend() == "egl"


def test_without_egl_it_is_osmesa_or_a_message_that_names_the_variable():
    found = backend(__EGL_VENDOR_LIBRARY_FILENAMES="/nowhere.json")
    blamed = "`__EGL_VENDOR_LIBRARY_FILENAMES`: got '/nowhere.json'"
    assert found == "osmesa" or ("egl: " in found and "osmesa: " in found and blamed in found)


@pytest.mark.skipif(find_library("OSMesa") is None, reason="needs OSMesa (libosmesa6), which Debian drops")
def test_the_environment_decides_it():
    assert backend(MUJOCO_GL="osmesa") == "osmesa"


@pytest.mark.skipif(find_library("OSMesa") is not None, reason="needs a machine without OSMesa (libosmesa6)")
def test_what_draws_nothing_works_with_a_platform_that_is_not_there():
    found = backend(MUJOCO_GL="osmesa")
    assert "`MUJOCO_GL`: got 'osmesa'" in found and "Unset MUJOCO_GL: EGL is then tried first." in found
    kept = "import os, robocontrast_ros.robots.kinematics; print(os.environ['MUJOCO_GL'])"
    done = subprocess.run(
        [sys.executable, "-c", kept], env=os.environ | {"MUJOCO_GL": "osmesa"}, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "osmesa\n"), done.stderr


def test_a_platform_that_mujoco_does_not_know_is_named_although_egl_would_draw():
    found = backend(MUJOCO_GL="nonsense")
    assert "`MUJOCO_GL`: got 'nonsense', expected egl or osmesa" in found and "Unset MUJOCO_GL" in found
    assert backend(MUJOCO_GL="EGL ") == "egl", "as MuJoCo reads it"


def test_a_world_draws_although_mujoco_was_imported_for_another_platform():
    draw = (
        "import mujoco; from robocontrast_ros.robots.profile import load_profile;"
        "from robocontrast_ros.images.rendering import Camera;"
        "from robocontrast_ros.worlds.mujoco.world import World;"
        "world = World(load_profile('franka'), 'package://robocontrast_ros/models/language_table/world.xml',"
        " cameras=(Camera('board', 32, 32),));"
        "print(world.cameras.render('board').shape); world.close()"
    )
    environment = os.environ | {"MUJOCO_GL": "glfw", "PYOPENGL_PLATFORM": "glx"}
    environment.pop(TRIED, None)
    done = subprocess.run([sys.executable, "-c", draw], env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "(32, 32, 3)"
