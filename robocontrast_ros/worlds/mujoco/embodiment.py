"""What the world asks of a robot, whatever kind it is."""

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
    """A kind of robot in the physics: its model, its commands, its sensors. Each kind derives from it.

    It is no ``Protocol``: in Python 3.10 a class does not inherit the ``__init__`` of one.
    """

    def __init__(self, profile: RobotProfile) -> None:
        """Take the robot."""
        self._profile = profile
        self._data: mujoco.MjData | None = None

    def mjcf(self) -> str:
        """Return the robot's model as an MJCF document with one top-level body."""

    def bind(self, model: mujoco.MjModel, data: mujoco.MjData, prefix: str) -> None:
        """Take the place in a newly composed model, with the torques from before; ``prefix`` is that of own names."""
        efforts = 0.0 if self._data is None else self._data.actuator_force[self._actuators]
        self._model, self._data = model, data
        # A view: MuJoCo makes another one at each look, and this one is used at each physics step.
        self._ctrl = data.ctrl
        names = [prefix + name for name in self._profile.joint_names]
        self._qpos = np.array([model.joint(name).qposadr[0] for name in names])
        self._qvel = np.array([model.joint(name).dofadr[0] for name in names])
        self._actuators = np.array([model.actuator(name).id for name in names])
        data.actuator_force[self._actuators] = efforts

    def go_home(self) -> None:
        """Put the robot, at rest, to where it is after a reset, with sensors as when its driver was started."""

    def teleported(self) -> None:
        """Stop the robot, whose root was put elsewhere, and restart its driver; a fixed robot never is."""

    def apply_command(self, command: RobotCommand) -> None:
        """Carry out a command from now on.

        Raises:
            ValueError: it is no command for this robot, or a number in it is not finite.
        """

    def before_step(self) -> None:
        """Set the actuators for the coming physics step."""

    def after_step(self) -> None:
        """Let the sensors see the physics step that was made."""

    def pose(self) -> Pose:
        """Return where the robot acts: the pose of an arm's tool, or of a base; the truth, not an estimate."""

    def joint_state(self) -> JointState:
        """Return positions, velocities and torques of the joints."""
        return JointState(
            self._profile.joint_names,
            tuple(self._data.qpos[self._qpos].tolist()),
            tuple(self._data.qvel[self._qvel].tolist()),
            tuple(self._data.actuator_force[self._actuators].tolist()),
        )

    def reading(self, stamp: int) -> Reading:
        """Return what the driver publishes as the state, for the state estimator."""

    def sensors(self, contacts: Contacts) -> tuple[Sensor, ...]:
        """Return what the driver publishes at every step, given what the robot, and what it carries, touched."""

    @cached_property
    def tree(self) -> RobotTree:
        """Links and joints, as `robot_description` has them."""
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
