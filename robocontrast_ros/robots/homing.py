"""The way of an arm between two places near a table: up, over, down, each piece checked before it is driven."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from robocontrast_ros.domain import Pose
from robocontrast_ros.robots.commands import JointTrajectoryCommand
from robocontrast_ros.robots.kinematics import Kinematics, Unreachable
from robocontrast_ros.robots.manipulator import ManipulatorProfile
from robocontrast_ros.robots.state_estimation import JointReading

CLIMB = 0.02
"""How far the tool goes straight up or down from one point of the way to the next [m]."""

CLEAR = 0.5
"""Share of the workspace's greatest height that is clear of what stands on the table: no lower does the arm pass."""

DIP = 0.01
"""How far below that, or below its ends, a link may come while it passes [m]."""

REFINEMENTS = 4
"""Further steps of inverse kinematics at each point: one is not enough where a joint comes to its limit."""

WANDER, TILT = 0.005, 0.05
"""How far the tool may be from the straight line up [m], and from pointing as it did [rad], where a joint is at its
limit."""

SAMPLE = 0.02
"""Between two points of the way the arm is checked each time a joint has turned by that much [rad]."""

SETTLE = 1.0
"""Time for a hand to open before the arm goes up [s]."""

Joints = tuple[float, ...]


def way_of_arm(
    profile: ManipulatorProfile, reading: JointReading, start: Pose | None
) -> tuple[JointTrajectoryCommand, ...]:
    """Return the commands that bring an arm to where an episode starts, or to its posture of rest.

    A hand opens first, where it is. The tool goes straight up to the top of the workspace, or as far as it can, over
    the table in joint space, and straight down: so nothing on the table is swept away that is lower than ``CLEAR`` of
    the workspace's height. In each piece the joint with the longest way has the profile's homing speed.

    Args:
        profile: the arm.
        reading: where it is.
        start: pose of the tool, of which the position counts, pointing down; None for the profile's ``home``.

    Raises:
        Unreachable: the tool cannot go there by such a way; the message says why.
        ValueError: the reading lacks a joint.
    """
    arm, speed = Kinematics(profile), profile.safety.homing_speed
    positions = dict(zip(reading.names, reading.positions, strict=True))
    missing = [name for name in profile.joint_names if name not in positions]
    if missing:
        raise ValueError(f"joint states: got {', '.join(reading.names)}, expected also {', '.join(missing)}")
    here = tuple(positions[name] for name in profile.joint_names)
    goal = tuple(profile.home) if start is None else arm.posture(start.position)
    up, down = _climb(arm, here), _climb(arm, goal)
    _check_passage(arm, up[-1], down[-1])
    points = [*up, *reversed(down)]
    hand = profile.end_effector.joints
    opened = hand[0].open if hand else None
    commands = [JointTrajectoryCommand(profile.joint_names, here, SETTLE, opened)] if hand else []
    for before, after in itertools.pairwise(points):
        if longest := max(abs(a - b) for a, b in zip(after, before, strict=True)):
            commands.append(JointTrajectoryCommand(profile.joint_names, after, longest / speed, opened))
    return tuple(commands)


def _climb(arm: Kinematics, joints: Joints) -> list[Joints]:
    """Return the points of the way straight up, as far as the workspace and the arm go, the first where the arm is."""
    tool, top = arm.tool_pose(joints), arm.profile.workspace.z[1]
    x, y, low = tool.position
    points, height = [joints], low
    for above in np.linspace(low, top, max(math.ceil((top - low) / CLIMB), 0) + 1)[1:].tolist():
        motion = arm.step(points[-1], Pose((x, y, above), tool.orientation), 1.0)
        for _ in range(REFINEMENTS):
            motion = arm.step(motion.positions, Pose((x, y, above), tool.orientation), 1.0)
        if motion.position_error > WANDER or motion.tilt > TILT:
            break
        points.append(motion.positions)
        height = above
    if height < CLEAR * top:
        raise Unreachable(
            f"robot '{arm.profile.name}': the tool cannot go straight up from ({x:.3f}, {y:.3f}, {low:.3f}) m to "
            f"{CLEAR * top:.3f} m: bring it to a place above the table by hand"
        )
    return points


def _check_passage(arm: Kinematics, before: Joints, after: Joints) -> None:
    """Check that no link comes low on the straight way in joint space between two postures above the table.

    Raises:
        Unreachable: one does.
    """
    # A link beside the table may be lower than what stands on it.
    least = min(CLEAR * arm.profile.workspace.z[1], arm.lowest(before), arm.lowest(after)) - DIP
    longest = max(abs(a - b) for a, b in zip(after, before, strict=True))
    for share in np.linspace(0.0, 1.0, math.ceil(longest / SAMPLE) + 1).tolist():
        height = arm.lowest(_between(before, after, share))
        if height < least:
            raise Unreachable(
                f"robot '{arm.profile.name}': on its way over the table a link would be {height:.3f} m above it, less "
                f"than {least:.3f} m: bring the arm nearer to its posture of rest by hand"
            )


def _between(before: Sequence[float], after: Sequence[float], share: float) -> Joints:
    return tuple(a + share * (b - a) for a, b in zip(before, after, strict=True))
