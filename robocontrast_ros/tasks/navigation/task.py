"""The navigation task."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import shapely

from robocontrast_ros.configuration import ConfigurationError, load_record
from robocontrast_ros.domain import Instruction, Pose, Scene, TestInstance
from robocontrast_ros.tasks.base import ModelTask
from robocontrast_ros.tasks.navigation.arrangements import arranged_scene, check_arrangements, check_parameters
from robocontrast_ros.tasks.navigation.goals import VisitGoals
from robocontrast_ros.tasks.navigation.language import VisitLanguage, visit
from robocontrast_ros.tasks.navigation.neighbourhood import VisitNeighbourhood
from robocontrast_ros.tasks.navigation.parameters import GENERATED, NavigationParameters
from robocontrast_ros.tasks.navigation.planner import BothPlaces, RoutePlanner
from robocontrast_ros.tasks.navigation.routes import Point
from robocontrast_ros.tasks.navigation.sampler import draw_scene, has_wanted_length
from robocontrast_ros.tasks.navigation.scenes import apartment, room
from robocontrast_ros.tasks.protocol import Infeasible

STRIDE = 0.05
"""Greatest length of the steps in which a walked path is checked [m]."""


class VisionLanguageNavigation(ModelTask):
    """The task of seed 000, section 6: a robot in a studio apartment is sent to two places in order."""

    metric = "progress"

    def __init__(self, parameters: NavigationParameters) -> None:
        """Take the task file's record; its arrangements are not checked here."""
        self.planner = RoutePlanner(parameters)
        super().__init__(parameters, (*parameters.arrangements, GENERATED), apartment(self.planner.shapes))
        self.language = self.rewording = self.wording = VisitLanguage(parameters)
        self.handling = BothPlaces(self.planner)
        self.goals = VisitGoals(self.planner, parameters.reach)
        self.neighbourhood = VisitNeighbourhood(self, parameters, self.planner, self.language)
        self.walkable = self._why_not_walked
        self.backdrop = room(parameters.room.length, parameters.room.width)

    @classmethod
    def from_file(cls, path: Path) -> VisionLanguageNavigation:
        """Return the task that a parameter file describes.

        Raises:
            ConfigurationError: the file does not fit, or an arrangement in it is impossible.
        """
        parameters = load_record(NavigationParameters, path)
        check_parameters(parameters, str(path))
        task = cls(parameters)
        check_arrangements(task.planner, task.language.parse, task.make_instance, str(path))
        return task

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
        if self.family(rng, family or GENERATED) in self.parameters.arrangements:
            return self._arranged(instance_id, str(family))
        bounds = self.parameters.generator
        for _ in range(bounds.draws):
            scene = draw_scene(self.planner.shapes, self.planner.floor_plan, rng)
            if scene is None:
                continue
            pairs = list(itertools.permutations(self.language.places(scene), 2))
            for index in rng.permutation(len(pairs)):
                instruction = visit(*pairs[index])
                instance = self.make_instance(instance_id, instruction, scene)
                if isinstance(instance, Infeasible):
                    continue
                if has_wanted_length(self.planner.route(instruction, scene), bounds):
                    return replace(instance, instruction=self.language.realise(instruction, scene, rng))
        raise ConfigurationError(
            f"task '{self.name}'",
            "generator.draws",
            bounds.draws,
            "parameters with which at least one of so many scenes fits",
            "Give the room more space, take out objects, widen `generator.path`, or raise `generator.draws`.",
        )

    def make_instance(self, instance_id: str, instruction: Instruction, scene: Scene) -> TestInstance | Infeasible:
        """Return a test instance with its reference path, or why there is none: no way, or at a place already."""
        route = self.planner.route(instruction, scene)
        if isinstance(route, Infeasible):
            return route
        subgoals = self.goals.goal(instruction, scene).subgoals
        for which, subgoal in zip(("first", "last"), subgoals, strict=True):
            if subgoal.satisfied(scene):
                return Infeasible(f"the robot starts at the {which} place, the {subgoal.place}")
        return TestInstance(instance_id, self.name, instruction, scene, route.length, route.path)

    def _why_not_walked(self, instance: TestInstance, path: tuple[Point, ...]) -> str | None:
        """Return why a walked path does not fulfil an instance; None if it does.

        As a person's path, it may come nearer to furniture than the robot does.
        """
        scene, goal = instance.scene, self.goals.goal(instance.instruction, instance.scene)
        if len(set(path)) < 2:
            return "the walked path has one point, expected two or more"
        if (gap := math.dist(path[0], scene.robot.xy)) > goal.reach:
            return f"the walked path begins {gap:.2f} m from where the robot starts, expected up to {goal.reach:g} m"
        if self.planner.floor_plan(scene).gap(path) == 0.0:
            return "the walked path goes through furniture or a wall"
        line = shapely.segmentize(shapely.LineString(path), STRIDE)
        walked = [replace(scene, robot=Pose.planar(x, y)) for x, y in line.coords]
        first, last = goal.subgoals
        if not any(first.satisfied(there) for there in walked):
            return f"the walked path does not come within {goal.reach:g} m of the first place, the {first.place}"
        if not last.satisfied(walked[-1]):
            return f"the walked path does not end within {goal.reach:g} m of the last place, the {last.place}"
        return None

    def _arranged(self, instance_id: str, name: str) -> TestInstance:
        scene = arranged_scene(self.parameters, name)
        instruction = self.language.parse(self.parameters.arrangements[name].instruction, scene)
        instance = self.make_instance(instance_id, instruction, scene)
        if isinstance(instance, Infeasible):
            raise ValueError(f"{name}: {instance.reason}")
        return instance
