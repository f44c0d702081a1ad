"""MuJoCo is imported, whatever OpenGL platform the user's environment names."""

from __future__ import annotations

import importlib
import os

VARIABLE = "MUJOCO_GL"


def import_mujoco() -> None:
    """Import MuJoCo before any module of ours does, and no OpenGL platform with it.

    Its import loads the platform that MUJOCO_GL names, by default one for windows, and fails where it is not there.
    Most of what is done here draws nothing, and what draws finds out which platform works (``images.rendering``), from
    the same variable.
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
