"""Predicates of the kitchen against geometry by brute force, and what they refuse."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from robocontrast_ros.domain import ObjectState, Pose, Scene
from robocontrast_ros.objects import SHIPPED, load_library
from robocontrast_ros.objects.frames import about
from robocontrast_ros.objects.joints import part_pose
from robocontrast_ros.tasks.bddl import Atom
from robocontrast_ros.tasks.kitchen.library import Things
from robocontrast_ros.tasks.kitchen.predicates import NAMES, STATES, Predicates, Thresholds, UnknownPredicate

USED = ("brown_cabinet", "stove", "black_rice_bowl", "white_side_plate", "ketchup", "shelf")
THINGS = Things.of(model for name, model in load_library((f"{SHIPPED}/kitchen",)).items() if name in USED)
RULES = Thresholds()
PREDICATES = Predicates(THINGS)
TILTED = math.radians(10.0)
"""Turn from upright beyond which a thing has fallen over."""

near = st.floats(-0.4, 0.4)
upright = st.builds(Pose.planar, near, near, st.floats(-math.pi, math.pi), st.floats(0.0, 0.4))
turns = st.builds(
    lambda angle, axis: about((math.cos(axis), math.sin(axis), 0.0), angle),
    st.floats(0.0, math.pi),
    st.floats(-math.pi, math.pi),
)
tipped = st.builds(lambda pose, turn: Pose(pose.position, turn), upright, turns)
poses = upright | tipped


def scene(**things):
    """Return a scene of things by model (the name without its number) and pose; joints are at 0."""
    objects = []
    for name, pose in things.items():
        model = name.rstrip("0123456789").rstrip("_")
        objects.append(ObjectState(name, model, pose))
        objects += (
            ObjectState(f"{name}/{part.name}", f"{model}/{part.name}", part_pose(pose, part.joint, 0.0))
            for part in THINGS.models[model].joints
        )
    return Scene(tuple(objects))


def with_joint(base, name, position):
    joint = THINGS.joint(base, name)
    return base.moved(name, part_pose(base[name.partition("/")[0]].pose, joint, position))


def corners(model, pose):
    """Return the corners of a thing's box in the world."""
    x, y, z = model.size
    box = [(i * x / 2, j * y / 2, k * z) for i in (-1, 1) for j in (-1, 1) for k in (0, 1)]
    return Rotation.from_quat(pose.orientation).apply(box) + np.array(pose.position)


def tilt(pose):
    return math.acos(min(max(Rotation.from_quat(pose.orientation).apply((0, 0, 1))[2], -1.0), 1.0))


def outside(point, polygon):
    """Return the distance of a point from a convex polygon, 0 inside, by its edges cut into small pieces."""
    ring = np.array([*polygon, polygon[0]])
    (along_x, along_y), (off_x, off_y) = (ring[1:] - ring[:-1]).T, (np.asarray(point) - ring[:-1]).T
    turns = along_x * off_y - along_y * off_x
    if (turns >= 0).all() or (turns <= 0).all():
        return 0.0
    pieces = [a + (b - a) * share for a, b in itertools.pairwise(ring) for share in np.linspace(0, 1, 40)]
    return float(np.linalg.norm(np.array(pieces) - point, axis=1).min())


def planar(polygon, pose):
    c, s = math.cos(pose.yaw), math.sin(pose.yaw)
    return np.array(polygon) @ np.array([[c, s], [-s, c]]) + np.array(pose.xy)


def away_from_thresholds(*pairs):
    """Leave out what a rounding could decide."""
    assume(all(abs(value - bound) > 1e-4 for value, bound in pairs))


@given(poses, upright)
def test_a_thing_is_on_another_where_its_lowest_point_is_at_the_top_and_its_centre_over_it(a, b):
    bowl, plate = THINGS.models["black_rice_bowl"], THINGS.models["white_side_plate"]
    box = corners(bowl, a)
    off = box[:, 2].min() - (b.position[2] + plate.top.z)
    aside = outside(box.mean(axis=0)[:2], planar(plate.top.polygon, b))
    away_from_thresholds((abs(off), RULES.height), (tilt(a), TILTED), (aside, 0.0 if aside > 0 else -1.0))
    if tilt(a) < TILTED:
        # An upright thing stands on its ground, however little it leans.
        off, aside = a.position[2] - (b.position[2] + plate.top.z), aside
        away_from_thresholds((abs(off), RULES.height))
    expected = aside + max(abs(off) - RULES.height, 0.0)
    found = PREDICATES.distance(
        Atom("On", ("black_rice_bowl", "white_side_plate")), scene(black_rice_bowl=a, white_side_plate=b)
    )
    assert found == pytest.approx(expected, abs=2e-3)
    assert (found == 0.0) == (expected == 0.0) or expected < 2e-3


@given(poses, upright, st.floats(0.0, 0.16))
def test_a_thing_is_in_a_drawer_where_its_centre_is_between_floor_and_rim_and_nowhere_else(a, b, pulled):
    name = "brown_cabinet/top_drawer"
    drawer, ketchup = THINGS.parts[name], THINGS.models["ketchup"]
    there = with_joint(scene(brown_cabinet=b, ketchup=a), name, pulled)
    centre = corners(ketchup, a).mean(axis=0)
    inside = Rotation.from_quat(there[name].pose.orientation).inv().apply(centre - np.array(there[name].pose.position))
    beyond = max(drawer.cavity.floor - inside[2], inside[2] - drawer.cavity.rim, 0.0)
    expected = outside(inside[:2], drawer.cavity.polygon) + beyond
    found = PREDICATES.distance(Atom("In", ("ketchup", name)), there)
    assert found == pytest.approx(expected, abs=2e-3)
    assert (found == 0.0) == (expected == 0.0) or expected < 2e-3
    # What is in one drawer is in no other one.
    others = (f"brown_cabinet/{part.name}" for part in THINGS.models["brown_cabinet"].joints)
    holding = [other for other in others if PREDICATES.holds(Atom("In", ("ketchup", other)), there)]
    assert len(holding) <= 1


@given(upright, st.floats(0.0, 1.0), st.sampled_from(["brown_cabinet/top_drawer", "stove/knob"]))
def test_a_joint_is_in_a_state_where_its_position_is_and_never_in_two(whole, share, name):
    kind = name.partition("/")[0]
    joint = THINGS.parts[name].joint
    position = joint.range[0] + share * (joint.range[1] - joint.range[0])
    there = with_joint(scene(**{kind: whole}), name, position)
    states = {known.name: known for known in joint.states}
    true = []
    for predicate, state in STATES.items():
        if state not in states:
            continue
        low, high = states[state].least, states[state].greatest
        away_from_thresholds(*((position, bound) for bound in (low, high) if math.isfinite(bound)))
        holds = PREDICATES.holds(Atom(predicate, (name,)), there)
        assert holds == (low <= position <= high)
        true.append(holds)
    assert sum(true) <= 1


@given(upright, upright)
def test_things_are_next_to_each_other_where_the_gap_is_small_and_their_heights_overlap(a, b):
    bowl, plate = THINGS.models["black_rice_bowl"], THINGS.models["white_side_plate"]
    one, other = planar(bowl.footprint, a), planar(plate.footprint, b)
    gap = min(min(outside(p, other) for p in one), min(outside(p, one) for p in other))
    apart = max(a.position[2] - b.position[2] - plate.size[2], b.position[2] - a.position[2] - bowl.size[2], 0.0)
    expected = max(gap - RULES.near, 0.0) + apart
    there = scene(black_rice_bowl=a, white_side_plate=b)
    pair = ("black_rice_bowl", "white_side_plate")
    found = PREDICATES.distance(Atom("NextTo", pair), there)
    assert found == pytest.approx(expected, abs=2e-3)
    assert found == PREDICATES.distance(Atom("NextTo", pair[::-1]), there)
    left, right = (PREDICATES.distance(Atom(name, pair), there) for name in ("LeftOf", "RightOf"))
    aside, ahead = a.xy[1] - b.xy[1], abs(a.xy[0] - b.xy[0])
    assert left == pytest.approx(found + max(ahead - aside, 0.0))
    assert right == pytest.approx(found + max(ahead + aside, 0.0))
    assert max(left, right) > 0.0 or ahead == aside == 0.0


@given(upright, st.floats(-0.06, 0.06), st.floats(-0.06, 0.06), st.floats(0.0, 0.12), turns)
def test_a_bowl_is_stacked_where_it_is_above_another_upright_and_hardly_aside(under, dx, dy, dz, turn):
    x, y, z = under.position
    above = Pose((x + dx, y + dy, z + dz), turn)
    size = THINGS.models["black_rice_bowl"].size[2]
    aside, fallen = math.hypot(dx, dy), tilt(above) > TILTED
    away_from_thresholds((aside, RULES.nested), (dz, RULES.height), (dz, size + RULES.height), (tilt(above), TILTED))
    there = scene(black_rice_bowl_1=above, black_rice_bowl_2=under)
    expected = aside < RULES.nested and RULES.height < dz < size + RULES.height and not fallen
    assert PREDICATES.holds(Atom("Stack", ("black_rice_bowl_1", "black_rice_bowl_2")), there) == expected
    assert not PREDICATES.holds(Atom("Stack", ("black_rice_bowl_2", "black_rice_bowl_1")), there)


@given(poses)
def test_a_thing_is_up_where_it_leans_less_than_ten_degrees(pose):
    away_from_thresholds((tilt(pose), TILTED))
    assert PREDICATES.holds(Atom("Up", ("ketchup",)), scene(ketchup=pose)) == (tilt(pose) < TILTED)


AT = Pose()
EVERYTHING = scene(brown_cabinet=AT, stove=AT, black_rice_bowl=AT, white_side_plate=AT, ketchup=AT)


@pytest.mark.parametrize(
    ("atom", "said"),
    [
        (Atom("Sees", ("ketchup",)), f"unknown predicate 'Sees'; there are: {', '.join(NAMES)}"),
        (Atom("On", ("ketchup",)), "1 arguments, expected 2"),
        (Atom("Open", ("brown_cabinet", "stove")), "2 arguments, expected 1"),
        (Atom("On", ("ketchup", "table")), "'table' is not in the scene"),
        (Atom("On", ("ketchup", "ketchup")), "one thing twice"),
        (Atom("Open", ("brown_cabinet",)), "has no joint; its parts are: brown_cabinet/bottom_drawer"),
        (Atom("Turnon", ("brown_cabinet/top_drawer",)), "is never on; its states are: open, closed"),
        (Atom("In", ("ketchup", "stove")), "nothing can be put in 'stove'"),
        (Atom("On", ("stove/knob", "white_side_plate")), "is a part of 'stove'"),
        (Atom("Stack", ("ketchup", "black_rice_bowl")), "expected two things of one type"),
    ],
    ids=str,
)
def test_an_atom_that_can_have_no_truth_is_refused_in_one_line(atom, said):
    with pytest.raises(UnknownPredicate) as refused:
        PREDICATES.check(atom, EVERYTHING)
    assert said in str(refused.value) and str(atom) in str(refused.value) and "\n" not in str(refused.value)
    with pytest.raises(UnknownPredicate):
        PREDICATES.holds(atom, EVERYTHING)
