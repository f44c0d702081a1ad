"""Instances that are drawn: where the blocks are, which conditions, and that they can be solved."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from language_table_instances import EIGHT, FOUR, changed, few_seeds, instance

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.tasks.language_table.goals import goal_point

P = EIGHT.parameters


@given(few_seeds)
def test_blocks_lie_inside_the_margin_apart_from_each_other_and_from_the_tool(seed):
    drawn = instance(seed).scene
    assert drawn.names == P.blocks
    for block in drawn:
        assert P.board.contains(*block.pose.xy, margin=0.08)
        assert block.pose.position[2] == P.block_size.resting_z
        start = math.dist(block.pose.xy, EIGHT.scenes.start_position[:2])
        assert start >= P.tool.radius + P.block_size.circumradius
    for a, b in itertools.combinations(drawn, 2):
        assert math.dist(a.pose.xy, b.pose.xy) >= 2 * P.block_size.circumradius


@pytest.mark.parametrize("family", FOUR.families)
def test_with_fewer_blocks_an_instance_is_unsolved_feasible_and_said_in_words_that_mean_it(family):
    for seed in range(8):
        task, drawn = FOUR, instance(seed, family, FOUR)
        assert drawn.instruction.family == family
        assert not task.goals.goal(drawn.instruction, drawn.scene).satisfied(drawn.scene)
        plan = task.planner.plan(drawn.instruction, drawn.scene)
        assert drawn.optimal_path_length == plan.length > 0.0
        assert task.language.parse(drawn.instruction.text, drawn.scene) == drawn.instruction
        assert task.make_instance(drawn.instance_id, drawn.instruction, drawn.scene) == drawn


def test_the_point_of_a_relative_instruction_is_inside_the_margin():
    for family in ("block_to_relative_location", "block_to_block_relative_location"):
        for seed in range(8):
            drawn = instance(seed, family)
            assert P.board.contains(*goal_point(drawn.instruction, drawn.scene, P), margin=0.08)


def test_blocks_to_be_separated_are_joined_and_nobody_else_is_joined_to_the_source():
    for seed in range(8):
        drawn = instance(seed, "separate_blocks")
        source, target = (drawn.scene[drawn.instruction.get(role)] for role in ("source", "target"))
        assert math.dist(source.pose.xy, target.pose.xy) < 0.075
        others = [o for o in drawn.scene if o.name not in (source.name, target.name)]
        assert all(math.dist(source.pose.xy, other.pose.xy) >= 0.08 for other in others)


def test_blocks_to_be_pushed_together_start_farther_apart_than_6_cm():
    for seed in range(8):
        drawn = instance(seed, "block_to_block")
        source, target = (drawn.scene[drawn.instruction.get(role)].pose for role in ("source", "target"))
        assert source.distance_to(target) >= 0.06


def test_families_and_distances_are_drawn_evenly():
    drawn = [FOUR.sample(np.random.default_rng([2, seed]), "").instruction for seed in range(150)]
    families = Counter(i.family for i in drawn)
    assert set(families) == set(FOUR.families)
    # 30 of each are expected, with a standard deviation of 4.9.
    assert all(12 <= count <= 48 for count in families.values())
    distances = Counter(i.get("distance") for i in drawn if i.get("distance"))
    assert min(distances["near"], distances["far"]) >= 5


def test_an_unknown_family_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="family: got 'juggling', expected one of block_to_block, "):
        EIGHT.sample(np.random.default_rng(0), "x", "juggling")


def test_a_board_too_small_for_the_blocks_is_an_error_that_names_the_cure():
    crowded = changed(block_size={"circumradius": 0.09}, sampling={"scene_draws": 20})
    with pytest.raises(
        ConfigurationError,
        match=r"`board\.margin`: got 0\.08, expected room for 8 blocks: none of 20 scenes .* Lower `board\.margin`",
    ):
        crowded.sample(np.random.default_rng(0), "x", "block_to_block")
