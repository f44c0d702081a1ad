"""MuJoCo is imported, whatever OpenGL platform the user's environment names."""

from __future__ import annotations

import importlib
import os

VARIABLE = "MUJOCO_GL"


def import_mujoco() -> None:
    """Import MuJoCo before any module of ours does, where MUJOCO_GL names a platform that it cannot load.

    Its import loads that platform, and fails where it is not there. Most of what is done here draws nothing, and what
    draws finds out which platform works (``images.rendering``), from the same variable.
    """
    try:
        importlib.import_module("mujoco")
    except Exception:  # what a broken platform raises depends on the platform
        wanted = os.environ[VARIABLE]
        os.environ[VARIABLE] = "disabled"
        try:
            importlib.import_module("mujoco")
        finally:
            os.environ[VARIABLE] = wanted
