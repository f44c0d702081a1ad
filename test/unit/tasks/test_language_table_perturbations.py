"""The four perturbations: only what is named changes, and what comes out can be run."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from language_table_instances import EIGHT, FOUR, few_seeds, instance, scene, seeds
from line_world import LineTask

from robocontrast_ros.configuration import load_plugin, plugin_names
from robocontrast_ros.domain import Instruction, NotApplicable, Perturbed, Pose, TestInstance
from robocontrast_ros.perturbations.structure import inverted
from robocontrast_ros.tasks.language_table.goals import DIRECTIONS, FAMILIES, LOCATIONS, direction_sign

NAMES = ("LB1", "LB2", "SB1", "SB2")
ALL = {name: load_plugin("perturbations", name, "test", "")() for name in NAMES}

APPLIES = {
    "LB1": {"block_to_block", "block_to_block_relative_location", "separate_blocks"},
    "LB2": {
        "block_to_absolute_location",
        "block_to_relative_location",
        "block_to_block_relative_location",
    },
    "SB1": {"block_to_block", "block_to_block_relative_location", "separate_blocks"},
    "SB2": set(FAMILIES),
}


def given_in(text: str, where, task=EIGHT) -> TestInstance:
    instruction = task.language.parse(text, where)
    return TestInstance("base", task.name, instruction, where)


def apply(name, base, where, seed=0, task=EIGHT):
    return ALL[name].apply(task, base, where, np.random.default_rng(seed))


def test_the_four_are_found_by_name():
    assert set(NAMES) <= set(plugin_names("perturbations"))
    for name, perturbation in ALL.items():
        assert perturbation.name == name
        assert perturbation.symbol == f"Δ{name}"
        assert perturbation.axes == name[:2]
        assert perturbation.description
        assert perturbation.supports(EIGHT)
        assert not perturbation.supports(LineTask())


@given(
    few_seeds,
    st.sampled_from(FAMILIES),
    st.sampled_from(NAMES),
    st.sampled_from([EIGHT, FOUR]),
    st.booleans(),
    seeds,
)
def test_an_instance_that_comes_out_is_feasible_unsolved_and_differs_in_the_named_axis(
    base_seed, family, name, task, solved_before, seed
):
    base = instance(base_seed, family, task)
    # What a successful trial left behind, or the base scene when that is set up again.
    actual = task.planner.plan(base.instruction, base.scene).final_scene if solved_before else base.scene
    result = apply(name, base, actual, seed, task)
    if isinstance(result, NotApplicable):
        assert result.reason
        return
    assert family in APPLIES[name]
    new = result.instance
    assert not task.goals.goal(new.instruction, new.scene).satisfied(new.scene)
    assert new.optimal_path_length == task.planner.plan(new.instruction, new.scene).length > 0.0
    assert task.language.parse(new.instruction.text, new.scene) == new.instruction
    assert new.instruction.family == family
    assert new.instance_id != base.instance_id
    assert result.note
    if ALL[name].axes == "LB":
        assert new.scene == actual
        assert new.instruction.arguments != base.instruction.arguments
    else:
        assert new.instruction == base.instruction
        moved = [a.name for a, b in zip(actual, new.scene, strict=True) if a != b]
        assert moved == [base.instruction.get({"SB1": "target", "SB2": "source"}[name])]
    assert apply(name, base, actual, seed, task) == result


@given(few_seeds, st.sampled_from(FAMILIES), st.sampled_from(["LB1", "LB2"]), seeds)
def test_a_perturbation_of_language_applied_twice_gives_the_structure_back(base_seed, family, name, seed):
    base = instance(base_seed, family)
    once = apply(name, base, base.scene, seed)
    if isinstance(once, NotApplicable):
        return
    twice = apply(name, once.instance, base.scene, seed)
    assert isinstance(twice, Perturbed)
    assert twice.instance.instruction.arguments == base.instruction.arguments


def test_inverting_is_an_involution_and_turns_every_direction_about():
    for place in (*DIRECTIONS, *LOCATIONS):
        assert inverted(inverted(place)) == place
    for direction in DIRECTIONS:
        assert np.array_equal(direction_sign(inverted(direction)), -direction_sign(direction))
    assert inverted("top_left") == "bottom_right"
    assert inverted("center_left") == "center_right"
    assert inverted("center") == "center"


SPREAD = scene(red_moon=(0.30, 0.15), blue_cube=(0.45, -0.15), green_star=(0.3, -0.2), yellow_pentagon=(0.5, 0.2))


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("LB1", "slide the moon close to the blue block", "slide the blue block close to the moon"),
        (
            "LB1",
            "put the red moon just left of the cube",
            "put the cube just left of the red moon",
        ),
        ("LB2", "put the moon to the upper right corner", "put the moon to the lower left corner"),
        ("LB2", "move the red moon to the left side", "move the red moon to the right side"),
        (
            "LB2",
            "slightly push the moon diagonally up and to the right",
            "slightly push the moon diagonally down and to the left",
        ),
        ("LB2", "push the star below the blue block", "push the star above the blue block"),
    ],
)
def test_the_words_change_where_they_must_and_nowhere_else(name, text, expected):
    base = given_in(text, SPREAD, FOUR)
    result = apply(name, base, SPREAD, task=FOUR)
    assert isinstance(result, Perturbed), result
    assert result.instance.instruction.text == expected
    assert result.note == f"'{text}' became '{expected}'"


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        (
            "LB1",
            "push the red moon to the top",
            "block_to_absolute_location names no target block to swap with",
        ),
        ("LB1", "push the red moon left", "block_to_relative_location names no target block to swap with"),
        ("LB2", "push the red moon to the blue cube", "block_to_block names no direction or place"),
        ("LB2", "separate the red moon from the blue cube", "separate_blocks names no direction or place"),
        ("LB2", "push the red moon to the center", "center has no opposite"),
        ("LB2", "push the yellow pentagon up", "the point that the instruction names is off the board"),
        ("SB1", "push the red moon to the top", "block_to_absolute_location names no target block"),
    ],
)
def test_where_there_is_nothing_to_change_the_reason_is_said(name, text, reason):
    result = apply(name, given_in(text, SPREAD, FOUR), SPREAD, task=FOUR)
    assert isinstance(result, NotApplicable)
    assert reason in result.reason


def test_a_perturbed_instruction_that_is_fulfilled_already_is_not_applicable():
    together = scene(red_moon=(0.35, 0.0), blue_cube=(0.35, 0.045))
    base = given_in("push the red moon to the blue cube", together)
    result = apply("LB1", base, together)
    assert isinstance(result, NotApplicable)
    assert "already fulfilled" in result.reason
    assert "'push the blue cube to the red moon'" in result.reason


def test_moving_a_block_cures_a_scene_in_which_the_instruction_is_fulfilled_already():
    together = scene(red_moon=(0.35, 0.0), blue_cube=(0.35, 0.045))
    base = given_in("push the red moon to the blue cube", together)
    for name in ("SB1", "SB2"):
        assert isinstance(apply(name, base, together), Perturbed)


def test_a_moved_block_stands_upright_with_its_yaw_clear_of_others_and_somewhere_else():
    turned = SPREAD.moved("red_moon", Pose.planar(0.30, 0.15, 1.2))
    base = given_in("push the red moon to the blue cube", turned, FOUR)
    places = set()
    for seed in range(15):
        result = apply("SB2", base, turned, seed, FOUR)
        pose = result.instance.scene["red_moon"].pose
        assert pose.yaw == pytest.approx(1.2)
        assert pose.position[2] == FOUR.parameters.block_size.resting_z
        assert math.dist(pose.xy, (0.30, 0.15)) >= 0.05
        assert FOUR.parameters.board.contains(*pose.xy, margin=0.08)
        room = 2 * FOUR.parameters.block_size.circumradius
        for a, b in itertools.combinations(result.instance.scene, 2):
            assert math.dist(a.pose.xy, b.pose.xy) >= room
        places.add(pose.xy)
    assert len(places) == 15


def test_a_toppled_block_is_stood_up_when_it_is_moved():
    lying = SPREAD.moved("red_moon", Pose((0.3, 0.15, 0.02), (math.sin(0.7), 0.0, 0.0, math.cos(0.7))))
    base = given_in("push the red moon to the blue cube", SPREAD, FOUR)
    result = apply("SB2", base, lying, task=FOUR)
    assert isinstance(result, Perturbed)
    x, y, _, _ = result.instance.scene["red_moon"].pose.orientation
    assert math.hypot(x, y) < 1e-9


def test_a_board_without_a_free_place_is_not_applicable():
    # Every other block stands where nothing can be pushed past it, and the source has lost its board.
    base = given_in("push the red moon to the blue cube", SPREAD, FOUR)
    lost = SPREAD.moved("blue_cube", Pose.planar(0.9, 0.0))
    result = apply("SB2", base, lost, task=FOUR)
    assert isinstance(result, NotApplicable)
    assert result.reason.startswith("no place found for the source block red_moon")


def test_a_block_that_is_gone_is_not_applicable():
    base = given_in("push the red moon to the blue cube", SPREAD, FOUR)
    without = replace(SPREAD, objects=tuple(o for o in SPREAD if o.name != "red_moon"))
    for name in ("LB1", "SB1", "SB2"):
        assert isinstance(apply(name, base, without, task=FOUR), NotApplicable)


def test_words_that_are_not_of_the_grammar_cannot_be_perturbed():
    odd = Instruction("make it so", "block_to_block", (("source", "red_moon"), ("target", "blue_cube")))
    result = apply("LB1", TestInstance("x", "language_table", odd, SPREAD), SPREAD)
    assert isinstance(result, NotApplicable)
    assert "make it so" in result.reason
