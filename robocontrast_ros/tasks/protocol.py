"""The interface of a task: a few small capabilities, and the test instances that they make together."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal, Protocol, runtime_checkable

import numpy as np

from robocontrast_ros.domain import Crop, Instruction, NotApplicable, Perturbed, Pose, Scene, Segment, TestInstance
from robocontrast_ros.tasks.plans import Infeasible, Plan

Polygon = tuple[tuple[float, float], ...]
"""Corners in order, in the x-y plane of the scene's frame, shape (n, 2) [m]; the last is joined to the first."""


class Goal(Protocol):
    """The expected behaviour b of one test instance, as a predicate over scenes."""

    def satisfied(self, scene: Scene) -> bool:
        """Return whether the scene fulfils the instruction."""

    def distance(self, scene: Scene) -> float:
        """Return the scene's distance from fulfilling it [m]; 0 exactly when it is satisfied."""


@dataclass(frozen=True)
class Holding:
    """How a subgoal has to hold before it counts as reached; an optional attribute ``holding`` of the subgoal.

    Attributes:
        steps: control steps in a row, at least 1.
        still: names of objects that have to be at rest in each of them.
        travel: an object at rest moves at most this far from one control step to the next [m].
        leave: hysteresis: a subgoal that is satisfied in one control step goes on holding up to this distance from it,
            so that a reading that wobbles about a threshold does not begin the count anew [m].
    """

    steps: int = 1
    still: tuple[str, ...] = ()
    travel: float = math.inf
    leave: float = 0.0

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ValueError(f"holding.steps: got {self.steps}, expected at least 1 control step")
        if not self.leave >= 0.0:
            raise ValueError(f"holding.leave: got {self.leave}, expected at least 0 m")

    def at_rest(self, before: Scene, scene: Scene) -> bool:
        """Return whether all objects in ``still`` have been at rest since the control step before."""
        return all(scene[name].pose.distance_to(before[name].pose) <= self.travel for name in self.still)


AT_ONCE = Holding()
"""The holding of a subgoal that is reached as soon as it is satisfied; the default."""


@runtime_checkable
class StagedGoal(Goal, Protocol):
    """A goal whose subgoals have to be reached in order (seed 000, section 6.1).

    Attributes:
        subgoals: in order; the last is reached if the goal itself is satisfied. Each may have a ``Holding``.
        stop_required: whether the trial is a success only if the policy itself stops while the goal is satisfied, as in
            VLN-CE.
        reach: distance within which the robot counts as arrived [m]; also the d_th of nDTW, which is the success
            threshold of Ilharco et al. 2019.
    """

    subgoals: tuple[Goal, ...]
    stop_required: bool
    reach: float


@runtime_checkable
class PartlySeenGoal(Goal, Protocol):
    """A goal that the last scene of a trial does not show completely."""

    def unseen(self, success: bool) -> str:
        """Return the part that such a scene does not show, as a sentence for people; empty if it shows the outcome.

        Args:
            success: whether the scene fulfils the goal, without contacts of the robot.
        """


@runtime_checkable
class DescribedGoal(Goal, Protocol):
    """A goal with its own words for success; others have those of ``episodes.judging.success_in_words``."""

    def in_words(self) -> str:
        """Return the condition of success for people, with its distance, as ``the cup is within 5 cm of the plate``."""


@runtime_checkable
class RegionGoal(Goal, Protocol):
    """A goal, or a subgoal, that can be drawn on a map."""

    def regions(self, scene: Scene) -> tuple[Polygon, ...]:
        """Return the edges of the areas for the robot (or the object that it moves), one an area."""


@dataclass(frozen=True)
class Backdrop:
    """The background of a map, which never moves.

    Attributes:
        floor: the floor, or the board.
        walls: filled areas that the robot cannot pass.
        up: the direction of the scene's frame that is up on the map.
    """

    floor: Polygon
    walls: tuple[Polygon, ...] = ()
    up: Literal["x", "-x", "y", "-y"] = "y"


RIGHT_AND_UP = {
    "y": ((1.0, 0.0), (0.0, 1.0)),
    "-x": ((0.0, 1.0), (-1.0, 0.0)),
    "-y": ((-1.0, 0.0), (0.0, -1.0)),
    "x": ((0.0, -1.0), (1.0, 0.0)),
}
"""The axis that points up on a map -> the directions of the scene's frame that are right and up."""


Answer = Perturbed | NotApplicable
"""Result of a change of a test instance: the new one, or why there is none."""

SOLVED = "the instruction is already fulfilled in this scene"


class Language(Protocol):
    """The capability of saying and understanding instructions."""

    def conditions(self) -> Iterator[Instruction]:
        """Enumerate every task condition once (structure, with one canonical wording)."""

    def realise(self, instruction: Instruction, scene: Scene, rng: np.random.Generator) -> Instruction:
        """Return the instruction with its structure put into words that fit the scene.

        Raises:
            ValueError: it has no words in this scene.
        """

    def parse(self, text: str, scene: Scene) -> Instruction:
        """Return the structure of an instruction text in a scene.

        Raises:
            ValueError: the grammar does not know the text, or the scene makes it ambiguous.
        """


class Scenes(Protocol):
    """The capability of being set up: the world, and the objects in it.

    Attributes:
        world: URI of the world model (MJCF in the embedded simulator) without movable objects.
        models: model name of each object -> URI of the spawnable resource, a file; ``#`` and a part of it may follow.
        start_position: start of the robot's tool, in the scene's frame [m]; None if the scene has the robot's pose.
        region: least and greatest x, y and z of the tool in trials, pointing down and turned every way, in the scene's
            frame [m]: a session refuses an arm that does not reach all of it. None for no requirement.
        physics_step: step of the embedded simulator's physics [s]; a control period is a whole number of them.
        clear_height: height above which nothing stands in a scene [m]: an arm passes above it on its way to the
            start of a trial and home. 0 for half the height of the arm's workspace.
    """

    world: str
    models: Mapping[str, str]
    start_position: tuple[float, float, float] | None
    region: tuple[tuple[float, float], tuple[float, float], tuple[float, float]] | None
    physics_step: float
    clear_height: float

    def outline(self, model: str) -> Polygon:
        """Return the polygon that a model covers seen from above, in the object's frame, shape (n, 2) [m].

        It is empty if the model covers nothing, such as a lamp.

        Raises:
            KeyError: the task has no such model.
        """


class Goals(Protocol):
    """The capability of deciding when an instruction is fulfilled."""

    def goal(self, instruction: Instruction, start: Scene) -> Goal:
        """Return the expected behaviour of an instruction given in a starting scene."""


class Planner(Protocol):
    """The capability of fulfilling an instruction in theory."""

    def plan(self, instruction: Instruction, scene: Scene) -> Plan | Infeasible:
        """Return the shortest robot path that fulfils the instruction, or why there is none."""


class Rewording(Protocol):
    """The capability of changing an instruction part by part, as ΔL and ΔLB do.

    Attributes:
        arguments: names of the arguments that can be changed.
    """

    arguments: tuple[str, ...]

    def reword(
        self, instruction: Instruction, arguments: Mapping[str, str], scene: Scene, rng: np.random.Generator
    ) -> Instruction:
        """Return the instruction with some arguments changed, and the wording of its ``words`` kept if possible.

        Nothing else is ``meant`` by the returned one.

        Raises:
            ValueError: the instruction's words are not of the task's grammar, or there are no words for the new one.
        """

    def rephrase(self, instruction: Instruction, scene: Scene, rng: np.random.Generator) -> Instruction:
        """Return the instruction with the same meaning in other words than its ``words``, if there are any.

        Nothing else is ``meant`` by the returned one.

        Raises:
            ValueError: the instruction's words are not of the task's grammar.
        """


class Relocation(Protocol):
    """The capability of moving one object, as ΔSB does."""

    def relocate(self, instruction: Instruction, name: str, scene: Scene, rng: np.random.Generator) -> Scene | None:
        """Return the scene with one object moved so that the instruction can be given.

        None if no place is found.
        """


class Neighbourhood(Protocol):
    """The capability of changing a test instance in one respect, as ΔL, ΔLB, ΔS and ΔSB do.

    Each acts on the instruction of an unperturbed instance and on the actual scene, which the trial before left. The
    new instance is feasible and not solved at its start; its proof states the claim about the expected behaviour, and
    shows it. It has the base instance's id.
    """

    def reword(self, base: TestInstance, scene: Scene, rng: np.random.Generator) -> Answer:
        """Say the same in other words."""

    def redirect(self, base: TestInstance, scene: Scene, rng: np.random.Generator) -> Answer:
        """Ask for another thing or another place."""

    def move_bystander(self, base: TestInstance, scene: Scene, rng: np.random.Generator) -> Answer:
        """Move an object that the instruction does not name such that the expected behaviour stays."""

    def move_or_block(self, base: TestInstance, scene: Scene, rng: np.random.Generator) -> Answer:
        """Move an object that it names, or another one into the way, such that the expected behaviour changes."""


@dataclass(frozen=True)
class DistractorRequest:
    """Distractors that are asked for (seed 001, section III).

    Attributes:
        count: their number, 0 or more.
        similar: ``alike``: each has the kind, the category or the colour of something that the instruction names;
            ``unlike``: none has; ``any``: no condition.
        occluder: whether one of them stands between the robot's view and the target, such that all hidden shares of it,
            up to the greatest allowed one, are equally likely.
        looks: whether table, background and light are drawn anew.
    """

    count: int
    similar: Literal["any", "alike", "unlike"] = "any"
    occluder: bool = False
    looks: bool = False


class Clutter(Protocol):
    """The capability of having distractors: things that an instruction does not name (seed 001)."""

    def target(self, instruction: Instruction) -> str:
        """Return the name of the object to handle."""

    def distractors(self, instruction: Instruction, scene: Scene) -> tuple[str, ...]:
        """Return the names of the things that could be moved and that the instruction does not name."""

    def distance(self, scene: Scene, name: str, point: tuple[float, float, float]) -> float:
        """Return the distance of a point from a thing's box, all in the scene's frame [m]; 0 inside."""

    def lowest(self, scene: Scene, name: str) -> float:
        """Return the height of the lowest corner of a thing's box, in the scene's frame [m].

        Tipping a thing over does not raise it, as it raises the thing's origin.
        """

    def most(self, wanted: int) -> int:
        """Return the number of distractors that have room, up to a limit, as far as was tried."""

    def add(self, base: TestInstance, request: DistractorRequest, rng: np.random.Generator) -> Answer:
        """Add distractors to an instance's own scene, in which its words and its goal stay the same.

        The new instance is feasible, and its proof has the measures ``distractors``, ``alike`` (number of those with
        the kind, the category or the colour of a named thing), ``occlusion`` (share of the target that they hide from
        the robot's view), ``congestion_robot`` and ``congestion_top`` (feature congestion of the robot's view and of
        that from above) and ``dvfc``. It has the base instance's id.
        """


class Modifications(Protocol):
    """The capability of changing an instance's own scene in what its skill neither needs nor brings about (seed 003).

    The proof has the measures ``path_before_m``, ``path_after_m``, ``modifications``, their number, and the number of
    each kind by its name.

    Attributes:
        kinds: kinds of modifications.
    """

    kinds: tuple[str, ...]

    def modify(self, base: TestInstance, kinds: Sequence[str], count: int, rng: np.random.Generator) -> Answer:
        """Return the instance with so many drawn modifications of some kinds."""

    def edit(self, base: TestInstance, edits: Sequence[str], rng: np.random.Generator) -> Answer:
        """Return the instance with named modifications, in their order."""


Harder = Literal["places", "destination"]
"""Way to make an instance harder: named things are at the hardest places, or the destination is of another kind."""


class Difficulty(Protocol):
    """The capability of being made harder (seed 004, appendix E.1); each acts on an instance's own scene.

    The new instance is feasible, not solved at its start, and has the base instance's id. Its proof has the measures
    ``path_before_m`` and ``path_after_m``, of the planner's robot path in the base instance and in the new one.

    Attributes:
        harder: ways to make its instances harder.
    """

    harder: tuple[Harder, ...]

    def most(self, wanted: int) -> int:
        """Return the number of distractors like the named things that can be added, up to a limit; 0 if none can."""

    def distract(self, base: TestInstance, count: int, rng: np.random.Generator) -> Answer:
        """Add distractors, each with the shape, kind or colour of something that the instruction names.

        None of them is in the way of the plan of the base instance. Words and goal stay the same. The proof also has
        the measures ``distractors`` and ``alike``: the number of things not named, and of those among them that
        resemble a named one.
        """

    def harden(self, base: TestInstance, how: Harder, rng: np.random.Generator) -> Answer:
        """Change the easy part of the instance; the proof also has the measure ``moved_m``.

        Args:
            base: the instance.
            how: ``places``: the words stay, and the things that they name are moved. ``destination``: words and goal
                are about another thing in the destination's place.
            rng: the only source of randomness.
        """


class Variation(Protocol):
    """The capability of drawing the conditions of an instance's own scene anew (seed 002, sensitivity).

    Words and goal stay; the new instance is feasible, not solved at its start, and has the base instance's id.

    Attributes:
        looks: kind of a fixture, such as ``light`` -> its models among which is drawn uniformly.
    """

    looks: Mapping[str, tuple[str, ...]]

    def draw_looks(self, base: TestInstance, rng: np.random.Generator) -> Answer:
        """Draw a model of each kind; the proof has it as a ``domain.choice``, such as ``light=dim_lamp``."""

    def draw_poses(self, base: TestInstance, distance: float, angle: float, rng: np.random.Generator) -> Answer:
        """Move all objects, also those that are named.

        The proof has the measures ``objects_moved_m`` (mean over the objects), ``target_moved_m``,
        ``target_turned_rad``, and ``target_x_m`` and ``target_y_m`` (the target's new place).

        Args:
            base: the instance.
            distance: greatest distance of an object from its own place [m].
            angle: greatest yaw that it is turned by [rad].
            rng: the only source of randomness.
        """


class Wording(Protocol):
    """The capability of taking an instruction's words apart (seed 004, section III)."""

    def segments(self, instruction: Instruction) -> tuple[Segment, ...]:
        """Return the words of an instruction as segments: those that refer to something, and those between them.

        Raises:
            ValueError: the instruction's text is not of the task's grammar.
        """

    def paraphrase(self, instruction: Instruction, rng: np.random.Generator) -> str:
        """Return a text with the same meaning and the same referring words, in their order or another.

        It is the text itself if there are no other words.

        Raises:
            ValueError: the instruction's words are not of the task's grammar.
        """

    def original(self, instruction: Instruction) -> str:
        """Return the one text that represents all of the same meaning and the same referring words.

        It is the text of training without paraphrases.

        Raises:
            ValueError: the instruction's words are not of the task's grammar.
        """

    def descriptors(self, segment: Segment, scene: Scene) -> Iterable[tuple[str, bool]]:
        """Yield the names that the thing of a segment can have in a scene, each with whether it means it alone."""


class Portraits(Protocol):
    """The capability of showing an instruction's referents (seed 004, section III)."""

    def portrait(self, entity: str, scene: Scene) -> Crop | None:
        """Return a picture of a segment's referent alone, as it is in a scene; None if it has none.

        Args:
            entity: the segment's.
            scene: the scene that contains it.

        Raises:
            RenderingUnavailable: this machine cannot draw.
        """


class HandledThings(Protocol):
    """The capability of naming the things to handle for an instruction: to handle another thing is a mistake.

    Attributes:
        touching: whether to touch another thing is a mistake already, as for a robot that drives among them; else it
            has to be moved or lifted.
    """

    touching: bool

    def handled(self, instruction: Instruction, scene: Scene) -> tuple[str, ...]:
        """Return the names of the things of a scene that the plan moves, or comes to."""

    def lowest(self, scene: Scene, name: str) -> float:
        """Return the height of a thing's lowest point, in the scene's frame [m].

        Tipping a thing over does not raise it, as it may raise the thing's origin.
        """


@dataclass(frozen=True, kw_only=True)
class Profile:
    """What a problem asks of a policy: reports group its trials by that (seed 002, its section on the task metadata).

    Attributes:
        attributes: name of each attribute -> the axis that it belongs to.
        difficulty: label of its difficulty.
        score: its difficulty as a number.
        subtasks: number of subtasks that have to be done.
        texts: variant -> the words of its instruction, which all mean the same; test instances have the first.
        object_words: variant -> words of its instruction that name things, single ones in small letters; empty if the
            task does not say. Reports compare them with a policy's vocabulary.
    """

    attributes: Mapping[str, str]
    difficulty: str
    score: int
    subtasks: int
    texts: Mapping[str, str]
    object_words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


Premise = Callable[[Instruction, Scene], "str | None"]
"""Returns why an instruction makes no sense in a scene, in words; None if it does."""


SampleChain = Callable[[Sequence[str], np.random.Generator, str], tuple[TestInstance, ...]]
"""Returns the test instances of a chain of problems, by their names, with a common beginning of their ids.

It raises a ValueError that says what was expected if the problems share no scene, or cannot follow one another.
"""


Walkable = Callable[[TestInstance, tuple[tuple[float, float], ...]], "str | None"]
"""Returns why a walked path, x and y of its corners [m], does not fulfil an instance, in words; None if it does."""


class Task(ABC):
    """A family of test instances: the domain X and its expected behaviours Y (seed 000, section 3). Inherit from it.

    A task is made by its entry point from its parameter file: ``Task.from_file(path)``.

    Attributes:
        name: the name in its parameter file.
        families: its families of instructions.
        problems: names of its problems, which a test set may name in place of families; none if instances are drawn
            without.
        metric: the M of its evaluations (seed 000, section 3), which summaries and figures show if the session names no
            other: one of its scores.
        control_rate: control steps per second of simulated time [Hz].
        step_limit: control steps after which a trial ends.
        language: says and understands instructions.
        scenes: world and models.
        goals: decides when an instruction is fulfilled.
        planner: plans how it can be fulfilled.
        rewording: changes parts of an instruction; None if the task cannot, as for all that follow.
        relocation: moves an object.
        neighbourhood: changes an instance such that the expected behaviour stays, or changes.
        clutter: adds distractors.
        modifications: changes in a scene what a skill neither needs nor brings about.
        difficulty: makes instances harder.
        variation: draws the conditions of scenes anew.
        wording: takes an instruction's words apart.
        portraits: shows the referents of its segments.
        looks: model -> shape and colour of each thing of its scenes, for levels of generalisation; None if things have
            none.
        handling: names the things that the robot has to handle.
        profiles: problem -> what it asks of a policy, and its words in all variants.
        sample_chain: draws the test instances of a chain of problems, all in one scene, each ``after`` the one before;
            None if the task has no problems that follow one another.
        premise: asked before every trial, with the scene as it was read back; if it gives a reason, the trial is void.
        walkable: asked for a recorded instance whose reference path somebody walked; None if paths are not recorded.
        backdrop: the background of its maps.
        store: place of objects that are in no scene, in the scenes' frame [m], from which a person carries them; None
            if it is not known, and bringing them in costs nothing.
        scores: names of its scores, in the order of tables; None for those of ``episodes.scoring.standard``.
        path_dimensions: 2 if paths count in the x-y plane of the scene's frame, 3 in space.
    """

    name: str
    families: tuple[str, ...]
    problems: tuple[str, ...] = ()
    metric: str
    control_rate: float
    step_limit: int
    language: Language
    scenes: Scenes
    goals: Goals
    planner: Planner
    rewording: Rewording | None = None
    relocation: Relocation | None = None
    neighbourhood: Neighbourhood | None = None
    clutter: Clutter | None = None
    modifications: Modifications | None = None
    difficulty: Difficulty | None = None
    variation: Variation | None = None
    sample_chain: SampleChain | None = None
    wording: Wording | None = None
    portraits: Portraits | None = None
    looks: Mapping[str, tuple[str, str]] | None = None
    handling: HandledThings | None = None
    profiles: Mapping[str, Profile] | None = None
    premise: Premise | None = None
    walkable: Walkable | None = None
    backdrop: Backdrop | None = None
    store: tuple[float, float, float] | None = None
    scores: ClassVar[tuple[str, ...] | None] = None
    path_dimensions: int = 2

    @classmethod
    @abstractmethod
    def from_file(cls, path: Path) -> Task:
        """Return the task that a parameter file describes.

        Raises:
            ConfigurationError: the file does not fit.
        """

    @abstractmethod
    def sample(self, rng: np.random.Generator, instance_id: str, family: str | None = None) -> TestInstance:
        """Draw one i.i.d. test instance that is feasible and not solved at its start."""

    def limit(self, instance: TestInstance) -> int:
        """Return the control steps after which a trial of an instance ends, at most ``step_limit``."""
        return self.step_limit

    def make_instance(self, instance_id: str, instruction: Instruction, scene: Scene) -> TestInstance | Infeasible:
        """Return a test instance with its optimal path length, or why there is none: no plan, or solved already."""
        plan = self.planner.plan(instruction, scene)
        if isinstance(plan, Infeasible):
            return plan
        if self.goals.goal(instruction, scene).satisfied(scene):
            return Infeasible(SOLVED)
        return TestInstance(instance_id, self.name, instruction, scene, plan.length)


def path_dimensions(task: Task) -> int:
    """Return the number of dimensions of the task's paths: planned, driven and reference paths alike.

    Raises:
        ValueError: the task's value is neither 2 nor 3.
    """
    if task.path_dimensions not in (2, 3):
        raise ValueError(f"path_dimensions of the task '{task.name}': got {task.path_dimensions!r}, expected 2 or 3")
    return task.path_dimensions


def robot_start(task: Task, scene: Scene) -> Pose:
    """Return the robot's position (of its tool, or of the base of a mobile robot) when a trial starts in a scene.

    Raises:
        ValueError: neither the scene nor the task has it.
    """
    if scene.robot is not None:
        return scene.robot
    if task.scenes.start_position is None:
        raise ValueError(f"the task '{task.name}' needs the robot's pose in the scene, which has none")
    return Pose(task.scenes.start_position)
