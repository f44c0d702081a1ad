"""Demonstrations of the oracle for the kitchen, made by several processes, each with its own worlds.

As for the tabletop, what is executed has added noise and drifts, and the label is the oracle's action at the actual
state. Episodes that do not succeed are counted and left out. A share of the scenes may be modified: the augmentation
of seed 003, in which a policy also learns in scenes with one change that its skill does not depend on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from robocontrast_ros.configuration import ConfigurationError, record
from robocontrast_ros.domain import NotApplicable, Pose, RobotState, Scene, TestInstance
from robocontrast_ros.domain.products import norm
from robocontrast_ros.episodes.judging import TRUE_SCENE
from robocontrast_ros.objects.joints import position_in
from robocontrast_ros.policies.baselines.kitchen.joints import JointHandler
from robocontrast_ros.policies.baselines.kitchen.oracle import KitchenOracle
from robocontrast_ros.robots.kinds import make_state_estimator
from robocontrast_ros.system.processes import Stopped, stopping
from robocontrast_ros.tasks.kitchen import Kitchen
from robocontrast_ros.tasks.kitchen.parameters import FAMILIES
from robocontrast_ros.tasks.protocol import robot_start
from robocontrast_ros.training.demonstrator import DemonstrationKeys, Demonstrator, Drift, HandNoise, read_oracle
from robocontrast_ros.training.shards import Stored

SKILLS = tuple(FAMILIES)
"""The skills, in the order of their numbers."""

SLOTS = 14
"""Most things of a demonstrated scene, without its background."""

TURNS = (3, 4, 5)
"""The elements of an action that turn the hand."""

RESTS, RESTS_TURN = 0.003, 0.03
"""An action of less than this [m], [rad] is executed without noise. The oracle takes a tool that rests as where its
limits have left its commands, and noise would keep it from resting."""


@record
class KitchenDemonstrations(DemonstrationKeys, HandNoise):
    """Parameters of the demonstrations."""

    robots: tuple[str, ...] = Field(min_length=1, description="names of robots' profiles; shards take them in turn")
    shards: int = Field(ge=2, description="number of files; the first twentieth, at least one, is for validation")
    scenes: int = Field(gt=0, description="scenes of each problem in one shard, with one episode each")
    modified: float = Field(default=0.0, ge=0, le=1, description="share of the scenes that have one modification")


@dataclass
class Shard(Stored):
    """The demonstrations of one file; n control steps of e episodes, s slots of things.

    Poses are x, y, z [m] and a quaternion x, y, z, w in the world. A slot holds one of the scene's things, a moving
    part is one, in the order of the scene.

    Attributes:
        names: models of the task's things, without backgrounds.
        problems: the names of all problems of the task.
        tried: episodes begun of each problem, shape (p,); those stored succeeded.
        altered: those of them with a modified scene, shape (p,).
        problem: index into the problems, shape (e,).
        texts: instruction, shape (e,).
        models: index into the names, -1 for no thing, shape (e, s).
        skill: index into ``SKILLS``, shape (e,).
        target: slot, shape (e,).
        reference: slot, -1 for none, shape (e,).
        episode: of each step, shape (n,).
        things: poses, shape (n, s, 7).
        joints: position of a part's joint [m, or rad], 0 for what is no part, shape (n, s).
        tool: pose of the tool, shape (n, 7).
        width: between the fingers [m], shape (n,).
        width_before: the same one control step before, shape (n,).
        gripper: the last command, 0 open, 1 closed, shape (n,).
        commanded: pose that the action is added to, shape (n, 7).
        phase: ``handling.Phase``, or ``moving.Phase`` where the skill moves a joint, shape (n,).
        line: pose of the hand at the end of the phase, or at the handle, shape (n, 7).
        above: height in which it goes there [m], shape (n,).
        action: the oracle's displacement [m], rotation vector [rad] and gripper command, shape (n, 7).
    """

    names: NDArray[np.str_]
    problems: NDArray[np.str_]
    tried: NDArray[np.int64]
    altered: NDArray[np.int64]
    problem: NDArray[np.int64]
    texts: NDArray[np.str_]
    models: NDArray[np.int64]
    skill: NDArray[np.int64]
    target: NDArray[np.int64]
    reference: NDArray[np.int64]
    episode: NDArray[np.int64]
    things: NDArray[np.float32]
    joints: NDArray[np.float32]
    tool: NDArray[np.float32]
    width: NDArray[np.float32]
    width_before: NDArray[np.float32]
    gripper: NDArray[np.float32]
    commanded: NDArray[np.float32]
    phase: NDArray[np.int64]
    line: NDArray[np.float32]
    above: NDArray[np.float32]
    action: NDArray[np.float32]


def make_shard(parameters: KitchenDemonstrations, index: int) -> Shard:
    """Return the shard of a number, which depends on the parameters and the number alone."""
    robot = parameters.robots[index % len(parameters.robots)]
    return _demonstrator(parameters, robot).shard(np.random.default_rng([parameters.seed, index]))


@lru_cache(maxsize=8)
def _demonstrator(parameters: KitchenDemonstrations, robot: str) -> _Demonstrator:
    return _Demonstrator(parameters, robot)


class _Demonstrator(Demonstrator):
    """A robot in a world with the oracle in it."""

    def __init__(self, parameters: KitchenDemonstrations, robot: str) -> None:
        oracle, task_file = read_oracle(parameters)
        task = Kitchen.from_file(task_file)
        super().__init__(parameters, robot, task, KitchenOracle(oracle, task), 0.25)
        self._estimator = make_state_estimator(self._world.profile)
        self._names = [state for state in task.things.models if task.things.is_thing(state)]

    def shard(self, rng: np.random.Generator) -> Shard:
        """Return the demonstrations of one file."""
        task: Kitchen = self._task
        problems = list(task.skills)
        tried, altered = (np.zeros(len(problems), dtype=np.int64) for _ in range(2))
        episodes: list[dict] = []
        steps: list[dict] = []
        for index, name in enumerate(problems):
            for instance, changed in self._instances(name, rng):
                if stopping():
                    raise Stopped
                tried[index] += 1
                altered[index] += changed
                start = self._scene.set_up(instance.scene).scene
                made = self._episode(instance, start, rng)
                if made is not None:
                    steps += ({"episode": len(episodes), **row} for row in made)
                    episodes.append({"problem": index, **self._described(instance, start)})
        columns = self._columns(episodes, steps)
        return Shard(np.array(self._names), np.array(problems), tried, altered, **columns)

    def _instances(self, name: str, rng: np.random.Generator) -> Iterator[tuple[TestInstance, bool]]:
        """Draw the instances of a problem; yield each, and whether its scene was modified."""
        for number in range(self._p.scenes):
            instance = self._task.sample_of(name, rng, f"{name}_{number}")
            if rng.random() < self._p.modified:
                modifications = self._task.modifications
                answer = modifications.modify(instance, modifications.kinds, 1, rng)
                if not isinstance(answer, NotApplicable):
                    yield answer.instance, True
                    continue
            yield instance, False

    def _read(self) -> tuple[RobotState, Scene]:
        scene = replace(self._scene.read()[1], contacts=self._world.touched(), carried=self._world.carried())
        return self._estimator.update(self._world.reading()), scene

    def _episode(self, instance: TestInstance, start: Scene, rng: np.random.Generator) -> list[dict] | None:
        """Return the steps of an episode; None if it does not succeed."""
        task, rows = self._task, []
        self._estimator.begin(robot_start(task, start))
        judging = TRUE_SCENE.begin(task, instance, start)
        robot, scene = self._read()
        self._controller.reset(robot)
        try:
            handler = self._oracle.skill(instance.instruction, start)
        except ValueError:
            return None
        drift = Drift(self._p, rng, TURNS)
        width_before, gripper = robot.gripper_width, 0.0
        for _ in range(self._p.step_limit):
            label = handler.step(robot.pose, robot.gripper_width, scene)
            intent = handler.intent
            joint = isinstance(handler, JointHandler)
            poses, joints = self._places(scene)
            rows.append(
                {
                    "things": poses,
                    "joints": joints,
                    "tool": numbers(robot.pose),
                    "width": robot.gripper_width,
                    "width_before": width_before,
                    "gripper": gripper,
                    "commanded": numbers(intent.commanded),
                    "phase": int(intent.phase),
                    "line": numbers(intent.handle if joint else intent.line.pose),
                    "above": intent.above,
                    "action": label,
                }
            )
            width_before, gripper = robot.gripper_width, float(label[6])
            action = drift.executed(label) if _moves(label) else label
            handler.executed(action)
            self._execute(action, robot)
            robot, scene = self._read()
            judging.update(scene)
            if judging.succeeded:
                return rows
        return None

    def _things_of(self, scene: Scene) -> list[str]:
        """Return the names of a scene's things, in its order."""
        names = [state.name for state in scene if self._task.things.is_thing(state.model)]
        if len(names) > SLOTS:
            raise ConfigurationError("demonstrations", "oracle", len(names), f"scenes of at most {SLOTS} things")
        return names

    def _places(self, scene: Scene) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the poses of things, shape (s, 7), and the positions of their joints, shape (s,)."""
        poses, joints = np.zeros((SLOTS, 7)), np.zeros(SLOTS)
        for slot, name in enumerate(self._things_of(scene)):
            poses[slot] = numbers(scene[name].pose)
            joint = self._task.things.joint(scene, name)
            joints[slot] = 0.0 if joint is None else position_in(scene, name, joint)
        return poses, joints

    def _described(self, instance: TestInstance, start: Scene) -> dict:
        """Return the text, models, skill, target and reference of an episode, as in a shard."""
        slots, said = self._things_of(start), instance.instruction
        models = [self._names.index(start[name].model) for name in slots]
        reference = said.get("reference")
        return {
            "texts": said.text,
            "models": models + [-1] * (SLOTS - len(models)),
            "skill": SKILLS.index(said.family),
            "target": slots.index(str(said.get("target"))),
            "reference": -1 if reference is None else slots.index(str(reference)),
        }


def _moves(action: NDArray[np.float64]) -> bool:
    """Return whether an action moves the tool on."""
    return float(norm(action[:3])) >= RESTS or float(norm(action[3:6])) >= RESTS_TURN


def numbers(pose: Pose) -> tuple[float, ...]:
    """Return x, y, z [m] and the quaternion x, y, z, w of a pose."""
    return *pose.position, *pose.orientation
