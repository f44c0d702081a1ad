"""Objects with tags, at known heights."""

from __future__ import annotations

import math
from dataclasses import replace

import cv2
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from perceived_scenes import CAMERA, noisy, put_tag, table

from robocontrast_ros.domain import ObjectState, Pose, Scene
from robocontrast_ros.perception import ObjectTag, SceneEstimator, Support

MUG = ObjectTag(number=100, size=0.06, position=(0.0, 0.0, 0.08))
BOX = ObjectTag(number=101, size=0.06, position=(0.06, 0.0, 0.02))
TAGS = {"mug": (MUG,), "box": (BOX,)}


def estimated(image, names=("mug",), **options):
    scene = Scene(tuple(ObjectState(name, name, Pose()) for name in names))
    return SceneEstimator(CAMERA, scene, **({"tags": TAGS} | options)).estimate(image)


@given(
    x=st.floats(0.3, 0.5),
    y=st.floats(-0.12, 0.12),
    yaw=st.floats(-3.1, 3.1),
    blur=st.sampled_from((0.3, 0.8, 1.2)),
    family=st.sampled_from(("apriltag_36h11", "aruco_4x4_50", "aruco_5x5_250", "aruco_7x7_50", "aruco_original")),
)
@examples(20, derandomize=True)
def test_an_object_is_found_by_its_tag_however_blurred_it_is(x, y, yaw, blur, family):
    pose, image, tag = Pose.planar(x, y, yaw), table(), replace(MUG, number=17, family=family)
    put_tag(image, tag, pose)
    found = estimated(noisy(cv2.GaussianBlur(image, (0, 0), blur)), tags={"mug": (tag,)})["mug"]
    assert found.certain, found.words
    off, turned = math.dist(found.pose.xy, pose.xy), abs(math.remainder(found.pose.yaw - yaw, math.tau))
    assert off < min(4.0 * found.position_std, 0.0006)
    assert turned < min(4.0 * found.yaw_std, math.radians(0.6))
    assert found.pose.position[2] == pytest.approx(0.0, abs=1e-9)


def test_what_stands_on_another_object_is_at_that_height():
    image = table()
    put_tag(image, BOX, Pose.planar(0.4, 0.0, 0.4))
    put_tag(image, MUG, Pose.planar(0.4, 0.0, 1.0, 0.05))
    square = ((-0.04, -0.04), (0.04, -0.04), (0.04, 0.04), (-0.04, 0.04))
    found = estimated(noisy(image), ("mug", "box"), supports={"box": (Support(0.05, square),)})
    assert found["mug"].pose.position[2] == pytest.approx(0.05, abs=1e-9)
    assert math.dist(found["mug"].pose.xy, (0.4, 0.0)) < 0.002


def test_a_hidden_tag_is_told():
    found = estimated(noisy(table()))
    assert found["mug"].pose is None
    assert found.doubts() == ("mug: its tag 100 is not seen: hidden, out of the picture, or too small in it",)


def test_two_tags_of_one_number_are_told():
    image = table()
    for y in (-0.1, 0.1):
        put_tag(image, MUG, Pose.planar(0.4, y))
    assert "two tags of number 100" in estimated(noisy(image)).doubts()[0]


def test_a_tag_of_another_family_is_none_of_the_object_s():
    marker = replace(MUG, family="aruco_5x5_250")
    tags, image = {"mug": (marker,), "box": (BOX,)}, table()
    put_tag(image, BOX, Pose.planar(0.4, 0.1, 0.4))
    put_tag(image, MUG, Pose.planar(0.4, -0.1))
    seen = estimated(noisy(image), ("mug", "box"), tags=tags)
    assert seen["mug"].pose is None and seen["box"].certain
    put_tag(image, marker, Pose.planar(0.3, -0.1, 1.0))
    seen = estimated(noisy(image), ("mug", "box"), tags=tags)
    assert seen.certain(), seen.doubts()
    assert math.dist(seen["mug"].pose.xy, (0.3, -0.1)) < 0.002


def test_a_number_that_the_family_does_not_have_is_refused():
    assert ObjectTag(number=586, size=0.06, position=(0.0, 0.0, 0.0)).family == "apriltag_36h11"
    with pytest.raises(ValueError, match="at most 49, the last of ArUco 4x4_50"):
        ObjectTag(number=50, size=0.06, position=(0.0, 0.0, 0.0), family="aruco_4x4_50")


def test_a_camera_that_was_moved_is_told_by_a_tag_that_is_fixed_to_the_table():
    fixed, image = ObjectTag(number=7, size=0.06, position=(0.45, 0.1, 0.0)), table()
    put_tag(image, MUG, Pose.planar(0.4, -0.1))
    put_tag(image, fixed, Pose())
    assert estimated(noisy(image), fixed_tags=[fixed]).certain()
    elsewhere = ObjectTag(number=7, size=0.06, position=(0.44, 0.1, 0.0))
    (problem,) = estimated(noisy(image), fixed_tags=[elsewhere]).problems
    assert problem.startswith("Tag 7 is") and "robocontrast calibrate" in problem
    unseen = ObjectTag(number=8, size=0.06, position=(0.44, 0.1, 0.0))
    assert "Uncover one" in estimated(noisy(image), fixed_tags=[unseen]).problems[0]


def test_what_has_neither_tag_nor_shape_and_a_number_used_twice_are_refused():
    scene = Scene((ObjectState("mug", "mug", Pose()),))
    with pytest.raises(ValueError, match="mug: it has no tag"):
        SceneEstimator(CAMERA, scene)
    with pytest.raises(ValueError, match="tag 100 is named twice"):
        SceneEstimator(CAMERA, scene, tags={"mug": (MUG, MUG)})
    with pytest.raises(ValueError, match="given: got table"):
        SceneEstimator(CAMERA, scene, tags=TAGS, given=["table"])


def test_what_is_given_stands_as_expected():
    scene = Scene((ObjectState("table", "table", Pose.planar(1.0, 2.0)),))
    estimate = SceneEstimator(CAMERA, scene, given=["table"]).estimate(noisy(table()))
    assert estimate.scene == scene
    assert estimate.certain()
