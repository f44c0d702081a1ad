"""Controllers of the action spaces `tool_delta` and `tool_pose`: six numbers of an arm's tool, and the gripper."""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import Pose, RobotState
from robocontrast_ros.domain.rotations import between, from_vector, turned, unit
from robocontrast_ros.robots.action_spaces import ToolDelta, ToolPose
from robocontrast_ros.robots.controllers.arm import ArmController, floor_margin, free_share
from robocontrast_ros.robots.controllers.protocol import Action
from robocontrast_ros.robots.manipulator import ManipulatorProfile

LOST_STEPS = 2.0
"""The set point is reset to the tool when the tool is farther from it than this many greatest steps or turns."""

REACHED, REACHED_TURN = 1e-3, 5e-3
"""A step that ends farther from its target than this counts as not reached [m, rad]."""

FLOOR_SLACK = 5e-4
"""Depth below the floor that is allowed to the arm [m], because rounding must not stop a tool that slides along it."""

SHARES = (1.0, 0.5, 0.25, 0.125)
"""Shares of a step that are tried, the greatest first, until the joints are fast enough for one."""


class _ToolController(ArmController):
    """The common part of both action spaces.

    A control step goes straight from the set point, a pose, towards the action's target: at most `max_step` and
    `max_turn`, inside the workspace, as far as the limits of the joints allow, and no part of the arm below its floor.
    """

    frame = "world"
    lost = "the tool was not at its set point"

    def __init__(self, profile: ManipulatorProfile, space: ToolDelta | ToolPose, period: float) -> None:
        """Prepare for a robot.

        Args:
            profile: the robot.
            space: its bounds of this action space.
            period: duration of a control step [s].
        """
        super().__init__(profile, period)
        self._space, self._set_point = space, Pose()

    @abstractmethod
    def _target(self, numbers: NDArray[np.float64], set_point: Pose) -> Pose:
        """Return the pose of an action's numbers; raise ValueError if they mean none."""

    def reset(self, state: RobotState) -> None:
        """Begin an episode with the set point at the tool."""
        super().reset(state)
        self._set_point = self._kinematics.tool_pose(self._joints)

    def begin(self, action: Action, state: RobotState) -> None:
        """Take the numbers of tool and gripper."""
        self._target(self._actions.split(action)[0], self._set_point)
        super().begin(action, state)

    def _is_lost(self, state: RobotState) -> bool:
        tool = self._kinematics.tool_pose(state.joint_positions)
        turn = math.hypot(*between(tool.orientation, self._set_point.orientation))
        far = tool.distance_to(self._set_point) > LOST_STEPS * self._space.max_step
        return far or turn > LOST_STEPS * self._space.max_turn

    def _bounded(self, wanted: Pose, reasons: list[str]) -> Pose:
        """Return the target of this control step on the way to a pose."""
        inside = self._profile.workspace.clamp(wanted.position)
        if inside != wanted.position:
            reasons.append("the workspace ends there")
            wanted = Pose(inside, wanted.orientation)
        far = wanted.distance_to(self._set_point) / self._space.max_step
        turn = math.hypot(*between(self._set_point.orientation, wanted.orientation)) / self._space.max_turn
        for excess, bound in ((far, f"{self._space.max_step} m"), (turn, f"{self._space.max_turn} rad")):
            # Rounding of the distance must not put a target at the bound beyond it.
            if excess > 1.0 + 1e-9:
                reasons.append(f"a control step goes at most {bound}")
        return self._way(wanted, min(1.0, 1.0 / max(far, turn, 1.0)))

    def _way(self, end: Pose, share: float) -> Pose:
        """Return the pose on a share of the straight way from the set point."""
        if share >= 1.0:
            return end
        start = self._set_point
        turn = [share * value for value in between(start.orientation, end.orientation)]
        x, y, z = (a + share * (b - a) for a, b in zip(start.position, end.position, strict=True))
        return Pose((x, y, z), turned(start.orientation, from_vector(turn)))

    def _move(self, numbers: NDArray[np.float64], reasons: list[str]) -> None:
        """Move joints and set point towards the target."""
        target = self._bounded(self._target(numbers, self._set_point), reasons)
        time = self._space.speed * self._period
        joints = tuple(self._joints.tolist())
        for share in SHARES:
            end = self._way(target, share)
            motion = self._kinematics.step(joints, end, time)
            reached = motion.position_error <= REACHED and motion.tilt <= REACHED_TURN
            if reached:
                break
        if share < 1.0 or not reached:
            reasons.append("the joints' limits of position or velocity")
        way = np.asarray(motion.positions) - self._joints
        free = free_share(self._kinematics, self._joints, way, self._above_floor)
        if free < 1.0:
            reasons.append("the floor is there")
        self._joints = self._kinematics.clamp(self._joints + free * way)
        # Rounding must not add up over an episode: if the tool gets there, the set point is the target itself.
        exact = reached and free >= 1.0
        self._set_point = end if exact else self._kinematics.tool_pose(self._joints)

    def _above_floor(self, positions: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array([floor_margin(self._kinematics, positions) + FLOOR_SLACK])


class ToolDeltaController(_ToolController):
    """Action space `tool_delta`: (dx, dy, dz) [m] and a rotation vector [rad], both in `world`; then the gripper.

    They add up on the set point, so that the lag of the robot's joint controller does not shorten every step.
    """

    name, reference, rotation = "tool_delta", "delta", "rotation_vector"

    def _target(self, numbers: NDArray[np.float64], set_point: Pose) -> Pose:
        """Return the pose that is displaced and turned from the set point."""
        x, y, z = (a + float(b) for a, b in zip(set_point.position, numbers[:3], strict=True))
        return Pose((x, y, z), turned(set_point.orientation, from_vector(numbers[3:])))


class ToolPoseController(_ToolController):
    """Action space `tool_pose`: (x, y, z) [m] and a quaternion (x, y, z, w) in `world`; then the gripper."""

    name, reference, rotation = "tool_pose", "absolute", "quaternion_xyzw"

    def _target(self, numbers: NDArray[np.float64], set_point: Pose) -> Pose:
        """Return the pose of an action; a quaternion of another length than 1 is made a unit one."""
        x, y, z = (float(value) for value in numbers[:3])
        return Pose((x, y, z), unit(numbers[3:]))
