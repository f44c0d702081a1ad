"""Demonstrations of the oracle for the tabletop, made by several processes, each with its own worlds.

The executed actions differ from the stored ones: they have added noise, and the tool drifts for some steps now and
then. The label is always the oracle's action at the actual state, so that a policy learns to recover. Episodes that
do not succeed are counted and left out. Each drawn scene serves several episodes, with different instructions.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from robocontrast_ros.configuration import record
from robocontrast_ros.domain import Instruction, Pose, RobotState, Scene, TestInstance
from robocontrast_ros.episodes.judging import TRUE_SCENE
from robocontrast_ros.policies.baselines.tabletop.handling import Handler
from robocontrast_ros.policies.baselines.tabletop.oracle import TabletopOracle
from robocontrast_ros.robots.kinds import make_state_estimator
from robocontrast_ros.system.processes import Stopped, stopping
from robocontrast_ros.tasks.protocol import Infeasible, robot_start
from robocontrast_ros.tasks.tabletop import Tabletop
from robocontrast_ros.tasks.tabletop.goals import named
from robocontrast_ros.tasks.tabletop.parameters import FAMILIES, check_objects
from robocontrast_ros.tasks.tabletop.scenes import suits
from robocontrast_ros.training.demonstrator import DemonstrationKeys, Demonstrator, Drift, HandNoise, read_oracle
from robocontrast_ros.training.shards import Stored

DRAWS = 10
"""Limit of the instructions of a family that are tried in a scene."""

TURNS = (5,)
"""The element of an action that turns a hand that points down."""


@record
class TabletopDemonstrations(DemonstrationKeys, HandNoise):
    """Parameters of the demonstrations."""

    robots: tuple[str, ...] = Field(min_length=1, description="names of robots' profiles; shards take them in turn")
    shards: int = Field(ge=2, description="number of files; the first twentieth, at least one, is for validation")
    scenes: int = Field(gt=0, description="scenes in one shard")
    instructions: int = Field(gt=0, description="episodes with different instructions in each scene, at most")
    objects: tuple[int, int] | None = Field(
        default=None,
        description="fewest and most things of a scene, those that its first instruction names in any case; "
        "none: the task's `sampling.objects`",
    )

    def __post_init__(self) -> None:
        if self.objects is not None:
            check_objects(self.objects)


@dataclass
class Shard(Stored):
    """The demonstrations of one file; n control steps of e episodes, at most s things.

    Places are x, y, z [m] and yaw [rad] in the world. A slot holds one of the scene's objects, in the order in which
    the scene lists the movable ones.

    Attributes:
        names: all models of the task, in the library's order.
        tried: episodes begun of each of ``FAMILIES``, shape (5,); those stored succeeded.
        models: index into the names, -1 for no object, shape (e, s).
        skill: index into ``FAMILIES``, shape (e,).
        target: slot, shape (e,).
        reference: slot, -1 for none, shape (e,).
        episode: of each step, shape (n,).
        things: places, shape (n, s, 4).
        tool: place of the tool, whose yaw is that of ``ToolPlace``, shape (n, 4).
        width: between the fingers [m], shape (n,).
        width_before: the same one control step before, shape (n,).
        gripper: the last command, 0 open, 1 closed, shape (n,).
        commanded: place that the action is added to, shape (n, 4).
        phase: ``handling.Phase``, shape (n,).
        line: place of the hand at the end of the phase, shape (n, 4).
        above: height in which it goes there [m], shape (n,).
        action: the oracle's displacement [m], turn [rad] and gripper command, shape (n, 5).
    """

    names: NDArray[np.str_]
    tried: NDArray[np.int64]
    models: NDArray[np.int64]
    skill: NDArray[np.int64]
    target: NDArray[np.int64]
    reference: NDArray[np.int64]
    episode: NDArray[np.int64]
    things: NDArray[np.float32]
    tool: NDArray[np.float32]
    width: NDArray[np.float32]
    width_before: NDArray[np.float32]
    gripper: NDArray[np.float32]
    commanded: NDArray[np.float32]
    phase: NDArray[np.int64]
    line: NDArray[np.float32]
    above: NDArray[np.float32]
    action: NDArray[np.float32]


def make_shard(parameters: TabletopDemonstrations, index: int) -> Shard:
    """Return the shard of a number, which depends on the parameters and the number alone."""
    robot = parameters.robots[index % len(parameters.robots)]
    return _demonstrator(parameters, robot).shard(np.random.default_rng([parameters.seed, index]))


@lru_cache(maxsize=8)
def _demonstrator(parameters: TabletopDemonstrations, robot: str) -> _Demonstrator:
    return _Demonstrator(parameters, robot)


def place(pose: Pose) -> tuple[float, float, float, float]:
    """Return x, y, z [m] and yaw [rad]; that of a tool, which points down, is the one of ``ToolPlace``."""
    return *pose.position, pose.yaw


def asked(family: str, scene: Scene, task: Tabletop) -> list[Instruction]:
    """Return the instructions of a family that make sense among the things of a scene, without words."""
    things, library = task.planner.movable(scene), task.library
    if family == "pick":
        return [Instruction("", family, (("target", thing.name),)) for thing in things]
    return [
        Instruction("", family, (("target", a.name), ("reference", b.name)))
        for a, b in itertools.permutations(things, 2)
        if suits(family, library[a.model], library[b.model])
    ]


class _Demonstrator(Demonstrator):
    """A robot in a world with the oracle in it."""

    def __init__(self, parameters: TabletopDemonstrations, robot: str) -> None:
        oracle, task_file = read_oracle(parameters)
        task = Tabletop.from_file(task_file, parameters.objects)
        super().__init__(parameters, robot, task, TabletopOracle(oracle, task), 0.25)
        self._slots = task.parameters.sampling.most
        self._estimator = make_state_estimator(self._world.profile)
        self._names = [name for name, model in task.library.items() if not model.fixed]

    def shard(self, rng: np.random.Generator) -> Shard:
        """Return the demonstrations of one file."""
        tried: Counter[str] = Counter()
        episodes: list[dict] = []
        steps: list[dict] = []
        for number in range(self._p.scenes):
            for instance in self._instances(rng, str(number), tried):
                if stopping():
                    raise Stopped
                tried[instance.instruction.family] += 1
                start = self._scene.set_up(instance.scene).scene
                made = self._episode(instance, start, rng)
                if made is not None:
                    steps += ({"episode": len(episodes), **row} for row in made)
                    episodes.append(self._described(instance.instruction, start))
        columns = self._columns(episodes, steps)
        return Shard(np.array(self._names), np.array([tried[family] for family in FAMILIES]), **columns)

    def _instances(self, rng: np.random.Generator, name: str, tried: Counter[str]) -> Iterator[TestInstance]:
        """Draw a scene, and yield its instance and others, of the least tried skills that it admits."""
        first = self._task.sample(rng, name, self._least(tried, rng)[0])
        yield first
        done = {_key(first.instruction)}
        scene = first.scene
        for _ in range(1, self._p.instructions):
            found = self._next(self._least(tried, rng), done, scene, name, rng)
            if found is None:
                return
            done.add(_key(found.instruction))
            yield found

    @staticmethod
    def _least(tried: Counter[str], rng: np.random.Generator) -> list[str]:
        """Return the families, those tried least first."""
        return sorted((FAMILIES[index] for index in rng.permutation(len(FAMILIES))), key=lambda name: tried[name])

    def _next(
        self, families: Sequence[str], done: set, scene: Scene, name: str, rng: np.random.Generator
    ) -> TestInstance | None:
        """Return an instance of the first family that has one in a scene, with words and a plan; None without any."""
        for family in families:
            open_ = [i for i in asked(family, scene, self._task) if _key(i) not in done]
            for index in rng.permutation(len(open_))[:DRAWS]:
                instance = self._task.make_instance(name, open_[index], scene)
                if isinstance(instance, Infeasible):
                    continue
                try:
                    return replace(instance, instruction=self._task.language.realise(open_[index], scene, rng))
                except ValueError:
                    continue
        return None

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
            handler: Handler = self._oracle.skill(instance.instruction, start)
        except ValueError:
            return None
        drift = Drift(self._p, rng, TURNS)
        width_before, gripper = robot.gripper_width, 0.0
        for _ in range(self._p.step_limit):
            label = handler.step(robot.pose, robot.gripper_width, scene)
            intent = handler.intent
            rows.append(
                {
                    "things": self._places(scene),
                    "tool": place(robot.pose),
                    "width": robot.gripper_width,
                    "width_before": width_before,
                    "gripper": gripper,
                    "commanded": place(intent.commanded),
                    "phase": int(intent.phase),
                    "line": (*intent.line.position, intent.line.yaw),
                    "above": intent.above,
                    "action": (*label[:3], *label[5:]),
                }
            )
            width_before, gripper = robot.gripper_width, float(label[6])
            action = drift.executed(label)
            handler.executed(action)
            self._execute(action, robot)
            robot, scene = self._read()
            judging.update(scene)
            if judging.succeeded:
                return rows
        return None

    def _places(self, scene: Scene) -> NDArray[np.float64]:
        """Return the places of the movable things, slot by slot, shape (s, 4)."""
        found = np.zeros((self._slots, 4))
        for slot, thing in enumerate(self._task.planner.movable(scene)):
            found[slot] = place(thing.pose)
        return found

    def _described(self, instruction: Instruction, start: Scene) -> dict:
        """Return the models, skill, target and reference of an episode, as in a shard."""
        slots = [thing.name for thing in self._task.planner.movable(start)]
        models = [self._names.index(start[name].model) for name in slots]
        target, *reference = (slots.index(name) for name in named(instruction))
        return {
            "models": models + [-1] * (self._slots - len(models)),
            "skill": FAMILIES.index(instruction.family),
            "target": target,
            "reference": reference[0] if reference else -1,
        }


def _key(instruction: Instruction) -> tuple:
    """Return family and arguments of an instruction, whatever its words."""
    return instruction.family, instruction.arguments
