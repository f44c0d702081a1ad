"""The tabletop task without physics, and small scenes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from robocontrast_ros.configuration import load_record, resolve_uri
from robocontrast_ros.domain import Instruction, ObjectState, Pose, Scene
from robocontrast_ros.tasks.tabletop import Tabletop
from robocontrast_ros.tasks.tabletop.parameters import TabletopParameters
from robocontrast_ros.tasks.tabletop.scenes import objects_in_use, views_of

TASK_FILE = resolve_uri("package://robocontrast_ros/config/tasks/tabletop.yaml")
CLUTTER_FILE = resolve_uri("package://robocontrast_ros/config/tasks/tabletop_clutter.yaml")


def fresh(
    file: Path = TASK_FILE, objects: tuple[str, ...] = (), distracting: Mapping[str, object] = {}, **sampling: object
) -> Tabletop:
    """Return a shipped task, made afresh, with some of its objects; in its scenes all is at rest where it is put."""
    parameters = load_record(TabletopParameters, file)
    parameters = replace(parameters, objects=objects, sampling=replace(parameters.sampling, **sampling))
    if distracting:
        parameters = replace(parameters, distracting=replace(parameters.distracting, **distracting))
    library = objects_in_use(parameters, str(file))
    return Tabletop(parameters, library, lambda scene: scene, views_of(parameters, library))


tabletop = cache(fresh)
"""The same, made once."""


def scene(**places: tuple[float, ...]) -> Scene:
    """Return a scene of objects by model at (x, y), (x, y, yaw) or (x, y, yaw, z)."""
    return Scene(tuple(ObjectState(name, name, Pose.planar(*place)) for name, place in places.items()))


def asked(family: str, target: str, reference: str = "") -> Instruction:
    """Return an instruction without words."""
    arguments = {"target": target} | ({"reference": reference} if reference else {})
    return Instruction("", family, tuple(arguments.items()))
