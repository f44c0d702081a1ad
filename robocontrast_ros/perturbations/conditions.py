"""Uniform draws of a trial's conditions (seed 002, sensitivity): camera pose, looks of the scene, poses of objects.

What was drawn is in the proof of each instance, so that ``robocontrast sensitivity`` can tell the conditions of
successes. All is drawn in the test instance's own scene; the base trial is the twin in the usual conditions.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from pydantic import Field

from robocontrast_ros.configuration import record
from robocontrast_ros.domain import Expectation, Filter, Perturbed, Proof, Scene, TestInstance
from robocontrast_ros.perturbations.instructions import ELSEWHERE
from robocontrast_ros.perturbations.protocol import NamedPerturbation
from robocontrast_ros.tasks.protocol import Answer, Task

SEEN_FROM = "the words, the scene and what is expected stay; what a camera sees of them is seen from another pose"


@record
class CameraPoseParameters:
    """Parameters of ``camera_pose`` in a session."""

    distance: float = Field(default=0.1, ge=0, le=1, description="radius of the ball of a camera's places [m]")
    angle: float = Field(default=10.0, ge=0, le=90, description="greatest angle that it is turned by [degree]")
    beta: float = Field(
        default=1.0, ge=0, le=10, description="length that a turn counts as in `camera_distance_m` [m/rad]"
    )
    camera: str = Field(default="", description="the camera that is moved; empty for all, each in the same way")

    def __post_init__(self) -> None:
        if self.distance == self.angle == 0.0:
            raise ValueError("distance or angle above 0")


@record
class ObjectPosesParameters:
    """Parameters of ``object_poses`` in a session."""

    distance: float = Field(default=0.1, gt=0, le=1, description="radius of the disc of an object's places [m]")
    angle: float = Field(default=180.0, ge=0, le=180, description="greatest yaw that it is turned by [degree]")


class _Drawn(NamedPerturbation):
    """Base: conditions that a sound policy keeps its success in."""

    elsewhere = ELSEWHERE
    expectation = Expectation.KEEPS_SUCCESS


class CameraPose(_Drawn):
    """ΔO: a camera's place is uniform in a ball about the usual one, its turn in angle and in the axis."""

    axes = "O"
    parameters = CameraPoseParameters
    measures = ("camera_distance_m", "camera_moved_m", "camera_turned_rad")

    def __init__(self, parameters: CameraPoseParameters | None = None) -> None:
        """Take the session's parameters; the defaults without them."""
        self._p = p = parameters or CameraPoseParameters()
        self.camera = p.camera
        reach = f"{100 * p.distance:g}cm", f"{p.angle:g}deg"
        self.name = "_".join(filter(None, ("camera_pose", *reach, p.camera)))
        self.symbol = " ".join(filter(None, ("ΔO camera pose", *reach, p.camera)))
        which = f"the camera '{p.camera}'" if p.camera else "each camera"
        self.description = f"{which} is moved by up to {p.distance:g} m and turned by up to {p.angle:g} degrees"

    def supports(self, task: Task) -> bool:
        """Return whether the task has scenes to look at, as every task has."""
        return hasattr(task, "scenes")

    def changed(self, task: Task, base: TestInstance, scene: Scene, rng: np.random.Generator) -> Answer:
        """Return the instance with moved cameras; its distance is |dt| + beta * angle (seed 002)."""
        p = self._p
        moved, turned = p.distance * float(rng.random()) ** (1 / 3), math.radians(p.angle) * float(rng.random())
        place, turn = _direction(rng), _direction(rng)
        numbers = *(moved * part for part in place), *(turned * part for part in turn)
        values = moved + p.beta * turned, moved, turned
        instance = replace(
            base,
            observation=(*base.observation, Filter("moved_camera", 0, p.camera, numbers)),
            proof=Proof(SEEN_FROM, tuple(zip(self.measures, values, strict=True))),
        )
        return Perturbed(instance, f"camera moved by {moved:.3f} m and turned by {math.degrees(turned):.1f} degrees")


class Looks(_Drawn):
    """ΔS: light, background and table are each uniform among the task's."""

    name, symbol, axes = "looks", "ΔS looks", "S"
    description = "light, background and table are drawn anew"

    def supports(self, task: Task) -> bool:
        """Return whether the task has several of one of them."""
        return task.variation is not None and any(len(names) > 1 for names in task.variation.looks.values())

    def changed(self, task: Task, base: TestInstance, scene: Scene, rng: np.random.Generator) -> Answer:
        """Return the task's answer."""
        return task.variation.draw_looks(base, rng)


class ObjectPoses(_Drawn):
    """ΔS: all objects, also those that are named, are moved uniformly within a radius and turned."""

    axes = "S"
    parameters = ObjectPosesParameters
    measures = ("objects_moved_m", "target_moved_m", "target_turned_rad", "target_x_m", "target_y_m")

    def __init__(self, parameters: ObjectPosesParameters | None = None) -> None:
        """Take the session's parameters; the defaults without them."""
        self._p = p = parameters or ObjectPosesParameters()
        reach = f"{100 * p.distance:g}cm", f"{p.angle:g}deg"
        self.name = "_".join(("object_poses", *reach))
        self.symbol = " ".join(("ΔS object poses", *reach))
        self.description = f"all objects are moved by up to {p.distance:g} m and turned by up to {p.angle:g} degrees"

    def supports(self, task: Task) -> bool:
        """Return whether the task can move all its objects."""
        return task.variation is not None

    def changed(self, task: Task, base: TestInstance, scene: Scene, rng: np.random.Generator) -> Answer:
        """Return the task's answer."""
        return task.variation.draw_poses(base, self._p.distance, math.radians(self._p.angle), rng)


def _direction(rng: np.random.Generator) -> tuple[float, float, float]:
    """Return a unit vector whose direction is uniform among all."""
    x, y, z = rng.normal(size=3).tolist()
    length = math.sqrt(x * x + y * y + z * z)
    return x / length, y / length, z / length
