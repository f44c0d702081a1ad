"""Turns sightings into the slots that the ground truth gives: the things on the table, and the one in the hand.

The first image shows all things, because the arm starts behind them. From then on things rest until one of them is
seen elsewhere for some images. A thing in the closed hand moves with the tool, whatever the images show.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from robocontrast_ros.domain import Pose
from robocontrast_ros.domain.geometry import Vector3
from robocontrast_ros.policies.protocol import Observation
from robocontrast_ros.policies.tabletop_bc.cameras import FRONT, TOP
from robocontrast_ros.policies.tabletop_bc.grounding import Things
from robocontrast_ros.policies.tabletop_bc.sight import Kinds, Sight, Thing

SLOTS = 17
"""Most things of a scene: the largest set of the paper, 16 distractors and the target."""

MOVED = 0.02
"""A thing that is seen farther from its place than this may have been moved [m]."""

AGREE = 0.01
"""Two sightings of a thing agree if they are nearer to each other than this [m]."""

PERSISTS = 3
"""A thing has moved after so many sightings away from its place, one after the other, that agree."""

CERTAIN = 0.5
"""Least probability of the model in a sighting that counts."""

WRIST, SHOULDER = 0.35, (0.03, 0.0, 0.6)
"""Parts that hide things: height of the wrist above a tool that points down, and start of the upper arm [m]."""

ARM = 0.13
"""Half of the width that hand and arm hide on the table [m]."""

SETTLED = 0.001
"""The fingers have closed when they moved less than this since the last step [m]."""

EMPTY = 0.003
"""Fingers closer than this hold nothing [m]."""

GRASPED = 0.02
"""Greatest distance between the tool and the box around a thing that is grasped [m]."""

SLIPPED = 0.004
"""Fingers that close by more than this have lost their thing [m]."""

EVERY = 3
"""Control steps between two images that are looked at."""


@dataclass
class _Held:
    """The thing in the hand.

    Attributes:
        slot: its slot.
        offset: from the tool, x and y along the tool's own x axis and to its left, z up [m], and yaw [rad].
        width: distance between the finger tips when they had closed [m].
    """

    slot: int
    offset: tuple[float, float, float, float]
    width: float


class Tracker:
    """The poses of things, from their sightings; made anew for each trial.

    Attributes:
        models: index of each thing's model, -1 for none, shape (SLOTS,).
        poses: x, y, z [m] and yaw [rad] of each, shape (SLOTS, 4).
    """

    def __init__(self, kinds: Kinds, seen: Sequence[Thing]) -> None:
        """Take the things of the first image; the surest if there are more than SLOTS."""
        surest = sorted(seen, key=lambda thing: -thing.sure)[:SLOTS]
        self._kinds = kinds
        self.models = np.full(SLOTS, -1)
        self.poses = np.zeros((SLOTS, 4))
        for slot, thing in enumerate(thing for thing in seen if thing in surest):
            self.models[slot] = thing.model
            self.poses[slot] = thing.x, thing.y, 0.0, thing.yaw
        self._elsewhere: dict[int, tuple[float, float, int]] = {}
        self._held: _Held | None = None
        self._width = math.inf

    @property
    def held(self) -> int:
        """Slot of the thing in the hand; -1 without one."""
        return -1 if self._held is None else self._held.slot

    def hand(self, tool: Pose, width: float, closed: bool) -> None:
        """Update with the hand.

        Args:
            tool: its pose, pointing down.
            width: distance between the finger tips [m].
            closed: whether the last command was to close.
        """
        if self._held is not None and (not closed or width < max(self._held.width - SLIPPED, EMPTY)):
            self._held = None
        if self._held is None and closed and width >= EMPTY and abs(width - self._width) < SETTLED:
            self._grasp(tool, width)
        self._width = width
        if self._held is not None:
            x, y, z, yaw = self._held.offset
            c, s = math.cos(tool.yaw), math.sin(tool.yaw)
            ahead, left, up = tool.position
            turned = math.remainder(tool.yaw + yaw, math.tau)
            self.poses[self._held.slot] = ahead + c * x - s * y, left + s * x + c * y, up + z, turned

    def look(self, seen: Sequence[Thing], tool: Pose) -> None:
        """Update with the things in an image.

        Args:
            seen: the things; those that hand or arm may hide in part are ignored.
            tool: its pose, pointing down.
        """
        for thing in seen:
            slots = np.flatnonzero(self.models == thing.model)
            if not len(slots) or slots[0] == self.held or thing.likely < CERTAIN:
                continue
            slot = int(slots[0])
            reach = math.hypot(*self._kinds.sizes[thing.model][:2]) / 2
            if min(_from_arm(place, tool) for place in (self._shown(slot), (thing.x, thing.y))) < reach:
                continue
            if math.dist(self._shown(slot), (thing.x, thing.y)) < MOVED:
                self._elsewhere.pop(slot, None)
                continue
            x, y, times = self._elsewhere.get(slot, (thing.x, thing.y, 0))
            times = times + 1 if math.dist((x, y), (thing.x, thing.y)) < AGREE else 1
            self._elsewhere[slot] = thing.x, thing.y, times
            if times >= PERSISTS:
                del self._elsewhere[slot]
                self.poses[slot] = thing.x, thing.y, 0.0, thing.yaw

    def _shown(self, slot: int) -> tuple[float, float]:
        """Return the point of the table at which ``TOP`` shows the lowest point of a thing [m]."""
        return _shadow(tuple(self.poses[slot, :3].tolist()))

    def _grasp(self, tool: Pose, width: float) -> None:
        """Take the thing between the fingers, if there is one, as held."""
        off = [self._distance(slot, tool) if model >= 0 else math.inf for slot, model in enumerate(self.models)]
        slot = int(np.argmin(off))
        if off[slot] > GRASPED:
            return
        x, y, z, yaw = self.poses[slot].tolist()
        c, s = math.cos(tool.yaw), math.sin(tool.yaw)
        ahead, left = x - tool.position[0], y - tool.position[1]
        offset = (c * ahead + s * left, c * left - s * ahead, z - tool.position[2], yaw - tool.yaw)
        self._held = _Held(slot, offset, width)

    def _distance(self, slot: int, tool: Pose) -> float:
        """Return the distance of the tool from the box around a thing [m]."""
        x, y, z, yaw = self.poses[slot].tolist()
        across, along, high = self._kinds.sizes[self.models[slot]]
        c, s = math.cos(yaw), math.sin(yaw)
        ahead, left, up = tool.position[0] - x, tool.position[1] - y, tool.position[2] - z
        beside = abs(c * ahead + s * left) - across / 2, abs(c * left - s * ahead) - along / 2, up - high, -up
        return math.hypot(max(beside[0], 0.0), max(beside[1], 0.0), max(beside[2], beside[3], 0.0))


def _shadow(point: Vector3) -> tuple[float, float]:
    """Return the point of the table that is behind another one for ``TOP`` [m]."""
    x, y, z = point
    share = TOP.position[2] / (TOP.position[2] - z)
    return TOP.position[0] + share * (x - TOP.position[0]), TOP.position[1] + share * (y - TOP.position[1])


def _from_arm(place: tuple[float, float], tool: Pose) -> float:
    """Return the distance of a point of the table from the part that hand and arm hide [m]; negative inside."""
    x, y, z = tool.position
    corners = [_shadow(point) for point in (tool.position, (x, y, z + WRIST), SHOULDER)]
    return min(_distance_to(place, *ends) for ends in itertools.pairwise(corners)) - ARM


def _distance_to(point: tuple[float, float], start: tuple[float, float], end: tuple[float, float]) -> float:
    """Return the distance of a point from a straight line between two others."""
    along, across = end[0] - start[0], end[1] - start[1]
    length = along * along + across * across
    share = ((point[0] - start[0]) * along + (point[1] - start[1]) * across) / length if length > 0.0 else 0.0
    share = min(max(share, 0.0), 1.0)
    return math.hypot(point[0] - start[0] - share * along, point[1] - start[1] - share * across)


class Watcher:
    """Sees the things of a trial in its images; made anew for each trial."""

    def __init__(self, sight: Sight, every: int = EVERY) -> None:
        """Take the network, in evaluation mode, and the control steps from look to look."""
        self._sight, self._every = sight, every
        self._tracker: Tracker | None = None
        self._steps = 0

    def update(self, observation: Observation, closed: bool) -> Things:
        """Return the things after another control step, a batch of one, always in the same slots.

        Args:
            observation: with images of ``top`` and ``front``.
            closed: whether the hand's last command was to close.

        Raises:
            ValueError: an image or the gripper's width is missing, or an image has another size than in training.
        """
        images, tool, width = observation.images, observation.tool_pose, observation.gripper_width
        if width is None:
            raise ValueError("the observation has no gripper width; a robot with a hand is needed")
        windows = []
        for view in (TOP, FRONT):
            if view.name not in images:
                raise ValueError(f"no image of camera '{view.name}'; there are: {', '.join(sorted(images)) or 'none'}")
            windows.append(view.cut(images[view.name]))
        if self._tracker is None:
            self._tracker = Tracker(self._sight.kinds, self._sight.find(*windows))
        elif self._steps % self._every == 0:
            self._tracker.look(self._sight.find(*windows), tool)
        self._steps += 1
        self._tracker.hand(tool, width, closed)
        # Copies, because an answer that is kept must not change with the next.
        return Things(torch.tensor(self._tracker.models[None]), torch.tensor(self._tracker.poses[None]))
