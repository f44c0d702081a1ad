"""Whether an arm reaches a table: with the tool pointing down, turned every way, everywhere above it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

from robocontrast_ros.domain import Pose
from robocontrast_ros.robots.kinematics import REACHED_POSITION, REACHED_TILT, Kinematics, Unreachable
from robocontrast_ros.robots.manipulator import ManipulatorProfile

PLACES = 3
"""Places along each side of the region that are tried; its corners are the farthest and the nearest."""

YAWS = tuple(math.radians(degrees) for degrees in (30.0, 60.0, 90.0))
"""Turns of the tool to either side of x ahead [rad]. A hand of two fingers grasps the same way after half a turn, so
these and no turn cover all directions."""

STEP, STEPS = 0.15, 40
"""Time of a step of inverse kinematics [s], and the most steps to a neighbouring pose."""

Range = tuple[float, float]


def pointing_down(x: float, y: float, z: float, yaw: float) -> Pose:
    """Return the pose of a tool that points down, its x axis at a yaw [rad] about the world's z, at a place [m]."""
    return Pose((x, y, z), (math.cos(yaw / 2), math.sin(yaw / 2), 0.0, 0.0))


def check_reach(profile: ManipulatorProfile, x: Range, y: Range, z: Range) -> None:
    """Check that an arm reaches all of a region, with its tool pointing down and turned every way.

    It goes there as it would with a held object: from its posture ahead, turning to either side.

    Args:
        profile: the arm.
        x: least and greatest x of the tool, in `world` [m].
        y: least and greatest y [m].
        z: least and greatest z [m].

    Raises:
        Unreachable: it does not; the message names the first place.
    """
    arm = Kinematics(profile)
    for place in product(*(list(_spread(side)) for side in (x, y, z))):
        if arm.profile.workspace.clamp(place) != place:
            where = ", ".join(f"{value:.3f}" for value in place)
            raise Unreachable(f"robot '{profile.name}': ({where}) m is outside of its `workspace`")
        ahead = arm.posture(pointing_down(*place, 0.0))
        for side in (1.0, -1.0):
            joints = ahead
            for yaw in YAWS:
                joints = turned(arm, joints, pointing_down(*place, side * yaw))


def _spread(side: Range) -> Iterator[float]:
    """Yield places from one end of a side to the other."""
    low, high = side
    for k in range(PLACES):
        yield low + (high - low) * k / (PLACES - 1)


def turned(arm: Kinematics, joints: tuple[float, ...], pose: Pose) -> tuple[float, ...]:
    """Return the joints [rad] at a pose near by, some tens of degrees at most.

    Raises:
        Unreachable: they do not get there.
    """
    for _ in range(STEPS):
        motion = arm.step(joints, pose, STEP)
        joints = motion.positions
        if motion.position_error <= REACHED_POSITION and motion.tilt <= REACHED_TILT:
            return joints
    where = ", ".join(f"{value:.3f}" for value in pose.position)
    turn = math.degrees(2 * math.atan2(pose.orientation[1], pose.orientation[0]))
    raise Unreachable(
        f"robot '{arm.profile.name}': the tool cannot point down at ({where}) m turned by {turn:.0f} degrees; it ends "
        f"{motion.position_error:.3f} m and {motion.tilt:.3f} rad away"
    )
