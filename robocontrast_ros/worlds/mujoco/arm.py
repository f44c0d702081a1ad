"""An arm in the physics: position servos that follow joint trajectories, and its hand."""

from __future__ import annotations

from dataclasses import fields

import mujoco
import numpy as np

from robocontrast_ros.domain import Pose
from robocontrast_ros.robots.commands import GripperCommand, JointTrajectoryCommand, RobotCommand
from robocontrast_ros.robots.kinematics import Kinematics
from robocontrast_ros.robots.manipulator import ManipulatorProfile
from robocontrast_ros.robots.manipulator_mjcf import arm_mjcf
from robocontrast_ros.robots.mjcf import TOOL_SITE
from robocontrast_ros.robots.state_estimation import JointReading
from robocontrast_ros.worlds.following import TrajectoryFollower
from robocontrast_ros.worlds.mujoco.embodiment import Embodiment, xyzw
from robocontrast_ros.worlds.mujoco.entities import Triple
from robocontrast_ros.worlds.mujoco.hand import SimulatedHand
from robocontrast_ros.worlds.mujoco.sensors import Contacts, JointState, Sensor


class Arm(Embodiment):
    """A manipulator, with or without a hand."""

    def __init__(self, profile: ManipulatorProfile, start: Triple | None) -> None:
        """Take the robot, and the start of its tool, pointing down [m]; None for the posture of rest.

        Raises:
            Unreachable: the tool cannot start there.
        """
        super().__init__(profile)
        self._kinematics = Kinematics(profile)
        home = self._kinematics.rest if start is None else self._kinematics.posture(start)
        self._home = np.asarray(home, dtype=float)
        self._hand = SimulatedHand(profile.end_effector) if profile.end_effector.joints else None
        self._follower = TrajectoryFollower(profile, self._home)

    def mjcf(self) -> str:
        """Return the arm's model."""
        return arm_mjcf(self._profile)

    def bind(self, model: mujoco.MjModel, data: mujoco.MjData, prefix: str) -> None:
        """Also find the tool, and compute the set points anew, because the physics step may have changed."""
        super().bind(model, data, prefix)
        self._tool = model.site(prefix + TOOL_SITE).id
        self._follower.bind(float(model.opt.timestep))
        if self._hand:
            self._hand.bind(model, data, prefix)

    def go_home(self) -> None:
        """Put the joints to the start of an episode, at rest, with an open hand, and let the servos hold them."""
        self._data.qpos[self._qpos] = self._home
        self._data.qvel[self._qvel] = 0.0
        self._data.qacc_warmstart[:] = 0.0
        if self._hand:
            self._hand.go_home()
        self._follower.go_home()

    def apply_command(self, command: RobotCommand) -> None:
        """Let the joints go to a position, straight in joint space, and hold it; let the hand also go to its position.

        Raises:
            ValueError: the command is no joint trajectory, the joints are not the robot's, a number is not finite, the
                duration is negative, or the command is for a hand and the robot has none.
        """
        profile = self._profile
        if isinstance(command, GripperCommand):
            self._grip(command.position)
            return
        if not isinstance(command, JointTrajectoryCommand):
            raise ValueError(f"'{profile.name}' follows joint trajectories, not {command}")
        self._follower.apply(command)
        if command.gripper is not None:
            self._grip(command.gripper)

    def before_step(self) -> None:
        """Set the servos to the trajectory's next point."""
        self._ctrl[self._actuators] = self._follower.next_set_points()
        if self._hand:
            self._hand.before_step()

    def pose(self) -> Pose:
        """Return the pose of the tool, z pointing out of it."""
        x, y, z = self._data.site_xpos[self._tool].tolist()
        return Pose((x, y, z), xyzw(self._data.site_xmat[self._tool]))

    def joint_state(self) -> JointState:
        """Return positions, velocities and torques of the arm's joints, then of the hand's."""
        arm = super().joint_state()
        if self._hand is None:
            return arm
        hand = self._hand.joint_state()
        return JointState(*(getattr(arm, field.name) + getattr(hand, field.name) for field in fields(JointState)))

    def reading(self, stamp: int) -> JointReading:
        """Return the joints."""
        joints = self.joint_state()
        return JointReading(stamp, joints.names, joints.positions)

    def sensors(self, contacts: Contacts) -> tuple[Sensor, ...]:
        """Return the joints, and the contacts if the driver reports them."""
        profile = self._profile
        joints = Sensor(profile.state.topic, profile.base_frame, self.joint_state())
        if not profile.reports_contacts:
            return (joints,)
        return (joints, Sensor(profile.contacts_topic, profile.base_frame, contacts))

    def _grip(self, position: float) -> None:
        if self._hand is None:
            raise ValueError(f"'{self._profile.name}' has no hand that could go to {position}")
        self._hand.go(position)
