"""What every policy must do. A policy's test inherits PolicyContract and says how the policy is made."""

from __future__ import annotations

import numpy as np
from language_table_instances import instance

from robocontrast_ros.domain import Pose
from robocontrast_ros.policies.protocol import Observation, Policy


class PolicyContract:
    """Inherit, and return your policy from ``make``.

    Attributes:
        image_size: height and width of the camera images it is shown.
        joints: number of joints it is shown.
    """

    image_size = (48, 64)
    joints = 7

    def make(self) -> Policy:
        """Return a policy, made afresh."""
        raise NotImplementedError

    def instruction(self, trial: int) -> str:
        """Return the words of a trial."""
        return instance(trial).instruction.text

    def observations(self, policy: Policy, trial: int, count: int = 4) -> list[Observation]:
        """Return what the policy is shown in a trial: the tool wanders, the blocks stand still."""
        wanted = policy.describe()
        rng = np.random.default_rng(trial)
        base = instance(trial)
        return [
            Observation(
                stamp=0.1 * (k + 1),
                images={c: rng.integers(0, 256, (*self.image_size, 3), np.uint8) for c in wanted.cameras},
                joint_names=tuple(f"joint{j}" for j in range(self.joints)),
                joint_positions=tuple(rng.uniform(-1, 1, self.joints).tolist()),
                tool_pose=Pose((*(np.array([0.2, 0.0]) + 0.02 * rng.normal(size=2)).tolist(), 0.01)),
                scene=base.scene if wanted.privileged else None,
            )
            for k in range(count)
        ]

    def acted(self, policy: Policy, trial: int, seed: int) -> list[np.ndarray]:
        """Return the policy's answers in one trial."""
        policy.reset(self.instruction(trial), seed)
        return [np.array(policy.act(observation)) for observation in self.observations(policy, trial)]

    def test_it_describes_itself(self):
        description = self.make().describe()
        assert description.name
        assert description.action_space
        assert description.action_size >= 1
        assert description.chunk_length >= 1
        assert description == self.make().describe()

    def test_an_answer_is_a_chunk_of_finite_double_precision_numbers(self):
        policy = self.make()
        description = policy.describe()
        policy.reset(self.instruction(1), 0)
        for observation in self.observations(policy, 1):
            actions = policy.act(observation)
            assert isinstance(actions, np.ndarray)
            assert actions.dtype == np.float64
            assert actions.ndim == 2
            assert 1 <= actions.shape[0] <= description.chunk_length
            assert actions.shape[1] == description.action_size
            assert np.isfinite(actions).all()

    def test_the_same_seed_words_and_observations_give_the_same_answers(self):
        first, second = self.acted(self.make(), 1, 7), self.acted(self.make(), 1, 7)
        assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))

    def test_nothing_of_a_trial_is_left_in_the_next(self):
        used = self.make()
        self.acted(used, 1, 7)
        after, fresh = self.acted(used, 2, 8), self.acted(self.make(), 2, 8)
        assert all(np.array_equal(a, b) for a, b in zip(after, fresh, strict=True))

    def test_images_are_left_as_they_were(self):
        policy = self.make()
        policy.reset(self.instruction(1), 0)
        for observation in self.observations(policy, 1):
            before = {name: image.copy() for name, image in observation.images.items()}
            policy.act(observation)
            assert all(np.array_equal(observation.images[name], image) for name, image in before.items())
