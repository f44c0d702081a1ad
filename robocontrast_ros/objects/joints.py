"""Joints of articulated objects: from the position of a joint to the pose of its part, and back.

In a scene a moving part is an object of its own, with the name ``OBJECT/PART``. So its pose carries the joint's
position through messages, bags and ``simulation_interfaces``, which have no joints of objects.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from robocontrast_ros.domain import Pose, Scene, whole_of
from robocontrast_ros.domain.geometry import Vector3
from robocontrast_ros.objects.frames import about, compose, inverse, multiply, rotate

BETWEEN = "ajar"
"""State of a joint between its named states."""


@dataclass(frozen=True)
class JointState:
    """Positions of a joint that have a name.

    Attributes:
        name: a word such as ``open``.
        least: least position [m, or rad]; minus infinity without a bound.
        greatest: greatest position [m, or rad]; infinity without a bound.
    """

    name: str
    least: float = -math.inf
    greatest: float = math.inf


@dataclass(frozen=True)
class Joint:
    """A slide or a hinge between an object and one of its parts.

    Attributes:
        type: ``slide`` or ``hinge``.
        axis: unit vector of its motion, or of its axis, in the object's frame.
        home: pose of the part at position 0, in the object's frame.
        through: point of a hinge's axis, in the object's frame [m].
        range: least and greatest position [m, or rad].
        states: its named states.
    """

    type: Literal["slide", "hinge"]
    axis: Vector3
    home: Pose
    through: Vector3
    range: tuple[float, float]
    states: tuple[JointState, ...] = ()

    def pose(self, position: float) -> Pose:
        """Return the pose of the part at a position [m, or rad], in the object's frame."""
        if self.type == "slide":
            x, y, z = (at + position * along for at, along in zip(self.home.position, self.axis, strict=True))
            return Pose((x, y, z), self.home.orientation)
        turn = about(self.axis, position)
        arm = rotate(turn, _minus(self.home.position, self.through))
        x, y, z = (at + off for at, off in zip(self.through, arm, strict=True))
        return Pose((x, y, z), multiply(turn, self.home.orientation))

    def position(self, pose: Pose) -> float:
        """Return the position [m, or rad] of the joint within its range, nearest to a pose in the object's frame."""
        low, high = self.range
        return min(max(self._along(pose), low), high)

    def _along(self, pose: Pose) -> float:
        if self.type == "slide":
            return sum(a * b for a, b in zip(self.axis, _minus(pose.position, self.home.position), strict=True))
        x, y, z, w = self.home.orientation
        qx, qy, qz, qw = multiply(pose.orientation, (-x, -y, -z, w))
        angle = 2.0 * math.atan2(sum(a * b for a, b in zip(self.axis, (qx, qy, qz), strict=True)), qw)
        # Of the angles that are the same turn, the one nearest to the middle of the range.
        middle = sum(self.range) / 2
        return middle + math.remainder(angle - middle, math.tau)

    def state(self, position: float) -> str:
        """Return the name of the state at a position [m, or rad]: the first that holds it, else ``ajar``."""
        return next((s.name for s in self.states if s.least <= position <= s.greatest), BETWEEN)

    def has(self, state: str, position: float) -> bool:
        """Return whether a position [m, or rad] is in a named state; False if the joint has no such state."""
        return any(s.name == state and s.least <= position <= s.greatest for s in self.states)


def part_pose(whole: Pose, joint: Joint, position: float) -> Pose:
    """Return the pose of a part whose joint is at a position [m, or rad], in the frame of ``whole``'s pose."""
    return compose(whole, joint.pose(position))


def position_in(scene: Scene, name: str, joint: Joint) -> float:
    """Return the position of the joint of a part in a scene [m, or rad].

    Raises:
        KeyError: the scene lacks the part or its object.
    """
    return joint.position(compose(inverse(scene[whole_of(name)].pose), scene[name].pose))


def _minus(a: Vector3, b: Vector3) -> Vector3:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]
