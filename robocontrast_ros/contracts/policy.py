"""The contract of policies."""

from __future__ import annotations

from dataclasses import MISSING, fields, replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.configuration import find_configured, load_configured
from robocontrast_ros.configuration.files import find_file
from robocontrast_ros.contracts.checking import has_all, nothing_to_check, promise
from robocontrast_ros.domain import NANOSECONDS, Crop, Pose, Segment, TestInstance, plain_text
from robocontrast_ros.domain.channels import GRIPPER_OBSERVATIONS
from robocontrast_ros.policies.protocol import Observation, Policy, PolicyDescription
from robocontrast_ros.policies.segments import as_told, one_segment, to_send
from robocontrast_ros.tasks.protocol import Task, robot_start

Answers = list[NDArray[np.float64]]


@cache
def _task(name: str) -> Task:
    """Return a task, kept because its instances take time to draw."""
    return load_configured("tasks", find_file("tasks", name, "the contract", "task", Path.cwd()))


@cache
def _instance(name: str, trial: int) -> TestInstance:
    return _task(name).sample(np.random.default_rng(trial), f"instance-{trial}")


class PolicyContract:
    """Inherit, and return your policy from ``make``.

    Attributes:
        task: name in config/tasks/, or path of a file: its instructions and scenes are shown.
        image_size: height and width of its camera images, if its description leaves them open.
        joints: number of joints in its observations, if its description leaves it open.
    """

    task = "language_table"
    image_size = (48, 64)
    joints = 7

    def make(self) -> Policy:
        """Return a policy, made afresh."""
        raise NotImplementedError

    def parameter_file(self) -> Path | None:
        """Return the file that ``make`` reads; None if its file alone cannot describe the policy."""
        return None

    def instance(self, trial: int) -> TestInstance:
        """Return the test instance of a trial."""
        return _instance(self.task, trial)

    def teardown_method(self) -> None:
        """Close all policies that were made."""
        for policy in vars(self).pop("_made", ()):
            getattr(policy, "close", lambda: None)()

    def fresh(self) -> Policy:
        """Return a policy, made afresh, that is closed at the end of the test."""
        policy = self.make()
        vars(self).setdefault("_made", []).append(policy)
        return policy

    def instruction(self, trial: int) -> str:
        """Return the words of a trial."""
        return self.instance(trial).instruction.text

    def observations(self, policy: Policy, trial: int, count: int = 4) -> list[Observation]:
        """Return the policy's observations in a trial: an arm's tool moves about, all else is at rest.

        There are images of the cameras that it declares, and the ground truth if it declares to be privileged.
        """
        wanted = policy.describe()
        rng = np.random.default_rng(trial)
        scene = self.instance(trial).scene
        joints = self.joints if wanted.joints is None else wanted.joints
        hand = any(name in GRIPPER_OBSERVATIONS for name in wanted.observes)
        return [
            Observation(
                stamp=(k + 1) * NANOSECONDS // 10,
                images={
                    camera: rng.integers(0, 256, (*shape, 3), np.uint8)
                    for camera, shape in self.image_shapes(wanted).items()
                },
                joint_names=tuple(f"joint{j}" for j in range(joints)),
                joint_positions=tuple(rng.uniform(-1, 1, joints).tolist()),
                tool_pose=self.robot_pose(trial, rng),
                scene=scene if wanted.privileged else None,
                gripper_width=0.02 * k if hand else None,
                gripper_closed=1.0 - 0.25 * k if hand else None,
            )
            for k in range(count)
        ]

    def robot_pose(self, trial: int, rng: np.random.Generator) -> Pose:
        """Return the robot's pose by its own estimate."""
        scene = self.instance(trial).scene
        start = robot_start(_task(self.task), scene)
        if scene.robot is not None:
            return start
        x, y, z = start.position
        return Pose((*(np.array([x, y]) + 0.02 * rng.normal(size=2)).tolist(), z))

    def image_shapes(self, wanted: PolicyDescription) -> dict[str, tuple[int, int]]:
        """Return height and width of each camera's images: those of the policy, if it has any."""
        sizes = wanted.image_sizes or (None,) * len(wanted.cameras)
        return {
            camera: (size[1], size[0]) if size else self.image_size
            for camera, size in zip(wanted.cameras, sizes, strict=True)
        }

    def acted(self, policy: Policy, trial: int, seed: int) -> Answers:
        """Return the policy's answers in one trial."""
        policy.reset(self.instruction(trial), seed)
        return [np.array(policy.act(observation)) for observation in self.observations(policy, trial)]

    def test_it_describes_itself(self) -> None:
        """The description is always the same."""
        policy = self.fresh()
        has_all("policies", policy)
        description = policy.describe()
        promise(
            isinstance(description, PolicyDescription), f"`describe` returns a PolicyDescription; got {description!r}"
        )
        promise(description.name and description.action_space, "a description has a `name` and an `action_space`")
        promise(
            description == self.fresh().describe(),
            "two policies of one kind describe themselves alike; the second time, `describe` returned something else",
        )

    def test_what_it_declares_is_all_that_it_needs(self) -> None:
        """It answers with the images of its cameras, and without ground truth unless it is privileged."""
        policy = self.fresh()
        shown = policy.describe()
        try:
            self.acted(policy, 1, 0)
        except Exception as error:  # a policy may raise anything
            cameras = ", ".join(shown.cameras) or "none"
            truth = "with" if shown.privileged else "without"
            raise AssertionError(
                f"a policy answers when it is shown what `describe` declares (cameras: {cameras}; {truth} the ground "
                f"truth); it raises {type(error).__name__}: {error}"
            ) from error

    def test_an_answer_is_a_chunk_of_finite_double_precision_numbers(self) -> None:
        """Its shape is (n, action_size), n up to chunk_length."""
        policy = self.fresh()
        wanted = policy.describe()
        policy.reset(self.instruction(1), 0)
        for observation in self.observations(policy, 1):
            actions = policy.act(observation)
            shape = getattr(actions, "shape", None)
            promise(
                isinstance(actions, np.ndarray) and actions.dtype == np.float64,
                f"an answer is an array of float64; got {getattr(actions, 'dtype', type(actions).__name__)}",
            )
            promise(
                actions.ndim == 2 and 1 <= shape[0] <= wanted.chunk_length and shape[1] == wanted.action_size,
                f"an answer has the shape (1 to {wanted.chunk_length}, {wanted.action_size}); got {shape}",
            )
            promise(np.isfinite(actions).all(), f"an answer is finite; got {actions.tolist()}")

    def test_the_same_seed_words_and_observations_give_the_same_answers(self) -> None:
        """All randomness comes from the seed of ``reset``."""
        promise(
            _equal(self.acted(self.fresh(), 1, 7), self.acted(self.fresh(), 1, 7)),
            "the same seed, words and observations give the same answers; the second time they were others",
        )

    def test_nothing_of_a_trial_is_left_in_the_next(self) -> None:
        """``reset`` begins anew."""
        used = self.fresh()
        self.acted(used, 1, 7)
        promise(
            _equal(self.acted(used, 2, 8), self.acted(self.fresh(), 2, 8)),
            "after `reset` nothing is left of the trial before; a policy that was used answers otherwise than a fresh "
            "one",
        )

    def test_it_takes_segments_as_it_declares(self) -> None:
        """If it declares ``referents`` or ``mask``, it takes pictures, masked parts, and everything masked."""
        described = self.fresh().describe()
        if not described.takes_segments:
            nothing_to_check("it takes text alone")
        promise(
            hasattr(self.fresh(), "reset_segments"),
            "a policy that declares `referents` or `mask` has `reset_segments(segments, seed)`; it has not",
        )
        for what, segments in self.segments(1, described).items():
            try:
                first, second = (self.acted_by_segments(self.fresh(), 1, segments) for _ in range(2))
            except Exception as error:  # a policy may raise anything
                raise AssertionError(
                    f"a policy answers after `reset_segments` with {what}; it raises {type(error).__name__}: {error}"
                ) from error
            promise(
                _equal(first, second),
                f"the same seed, segments and observations give the same answers; with {what} the second were others",
            )
            used = self.fresh()
            self.acted_by_segments(used, 1, segments)
            promise(
                _equal(self.acted(used, 2, 8), self.acted(self.fresh(), 2, 8)),
                f"after `reset` nothing is left of the trial before; after `reset_segments` with {what} it answers "
                "otherwise than a fresh one",
            )

    def segments(self, trial: int, described: PolicyDescription) -> dict[str, tuple[Segment, ...]]:
        """Return segments that the policy may get in a trial, by their description in words."""
        said = self.instance(trial).instruction
        parts = to_send(said, _task(self.task), described) or one_segment(said.text)
        picture = Crop.of(np.random.default_rng(trial).integers(0, 256, (32, 32, 3), np.uint8))
        changed = {
            "words": parts,
            "pictures": tuple(replace(part, crop=picture) if part.refers else part for part in parts),
            "masked words": tuple(replace(part, visible=part.refers) for part in parts),
        }
        if described.accepts_empty:
            changed["everything masked"] = tuple(replace(part, visible=False) for part in parts)
        return {
            what: as_told(plain_text(told), told, described).segments
            for what, told in changed.items()
            if what != "pictures" or described.referents == "crop"
        }

    def acted_by_segments(self, policy: Policy, trial: int, segments: tuple[Segment, ...]) -> Answers:
        """Return the policy's answers in one trial with segments."""
        policy.reset_segments(segments, 7)
        return [np.array(policy.act(observation)) for observation in self.observations(policy, trial)]

    def test_images_are_left_as_they_were(self) -> None:
        """The recorder also uses them."""
        policy = self.fresh()
        policy.reset(self.instruction(1), 0)
        for observation in self.observations(policy, 1):
            before = {name: image.copy() for name, image in observation.images.items()}
            policy.act(observation)
            changed = [name for name, image in before.items() if not np.array_equal(observation.images[name], image)]
            promise(not changed, f"`act` leaves the images as they are; it changed {', '.join(changed)}")

    def test_its_file_says_what_it_says_itself(self) -> None:
        """Lists and checks use the file without loading the policy."""
        file = self.parameter_file()
        if file is None:
            nothing_to_check("it has no file to be described by")
        maker = find_configured("policies", file)
        if not hasattr(maker, "describe_file"):
            nothing_to_check("it has no describe_file()")
        by_file = maker.describe_file(file)
        described = self.fresh().describe()
        differences = by_file.conventions.differences(described.conventions)
        promise(not differences, f"`describe_file` and `describe` name the same conventions; differing: {differences}")
        for field in fields(PolicyDescription):
            said, says = getattr(by_file, field.name), getattr(described, field.name)
            if field.default is MISSING or (said != field.default and field.name != "conventions"):
                promise(
                    said == says, f"`describe_file` says of `{field.name}` what `describe` says, {says!r}; got {said!r}"
                )

    def test_warming_up_leaves_no_trace_in_later_answers(self) -> None:
        """Only a policy that can be warmed up is checked."""
        warm = self.fresh()
        self.optional(warm, "warm_up")
        warm.warm_up()
        promise(
            _equal(self.acted(warm, 1, 7), self.acted(self.fresh(), 1, 7)),
            "`warm_up` changes no later answer; a policy that was warmed up answers otherwise",
        )

    def test_closing_it_twice_is_no_mistake_and_leaves_others_alone(self) -> None:
        """Only a policy that can be closed is checked."""
        closed, other = self.fresh(), self.fresh()
        self.optional(closed, "close")
        before = self.acted(other, 1, 7)
        closed.close()
        closed.close()
        promise(
            _equal(before, self.acted(other, 1, 7)),
            "closing a policy leaves others alone; another one answers otherwise since",
        )

    def optional(self, policy: Policy, method: str) -> None:
        """Skip the test of a method that the policy does not have."""
        if not hasattr(policy, method):
            nothing_to_check(f"it has no {method}()")


def _equal(first: Answers, second: Answers) -> bool:
    return len(first) == len(second) and all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
