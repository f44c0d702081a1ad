"""The navigation task as it ships, with instances drawn from seeds, and small apartments for single cases."""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from typing import Any

import numpy as np
import yaml
from hypothesis import strategies as st

from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.domain import ObjectState, Pose, Scene, TestInstance
from robocontrast_ros.tasks.navigation import VisionLanguageNavigation

TASK_FILE = resolve_uri("package://robocontrast_ros/config/tasks/studio_apartment.yaml")
APARTMENT = VisionLanguageNavigation.from_file(TASK_FILE)
ARRANGEMENTS = tuple(APARTMENT.parameters.arrangements)


@cache
def instance(seed: int) -> TestInstance:
    """Return the generated instance of a seed."""
    return APARTMENT.sample(np.random.default_rng(seed), f"x{seed}", "generated")


@cache
def arranged(name: str) -> TestInstance:
    """Return the instance of an arrangement."""
    return APARTMENT.sample(np.random.default_rng(0), name, name)


def scene(robot: tuple[float, float, float] | None = None, /, **poses: tuple[float, float, float]) -> Scene:
    """Return the scene with these objects at x, y [m], yaw [rad]."""
    objects = APARTMENT.parameters.objects
    placed = tuple(ObjectState(n, objects[n], Pose.planar(*pose)) for n, pose in poses.items())
    return Scene(placed, robot=None if robot is None else Pose.planar(*robot))


def task_file_content() -> dict[str, Any]:
    """Return the task file's content, to be changed."""
    return deepcopy(yaml.safe_load(TASK_FILE.read_text(encoding="utf-8")))


seeds = st.integers(0, 2**32 - 1)
few_seeds = st.integers(0, 99)
"""Seeds of instances: few, since drawing one takes time and they are kept."""
