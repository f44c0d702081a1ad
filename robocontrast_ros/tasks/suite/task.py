"""The suite: tasks in stored scenes, each with attributes, a difficulty and words in three variants."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from pydantic import Field
from shapely import Point

from robocontrast_ros.configuration import ConfigurationError, load_record, record, resolve_uri
from robocontrast_ros.domain import Instruction, Pose, Scene, TestInstance
from robocontrast_ros.objects import SHIPPED, load_library, with_parts
from robocontrast_ros.objects.frames import multiply
from robocontrast_ros.objects.settling import DEEPEST, Settled, settle
from robocontrast_ros.tasks.base import ModelScenes, ModelTask, TaskParameters
from robocontrast_ros.tasks.composed import Tree
from robocontrast_ros.tasks.kitchen.library import Things
from robocontrast_ros.tasks.kitchen.parameters import KitchenParameters
from robocontrast_ros.tasks.kitchen.predicates import Thresholds
from robocontrast_ros.tasks.plans import NoPlan
from robocontrast_ros.tasks.protocol import Backdrop, Infeasible
from robocontrast_ros.tasks.suite import checks
from robocontrast_ros.tasks.suite.attributes import LABELS
from robocontrast_ros.tasks.suite.files import TASK, SuiteTask, by_name, read_scene, scene_files
from robocontrast_ros.tasks.suite.goals import SuiteGoals
from robocontrast_ros.tasks.suite.planner import SuitePlanner
from robocontrast_ros.tasks.suite.predicates import SuitePredicates
from robocontrast_ros.tasks.tabletop import shapes

SHIPPED_SUITE = "package://robocontrast_ros/config/tasks/tabletop_suite.yaml"

RIM = 0.1
"""Width of the table around region and start that maps show [m]."""

SETTLED = 0.01
"""Farthest that a thing of a scene may move while it comes to rest [m]."""


@record
class Spread:
    """How far things of a stored scene are moved for an instance; what stands in or on a thing moves with it."""

    place: float = Field(ge=0, description="along x and y, at most [m]")
    turn: float = Field(ge=0, le=180, description="of what carries nothing, at most [deg]")
    draws: int = Field(gt=0, description="scenes drawn for one instance, at most")


@record
class SuiteParameters(TaskParameters):
    """The file config/tasks/tabletop_suite.yaml."""

    like: str = Field(description="URI of the file of a task of the kitchen: its region, hand, thresholds and planner")
    tasks: str = Field(description="URI of the folder of the scenes with their tasks")
    spread: Spread
    subtask_limit: int = Field(gt=0, description="control steps for each subtask, after which a trial ends")


class SuiteLanguage:
    """The words of the suite: each text is written down, and means one goal in its scene."""

    def __init__(self, suite: Mapping[str, SuiteTask]) -> None:
        self._suite = suite
        self._said: defaultdict[str, list[SuiteTask]] = defaultdict(list)
        for task in suite.values():
            for text in task.texts.values():
                self._said[text.lower()].append(task)

    def conditions(self) -> Iterator[Instruction]:
        """Enumerate every task once, in its usual words."""
        return (task.instruction() for task in self._suite.values())

    def realise(self, instruction: Instruction, scene: Scene, rng: np.random.Generator) -> Instruction:
        """Return the instruction in its usual words.

        Raises:
            ValueError: it is of no task.
        """
        return of_task(self._suite, instruction).instruction()

    def parse(self, text: str, scene: Scene) -> Instruction:
        """Return the task that a text asks for in a scene: that whose things are in it, the most of them.

        Raises:
            ValueError: no task has the text in this scene, or tasks with different goals have it.
        """
        there = {(o.name, o.model) for o in scene}
        found = [t for t in self._said[text.lower()] if there.issuperset((o.name, o.model) for o in t.scene)]
        if not found:
            raise ValueError(
                f"instruction '{text}': got no task with these words in this scene, expected those of a task"
            )
        most = max(len(task.scene.objects) for task in found)
        best = [task for task in found if len(task.scene.objects) == most]
        if any(task.tree != best[0].tree for task in best):
            raise ValueError(f"instruction '{text}': several tasks have these words: {', '.join(t.name for t in best)}")
        return replace(best[0].instruction(), text=text)


class SuiteHandling:
    """Names the things that the robot moves for a task."""

    touching = False

    def __init__(self, suite: Mapping[str, SuiteTask], things: Things) -> None:
        self._suite, self._things = suite, things

    def handled(self, instruction: Instruction, scene: Scene) -> tuple[str, ...]:
        """Return the names of the things of a scene that the plan moves."""
        return of_task(self._suite, instruction).handled

    def lowest(self, scene: Scene, name: str) -> float:
        """Return the height of a thing's lowest point, in the scene's frame [m]."""
        return shapes.lowest(self._things.models[scene[name].model], scene[name].pose)


class Suite(ModelTask):
    """Tasks of several subtasks on a table, with attributes and difficulty.

    Attributes:
        suite: its tasks by name.
        things: the things of their scenes.
    """

    metric = "success"
    path_dimensions = 3
    scores = ("success", "score", "spl", "progress", "subgoals_reached", "distance_to_goal", "path_length")

    def __init__(
        self, parameters: SuiteParameters, like: KitchenParameters, things: Things, suite: dict[str, SuiteTask]
    ) -> None:
        """Take both files, the things, and the tasks."""
        models = with_parts(model for name, model in things.models.items() if name not in things.parts)
        scenes = ModelScenes(
            parameters.world,
            parameters.physics_step,
            models,
            lambda name: things.models[name].footprint,
            like.start,
            like.tool_region,
            thing="object",
            clear_height=things.clear_height,
        )
        labels = {task.difficulty.label for task in suite.values()}
        super().__init__(parameters, tuple(label for label in LABELS if label in labels), scenes)
        self.problems, self.suite, self.things, self.store = tuple(suite), suite, things, like.store
        self.profiles = {name: task.profile for name, task in suite.items()}
        self.predicates = SuitePredicates(things, Thresholds(like.success.height, like.success.near))
        self.goals = SuiteGoals(like, self.predicates, self.tree_of)
        self.planner = SuitePlanner(like, things, self.goals)
        self.language = SuiteLanguage(suite)
        self.handling = SuiteHandling(suite, things)
        self.looks = {name: (m.type, name.removesuffix(m.type).rstrip("_")) for name, m in things.models.items()}
        region = like.region
        low = min(region.x_min, like.start[0]) - RIM, region.y_min - RIM
        high = region.x_max + RIM, region.y_max + RIM
        self.backdrop = Backdrop((low, (high[0], low[1]), high, (low[0], high[1])), up="x")
        self._region, self._gap = region.box, like.placing.gap

    @classmethod
    def from_file(cls, path: Path) -> Suite:
        """Return the task that a parameter file describes.

        Raises:
            ConfigurationError: the file, that of a thing, or that of a scene does not fit.
        """
        parameters = load_record(SuiteParameters, path)
        like = load_record(KitchenParameters, resolve_uri(parameters.like, path.parent))
        files = scene_files([resolve_uri(parameters.tasks, path.parent)])
        return cls.of(parameters, like, [task for file in files for task in read_scene(file)])

    @classmethod
    def of_scenes(cls, files: Iterable[Path]) -> Suite:
        """Return the suite of scene files, with all else as in the shipped task file; without files it has no task.

        Raises:
            ConfigurationError: a file does not fit.
        """
        parameters = load_record(SuiteParameters, resolve_uri(SHIPPED_SUITE))
        like = load_record(KitchenParameters, resolve_uri(parameters.like))
        return cls.of(parameters, like, [task for file in files for task in read_scene(file)])

    @classmethod
    def of(cls, parameters: SuiteParameters, like: KitchenParameters, tasks: list[SuiteTask]) -> Suite:
        """Return the suite of some tasks, each compared with its scene.

        Raises:
            ConfigurationError: a task or its scene is wrong.
        """
        things = Things.of(load_library((SHIPPED, like.things)).values())
        suite = cls(parameters, like, things, by_name(tasks))
        scenes: defaultdict[Path, list[SuiteTask]] = defaultdict(list)
        for task in tasks:
            scenes[task.file].append(task)
        for together in scenes.values():
            if (error := checks.first_of_scene(together, things, suite.predicates)) is not None:
                raise error
        return suite

    def limit(self, instance: TestInstance) -> int:
        """Return the control steps after which a trial of an instance ends: so many for each subtask."""
        subtasks = of_task(self.suite, instance.instruction).difficulty.subtasks
        return min(self.parameters.subtask_limit * subtasks, self.step_limit)

    def first_error(self, tasks: Sequence[SuiteTask], text_alone: bool = False) -> ConfigurationError | None:
        """Return the first thing that is wrong with the tasks of one scene file; None if nothing is.

        Args:
            tasks: the tasks, which need not be of this suite.
            text_alone: whether to ask only what is asked of every suite that is loaded; else the scene also has to be
                at rest as it is stored, and each task has to have a plan in it.
        """
        error = checks.first_of_scene(tasks, self.things, self.predicates)
        if error is not None or text_alone:
            return error
        file, scene = str(tasks[0].file), tasks[0].scene
        if (found := self._unsettled(scene, settle(scene, self.things.still, self.parameters.world))) is not None:
            key, got = found
            expected = f"a scene at rest: nothing moves more than {1000 * SETTLED:.0f} mm, nothing is inside another"
            return ConfigurationError(file, key, got, expected, "Put it down where it stays.")
        for task in tasks:
            try:
                self.planner.steps(task.tree, scene)
            except NoPlan as reason:
                expected = "a goal that the planner reaches in the stored scene"
                return task.error("goal", str(reason), expected, "Move the things, or ask for something else.")
        return None

    def tree_of(self, instruction: Instruction) -> Tree:
        """Return the goal of an instruction's task, atoms in their groups.

        Raises:
            ValueError: it is of no task.
        """
        return of_task(self.suite, instruction).tree

    def premise(self, instruction: Instruction, scene: Scene) -> str | None:
        """Return why an instruction makes no sense in a scene: a thing is missing, or its words mean another one."""
        try:
            task = of_task(self.suite, instruction)
            self.goals.goal(instruction, scene)
            self.language.parse(instruction.words, scene)
        except ValueError as error:
            return str(error)
        for name in task.handled:
            part = scene[name].model in self.things.parts
            if not part and not self._region.covers(Point(scene[name].pose.xy)):
                return f"the {name.replace('_', ' ')} is outside the region where things stand"
        error = checks.unclear(task, scene, self.things)
        return None if error is None else f"{error.key}: it means {error.got} in place of {error.expected}"

    def sample(self, rng: np.random.Generator, instance_id: str, family: str | None = None) -> TestInstance:
        """Draw one i.i.d. test instance.

        The task is uniform over those of a difficulty, or over all, or the one that is named.

        Raises:
            ValueError: the family is unknown, and no task has its name.
            ConfigurationError: too few scenes suit the task.
        """
        names = [name for name, task in self.suite.items() if family in (None, name, task.difficulty.label)]
        if not names:
            raise ValueError(f"family: got '{family}', expected one of {', '.join(self.families)}")
        return self.sample_of(names[int(rng.integers(len(names)))], rng, instance_id)

    def make_instance(self, instance_id: str, instruction: Instruction, scene: Scene) -> TestInstance | Infeasible:
        """Return a test instance of the instruction's task, or why there is none."""
        made = super().make_instance(instance_id, instruction, scene)
        return made if isinstance(made, Infeasible) else replace(made, problem=instruction.get(TASK) or "")

    def sample_of(self, name: str, rng: np.random.Generator, instance_id: str) -> TestInstance:
        """Draw a test instance of a task: its stored scene, each thing moved a little, at rest.

        Raises:
            KeyError: there is no such task.
            ConfigurationError: too few scenes suit it.
        """
        task, reason = self.suite[name], ""
        instruction = task.instruction()
        for _ in range(self.parameters.spread.draws):
            scene = self.settled(self.moved(task.scene, rng))
            found = "something moved while it came to rest" if scene is None else self.premise(instruction, scene)
            if found is None:
                instance = self.make_instance(instance_id, instruction, scene)
                if not isinstance(instance, Infeasible):
                    return instance
                found = instance.reason
            reason = found
        expected = (
            f"a scene in which it makes sense among {self.parameters.spread.draws} drawn ones; the last: {reason}"
        )
        raise task.error("", name, expected, "Move its things apart, or lower `spread`.")

    def moved(self, scene: Scene, rng: np.random.Generator) -> Scene:
        """Return a scene with its movable things moved and turned, uniformly within ``spread``, where that has room."""
        spread, models = self.parameters.spread, self.things.models
        bearers = {o.name: self.planner.borne(scene, o.name) for o in self.planner.movable(scene)}
        borne = {name for names in bearers.values() for name in names}
        for state in self.planner.movable(scene):
            if models[state.model].fixed or state.name in borne:
                continue
            dx, dy = rng.uniform(-spread.place, spread.place, size=2).tolist()
            yaw = math.radians(float(rng.uniform(-spread.turn, spread.turn)))
            group = (state.name, *bearers[state.name])
            there = scene
            for name in group:
                there = there.moved(name, _shifted(scene[name].pose, dx, dy, 0.0 if len(group) > 1 else yaw))
            if self._has_room(there, group):
                scene = there
        return scene

    def _has_room(self, scene: Scene, group: tuple[str, ...]) -> bool:
        own = shapes.footprint(self.things.models[scene[group[0]].model], scene[group[0]].pose)
        others = [o for o in self.planner.movable(scene) if o.name not in group]
        near = any(shapes.gap(own, shapes.footprint(self.things.models[o.model], o.pose)) < self._gap for o in others)
        return self._region.covers(own) and not near

    def settled(self, scene: Scene) -> Scene | None:
        """Return a scene at rest; None if something rolls away, falls over or is inside another thing."""
        rested = settle(scene, self.things.still, self.parameters.world)
        return None if self._unsettled(scene, rested) else rested.scene

    @staticmethod
    def _unsettled(scene: Scene, rested: Settled) -> tuple[str, str] | None:
        """Return the key in its file, and what is wrong there, of a scene that was not at rest; None if it was."""
        if rested.overlap > DEEPEST:
            return "things", f"a thing that reaches {1000 * rested.overlap:.0f} mm into another one"
        for before, after in zip(scene, rested.scene, strict=True):
            key, far = f"things.{before.name}.pose", before.pose.distance_to(after.pose)
            if shapes.is_upright(before.pose) and not shapes.is_upright(after.pose):
                return key, "a place where it falls over"
            if far > SETTLED:
                return key, f"a place from which it moves {1000 * far:.0f} mm"
        return None if rested.still else ("things", f"something that still moves after {rested.duration:.0f} s")


def of_task(suite: Mapping[str, SuiteTask], instruction: Instruction) -> SuiteTask:
    """Return the task of an instruction.

    Raises:
        ValueError: it is of none.
    """
    name = instruction.get(TASK)
    if name not in suite:
        raise ValueError(f"{TASK}: got '{name}', expected a task of the suite")
    return suite[name]


def _shifted(pose: Pose, dx: float, dy: float, yaw: float) -> Pose:
    x, y, z = pose.position
    if not yaw:
        return Pose((x + dx, y + dy, z), pose.orientation)
    turned = Pose.planar(0.0, 0.0, yaw).orientation
    return Pose((x + dx, y + dy, z), multiply(turned, pose.orientation))
