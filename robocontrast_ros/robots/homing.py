"""The way of an arm between two places near a table: up, over, down, each piece checked before it is driven."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from robocontrast_ros.domain import Pose
from robocontrast_ros.robots.commands import JointTrajectoryCommand, RobotCommand
from robocontrast_ros.robots.kinematics import TILT_WEIGHT, Kinematics, Unreachable
from robocontrast_ros.robots.manipulator import ManipulatorProfile
from robocontrast_ros.robots.state_estimation import JointReading, Reading

CLIMB = 0.02
"""Distance straight up or down from one point of the way to the next [m]."""

CLEAR = 0.5
"""Share of the workspace's greatest height that is clear of the objects on a table whose task names no height."""

DIP = 0.01
"""Distance below that, or below its ends, to which a link may come while it passes [m]."""

REFINEMENTS = 4
"""Further steps of inverse kinematics at each point: one is not enough if a joint comes to its limit."""

WANDER = 0.005
"""Greatest distance of the tool from the straight line up, if a joint is at its limit [m]."""

LEANS = (TILT_WEIGHT, 0.05), (0.1 * TILT_WEIGHT, 0.3)
"""Weight of the tool's tilt [1/rad], and greatest change of its direction [rad]: near its base an arm can go straight
up, or come straight down, only if the tool leans."""

SAMPLE = 0.02
"""Turn of a joint between two checks of the arm on its way [rad]."""

PIECE_TIME, MOST_PIECES = 0.04, 60
"""If the elbow turns: time of a piece at the joints' greatest speed [s], and the most pieces between two points."""

SETTLE = 1.0
"""Time for a hand to open before the arm goes up [s]."""

Joints = tuple[float, ...]


def way_of_arm(
    profile: ManipulatorProfile, reading: JointReading, start: Pose | None, clear_height: float = 0.0
) -> tuple[JointTrajectoryCommand, ...]:
    """Return the commands that bring an arm to the start of an episode, or to rest.

    A hand opens first, at its place. The tool goes straight up to the top of the workspace, or as far as it can, over
    the table in joint space, and straight down: so the arm sweeps away nothing on the table that is lower than
    ``clear_height``. In each piece the joint with the longest way has the profile's homing speed, or
    the limit of the joints' velocity if that is lower.

    Args:
        profile: the arm.
        reading: its newest reading.
        start: pose of the tool, of which the position counts, pointing down; None for rest.
        clear_height: height above which nothing stands on the table [m]; 0 for ``CLEAR`` of the workspace's height.

    Raises:
        Unreachable: the tool cannot go there by such a way; the message has the reason.
        ValueError: the reading lacks a joint.
    """
    limit = profile.safety.velocity.limit
    arm, speed = Kinematics(profile), min(profile.safety.homing_speed, math.inf if limit is None else limit)
    positions = dict(zip(reading.names, reading.positions, strict=True))
    missing = [name for name in profile.joint_names if name not in positions]
    if missing:
        raise ValueError(f"joint states: got {', '.join(reading.names)}, expected also {', '.join(missing)}")
    here = tuple(positions[name] for name in profile.joint_names)
    goal = arm.rest if start is None else arm.posture(start.position)
    points = _points(arm, here, goal, clear_height or CLEAR * profile.workspace.z[1])
    hand = profile.end_effector.joints
    opened = hand[0].open if hand else None
    commands = [JointTrajectoryCommand(profile.joint_names, here, SETTLE, opened)] if hand else []
    for before, after in itertools.pairwise(points):
        if longest := max(abs(a - b) for a, b in zip(after, before, strict=True)):
            commands.append(JointTrajectoryCommand(profile.joint_names, after, longest / speed, opened))
    return tuple(commands)


def farthest_joint(command: RobotCommand, reading: Reading) -> float:
    """Return the greatest distance of a joint from its target in a command [rad].

    Infinite if a reading lacks a joint; 0 for commands of another kind, which have no such targets.
    """
    if not isinstance(command, JointTrajectoryCommand) or not isinstance(reading, JointReading):
        return 0.0
    at = dict(zip(reading.names, reading.positions, strict=True))
    wanted = zip(command.names, command.positions, strict=True)
    return max(abs(at.get(name, math.inf) - position) for name, position in wanted)


def _points(arm: Kinematics, here: Joints, goal: Joints, clear_height: float) -> list[Joints]:
    """Return the points of the way between two postures.

    Raises:
        Unreachable: there is none, however the tool leans.
    """
    for weight, tilt in LEANS:
        try:
            up, down = (_climb(arm, end, clear_height, weight, tilt) for end in (here, goal))
            _check_passage(arm, up[-1], down[-1], clear_height)
        except Unreachable as error:
            reason = error
        else:
            return [*up, *reversed(down)]
    raise reason


def _climb(arm: Kinematics, joints: Joints, clear_height: float, weight: float, tilt: float) -> list[Joints]:
    """Return the points of the way straight up, as far as workspace and arm go; the first is the arm's place.

    Args:
        arm: its kinematics.
        joints: its joint positions [rad].
        clear_height: height to which the tool has to come [m].
        weight: weight of the tool's tilt [1/rad].
        tilt: greatest one [rad].

    Raises:
        Unreachable: it does not come up to the clear height.
    """
    tool, top = arm.tool_pose(joints), arm.profile.workspace.z[1]
    x, y, low = tool.position
    points, height = [joints], low
    for above in np.linspace(low, top, max(math.ceil((top - low) / CLIMB), 0) + 1)[1:].tolist():
        target = Pose((x, y, above), tool.orientation)
        motion = arm.step(points[-1], target, 1.0, tilt_weight=weight)
        for _ in range(REFINEMENTS):
            motion = arm.step(motion.positions, target, 1.0, tilt_weight=weight)
        if motion.position_error > WANDER or motion.tilt > tilt:
            break
        pieces = [motion.positions]
        if not _is_straight(arm, points[-1], motion.positions, (x, y)):
            # An arm of seven joints turns its elbow on its way, a little at a time.
            pieces = _slowly(arm, points[-1], target, weight, tilt)
            straight = (_is_straight(arm, a, b, (x, y)) for a, b in itertools.pairwise([points[-1], *pieces]))
            if not pieces or not all(straight):
                break
        points.extend(pieces)
        height = above
    if height < clear_height:
        raise Unreachable(
            f"robot '{arm.profile.name}': the tool cannot go straight up from ({x:.3f}, {y:.3f}, {low:.3f}) m to "
            f"{clear_height:.3f} m: bring it to a place above the table by hand"
        )
    return points


def _slowly(arm: Kinematics, joints: Joints, target: Pose, weight: float, tilt: float) -> list[Joints]:
    """Return points that are near each other, on the way to a pose of the tool and its posture.

    None if the tool leans too far on that way.
    """
    found = [joints]
    for _ in range(MOST_PIECES):
        motion = arm.step(found[-1], target, PIECE_TIME, tilt_weight=weight)
        if motion.tilt > tilt:
            return []
        found.append(motion.positions)
        if max(abs(a - b) for a, b in zip(*found[-2:], strict=True)) < SAMPLE and motion.position_error < WANDER:
            break
    return found[1:]


def _is_straight(arm: Kinematics, before: Joints, after: Joints, xy: tuple[float, float]) -> bool:
    """Return whether tool and links stay inside their bounds on the straight way in joint space between two points."""
    least = min(arm.lowest(before), arm.lowest(after)) - DIP
    for share in _samples(before, after):
        between = _between(before, after, share)
        x, y, _ = arm.tool_pose(between).position
        if math.dist((x, y), xy) > WANDER or arm.lowest(between) < least:
            return False
    return True


def _samples(before: Joints, after: Joints) -> list[float]:
    longest = max(abs(a - b) for a, b in zip(after, before, strict=True))
    return np.linspace(0.0, 1.0, math.ceil(longest / SAMPLE) + 1).tolist()


def _check_passage(arm: Kinematics, before: Joints, after: Joints, clear_height: float) -> None:
    """Check that no link comes low on the straight way in joint space between two postures above the table.

    Raises:
        Unreachable: one does.
    """
    # A link beside the table may be lower than the objects on it.
    least = min(clear_height, arm.lowest(before), arm.lowest(after)) - DIP
    for share in _samples(before, after):
        height = arm.lowest(_between(before, after, share))
        if height < least:
            raise Unreachable(
                f"robot '{arm.profile.name}': on its way over the table a link would be {height:.3f} m above it, less "
                f"than {least:.3f} m: bring the arm nearer to its posture of rest by hand"
            )


def _between(before: Sequence[float], after: Sequence[float], share: float) -> Joints:
    return tuple(a + share * (b - a) for a, b in zip(before, after, strict=True))
