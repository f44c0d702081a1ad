"""ΔL, ΔLB, ΔS and ΔSB in the kitchen: what each claims holds by predicates and planner, and one thing is handled."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from kitchen_instances import every_kitchen, instance

from robocontrast_ros.configuration import load_plugin
from robocontrast_ros.domain import NotApplicable, Perturbed, Pose, whole_of
from robocontrast_ros.objects import fixed_models
from robocontrast_ros.objects.joints import part_pose
from robocontrast_ros.strategies.effort import Tolerance, Tolerances, setup_moves
from robocontrast_ros.tasks.bddl import Atom
from robocontrast_ros.tasks.kitchen.goals import atom_of
from robocontrast_ros.tasks.kitchen.neighbourhood import CHANGES, REDIRECTED, REWORDED, STAYS
from robocontrast_ros.tasks.kitchen.predicates import STATES
from robocontrast_ros.tasks.plans import Plan
from robocontrast_ros.tasks.tabletop import shapes

TASK = every_kitchen()
NAMES = ("L", "LB", "S", "SB")
ALL = {name: load_plugin("perturbations", name, "test", "")() for name in NAMES}
CLAIMS = {"L": REWORDED, "LB": REDIRECTED, "S": STAYS, "SB": CHANGES}
PROBLEMS = (
    "kitchen_1_open_top_drawer",
    "kitchen_1_open_bottom_drawer",
    "kitchen_10_close_top_drawer",
    "kitchen_6_close_microwave",
    "kitchen_3_turn_on_stove",
    "kitchen_2_front_bowl_on_plate",
    "kitchen_5_bowl_in_top_drawer",
    "kitchen_8_right_pot_on_stove",
    "living_room_6_pudding_left_of_plate",
)
KNOBS = ("kitchen_3_turn_on_stove",)
"""A hand turns a knob from above, whatever its position is, and has no other way around what is beside it."""


def apply(name, base, where, seed=0):
    return ALL[name].apply(TASK, base, where, np.random.default_rng(seed))


def after_success(base):
    return TASK.planner.plan(base.instruction, base.scene).final_scene


@pytest.fixture(scope="module")
def answers():
    """All four in each problem's own scene, and in that which a solved trial leaves."""
    found = []
    for name in PROBLEMS:
        base = instance(name)
        for own, where in ((True, base.scene), (False, after_success(base))):
            found += [(which, base, own, where, apply(which, base, where)) for which in NAMES]
    return found


def of(answers, *names):
    return [
        (base, own, where, answer.instance)
        for name, base, own, where, answer in answers
        if name in names and isinstance(answer, Perturbed)
    ]


def moved(before, after):
    """The names of what was changed; nothing comes or goes."""
    assert after.names == before.names
    return [o.name for o in before if after[o.name] != o]


def way(said, scene):
    planner = TASK.planner
    return (planner.joint_way if atom_of(said).predicate in STATES else planner.handling)(said, scene)


def is_done(said, scene):
    return TASK.predicates.holds(atom_of(said), scene)


def test_what_comes_out_has_a_plan_is_not_fulfilled_and_is_understood(answers):
    for name in NAMES:
        for _, _, _, new in of(answers, name):
            plan = TASK.planner.plan(new.instruction, new.scene)
            assert isinstance(plan, Plan)
            assert not is_done(new.instruction, new.scene)
            assert is_done(new.instruction, plan.final_scene)
            assert TASK.premise(new.instruction, new.scene) is None
            measures = dict(new.proof.measures)
            assert new.proof.claim == CLAIMS[name]
            assert measures["path_after_m"] == plan.length == new.optimal_path_length
            assert all(math.isfinite(value) for value in measures.values())


@pytest.mark.parametrize("name", NAMES)
def test_each_applies_in_every_problems_own_scene_but_no_other_way_leads_to_a_knob(answers, name):
    refused = {
        base.instance_id.rpartition("-")[0]
        for which, base, own, _, answer in answers
        if which == name and own and isinstance(answer, NotApplicable)
    }
    assert refused == set(KNOBS if name == "SB" else ())


def test_what_does_not_apply_says_why(answers):
    for name, _, own, _, answer in answers:
        if isinstance(answer, NotApplicable):
            assert answer.reason
        assert own or name not in ("L", "S") or isinstance(answer, NotApplicable)


def test_other_words_mean_the_same_and_the_scene_stays(answers):
    for base, _, where, new in of(answers, "L"):
        assert moved(where, new.scene) == []
        assert new.instruction.text != base.instruction.text
        assert TASK.language.parse(new.instruction.text, where).arguments == base.instruction.arguments
        assert TASK.planner.plan(new.instruction, where).path == TASK.planner.plan(base.instruction, where).path


def test_another_request_is_missed_by_who_does_what_was_said_before_and_the_other_way_round(answers):
    for base, own, where, new in of(answers, "LB"):
        assert moved(where, new.scene) == []
        assert atom_of(new.instruction) != atom_of(base.instruction)
        assert not is_done(new.instruction, where)
        if own:
            assert not is_done(new.instruction, after_success(base))
            assert not is_done(base.instruction, TASK.planner.plan(new.instruction, where).final_scene)


def test_another_drawer_is_preferred_to_another_skill(answers):
    asked = {base.instance_id: new.instruction for base, own, _, new in of(answers, "LB") if own}
    other = asked["kitchen_1_open_top_drawer-0"]
    assert other.family == "open"
    assert other.get("target") in ("cabinet/middle_drawer", "cabinet/bottom_drawer")
    # Where all others are closed, closing one more makes no sense; and a drawer that is out is above those below it.
    assert asked["kitchen_10_close_top_drawer-0"].family not in ("open", "close")


def test_no_hand_comes_to_a_drawer_below_one_that_is_out():
    base = instance("kitchen_10_close_top_drawer")
    below = replace(base.instruction, family="open", arguments=(("target", "cabinet/bottom_drawer"),))
    assert "is in the way of the hand" in TASK.planner.plan(below, base.scene).reason
    assert isinstance(TASK.planner.plan(below, after_success(base)), Plan)


def test_one_thing_is_handled_and_it_costs_something(answers):
    usual = Tolerance(0.002, math.radians(2.0))
    tolerances = Tolerances(usual, fixed=fixed_models(TASK.scenes.models.values()))
    for base, _, where, new in of(answers, "S", "SB"):
        (name,) = moved(where, new.scene)
        assert new.instruction == base.instruction
        moves = setup_moves(where, new.scene, tolerances)
        assert [move.name for move in moves] == [name]
        assert dict(new.proof.measures)["moved_m"] == where[name].pose.distance_to(new.scene[name].pose)


def test_what_is_moved_stands_free_or_is_on_its_joint(answers):
    for _, _, where, new in of(answers, "S", "SB"):
        (name,) = moved(where, new.scene)
        state, models = new.scene[name], TASK.things.models
        if state.model in TASK.things.parts:
            joint = TASK.things.parts[state.model].joint
            position = TASK.things.position(new.scene, name)
            assert joint.range[0] <= position <= joint.range[1]
            on_it = part_pose(new.scene[whole_of(name)].pose, joint, position)
            assert on_it.distance_to(state.pose) < 1e-9
            if models[state.model].cavity is not None:
                assert not any(TASK.predicates.holds(Atom("In", (o, name)), where) for o in things(where))
            continue
        assert not models[state.model].fixed
        assert shapes.is_upright(state.pose)
        assert abs(state.pose.position[2]) < 0.002
        own = shapes.footprint(models[state.model], state.pose)
        for other in TASK.planner.movable(new.scene):
            if other.name != name:
                gap = shapes.gap(own, shapes.footprint(models[other.model], other.pose))
                assert gap >= TASK.parameters.placing.gap - 1e-9


def things(scene):
    return [o.name for o in scene if not TASK.things.models[o.model].fixed]


def test_a_bystander_is_not_named_and_leaves_the_way_as_it_is(answers):
    for base, _, where, new in of(answers, "S"):
        (name,) = moved(where, new.scene)
        assert name not in dict(base.instruction.arguments).values()
        assert way(new.instruction, new.scene) == way(base.instruction, where)


def test_parts_and_things_are_both_bystanders():
    base = instance("kitchen_10_close_top_drawer")
    handled = {moved(base.scene, apply("S", base, base.scene, seed).instance.scene)[0] for seed in range(8)}
    assert any(name.startswith("cabinet/") for name in handled)
    assert not all(name.startswith("cabinet/") for name in handled)


def test_the_way_before_misses_what_was_moved_or_meets_what_was_put_into_it(answers):
    p = TASK.parameters.perturbing
    for base, own, where, new in of(answers, "SB"):
        (name,) = moved(where, new.scene)
        said, measures = base.instruction, dict(new.proof.measures)
        start = where if own else base.scene
        named = list(dict(said.arguments).values())
        if name not in named:
            assert measures["touched"] == 1.0
            assert way(said, new.scene) != way(said, start)
        elif atom_of(said).predicate in STATES:
            before, after = (TASK.planner.joint_way(said, scene) for scene in (start, new.scene))
            hands = [
                way.tool(TASK.things.position(s, name)).position for way, s in ((before, start), (after, new.scene))
            ]
            assert math.dist(*hands) >= p.off_grasp - 1e-9
        elif name == said.get("target"):
            grasp = TASK.planner.handling(said, start).grasp.position
            area = shapes.footprint(TASK.things.models[new.scene[name].model], new.scene[name].pose)
            assert area.distance(shapes.shapely.Point(grasp[:2])) >= p.off_grasp - 1e-9
        else:
            end = TASK.planner.handling(said, start).target
            assert not is_done(said, new.scene.moved(said.get("target"), end))


def test_what_lies_in_a_drawer_keeps_it_where_it_is():
    base = instance("kitchen_5_bowl_in_top_drawer")
    full = after_success(base)
    seen = set()
    for seed in range(2):
        answer = apply("SB", base, full, seed)
        if isinstance(answer, Perturbed):
            seen.update(moved(full, answer.instance.scene))
    assert "cabinet/top_drawer" not in seen


def test_a_drawer_is_not_opened_against_what_stands_before_it():
    base = instance("kitchen_1_open_top_drawer")
    cabinet = base.scene["cabinet"].pose
    x, y = (a + 0.2 * b for a, b in zip(cabinet.xy, (math.cos(cabinet.yaw), math.sin(cabinet.yaw)), strict=True))
    blocked = base.scene.moved("black_bowl", Pose.planar(x, y, 0.0))
    for name in ("cabinet/middle_drawer", "cabinet/bottom_drawer"):
        assert TASK.relocation.relocate(base.instruction, name, blocked, np.random.default_rng(0)) is None


def test_a_fixture_stays_and_a_thing_is_relocated_where_the_words_make_sense():
    base = instance("kitchen_5_bowl_on_plate")
    assert TASK.relocation.relocate(base.instruction, "cabinet", base.scene, np.random.default_rng(0)) is None
    scene = TASK.relocation.relocate(base.instruction, "black_bowl", base.scene, np.random.default_rng(0))
    assert moved(base.scene, scene) == ["black_bowl"]
    assert TASK.premise(base.instruction, scene) is None


def test_what_is_in_the_air_or_gone_is_said():
    base = instance("living_room_6_pudding_left_of_plate")
    x, y = base.scene["red_mug"].pose.xy
    held = base.scene.moved("red_mug", Pose((x, y, 0.2)))
    gone = replace(base.scene, objects=tuple(o for o in base.scene if o.name != "plate"))
    for name in NAMES:
        assert "is in the air" in apply(name, base, held).reason
        assert "is not there" in apply(name, base, gone).reason


def test_the_same_generator_gives_the_same_perturbation(answers):
    for name, base, _, where, answer in answers[:4]:
        assert apply(name, base, where) == answer


def test_the_target_is_handled_and_a_drawer_with_what_lies_in_it():
    base = instance("kitchen_5_bowl_in_top_drawer")
    handled = TASK.handling.handled
    assert handled(base.instruction, base.scene) == ("black_bowl",)
    full = after_success(base)
    close = replace(base.instruction, family="close", arguments=(("target", "cabinet/top_drawer"),))
    assert handled(close, full) == ("cabinet/top_drawer", "black_bowl")
    assert "cabinet/bottom_drawer" not in handled(close, full)
    assert TASK.handling.lowest(full, "black_bowl") > 0.0
