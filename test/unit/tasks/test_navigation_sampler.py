"""Thousands of generated apartments: nothing overlaps, all is inside, goals can be reached."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import shapely
from vln_scenes import APARTMENT, instance

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.tasks.navigation import VisionLanguageNavigation
from robocontrast_ros.tasks.navigation.placing import Placer
from robocontrast_ros.tasks.navigation.routes import path_length

P = APARTMENT.parameters
FURNISHED = 400
GENERATED = 250


def polygons(scene):
    return [APARTMENT.planner.shapes.polygon(o.model, o.pose) for o in scene]


def test_nothing_overlaps_and_all_is_inside_in_hundreds_of_furnished_rooms():
    placer, rng = Placer(APARTMENT.planner.shapes), np.random.default_rng(0)
    room = shapely.box(0, 0, P.room.length, P.room.width)
    inner = room.buffer(-P.generator.wall_gap + 1e-6, join_style="mitre")
    done = 0
    while done < FURNISHED:
        scene = placer.draw(P.objects, rng)
        if scene is None:
            continue
        done += 1
        shapes = np.array(polygons(scene), dtype=object)
        assert shapely.covers(inner, shapes).all()
        a, b = np.triu_indices(len(shapes), 1)
        assert shapely.distance(shapes[a], shapes[b]).min() >= P.generator.gap - 1e-9
        assert {o.name: o.model for o in scene} == P.objects


def test_furniture_stands_where_such_things_stand():
    placer, rng = Placer(APARTMENT.planner.shapes), np.random.default_rng(1)
    walls = shapely.box(0, 0, P.room.length, P.room.width).exterior
    for scene in filter(None, (placer.draw(P.objects, rng) for _ in range(60))):
        shapes = dict(zip(scene.names, polygons(scene), strict=True))
        for o in scene:
            match P.furniture[o.model].stands:
                case "at_wall":
                    assert shapely.distance(walls, shapely.points(_back(o))).max() < 0.06
                case "near_wall":
                    assert shapes[o.name].distance(walls) <= P.generator.wall_gap + 0.3 + 0.01
                case "at_table":
                    seats = [s for n, s in shapes.items() if P.furniture[P.objects[n]].seats]
                    assert min(shapes[o.name].distance(s) for s in seats) < 0.35


def _back(o):
    """Corners of the back side of an object's footprint, world frame."""
    outline = np.array(APARTMENT.scenes.outline(o.model))
    ends = outline[np.isclose(outline[:, 0], outline[:, 0].min())]
    c, s = math.cos(o.pose.yaw), math.sin(o.pose.yaw)
    return ends @ np.array([[c, s], [-s, c]]) + o.pose.xy


@pytest.mark.parametrize("block", [0, *(pytest.param(more, marks=pytest.mark.long) for more in range(1, 5))])
def test_every_generated_instance_can_be_given_and_has_two_long_halves(block):
    for seed in range(block * GENERATED // 5, (block + 1) * GENERATED // 5):
        base = instance(seed)
        plan = APARTMENT.planner.floor_plan(base.scene)
        assert APARTMENT.make_instance(base.instance_id, base.instruction, base.scene) == base
        assert APARTMENT.language.parse(base.instruction.text, base.scene) == base.instruction
        route = APARTMENT.planner.route(base.instruction, base.scene)
        assert P.generator.path[0] <= route.length <= P.generator.path[1]
        assert min(path_length(route.first_half), path_length(route.second_half)) >= P.generator.leg
        goal = APARTMENT.goals.goal(base.instruction, base.scene)
        assert not any(subgoal.satisfied(base.scene) for subgoal in goal.subgoals)
        final = APARTMENT.planner.plan(base.instruction, base.scene).final_scene
        assert goal.satisfied(final)
        assert replace(final, robot=base.scene.robot) == base.scene
        # Most of the floor that the base has room on can be reached from its start.
        reached = [g for g in shapely.get_parts(plan.free_space) if g.covers(shapely.Point(base.scene.robot.xy))]
        assert reached
        assert reached[0].area >= P.generator.open_share * plan.free_space.area


def test_the_same_seed_gives_the_same_instance_and_another_seed_another():
    for seed in range(5):
        again = APARTMENT.sample(np.random.default_rng(seed), f"x{seed}", "generated")
        assert again == instance(seed)
        assert replace(APARTMENT.sample(np.random.default_rng(seed), f"x{seed}"), instance_id="") == replace(
            again, instance_id=""
        )
    assert len({instance(seed).scene for seed in range(20)}) == 20


@pytest.mark.parametrize("apartments", [150, pytest.param(GENERATED, marks=pytest.mark.long)])
def test_all_places_are_goals_about_equally_often(apartments):
    last = Counter(APARTMENT.planner.named(instance(seed).instruction)[1] for seed in range(apartments))
    assert set(last) == set(P.furniture)
    assert max(last.values()) < 4 * min(last.values())


def test_an_unknown_family_is_refused_by_name():
    with pytest.raises(ValueError, match=r"got 'arrangement_9', expected one of arrangement_1, .*generated"):
        APARTMENT.sample(np.random.default_rng(0), "x", "arrangement_9")


def test_a_room_without_space_is_refused_and_not_searched_for_ever():
    small = VisionLanguageNavigation(
        replace(P, room=replace(P.room, length=2.5, width=2.5), generator=replace(P.generator, draws=3))
    )
    with pytest.raises(ConfigurationError, match=r"`generator\.draws`: got 3, .* Give the room more space"):
        small.sample(np.random.default_rng(0), "x")
