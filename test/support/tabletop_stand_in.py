"""A hand without dynamics on a table: what it closes on follows it, what it lets go falls straight down."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from robocontrast_ros.domain import Pose, Scene
from robocontrast_ros.domain.products import norm
from robocontrast_ros.objects.frames import about, compose, multiply
from robocontrast_ros.tasks.tabletop.goals import Library, Placed
from robocontrast_ros.tasks.tabletop.planner import Handling

LAG = 0.3
FINGERS = 0.03


@dataclass
class StandIn:
    """One target, its plan, and a hand that lags behind its commands."""

    library: Library
    scene: Scene
    target: str
    plan: Handling
    goal: object
    tool: Pose
    width: float = 0.08
    held: Pose | None = None
    commanded: Pose = field(init=False)

    def __post_init__(self) -> None:
        self.commanded = self.tool

    def step(self, action: np.ndarray) -> None:
        """Carry one action out."""
        shift, turn, gripper = action[:3], action[3:6], action[6]
        angle = float(norm(turn))
        orientation = self.commanded.orientation
        if angle > 0.0:
            orientation = multiply(about((turn / angle).tolist(), angle), orientation)
        self.commanded = Pose(tuple(np.add(self.commanded.position, shift).tolist()), orientation)
        position = np.asarray(self.commanded.position) * (1 - LAG) + np.asarray(self.tool.position) * LAG
        self.tool = Pose(tuple(position.tolist()), self.commanded.orientation)
        pose = self.scene[self.target].pose
        if gripper > 0.5:
            around = math.dist(self.tool.position, self.plan.grasp.carried(self._start, pose).position) < 0.012
            least = self.plan.width if around else 0.0
            self.width = max(self.width - FINGERS, least)
            if self.held is None and around and self.width == least:
                self.held = compose(_inverse(self.tool), pose)
        else:
            self.width = min(self.width + FINGERS, 0.08)
            if self.held is not None:
                self.held = None
                self.scene = self.scene.moved(self.target, self._fallen(pose))
        if self.held is not None:
            self.scene = self.scene.moved(self.target, compose(self.tool, self.held))
        self.scene = replace(self.scene, contacts=(self.target,) if self.held is not None else ())

    def remember(self, start: Pose) -> None:
        """Take where the target stood."""
        self._start = start

    def _fallen(self, pose: Pose) -> Pose:
        last = self.goal.subgoals[-1]
        ground = 0.0
        if isinstance(last, Placed):
            there = self.plan.target
            if math.dist(there.xy, pose.xy) < 0.03:
                ground = there.position[2]
        return Pose((*pose.xy, ground), pose.orientation)


def _inverse(pose: Pose) -> Pose:
    x, y, z, w = pose.orientation
    turned = Pose((0.0, 0.0, 0.0), (-x, -y, -z, w))
    back = compose(turned, Pose(tuple(-v for v in pose.position)))
    return Pose(back.position, turned.orientation)
