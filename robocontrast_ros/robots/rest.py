"""The command to an arm to stop at its place, which no policy asks for."""

from __future__ import annotations

from robocontrast_ros.robots.commands import JointTrajectoryCommand
from robocontrast_ros.robots.manipulator import ManipulatorProfile
from robocontrast_ros.robots.state_estimation import JointReading


def stop_arm(profile: ManipulatorProfile, reading: JointReading, period: float) -> JointTrajectoryCommand:
    """Return the command to an arm to stop at its place in a reading; a hand keeps its command."""
    arm = [joint for joint in zip(reading.names, reading.positions, strict=True) if joint[0] in profile.joint_names]
    names, positions = zip(*arm, strict=True)
    return JointTrajectoryCommand(names, positions, period)
