"""What every policy must do. A policy's test inherits PolicyContract and says how the policy is made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, fields
from pathlib import Path

import numpy as np
import pytest
from language_table_instances import instance

from robocontrast_ros.configuration import find_configured
from robocontrast_ros.domain import Pose
from robocontrast_ros.policies.protocol import Observation, Policy, PolicyDescription


class PolicyContract:
    """Inherit, and return your policy from ``make``.

    Attributes:
        image_size: height and width of the camera images it is shown, where its description leaves them open.
        joints: number of joints it is shown, where its description leaves it open.
    """

    image_size = (48, 64)
    joints = 7

    def make(self) -> Policy:
        """Return a policy, made afresh."""
        raise NotImplementedError

    def parameter_file(self) -> Path | None:
        """Return the file that ``make`` reads; None for a policy that cannot be described by its file alone."""
        return None

    @pytest.fixture(autouse=True)
    def _closed_at_the_end(self) -> Iterator[None]:
        self._made: list[Policy] = []
        yield
        for policy in self._made:
            getattr(policy, "close", lambda: None)()

    def fresh(self) -> Policy:
        """Return a policy, made afresh, that is closed at the end of the test."""
        self._made.append(self.make())
        return self._made[-1]

    def optional(self, policy: Policy, method: str) -> None:
        """Skip the test of a method that the policy does not have."""
        if not hasattr(policy, method):
            pytest.skip(f"it has no {method}()")

    def instruction(self, trial: int) -> str:
        """Return the words of a trial."""
        return instance(trial).instruction.text

    def observations(self, policy: Policy, trial: int, count: int = 4) -> list[Observation]:
        """Return what the policy is shown in a trial: the tool wanders, the blocks stand still."""
        wanted = policy.describe()
        rng = np.random.default_rng(trial)
        base = instance(trial)
        joints = self.joints if wanted.joints is None else wanted.joints
        return [
            Observation(
                stamp=0.1 * (k + 1),
                images={
                    camera: rng.integers(0, 256, (*shape, 3), np.uint8)
                    for camera, shape in self.image_shapes(wanted).items()
                },
                joint_names=tuple(f"joint{j}" for j in range(joints)),
                joint_positions=tuple(rng.uniform(-1, 1, joints).tolist()),
                tool_pose=Pose((*(np.array([0.2, 0.0]) + 0.02 * rng.normal(size=2)).tolist(), 0.01)),
                scene=base.scene if wanted.privileged else None,
            )
            for k in range(count)
        ]

    def image_shapes(self, wanted: PolicyDescription) -> dict[str, tuple[int, int]]:
        """Return height and width of each camera's images: as the policy wants them, if it says so."""
        sizes = wanted.image_sizes or (None,) * len(wanted.cameras)
        return {
            camera: (size[1], size[0]) if size else self.image_size
            for camera, size in zip(wanted.cameras, sizes, strict=True)
        }

    def acted(self, policy: Policy, trial: int, seed: int) -> list[np.ndarray]:
        """Return the policy's answers in one trial."""
        policy.reset(self.instruction(trial), seed)
        return [np.array(policy.act(observation)) for observation in self.observations(policy, trial)]

    def test_it_describes_itself(self):
        description = self.fresh().describe()
        assert description.name
        assert description.action_space
        assert description.action_size >= 1
        assert description.chunk_length >= 1
        assert description == self.fresh().describe()

    def test_an_answer_is_a_chunk_of_finite_double_precision_numbers(self):
        policy = self.fresh()
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
        first, second = self.acted(self.fresh(), 1, 7), self.acted(self.fresh(), 1, 7)
        assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))

    def test_nothing_of_a_trial_is_left_in_the_next(self):
        used = self.fresh()
        self.acted(used, 1, 7)
        after, fresh = self.acted(used, 2, 8), self.acted(self.fresh(), 2, 8)
        assert all(np.array_equal(a, b) for a, b in zip(after, fresh, strict=True))

    def test_images_are_left_as_they_were(self):
        policy = self.fresh()
        policy.reset(self.instruction(1), 0)
        for observation in self.observations(policy, 1):
            before = {name: image.copy() for name, image in observation.images.items()}
            policy.act(observation)
            assert all(np.array_equal(observation.images[name], image) for name, image in before.items())

    def test_its_file_says_what_it_says_itself(self):
        file = self.parameter_file()
        if file is None:
            pytest.skip("it has no file to be described by")
        by_file = find_configured("policies", file).describe_file(file)
        described = self.fresh().describe()
        assert by_file.conventions.differences(described.conventions) == ()
        for field in fields(PolicyDescription):
            said = getattr(by_file, field.name)
            if field.default is MISSING or (said != field.default and field.name != "conventions"):
                assert said == getattr(described, field.name), field.name

    def test_warming_up_leaves_no_trace_in_later_answers(self):
        warm = self.fresh()
        self.optional(warm, "warm_up")
        warm.warm_up()
        after, fresh = self.acted(warm, 1, 7), self.acted(self.fresh(), 1, 7)
        assert all(np.array_equal(a, b) for a, b in zip(after, fresh, strict=True))

    def test_closing_it_twice_is_no_mistake_and_leaves_others_alone(self):
        closed, other = self.fresh(), self.fresh()
        self.optional(closed, "close")
        before = self.acted(other, 1, 7)
        closed.close()
        closed.close()
        after = self.acted(other, 1, 7)
        assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
