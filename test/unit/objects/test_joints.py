"""Joints of articulated objects: positions and poses, states, and what a file may not say of them."""

from __future__ import annotations

import math

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from robocontrast_ros.configuration import ConfigurationError, resolve_uri
from robocontrast_ros.domain import ObjectState, Pose, Scene, whole_of
from robocontrast_ros.domain.words import name_in_words
from robocontrast_ros.objects import SHIPPED, load_object, model_of_uri, moving_parts, with_parts
from robocontrast_ros.objects.frames import about
from robocontrast_ros.objects.joints import Joint, JointState, part_pose, position_in

CABINET = resolve_uri(f"{SHIPPED}/kitchen/cabinet.yaml")
lengths = st.floats(-1.0, 1.0)
vectors = st.tuples(lengths, lengths, lengths)
turns = st.builds(
    lambda axis, angle: about(tuple(a / math.dist(axis, (0, 0, 0)) for a in axis), angle),
    vectors.filter(lambda v: math.dist(v, (0, 0, 0)) > 0.1),
    st.floats(-math.pi, math.pi),
)
poses = st.builds(Pose, vectors, turns)


@st.composite
def joints(draw):
    axis = draw(vectors.filter(lambda v: math.dist(v, (0, 0, 0)) > 0.1))
    length = math.dist(axis, (0, 0, 0))
    kind = draw(st.sampled_from(["slide", "hinge"]))
    span = draw(st.floats(0.01, 1.0 if kind == "slide" else 6.0))
    low = -span * draw(st.floats(0.0, 1.0))
    return Joint(kind, tuple(a / length for a in axis), draw(poses), draw(vectors), (low, low + span))


@given(joints(), st.floats(0.0, 1.0), poses)
def test_a_position_is_read_back_from_the_pose_that_it_gives_wherever_the_object_is(joint, share, whole):
    position = joint.range[0] + share * (joint.range[1] - joint.range[0])
    scene = Scene(
        (ObjectState("box", "box", whole), ObjectState("box/lid", "box/lid", part_pose(whole, joint, position)))
    )
    assert position_in(scene, "box/lid", joint) == pytest.approx(position, abs=1e-6)


@given(joints(), st.floats(-9.0, 9.0))
def test_a_position_beyond_the_range_is_its_nearest_end_for_a_slide_and_within_it_in_any_case(joint, position):
    found = joint.position(joint.pose(position))
    low, high = joint.range
    assert low <= found <= high
    if joint.type == "slide":
        assert found == pytest.approx(min(max(position, low), high), abs=1e-6)


def test_states_have_names_bounds_and_something_between():
    drawer = model_of_uri(f"{CABINET}#brown").joints[0].joint
    assert [drawer.state(p) for p in (0.0, 0.005, 0.006, 0.139, 0.14, 0.16)] == [
        "closed", "closed", "ajar", "ajar", "open", "open",
    ]  # fmt: skip
    assert drawer.has("open", 0.15) and not drawer.has("open", 0.1) and not drawer.has("on", 0.15)
    both = Joint("slide", (1, 0, 0), Pose(), (0, 0, 0), (0, 1), (JointState("a", 0, 1), JointState("b", 0, 1)))
    assert both.state(0.5) == "a" and both.has("b", 0.5)


def test_parts_are_models_of_their_own_in_each_variant():
    brown, white = load_object(CABINET)
    assert [part.name for part in brown.joints] == ["bottom_drawer", "middle_drawer", "top_drawer"]
    assert brown.joints[0].parts[0].paint != white.joints[0].parts[0].paint
    uris = with_parts([brown])
    assert list(uris) == ["brown_cabinet", *(f"brown_cabinet/{part.name}" for part in brown.joints)]
    assert moving_parts(uris.values())["brown_cabinet/top_drawer"] == brown.joints[2]
    xs, ys = zip(*brown.joints[0].footprint, strict=True)
    assert min(xs) < 0 < max(xs) and min(ys) < 0 < max(ys)


@pytest.mark.parametrize(
    ("name", "whole", "words"),
    [("cabinet/top_drawer", "cabinet", "top drawer of the cabinet"), ("red_cube", "", "red cube")],
)
def test_the_name_of_a_part_names_its_object(name, whole, words):
    assert whole_of(name) == whole and name_in_words(name) == words


def changed(tmp_path, change):
    content = yaml.safe_load(CABINET.read_text())
    change(content, content["joints"]["top_drawer"])
    file = tmp_path / "cabinet.yaml"
    file.write_text(yaml.safe_dump(content))
    return file


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda file, _: file.update(fixed=False), "joints"),
        (lambda _, joint: joint.update(axis=[0, 0, 0]), "axis"),
        (lambda _, joint: joint.update(range=[0.1, 0.2]), "range"),
        (lambda _, joint: joint.update(type="hinge"), "through"),
        (lambda _, joint: joint.update(through=[0, 0, 0]), "through"),
        (lambda _, joint: joint.update(mass=0), "mass"),
        (lambda _, joint: joint.update(states={}), "states"),
        (lambda _, joint: joint.update(states={"open": {}}), "least, greatest or both"),
        (lambda _, joint: joint.update(states={"open": {"least": 2, "greatest": 1}}), "least <= greatest"),
        (lambda _, joint: joint["parts"][0].update(paint="gold"), "joints.top_drawer.parts.0.paint"),
    ],
)
def test_a_file_with_a_joint_that_cannot_be_is_refused_by_its_key(tmp_path, change, said):
    with pytest.raises(ConfigurationError, match=said):
        load_object(changed(tmp_path, change))


def test_a_hinge_is_read_in_degrees(tmp_path):
    def as_door(_, joint):
        joint.update(type="hinge", axis=[0, 0, 2], through=[0.1, 0.12, 0], range=[-120, 0])
        joint.update(states={"open": {"greatest": -75}, "closed": {"least": -0.3}})

    joint = load_object(changed(tmp_path, as_door))[0].joints[-1].joint
    assert joint.range == pytest.approx((math.radians(-120), 0.0)) and joint.axis == (0.0, 0.0, 1.0)
    assert [joint.state(math.radians(a)) for a in (-110, -40, 0)] == ["open", "ajar", "closed"]
    # About the axis the distance stays, and a quarter turn is one.
    quarter = joint.pose(-math.pi / 2)
    assert math.dist(quarter.position[:2], (0.1, 0.12)) == pytest.approx(
        math.dist(joint.home.position[:2], (0.1, 0.12))
    )
    assert quarter.yaw == pytest.approx(-math.pi / 2)
