"""Training of the network that moves the hand, on demonstrations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from robocontrast_ros.configuration import record
from robocontrast_ros.policies.networks import Batch, joined
from robocontrast_ros.policies.tabletop_bc.grounding import Things
from robocontrast_ros.policies.tabletop_bc.motion import (
    CENTRES,
    FETCH,
    NEAR,
    PLACE,
    RETREAT,
    RIMS,
    STEP,
    TURN,
    TURNS,
    WAYS,
    Line,
    Motion,
    MotionSizes,
    Situation,
    carried_line,
    grasp_angle,
    turned,
    way_heading,
)
from robocontrast_ros.policies.tabletop_bc.things import UNIT, Catalogue
from robocontrast_ros.training.epochs import EpochTrainer, Training
from robocontrast_ros.training.tabletop.demonstrations import Shard

RIM = 0.004
"""A grasp whose point is farther than this from the target's origin, along its closing, is one of a rim [m]."""


@record
class MotionTraining(Training):
    """Parameters of the training of the network that moves the hand."""

    position_noise: float = Field(ge=0, description="greatest standard deviation added to things' positions [m]")
    yaw_noise: float = Field(ge=0, description="greatest standard deviation added to things' yaws [rad]")
    line_noise: float = Field(ge=0, description="standard deviation added to where the hand goes [m]")


@dataclass(frozen=True)
class Steps(Batch):
    """Steps of demonstrations as tensors; see ``Shard``.

    Attributes:
        situation: the network's input.
        phase: phase of the hand after its last command, shape (n,).
        line: shape (n, 4).
        above: shape (n,).
        action: shape (n, 5).
    """

    situation: Situation
    phase: Tensor
    line: Tensor
    above: Tensor
    action: Tensor

    @classmethod
    def of(cls, paths: Sequence[Path], catalogue: Catalogue) -> Steps:
        """Read shards; their indices of models become those of the catalogue."""
        parts = []
        for path in paths:
            s = Shard.load(path)
            index = np.array([*(catalogue.names.index(name) for name in s.names.tolist()), -1])
            e = s.episode
            rows = np.arange(len(e))
            targets = s.things[rows, s.target[e]]
            # Every episode begins with an open hand.
            open_before = np.maximum.accumulate(np.where(s.gripper == 0.0, rows, 0))
            width = np.stack([s.width, s.width - s.width_before], -1)
            first = np.diff(e, prepend=-1) != 0
            moved = np.where(first[:, None], 0.0, np.diff(s.tool, axis=0, prepend=s.tool[:1]))
            moved[:, 3] = np.remainder(moved[:, 3] + math.pi, math.tau) - math.pi
            closed = s.gripper > 0.5
            began = np.maximum.accumulate(np.where(first, rows, 0))
            handled = np.maximum.accumulate(np.where(closed, rows, -1)) >= began
            # The step that gives a new command is still one of the phase before, on its line.
            new = ~first & (closed != (s.action[:, 4] > 0.5))
            lines = np.where(new, rows - 1, rows)
            phase = np.where(closed, PLACE, np.where(new | (s.phase == FETCH), FETCH, RETREAT))
            parts.append(
                (
                    index[s.models][e],
                    s.things,
                    s.skill[e],
                    s.target[e],
                    s.reference[e],
                    targets[open_before],
                    s.tool[open_before],
                    s.tool,
                    moved.astype(np.float32),
                    s.commanded,
                    width,
                    s.gripper,
                    handled.astype(np.float32),
                    phase,
                    s.line[lines],
                    s.above[lines],
                    s.action,
                )
            )
        models, poses, skill, target, reference, *rest = joined(parts)
        used = int((models >= 0).sum(-1).max())
        things = Things(models[:, :used], poses[:, :used])
        return cls(Situation(skill, target, reference, things, *rest[:-4]), *rest[-4:])

    def shifted(self, shift: Tensor) -> Situation:
        """Return the network's input with things, and the target's pose ``stood``, shifted, shape (n, s, 4)."""
        s = self.situation
        things = Things(s.things.models, s.things.poses + shift)
        return replace(s, things=things, stood=s.stood + shift[torch.arange(len(self)), s.target])


@dataclass(frozen=True)
class Chosen:
    """The demonstrator's choices, in the network's terms; see ``motion.Choices``."""

    grasp: Tensor
    at: Tensor
    way: Tensor
    far: Tensor
    turn: Tensor
    into: Tensor
    height: Tensor


def chosen(steps: Steps) -> Chosen:
    """Return the demonstrator's choices; grasps have a meaning while it fetches, places while it carries."""
    rows = torch.arange(len(steps))
    s, line = steps.situation, steps.line
    poses, tool, stood = s.things.poses, s.tool, s.stood
    closing = line[:, 3] - math.pi / 2 - stood[:, 3]
    x, y = turned(line[:, 0] - stood[:, 0], line[:, 1] - stood[:, 1], -stood[:, 3])
    along, _ = turned(x, y, -closing)
    rim = along.abs() > RIM
    outward = torch.where(along < 0, closing + math.pi, closing)
    index = torch.where(rim, _nearest(outward, RIMS, math.tau), RIMS + _nearest(closing, CENTRES, math.pi))
    at = torch.stack([*turned(x, y, -grasp_angle(index).to(x.dtype)), line[:, 2] - stood[:, 2]], -1)
    now, there = poses[rows, s.target], poses[rows, s.reference]
    # The line is the goal of the tool, and with it that of the target that it holds.
    turn = line[:, 3] - tool[:, 3]
    dx, dy = turned(now[:, 0] - tool[:, 0], now[:, 1] - tool[:, 1], turn)
    up = now[:, 2] - tool[:, 2]
    end = torch.stack([line[:, 0] + dx, line[:, 1] + dy, line[:, 2] + up, now[:, 3] + turn], -1)
    away = end[:, :2] - there[:, :2]
    heading = torch.atan2(away[:, 1], away[:, 0]) - way_heading(stood, there)
    into = torch.stack([*turned(away[:, 0], away[:, 1], -there[:, 3]), end[:, 2] - there[:, 2]], -1)
    rises = (steps.phase > PLACE) | ((steps.phase == PLACE) & (s.reference < 0))
    return Chosen(
        index,
        at,
        _nearest(heading, WAYS, math.tau),
        away.norm(dim=-1),
        _nearest(end[:, 3] - stood[:, 3], TURNS, math.tau),
        into,
        torch.where(rises, line[:, 2], steps.above),
    )


def _nearest(angle: Tensor, count: int, period: float) -> Tensor:
    """Return the index of the nearest of so many directions, equally spaced over a period."""
    return torch.round(angle * (count / period)).long() % count


class MotionTrainer(EpochTrainer[Motion]):
    """Trains the network that moves the hand."""

    CHECKPOINT, SAMPLES = "motion.pt", "steps"
    CLIP = 1.0

    def __init__(self, parameters: MotionTraining, catalogue: Catalogue, steps: Steps, held_out: Steps) -> None:
        self._p, self._steps, self._held_out = parameters, steps, held_out
        super().__init__(lambda: Motion(catalogue, MotionSizes()), parameters, steps, held_out)
        self.network.seen.copy_(_seen(self.network, steps))

    @torch.no_grad()
    def validate(self) -> dict[str, float]:
        """Return measures over steps that were not trained on."""
        self.network.eval()
        steps = self._held_out
        right, situation, rows = chosen(steps), steps.situation, torch.arange(len(steps))
        choices = self.network.choices(situation)
        fetch, place = steps.phase == FETCH, (steps.phase == PLACE) & (situation.reference >= 0)
        near = place & (situation.skill == NEAR)
        line = self.network.line(situation, choices, steps.phase)
        off = (line.place[:, :2] - steps.line[:, :2]).norm(dim=-1)
        action = self.network.act(situation, Line(steps.line, steps.above), steps.phase)
        end = self.network.target_place(situation, choices)
        carried = carried_line(situation.tool, situation.things.poses[rows, situation.target], end)
        error = (action[:, :3] - steps.action[:, :3]).norm(dim=-1)
        return {
            "phase": _share(self.network.phase(situation) == steps.phase),
            "grasp": _share((choices.grasp.argmax(-1) == right.grasp)[fetch]),
            "grasp_mm": 1e3 * float(off[fetch].median()),
            "turn": _share((choices.turn.argmax(-1) == right.turn)[place & ~near]),
            "way": _share((choices.way.flatten(1).argmax(-1) == _turn_and_way(right))[near]),
            "far_mm": 1e3 * float((choices.far[rows, right.turn, right.way] - right.far)[near].abs().median()),
            "place_mm": 1e3 * float((carried - steps.line)[place & ~near][:, :2].norm(dim=-1).median()),
            "low_mm": 1e3 * float((line.place[:, 2] - steps.line[:, 2]).abs()[fetch | place].median()),
            "height_mm": 1e3 * float((line.above - right.height).abs().median()),
            "action_mm": 1e3 * float(error.median()),
            "action_p95_mm": 1e3 * float(error.quantile(0.95)),
            "gripper": _share((action[:, 4] > 0) == (steps.action[:, 4] > 0.5)),
        }

    def _loss(self, index: Tensor, generator: torch.Generator) -> Tensor:
        p, steps = self._p, self._steps[index]
        right = chosen(steps)
        # Errors of all sizes up to those of a camera; the same step is seen with another one in each epoch.
        size = torch.rand(len(steps), 1, 1, generator=generator)
        scale = torch.tensor([p.position_noise] * 3 + [p.yaw_noise])
        known = steps.situation
        situation = steps.shifted(size * scale * torch.randn(known.things.poses.shape, generator=generator))
        choices = self.network.choices(situation)
        fetch, place = steps.phase == FETCH, (steps.phase == PLACE) & (known.reference >= 0)
        near, inside = place & (known.skill == NEAR), place & (known.skill != NEAR)
        rows = torch.arange(len(steps))
        grasp = functional.cross_entropy(choices.grasp, right.grasp, reduction="none")
        at = _off(choices.at[rows, right.grasp], right.at)
        way = functional.cross_entropy(choices.way.flatten(1), _turn_and_way(right), reduction="none")
        far = _off(choices.far[rows, right.turn, right.way][:, None], right.far[:, None])
        turn = functional.cross_entropy(choices.turn, right.turn, reduction="none")
        into = _off(choices.into, right.into)
        up = _off(choices.into[:, 2:], right.into[:, 2:])
        height = _off(choices.heights[rows, steps.phase][:, None], right.height[:, None])
        leaves = functional.binary_cross_entropy_with_logits(
            self.network.at_place(situation), (steps.phase == RETREAT).float(), reduction="none"
        )
        noise = torch.randn(len(steps), 5, generator=generator) * p.line_noise
        # A radian of the hand weighs as much as a decimetre.
        line = Line(steps.line + noise[:, :4] * torch.tensor([1.0, 1.0, 1.0, 10.0]), steps.above + noise[:, 4])
        action = self.network.act(known, line, steps.phase)
        moved = functional.smooth_l1_loss(action[:, :3] / STEP, steps.action[:, :3] / STEP, beta=0.05)
        spun = functional.smooth_l1_loss(action[:, 3] / TURN, steps.action[:, 3] / TURN, beta=0.05)
        gripper = functional.binary_cross_entropy_with_logits(action[:, 4], steps.action[:, 4])
        return (
            _mean(grasp + 5 * at, fetch)
            + _mean(way + 5 * far + 5 * up, near)
            + _mean(turn + 5 * into, inside)
            + height.mean()
            + _mean(leaves, (steps.phase != PLACE) & (known.reference >= 0))
            + 3 * moved
            + spun
            + gripper
        )


def _seen(network: Motion, steps: Steps) -> Tensor:
    """Return whether a grasp of a type was demonstrated, shape (types, grasps); all true for a type that never was."""
    known, fetch = steps.situation, steps.phase == FETCH
    models = known.things.models[torch.arange(len(steps)), known.target][fetch]
    found = torch.zeros_like(network.seen)
    found[network.attributes.types[models], chosen(steps).grasp[fetch]] = True
    return found | ~found.any(-1, keepdim=True)


def _turn_and_way(right: Chosen) -> Tensor:
    """Return the index of both among the flattened ``Choices.way``, shape (n,)."""
    return right.turn * WAYS + right.way


def _off(found: Tensor, right: Tensor) -> Tensor:
    """Return the loss of lengths [m], shape (n,)."""
    return functional.smooth_l1_loss(found / UNIT, right / UNIT, beta=0.05, reduction="none").sum(-1)


def _mean(values: Tensor, which: Tensor) -> Tensor:
    return (values * which).sum() / which.sum().clamp_min(1)


def _share(right: Tensor) -> float:
    return float(right.float().mean())
