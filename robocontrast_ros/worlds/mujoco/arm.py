"""An arm in the physics: position servos that follow joint trajectories."""

from __future__ import annotations

import math
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocontrast_ros.domain import Pose
from robocontrast_ros.robots.commands import JointTrajectoryCommand, RobotCommand
from robocontrast_ros.robots.kinematics import Kinematics
from robocontrast_ros.robots.manipulator import ManipulatorProfile
from robocontrast_ros.robots.manipulator_mjcf import TOOL_SITE, arm_mjcf
from robocontrast_ros.robots.state_estimation import JointReading
from robocontrast_ros.worlds.mujoco.embodiment import Triple, actuated_joints, xyzw
from robocontrast_ros.worlds.mujoco.sensors import JointState, Sensor

AHEAD = 50
"""Physics steps whose set points are computed at once; one at a time they cost as much as the physics."""


class Arm:
    """The ``Embodiment`` of a manipulator."""

    def __init__(self, profile: ManipulatorProfile, start: Triple | None) -> None:
        """Take the robot, and where its tool starts, pointing down [m]; None for its home posture.

        Raises:
            Unreachable: the tool cannot start there.
        """
        self._profile = profile
        self._kinematics = Kinematics(profile)
        home = tuple(profile.home) if start is None else self._kinematics.posture(start)
        self._home = np.asarray(home, dtype=float)
        self._lead = np.asarray(profile.servo.damping) / np.asarray(profile.servo.stiffness)
        self._data: mujoco.MjData | None = None
        self._ahead: list[NDArray[np.float64]] = []
        self._hold(self._home)

    def mjcf(self) -> str:
        """Return the arm's model."""
        return arm_mjcf(self._profile)

    def bind(self, model: mujoco.MjModel, data: mujoco.MjData, prefix: str) -> None:
        """Take the place in a model; the torques that were reported stay."""
        efforts = 0.0 if self._data is None else self._data.actuator_force[self._actuators]
        self._model, self._data = model, data
        joints = [model.joint(prefix + name) for name in self._profile.joint_names]
        self._qpos = np.array([joint.qposadr[0] for joint in joints])
        self._qvel = np.array([joint.dofadr[0] for joint in joints])
        self._actuators = np.array([model.actuator(prefix + name).id for name in self._profile.joint_names])
        self._tool = model.site(prefix + TOOL_SITE).id
        self._timestep = float(model.opt.timestep)
        self._ahead = []
        data.actuator_force[self._actuators] = efforts

    def go_home(self) -> None:
        """Put the joints to the home posture, at rest, and let the servos hold them there."""
        self._data.qpos[self._qpos] = self._home
        self._data.qvel[self._qvel] = 0.0
        self._data.qacc_warmstart[:] = 0.0
        self._hold(self._home)

    def place(self, position: Triple) -> None:
        """Put the tool, pointing down, to a position.

        Raises:
            Unreachable: the tool cannot be there.
        """
        self._home = np.asarray(self._kinematics.posture(position), dtype=float)
        self.go_home()

    def was_carried(self) -> None:
        """Do nothing: an arm stands still, and cannot be carried."""

    def follow(self, command: RobotCommand) -> None:
        """Let the joints go to a position, straight in joint space, and hold it.

        The motion starts from where the previous command has brought the set point, as
        joint_trajectory_controller does when it interpolates from the desired state.

        Raises:
            ValueError: it is no joint trajectory, the joints are not the robot's, or a number is not finite
                or negative.
        """
        profile = self._profile
        if not isinstance(command, JointTrajectoryCommand):
            raise ValueError(f"'{profile.name}' follows joint trajectories, not {command}")
        if sorted(command.names) != sorted(profile.joint_names) or len(command.positions) != len(
            command.names
        ):
            raise ValueError(
                f"joint trajectory: got a position for {', '.join(command.names) or 'no joint'}, expected "
                f"one for each of {', '.join(profile.joint_names)}"
            )
        if not (all(map(math.isfinite, command.positions)) and 0.0 <= command.duration < math.inf):
            raise ValueError(
                f"joint trajectory: got {command}, expected finite positions and a duration >= 0 s"
            )
        order = [command.names.index(name) for name in profile.joint_names]
        goal = np.asarray(command.positions, dtype=float)[order]
        length = max(round(command.duration / self._timestep), 1)
        here = self._trajectory.position(self._followed)
        self._go(_Trajectory(here, self._kinematics.clamp(goal), length))

    def before_step(self) -> None:
        """Set the servos to the trajectory's next point."""
        if not self._ahead:
            self._ahead = self._next_set_points()
        self._data.ctrl[self._actuators] = self._ahead.pop()
        self._followed += 1

    def after_step(self) -> None:
        """Do nothing: joints are read when they are asked for."""

    def pose(self) -> Pose:
        """Return the pose of the tool, z pointing out of it."""
        x, y, z = self._data.site_xpos[self._tool].tolist()
        return Pose((x, y, z), xyzw(self._data.site_xmat[self._tool]))

    def joint_state(self) -> JointState:
        """Return positions, velocities and torques of the joints."""
        return actuated_joints(self._data, self._profile.joint_names, self._qpos, self._qvel, self._actuators)

    def reading(self, stamp: float) -> JointReading:
        """Return the joints."""
        joints = self.joint_state()
        return JointReading(stamp, joints.names, joints.positions)

    def sensors(self, touched: tuple[str, ...]) -> tuple[Sensor, ...]:
        """Return the joints; an arm's driver does not report contacts."""
        return (Sensor(self._profile.state.topic, self._profile.base_frame, self.joint_state()),)

    def latched_sensors(self) -> tuple[Sensor, ...]:
        """Return nothing."""
        return ()

    def _hold(self, positions: NDArray[np.float64]) -> None:
        self._go(_Trajectory.hold(positions))

    def _go(self, trajectory: _Trajectory) -> None:
        self._trajectory, self._followed, self._ahead = trajectory, 0, []

    def _next_set_points(self) -> list[NDArray[np.float64]]:
        """Return what the servos are set to before each of the coming physics steps, the next one last."""
        desired = self._trajectory.position(np.arange(self._followed, self._followed + AHEAD + 1))
        # A servo with damping lags behind a moving set point; leading by the velocity cancels that.
        velocity = np.diff(desired, axis=0) / self._timestep
        return list((desired[1:] + self._lead * velocity)[::-1])


@dataclass(frozen=True)
class _Trajectory:
    """A straight line in joint space, counted in physics steps.

    Attributes:
        start: joint positions at the first step [rad].
        goal: joint positions from the last step on [rad].
        length: physics steps from the start to the goal, at least 1.
    """

    start: NDArray[np.float64]
    goal: NDArray[np.float64]
    length: int

    @classmethod
    def hold(cls, positions: NDArray[np.float64]) -> _Trajectory:
        return cls(positions, positions, 1)

    def position(self, step: ArrayLike) -> NDArray[np.float64]:
        """Return the joint positions after numbers of steps, shape (..., joints) [rad]."""
        share = np.minimum(np.asarray(step) / self.length, 1.0)
        return self.start + share[..., None] * (self.goal - self.start)
