"""The oracle, the noisy oracle and the random policy, alone and in the embedded world."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from language_table_instances import EIGHT, instance, scene

from robocontrast_ros.configuration import load_configured, load_record, resolve_uri
from robocontrast_ros.contracts.policy import PolicyContract
from robocontrast_ros.domain import BASE, Outcome, Pose, Trial
from robocontrast_ros.policies.baselines.language_table.noisy_oracle import NoisyOracle, NoisyOracleParameters
from robocontrast_ros.policies.baselines.language_table.oracle import Oracle, OracleParameters
from robocontrast_ros.policies.protocol import Observation
from robocontrast_ros.policies.serving.runner import PolicyRunner
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.worlds.in_process import InProcessBench
from robocontrast_ros.worlds.mujoco.world import World


def policy_file(name):
    return resolve_uri(f"package://robocontrast_ros/config/policies/{name}.yaml")


ORACLE = load_record(OracleParameters, policy_file("oracle"))
NOISY = load_record(NoisyOracleParameters, policy_file("noisy_oracle"))


def noisy(**chances):
    """Return the noisy oracle with nothing but what is named going wrong."""
    quiet = {"action_noise": 0.0, "wrong_direction": 0.0, "wrong_block": 0.0, "habit": 0.0}
    return NoisyOracle(replace(NOISY, **{**quiet, **chances}), ORACLE, EIGHT)


class TestOracleContract(PolicyContract):
    def make(self):
        return load_configured("policies", policy_file("oracle"))


class TestNoisyOracleContract(PolicyContract):
    def make(self):
        return load_configured("policies", policy_file("noisy_oracle"))


class TestRandomContract(PolicyContract):
    def make(self):
        return load_configured("policies", policy_file("random"))


def seen(base, x=0.185, y=0.0, **changes):
    observation = Observation(100_000_000, {}, (), (), Pose((x, y, 0.01)), base.scene)
    return replace(observation, **changes)


def first_action(policy, base, seed=0):
    policy.reset(base.instruction.text, seed)
    return policy.act(seen(base))[0]


@cache
def bench(robot):
    world = World(load_profile(robot), EIGHT.scenes.world, EIGHT.scenes.start_position)
    return InProcessBench(world, EIGHT, PolicyRunner(policy_file("oracle"), timeout=10.0))


@pytest.mark.parametrize("family", EIGHT.families)
@pytest.mark.parametrize("robot", ["franka", "ur5e"])
def test_the_oracle_solves_unperturbed_instances_by_contact(robot, family):
    on = bench(robot)
    for seed in range(3):
        base = instance(seed, family)
        on.bring(base.scene)
        result = on.execute(Trial(seed, base.instance_id, BASE, 0, base, seed=0), 0).result
        assert result.outcome is Outcome.SUCCESS, (base.instruction.text, result)
        assert result.clamped_steps <= 2
        assert 0.2 < result.scores["spl"] <= 1.0


def test_the_oracle_goes_by_the_words_alone():
    base = instance(1, "block_to_absolute_location")
    policy = Oracle(ORACLE, EIGHT)
    here = first_action(policy, base)
    other = next(b for b in EIGHT.parameters.blocks if b != base.instruction.get("source"))
    elsewhere = EIGHT.rewording.reword(base.instruction, {"source": other}, base.scene, np.random.default_rng(0))
    assert not np.allclose(here, first_action(policy, replace(base, instruction=elsewhere)))


def test_the_oracle_rests_once_the_instruction_is_fulfilled():
    base = instance(1, "block_to_absolute_location")
    policy = Oracle(ORACLE, EIGHT)
    policy.reset(base.instruction.text, 0)
    policy.act(seen(base))
    solved = EIGHT.planner.plan(base.instruction, base.scene).final_scene
    assert np.array_equal(policy.act(seen(base, scene=solved)), np.zeros((1, 2)))


def test_the_oracle_keeps_the_goal_of_the_first_scene_for_a_relative_instruction():
    base = instance(1, "block_to_relative_location")
    policy = Oracle(ORACLE, EIGHT)
    policy.reset(base.instruction.text, 0)
    policy.act(seen(base))
    solved = EIGHT.planner.plan(base.instruction, base.scene).final_scene
    assert np.array_equal(policy.act(seen(base, scene=solved)), np.zeros((1, 2)))
    policy.reset(base.instruction.text, 0)
    assert policy.act(seen(base, scene=solved)).any()


def test_no_step_of_the_oracle_is_longer_than_its_limits():
    policy = Oracle(ORACLE, EIGHT)
    longest = max(ORACLE.pushing.free_step, ORACLE.pushing.push_step)
    for seed in range(10):
        assert np.linalg.norm(first_action(policy, instance(seed))) <= longest + 1e-9


def test_the_oracle_refuses_words_it_does_not_know_and_an_observation_without_a_scene():
    base, policy = instance(1), Oracle(ORACLE, EIGHT)
    with pytest.raises(ValueError, match="act before reset"):
        policy.act(seen(base))
    policy.reset("juggle the blocks", 0)
    with pytest.raises(ValueError, match="the grammar does not know this sentence"):
        policy.act(seen(base))
    policy.reset(base.instruction.text, 0)
    with pytest.raises(ValueError, match="needs the ground truth"):
        policy.act(seen(base, scene=None))


def test_a_noisy_oracle_without_noise_is_the_oracle():
    plain = noisy()
    for seed in range(5):
        base = instance(seed)
        assert np.array_equal(first_action(plain, base, seed), first_action(Oracle(ORACLE, EIGHT), base))


def test_noise_has_the_standard_deviation_that_the_file_says():
    base = instance(1)
    trembling = noisy(action_noise=0.008)
    exact = first_action(Oracle(ORACLE, EIGHT), base)
    errors = np.array([first_action(trembling, base, seed) - exact for seed in range(150)])
    # 300 draws: the standard error of the standard deviation is 4 %.
    assert errors.std() == pytest.approx(0.008, rel=0.2)
    assert abs(errors.mean()) < 0.002


def test_blocks_are_mistaken_as_often_as_the_file_says():
    base = instance(1, "block_to_block_relative_location")
    exact = first_action(Oracle(ORACLE, EIGHT), base)
    half_deaf = noisy(wrong_block=0.5)
    wrong = sum(not np.allclose(first_action(half_deaf, base, seed), exact) for seed in range(100))
    # 50 are expected, with a standard deviation of 5; another block may happen to lie the same way.
    assert 30 <= wrong <= 70


@pytest.mark.parametrize(
    "family", ["block_to_absolute_location", "block_to_relative_location", "block_to_block_relative_location"]
)
def test_a_wrong_direction_leads_elsewhere(family):
    turned = noisy(wrong_direction=1.0)
    base = instance(1, family)
    solved = EIGHT.planner.plan(base.instruction, base.scene).final_scene
    turned.reset(base.instruction.text, 0)
    turned.act(seen(base))
    # Where the oracle would rest, it goes on.
    assert turned.act(seen(base, scene=solved)).any()


def test_habit_turns_a_direction_about_where_there_is_more_room_the_other_way():
    where = scene(red_moon=(0.30, 0.10), blue_cube=(0.5, -0.2))

    def moves_of(policy, text):
        policy.reset(text, 0)
        return policy.act(Observation(100_000_000, {}, (), (), Pose((0.185, 0.0, 0.01)), where))

    def same(first, second):
        return np.array_equal(moves_of(noisy(habit=1.0), first), moves_of(noisy(), second))

    # The moon is in the upper right part of the board.
    assert same("move the red moon up", "move the red moon down")
    assert same("move the red moon slightly right", "move the red moon slightly left")
    assert same("move the red moon up and right", "move the red moon down and left")
    assert same("move the red moon left", "move the red moon left")
    assert same("move the red moon to the top", "move the red moon to the top")
    # It is the target's room that counts for a side of a block: the cube is in the lower left part.
    assert same("move the red moon left of the blue cube", "move the red moon right of the blue cube")


def test_the_random_policy_wanders_within_its_bound_and_heeds_nothing():
    policy = load_configured("policies", policy_file("random"))
    base, other = instance(1), instance(2)

    def wander(shown, seed):
        policy.reset(shown.instruction.text, seed)
        return np.array([policy.act(seen(shown))[0] for _ in range(50)])

    steps = wander(base, 3)
    assert (np.abs(steps) <= 0.03).all()
    assert np.array_equal(steps, wander(other, 3))
    assert not np.array_equal(steps, wander(base, 4))
