"""Scenes that the task tabletop draws: gaps, reach, rest, not solved, and the way of the hand free."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tabletop_scenes import TASK_FILE

sys.path.append(str(Path(__file__).resolve().parents[3]))

from benchmark.tabletop_scenes import instances, properties
from robocontrast_ros.configuration import ConfigurationError, load_record
from robocontrast_ros.robots.kinematics import Kinematics
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.tasks.tabletop import Tabletop
from robocontrast_ros.tasks.tabletop.hand import ToolPlace
from robocontrast_ros.tasks.tabletop.parameters import TabletopParameters
from robocontrast_ros.tasks.tabletop.scenes import objects_in_use, views_of

ARMS = ("franka_hand", "ur5e_2f85")
SCENES = 15


@pytest.fixture(scope="module")
def task():
    return Tabletop.from_file(TASK_FILE)


@pytest.fixture(scope="module")
def drawn(task):
    return list(instances(task, SCENES))


@pytest.mark.parametrize(("name", "check"), properties().items())
def test_every_scene_that_is_drawn_is_as_it_has_to_be(task, drawn, name, check):
    """A few here; `python -m benchmark.tabletop_scenes` checks thousands."""
    assert [x.instance_id for x in drawn if not check(task, x)] == []


def test_the_number_of_things_is_that_of_the_task(task, drawn):
    fewest, most = task.parameters.sampling.objects
    assert all(fewest <= len(task.planner.movable(x.scene)) <= most for x in drawn)


def test_scenes_have_one_fixture_of_each_kind(task, drawn):
    for instance in drawn:
        fixed = [task.library[o.model].category for o in instance.scene if task.library[o.model].fixed]
        assert sorted(fixed) == ["background", "light", "table"]


def test_both_hands_fit_into_the_boxes_of_the_task(task):
    hand = task.parameters.hand
    ours = [(np.array(box.low), np.array(box.high)) for box in hand.boxes]
    for name in ARMS:
        effector = load_profile(name).end_effector
        assert effector.greatest_width >= hand.opening
        assert max(effector.tips(width) for width in np.linspace(0.0, hand.opening, 9)) <= hand.tip
        for box in effector.envelope:
            low, high = np.subtract(box.center, box.half), np.add(box.center, box.half)
            # Each slice across the tool's axis is inside one of the boxes.
            for z in np.linspace(low[2], high[2], 9):
                inside = [
                    (low[:2] >= a[:2] - 1e-9).all()
                    and (high[:2] <= b[:2] + 1e-9).all()
                    and a[2] <= z + 1e-9
                    and z <= b[2] + 1e-9
                    for a, b in ours
                ]
                assert any(inside), (name, box, z)


@pytest.mark.parametrize("name", ARMS)
def test_the_region_is_reached_from_above_at_every_turn(task, name):
    p = task.parameters
    kinematics = Kinematics(load_profile(name))
    for x in (p.region.x_min, p.region.x_max):
        for y in (p.region.y_min, p.region.y_max):
            for yaw in (-1.5, 0.0, 1.5):
                for z in (0.02, 0.3):
                    kinematics.posture(ToolPlace((x, y, z), yaw).pose)


def test_a_draw_depends_on_its_generator_alone(task, drawn):
    again = task.sample(np.random.default_rng(3), "x3", task.families[3])
    assert again == drawn[3]


def test_forty_objects_have_no_free_place():
    parameters = load_record(TabletopParameters, TASK_FILE)
    few = replace(parameters.sampling, objects=(40, 40), place_draws=20, scene_draws=2, condition_draws=2)
    parameters = replace(parameters, sampling=few)
    crowded = Tabletop(
        parameters, objects_in_use(parameters, str(TASK_FILE)), lambda scene: scene, views_of(parameters, {})
    )
    with pytest.raises(
        ConfigurationError, match=r"there is no free place for '.*'\. Use fewer objects, lower `sampling\.gap`"
    ):
        crowded.sample(np.random.default_rng(0), "x", "pick")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"objects": ("mug", "unicorn")}, r"`objects\.1`: got 'unicorn', expected a known object"),
        ({"objects": ("mug",)}, r"`sampling\.objects`: .*expected at most the \d objects in use"),
    ],
)
def test_objects_that_do_not_fit_the_task_are_refused(changes, message):
    parameters = replace(load_record(TabletopParameters, TASK_FILE), **changes)
    with pytest.raises(ConfigurationError, match=message):
        objects_in_use(parameters, "tabletop.yaml")


def test_a_fixture_of_another_kind_is_refused():
    parameters = load_record(TabletopParameters, TASK_FILE)
    wrong = replace(parameters, fixtures=replace(parameters.fixtures, tables=("ceiling_lamp",)))
    with pytest.raises(
        ConfigurationError, match=r"`fixtures\.tables\.0`: got 'ceiling_lamp', expected a known table: .*oak"
    ):
        objects_in_use(wrong, "tabletop.yaml")
