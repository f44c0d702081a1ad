"""The goal of an instruction: the base has been at a first place, and is at the last one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from robocontrast_ros.domain import Instruction, Scene
from robocontrast_ros.tasks.navigation.floor import FloorPlan, Point
from robocontrast_ros.tasks.navigation.planner import RoutePlanner
from robocontrast_ros.tasks.protocol import Polygon

PlanOf = Callable[[Scene], FloorPlan]
"""Returns the floor plan of a scene."""


@dataclass(frozen=True)
class PlaceGoal:
    """The base's centre is near the footprint of any object of a model.

    Attributes:
        place: the model.
        plan_of: returns floor plans.
    """

    place: str
    plan_of: PlanOf

    def satisfied(self, scene: Scene) -> bool:
        """Return whether the robot is there; faster than the distance, which is then 0."""
        return self.plan_of(scene).region(self.place).contains(_base(scene))

    def distance(self, scene: Scene) -> float:
        """Return the length of the shortest path of the base to the place [m].

        0 exactly when it is there; infinity if there is no path.

        Raises:
            KeyError: no such object is in the scene.
            ValueError: the scene lacks the robot's pose.
        """
        return self.plan_of(scene).distance(_base(scene), self.place)

    def regions(self, scene: Scene) -> tuple[Polygon, ...]:
        """Return the edge of the region about each object."""
        return self.plan_of(scene).region(self.place).outlines()


@dataclass(frozen=True)
class VisitGoal:
    """Two places in order; the robot has to stop at the second one (seed 000, section 6.1).

    Attributes:
        subgoals: the two places.
        reach: greatest distance of the base's centre from a footprint [m].
        stop_required: the robot itself has to stop there.
    """

    subgoals: tuple[PlaceGoal, PlaceGoal]
    reach: float
    stop_required: bool = True

    def satisfied(self, scene: Scene) -> bool:
        """Return whether the robot is at the last place; the scorer checks the first."""
        return self.subgoals[-1].satisfied(scene)

    def distance(self, scene: Scene) -> float:
        """Return the length of the shortest path of the base to the last place [m]; 0 exactly when it is there."""
        return self.subgoals[-1].distance(scene)

    def in_words(self) -> str:
        """Return the condition of success in words."""
        first, last = (goal.place.replace("_", " ") for goal in self.subgoals)
        near = f"within {self.reach:.2g} m of"
        return f"the robot's centre has been {near} the {first}, then it is {near} the {last}"

    def regions(self, scene: Scene) -> tuple[Polygon, ...]:
        """Return the edge of the last place's region about each of its objects."""
        return self.subgoals[-1].regions(scene)


class VisitGoals:
    """Makes the goals of instructions to visit two places."""

    def __init__(self, planner: RoutePlanner, reach: float) -> None:
        """Take the planner, and the greatest distance of the base's centre from a footprint [m]."""
        self._planner, self._reach = planner, reach

    def goal(self, instruction: Instruction, start: Scene) -> VisitGoal:
        """Return the expected behaviour of an instruction given in a starting scene.

        Raises:
            KeyError: the scene lacks a place that the instruction names.
            ValueError: the instruction does not name two places.
        """
        first, last = self._planner.named(instruction)
        for place in (first, last):
            self._planner.floor_plan(start).region(place)
        plan_of = self._planner.floor_plan
        return VisitGoal((PlaceGoal(first, plan_of), PlaceGoal(last, plan_of)), self._reach)


def _base(scene: Scene) -> Point:
    if scene.robot is None:
        raise ValueError("the robot's pose in the scene, which has none")
    return scene.robot.xy
