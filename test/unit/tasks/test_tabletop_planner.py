"""The planner of the task tabletop: grasps, heights, places, and reasons in words."""

import math
from dataclasses import replace

import numpy as np
import pytest
import shapely
from tabletop_scenes import asked, scene, tabletop

from robocontrast_ros.domain import Pose
from robocontrast_ros.domain.products import norm
from robocontrast_ros.objects import tool_pose
from robocontrast_ros.tasks.plans import NoPlan
from robocontrast_ros.tasks.protocol import Infeasible, Plan
from robocontrast_ros.tasks.tabletop import shapes
from robocontrast_ros.tasks.tabletop.hand import grasp_place

TASK = tabletop()


def plan(instruction, where):
    found = TASK.planner.plan(instruction, where)
    assert isinstance(found, Plan), found
    return found


def test_a_lone_cube_is_picked_from_straight_above():
    where = scene(red_cube=(0.5, 0.1, 0.3))
    found = plan(asked("pick", "red_cube"), where)
    path = np.asarray(found.path)
    assert tuple(path[0]) == TASK.scenes.start_position
    assert np.allclose(path[1:, :2], (0.5, 0.1))
    lifted = found.final_scene["red_cube"].pose.position[2]
    assert lifted > TASK.parameters.success.held and lifted == pytest.approx(path[-1, 2] - path[-2, 2])
    assert TASK.goals.goal(asked("pick", "red_cube"), where).satisfied(found.final_scene)


def test_the_tool_of_a_grasp_is_where_the_object_says():
    pose = Pose.planar(0.5, -0.1, 0.7)
    for name in ("red_cube", "red_mug", "banana", "red_bowl"):
        for grasp in TASK.library[name].grasps:
            for turn in range(grasp.turns):
                ours, theirs = grasp_place(pose, grasp, turn).pose, tool_pose(pose, grasp, turn)
                assert ours.distance_to(theirs) < 1e-9
                same = abs(sum(a * b for a, b in zip(ours.orientation, theirs.orientation, strict=True)))
                assert same == pytest.approx(1.0, abs=1e-9)


def test_the_hand_turns_so_that_its_fingers_have_room():
    alone = TASK.planner.handling(asked("pick", "red_cube"), scene(red_cube=(0.5, 0.0)))
    # A tall neighbour on each side along which the fingers would close.
    closing = alone.grasp.yaw + math.pi / 2
    x, y = 0.09 * math.cos(closing), 0.09 * math.sin(closing)
    beside = scene(red_cube=(0.5, 0.0), red_can=(0.5 + x, y), blue_can=(0.5 - x, -y))
    found = TASK.planner.handling(asked("pick", "red_cube"), beside)
    turned = math.remainder(found.grasp.yaw - alone.grasp.yaw, math.pi)
    assert abs(turned) == pytest.approx(math.pi / 2)


def test_a_target_that_is_walled_in_has_no_plan_and_the_wall_is_named():
    around = {name: (0.5 + 0.062 * math.cos(a), 0.062 * math.sin(a)) for name, a in CANS.items()}
    found = TASK.planner.plan(asked("pick", "red_cube"), scene(red_cube=(0.5, 0.0), **around))
    assert isinstance(found, Infeasible)
    assert found.reason.startswith("the open hand has no room at the red cube: the ")
    assert found.reason.endswith(" can is in the way")


CANS = {"red_can": 0.0, "blue_can": math.tau / 3, "green_can": 2 * math.tau / 3}


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ({"red_can": (0.5, 0.0)}, "the red cube is not in the scene"),
        ({"red_cube": (0.5, 0.0, 0.0, 0.115)}, "the red cube does not stand on the table"),
        ({"red_cube": (0.9, 0.0)}, "the red cube is outside the region where things stand"),
        ({"red_cube": (0.5, 0.1), "red_cracker_box": (0.3, 0.0, 0.0, 0.35)}, "stands where the hand starts"),
    ],
)
def test_what_cannot_be_picked_is_refused_in_words(where, reason):
    found = TASK.planner.plan(asked("pick", "red_cube"), scene(**where))
    assert isinstance(found, Infeasible) and reason in found.reason


def test_a_target_that_has_fallen_over_is_refused():
    lying = scene(red_can=(0.5, 0.0)).moved(
        "red_can", Pose((0.5, 0.0, 0.033), (0.0, math.sqrt(0.5), 0.0, math.sqrt(0.5)))
    )
    assert TASK.planner.premise(asked("pick", "red_can"), lying) == "the red can has fallen over"


def test_nothing_is_put_to_itself_or_where_it_does_not_fit():
    where = scene(red_cube=(0.5, 0.1), red_mug=(0.5, -0.1), red_can=(0.42, 0.0))
    assert "to itself" in TASK.planner.plan(asked("move_near", "red_cube", "red_cube"), where).reason
    assert TASK.planner.plan(asked("put_in", "red_can", "red_mug"), where).reason.startswith("the red can does not fit")
    with pytest.raises(ValueError, match="nothing can be put on 'red_mug'"):
        TASK.planner.plan(asked("put_on", "red_cube", "red_mug"), where)


@pytest.mark.parametrize(
    ("family", "target", "reference"),
    [
        ("move_near", "red_mug", "red_cracker_box"),
        ("stack", "red_cube", "blue_cube"),
        ("put_on", "red_cube", "red_can"),
        ("put_in", "red_cube", "red_bowl"),
    ],
)
def test_what_is_carried_goes_over_everything_and_ends_where_it_belongs(family, target, reference):
    where = scene(**{target: (0.42, 0.15, 0.4), reference: (0.55, -0.1, 1.0)}, white_mug=(0.42, -0.15))
    found = plan(asked(family, target, reference), where)
    _start, *_, grasp, lifted, over, opened, end = np.asarray(found.path)
    hangs = grasp[2]
    tallest = max(TASK.library[o.model].size[2] for o in where if o.name != target)
    assert lifted[2] == over[2] and lifted[2] - hangs >= tallest + TASK.parameters.placing.carry - 1e-9
    assert np.array_equal(over[:2], opened[:2]) and end[2] > opened[2]
    assert TASK.goals.goal(asked(family, target, reference), where).satisfied(found.final_scene)
    # Nothing else moves, and the target stands clear of what it is not put on or in.
    assert all(found.final_scene[o.name] == o for o in where if o.name != target)
    assert found.final_scene[target].pose.position[2] == pytest.approx(
        {"move_near": 0.0, "stack": 0.044, "put_on": 0.115, "put_in": 0.006}[family]
    )


def test_the_plan_is_the_shortest_of_those_that_have_room():
    """Blocking the place that it takes makes it longer."""
    where = scene(red_cube=(0.42, 0.15), blue_bowl=(0.52, -0.05))
    wanted = asked("move_near", "red_cube", "blue_bowl")
    free = plan(wanted, where)
    x, y = free.final_scene["red_cube"].pose.xy
    blocked = plan(wanted, scene(red_cube=(0.42, 0.15), blue_bowl=(0.52, -0.05), green_cube=(x, y)))
    assert free.length < blocked.length
    assert math.dist(blocked.final_scene["red_cube"].pose.xy, (x, y)) > 0.044


def test_an_end_of_the_region_leaves_no_place_near():
    """The reference stands so that everything near it is over the edge or taken."""
    narrow = replace(TASK.parameters, region=replace(TASK.parameters.region, x_min=0.46, x_max=0.54, y_min=-0.2))
    planner = type(TASK.planner)(narrow, TASK.library, TASK.goals)
    where = scene(red_cube=(0.5, 0.2), red_bowl=(0.5, -0.1), red_can=(0.5, 0.03))
    with pytest.raises(NoPlan, match="there is no free place near the red bowl: other things are in the way"):
        planner.handling(asked("move_near", "red_cube", "red_bowl"), where)


def test_a_plan_depends_on_the_scene_alone():
    where = scene(red_mug=(0.45, 0.2, 1.0), blue_bowl=(0.5, -0.1), red_can=(0.58, 0.1))
    wanted = asked("move_near", "red_mug", "blue_bowl")
    assert TASK.planner.plan(wanted, where) == tabletop.__wrapped__().planner.plan(wanted, where)


def test_the_open_hand_is_clear_of_everything_where_it_closes_and_opens():
    where = scene(red_cube=(0.42, 0.15), red_bowl=(0.55, -0.1), red_can=(0.57, 0.12), blue_mug=(0.42, 0.02))
    found = TASK.planner.handling(asked("put_in", "red_cube", "red_bowl"), where)
    hand = TASK.parameters.hand
    for name, place in (("red_can", found.grasp), ("blue_mug", found.grasp), ("red_can", found.place)):
        model = TASK.library[name]
        area = shapes.footprint(model, where[name].pose)
        c, s = math.cos(place.yaw), math.sin(place.yaw)
        for box in hand.boxes:
            if model.size[2] <= place.position[2] - box.high[2]:
                continue
            corners = [(x, -y) for x in (box.low[0], box.high[0]) for y in (box.low[1], box.high[1])]
            px, py, _ = place.position
            around = shapely.MultiPoint([(px + c * x - s * y, py + s * x + c * y) for x, y in corners]).convex_hull
            assert shapely.distance(around, area) >= hand.margin


def test_the_length_is_that_of_the_path():
    found = plan(asked("stack", "red_cube", "blue_cube"), scene(red_cube=(0.42, 0.15), blue_cube=(0.55, -0.1)))
    assert found.length == pytest.approx(float(norm(np.diff(np.asarray(found.path), axis=0)).sum()))
