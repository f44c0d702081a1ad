"""Filters of the robot's own measurements, of time, and of a list of objects."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import ClassVar

import numpy as np

from robocontrast_ros.domain import Pose, Scene
from robocontrast_ros.policies.protocol import Observation


class Latency:
    """Everything in the observation is old: images, robot and objects."""

    description: ClassVar[str] = "all that is shown is some observations old"
    plausible: ClassVar[bool] = True
    of_images: ClassVar[bool] = False
    amounts = (1, 2, 3, 5, 8)
    levels: ClassVar[tuple[str, ...]] = tuple(f"{amount} observations" for amount in amounts)

    def __init__(self, severity: int, camera: str, rng: np.random.Generator) -> None:
        self._before: deque[Observation] = deque(maxlen=self.amounts[severity - 1] + 1)

    def apply(self, observation: Observation) -> Observation:
        """Return the observation from some requests before, by severity, or the first; it keeps the new one's stamp."""
        images = {name: image.copy() for name, image in observation.images.items()}
        self._before.append(replace(observation, images=images))
        return replace(self._before[0], stamp=observation.stamp)


class Proprioception:
    """Gaussian noise of the joints' positions, of the tool's (or the base's) position, and of the gripper's width."""

    description: ClassVar[str] = "Gaussian noise of what the robot measures of itself"
    plausible: ClassVar[bool] = True
    of_images: ClassVar[bool] = False
    amounts = (0.001, 0.003, 0.01, 0.03, 0.1)
    levels: ClassVar[tuple[str, ...]] = tuple(
        f"standard deviation {amount:g} rad, {amount * 100:g} mm" for amount in amounts
    )

    def __init__(self, severity: int, camera: str, rng: np.random.Generator) -> None:
        self._angle, self._rng = self.amounts[severity - 1], rng
        self._length = self._angle / 10

    def apply(self, observation: Observation) -> Observation:
        """Return the observation with other numbers of the robot."""
        joints = np.add(observation.joint_positions, self._drawn(self._angle, len(observation.joint_positions)))
        position = np.add(observation.tool_pose.position, self._drawn(self._length, 3))
        noise = float(self._drawn(self._length, 1)[0])
        width = observation.gripper_width
        return replace(
            observation,
            joint_positions=tuple(joints.tolist()),
            tool_pose=Pose(tuple(position.tolist()), observation.tool_pose.orientation),
            gripper_width=None if width is None else max(0.0, width + noise),
        )

    def _drawn(self, deviation: float, count: int) -> np.ndarray:
        return self._rng.normal(0.0, deviation, count)


class Permuted:
    """The list of objects in another order at each observation (seed 004, section III)."""

    description: ClassVar[str] = "the list of objects is in another order each time"
    plausible: ClassVar[bool] = True
    of_images: ClassVar[bool] = False
    of_objects: ClassVar[bool] = True
    levels: ClassVar[tuple[str, ...]] = ("uniform among all orders",)

    def __init__(self, severity: int, camera: str, rng: np.random.Generator) -> None:
        self._rng = rng

    def apply(self, observation: Observation) -> Observation:
        """Return the observation with its objects in another order."""
        if observation.scene is None:
            return observation
        objects = observation.scene.objects
        order = self._rng.permutation(len(objects))
        scene: Scene = replace(observation.scene, objects=tuple(objects[i] for i in order))
        return replace(observation, scene=scene)
