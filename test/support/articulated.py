"""A cabinet with three drawers, and scenes with it."""

from __future__ import annotations

import math

from robocontrast_ros.domain import ObjectState, Pose, Scene
from robocontrast_ros.objects import SHIPPED, model_of_uri
from robocontrast_ros.objects.joints import part_pose, position_in

URI = f"{SHIPPED}/kitchen/cabinet.yaml#brown"
CABINET = model_of_uri(URI)
HERE = Pose.planar(0.85, 0.1, math.pi)
"""Its front is towards the robot, whose hand is far from the open drawers."""


def cabinet_scene(**positions):
    """Return the cabinet with its drawers pulled out so far [m]; those not named are closed."""
    parts = (
        ObjectState(name, name, part_pose(HERE, part.joint, positions.get(part.name, 0.0)))
        for part in CABINET.joints
        for name in [f"brown_cabinet/{part.name}"]
    )
    return Scene((ObjectState("brown_cabinet", "brown_cabinet", HERE), *parts))


def drawers(scene):
    """Return how far the drawers are pulled out [m], the lowest first."""
    return [position_in(scene, f"brown_cabinet/{part.name}", part.joint) for part in CABINET.joints]
