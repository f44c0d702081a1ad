"""Scenes that the task tabletop draws: gaps, reach, rest, not solved, and the way of the hand free."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import shapely
from tabletop_scenes import TASK_FILE, tabletop

from robocontrast_ros.configuration import ConfigurationError, load_record
from robocontrast_ros.domain.products import norm
from robocontrast_ros.objects.settling import settle
from robocontrast_ros.robots.kinematics import Kinematics
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.tasks.tabletop import Tabletop, shapes
from robocontrast_ros.tasks.tabletop.goals import named
from robocontrast_ros.tasks.tabletop.hand import ToolPlace
from robocontrast_ros.tasks.tabletop.parameters import TabletopParameters
from robocontrast_ros.tasks.tabletop.scenes import SETTLED_GAP, objects_in_use

ARMS = ("franka_hand", "ur5e_2f85")
SCENES = 15


@pytest.fixture(scope="module")
def task():
    return Tabletop.from_file(TASK_FILE)


@pytest.fixture(scope="module")
def drawn(task):
    return [task.sample(np.random.default_rng(seed), f"x{seed}", task.families[seed % 5]) for seed in range(SCENES)]


def test_things_stand_apart_inside_the_region(task, drawn):
    p = task.parameters
    region = shapely.box(p.region.x_min, p.region.y_min, p.region.x_max, p.region.y_max)
    for instance in drawn:
        things = task.planner.movable(instance.scene)
        assert p.sampling.objects[0] <= len(things) <= p.sampling.objects[1]
        areas = [shapes.footprint(task.library[o.model], o.pose) for o in things]
        assert all(region.covers(area) and shapes.is_upright(o.pose) for area, o in zip(areas, things, strict=True))
        for i, a in enumerate(things):
            for j, b in enumerate(things[:i]):
                first = {a.name, b.name} & set(named(instance.instruction))
                least = p.sampling.named_gap if first else p.sampling.gap
                assert shapes.gap(areas[i], areas[j]) >= least * SETTLED_GAP


def test_scenes_have_one_fixture_of_each_kind(task, drawn):
    for instance in drawn:
        fixed = [task.library[o.model].category for o in instance.scene if task.library[o.model].fixed]
        assert sorted(fixed) == ["background", "light", "table"]


def test_scenes_are_settled(task, drawn):
    """Settling once more moves nothing."""
    for instance in drawn[:5]:
        again = settle(instance.scene, task.library, task.parameters.world)
        assert again.still
        assert all(o.pose.distance_to(again.scene[o.name].pose) < 5e-4 for o in instance.scene)


def test_instances_are_not_solved_and_their_plans_reach_the_goal(task, drawn):
    for instance in drawn:
        goal = task.goals.goal(instance.instruction, instance.scene)
        found = task.planner.plan(instance.instruction, instance.scene)
        assert not goal.satisfied(instance.scene) and goal.satisfied(found.final_scene)
        assert found.length == instance.optimal_path_length
        assert task.planner.premise(instance.instruction, instance.scene) is None


def test_the_way_of_the_hand_is_free(task, drawn):
    """Along the whole path, in steps of 5 mm, no box of the open hand reaches into anything but the target."""
    for instance in drawn:
        target, *reference = named(instance.instruction)
        # The fingers may reach into what is hollow.
        hollow = reference if instance.instruction.family in ("put_on", "put_in") else []
        way = task.planner.handling(instance.instruction, instance.scene)
        others = [o for o in task.planner.movable(instance.scene) if o.name not in (target, *hollow)]
        solids = [(shapes.footprint(task.library[o.model], o.pose), task.library[o.model].size[2]) for o in others]
        path = np.asarray(way.path)
        for k, (a, b) in enumerate(itertools.pairwise(path)):
            # The hand turns where it is above everything; below, it has the turn of the grasp, or of the place.
            lowest = min(a[2], b[2])
            turn = way.grasp if way.place is None or k < len(path) - 3 else way.place
            for share in np.linspace(0.0, 1.0, max(int(norm(b - a) / 0.005), 2)):
                point = a + share * (b - a)
                clear = lowest - task.parameters.hand.tip >= max(top for _, top in solids)
                if clear:
                    break
                assert no_box_inside(ToolPlace(tuple(point.tolist()), turn.yaw), task.parameters.hand.boxes[:3], solids)


def no_box_inside(tool, boxes, solids):
    c, s = np.cos(tool.yaw), np.sin(tool.yaw)
    x, y, z = tool.position
    for box in boxes:
        corners = [(u, -v) for u in (box.low[0], box.high[0]) for v in (box.low[1], box.high[1])]
        area = shapely.MultiPoint([(x + c * u - s * v, y + s * u + c * v) for u, v in corners]).convex_hull
        for solid, top in solids:
            if top > z - box.high[2] and area.intersects(solid):
                return False
    return True


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
    crowded = tabletop(objects=(40, 40), place_draws=20, scene_draws=2, condition_draws=2)
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
