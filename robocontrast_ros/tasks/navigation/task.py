"""The navigation task; it implements ``tasks.navigation.protocol.NavigationTask``."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np

from robocontrast_ros.configuration import ConfigurationError, load_record
from robocontrast_ros.domain import Instruction, ObjectState, Pose, Scene, TestInstance
from robocontrast_ros.tasks.navigation.arrangements import (
    arranged_scene,
    check_arrangements,
    check_parameters,
)
from robocontrast_ros.tasks.navigation.floor import FloorPlan, Shapes
from robocontrast_ros.tasks.navigation.goals import PlaceGoal, VisitGoal
from robocontrast_ros.tasks.navigation.grammar import FIRST, LAST, Choose, Grammar
from robocontrast_ros.tasks.navigation.parameters import GENERATED, NavigationParameters
from robocontrast_ros.tasks.navigation.placing import has_room
from robocontrast_ros.tasks.navigation.protocol import Perturbing, Point, Route
from robocontrast_ros.tasks.navigation.sampler import draw_scene, has_wanted_length
from robocontrast_ros.tasks.protocol import Backdrop, Plan

FAMILY = "visit_two_places"
"""The family of every instruction: a place to pass by, then one to stop at."""

WALL = 0.1
"""Thickness of the walls of the world model [m]."""

TOUCHING = 1e-6
"""A path counts as free up to this far beyond the edge of free space [m]."""

_KEPT_FLOOR_PLANS = 64


Count = Callable[[str], int]
"""Model -> number of its objects."""


class NoRoute(Exception):
    """An instruction cannot be given in a scene; the text says why."""


class VisionLanguageNavigation:
    """The task of seed 000, section 6: a robot in a studio apartment is sent to two places in order."""

    metric: Literal["progress"] = "progress"

    def __init__(self, parameters: NavigationParameters) -> None:
        """Take the task file's record; its arrangements are not checked here."""
        self.parameters = parameters
        self.name = parameters.name
        self.families = (*parameters.arrangements, GENERATED)
        self.shapes = Shapes(parameters)
        self.grammar = Grammar({m: f.nouns for m, f in parameters.furniture.items() if f.place})
        self._floor_plan = lru_cache(_KEPT_FLOOR_PLANS)(self._new_floor_plan)

    @classmethod
    def from_file(cls, path: Path) -> VisionLanguageNavigation:
        """Return the task that a parameter file describes.

        Raises:
            ConfigurationError: the file does not fit, or an arrangement in it is impossible.
        """
        parameters = load_record(NavigationParameters, path)
        check_parameters(parameters, str(path))
        task = cls(parameters)
        check_arrangements(task.shapes, task.floor_plan, task.parse, task.infeasibility, str(path))
        return task

    @property
    def perturbing(self) -> Perturbing:
        """Bounds of the perturbations."""
        return self.parameters.perturbing

    @property
    def world(self) -> str:
        """URI of the world model without furniture."""
        return self.parameters.world

    @property
    def models(self) -> dict[str, str]:
        """Model of furniture -> URI of its MJCF file."""
        p = self.parameters
        return {m: p.furniture_model.replace("{model}", m) for m in p.furniture}

    @property
    def start_position(self) -> None:
        """None: the scene has the robot's pose."""
        return

    @property
    def physics_step(self) -> float:
        """Step of the embedded simulator's physics [s]."""
        return self.parameters.physics_step

    @property
    def control_rate(self) -> float:
        """Control steps per second of simulated time [Hz]."""
        return self.parameters.control_rate

    @property
    def step_limit(self) -> int:
        """Control steps after which a trial ends."""
        return self.parameters.step_limit

    def outline(self, model: str) -> tuple[tuple[float, float], ...]:
        """Return the polygon that a model covers seen from above, in its frame, shape (n, 2) [m].

        Raises:
            KeyError: the task has no such model.
        """
        if model not in self.parameters.furniture:
            raise KeyError(f"no model '{model}'; there are: {', '.join(self.parameters.furniture)}")
        return tuple((float(x), float(y)) for x, y in self.shapes.outline(model))

    def backdrop(self) -> Backdrop:
        """Return the floor and the walls around it, north up."""
        x, y, w = self.parameters.room.length, self.parameters.room.width, WALL
        floor = ((0.0, 0.0), (x, 0.0), (x, y), (0.0, y))
        sides = ((-w, -w, x + w, 0.0), (-w, y, x + w, y + w), (-w, 0.0, 0.0, y), (x, 0.0, x + w, y))
        return Backdrop(floor, tuple(((a, b), (c, b), (c, d), (a, d)) for a, b, c, d in sides), up="y")

    def conditions(self) -> Iterator[Instruction]:
        """Enumerate every ordered pair of places once, each in its first wording."""
        places = [m for m, f in self.parameters.furniture.items() if f.place and self._count(m)]
        for first, last in itertools.permutations(places, 2):
            yield self._said(self.visit(first, last), self._count, lambda rule, fitting: fitting[0])

    def sample(self, rng: np.random.Generator, instance_id: str, family: str | None = None) -> TestInstance:
        """Return the instance of an arrangement, or draw one.

        A generated instance has every object of the task at a suitable place, a pair of places uniform among those
        whose path is within the task's bounds, and words uniform choice by choice.

        Args:
            rng: the only source of randomness; an arrangement uses none.
            instance_id: of the instance.
            family: name of an arrangement, or ``generated``, which is the default.

        Raises:
            ValueError: the family is unknown.
            ConfigurationError: too few scenes suit the task's parameters.
        """
        if family in self.parameters.arrangements:
            return self._arranged(instance_id, str(family))
        if family not in (None, GENERATED):
            raise ValueError(f"family: got '{family}', expected one of {', '.join(self.families)}")
        bounds = self.parameters.generator
        for _ in range(bounds.draws):
            scene = draw_scene(self.shapes, self.floor_plan, rng)
            if scene is None:
                continue
            pairs = list(itertools.permutations(self.places(scene), 2))
            for index in rng.permutation(len(pairs)):
                instruction = self.visit(*pairs[index])
                instance = self.make_instance(instance_id, instruction, scene)
                if instance is not None and has_wanted_length(self.find_route(instruction, scene), bounds):
                    return replace(instance, instruction=self.realise(instruction, scene, rng))
        raise ConfigurationError(
            f"task '{self.name}'",
            "generator.draws",
            bounds.draws,
            "parameters that fit: none of so many scenes does",
            "Give the room more space, take out objects, widen `generator.path`, or raise `generator.draws`.",
        )

    def goal(self, instruction: Instruction, start: Scene) -> VisitGoal:
        """Return the expected behaviour of an instruction given in a starting scene.

        Raises:
            KeyError: the scene lacks a place that the instruction names.
            ValueError: the instruction names no two places.
        """
        first, last = self.named(instruction)
        for place in (first, last):
            self.floor_plan(start).region(place)
        subgoals = PlaceGoal(first, self.floor_plan), PlaceGoal(last, self.floor_plan)
        return VisitGoal(subgoals, self.parameters.reach)

    def plan(self, instruction: Instruction, scene: Scene) -> Plan | None:
        """Return the shortest path of the base through the first place's region to the last one's, or None."""
        route = self.route(instruction, scene)
        if route is None:
            return None
        if len(route.path) < 2:
            return Plan(route.path, scene)
        end, before = route.path[-1], route.path[-2]
        yaw = float(np.arctan2(end[1] - before[1], end[0] - before[0]))
        return Plan(route.path, replace(scene, robot=Pose.planar(*end, yaw), contacts=()))

    def route(self, instruction: Instruction, scene: Scene) -> Route | None:
        """Return the shortest path and where on it the first place is reached; None when there is none."""
        try:
            return self.find_route(instruction, scene)
        except NoRoute:
            return None

    def find_route(self, instruction: Instruction, scene: Scene) -> Route:
        """Return the shortest path and where on it the first place is reached.

        Raises:
            NoRoute: there is none; says why.
        """
        first, last = self.named(instruction)
        for place in (first, last):
            if all(o.model != place for o in scene):
                raise NoRoute(f"no {place} is in the scene")
        if scene.robot is None:
            raise NoRoute("the scene does not say where the robot is")
        unknown = sorted({o.model for o in scene} - set(self.parameters.furniture))
        if unknown:
            raise NoRoute(f"the scene has objects of unknown models: {', '.join(unknown)}")
        plan, start = self.floor_plan(scene), scene.robot.xy
        if not plan.free(start):
            raise NoRoute(
                f"the robot starts {plan.gap([start]):.2f} m from furniture or a wall; its centre needs "
                f"{self.parameters.base.clearance:.2f} m"
            )
        route = plan.route(start, first, last)
        if route is None:
            raise NoRoute(f"no way is wide enough from the robot to the {first} and on to the {last}")
        return route

    def infeasibility(self, instruction: Instruction, scene: Scene) -> str | None:
        """Return why the instruction cannot be given in the scene, in words; None when it can."""
        try:
            self.find_route(instruction, scene)
        except NoRoute as reason:
            return str(reason)
        goal = self.goal(instruction, scene)
        for which, subgoal in zip(("first", "last"), goal.subgoals, strict=True):
            if subgoal.satisfied(scene):
                return f"the robot starts at the {which} place, the {subgoal.place}"
        return None

    def make_instance(self, instance_id: str, instruction: Instruction, scene: Scene) -> TestInstance | None:
        """Return a test instance with its reference path; None when ``infeasibility`` says why not."""
        if self.infeasibility(instruction, scene) is not None:
            return None
        route = self.find_route(instruction, scene)
        return TestInstance(instance_id, self.name, instruction, scene, route.length, route.path)

    def realise(self, instruction: Instruction, scene: Scene, rng: np.random.Generator) -> Instruction:
        """Return the instruction in words drawn uniformly, choice by choice."""
        return self._said(instruction, _counter(scene), _draw(rng))

    def parse(self, text: str, scene: Scene) -> Instruction:
        """Return the two places that an instruction names.

        Raises:
            ValueError: the grammar does not know the sentence, it names a place that the scene lacks, or one
                place twice.
        """
        reading = self.grammar.read(text)
        first, last = (self.grammar.place(reading, role) for role in (FIRST, LAST))
        there = self.places(scene)
        for role, place in ((FIRST, first), (LAST, last)):
            if place not in there:
                nouns = ", ".join(self.parameters.furniture[p].nouns[0] for p in there)
                said = self.grammar.noun(reading, role).words
                raise ValueError(f"instruction '{text}': '{said}' is not in the scene; places there: {nouns}")
        if first == last:
            raise ValueError(f"instruction '{text}': both places are the {first}; expected two different ones")
        return replace(self.visit(first, last), text=text)

    def redirect(
        self, instruction: Instruction, destination: str, scene: Scene, rng: np.random.Generator
    ) -> Instruction:
        """Return the instruction with another last place, in the same wording; the place's noun is drawn.

        Raises:
            ValueError: the instruction's text is not of the grammar.
        """
        before, drawn = self.grammar.read(instruction.text), _draw(rng)

        def keep(rule: str, fitting: Sequence[int]) -> int:
            known = before.choices.get(rule)
            return known if known in fitting else drawn(rule, fitting)

        first, _ = self.named(instruction)
        return self._said(self.visit(first, destination), _counter(scene), keep)

    def rephrase(self, instruction: Instruction, scene: Scene, rng: np.random.Generator) -> Instruction:
        """Return the instruction in another sentence form with other words, where there are any.

        Raises:
            ValueError: the instruction's text is not of the grammar.
        """
        before, drawn = self.grammar.read(instruction.text), _draw(rng)
        nouns = self.grammar.nouns

        def differ(rule: str, fitting: Sequence[int]) -> int:
            known = before.choices.get(rule)
            others = [i for i in fitting if i != known]
            if rule in (FIRST, LAST) and known is not None:
                others = [i for i in fitting if nouns[i].synonym != nouns[known].synonym]
            return drawn(rule, others or fitting)

        return self._said(instruction, _counter(scene), differ)

    def destinations(self, instruction: Instruction, scene: Scene) -> tuple[str, ...]:
        """Return the places that the instruction does not name and could end at."""
        named = self.named(instruction)
        return tuple(place for place in self.places(scene) if place not in named)

    def goal_objects(self, instruction: Instruction, scene: Scene) -> tuple[str, ...]:
        """Return the names of the objects that are the last place."""
        _, last = self.named(instruction)
        return tuple(o.name for o in scene if o.model == last)

    def passive_objects(self, instruction: Instruction, scene: Scene) -> tuple[str, ...]:
        """Return the names of the objects that a person can carry and that the instruction does not name."""
        named, furniture = self.named(instruction), self.parameters.furniture
        return tuple(
            o.name for o in scene if o.model not in named and furniture[o.model].mass <= self.perturbing.carried
        )

    def has_room(self, name: str, scene: Scene) -> bool:
        """Tell whether an object is clear of the others and the walls, and the robot's pose is free."""
        plan, gap = self.floor_plan(scene), self.perturbing.gap
        others = [shape for other, shape in plan.footprints.items() if other != name]
        return has_room(plan.footprints[name], others, self.shapes, gap, gap) and (
            scene.robot is None or plan.gap([scene.robot.xy]) >= self.shapes.clearance
        )

    def collides(self, path: Sequence[Point], scene: Scene) -> bool:
        """Tell whether the base would touch something on a path."""
        return self.floor_plan(scene).gap(path) < self.parameters.base.radius

    def keeps_clear(self, path: Sequence[Point], scene: Scene) -> bool:
        """Tell whether the base keeps the planner's distance from everything on a path."""
        return self.floor_plan(scene).gap(path) >= self.parameters.base.clearance - TOUCHING

    def misses(self, point: Point, instruction: Instruction, scene: Scene) -> float:
        """Return how far a point is outside the region of the last place, as the crow flies [m]."""
        _, last = self.named(instruction)
        return self.floor_plan(scene).region(last).excess(point)

    def places(self, scene: Scene) -> tuple[str, ...]:
        """Return the models in a scene that an instruction can send the robot to, in the task's order."""
        there = {o.model for o in scene}
        return tuple(m for m, f in self.parameters.furniture.items() if f.place and m in there)

    def visit(self, first: str, last: str) -> Instruction:
        """Return the instruction to visit two places, without words."""
        return Instruction("", FAMILY, ((FIRST, first), (LAST, last)))

    def named(self, instruction: Instruction) -> tuple[str, str]:
        """Return the first and the last place of an instruction.

        Raises:
            ValueError: it names no two places of the task.
        """
        named = [instruction.get(FIRST), instruction.get(LAST)]
        for place in named:
            if place not in self.parameters.furniture:
                raise ValueError(
                    f"{instruction.family}: got the places {named}, expected two of "
                    f"{', '.join(self.parameters.furniture)}"
                )
        return str(named[0]), str(named[1])

    def floor_plan(self, scene: Scene) -> FloorPlan:
        """Return a scene's floor plan, which does not depend on the robot; the last ones are kept."""
        return self._floor_plan(scene.objects)

    def _new_floor_plan(self, objects: tuple[ObjectState, ...]) -> FloorPlan:
        return FloorPlan(Scene(objects), self.shapes)

    def _arranged(self, instance_id: str, name: str) -> TestInstance:
        scene = arranged_scene(self.parameters, name)
        instruction = self.parse(self.parameters.arrangements[name].instruction, scene)
        instance = self.make_instance(instance_id, instruction, scene)
        if instance is None:
            raise ValueError(f"{name}: {self.infeasibility(instruction, scene)}")
        return instance

    def _count(self, model: str) -> int:
        return list(self.parameters.objects.values()).count(model)

    def _said(self, instruction: Instruction, count: Count, choose: Choose) -> Instruction:
        first, last = (self.grammar.fitting(p, count(p) > 1) for p in self.named(instruction))
        return replace(instruction, text=self.grammar.say(first, last, choose))


def _counter(scene: Scene) -> Count:
    return lambda model: sum(o.model == model for o in scene)


def _draw(rng: np.random.Generator) -> Choose:
    return lambda rule, fitting: fitting[int(rng.integers(len(fitting)))]
