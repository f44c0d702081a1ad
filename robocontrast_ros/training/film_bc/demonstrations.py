"""Demonstrations of the oracle for Language-Table, made by several processes, each with its own world.

The executed actions differ from the stored ones: they have added noise, the tool drifts for some steps now
and then, and a learner may drive instead of the oracle (DAgger). The label is always the oracle's action at
the tool's actual position, so that a policy learns to recover from its own mistakes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from robocontrast_ros.configuration import load_configured, load_record, record, resolve_uri
from robocontrast_ros.domain import Scene
from robocontrast_ros.images.rendering import Camera
from robocontrast_ros.policies.baselines.language_table.oracle import Oracle, OracleParameters
from robocontrast_ros.policies.film_bc.observations import CAMERA, planar_state, reduced
from robocontrast_ros.policies.protocol import Observation, Policy
from robocontrast_ros.system.processes import Stopped, stopping
from robocontrast_ros.tasks.language_table import LanguageTable
from robocontrast_ros.training.demonstrator import DemonstrationKeys, Demonstrator
from robocontrast_ros.training.shards import Stored


@record
class DemonstrationParameters(DemonstrationKeys):
    """Parameters of the demonstrations."""

    robot: str = Field(min_length=1, description="name of the robot's profile")
    shards: int = Field(gt=0, description="number of files")
    episodes: int = Field(gt=0, description="episodes in one shard")
    noise: float = Field(ge=0, description="standard deviation added to each executed coordinate [m]")
    learner: str = Field(default="", description="path of the parameter file of a policy that drives too")
    learner_share: float = Field(default=0.0, ge=0, le=1, description="share of episodes that it drives")
    image_every: int = Field(ge=0, description="control steps from image to image; 0 for no images")
    camera_size: tuple[int, int] = Field(default=(180, 320), description="height, width of the camera [pixel]")
    image_size: tuple[int, int] = Field(default=(90, 160), description="height, width as stored [pixel]")


@dataclass
class Shard(Stored):
    """The demonstrations of one file; n control steps of e episodes, b blocks, m images.

    Attributes:
        texts: instruction of each episode.
        conditions: index of source and target block (-1: none) of each episode, shape (e, 2).
        episode: the episode of each step, shape (n,).
        tool: tool x and y [m], shape (n, 2).
        blocks: x, y [m] and yaw [rad] of each block, shape (n, b, 3).
        start: the same when the episode began, shape (n, b, 3).
        goal: the point nearest to the source in the goal region shrunk by the oracle's inset [m], shape (n, 2).
        action: the oracle's displacement [m], shape (n, 2).
        image_step: the step of each image, shape (m,).
        images: uint8, shape (m, height, width, 3); empty if none were asked for.
    """

    texts: NDArray[np.str_]
    conditions: NDArray[np.int64]
    episode: NDArray[np.int64]
    tool: NDArray[np.float32]
    blocks: NDArray[np.float32]
    start: NDArray[np.float32]
    goal: NDArray[np.float32]
    action: NDArray[np.float32]
    image_step: NDArray[np.int64]
    images: NDArray[np.uint8]


def make_shard(parameters: DemonstrationParameters, index: int) -> Shard:
    """Return the shard of a number, which depends on the parameters and the number alone."""
    return _Demonstrator(parameters).shard(np.random.default_rng([parameters.seed, index]))


class _Demonstrator(Demonstrator):
    """A robot in a world with the oracle in it."""

    def __init__(self, parameters: DemonstrationParameters) -> None:
        oracle_file = resolve_uri(parameters.oracle)
        oracle = load_record(OracleParameters, oracle_file)
        self._inset = oracle.pushing.inset
        task = LanguageTable.from_file(resolve_uri(oracle.task, oracle_file.parent))
        self._learner: Policy | None = None
        if parameters.learner:
            self._learner = load_configured("policies", Path(parameters.learner))
        height, width = parameters.camera_size
        self._draws = parameters.image_every > 0 or bool(self._learner and self._learner.describe().cameras)
        cameras = (Camera(CAMERA, width, height),) if self._draws else ()
        super().__init__(parameters, parameters.robot, task, Oracle(oracle, task), 1.0, cameras)

    def shard(self, rng: np.random.Generator) -> Shard:
        """Return the demonstrations of one file."""
        names = self._task.parameters.blocks
        rows: dict[str, list] = {name: [] for name in ("episode", "tool", "blocks", "start", "goal", "action")}
        texts, conditions, image_step, images = [], [], [], []
        for episode in range(self._p.episodes):
            if stopping():
                raise Stopped
            instance = self._task.sample(rng, str(episode))
            instruction = instance.instruction
            texts.append(instruction.text)
            target = instruction.get("target")
            conditions.append(
                (names.index(str(instruction.get("source"))), -1 if target is None else names.index(target))
            )
            for step, (observation, goal, action) in enumerate(self._episode(instance, rng)):
                assert observation.scene is not None
                if self._p.image_every and step % self._p.image_every == 0:
                    image_step.append(len(rows["action"]))
                    images.append(reduced(observation.images[CAMERA], *self._p.image_size))
                blocks = planar_state(observation.scene, names)
                if step == 0:
                    start = blocks
                row = (episode, observation.tool_pose.xy, blocks, start, goal, action)
                for column, value in zip(rows.values(), row, strict=True):
                    column.append(value)
        arrays = {
            name: np.asarray(values, np.int64 if name == "episode" else np.float32) for name, values in rows.items()
        }
        return Shard(
            texts=np.array(texts),
            conditions=np.array(conditions, np.int64),
            image_step=np.array(image_step, np.int64),
            images=np.array(images, np.uint8).reshape(len(images), *self._p.image_size, 3),
            **arrays,
        )

    def _episode(
        self, instance, rng: np.random.Generator
    ) -> Iterator[tuple[Observation, NDArray[np.float64], NDArray[np.float64]]]:
        """Yield the observation, the goal's nearest point and the oracle's action, step by step."""
        scene = self._scene.set_up(instance.scene).scene
        goal = self._task.goals.goal(instance.instruction, scene)
        learner = self._learner if rng.random() < self._p.learner_share else None
        self._oracle.reset(instance.instruction.text, 0)
        if learner is not None:
            learner.reset(instance.instruction.text, 0)
        self._controller.reset(self._observe(scene).robot)
        drift, drift_left = np.zeros(2), 0
        for _ in range(self._p.step_limit):
            if goal.satisfied(scene):
                return
            observation = self._observe(scene)
            label = self._oracle.act(observation)[0]
            nearest = goal.region(scene).shrunk(self._inset).nearest(scene[goal.source].pose.xy)
            yield observation, nearest, label
            executed = label if learner is None else learner.act(observation)[0]
            if drift_left == 0 and rng.random() < self._p.drift_chance:
                drift_left = int(rng.integers(1, self._p.drift_steps + 1))
                angle, length = rng.uniform(-math.pi, math.pi), rng.uniform(0.0, self._p.drift_length)
                drift = length * np.array([math.cos(angle), math.sin(angle)])
            if drift_left > 0:
                drift_left -= 1
                executed = drift
            self._execute(executed + rng.normal(0.0, self._p.noise, 2), observation.robot)
            _, scene = self._scene.read()

    def _observe(self, scene: Scene) -> Observation:
        joints = self._world.joint_state()
        return Observation(
            stamp=self._world.time_ns,
            images={CAMERA: self._world.cameras.render(CAMERA)} if self._draws else {},
            joint_names=joints.names,
            joint_positions=joints.positions,
            tool_pose=self._world.tool_pose(),
            scene=scene,
        )
