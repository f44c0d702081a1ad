"""The planner of the kitchen: a plan for each family, its final scene, and what is in the way."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.domain import Pose
from robocontrast_ros.tasks.kitchen import Kitchen
from robocontrast_ros.tasks.kitchen.parameters import FAMILIES
from robocontrast_ros.tasks.kitchen.planner import SlidingPlan
from robocontrast_ros.tasks.plans import NoPlan
from robocontrast_ros.tasks.protocol import Infeasible, Plan
from robocontrast_ros.tasks.tabletop import shapes

TASK = Kitchen.from_file(resolve_uri("package://robocontrast_ros/config/tasks/kitchen.yaml"))
OF_FAMILY = {
    "open": "kitchen_1_open_bottom_drawer",
    "close": "kitchen_6_close_microwave",
    "turn_on": "kitchen_3_turn_on_stove",
    "turn_off": "kitchen_8_turn_off_stove",
    "put_on": "kitchen_5_bowl_on_cabinet",
    "put_in": "kitchen_4_bottle_in_bottom_drawer",
    "stack": "kitchen_2_middle_bowl_on_back_bowl",
    "put_left": "living_room_6_pudding_left_of_plate",
    "put_right": "kitchen_7_bowl_right_of_plate",
}


@functools.cache
def drawn(skill):
    """Return a scene of a skill; scenes are never changed, so that tests share them."""
    return TASK.sample_of(skill, np.random.default_rng(0), skill)


def placed_in_a_row(scene, name, where):
    return scene.moved(name, Pose.planar(*where, scene[name].pose.yaw, scene[name].pose.position[2]))


DEAR = ("put_in", "put_right")
"""Families whose plans take longest; that beside them, on and to the left, are alike."""


@pytest.mark.parametrize(
    "skill",
    [
        *(pytest.param(skill, marks=[pytest.mark.long] * (family in DEAR)) for family, skill in OF_FAMILY.items()),
        "kitchen_4_bottle_on_rack",
        "kitchen_9_pan_under_shelf",
    ],
)
def test_the_final_scene_of_a_plan_fulfils_the_goal_which_did_not_hold_before(skill):
    instance = drawn(skill)
    found = TASK.planner.plan(instance.instruction, instance.scene)
    assert isinstance(found, Plan)
    goal = TASK.goals.goal(instance.instruction, instance.scene)
    assert not goal.satisfied(instance.scene) and goal.satisfied(found.final_scene)
    assert found.path[0] == TASK.scenes.start_position


def test_every_family_has_a_skill():
    assert set(OF_FAMILY) == set(FAMILIES) == set(TASK.families)


def test_what_stands_before_a_drawer_is_named():
    instance = drawn("kitchen_1_open_bottom_drawer")
    x, y, _ = instance.scene["cabinet/bottom_drawer"].pose.position
    found = TASK.planner.plan(instance.instruction, placed_in_a_row(instance.scene, "plate", (x - 0.12, y)))
    assert isinstance(found, Plan)  # The hand comes from above it.
    found = TASK.planner.plan(instance.instruction, placed_in_a_row(instance.scene, "black_bowl", (x - 0.1, y)))
    assert found == Infeasible("the black bowl is in the way of the hand at the cabinet/bottom drawer")


def test_a_pan_slides_under_the_shelf_while_its_hand_stays_before_it():
    instance = drawn("kitchen_9_pan_under_shelf")
    way = TASK.planner.handling(instance.instruction, instance.scene)
    assert isinstance(way, SlidingPlan)
    shelf, pan = instance.scene["shelf"], instance.scene["frying_pan"]
    front = min(x for x, _ in shapes.corners(shapes.footprint(TASK.things.models["shelf"], shelf.pose)))
    assert way.entry.position[0] < way.place.position[0] < front
    assert front < way.target.position[0] and way.entry.position[2] > pan.pose.position[2] + 0.03


def test_what_stands_before_the_shelf_is_named():
    instance = drawn("kitchen_9_pan_under_shelf")
    way = TASK.planner.handling(instance.instruction, instance.scene)
    x, y, _ = way.entry.position
    with pytest.raises(NoPlan, match="the white bowl is in the way of the frying pan into the shelf"):
        TASK.planner.handling(instance.instruction, placed_in_a_row(instance.scene, "white_bowl", (x + 0.2, y + 0.03)))


def test_a_drawer_that_is_nearly_shut_has_no_room():
    instance = drawn("kitchen_4_bottle_in_bottom_drawer")
    part = "cabinet/bottom_drawer"
    joint = TASK.things.joint(instance.scene, part)
    shut = instance.scene.moved(part, _with(instance.scene, part, joint, 0.05))
    assert isinstance(TASK.planner.plan(instance.instruction, shut), Infeasible)


def _with(scene, part, joint, position):
    from robocontrast_ros.objects.joints import part_pose

    return part_pose(scene[part.partition("/")[0]].pose, joint, position)


def test_of_three_bowls_the_one_between_the_others_is_in_the_middle():
    instance = drawn("kitchen_2_middle_bowl_on_plate")
    words = "put the bowl in the middle on the plate"
    assert TASK.language.parse(words, instance.scene).get("target") == "middle_bowl"
    ahead = placed_in_a_row(instance.scene, "front_bowl", (0.36, -0.3))
    aside = placed_in_a_row(ahead, "back_bowl", (0.36, 0.1))
    corner = placed_in_a_row(aside, "middle_bowl", (0.7, -0.1))
    with pytest.raises(ValueError, match="may name"):
        TASK.language.parse(words, corner)
    assert "in the middle" in {w[w.find("in the") :] for w, _ in TASK.language.called("middle_bowl", instance.scene)}
