"""Named channels: what a number that goes to a robot or comes from it means.

The numbers of an action are those of its action space's command channels, one after the other. What a policy reads of
the robot's state are observation channels.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Channel:
    """One quantity.

    Attributes:
        name: of the channel.
        size: how many numbers it has; None for one a joint of the arm.
        unit: of the numbers; in their order where they differ.
        frame: that they refer to; empty where they refer to none.
        meaning: in words.
    """

    name: str
    size: int | None
    unit: str
    frame: str
    meaning: str

    def numbers(self, joints: int) -> int:
        """Return how many numbers it has on a robot with that many joints."""
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
"""Those that only a robot with a hand has."""
