"""The interface of the world to a robot of any kind."""

from __future__ import annotations

from functools import cached_property

import mujoco
import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import Pose
from robocontrast_ros.robots.commands import RobotCommand
from robocontrast_ros.robots.description import RobotTree, Transform, robot_tree
from robocontrast_ros.robots.profile_base import RobotProfile
from robocontrast_ros.robots.state_estimation import Reading
from robocontrast_ros.worlds.mujoco.sensors import Contacts, JointState, Sensor


class Embodiment:
    """A kind of robot in the physics: its model, its commands, its sensors. Each kind derives from this class.

    It is no ``Protocol``: in Python 3.10 a class does not inherit a Protocol's ``__init__``.
    """

    def __init__(self, profile: RobotProfile) -> None:
        """Take the robot."""
        self._profile = profile
        self._data: mujoco.MjData | None = None

    def mjcf(self) -> str:
        """Return the robot's model as an MJCF document with one top-level body."""

    def bind(self, model: mujoco.MjModel, data: mujoco.MjData, prefix: str) -> None:
        """Connect to a newly composed model and keep the torques; ``prefix`` is that of the robot's own names."""
        efforts = 0.0 if self._data is None else self._data.actuator_force[self._actuators]
        self._model, self._data = model, data
        # A view: MuJoCo makes a new one at each access, and this one is used at each physics step.
        self._ctrl = data.ctrl
        names = [prefix + name for name in self._profile.joint_names]
        self._qpos = np.array([model.joint(name).qposadr[0] for name in names])
        self._qvel = np.array([model.joint(name).dofadr[0] for name in names])
        self._actuators = np.array([model.actuator(name).id for name in names])
        data.actuator_force[self._actuators] = efforts

    def go_home(self) -> None:
        """Put the robot, at rest, to its place after a reset, with sensors as at the start of its driver."""

    def teleported(self) -> None:
        """Stop the robot after its root was put elsewhere, and restart its driver; never called for a fixed robot."""

    def apply_command(self, command: RobotCommand) -> None:
        """Carry out a command from now on.

        Raises:
            ValueError: the command is not for this kind of robot, or a number in it is not finite.
        """

    def before_step(self) -> None:
        """Set the actuators for the coming physics step."""

    def after_step(self) -> None:
        """Update the sensors after a physics step."""

    def pose(self) -> Pose:
        """Return the true pose of an arm's tool, or of a base, not an estimate."""

    def joint_state(self) -> JointState:
        """Return positions, velocities and torques of the joints."""
        return JointState(
            self._profile.joint_names,
            tuple(self._data.qpos[self._qpos].tolist()),
            tuple(self._data.qvel[self._qvel].tolist()),
            tuple(self._data.actuator_force[self._actuators].tolist()),
        )

    def reading(self, stamp: int) -> Reading:
        """Return the state that the driver publishes, for the state estimator."""

    def sensors(self, contacts: Contacts) -> tuple[Sensor, ...]:
        """Return the data that the driver publishes at every step, given the contacts."""

    @cached_property
    def tree(self) -> RobotTree:
        """Links and joints, as in `robot_description`."""
        return robot_tree(self.mjcf(), self._profile)

    def moving_frames(self) -> tuple[Transform, ...]:
        """Return the frames of the links that joints move, in their parents', as robot_state_publisher does."""
        joints = self.joint_state()
        return self.tree.moving(dict(zip(joints.names, joints.positions, strict=True)))


def xyzw(matrix: NDArray[np.float64]) -> tuple[float, float, float, float]:
    """Return the quaternion of a rotation matrix."""
    quaternion = np.empty(4)
    mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(matrix).ravel())
    w, x, y, z = quaternion.tolist()
    return x, y, z, w
