"""What the world asks of a robot, whatever kind it is."""

from __future__ import annotations

from typing import Protocol

import mujoco
import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import Pose
from robocontrast_ros.robots.commands import RobotCommand
from robocontrast_ros.robots.state_estimation import Reading
from robocontrast_ros.worlds.mujoco.sensors import JointState, Sensor


class Embodiment(Protocol):
    """A kind of robot in the physics: its model, its commands, its sensors."""

    def mjcf(self) -> str:
        """Return the robot's model as an MJCF document with one top-level body."""

    def bind(self, model: mujoco.MjModel, data: mujoco.MjData, prefix: str) -> None:
        """Take the place in a newly composed model, where every joint is as it was before.

        Args:
            model: the compiled model.
            data: its state.
            prefix: what stands before the robot's own names in it.
        """

    def go_home(self) -> None:
        """Put the robot, at rest, to where it is after a reset, with sensors as when its driver was started."""

    def teleported(self) -> None:
        """Stop the robot, whose root was put elsewhere, and restart its driver."""

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
        """Return where the robot acts: the pose of an arm's tool, or of a base; the truth, not a belief."""

    def joint_state(self) -> JointState:
        """Return positions, velocities and torques of the joints."""

    def reading(self, stamp: float) -> Reading:
        """Return what the driver's state interface says, for the state estimator."""

    def sensors(self, touched: tuple[str, ...]) -> tuple[Sensor, ...]:
        """Return what the driver publishes at every step.

        Args:
            touched: names of the entities that the robot touched.
        """

    def latched_sensors(self) -> tuple[Sensor, ...]:
        """Return what the driver publishes once."""


def xyzw(matrix: NDArray[np.float64]) -> tuple[float, float, float, float]:
    """Return the quaternion of a rotation matrix."""
    quaternion = np.empty(4)
    mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(matrix).ravel())
    w, x, y, z = quaternion.tolist()
    return x, y, z, w


def actuated_joints(
    data: mujoco.MjData,
    names: tuple[str, ...],
    positions: NDArray[np.int_],
    velocities: NDArray[np.int_],
    actuators: NDArray[np.int_],
) -> JointState:
    """Return joints that have an actuator each, from where they stand in qpos, qvel and actuator_force."""
    return JointState(
        names,
        tuple(data.qpos[positions].tolist()),
        tuple(data.qvel[velocities].tolist()),
        tuple(data.actuator_force[actuators].tolist()),
    )
