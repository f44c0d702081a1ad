"""The shortest path past the first place to the last one."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from robocontrast_ros.domain import Instruction, ObjectState, Pose, Scene
from robocontrast_ros.tasks.navigation.floor import FloorPlan, Shapes
from robocontrast_ros.tasks.navigation.language import named
from robocontrast_ros.tasks.navigation.parameters import NavigationParameters
from robocontrast_ros.tasks.navigation.routes import Route
from robocontrast_ros.tasks.protocol import Infeasible, Plan

_KEPT_FLOOR_PLANS = 64


class RoutePlanner:
    """Plans on the floor plan of a scene.

    Attributes:
        shapes: footprints of the furniture.
    """

    def __init__(self, parameters: NavigationParameters) -> None:
        self._parameters = parameters
        self.shapes = Shapes(parameters)
        self._floor_plan = lru_cache(_KEPT_FLOOR_PLANS)(self._new_floor_plan)

    def plan(self, instruction: Instruction, scene: Scene) -> Plan | Infeasible:
        """Return the shortest path of the base through the first place's region to the last one's, or why not."""
        route = self.route(instruction, scene)
        if isinstance(route, Infeasible):
            return route
        if len(route.path) < 2:
            return Plan(route.path, scene)
        end, before = route.path[-1], route.path[-2]
        yaw = float(np.arctan2(end[1] - before[1], end[0] - before[0]))
        return Plan(route.path, replace(scene, robot=Pose.planar(*end, yaw), contacts=(), carried=()))

    def route(self, instruction: Instruction, scene: Scene) -> Route | Infeasible:
        """Return the shortest path and its point at which the first place is reached, or why there is none."""
        first, last = self.named(instruction)
        for place in (first, last):
            if all(o.model != place for o in scene):
                return Infeasible(f"no {place} is in the scene")
        if scene.robot is None:
            return Infeasible("the scene does not say where the robot is")
        unknown = sorted({o.model for o in scene} - set(self._parameters.furniture))
        if unknown:
            return Infeasible(f"the scene has objects of unknown models: {', '.join(unknown)}")
        plan, start = self.floor_plan(scene), scene.robot.xy
        if not plan.free(start):
            return Infeasible(
                f"the robot starts {plan.gap([start]):.2f} m from furniture or a wall; its centre needs "
                f"{self._parameters.base.clearance:.2f} m"
            )
        route = plan.route(start, first, last)
        return route or Infeasible(f"no way is wide enough from the robot to the {first} and on to the {last}")

    def named(self, instruction: Instruction) -> tuple[str, str]:
        """Return the first and the last place of an instruction.

        Raises:
            ValueError: it does not name two places of the task.
        """
        return named(instruction, self._parameters.furniture)

    def floor_plan(self, scene: Scene) -> FloorPlan:
        """Return a scene's floor plan, which does not depend on the robot; the last ones are kept."""
        return self._floor_plan(scene.objects)

    def _new_floor_plan(self, objects: tuple[ObjectState, ...]) -> FloorPlan:
        return FloorPlan(Scene(objects), self.shapes)


class BothPlaces:
    """The robot comes to the two places of an instruction; it touches nothing else."""

    touching = True

    def __init__(self, planner: RoutePlanner) -> None:
        self._planner = planner

    def handled(self, instruction: Instruction, scene: Scene) -> tuple[str, ...]:
        """Return the names of the objects that are one of the places."""
        places = self._planner.named(instruction)
        return tuple(o.name for o in scene if o.model in places)

    def lowest(self, scene: Scene, name: str) -> float:
        """Return the height of the ground below an object [m]; objects stand on their origin."""
        return scene[name].pose.position[2]
