"""A differential-drive base in the physics: two driven wheels, and odometry from encoders and gyro."""

from __future__ import annotations

import math

import mujoco
import numpy as np

from robocontrast_ros.domain import Pose
from robocontrast_ros.robots.commands import RobotCommand, TwistCommand
from robocontrast_ros.robots.description import Transform
from robocontrast_ros.robots.differential_drive import DifferentialDriveProfile
from robocontrast_ros.robots.differential_drive_mjcf import base_mjcf
from robocontrast_ros.robots.mjcf import BASE_BODY
from robocontrast_ros.robots.state_estimation import OdometryReading
from robocontrast_ros.worlds.mujoco.embodiment import Embodiment
from robocontrast_ros.worlds.mujoco.entities import Triple
from robocontrast_ros.worlds.mujoco.sensors import Contacts, Odometry, Sensor, Transforms

START_SITE = "robot_start"
"""Site of a world model at which a base starts; without the site it starts at the origin."""


class Base(Embodiment):
    """A differential-drive base.

    Its driver acts as Kobuki's: it limits speeds and accelerations, stops if no command comes, and computes odometry
    from the wheels' encoders and the gyro, at their resolution. It does not detect slip of the wheels.
    """

    def __init__(self, profile: DifferentialDriveProfile, start: Triple | None) -> None:
        """Take the robot, and its start [m]; None for the world model's start."""
        super().__init__(profile)
        self._home = None if start is None else Pose(start)
        self._tick = math.tau / profile.wheels.ticks

    def mjcf(self) -> str:
        """Return the base's model."""
        return base_mjcf(self._profile)

    def bind(self, model: mujoco.MjModel, data: mujoco.MjData, prefix: str) -> None:
        """Also find the root; driver and odometry go on."""
        super().bind(model, data, prefix)
        # MuJoCo 4 turns multiccd on by itself; with it a cylinder sinks into the corner of a box.
        if hasattr(mujoco.mjtDisableBit, "mjDSBL_MULTICCD"):
            model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_MULTICCD.value
        root = model.body(prefix + BASE_BODY)
        self._root_qpos = int(model.jnt_qposadr[root.jntadr[0]])
        self._root_qvel = int(model.jnt_dofadr[root.jntadr[0]])
        if self._home is None:
            self._home = _start_of(model)

    def go_home(self) -> None:
        """Put the base to its start, at rest."""
        x, y, z, w = self._home.orientation
        self._data.qpos[self._root_qpos : self._root_qpos + 7] = (*self._home.position, w, x, y, z)
        self._data.qvel[self._root_qvel : self._root_qvel + 6] = 0.0
        self._data.qacc_warmstart[:] = 0.0
        self.teleported()

    def teleported(self) -> None:
        """Stop the wheels and restart odometry at zero, so that nothing depends on earlier motion."""
        self._data.qpos[self._qpos] = 0.0
        self._data.qvel[self._qvel] = 0.0
        self._wanted = self._speed = self._turn = 0.0
        self._wanted_turn = 0.0
        self._since_command = 0
        self._ticks = (0, 0)
        self._x = self._y = self._gyro = self._heading = 0.0

    def apply_command(self, command: RobotCommand) -> None:
        """Drive with a velocity, within the limits, until the next command or the driver's timeout.

        Raises:
            ValueError: the command is no twist, or a number is not finite.
        """
        if not isinstance(command, TwistCommand):
            raise ValueError(f"'{self._profile.name}' follows twists, not {command}")
        if not (math.isfinite(command.linear) and math.isfinite(command.angular)):
            raise ValueError(f"twist: got {command}, expected finite numbers")
        limits = self._profile.limits
        self._wanted = min(max(command.linear, -limits.linear_speed), limits.linear_speed)
        self._wanted_turn = min(max(command.angular, -limits.angular_speed), limits.angular_speed)
        self._since_command = 0

    def before_step(self) -> None:
        """Bring the wheels' speeds towards the commanded ones."""
        step, limits, wheels = float(self._model.opt.timestep), self._profile.limits, self._profile.wheels
        self._since_command += 1
        if self._since_command * step > self._profile.command.timeout:
            self._wanted = self._wanted_turn = 0.0
        self._speed = _limited(
            self._speed, self._wanted, limits.linear_acceleration * step, limits.linear_deceleration * step
        )
        self._turn = _limited(
            self._turn,
            self._wanted_turn,
            limits.angular_acceleration * step,
            limits.angular_deceleration * step,
        )
        side = self._turn * wheels.separation / 2
        left, right = self._actuators
        self._data.ctrl[left] = (self._speed - side) / wheels.radius
        self._data.ctrl[right] = (self._speed + side) / wheels.radius

    def after_step(self) -> None:
        """Update odometry by the ticks since the last step, along the gyro's heading."""
        left, right = (round(float(self._data.qpos[index]) / self._tick) for index in self._qpos)
        way = (left - self._ticks[0] + right - self._ticks[1]) * self._tick * self._profile.wheels.radius / 2
        self._ticks = (left, right)
        self._gyro += self._turning() * float(self._model.opt.timestep)
        unit = self._profile.gyro_resolution
        heading = round(self._gyro / unit) * unit if unit else self._gyro
        middle = (self._heading + heading) / 2
        self._x += way * math.cos(middle)
        self._y += way * math.sin(middle)
        self._heading = heading

    def pose(self) -> Pose:
        """Return the pose of the base frame."""
        x, y, z, qw, qx, qy, qz = self._data.qpos[self._root_qpos : self._root_qpos + 7].tolist()
        return Pose((x, y, z), (qx, qy, qz, qw))

    def reading(self, stamp: int) -> OdometryReading:
        """Return the odometry."""
        return OdometryReading(stamp, self._odometry())

    def sensors(self, contacts: Contacts) -> tuple[Sensor, ...]:
        """Return odometry, wheels, contacts if the driver reports them, and odometry and wheels again for tf."""
        profile, pose = self._profile, self._odometry()
        left, right = (float(self._data.qvel[index]) for index in self._qvel)
        speed = (left + right) * profile.wheels.radius / 2
        odometry = Odometry(profile.base_frame, pose, speed, self._turning())
        odom = Transform(profile.odom_frame, profile.base_frame, pose)
        told = (Sensor(profile.contacts_topic, "", contacts),) if profile.reports_contacts else ()
        return (
            Sensor(profile.state.topic, profile.odom_frame, odometry),
            Sensor(profile.joint_states_topic, profile.base_frame, self.joint_state()),
            *told,
            Sensor(profile.transforms_topic, "", Transforms((odom, *self.moving_frames()))),
        )

    def _odometry(self) -> Pose:
        return Pose.planar(self._x, self._y, self._heading)

    def _turning(self) -> float:
        """Return the gyro's measurement: the turning speed about the base's own z axis [rad/s]."""
        return float(self._data.qvel[self._root_qvel + 5])


def _limited(now: float, wanted: float, faster: float, slower: float) -> float:
    """Return the speed after one step: it changes by `faster` away from zero, by `slower` towards it."""
    if now and (abs(wanted) < abs(now) or wanted * now < 0.0):
        nearest = wanted if wanted * now > 0.0 else 0.0
        return max(now - slower, nearest) if now > 0.0 else min(now + slower, nearest)
    return min(max(wanted, now - faster), now + faster)


def _start_of(model: mujoco.MjModel) -> Pose:
    """Return the start of a base in the world model."""
    site = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE.value, START_SITE)
    if site < 0:
        return Pose()
    x, y, z = model.site_pos[site].tolist()
    w, qx, qy, qz = np.asarray(model.site_quat[site]).tolist()
    return Pose((x, y, z), (qx, qy, qz, w))
