"""Estimates a robot's state in the world from its driver's readings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from robocontrast_ros.domain import Pose, RobotState
from robocontrast_ros.robots.differential_drive import DifferentialDriveProfile
from robocontrast_ros.robots.drivers import CmdVel
from robocontrast_ros.robots.kinematics import Kinematics
from robocontrast_ros.robots.manipulator import ManipulatorProfile

START_TOLERANCE = 0.01
"""Greatest distance of the tool from its start position when an episode begins [m]."""


class NotAtStart(Exception):
    """The robot is not at the start of the episode; the text has the distance."""


@dataclass(frozen=True)
class JointReading:
    """The joints as a driver publishes them, in any order.

    Attributes:
        stamp: time of the reading [ns].
        names: names of the joints.
        positions: positions in the order of the names [rad or m].
        force: magnitude of the force at the tool [N]; None if the driver does not report it.
    """

    stamp: int
    names: tuple[str, ...]
    positions: tuple[float, ...]
    force: float | None = None


@dataclass(frozen=True)
class OdometryReading:
    """Odometry of a base since its driver was started, or its pose from a localiser.

    Attributes:
        stamp: time of the reading [ns].
        pose: pose of the base in the driver's odometry frame; in the world frame if it is localised.
        localised: whether the pose is a localiser's, in the world frame.
    """

    stamp: int
    pose: Pose
    localised: bool = False


Reading = JointReading | OdometryReading
"""Any reading."""


class StateEstimator(Protocol):
    """Estimates one robot's state from its readings."""

    def begin(self, start: Pose) -> None:
        """Begin an episode: at the next reading the robot is at `start`, in the world frame."""

    def update(self, reading: Reading) -> RobotState:
        """Return the state at a reading.

        Raises:
            NotAtStart: it is the first since `begin`, and shows the robot elsewhere.
            ValueError: it is not a reading of this robot.
        """


class ArmState:
    """An arm with a fixed base: the tool's pose follows from the joints."""

    def __init__(self, profile: ManipulatorProfile) -> None:
        self._profile = profile
        self._kinematics = Kinematics(profile)
        self._start: Pose | None = None

    def begin(self, start: Pose) -> None:
        """Check at the next reading that the tool is at the position of `start`, in the plane."""
        self._start = start

    def update(self, reading: Reading) -> RobotState:
        """Return the state of joints, tool and hand."""
        positions = dict(zip(reading.names, reading.positions, strict=True))
        hand = self._profile.end_effector
        missing = [n for n in (*self._profile.joint_names, *self._profile.hand_joint_names) if n not in positions]
        if missing:
            raise ValueError(f"joint states: got {', '.join(reading.names)}, expected also {', '.join(missing)}")
        ordered = tuple(positions[name] for name in self._profile.joint_names)
        tool = self._kinematics.tool_pose(ordered)
        start, self._start = self._start, None
        if start is not None and math.dist(tool.xy, start.xy) > START_TOLERANCE:
            raise NotAtStart(
                f"the tool is {math.dist(tool.xy, start.xy):.3f} m from its start position "
                f"({start.xy[0]:.3f}, {start.xy[1]:.3f}), more than {START_TOLERANCE:g} m"
            )
        width = hand.width([positions[joint.name] for joint in hand.joints]) if hand.joints else None
        closed = None if width is None else hand.closed(width)
        return RobotState(reading.stamp, tool, self._profile.joint_names, ordered, width, closed, reading.force)


class BaseState:
    """A mobile base: its pose is a localiser's, else from odometry since the start of the episode, which drifts."""

    def __init__(self, profile: DifferentialDriveProfile) -> None:
        self._profile = profile
        driver = profile.driver
        self._tolerances = (driver.cmd_vel if driver is not None else None) or CmdVel()
        self._start: Pose | None = None
        self._origin = (0.0, 0.0, 0.0)

    def begin(self, start: Pose) -> None:
        """Check at the next reading that a localised base is at `start`, in the plane; take any other to be there."""
        self._start = start

    def update(self, reading: Reading) -> RobotState:
        """Return the base's pose on the floor."""
        if not isinstance(reading, OdometryReading):
            raise ValueError(f"odometry: got {type(reading).__name__}, expected a reading of odometry")
        start, self._start = self._start, None
        if reading.localised:
            here = Pose.planar(*reading.pose.xy, reading.pose.yaw)
            if start is not None:
                self._check_start(here, start)
            return RobotState(reading.stamp, here)
        if start is not None:
            turn = start.yaw - reading.pose.yaw
            x, y = _turned(reading.pose.xy, turn)
            self._origin = (start.xy[0] - x, start.xy[1] - y, turn)
        origin_x, origin_y, turn = self._origin
        x, y = _turned(reading.pose.xy, turn)
        return RobotState(reading.stamp, Pose.planar(origin_x + x, origin_y + y, reading.pose.yaw + turn))

    def _check_start(self, here: Pose, start: Pose) -> None:
        off, turned = math.dist(here.xy, start.xy), math.remainder(here.yaw - start.yaw, math.tau)
        greatest, widest = self._tolerances.start_tolerance, self._tolerances.start_turn_tolerance
        if off <= greatest and abs(turned) <= widest:
            return
        raise NotAtStart(
            f"the localiser has the base {off:.2f} m from its start and turned by {turned:.2f} rad, more than "
            f"{greatest:g} m or {widest:g} rad (`driver.cmd_vel.start_tolerance`, `start_turn_tolerance`): bring it to "
            f"x {start.xy[0]:.2f}, y {start.xy[1]:.2f}, yaw {start.yaw:.2f} in '{self._profile.world_frame}' (it is at "
            f"{here.xy[0]:.2f}, {here.xy[1]:.2f}, {here.yaw:.2f}); where it stands there already, tell the localiser, "
            "or correct `driver.cmd_vel.map_pose`"
        )


def _turned(point: tuple[float, float], angle: float) -> tuple[float, float]:
    x, y = point
    return x * math.cos(angle) - y * math.sin(angle), x * math.sin(angle) + y * math.cos(angle)
