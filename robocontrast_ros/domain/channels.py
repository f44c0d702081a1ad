"""Named channels: the meaning of numbers that go to a robot or come from it.

The numbers of an action are those of its action space's command channels, one after the other. The parts of the robot's
state that a policy reads are observation channels.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Channel:
    """One quantity.

    Attributes:
        name: name of the channel.
        size: count of its numbers; None for one number for each joint of the arm.
        unit: unit of the numbers; in their order if they differ.
        frame: frame of the numbers; empty if they have none.
        meaning: meaning in words.
    """

    name: str
    size: int | None
    unit: str
    frame: str
    meaning: str

    def numbers(self, joints: int) -> int:
        """Return the count of its numbers on a robot with this number of joints."""
        return joints if self.size is None else self.size


def _table(*channels: Channel) -> dict[str, Channel]:
    return {channel.name: channel for channel in channels}


COMMANDS = _table(
    Channel("joint_positions", None, "rad", "joint", "target of each joint"),
    Channel("joint_velocities", None, "rad/s", "joint", "velocity of each joint"),
    Channel("tool_pose", 7, "m, quaternion xyzw", "world", "target of the tool"),
    Channel(
        "tool_delta", 6, "m, rad", "world", "displacement of the tool's target, then the rotation vector of its turn"
    ),
    Channel("planar_delta", 2, "m", "world", "displacement of the tool's target in the plane"),
    Channel("twist", 2, "m/s, rad/s", "base", "forward and turning speed"),
    Channel("move", 1, "", "base", "one of a few moves, by its number"),
    Channel("gripper", 1, "", "", "0 opens the gripper, 1 closes it"),
)
"""Command channels by name."""

OBSERVATIONS = _table(
    Channel("joint_positions", None, "rad", "joint", "position of each joint"),
    Channel("tool_pose", 7, "m, quaternion xyzw", "world", "where the tool is"),
    Channel("gripper_width", 1, "m", "", "distance between the finger tips"),
    Channel("gripper_closed", 1, "", "", "how far the gripper is closed: 0 wide open, 1 closed"),
)
"""Observation channels by name."""

GRIPPER_OBSERVATIONS = ("gripper_width", "gripper_closed")
"""Observation channels that only a robot with a hand has."""
