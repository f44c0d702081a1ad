"""Closed-loop motion of a joint by its handle: the skill of the oracle for drawers, doors and knobs."""

from __future__ import annotations

import math

from robocontrast_ros.domain import Instruction, Pose, Scene
from robocontrast_ros.objects.joints import position_in
from robocontrast_ros.policies.baselines.kitchen.moving import MovingHandler
from robocontrast_ros.policies.baselines.tabletop.parameters import HandlingParameters
from robocontrast_ros.tasks.kitchen.planner import JointWay, KitchenPlanner

SHORTEST_ARM = 0.02
"""Least distance of a handle from its hinge, as which a knob counts [m]."""

LONGEST_TURN = 0.35
"""Greatest angle by which the commanded position of a hinge is ahead of it [rad]."""

BEYOND = 0.25
"""Share of that lead by which the commanded position goes beyond the goal, because the hand lags."""

MOVED = {"slide": 0.002, "hinge": 0.012}
"""Type of a joint -> its greatest distance from the goal at which it has been moved [m, or rad]."""


class JointHandler(MovingHandler):
    """Takes a handle, moves its joint, and lets go, one step at a time.

    Each step uses the tool, the fingers and the joint as they are now.
    """

    def __init__(
        self, instruction: Instruction, start: Scene, planner: KitchenPlanner, parameters: HandlingParameters
    ) -> None:
        """Plan.

        Raises:
            NoPlan: there is no plan; says why.
        """
        self._way: JointWay = planner.joint_way(instruction, start)
        super().__init__(self._way.height, self._way.grasp.width, self._way.before, parameters)
        self._sense = 1.0

    def _position(self, tool: Pose, scene: Scene) -> float:
        return position_in(scene, self._way.part, self._way.joint)

    def _tool(self, position: float, away: float = 0.0) -> Pose:
        return self._way.tool(position, away)

    def _taken(self, position: float) -> None:
        self._sense = math.copysign(1.0, self._way.goal - position)

    def _ahead(self, position: float) -> Pose:
        """Return the tool's place a step further along the joint."""
        joint, goal = self._way.joint, self._way.goal
        arm = 1.0 if joint.type == "slide" else max(math.dist(joint.through, joint.home.position), SHORTEST_ARM)
        step = min(self._p.leash / arm, LONGEST_TURN)
        beyond = goal + math.copysign(BEYOND * step, goal - position)
        return self._way.tool(position + min(max(beyond - position, -step), step))

    def _moved(self, position: float) -> bool:
        """Return whether the joint has come to where it was to go, or beyond."""
        return self._sense * (self._way.goal - position) <= MOVED[self._way.joint.type]
