"""The import of MuJoCo for any OpenGL platform in the user's environment."""

from __future__ import annotations

import importlib
import os

VARIABLE = "MUJOCO_GL"


def import_mujoco() -> None:
    """Import MuJoCo before any module of ours does, and no OpenGL platform with it.

    Its import loads the platform that MUJOCO_GL names, by default one for windows, and fails if it is not installed.
    Most of our code draws nothing, and renderers find a working platform themselves (``images.rendering``), from the
    same variable.
    """
    wanted = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = "disabled"
    try:
        importlib.import_module("mujoco")
    finally:
        if wanted is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = wanted


def try_platform(platform: str) -> str:
    """Open a context of an OpenGL platform, ``egl`` or ``osmesa``, and return its name.

    It raises the platform's errors, and a broken driver ends the process; the environment is that of the platform.
    """
    import_mujoco()
    import mujoco

    context = importlib.import_module(f"mujoco.{platform}").GLContext(8, 8)
    context.make_current()
    resources = mujoco.MjrContext(mujoco.MjModel.from_xml_string("<mujoco/>"), 100)
    resources.free()
    context.free()
    return platform
