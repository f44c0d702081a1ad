"""The oracle of the task tabletop and the control that does not listen, alone and in the embedded world."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from tabletop_scenes import TASK_FILE

from robocontrast_ros.configuration import ConfigurationError, load_configured, resolve_uri
from robocontrast_ros.contracts.policy import PolicyContract
from robocontrast_ros.domain import BASE, Outcome, Pose, Trial
from robocontrast_ros.domain.products import norm
from robocontrast_ros.policies.fit import check_fit
from robocontrast_ros.policies.protocol import Observation
from robocontrast_ros.policies.serving.runner import PolicyRunner
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.tasks.tabletop.goals import named
from robocontrast_ros.worlds.in_process import InProcessBench
from robocontrast_ros.worlds.mujoco.world import World

ARMS = ("franka_hand", "ur5e_2f85")


def policy_file(name):
    return resolve_uri(f"package://robocontrast_ros/config/policies/{name}.yaml")


@cache
def task():
    return load_configured("tasks", TASK_FILE)


@cache
def instance(seed, family):
    return task().sample(np.random.default_rng(seed), f"x{seed}", family)


@cache
def oracle(name="tabletop_oracle"):
    return load_configured("policies", policy_file(name))


def seen(base, **changes):
    tool = Pose(task().scenes.start_position, (1.0, 0.0, 0.0, 0.0))
    return replace(
        Observation(100_000_000, {}, (), (), tool, base.scene, gripper_width=0.08, gripper_closed=0.0), **changes
    )


class TestOracleContract(PolicyContract):
    task = "tabletop"

    def make(self):
        return load_configured("policies", policy_file("tabletop_oracle"))


class TestBlindContract(PolicyContract):
    task = "tabletop"

    def make(self):
        return load_configured("policies", policy_file("tabletop_blind"))


@cache
def bench(robot):
    scenes = task().scenes
    world = World(load_profile(robot), scenes.world, scenes.start_position, physics_step=scenes.physics_step)
    return InProcessBench(world, task(), PolicyRunner(policy_file("tabletop_oracle"), timeout=60.0, own_thread=False))


@pytest.mark.parametrize(("robot", "family"), [("franka_hand", "put_in"), ("ur5e_2f85", "pick")])
def test_the_oracle_solves_what_is_drawn_and_leaves_the_rest_alone(robot, family):
    on, base = bench(robot), instance(1, family)
    start = on.bring(base.scene)
    result = on.execute(Trial(0, base.instance_id, BASE, 0, base, 0), 0).result
    assert result.outcome is Outcome.SUCCESS, result.detail
    assert result.scores["spl"] > 0.9
    end = on.scene()
    for other in task().planner.movable(base.scene):
        if other.name not in named(base.instruction):
            assert end[other.name].pose.distance_to(start[other.name].pose) < 5e-4


def test_it_goes_the_shortest_way_to_above_the_target_with_an_open_hand():
    base = instance(1, "pick")
    policy = oracle()
    policy.reset(base.instruction.text, 0)
    action = policy.act(seen(base))[0]
    _, above, *_ = np.asarray(task().planner.plan(base.instruction, base.scene).path)
    way = above - np.asarray(task().scenes.start_position)
    assert np.allclose(action[:3] / norm(action[:3]), way / norm(way))
    assert action[6] == 0.0


def test_its_actions_depend_on_text_and_observations_alone():
    base = instance(1, "put_in")
    answers = []
    for seed in (0, 1):
        policy = oracle()
        policy.reset(base.instruction.text, seed)
        answers.append(np.vstack([policy.act(seen(base)) for _ in range(3)]))
    assert np.array_equal(*answers)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [({"scene": None}, "needs the ground truth"), ({"gripper_width": None}, "needs a robot with a hand")],
)
def test_what_it_cannot_do_without_is_named(changes, reason):
    base = instance(1, "pick")
    policy = oracle()
    policy.reset(base.instruction.text, 0)
    with pytest.raises(ValueError, match=reason):
        policy.act(seen(base, **changes))


def test_a_target_without_a_plan_is_refused_in_words():
    base = instance(1, "pick")
    target = named(base.instruction)[0]
    away = base.scene.moved(target, Pose.planar(1.0, 0.0))
    with pytest.raises(ValueError, match="is outside the region where things stand"):
        oracle().skill(base.instruction, away)


def test_the_control_draws_its_own_instruction_from_the_seed_alone():
    base = instance(1, "put_in")
    first = {}
    for seed in range(6):
        for words in (base.instruction.text, "whatever"):
            policy = oracle("tabletop_blind")
            policy.reset(words, seed)
            action = tuple(policy.act(seen(base))[0])
            assert first.setdefault(seed, action) == action
    assert len(set(first.values())) > 1


def test_it_fits_robots_with_hands_alone():
    for robot in ARMS:
        check_fit(oracle().describe(), load_profile(robot), task().control_rate, {}, "session.yaml")
    with pytest.raises(ConfigurationError, match="franka"):
        check_fit(oracle().describe(), load_profile("franka"), task().control_rate, {}, "session.yaml")
