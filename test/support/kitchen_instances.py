"""The kitchen with a problem of each family, and its instances, made once."""

from __future__ import annotations

from functools import cache

import numpy as np

from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.tasks.bddl import Kitchen as Buildable
from robocontrast_ros.tasks.bddl import read_domain, read_types
from robocontrast_ros.tasks.kitchen import Kitchen

TASK_FILE = resolve_uri("package://robocontrast_ros/config/tasks/kitchen.yaml")

PROBLEMS = (
    "kitchen_1_open_top_drawer",
    "kitchen_6_close_microwave",
    "kitchen_3_turn_on_stove",
    "kitchen_8_turn_off_stove",
    "kitchen_5_bowl_on_plate",
    "kitchen_10_bowl_in_top_drawer",
    "kitchen_2_middle_bowl_on_back_bowl",
    "living_room_6_pudding_left_of_plate",
    "living_room_6_pudding_right_of_plate",
)
"""A problem of each family."""


BUILDABLE = Buildable(read_types(), read_domain())
"""The types and the operators of the kitchen's problems."""


@cache
def every_kitchen():
    """Return the kitchen with all problems."""
    return Kitchen.from_file(TASK_FILE)


def fresh():
    """Return a kitchen of its own with a problem of each family, whose things were read once."""
    whole = every_kitchen()
    return Kitchen(
        whole.parameters,
        whole.things,
        BUILDABLE,
        {name: whole.skills[name] for name in PROBLEMS},
    )


KITCHEN = fresh()


@cache
def instance(name, seed=0):
    """Return an instance of a problem, by its name."""
    return every_kitchen().sample_of(name, np.random.default_rng(seed), f"{name}-{seed}")
