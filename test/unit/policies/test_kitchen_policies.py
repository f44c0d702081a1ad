"""The oracle of the kitchen and the control that does not listen keep the contract; the control draws by its seed."""

from __future__ import annotations

from functools import cache

import pytest
from kitchen_instances import KITCHEN, PROBLEMS, instance

from robocontrast_ros.configuration import load_configured, load_record, resolve_uri
from robocontrast_ros.contracts.policy import PolicyContract
from robocontrast_ros.domain import Pose
from robocontrast_ros.policies.baselines.kitchen.blind import KitchenBlind
from robocontrast_ros.policies.baselines.kitchen.oracle import KitchenOracle
from robocontrast_ros.policies.protocol import Observation


@cache
def policy_file(name):
    return resolve_uri(f"package://robocontrast_ros/config/policies/{name}.yaml")


def seen(base):
    tool = Pose(KITCHEN.scenes.start_position, (1.0, 0.0, 0.0, 0.0))
    return Observation(100_000_000, {}, (), (), tool, base.scene, gripper_width=0.08, gripper_closed=0.0)


class Shown(PolicyContract):
    task = "kitchen"

    def instance(self, trial):
        return instance(PROBLEMS[trial % len(PROBLEMS)])


class TestOracleContract(Shown):
    def make(self):
        return KitchenOracle(load_record(KitchenOracle.parameters, policy_file("kitchen_oracle")), KITCHEN)

    def parameter_file(self):
        return policy_file("kitchen_oracle")


class TestBlindContract(Shown):
    def make(self):
        return blind()

    def parameter_file(self):
        return policy_file("kitchen_blind")


def blind():
    own = load_record(KitchenBlind.parameters, policy_file("kitchen_blind"))
    return KitchenBlind(own, load_record(KitchenOracle.parameters, policy_file("kitchen_oracle")), KITCHEN)


def test_the_file_names_the_control():
    policy = load_configured("policies", policy_file("kitchen_blind"))
    assert isinstance(policy, KitchenBlind)
    assert policy.describe().name == "kitchen_blind"


@pytest.mark.parametrize("problem", ["kitchen_5_bowl_on_plate", "kitchen_1_open_top_drawer"])
def test_the_control_draws_its_own_instruction_from_the_seed_alone(problem):
    base, first = instance(problem), {}
    for seed in range(5):
        for words in (base.instruction.text, "whatever"):
            policy = blind()
            policy.reset(words, seed)
            actions = tuple(tuple(policy.act(seen(base))[0]) for _ in range(2))
            assert first.setdefault(seed, actions) == actions
    assert len(set(first.values())) > 1
