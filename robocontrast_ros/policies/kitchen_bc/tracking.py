"""Turns sightings into the things that the ground truth gives: what stands there, and what moves with the hand.

The first image shows all things, because the arm starts behind them. From then on a thing in the closed hand moves with
the tool, a part whose handle is in it moves along its joint, and all others stay where they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from robocontrast_ros.domain import PART, Pose
from robocontrast_ros.objects.frames import compose, inverse, rotate
from robocontrast_ros.objects.joints import Joint, part_pose
from robocontrast_ros.policies.kitchen_bc.cameras import AGENT
from robocontrast_ros.policies.kitchen_bc.sight import KitchenKinds, KitchenSight, Seen
from robocontrast_ros.policies.kitchen_bc.things import Catalogue, Things
from robocontrast_ros.policies.protocol import Observation
from robocontrast_ros.policies.tabletop_bc.tracking import EMPTY, GRASPED, SETTLED, SLIPPED

HANDLE = 0.03
"""Greatest distance between the tool and a handle that it holds [m]."""

AXIAL = 0.03
"""A handle that is nearer to its hinge than this turns with the tool, others go round with it [m]."""


@dataclass
class _Slot:
    """A thing, a fixture or a part; ``whole`` is the slot of what it is a part of."""

    model: str
    pose: Pose
    joint: Joint | None = None
    whole: int = -1
    position: float = 0.0


@dataclass(frozen=True)
class _Held:
    """What is in the hand.

    Attributes:
        slot: its slot.
        width: distance between the finger tips when they had closed [m].
        tool: its pose then.
        pose: that of the thing.
        position: of the part's joint [m, or rad].
    """

    slot: int
    width: float
    tool: Pose
    pose: Pose
    position: float


class Tracker:
    """The things of a trial, from their sightings; made anew for each trial."""

    def __init__(self, catalogue: Catalogue, kinds: KitchenKinds, seen: Sequence[Seen]) -> None:
        """Take the models and the things of the first image."""
        self._catalogue = catalogue
        self._slots: list[_Slot] = []
        for thing in seen:
            model, whole = kinds.names[thing.model], len(self._slots)
            pose = Pose.planar(thing.x, thing.y, thing.yaw)
            self._slots.append(_Slot(model, pose))
            for (name, *_), position in zip(kinds.parts[thing.model], thing.joints, strict=True):
                part = f"{model}{PART}{name}"
                joint = catalogue.joint(part)
                self._slots.append(_Slot(part, part_pose(pose, joint, position), joint, whole, position))
        self._held: _Held | None = None
        self._width = math.inf

    @property
    def held(self) -> int:
        """Slot of what is in the hand; -1 without anything."""
        return -1 if self._held is None else self._held.slot

    def things(self) -> Things:
        """Return all things as they are now, a batch of one; a missing one if there are none."""
        slots = self._slots or [_Slot("", Pose())]
        models = [self._catalogue.index.get(slot.model, -1) for slot in slots]
        poses = [(*slot.pose.position, *slot.pose.orientation) for slot in slots]
        joints = [slot.position for slot in slots]
        return Things(
            torch.tensor([models]),
            torch.tensor([poses], dtype=torch.float64),
            torch.tensor([joints], dtype=torch.float64),
        )

    def hand(self, tool: Pose, width: float, closed: bool) -> None:
        """Update with the hand.

        Args:
            tool: its pose.
            width: distance between the finger tips [m].
            closed: whether the last command was to close.
        """
        if self._held is not None and (not closed or width < max(self._held.width - SLIPPED, EMPTY)):
            self._held = None
        if self._held is None and closed and width >= EMPTY and abs(width - self._width) < SETTLED:
            self._held = self._grasped(tool, width)
        self._width = width
        if self._held is None:
            return
        held, slot = self._held, self._slots[self._held.slot]
        if slot.joint is None:
            slot.pose = compose(tool, compose(inverse(held.tool), held.pose))
            return
        whole = self._slots[slot.whole].pose
        slot.position = _followed(slot.joint, held.position, *(compose(inverse(whole), at) for at in (held.tool, tool)))
        slot.pose = part_pose(whole, slot.joint, slot.position)

    def _grasped(self, tool: Pose, width: float) -> _Held | None:
        """Return what is between the fingers."""
        near: list[tuple[float, float, int]] = []
        for index, slot in enumerate(self._slots):
            middle = tool.distance_to(slot.pose)
            if slot.joint is not None:
                if middle <= HANDLE:
                    near.append((middle, middle, index))
            elif not self._catalogue.fixed[self._catalogue.index[slot.model]]:
                beside = _beside(tool, slot.pose, self._catalogue.sizes[self._catalogue.index[slot.model]])
                if beside <= GRASPED:
                    near.append((beside, middle, index))
        if not near:
            return None
        index = min(near)[2]
        return _Held(index, width, tool, self._slots[index].pose, self._slots[index].position)


def _beside(tool: Pose, pose: Pose, size: Sequence[float]) -> float:
    """Return the distance of the tool from the box around a thing [m]."""
    x, y, z = compose(inverse(pose), tool).position
    off = abs(x) - size[0] / 2, abs(y) - size[1] / 2, max(z - size[2], -z)
    return math.hypot(*(max(part, 0.0) for part in off))


def _followed(joint: Joint, position: float, before: Pose, now: Pose) -> float:
    """Return a joint's position [m, or rad] after the tool that holds its part has moved, in its object's frame."""
    low, high = joint.range
    if joint.type == "slide":
        moved = sum(axis * (b - a) for axis, a, b in zip(joint.axis, before.position, now.position, strict=True))
    elif _radius(joint, joint.home.position) > AXIAL:
        moved = _angle(joint, _from_axis(joint, before.position), _from_axis(joint, now.position))
    else:
        # Any direction across the axis shows how the tool has turned.
        across = min(((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), key=lambda v: abs(_dot(v, joint.axis)))
        start = rotate(inverse(before).orientation, across)
        moved = _angle(joint, across, rotate(now.orientation, start))
    return min(max(position + moved, low), high)


def _from_axis(joint: Joint, point: Sequence[float]) -> tuple[float, float, float]:
    return tuple(a - b for a, b in zip(point, joint.through, strict=True))


def _radius(joint: Joint, point: Sequence[float]) -> float:
    """Return the distance of a point from a hinge's axis [m]."""
    way = _from_axis(joint, point)
    return math.sqrt(max(_dot(way, way) - _dot(way, joint.axis) ** 2, 0.0))


def _angle(joint: Joint, start: Sequence[float], end: Sequence[float]) -> float:
    """Return the angle about a hinge's axis from one direction to another [rad]."""
    ax, ay, az = joint.axis
    (sx, sy, sz), (ex, ey, ez) = start, end
    crossed = ax * (sy * ez - sz * ey) + ay * (sz * ex - sx * ez) + az * (sx * ey - sy * ex)
    return math.atan2(crossed, _dot(start, end) - _dot(start, joint.axis) * _dot(end, joint.axis))


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


class Watcher:
    """Sees the things of a trial in its first image; made anew for each trial."""

    def __init__(self, sight: KitchenSight, catalogue: Catalogue) -> None:
        """Take the network, in evaluation mode, and the models."""
        self._sight, self._catalogue = sight, catalogue
        self._tracker: Tracker | None = None

    def update(self, observation: Observation, closed: bool) -> Things:
        """Return the things after another control step, a batch of one, always in the same slots.

        Args:
            observation: with an image of ``agent``.
            closed: whether the hand's last command was to close.

        Raises:
            ValueError: the image or the gripper's width is missing, or the image has another size than in training.
        """
        images, width = observation.images, observation.gripper_width
        if width is None:
            raise ValueError("the observation has no gripper width; a robot with a hand is needed")
        if self._tracker is None:
            if AGENT.name not in images:
                raise ValueError(f"no image of camera '{AGENT.name}'; there are: {', '.join(sorted(images)) or 'none'}")
            seen = self._sight.find(AGENT.cut(images[AGENT.name]))
            self._tracker = Tracker(self._catalogue, self._sight.kinds, seen)
        self._tracker.hand(observation.tool_pose, width, closed)
        return self._tracker.things()
