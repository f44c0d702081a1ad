"""Closed-loop handling of a thing in the kitchen: as on the tabletop, with the goals of the kitchen."""

from __future__ import annotations

from robocontrast_ros.domain import Instruction, Pose, Scene
from robocontrast_ros.policies.baselines.tabletop.handling import Handler, Sensed
from robocontrast_ros.policies.baselines.tabletop.parameters import HandlingParameters
from robocontrast_ros.tasks.kitchen import Kitchen
from robocontrast_ros.tasks.kitchen.planner import SlidingPlan
from robocontrast_ros.tasks.tabletop.hand import ToolPlace


class KitchenHandler(Handler):
    """Picks up one thing and puts it down, one step at a time; under a board it slides it in."""

    def __init__(self, instruction: Instruction, start: Scene, task: Kitchen, parameters: HandlingParameters) -> None:
        """Plan.

        Raises:
            NoPlan: there is no plan; its text has the reason.
        """
        super().__init__(instruction, start, task, parameters)
        self._entered = False

    def _down_to(self, place: ToolPlace, above: float, now: Sensed) -> Pose:
        """Return the next goal on the way to a place: from above, or by a level way from the plan's entry."""
        plan = self._plan
        if not isinstance(plan, SlidingPlan) or place is not plan.place:
            self._entered = False
            return super()._down_to(place, above, now)
        self._entered = self._entered or self._down(now, plan.entry)
        if not self._entered:
            return super()._down_to(plan.entry, above, now)
        if self._aside(now.tool, place) > self._p.aligned:
            return Pose((*place.position[:2], plan.entry.position[2]), place.pose.orientation)
        return place.pose

    def _placed(self, now: Sensed, scene: Scene) -> bool:
        """Return whether the target is at the plan's place, and where the instruction wants it."""
        if now.target.distance_to(self._plan.target) > self._p.at_place:
            return False
        achieved = self._goal.subgoals[-1]
        return achieved.predicates.holds(achieved.atom, scene)
