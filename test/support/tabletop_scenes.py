"""The tabletop task without physics, and small scenes of it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from robocontrast_ros.configuration import load_record, resolve_uri
from robocontrast_ros.domain import Instruction, ObjectState, Pose, Scene
from robocontrast_ros.tasks.tabletop import Tabletop
from robocontrast_ros.tasks.tabletop.parameters import TabletopParameters
from robocontrast_ros.tasks.tabletop.scenes import objects_in_use, views_of

TASK_FILE = resolve_uri("package://robocontrast_ros/config/tasks/tabletop.yaml")


def fresh(objects: tuple[str, ...] = (), **sampling: object) -> Tabletop:
    """Return the shipped task, made afresh, with some of its objects; in its scenes all is at rest where it is put."""
    parameters = load_record(TabletopParameters, TASK_FILE)
    parameters = replace(parameters, objects=objects, sampling=replace(parameters.sampling, **sampling))
    return Tabletop(
        parameters, objects_in_use(parameters, str(TASK_FILE)), lambda scene: scene, views_of(parameters, {})
    )


tabletop = cache(fresh)
"""The same, made once."""


def scene(**places: tuple[float, ...]) -> Scene:
    """Return a scene of objects by model at (x, y), (x, y, yaw) or (x, y, yaw, z)."""
    return Scene(tuple(ObjectState(name, name, Pose.planar(*place)) for name, place in places.items()))


def asked(family: str, target: str, reference: str = "") -> Instruction:
    """Return an instruction without words."""
    arguments = {"target": target} | ({"reference": reference} if reference else {})
    return Instruction("", family, tuple(arguments.items()))
