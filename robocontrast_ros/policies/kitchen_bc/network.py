"""The network: it understands the instruction in the first scene, then chooses the hand's goal and moves it.

All heads see all things of the scene: as tokens of an attention network that understands, and pooled where the hand is
moved. Goals are expressed in the frames of the things that the instruction is about: a grasp is one of the target's,
as its file lists them, a place is relative to the reference.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from robocontrast_ros.policies.kitchen_bc.rotations import (
    about_z,
    between,
    from_vector,
    inverse,
    multiply,
    rotated,
    smallest,
    yaw_of,
)
from robocontrast_ros.policies.kitchen_bc.things import CENTRE, UNIT, Catalogue, Codes, Things
from robocontrast_ros.policies.networks import Batch, Network
from robocontrast_ros.policies.tabletop_bc.motion import layers, turned
from robocontrast_ros.tasks.kitchen.parameters import FAMILIES

SKILLS = tuple(FAMILIES)
"""The skills, in the order of their numbers."""

JOINTS = 4
"""The first skills move a joint; the others carry a thing."""

FETCH, HOLD, LEAVE = range(3)
"""Phases: to the target with an open hand; with a closed one; away from what is done."""

PLACES = 3
"""Places of a target in, on or beside a reference among which the network chooses."""

TURNS = 4
"""Quarter turns in which a target is put down, as it stood or as the reference stands."""

STEP = 0.03
"""Unit of displacements [m]."""

TURN = 0.2
"""Unit of turns [rad]."""

QUARTER = math.pi / 2 + 0.1
"""The hand that carries is turned at most so far [rad], a little more than the demonstrator's quarter turn."""

WORDS = 384
"""Length of the embedding of an instruction."""

LEVEL = 0.5
"""Length of the horizontal part of an approach from which that is the way to the thing."""


@dataclass(frozen=True)
class Situation(Batch):
    """Input of the network at n control steps, in the world frame, m and rad.

    Poses are x, y, z and a quaternion x, y, z, w.

    Attributes:
        skill: index of the skill, shape (n,).
        target: slot of the target, shape (n,).
        reference: slot of the reference, -1 for none, shape (n,).
        things: as they are now.
        stood: pose of the target when the hand was last open, shape (n, 7).
        grasped: the tool at that time, shape (n, 7).
        tool: pose of the tool, shape (n, 7).
        moved: its motion since the step before, displacement and rotation vector, shape (n, 6).
        commanded: the pose that displacements add up on, shape (n, 7).
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

    @property
    def carries(self) -> Tensor:
        """Whether the skill carries a thing, shape (n,)."""
        return self.skill >= JOINTS


@dataclass(frozen=True)
class Understood:
    """Logits of an instruction's meaning: of skills, shape (n, k), of target and reference, shape (n, s)."""

    skill: Tensor
    target: Tensor
    reference: Tensor


@dataclass(frozen=True)
class Choices:
    """The network's choices.

    Attributes:
        grasp: logits of the target's grasps, g at most of any thing, shape (n, g).
        turn_to: turn about the vertical that is added to a grasp, for a door's bar turns in the hand [rad], shape (n,).
        place: logits of the target's places, shape (n, PLACES).
        at: of each, relative to the reference, see ``place_frame``, shape (n, PLACES, 3) [m].
        turn: logits of the turns in which the target is put at each place, shape (n, PLACES, 2 * TURNS).
        heights: of the tool above things while it fetches, carries and leaves [m], shape (n, 3).
    """

    grasp: Tensor
    turn_to: Tensor
    place: Tensor
    at: Tensor
    turn: Tensor
    heights: Tensor


@dataclass(frozen=True)
class Goal(Batch):
    """Where the hand goes at n control steps.

    Attributes:
        line: pose of the tool at the end of the phase, or at the handle, shape (n, 7).
        above: height of the tool on the way there [m], shape (n,).
    """

    line: Tensor
    above: Tensor


@dataclass(frozen=True)
class Sizes:
    """Numbers of units of the layers."""

    word: int = 64
    heads: int = 4
    blocks: int = 2
    thing: int = 64
    choice: int = 128
    action: int = 192


class Scores(nn.Module):
    """Scores options by their own numbers and by what is given, the same for all options of a step."""

    def __init__(self, given: int, own: int, hidden: int) -> None:
        """Make layers with random weights for so many numbers given, and of each option."""
        super().__init__()
        self.given, self.own = nn.Linear(given, hidden), nn.Linear(own, hidden, bias=False)
        self.out = nn.Sequential(nn.GELU(), nn.Linear(hidden, hidden), nn.GELU(), nn.Linear(hidden, 1))

    def forward(self, given: Tensor, own: Tensor) -> Tensor:
        """Return the score of each option, shape (n, ...), for numbers of shape (n, given) and (n, ..., own)."""
        first = self.given(given).view(len(given), *[1] * (own.ndim - 2), -1)
        return self.out(first + self.own(own))[..., 0]


@dataclass(frozen=True)
class Known:
    """What all heads are given of n steps.

    Attributes:
        target: code of the target, shape (n, code).
        reference: code of the reference, shape (n, code).
        skill: 1 for the skill, else 0, shape (n, skills).
        context: of all things, shape (n, thing).
    """

    target: Tensor
    reference: Tensor
    skill: Tensor
    context: Tensor

    @property
    def asked(self) -> Tensor:
        """The numbers of what is asked for, whatever else is there."""
        return torch.cat([self.target, self.reference, self.skill], -1)

    @property
    def all(self) -> Tensor:
        """All numbers."""
        return torch.cat([self.asked, self.context], -1)


class KitchenNetwork(Network):
    """The network; see the module's text."""

    PARTS: ClassVar = {"sizes": Sizes, "catalogue": Catalogue}

    centre: Tensor

    def __init__(self, catalogue: Catalogue, sizes: Sizes) -> None:
        """Make a network with random weights for things of these models."""
        super().__init__()
        self.catalogue, self.sizes = catalogue, sizes
        self.codes = Codes(catalogue, kind=20, colour=6)
        self.register_buffer("centre", torch.tensor(CENTRE), persistent=False)
        code, skills = self.codes.size, len(SKILLS)
        word = sizes.word
        self.said = nn.Linear(WORDS, word)
        self.token = layers(code + 8, word, word, 1)
        block = nn.TransformerEncoderLayer(word, sizes.heads, 2 * word, 0.0, "gelu", batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(block, sizes.blocks, nn.LayerNorm(word), enable_nested_tensor=False)
        self.means = nn.Linear(word, skills)
        self.points = nn.Linear(word, 2)
        self.scene = layers(code + 17, sizes.thing, sizes.thing, 1)
        known = 2 * code + skills + sizes.thing
        self.hindered = layers(6, sizes.thing // 2, sizes.thing // 4, 1)
        self.grasp = Scores(known, sizes.thing // 4 + 16, sizes.choice // 2)
        self.turns_to = layers(code + 3, sizes.thing, 1, 1)
        self.place = layers(known + 13, sizes.choice, PLACES)
        self.at = layers(2 * code + skills + 2 + 13, sizes.choice, 3 * PLACES, 1)
        self.turn = Scores(known + 13, 12, sizes.choice // 2)
        self.high = layers(known + 3, sizes.choice, 3, 1)
        self.done = layers(2 * code + skills + 20, sizes.choice, 1)
        self.seen = nn.Linear(sizes.thing, 16)
        self.action = layers(skills + 3 + 16 + code + 62, sizes.action, 7, 3)

    # -- words ------------------------------------------------------------------------------------

    def understand(self, words: Tensor, things: Things) -> Understood:
        """Return what instructions mean in their first scenes.

        Args:
            words: embedding of each instruction, shape (n, WORDS).
            things: of each scene.
        """
        poses = things.poses
        yaw = yaw_of(poses[..., 3:])
        numbers = [
            (poses[..., :3] - self.centre) / UNIT,
            torch.stack([torch.cos(yaw), torch.sin(yaw)], -1),
            self._joint(things),
        ]
        said = self.said(words)
        tokens = self.token(torch.cat([self.codes(things.models), *numbers], -1)) + said[:, None]
        tokens = torch.cat([said[:, None], tokens], 1)
        missing = torch.cat([torch.zeros_like(things.there[:, :1]), ~things.there], 1)
        found = self.blocks(tokens, src_key_padding_mask=missing)
        points = self.points(found[:, 1:]).masked_fill(~things.there[..., None], -1e4)
        return Understood(self.means(found[:, 0]), points[..., 0], points[..., 1])

    # -- choices ----------------------------------------------------------------------------------

    def choices(self, s: Situation, known: Known) -> Choices:
        """Return the network's choices; the target counts as at its pose ``stood``."""
        rows, given = torch.arange(len(s.skill), device=s.skill.device), known.all
        sizes, there = self.codes.sizes, self.reference_pose(s)
        named = (s.reference >= 0).to(given.dtype)[:, None]
        poses = s.things.poses
        frame = self.place_frame(s)
        shift = s.stood[:, :3] - there[:, :3]
        x, y = turned(shift[:, 0], shift[:, 1], -frame)
        hold = smallest(yaw_of(s.grasped[:, 3:]))
        held = s.grasped[:, :3] - s.stood[:, :3]
        place = torch.cat(
            [
                named * torch.stack([x, y, shift[:, 2]], -1) / UNIT,
                (s.stood[:, :3] - self.centre) / UNIT,
                named * (there[:, :3] - self.centre) / UNIT,
                _cos_sin(hold),
                held[:, :2] / UNIT,
            ],
            -1,
        )
        at = self.at(torch.cat([known.asked, named * _cos_sin(yaw_of(there[:, 3:])), place], -1))
        at = at.view(-1, PLACES, 3) * UNIT
        seen = torch.cat([given, place], -1)
        # The tops of all other things, without parts' own depth: the hand and what it carries go above them.
        slots = torch.arange(poses.shape[1], device=poses.device)
        others = s.things.there & (slots != s.target[:, None])
        tallest = torch.where(others, poses[..., 2] + sizes[s.things.models][..., 2], -1.0).amax(1).clamp_min(0.0)
        own = sizes[s.things.models[rows, s.target]][:, 2]
        stands = s.stood[:, 2]
        hangs = s.grasped[:, 2] - stands
        tall = torch.stack([tallest, own, hangs], -1)
        base = torch.stack([torch.maximum(tallest, stands + own), hangs + tallest, stands + own], -1)
        q = self._joint(s.things)[rows, s.target]
        return Choices(
            self._grasps(s, given),
            self.turns_to(torch.cat([known.target, q], -1))[:, 0],
            self.place(seen),
            at,
            self._turns(s, seen, at.detach()),
            base + self.high(torch.cat([given, tall / UNIT], -1)) * UNIT,
        )

    def known(self, s: Situation) -> Known:
        """Return what all heads are given."""
        rows = torch.arange(len(s.skill), device=s.skill.device)
        models, poses = s.things.models, s.things.poses
        codes = self.codes(models)
        slots = torch.arange(models.shape[1], device=models.device)
        is_target, is_reference = slots == s.target[:, None], slots == s.reference[:, None]
        # No reference has the code of no thing.
        reference = torch.where(s.reference >= 0, models[rows, s.reference], torch.full_like(s.reference, -1))
        yaw = yaw_of(poses[..., 3:])
        at = poses[..., :3]
        there = self.reference_pose(s)
        numbers = [
            (at - self.centre) / UNIT,
            torch.tanh((at - s.tool[:, None, :3]) / UNIT),
            torch.tanh((at - s.stood[:, None, :3]) / UNIT),
            torch.tanh((at - there[:, None, :3])[..., :2] / UNIT),
            torch.stack([torch.cos(yaw), torch.sin(yaw)], -1),
            self._joint(s.things)[..., :2],
            torch.stack([is_target, is_reference], -1).to(at.dtype),
        ]
        context = _pooled(self.scene(torch.cat([codes, *numbers], -1)), s.things.there)
        skill = functional.one_hot(s.skill, len(SKILLS)).to(at.dtype)
        return Known(codes[rows, s.target], self.codes(reference), skill, context)

    def _grasps(self, s: Situation, given: Tensor) -> Tensor:
        """Return the logits of the target's grasps, shape (n, g)."""
        rows = torch.arange(len(s.skill), device=s.skill.device)
        lines = self.grasp_poses(s)
        at, turn = lines[..., :3], lines[..., 3:]
        approach = rotated(turn, _axis(turn, 2))
        closing = rotated(turn, _axis(turn, 1))
        apart = at - s.commanded[:, None, :3]
        spin = between(s.commanded[:, None, 3:].expand_as(turn), turn)
        yaw = smallest(yaw_of(turn))
        numbers = torch.cat(
            [
                (at - self.centre) / UNIT,
                torch.tanh(apart / UNIT),
                apart.norm(dim=-1, keepdim=True) / UNIT,
                spin,
                spin.norm(dim=-1, keepdim=True),
                approach,
                torch.stack([yaw, yaw.abs()], -1),
            ],
            -1,
        )
        beside = s.things.there & (torch.arange(s.things.models.shape[1]) != s.target[:, None])
        angle = torch.atan2(closing[..., 1], closing[..., 0])
        found = self.hindered(self._beside_of(s.things, at, angle))
        pooled = torch.where(beside[:, None, :, None], found, found.new_tensor(-1e4)).amax(2)
        pooled = pooled * beside.any(1)[:, None, None]
        logits = self.grasp(given, torch.cat([pooled, numbers], -1))
        return logits.masked_fill(~self.codes.graspable[s.things.models[rows, s.target]], -1e4)

    def _beside_of(self, things: Things, at: Tensor, angle: Tensor) -> Tensor:
        """Return the layout of all things around each of k places, seen along its angle, shape (n, k, s, 6)."""
        poses, sizes = things.poses, self.codes.sizes[things.models]
        apart = poses[:, None, :, :3] - at[:, :, None]
        along, across = turned(apart[..., 0], apart[..., 1], -angle[..., None])
        spin = angle[..., None] - yaw_of(poses[..., 3:])[:, None]
        half_x, half_y = sizes[:, None, :, 0] / 2, sizes[:, None, :, 1] / 2
        cos, sin = torch.cos(spin), torch.sin(spin)
        reach_along = torch.sqrt((half_x * cos) ** 2 + (half_y * sin) ** 2)
        reach_across = torch.sqrt((half_x * sin) ** 2 + (half_y * cos) ** 2)
        above = apart[..., 2] + sizes[:, None, :, 2]
        values = [along, across, along.abs() - reach_along, across.abs() - reach_across, reach_along, above]
        # Things far away are all the same.
        return torch.tanh(torch.stack(values, -1) / UNIT)

    def _turns(self, s: Situation, seen: Tensor, at: Tensor) -> Tensor:
        """Return the logits of the turns at each place, shape (n, PLACES, 2 * TURNS); see ``turns``."""
        turns = self.turns(s)
        hold, there = yaw_of(s.grasped[:, 3:]), yaw_of(self.reference_pose(s)[:, 3:])
        tool = smallest(hold[:, None] + turns)
        own = smallest(yaw_of(s.stood[:, 3:])[:, None] + turns - there[:, None])
        held = s.grasped[:, :2] - s.stood[:, :2]
        x, y = turned(held[:, :1], held[:, 1:], turns)
        numbers = torch.stack(
            [
                tool,
                tool.abs(),
                torch.cos(own),
                torch.sin(own),
                torch.cos(2 * own),
                torch.sin(2 * own),
                x / UNIT,
                y / UNIT,
                turns.abs(),
            ],
            -1,
        )
        own = [numbers[:, None].expand(-1, PLACES, -1, -1), (at / UNIT)[:, :, None].expand(-1, -1, 2 * TURNS, -1)]
        return self.turn(seen, torch.cat(own, -1))

    # -- goals of the hand ------------------------------------------------------------------------

    def grasp_poses(self, s: Situation) -> Tensor:
        """Return the tool's pose at each of the target's grasps, shape (n, g, 7).

        What is carried counts as at ``stood``, a part on a joint as where it is.
        """
        rows = torch.arange(len(s.skill), device=s.skill.device)
        own = self.codes.grasps[s.things.models[rows, s.target]]
        stood = torch.where(s.carries[:, None], s.stood, s.things.poses[rows, s.target])
        stood = stood[:, None].expand(-1, own.shape[1], -1)
        at = stood[..., :3] + rotated(stood[..., 3:], own[..., :3])
        return torch.cat([at, multiply(stood[..., 3:], own[..., 3:])], -1)

    def place_frame(self, s: Situation) -> Tensor:
        """Return the yaw of the frame of places [rad], shape (n,): that of a fixture, else the world's."""
        there = yaw_of(self.reference_pose(s)[:, 3:])
        rows = torch.arange(len(s.skill), device=s.skill.device)
        return there * self.codes.fixed[s.things.models[rows, s.reference]]

    def turns(self, s: Situation) -> Tensor:
        """Return the turns of the target from how it stood: quarters, then those to quarters of the reference's yaw."""
        quarters = torch.arange(TURNS, dtype=s.stood.dtype, device=s.stood.device) * (math.pi / 2)
        own, there = yaw_of(s.stood[:, 3:]), yaw_of(self.reference_pose(s)[:, 3:])
        return torch.cat([quarters.expand(len(own), -1), (there - own)[:, None] + quarters], -1)

    def place_line(self, s: Situation, at: Tensor, turn: Tensor) -> Tensor:
        """Return the tool's pose that puts the target at a place, see ``Choices``, turned from how it stood, (n, 7)."""
        rows = torch.arange(len(s.skill), device=s.skill.device)
        there, now = self.reference_pose(s), s.things.poses[rows, s.target]
        x, y = turned(at[:, 0], at[:, 1], self.place_frame(s))
        end = torch.stack([there[:, 0] + x, there[:, 1] + y, there[:, 2] + at[:, 2]], -1)
        spin = smallest(yaw_of(s.stood[:, 3:]) + turn - yaw_of(now[:, 3:]))
        held = s.tool[:, :3] - now[:, :3]
        hx, hy = turned(held[:, 0], held[:, 1], spin)
        tool = end + torch.stack([hx, hy, held[:, 2]], -1)
        return torch.cat([tool, _pointing_down(yaw_of(s.tool[:, 3:]) + spin)], -1)

    def goal(self, s: Situation, choices: Choices, phase: Tensor) -> Goal:
        """Return where the hand goes in a phase, shape (n,)."""
        rows = torch.arange(len(s.skill), device=s.skill.device)
        fetch = self.grasp_poses(s)[rows, choices.grasp.argmax(-1)]
        # A door's bar turns between the fingers, so that the hand turns less than the door.
        with_bar = multiply(about_z(choices.turn_to), fetch[:, 3:])
        fetch = torch.where(s.carries[:, None], fetch, torch.cat([fetch[:, :3], with_bar], -1))
        index = choices.place.argmax(-1)
        turns = self.turns(s)
        tool = smallest(yaw_of(s.grasped[:, 3:])[:, None] + turns).abs()
        possible = tool <= torch.maximum(tool.amin(-1, keepdim=True), tool.new_tensor(QUARTER))
        best = choices.turn[rows, index].masked_fill(~possible, -1e4).argmax(-1)
        place = self.place_line(s, choices.at[rows, index], turns[rows, best])
        fetch_height, carry_height, leave_height = choices.heights.unbind(-1)
        leave = leaving(s, leave_height)
        which, carries = phase[:, None], s.carries[:, None]
        line = torch.where(carries & (which == HOLD), place, torch.where(carries & (which == LEAVE), leave, fetch))
        above = torch.where(phase == FETCH, fetch_height, torch.where(phase == HOLD, carry_height, leave_height))
        return Goal(line, torch.where(s.carries, above, fetch_height))

    # -- phases and actions -----------------------------------------------------------------------

    def is_done(self, s: Situation, known: Known) -> Tensor:
        """Return the logit that what is asked for is done, so that an open hand leaves, shape (n,)."""
        rows = torch.arange(len(s.skill), device=s.skill.device)
        now, there = s.things.poses[rows, s.target], self.reference_pose(s)
        named = (s.reference >= 0).to(now.dtype)[:, None]
        apart = named * (now[:, :3] - there[:, :3])
        x, y = turned(apart[:, 0], apart[:, 1], -self.place_frame(s))
        far = apart[:, :2].norm(dim=-1)
        numbers = torch.stack([x, y, apart[:, 2], far], -1)
        parts = [numbers / UNIT, torch.tanh(numbers / 0.02), torch.tanh((numbers - UNIT) / 0.02), numbers.abs() / UNIT]
        q = self._joint(s.things)[rows, s.target]
        return self.done(torch.cat([known.asked, *parts, q, named], -1))[:, 0]

    def phase(self, s: Situation, known: Known) -> Tensor:
        """Return the phase, shape (n,)."""
        leaves = (self.is_done(s, known) > 0) & (s.handled > 0.5)
        return torch.where(s.closed > 0.5, HOLD, torch.where(leaves, LEAVE, FETCH))

    def act(self, s: Situation, known: Known, goal: Goal, phase: Tensor) -> Tensor:
        """Return the displacement [m], the rotation vector [rad] and the gripper's logit, shape (n, 7)."""
        rows = torch.arange(len(s.skill), device=s.skill.device)
        line, commanded, tool = goal.line, s.commanded, s.tool
        doing = functional.one_hot(phase, 3).to(tool.dtype)
        heading = self._heading(commanded, line)

        def seen(vector: Tensor) -> Tensor:
            x, y = turned(vector[:, 0], vector[:, 1], -heading)
            return torch.stack([x, y, vector[:, 2]], -1)

        left, way = seen(line[:, :3] - tool[:, :3]), seen(line[:, :3] - commanded[:, :3])
        spin = seen(between(commanded[:, 3:], line[:, 3:]))
        spin_left = seen(between(tool[:, 3:], line[:, 3:]))
        moved, twisted = seen(s.moved[:, :3]), seen(s.moved[:, 3:])
        aside = torch.stack([v[:, :2].norm(dim=-1) for v in (left, way)], -1)
        height = torch.stack([goal.above - p[:, 2] for p in (tool, commanded)], -1)
        there = self.reference_pose(s)
        named = (s.reference >= 0).to(tool.dtype)[:, None]
        beyond = tool[:, :3] - there[:, :3]
        bx, by = turned(beyond[:, 0], beyond[:, 1], -self.place_frame(s))
        # How far the held target has slipped since it was grasped.
        now = s.things.poses[rows, s.target]
        held = rotated(inverse(s.grasped[:, 3:]), s.stood[:, :3] - s.grasped[:, :3])
        slip = (now[:, :3] - tool[:, :3] - rotated(tool[:, 3:], held)).norm(dim=-1)
        still = torch.stack([moved.norm(dim=-1), twisted.norm(dim=-1)], -1)
        numbers = [
            (left / UNIT).clamp(-4, 4),
            torch.tanh(left / STEP),
            torch.tanh(left / 0.006),
            (way / UNIT).clamp(-4, 4),
            torch.tanh(way / STEP),
            torch.tanh(way / 0.006),
            spin,
            torch.tanh(spin / TURN),
            spin_left,
            torch.tanh(spin_left / 0.1),
            torch.tanh(aside / STEP),
            torch.tanh(aside / 0.006),
            height / UNIT,
            torch.tanh(height / STEP),
            seen(commanded[:, :3] - tool[:, :3]) / STEP,
            moved / STEP,
            torch.tanh(moved[:, 2:] / 0.003),
            torch.tanh(still / still.new_tensor([0.0015, 0.01])),
            torch.stack([s.closed, s.handled, 20 * s.width[:, 0], torch.tanh(500 * s.width[:, 1])], -1),
            torch.stack([s.closed * torch.tanh(slip / 0.03), s.closed * slip / UNIT], -1),
            self._joint(s.things)[rows, s.target],
            named * torch.stack([bx, by, beyond[:, 2]], -1) / UNIT,
            spin.norm(dim=-1, keepdim=True),
            spin_left.norm(dim=-1, keepdim=True),
            named,
        ]
        given = [known.skill, doing, self.seen(known.context), known.target]
        answer = self.action(torch.cat([*given, *numbers], -1))
        x, y = turned(answer[:, 0], answer[:, 1], heading)
        u, v = turned(answer[:, 3], answer[:, 4], heading)
        shift = torch.stack([x, y, answer[:, 2]], -1) * STEP
        return torch.cat([shift, torch.stack([u, v, answer[:, 5]], -1) * TURN, answer[:, 6:]], -1)

    def _heading(self, commanded: Tensor, line: Tensor) -> Tensor:
        """Return the direction, seen from above, along which displacements are given: the approach, or the way."""
        approach = rotated(line[:, 3:], _axis(line[:, 3:], 2))[:, :2]
        way = line[:, :2] - commanded[:, :2]
        along = torch.where(approach.norm(dim=-1, keepdim=True) > LEVEL, approach, way)
        return torch.atan2(along[:, 1], along[:, 0])

    def _joint(self, things: Things) -> Tensor:
        """Return numbers of the joints' positions, near zero and over their ranges, shape (n, s, 3)."""
        q = things.joints
        return torch.stack([q, torch.tanh(q / 0.1), torch.tanh(q / 0.01)], -1)

    def reference_pose(self, s: Situation) -> Tensor:
        """Return the pose of the reference, that of the target if there is none, shape (n, 7)."""
        rows = torch.arange(len(s.skill), device=s.skill.device)
        return s.things.poses[rows, torch.where(s.reference >= 0, s.reference, s.target)]


def meant(found: Understood) -> tuple[Tensor, Tensor, Tensor]:
    """Return the likeliest skill, target and reference, which is another thing than the target, -1 for none."""
    skill, target = found.skill.argmax(-1), found.target.argmax(-1)
    reference = found.reference.scatter(-1, target[:, None], -torch.inf).argmax(-1)
    return skill, target, torch.where(skill < JOINTS, torch.full_like(target, -1), reference)


def leaving(s: Situation, height: Tensor) -> Tensor:
    """Return the tool's pose after it has risen to a height [m], shape (n, 7)."""
    return torch.cat([s.commanded[:, :2], height[:, None], s.commanded[:, 3:]], -1)


def executed(commanded: Tensor, action: Tensor) -> Tensor:
    """Return the commanded pose after a displacement [m] and a rotation vector [rad], shape (n, 7)."""
    turn = multiply(from_vector(action[:, 3:6]), commanded[:, 3:])
    return torch.cat([commanded[:, :3] + action[:, :3], functional.normalize(turn, dim=-1)], -1)


def _pointing_down(yaw: Tensor) -> Tensor:
    """Return the orientation of a tool that points down, with its x axis at a yaw, shape (n, 4)."""
    none = torch.zeros_like(yaw)
    return torch.stack([torch.cos(yaw / 2), torch.sin(yaw / 2), none, none], -1)


def _axis(like: Tensor, index: int) -> Tensor:
    axis = torch.zeros_like(like[..., :3])
    axis[..., index] = 1.0
    return axis


def _cos_sin(angle: Tensor) -> Tensor:
    return torch.stack([torch.cos(angle), torch.sin(angle)], -1)


def _pooled(values: Tensor, there: Tensor) -> Tensor:
    """Return the greatest value of each unit over the slots that are there, shape (n, units)."""
    return torch.where(there[..., None], values, values.new_tensor(-1e4)).amax(1) * there.any(1, keepdim=True)
