"""Closed-loop handling of a thing in the kitchen: as on the tabletop, with the goals of the kitchen."""

from __future__ import annotations

from robocontrast_ros.domain import Scene
from robocontrast_ros.policies.baselines.tabletop.handling import Handler, Sensed


class KitchenHandler(Handler):
    """Picks up one thing and puts it down, one step at a time."""

    def _placed(self, now: Sensed, scene: Scene) -> bool:
        """Return whether the target is at the plan's place, and where the instruction wants it."""
        if now.target.distance_to(self._plan.target) > self._p.at_place:
            return False
        achieved = self._goal.subgoals[-1]
        return achieved.predicates.holds(achieved.atom, scene)
