"""Demonstrations of the oracle for the kitchen or the suite, made by several processes, each with its own worlds.

As for the tabletop, what is executed has added noise and drifts, and the label is the oracle's action at the actual
state. Trials that do not succeed are counted and left out. Each subtask of a trial is an episode of its own, with the
words of the whole. A share of the kitchen's scenes may be modified: the augmentation of seed 003, in which a policy
also learns in scenes with one change that its skill does not depend on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from robocontrast_ros.configuration import ConfigurationError, load_configured, record, resolve_uri
from robocontrast_ros.domain import Instruction, NotApplicable, Pose, RobotState, Scene, TestInstance
from robocontrast_ros.domain.products import norm
from robocontrast_ros.episodes.judging import TRUE_SCENE
from robocontrast_ros.objects.joints import position_in
from robocontrast_ros.policies.baselines.kitchen.joints import JointHandler
from robocontrast_ros.policies.baselines.suite.chain import Chain
from robocontrast_ros.policies.scripted import OraclePolicy
from robocontrast_ros.robots.kinds import make_state_estimator
from robocontrast_ros.system.processes import Stopped, stopping
from robocontrast_ros.tasks.bddl import Atom
from robocontrast_ros.tasks.composed import leaves
from robocontrast_ros.tasks.kitchen import Kitchen
from robocontrast_ros.tasks.kitchen.goals import atom_of, instruction_of
from robocontrast_ros.tasks.kitchen.parameters import FAMILIES
from robocontrast_ros.tasks.plans import NoPlan
from robocontrast_ros.tasks.protocol import robot_start
from robocontrast_ros.tasks.suite import Suite
from robocontrast_ros.training.demonstrator import DemonstrationKeys, Demonstrator, Drift, HandNoise
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
    scenes: int = Field(gt=0, description="scenes of each problem in one shard, with one trial each")
    modified: float = Field(default=0.0, ge=0, le=1, description="share of the scenes that have one modification")
    held_out: int = Field(
        default=0, ge=0, description="each of so many problems, the last of them, is not demonstrated; 0: all are"
    )


@dataclass
class Shard(Stored):
    """The demonstrations of one file; n control steps of e episodes, s slots of things.

    Poses are x, y, z [m] and a quaternion x, y, z, w in the world. A slot holds one of the scene's things, a moving
    part is one, in the order of the scene.

    Attributes:
        names: models of the task's things, without backgrounds.
        problems: the names of all problems of the task.
        tried: trials begun of each problem, shape (p,); those stored succeeded.
        altered: those of them with a modified scene, shape (p,).
        problem: index into the problems, shape (e,).
        part: number of the subtask in its trial, shape (e,).
        texts: instruction of the whole trial, shape (e,).
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
    part: NDArray[np.int64]
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


def oracle_of(parameters: KitchenDemonstrations) -> OraclePolicy:
    """Return the oracle that demonstrates, with its task.

    Raises:
        ConfigurationError: its file does not fit, or it is none of the kitchen or the suite.
    """
    oracle = load_configured("policies", resolve_uri(parameters.oracle))
    if not isinstance(oracle, OraclePolicy) or not isinstance(oracle.task, Kitchen | Suite):
        expected = "the file of an oracle of the kitchen or the suite"
        raise ConfigurationError("demonstrations", "oracle", parameters.oracle, expected)
    return oracle


def demonstrated(task: Kitchen | Suite, held_out: int) -> tuple[str, ...]:
    """Return the problems of a task that are demonstrated.

    They ask for nothing but ``SKILLS``; each of so many of those, the last of them, is held out.
    """
    able = [
        name
        for name in task.problems
        if isinstance(task, Kitchen)
        or all(atom.predicate in FAMILIES.values() for atom in leaves(task.suite[name].tree))
    ]
    return tuple(name for number, name in enumerate(able, start=1) if not held_out or number % held_out)


class _Demonstrator(Demonstrator):
    """A robot in a world with the oracle in it."""

    def __init__(self, parameters: KitchenDemonstrations, robot: str) -> None:
        oracle = oracle_of(parameters)
        task = oracle.task
        super().__init__(parameters, robot, task, oracle, 0.25)
        self._estimator = make_state_estimator(self._world.profile)
        self._names = [state for state in task.things.models if task.things.is_thing(state)]

    def shard(self, rng: np.random.Generator) -> Shard:
        """Return the demonstrations of one file."""
        problems = list(self._task.problems)
        tried, altered = (np.zeros(len(problems), dtype=np.int64) for _ in range(2))
        episodes: list[dict] = []
        steps: list[dict] = []
        for name in demonstrated(self._task, self._p.held_out):
            index = problems.index(name)
            for instance, changed in self._instances(name, rng):
                if stopping():
                    raise Stopped
                tried[index] += 1
                altered[index] += changed
                start = self._scene.set_up(instance.scene).scene
                for part, (described, rows) in enumerate(self._trial(instance, start, rng)):
                    steps += ({"episode": len(episodes), **row} for row in rows)
                    episodes.append({"problem": index, "part": part, **described})
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

    def _trial(self, instance: TestInstance, start: Scene, rng: np.random.Generator) -> list[tuple[dict, list[dict]]]:
        """Return the subtasks of a trial, each as in a shard, with their steps; none if it does not succeed."""
        task, said = self._task, instance.instruction
        parts: list[tuple[dict, list[dict]]] = []
        self._estimator.begin(robot_start(task, start))
        judging = TRUE_SCENE.begin(task, instance, start)
        robot, scene = self._read()
        self._controller.reset(robot)
        try:
            handler = self._oracle.skill(said, start)
        except ValueError:
            return []
        drift, atom = Drift(self._p, rng, TURNS), None
        width_before, gripper = robot.gripper_width, 0.0
        subtasks = len(handler.atoms) if isinstance(handler, Chain) else 1
        for _ in range(self._p.step_limit * subtasks):
            try:
                label = handler.step(robot.pose, robot.gripper_width, scene)
            except NoPlan:
                return []
            skill, now, finished = _at_work(handler, said)
            if now != atom:
                atom = now
                parts.append((self._described(said.text, now, scene if parts else start), []))
            action = label
            if not finished:
                intent = skill.intent
                joint = isinstance(skill, JointHandler)
                poses, joints = self._places(scene)
                parts[-1][1].append(
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
                action = drift.executed(label) if _moves(label) else label
                skill.executed(action)
            width_before, gripper = robot.gripper_width, float(label[6])
            self._execute(action, robot)
            robot, scene = self._read()
            judging.update(scene)
            if judging.succeeded:
                return parts
        return []

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

    def _described(self, text: str, atom: Atom, scene: Scene) -> dict:
        """Return the text, models, skill, target and reference of an episode, as in a shard."""
        slots, said = self._things_of(scene), instruction_of(atom)
        models = [self._names.index(scene[name].model) for name in slots]
        reference = said.get("reference")
        return {
            "texts": text,
            "models": models + [-1] * (SLOTS - len(models)),
            "skill": SKILLS.index(said.family),
            "target": slots.index(str(said.get("target"))),
            "reference": -1 if reference is None else slots.index(str(reference)),
        }


def _at_work(handler: Any, said: Instruction) -> tuple[Any, Atom, bool]:
    """Return the skill that is carried out, what it brings about, and whether all is done."""
    if isinstance(handler, Chain):
        return handler.skill, handler.atom, handler.finished
    return handler, atom_of(said), False


def _moves(action: NDArray[np.float64]) -> bool:
    """Return whether an action moves the tool on."""
    return float(norm(action[:3])) >= RESTS or float(norm(action[3:6])) >= RESTS_TURN


def numbers(pose: Pose) -> tuple[float, ...]:
    """Return x, y, z [m] and the quaternion x, y, z, w of a pose."""
    return *pose.position, *pose.orientation
