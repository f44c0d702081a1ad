"""ΔL, ΔLB, ΔS and ΔSB on the table: what each claims holds, by another account than its own."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import shapely
from shapely import affinity
from tabletop_scenes import asked, scene, tabletop

from robocontrast_ros.configuration import load_plugin
from robocontrast_ros.domain import NotApplicable, Perturbed, Pose
from robocontrast_ros.tasks.tabletop import shapes
from robocontrast_ros.tasks.tabletop.hand import HandRoom
from robocontrast_ros.tasks.tabletop.neighbourhood import CHANGES, REDIRECTED, REWORDED, STAYS
from robocontrast_ros.tasks.tabletop.parameters import FAMILIES

TASK = tabletop()
P = TASK.parameters
N = P.perturbing
NAMES = ("L", "LB", "S", "SB")
ALL = {name: load_plugin("perturbations", name, "test", "")() for name in NAMES}
CLAIMS = {"L": REWORDED, "LB": REDIRECTED, "S": STAYS, "SB": CHANGES}
INSTANCES = 10


@cache
def instance(seed):
    return TASK.sample(np.random.default_rng(seed), f"x{seed}", FAMILIES[seed % len(FAMILIES)])


def apply(name, base, where, seed=0):
    return ALL[name].apply(TASK, base, where, np.random.default_rng(seed))


def after_success(new):
    """The scene that a successful trial of an instance leaves."""
    return TASK.planner.plan(new.instruction, new.scene).final_scene


def moved_objects(before, after):
    return [o.name for o in before if after[o.name].pose != o.pose]


def area(state):
    """What an upright thing covers."""
    turned = affinity.rotate(shapely.Polygon(TASK.library[state.model].footprint), state.pose.yaw, (0, 0), True)
    return affinity.translate(turned, *state.pose.xy)


def way_before(base, where):
    """The plan in the actual scene; that in the instance's own where the instruction is fulfilled, or has no plan."""
    made = TASK.make_instance("before", base.instruction, replace(where, contacts=()))
    return TASK.planner.handling(base.instruction, made.scene if hasattr(made, "scene") else base.scene)


def fulfils(instruction, start, target, end):
    """Tell whether a thing that was lifted and put at a pose is where an instruction wants its target."""
    if instruction.get("target") != target:
        return False
    return TASK.goals.goal(instruction, start).subgoals[-1].satisfied(start.moved(target, end))


def check_common(name, base, where, new):
    """What holds for all four."""
    assert (new.instance_id, new.scene.contacts, new.scene.names) == (f"{base.instance_id}-{name}", (), where.names)
    assert TASK.premise(new.instruction, new.scene) is None
    assert TASK.language.parse(new.instruction.text, new.scene) == new.instruction
    assert not TASK.goals.goal(new.instruction, new.scene).satisfied(new.scene)
    plan = TASK.planner.plan(new.instruction, new.scene)
    measures = dict(new.proof.measures)
    before, after = way_before(base, where), TASK.planner.handling(new.instruction, new.scene)
    assert new.optimal_path_length == plan.length == measures["path_after_m"]
    assert new.proof.claim == CLAIMS[name]
    assert all(np.isfinite(value) for value in measures.values())
    assert measures["grasp_apart_m"] == math.dist(before.grasp.position, after.grasp.position)
    if "S" not in name:
        assert new.scene.objects == where.objects
        return before, after
    assert new.instruction == base.instruction
    (moved,) = moved_objects(where, new.scene)
    assert measures["moved_m"] == where[moved].pose.distance_to(new.scene[moved].pose)
    state = new.scene[moved]
    assert shapes.is_upright(state.pose)
    assert abs(state.pose.position[2]) < 1e-9
    region = shapely.box(P.region.x_min, P.region.y_min, P.region.x_max, P.region.y_max)
    assert region.buffer(1e-9).covers(area(state))
    least = P.placing.gap if measures.get("touched") else P.sampling.gap
    others = [area(o) for o in TASK.planner.movable(new.scene) if o.name != moved]
    assert min(map(area(state).distance, others)) >= least - 1e-9
    return before, after


def check_l(base, where, new, before, after):
    assert (new.instruction.family, new.instruction.arguments) == (base.instruction.family, base.instruction.arguments)
    assert new.instruction.text != base.instruction.text
    assert after == before
    old, now = (set(instruction.text.lower().split()) for instruction in (base.instruction, new.instruction))
    assert dict(new.proof.measures)["shared_words"] == sum(word in old for word in now) / len(now)


def check_lb(base, where, new, before, after):
    said, asks = dict(base.instruction.arguments), dict(new.instruction.arguments)
    assert sum(said[role] != asks[role] for role in said) == 1
    assert new.instruction.text != base.instruction.text
    assert where == base.scene or new.instruction.family == base.instruction.family
    assert (base.instruction.family == "pick") == (new.instruction.family == "pick")
    # Who does what was said before has not done what is asked for now, and the other way round.
    assert not fulfils(new.instruction, where, said["target"], before.target)
    assert not fulfils(base.instruction, where, asks["target"], after.target)


def check_s(base, where, new, before, after):
    (moved,) = moved_objects(where, new.scene)
    assert moved not in dict(base.instruction.arguments).values()
    least, greatest = N.bystander_move
    assert least <= dict(new.proof.measures)["moved_m"] <= greatest
    assert after == before


def check_sb(base, where, new, before, after):
    (moved,) = moved_objects(where, new.scene)
    target, measures = base.instruction.get("target"), dict(new.proof.measures)
    assert N.named_move[0] <= measures["moved_m"] <= N.named_move[1]
    if moved not in dict(base.instruction.arguments).values():
        # A planner that keeps no distance at all refuses the way before, too.
        closer = HandRoom(replace(P.hand, margin=1e-9, above=0.0))
        others = TASK.planner.obstacles(new.scene, {target})
        touched = [closer.in_the_way(before.grasp, others)]
        if before.place is not None:
            reference = {base.instruction.get("reference")}
            touched.append(closer.in_the_way(before.place, [o for o in others if o.name not in reference]))
            landed = area(replace(new.scene[target], pose=before.target))
            touched += [moved] if landed.intersects(area(new.scene[moved])) else []
        assert moved in touched
        assert measures["touched"] == 1.0
        return
    # The grasp tells something about the moved target alone: another thing's move leaves the target where it was.
    missed = area(new.scene[target]).distance(shapely.Point(before.grasp.position[:2])) if moved == target else 0.0
    assert missed == pytest.approx(measures["grasp_missed_by_m"], abs=1e-9)
    # What the fingers do not enclose is not lifted; what is put down where nothing belongs is not in its place.
    missed_place = not fulfils(base.instruction, new.scene, target, before.target)
    assert missed >= P.hand.opening / 2 or (base.instruction.family != "pick" and missed_place)


CHECKS = {"L": check_l, "LB": check_lb, "S": check_s, "SB": check_sb}


def outcomes():
    """Yield what comes of all four in each instance's own scene, and in that which a solved trial leaves."""
    for seed in range(INSTANCES):
        base = instance(seed)
        for own, where in ((True, base.scene), (False, after_success(base))):
            for name in NAMES:
                yield name, base, own, where, apply(name, base, where, seed)


@pytest.fixture(scope="module")
def answers():
    return list(outcomes())


def test_what_is_claimed_holds_in_drawn_scenes_and_in_those_that_solved_trials_leave(answers):
    for name, base, _, where, answer in answers:
        if isinstance(answer, Perturbed):
            CHECKS[name](base, where, answer.instance, *check_common(name, base, where, answer.instance))
            assert answer.note


@pytest.mark.parametrize("name", NAMES)
def test_all_four_apply_to_almost_every_drawn_instance(answers, name):
    applied = [isinstance(answer, Perturbed) for which, _, own, _, answer in answers if own and which == name]
    assert sum(applied) >= len(applied) - 1


def test_after_a_solved_trial_the_same_is_not_asked_for_again(answers):
    for name, _, own, _, answer in answers:
        if not own and name in ("L", "S"):
            assert isinstance(answer, NotApplicable)
            assert answer.reason


def test_what_is_in_the_hand_is_put_down_or_nothing_applies(answers):
    for name, base, own, where, answer in answers:
        if own or base.instruction.family != "pick":
            continue
        if name == "SB" and isinstance(answer, Perturbed):
            assert moved_objects(where, answer.instance.scene) == [base.instruction.get("target")]
        else:
            assert isinstance(answer, NotApplicable)


def test_the_scene_that_a_solved_trial_leaves_has_work_for_lb_and_sb(answers):
    for changed in ("LB", "SB"):
        assert any(isinstance(answer, Perturbed) for name, _, own, _, answer in answers if name == changed and not own)


def test_after_a_solved_trial_lb_asks_for_no_other_skill_and_in_its_own_scene_only_where_none_suits_it():
    where = scene(red_bowl=(0.48, 0.0), purple_plum=(0.45, 0.2), banana=(0.45, -0.2))
    base = given(where, "put_in", "purple_plum", "red_bowl")
    asks = apply("LB", base, where).instance.instruction
    assert asks.family != "put_in"
    assert "can be asked for" in apply("LB", base, after_success(base)).reason


def test_what_is_a_little_above_the_table_is_in_the_air():
    where = scene(red_cube=(0.48, 0.0), banana=(0.45, -0.2), red_bowl=(0.45, 0.2))
    base = given(where, "pick", "red_cube")
    held = scene(red_cube=(0.48, 0.0, 0.0, 0.015), banana=(0.45, -0.2), red_bowl=(0.45, 0.2))
    for name in ("L", "LB", "S"):
        assert "is in the air" in apply(name, base, held).reason
    assert moved_objects(held, apply("SB", base, held).instance.scene) == ["red_cube"]


def test_what_is_named_and_not_there_is_said():
    where = scene(red_cube=(0.48, 0.0), banana=(0.45, -0.2), red_bowl=(0.45, 0.2))
    base = given(where, "put_in", "red_cube", "red_bowl")
    for gone in ("red_cube", "red_bowl"):
        left = replace(where, objects=tuple(o for o in where if o.name != gone))
        for name in NAMES:
            assert apply(name, base, left).reason == f"the {gone.replace('_', ' ')} is not there"


def test_the_same_generator_gives_the_same_perturbation(answers):
    for name, base, _, where, answer in answers[:8]:
        assert apply(name, base, where, int(base.instance_id[1:])) == answer


def test_where_another_thing_is_in_the_air_nothing_applies():
    base = instance(1)
    thing = next(o for o in TASK.planner.movable(base.scene) if o.name not in dict(base.instruction.arguments).values())
    x, y, _ = thing.pose.position
    held = replace(base.scene.moved(thing.name, Pose((x, y, 0.2), thing.pose.orientation)), contacts=(thing.name,))
    for name in NAMES:
        assert "is in the air" in apply(name, base, held).reason


def given(where, family, target, reference=""):
    instruction = TASK.language.realise(asked(family, target, reference), where, np.random.default_rng(0))
    return TASK.make_instance("x", instruction, where)


def test_another_thing_is_not_asked_for_in_the_words_of_before_though_they_mean_it_by_now():
    own, swapped = (scene(red_cube=(0.48, y), banana=(0.48, -y)) for y in (0.2, -0.2))
    said = TASK.language.parse("pick up the object on your left", own)
    base = TASK.make_instance("x", said, own)
    assert TASK.language.parse(said.text, swapped).get("target") == "banana"
    for seed in range(4):
        asks = apply("LB", base, swapped, seed).instance.instruction
        assert asks.get("target") == "banana"
        assert asks.text != said.text


def test_what_bears_something_is_not_moved_and_what_lies_in_it_is_not_asked_for():
    where = scene(red_bowl=(0.48, 0.0), purple_plum=(0.48, 0.0, 0.0, 0.006), red_cube=(0.45, 0.2), banana=(0.45, -0.2))
    base = given(where, "pick", "red_cube")
    for seed in range(4):
        for name in ("S", "SB"):
            moved = moved_objects(where, apply(name, base, where, seed).instance.scene)
            assert moved in (["banana"], ["red_cube"])
        assert apply("LB", base, where, seed).instance.instruction.get("target") in ("banana", "red_bowl")


def test_a_full_table_of_one_thing_has_nothing_to_move_or_to_ask_for():
    where = scene(red_cube=(0.48, 0.0), red_bowl=(0.48, 0.2))
    base = given(where, "put_in", "red_cube", "red_bowl")
    for name, says in (("LB", "can be asked for"), ("S", "nothing stands free")):
        answer = apply(name, base, where)
        assert isinstance(answer, NotApplicable)
        assert says in answer.reason


def test_words_that_the_grammar_does_not_know_are_not_changed():
    base = instance(2)
    odd = replace(base, instruction=replace(base.instruction, text="tidy up"))
    assert "does not know this sentence" in apply("L", odd, base.scene).reason
    assert isinstance(apply("LB", odd, base.scene), NotApplicable)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"named_move": (0.2, 0.1)}, "named_move as"),
        ({"bystander_move": (0.0, 0.1)}, "bystander_move as"),
    ],
)
def test_bounds_that_leave_nothing_are_refused(changed, says):
    with pytest.raises(ValueError, match=says):
        replace(N, **changed)


def test_a_target_within_the_open_hand_is_not_missed():
    with pytest.raises(ValueError, match="off_grasp above half"):
        replace(P, perturbing=replace(N, off_grasp=P.hand.opening / 2))
