"""The oracle of the kitchen and the control that does not listen keep the contract; the control draws by its seed."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from kitchen_instances import KITCHEN, PROBLEMS, instance

from robocontrast_ros.configuration import load_configured, load_record, resolve_uri
from robocontrast_ros.contracts.policy import PolicyContract
from robocontrast_ros.domain import Pose
from robocontrast_ros.domain.rotations import from_vector, turned
from robocontrast_ros.policies.baselines.kitchen.blind import KitchenBlind
from robocontrast_ros.policies.baselines.kitchen.joints import JointHandler
from robocontrast_ros.policies.baselines.kitchen.oracle import KitchenOracle
from robocontrast_ros.policies.baselines.tabletop.handling import CLOSED, OPEN
from robocontrast_ros.policies.baselines.tabletop.random_policy import RandomHand
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


class TestRandomContract(Shown):
    def make(self):
        return RandomHand.from_file(policy_file("hand_random"))

    def parameter_file(self):
        return policy_file("hand_random")


def test_the_random_hand_walks_within_its_bounds_opens_and_closes_and_depends_on_the_seed_alone():
    base, walks = instance("kitchen_5_bowl_on_plate"), []
    for seed, words in ((0, base.instruction.text), (0, "whatever"), (1, "whatever")):
        policy = RandomHand.from_file(policy_file("hand_random"))
        policy.reset(words, seed)
        walks.append(np.concatenate([policy.act(seen(base)) for _ in range(200)]))
    assert np.array_equal(walks[0], walks[1]) and not np.array_equal(walks[0], walks[2])
    motions, grips = walks[0][:, :6], walks[0][:, 6]
    own = load_record(RandomHand.parameters, policy_file("hand_random"))
    shares = np.abs(motions) / np.repeat([own.max_step, own.max_turn], 3)
    assert (shares <= 1.0).all() and (shares.max(axis=0) > 0.4).all(), "along and about each axis, and no farther"
    assert set(grips) == {OPEN, CLOSED}


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


def test_a_hand_that_closed_on_nothing_opens_and_tries_again_and_fingers_that_lag_are_waited_for():
    drawn = instance("kitchen_1_open_top_drawer")
    parameters = load_record(KitchenOracle.parameters, policy_file("kitchen_oracle")).handling
    handler = JointHandler(drawn.instruction, drawn.scene, KITCHEN.planner, parameters)
    tool = Pose(KITCHEN.scenes.start_position, (1.0, 0.0, 0.0, 0.0))

    def after(action):
        x, y, z = np.add(tool.position, action[:3]).tolist()
        return Pose((x, y, z), turned(tool.orientation, from_vector(action[3:6])))

    for _ in range(100):
        # The tool is wherever it was sent, and the fingers are open.
        action = handler.step(tool, 0.08, drawn.scene)
        if action[6] == CLOSED:
            break
        tool = after(action)
    handle = tool
    lagging = [handler.step(tool, 0.08, drawn.scene) for _ in range(3)]
    assert np.allclose(lagging, [0.0] * 6 + [CLOSED], atol=1e-3)
    actions = [handler.step(tool, width, drawn.scene) for width in (0.05, 0.02, 0.0, 0.0)]
    assert [action[6] for action in actions] == [CLOSED, CLOSED, CLOSED, OPEN]
    for _ in range(100):
        tool = after(actions[-1])
        actions.append(handler.step(tool, 0.08, drawn.scene))
        if actions[-1][6] == CLOSED:
            break
    assert actions[-1][6] == CLOSED and tool.distance_to(handle) < 0.01, "it closes at the handle once more"
