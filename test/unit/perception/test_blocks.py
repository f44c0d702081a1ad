"""Blocks without tags, found by their colour and outline."""

from __future__ import annotations

import math

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from perceived_scenes import BLUE, CAMERA, SQUARE, WEDGE, drawn_blocks, noisy

from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.domain import ObjectState, Pose, Scene
from robocontrast_ros.perception import SceneEstimator, read_block

BLOCKS = {"square": SQUARE, "wedge": WEDGE, "blue": BLUE}
PLACES = {
    "square": Pose.planar(0.42, 0.1, 0.3),
    "wedge": Pose.planar(0.4, -0.08, 2.0),
    "blue": Pose.planar(0.5, 0.0, 1.0),
}


def estimated(image, names=tuple(BLOCKS)):
    scene = Scene(tuple(ObjectState(name, name, Pose()) for name in names))
    return SceneEstimator(CAMERA, scene, blocks=BLOCKS).estimate(image)


def drawn(places):
    return drawn_blocks({name: (BLOCKS[name], pose) for name, pose in places.items()})


def off(found, pose):
    return math.dist(found.pose.xy, pose.xy), abs(math.remainder(found.pose.yaw - pose.yaw, math.tau / found.turns))


@given(
    x=st.floats(0.3, 0.5), y=st.floats(-0.12, 0.12), yaw=st.floats(-3.1, 3.1), light=st.sampled_from((0.5, 0.8, 1.0))
)
@examples(25, derandomize=True)
def test_a_block_is_found_where_it_stands_in_any_light(x, y, yaw, light):
    pose = Pose.planar(x, y, yaw)
    found = estimated(noisy((drawn({"wedge": pose}) * light).astype(np.uint8)), ["wedge"])["wedge"]
    assert found.certain, found.words
    distance, turn = off(found, pose)
    assert distance < 0.0025
    assert turn < math.radians(6.0)


def test_shapes_of_one_colour_are_told_apart_and_errors_are_as_told():
    for seed in range(4):
        estimate = estimated(noisy(drawn(PLACES), seed))
        assert estimate.certain(), estimate.doubts()
        for name, pose in PLACES.items():
            distance, _ = off(estimate[name], pose)
            assert distance < 4.0 * estimate[name].position_std
            assert estimate[name].pose.position[2] == 0.0
    assert [estimate[name].turns for name in BLOCKS] == [4, 1, 4]


def test_blocks_of_one_colour_that_touch_are_found():
    places = {"square": Pose.planar(0.42, 0.0, 0.0), "wedge": Pose.planar(0.42, 0.041, 0.0)}
    estimate = estimated(noisy(drawn(places)), list(places))
    for name, pose in places.items():
        assert off(estimate[name], pose)[0] < 0.004


def test_a_block_that_is_not_there_is_not_seen_and_what_is_not_expected_is_not_looked_for():
    estimate = estimated(noisy(drawn({"square": PLACES["square"]})), ["square", "blue"])
    assert estimate["blue"].pose is None
    assert "not seen" in estimate.doubts(["blue"])[0]
    assert estimate["square"].certain
    assert estimate.scene.names == ("square",)


def test_a_block_that_is_half_hidden_is_unsure():
    image = drawn({"blue": PLACES["blue"]})
    u, v = CAMERA.project([(*PLACES["blue"].xy, 0.015)])[0].astype(int)
    image[v - 60 : v + 60, u : u + 60] = (120, 90, 60)
    found = estimated(noisy(image), ["blue"])["blue"]
    assert found.pose is None or not found.certain


def test_one_patch_that_two_blocks_fit_is_unsure():
    twins = {"one": SQUARE, "two": SQUARE}
    scene = Scene(tuple(ObjectState(name, name, Pose()) for name in twins))
    image = noisy(drawn({"square": PLACES["square"]}))
    estimate = SceneEstimator(CAMERA, scene, blocks=twins).estimate(image)
    assert not estimate.certain()


def test_a_second_thing_of_the_same_colour_makes_a_block_unsure():
    image = drawn({"blue": PLACES["blue"]})
    image[250:300, 100:150] = (30, 70, 200)
    estimate = estimated(noisy(image), ["blue"])
    assert not estimate["blue"].certain


@pytest.mark.parametrize(
    ("name", "turns", "height"), [("red_moon", 1, 0.03), ("blue_cube", 4, 0.038), ("green_star", 5, 0.03)]
)
def test_blocks_are_read_from_their_models(name, turns, height):
    block = read_block(resolve_uri(f"package://robocontrast_ros/models/language_table/{name}.xml"))
    assert (block.turns, round(block.height, 4)) == (turns, height)
    assert block.convex == (name == "blue_cube")


def test_a_model_that_is_no_block_is_refused(tmp_path):
    (tmp_path / "ball.xml").write_text("<mujoco><worldbody><geom type='sphere' size='0.1'/></worldbody></mujoco>")
    with pytest.raises(ValueError, match="expected"):
        read_block(tmp_path / "ball.xml")
