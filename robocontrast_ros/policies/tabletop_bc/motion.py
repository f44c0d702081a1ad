"""The network that moves the hand: it chooses the grasp, the target's place, the phase and the next displacement.

Each is expressed in a frame in which it looks alike at all places: grasps in the target's frame, places in the
reference's, a displacement in a frame whose axis points to the goal of the hand. Choices between ways that are equally
good, such as the turns of a grasp, are distributions whose peak is taken: the mean of two grasps is no grasp.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from robocontrast_ros.policies.networks import Batch, Network
from robocontrast_ros.policies.tabletop_bc.grounding import SKILLS, Things
from robocontrast_ros.policies.tabletop_bc.things import CENTRE, UNIT, Attributes, Catalogue
from robocontrast_ros.tasks.tabletop.parameters import FAMILIES

FETCH, PLACE, RETREAT = range(3)
"""Phases: to the target with an open hand; to its place with a closed one; away from there."""

RIMS, CENTRES = 24, 12
"""Directions, equally spaced in the target's frame, in which the fingers close about a rim, or around a middle."""

WAYS, TURNS = 16, 4
"""Directions around the reference, and turns of the target, in which it is put down."""

NEAR, STACK, ON = (FAMILIES.index(skill) for skill in ("move_near", "stack", "put_on"))
"""Indices of skills."""

STEP = 0.03
"""Unit of displacements [m]."""

TURN = 0.2
"""Unit of turns [rad]."""

QUARTER = math.pi / 2 + 0.1
"""The hand is turned at most so far [rad], a little more than the demonstrator's quarter turn."""


@dataclass(frozen=True)
class Situation(Batch):
    """Input of the network at n control steps, in the world frame, m and rad; the tool points down.

    Attributes:
        skill: index of the skill, shape (n,).
        target: slot of the target, shape (n,).
        reference: slot of the reference, -1 for none, shape (n,).
        things: as they are now.
        stood: pose of the target when the hand was last open, shape (n, 4).
        grasped: the tool at that time, shape (n, 4).
        tool: x, y, z, yaw, shape (n, 4).
        moved: its motion since the step before, shape (n, 4).
        commanded: the pose that displacements add up on, shape (n, 4).
        width: distance between the fingers, and its change since the step before, shape (n, 2).
        closed: the gripper's last command, 0 or 1, shape (n,).
        handled: whether the gripper has closed since the trial began, 0 or 1, shape (n,).
    """

    skill: Tensor
    target: Tensor
    reference: Tensor
    things: Things
    stood: Tensor
    grasped: Tensor
    tool: Tensor
    moved: Tensor
    commanded: Tensor
    width: Tensor
    closed: Tensor
    handled: Tensor


@dataclass(frozen=True)
class Line:
    """The vertical line on which the hand goes down, or rises, at n control steps.

    Attributes:
        place: x, y, lowest z and yaw of the tool, shape (n, 4).
        above: height of the tool on the way there, shape (n,).
    """

    place: Tensor
    above: Tensor


@dataclass(frozen=True)
class Choices:
    """The network's choices.

    Attributes:
        grasp: logits of the grasps, rims first, shape (n, RIMS + CENTRES).
        at: of each grasp: along and across the direction of closing, and up from the target, shape (n, g, 3) [m].
        way: logits of the turns and directions in which the target is put beside the reference, shape (n, TURNS, WAYS).
        far: distance of the target from the reference in each turn and direction [m], shape (n, TURNS, WAYS).
        turn: logits of the turns in which the target is put on or in the reference, shape (n, TURNS).
        into: x, y in the reference's frame, z above it, of the target's place on or in it [m], shape (n, 3).
        heights: of the tool above things while it fetches, carries and leaves [m], shape (n, 3).
    """

    grasp: Tensor
    at: Tensor
    way: Tensor
    far: Tensor
    turn: Tensor
    into: Tensor
    heights: Tensor


@dataclass(frozen=True)
class MotionSizes:
    """Numbers of units of the layers."""

    choice: int = 192
    thing: int = 64
    action: int = 256


def layers(inputs: int, hidden: int, outputs: int, count: int = 2) -> nn.Sequential:
    """Return ``count`` hidden layers and a linear one."""
    parts: list[nn.Module] = []
    for _ in range(count):
        parts += [nn.Linear(inputs, hidden), nn.GELU()]
        inputs = hidden
    return nn.Sequential(*parts, nn.Linear(inputs, outputs))


class Motion(Network):
    """The network; see the module's text."""

    PARTS: ClassVar = {"sizes": MotionSizes, "catalogue": Catalogue}

    centre: Tensor
    seen: Tensor

    def __init__(self, catalogue: Catalogue, sizes: MotionSizes) -> None:
        """Make a network with random weights for things of these models."""
        super().__init__()
        self.catalogue, self.sizes = catalogue, sizes
        self.attributes = Attributes(catalogue, kind=24, colour=0, category=0)
        code = self.attributes.size
        self.register_buffer("centre", torch.tensor(CENTRE), persistent=False)
        self.other = layers(code + 9, sizes.thing, sizes.thing, 1)
        self.beside = layers(code + 9, sizes.thing, sizes.thing, 1)
        scene = 2 * code + 2 * sizes.thing + SKILLS + 18
        self.grasp = layers(scene, sizes.choice, RIMS + CENTRES)
        # The demonstrated grasps of each type; the places of others were never learned.
        kinds = int(self.attributes.types.max()) + 1
        self.register_buffer("seen", torch.ones(kinds, RIMS + CENTRES, dtype=torch.bool))
        self.at = layers(code, sizes.choice, 3 * (RIMS + CENTRES), 1)
        self.hindered = layers(6, sizes.thing // 2, sizes.thing // 4, 1)
        self.room = layers(sizes.thing // 4 + 3, sizes.thing, 1, 1)
        self.hindered_there = layers(11, sizes.thing // 2, sizes.thing // 4, 1)
        self.room_there = layers(sizes.thing // 4 + 9, sizes.thing, 1, 1)
        self.way = layers(scene, sizes.choice, 2 * WAYS)
        self.gap = nn.Parameter(torch.tensor(0.0))
        self.turn = layers(scene, sizes.choice, TURNS)
        self.fits = layers(2 * code + SKILLS + 6, sizes.choice, 1, 1)
        self.into = layers(2 * code + SKILLS, sizes.choice, 3)
        self.high = layers(scene + sizes.thing, sizes.choice, 3, 1)
        self.tall = layers(code + 1, sizes.thing, sizes.thing, 1)
        self.leaves = layers(code * 2 + SKILLS + 12, sizes.action, 1)
        self.action = layers(SKILLS + 3 + 30, sizes.action, 5, 3)

    # -- choices ----------------------------------------------------------------------------------

    def choices(self, s: Situation) -> Choices:
        """Return the network's choices; the target counts as at its pose ``stood``."""
        n = len(s.skill)
        skill = functional.one_hot(s.skill, SKILLS).to(self.centre.dtype)
        target, reference = self._codes(s)
        there = _of_slot(s.things.poses, s.reference)
        named = (s.reference >= 0).to(skill.dtype)[:, None]
        poses = s.things.poses
        slots = torch.arange(poses.shape[1], device=poses.device)
        beside = s.things.there & (slots != s.target[:, None])
        is_reference = (slots == s.reference[:, None]).to(skill.dtype)[..., None]
        codes = self.attributes(s.things.models)
        around = self._seen_from(s.stood, poses)
        others = _pooled(self.other(torch.cat([codes, around, is_reference], -1)), beside)
        heading = way_heading(s.stood, there)
        seen = self._seen_from(torch.cat([there[:, :3], heading[:, None]], -1), poses)
        beside_there = _pooled(self.beside(torch.cat([codes, seen, is_reference], -1)), beside)
        tall = _pooled(self.tall(torch.cat([codes, poses[..., 2:3] / UNIT], -1)), beside)
        yaw, way = s.stood[:, 3], s.stood[:, :2] - there[:, :2]
        scene = torch.cat(
            [
                target,
                reference,
                others,
                beside_there,
                skill,
                named,
                (s.stood[:, :2] - self.centre) / UNIT,
                s.stood[:, 2:3] / UNIT,
                _cos_sin(yaw),
                _cos_sin(2 * yaw),
                named * way / UNIT,
                named * _cos_sin(yaw - there[:, 3]),
                named * _cos_sin(2 * (yaw - heading)),
                named * _cos_sin(2 * (there[:, 3] - heading)),
                named * there[:, 2:3] / UNIT,
                named * way.norm(dim=-1, keepdim=True) / UNIT,
            ],
            -1,
        )
        ways, far = self.way(scene).chunk(2, -1)
        # The network learns an addition to the geometry that holds for all sizes.
        sizes = self.attributes.sizes
        own, its = sizes[_of_slot(s.things.models, s.target)], sizes[self._reference(s)]
        ways_ahead = heading[:, None] + torch.arange(WAYS, dtype=yaw.dtype) * (math.tau / WAYS)
        upon = (s.skill == STACK) | (s.skill == ON)
        level = torch.where(upon, its[:, 2], torch.zeros_like(yaw))[:, None] * its.new_tensor([0.0, 0.0, 1.0])
        tops = poses[..., 2] + sizes[s.things.models][..., 2]
        tallest = torch.where(beside, tops, -1.0).amax(1).clamp_min(0.0)
        stands = s.stood[:, 2]
        over = torch.maximum(tallest, stands + own[:, 2])
        hangs = s.grasped[:, 2] - stands
        carried = hangs + torch.where(s.reference >= 0, tallest, stands)
        heights = torch.stack([over, carried, stands], -1)
        at = self.at(target).view(n, -1, 3) * UNIT
        turn = self.turn(scene) + self._fit(s, torch.cat([target, reference, skill], -1))
        gap = self.gap * UNIT
        apart = [touching(own, yaw + turn, its, there[:, 3], ways_ahead, gap) for turn in _turns(yaw)]
        far = far[:, None] * UNIT + torch.stack(apart, 1)
        away = beside & (slots != s.reference[:, None])
        near, room = s.skill == NEAR, torch.zeros_like(far)
        room[near] = self._room_around(s[near], ways_ahead[near], far.detach()[near], own[near], away[near])
        return Choices(
            self.grasp(scene) + self._room_at(s, at.detach(), beside),
            at,
            turn[:, :, None] + ways[:, None] + room,
            far,
            turn,
            self.into(torch.cat([target, reference, skill], -1)) * UNIT + level,
            self.high(torch.cat([scene, tall], -1)) * UNIT + heights,
        )

    def _room_at(self, s: Situation, at: Tensor, beside: Tensor) -> Tensor:
        """Return the summand of the grasps' logits for the room that the open hand has, shape (n, g)."""
        index = torch.arange(RIMS + CENTRES, device=at.device)
        angle = grasp_angle(index).to(at.dtype) + s.stood[:, 3:]
        x, y = turned(at[..., 0], at[..., 1], angle)
        place = torch.stack([s.stood[:, :1] + x, s.stood[:, 1:2] + y, s.stood[:, 2:3] + at[..., 2]], -1)
        found = self.hindered(torch.cat(self._beside_of(s, place, angle), -1))
        pooled = torch.where(beside[:, None, :, None], found, found.new_tensor(-1e4)).amax(2)
        pooled = pooled * beside.any(1)[:, None, None]
        yaw = within_quarter(angle + math.pi / 2)
        turns_to = torch.stack([yaw, yaw.abs(), (index < RIMS).to(at.dtype).expand_as(yaw)], -1)
        return self.room(torch.cat([pooled, turns_to], -1))[..., 0]

    def _fit(self, s: Situation, codes: Tensor) -> Tensor:
        """Return the summand of the turns' logits for the angles of target and hand to the reference, (n, TURNS)."""
        there = _of_slot(s.things.poses, s.reference)[:, 3:]
        turns = _turns(there)
        hand = _smallest(s.grasped[:, 3:] + turns)
        angles = [2 * (s.stood[:, 3:] + turns - there), 2 * (s.grasped[:, 3:] + turns - there)]
        numbers = torch.stack([f(angle) for angle in angles for f in (torch.cos, torch.sin)] + [hand, hand.abs()], -1)
        own = codes[:, None].expand(-1, TURNS, -1)
        return self.fits(torch.cat([own, numbers], -1))[..., 0]

    def _room_around(self, s: Situation, angle: Tensor, far: Tensor, own: Tensor, away: Tensor) -> Tensor:
        """Return the summand of the turns' and ways' logits for the room of target and hand, shape (n, TURNS, WAYS)."""
        there = _of_slot(s.things.poses, s.reference)[:, None, None]
        turns = _turns(far)[:, None]
        angle = angle[:, None].expand_as(far)
        x, y = far * torch.cos(angle), far * torch.sin(angle)
        place = torch.stack([there[..., 0] + x, there[..., 1] + y, torch.zeros_like(x)], -1)
        # Place and direction of closing of the hand that holds the target, seen along the way.
        spin = turns - angle
        across = 2 * (s.grasped[:, None, None, 3] + spin)
        held = (s.grasped - s.stood)[:, None, None, :2] / UNIT
        hand = torch.stack([torch.cos(across), torch.sin(across), *turned(held[..., 0], held[..., 1], spin)], -1)
        reach = _radius(own, (-s.stood[:, None, None, 3] - spin).flatten(1)).unflatten(1, (TURNS, WAYS)) / UNIT
        hand = torch.cat([hand, reach[..., None]], -1).flatten(1, 2)
        beside = self._beside_of(s, place.flatten(1, 2), angle.flatten(1))
        parts = [*beside, hand[:, :, None].expand(*beside[0].shape[:3], hand.shape[-1])]
        found = self.hindered_there(torch.cat(parts, -1))
        pooled = torch.where(away[:, None, :, None], found, found.new_tensor(-1e4)).amax(2)
        pooled = pooled * away.any(1)[:, None, None]
        where = (place[..., :2].flatten(1, 2) - self.centre) / UNIT
        return self.room_there(torch.cat([pooled, hand, where, where.abs()], -1))[..., 0].unflatten(1, (TURNS, WAYS))

    def _beside_of(self, s: Situation, place: Tensor, angle: Tensor) -> list[Tensor]:
        """Return the layout of all things around each of k places, seen along its angle.

        Args:
            s: the situation.
            place: x, y, z [m], shape (n, k, 3).
            angle: of the axis that things are seen along [rad], shape (n, k).

        Returns:
            Positions along and across, the gaps along and across, half the length along, and the height above the
            place, each of shape (n, k, s, 1) and between -1 and 1.
        """
        poses, sizes = s.things.poses, self.attributes.sizes[s.things.models]
        x = poses[:, None, :, 0] - place[..., :1]
        y = poses[:, None, :, 1] - place[..., 1:2]
        along, across = turned(x, y, -angle[..., None])
        spin = angle[..., None] - poses[:, None, :, 3]
        half_x, half_y = sizes[:, None, :, 0] / 2, sizes[:, None, :, 1] / 2
        cos, sin = torch.cos(spin), torch.sin(spin)
        reach_along = torch.sqrt((half_x * cos) ** 2 + (half_y * sin) ** 2)
        reach_across = torch.sqrt((half_x * sin) ** 2 + (half_y * cos) ** 2)
        above = poses[:, None, :, 2] + sizes[:, None, :, 2] - place[..., 2:3]
        values = (
            along,
            across,
            along.abs() - reach_along,
            across.abs() - reach_across,
            reach_along,
            above.expand_as(along),
        )
        # Things far away are all the same.
        return [torch.tanh(value / UNIT)[..., None] for value in values]

    def _codes(self, s: Situation) -> tuple[Tensor, Tensor]:
        return self.attributes(_of_slot(s.things.models, s.target)), self.attributes(self._reference(s))

    def _reference(self, s: Situation) -> Tensor:
        """Return the model of the reference, -1 for none, shape (n,)."""
        missing = torch.full_like(s.reference, -1)
        return torch.where(s.reference >= 0, _of_slot(s.things.models, s.reference), missing)

    def _seen_from(self, pose: Tensor, poses: Tensor) -> Tensor:
        """Return things' poses relative to a pose: along and across, up, distances, relative yaw; shape (n, s, 8)."""
        shift = (poses[..., :2] - pose[:, None, :2]) / UNIT
        x, y = turned(shift[..., 0], shift[..., 1], -pose[:, None, 3])
        distance = shift.norm(dim=-1)
        up = (poses[..., 2] - pose[:, None, 2]) / UNIT
        spin = poses[..., 3] - pose[:, None, 3]
        near = torch.exp(-distance)
        return torch.stack([x, y, up, distance, near * x, near * y, torch.cos(2 * spin), torch.sin(2 * spin)], -1)

    # -- goals of the hand ------------------------------------------------------------------------

    def grasp_line(self, s: Situation, choices: Choices, index: Tensor | None = None) -> Line:
        """Return the line of a grasp; without an index, of the likeliest that was demonstrated for the type."""
        if index is None:
            types = self.attributes.types[_of_slot(s.things.models, s.target)]
            index = choices.grasp.masked_fill(~self.seen[types], -1e4).argmax(-1)
        along, across, up = _of_slot(choices.at, index).unbind(-1)
        angle = grasp_angle(index).to(s.stood.dtype) + s.stood[:, 3]
        x, y = turned(along, across, angle)
        # A tool that points down has its y axis, along which it closes, a quarter turn before its x axis.
        yaw = within_quarter(angle + math.pi / 2)
        place = torch.stack([s.stood[:, 0] + x, s.stood[:, 1] + y, s.stood[:, 2] + up, yaw], -1)
        return Line(place, choices.heights[:, 0])

    def target_place(self, s: Situation, choices: Choices) -> Tensor:
        """Return the pose that the target shall have: x, y, z, yaw, shape (n, 4)."""
        there = _of_slot(s.things.poses, s.reference)
        x, y, z = choices.into.unbind(-1)
        x, y = turned(x, y, there[:, 3])
        inside = torch.stack([there[:, 0] + x, there[:, 1] + y, there[:, 2] + z], -1)
        turns = _turns(z)
        # A hand that holds something cannot exchange its fingers: it turns to within a quarter turn of 0.
        turned_hand = _smallest(s.grasped[:, 3:] + turns).abs()
        possible = turned_hand <= torch.maximum(turned_hand.amin(-1, keepdim=True), z.new_tensor(QUARTER)[None, None])
        both = choices.way.masked_fill(~possible[:, :, None], -1e4).flatten(1).argmax(-1)
        near, way = s.skill == NEAR, both % WAYS
        turn = torch.where(near, both // WAYS, choices.turn.masked_fill(~possible, -1e4).argmax(-1))
        far = choices.far[torch.arange(len(way)), turn, way]
        angle = way_heading(s.stood, there) + way.to(far.dtype) * (math.tau / WAYS)
        beside = torch.stack(
            [there[:, 0] + far * torch.cos(angle), there[:, 1] + far * torch.sin(angle), there[:, 2] + z], -1
        )
        yaw = s.stood[:, 3] + turns[turn]
        return torch.cat([torch.where(near[:, None], beside, inside), yaw[:, None]], -1)

    def line(self, s: Situation, choices: Choices, phase: Tensor) -> Line:
        """Return the line that the hand goes to in a phase, shape (n,)."""
        fetch = self.grasp_line(s, choices)
        now = _of_slot(s.things.poses, s.target)
        end = self.target_place(s, choices)
        carried = carried_line(s.tool, now, end)
        fetch_height, carry_height, leave_height = choices.heights.unbind(-1)
        here = s.commanded
        rises = torch.stack([here[:, 0], here[:, 1], carry_height, here[:, 3]], -1)
        leaves = torch.stack([here[:, 0], here[:, 1], leave_height, here[:, 3]], -1)
        place = torch.where((s.reference >= 0)[:, None], carried, rises)
        which = phase[:, None]
        return Line(
            torch.where(which == FETCH, fetch.place, torch.where(which == PLACE, place, leaves)),
            torch.where(phase == FETCH, fetch_height, torch.where(phase == PLACE, carry_height, leave_height)),
        )

    # -- phases and actions -----------------------------------------------------------------------

    def at_place(self, s: Situation) -> Tensor:
        """Return the logit that the target is at its place, so that an open hand leaves it; shape (n,)."""
        # It depends on the target's pose relative to the reference, and must not depend on the hand's place.
        target, reference = self._codes(s)
        skill = functional.one_hot(s.skill, SKILLS).to(self.centre.dtype)
        sizes = self.attributes.sizes
        own, its = sizes[_of_slot(s.things.models, s.target)], sizes[self._reference(s)]
        now, there = _of_slot(s.things.poses, s.target), _of_slot(s.things.poses, s.reference)
        apart = now[:, :3] - there[:, :3]
        x, y = turned(apart[:, 0], apart[:, 1], -there[:, 3])
        far, heading = apart[:, :2].norm(dim=-1), way_heading(now, there)
        gap = gap_between(own, now[:, 3], its, there[:, 3], far, heading)
        spin = 2 * (now[:, 3] - there[:, 3])
        numbers = torch.stack(
            [
                x / UNIT,
                y / UNIT,
                far / UNIT,
                torch.tanh(far / 0.02),
                torch.tanh(gap / 0.05),
                torch.tanh(gap / 0.015),
                apart[:, 2] / UNIT,
                torch.tanh(apart[:, 2] / 0.01),
                torch.tanh((apart[:, 2] - its[:, 2]) / 0.01),
                torch.tanh((apart[:, 2] - its[:, 2]) / 0.05),
                torch.cos(spin),
                torch.sin(spin),
            ],
            -1,
        )
        return self.leaves(torch.cat([target, reference, skill, numbers], -1))[:, 0]

    def phase(self, s: Situation) -> Tensor:
        """Return the phase, shape (n,)."""
        leaves = (self.at_place(s) > 0) & (s.handled > 0.5)
        phase = torch.where(leaves & (s.reference >= 0), RETREAT, FETCH)
        return torch.where(s.closed > 0.5, PLACE, phase)

    def act(self, s: Situation, line: Line, phase: Tensor) -> Tensor:
        """Return dx, dy, dz [m], the turn about z [rad] and the gripper's logit, shape (n, 5), in a phase (n,)."""
        skill = functional.one_hot(s.skill, SKILLS).to(self.centre.dtype)
        doing = functional.one_hot(phase, 3).to(skill.dtype)
        way = line.place[:, :2] - s.commanded[:, :2]
        heading = torch.atan2(way[:, 1], way[:, 0])
        lag = s.commanded - s.tool
        lag_x, lag_y = turned(lag[:, 0], lag[:, 1], -heading)
        left = line.place[:, :2] - s.tool[:, :2]
        x, y = turned(left[:, 0], left[:, 1], -heading)
        far, aside = way.norm(dim=-1), left.norm(dim=-1)
        turn = _smallest(line.place[:, 3] - s.commanded[:, 3])
        turn_left = _smallest(line.place[:, 3] - s.tool[:, 3])
        low, low_tool = line.place[:, 2] - s.commanded[:, 2], line.place[:, 2] - s.tool[:, 2]
        high = line.above - s.commanded[:, 2]
        # The slip of the held target since it was grasped.
        slip = s.tool - carried_line(s.grasped, s.stood, _of_slot(s.things.poses, s.target))
        held = s.closed * torch.tanh(slip[:, :3].norm(dim=-1) / 0.03)
        numbers = torch.stack(
            [
                far / UNIT,
                torch.tanh(far / STEP),
                torch.tanh(far / 0.006),
                torch.tanh(aside / STEP),
                torch.tanh(aside / 0.006),
                x / STEP,
                y / STEP,
                lag_x / STEP,
                lag_y / STEP,
                lag[:, 2] / STEP,
                low / UNIT,
                torch.tanh(low / STEP),
                torch.tanh(low_tool / 0.006),
                torch.tanh(low_tool / STEP),
                high / UNIT,
                torch.tanh(high / STEP),
                turn,
                torch.tanh(turn / TURN),
                torch.tanh(turn_left / 0.1),
                s.closed,
                20 * s.width[:, 0],
                torch.tanh(500 * s.width[:, 1]),
                held,
                s.closed * slip[:, :3].norm(dim=-1) / UNIT,
                s.moved[:, 2] / STEP,
                torch.tanh(s.moved[:, 2] / 0.003),
                s.moved[:, :2].norm(dim=-1) / STEP,
                s.moved[:, 3] / TURN,
                # A tool that rests before its goal has met something.
                torch.tanh(s.moved[:, :3].norm(dim=-1) / 0.0015),
                torch.tanh((line.place[:, :3] - s.tool[:, :3]).norm(dim=-1) / 0.02),
            ],
            -1,
        )
        along, across, up, rotation, gripper = self.action(torch.cat([skill, doing, numbers], -1)).unbind(-1)
        dx, dy = turned(STEP * along, STEP * across, heading)
        return torch.stack([dx, dy, STEP * up, TURN * rotation, gripper], -1)

    def forward(self, s: Situation) -> Tensor:
        """Return the next action, see ``act``."""
        phase = self.phase(s)
        return self.act(s, self.line(s, self.choices(s), phase), phase)


def grasp_angle(index: Tensor) -> Tensor:
    """Return the direction of closing of a grasp, in the target's frame [rad]; of a rim's grasp, towards the rim."""
    index = index.double()
    return torch.where(index < RIMS, index * (math.tau / RIMS), (index - RIMS) * (math.pi / CENTRES))


def way_heading(stood: Tensor, there: Tensor) -> Tensor:
    """Return the direction from the reference to the target's pose ``stood`` [rad]."""
    return torch.atan2(stood[:, 1] - there[:, 1], stood[:, 0] - there[:, 0])


def carried_line(tool: Tensor, now: Tensor, end: Tensor) -> Tensor:
    """Return the tool's pose after the target that it holds has gone from a pose to another, shape (n, 4)."""
    turn = end[:, 3] - now[:, 3]
    x, y = turned(tool[:, 0] - now[:, 0], tool[:, 1] - now[:, 1], turn)
    z = tool[:, 2] - now[:, 2]
    return torch.stack([end[:, 0] + x, end[:, 1] + y, end[:, 2] + z, within_quarter(tool[:, 3] + turn)], -1)


def turned(x: Tensor, y: Tensor, angle: Tensor) -> tuple[Tensor, Tensor]:
    """Return vectors turned by an angle [rad]."""
    cos, sin = torch.cos(angle), torch.sin(angle)
    return cos * x - sin * y, sin * x + cos * y


def within_quarter(yaw: Tensor) -> Tensor:
    """Return a yaw within a quarter turn of 0, with the fingers exchanged if that is needed."""
    return torch.remainder(yaw + math.pi / 2, math.pi) - math.pi / 2


def _radius(size: Tensor, angle: Tensor) -> Tensor:
    """Return the reach of ellipses of a size, shape (n, 3), in directions of their frames, shape (n, k)."""
    half = size[:, None, :2] / 2
    return torch.sqrt((half[..., 0] * torch.cos(angle)) ** 2 + (half[..., 1] * torch.sin(angle)) ** 2)


def _sides(own: Tensor, yaw: Tensor, its: Tensor, its_yaw: Tensor) -> tuple[Tensor, Tensor]:
    """Return the directions of the sides of two boxes, shape (n, 4), and the sum of their reaches in each [m].

    Args:
        own: sizes of the first one, shape (n, 3).
        yaw: yaw of the first one, shape (n,).
        its: sizes of the second one.
        its_yaw: yaw of the second one.
    """
    sides = torch.stack([yaw, yaw + math.pi / 2, its_yaw, its_yaw + math.pi / 2], -1)
    reach = torch.zeros_like(sides)
    for size, turn in ((own, yaw), (its, its_yaw)):
        angle = sides - turn[:, None]
        reach = reach + (size[:, :1] * torch.cos(angle).abs() + size[:, 1:2] * torch.sin(angle).abs()) / 2
    return sides, reach


def touching(own: Tensor, yaw: Tensor, its: Tensor, its_yaw: Tensor, angle: Tensor, gap: Tensor) -> Tensor:
    """Return the distance of two boxes in directions, shape (n, k), at which they leave a gap between their sides [m].

    Boxes that do not overlap are apart along a side of one of them (separating axes); see ``_sides`` for the arguments.
    """
    sides, reach = _sides(own, yaw, its, its_yaw)
    across = torch.cos(angle[:, :, None] - sides[:, None]).abs().clamp_min(1e-9)
    return ((reach[:, None] + gap) / across).amin(-1)


def gap_between(own: Tensor, yaw: Tensor, its: Tensor, its_yaw: Tensor, far: Tensor, angle: Tensor) -> Tensor:
    """Return the gap between the sides of two boxes at a distance in a direction [m], shape (n,); below 0: overlap.

    It is the gap of ``touching``; see ``_sides`` for the arguments.
    """
    sides, reach = _sides(own, yaw, its, its_yaw)
    return (far[:, None] * torch.cos(angle[:, None] - sides).abs() - reach).amax(-1)


def _turns(like: Tensor) -> Tensor:
    """Return the turns of a target [rad], shape (TURNS,), in the precision of another tensor."""
    return torch.arange(TURNS, dtype=like.dtype, device=like.device) * (math.tau / TURNS)


def _smallest(angle: Tensor) -> Tensor:
    return torch.remainder(angle + math.pi, math.tau) - math.pi


def _cos_sin(angle: Tensor) -> Tensor:
    return torch.stack([torch.cos(angle), torch.sin(angle)], -1)


def _of_slot(values: Tensor, slot: Tensor) -> Tensor:
    """Return the values of one slot each, shape (n, ...); of slot -1 those of the last one, to be masked."""
    return values[torch.arange(len(slot), device=slot.device), slot]


def _pooled(values: Tensor, there: Tensor) -> Tensor:
    """Return the greatest value of each unit over the slots that are there, 0 without any."""
    return torch.where(there[..., None], values, values.new_tensor(-1e4)).amax(1) * there.any(1, keepdim=True)
