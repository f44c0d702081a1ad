"""Training of the kitchen's network on demonstrations: its words, its choices and its actions at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from robocontrast_ros.configuration import record
from robocontrast_ros.policies.kitchen_bc.network import (
    FETCH,
    HOLD,
    JOINTS,
    LEAVE,
    STEP,
    TURN,
    Goal,
    KitchenNetwork,
    Situation,
    Sizes,
    leaving,
    meant,
)
from robocontrast_ros.policies.kitchen_bc.rotations import between, from_vector, multiply, smallest, yaw_of
from robocontrast_ros.policies.kitchen_bc.things import UNIT, Catalogue, Things
from robocontrast_ros.policies.networks import Batch, joined
from robocontrast_ros.policies.sentence_encoder import SentenceEncoder
from robocontrast_ros.policies.tabletop_bc.motion import turned
from robocontrast_ros.training.epochs import EpochTrainer, Training
from robocontrast_ros.training.kitchen.demonstrations import Shard


@record
class CloningTraining(Training):
    """Parameters of the training."""

    starts: int = Field(gt=0, description="instructions with their first scenes in one update")
    choices: int = Field(gt=0, description="samples in one update of which choices are learned, and not actions alone")
    word_noise: float = Field(ge=0, description="standard deviation added to an instruction's embedding, of length 1")
    start_noise: float = Field(ge=0, description="standard deviation added to positions in first scenes [m]")
    line_noise: float = Field(ge=0, description="standard deviation added to where the hand goes [m]")


@dataclass(frozen=True)
class Starts(Batch):
    """Instructions in the first scenes of e episodes.

    Attributes:
        words: embedding of each, shape (e, WORDS).
        things: of each scene.
        skill: shape (e,).
        target: slot, shape (e,).
        reference: slot, -1 for none, shape (e,).
    """

    words: Tensor
    things: Things
    skill: Tensor
    target: Tensor
    reference: Tensor


@dataclass(frozen=True)
class Steps(Batch):
    """Steps of demonstrations.

    Attributes:
        situation: the network's input.
        episode: index into the starts, shape (n,).
        phase: phase of the hand after its last command, shape (n,).
        goal: where it goes.
        action: shape (n, 7).
    """

    situation: Situation
    episode: Tensor
    phase: Tensor
    goal: Goal
    action: Tensor


def read(paths: Sequence[Path], catalogue: Catalogue, encoder: SentenceEncoder) -> tuple[Starts, Steps]:
    """Read shards; their indices of models become those of the catalogue."""
    starts, parts, episodes = [], [], 0
    for path in paths:
        s = Shard.load(path)
        index = np.array([*(catalogue.index[name] for name in s.names.tolist()), -1])
        models, e, rows = index[s.models], s.episode, np.arange(len(s.episode))
        first = np.diff(e, prepend=-1) != 0
        starts.append(
            (
                encoder.encode(s.texts.tolist()).astype(np.float32),
                models,
                s.things[first],
                s.joints[first],
                s.skill,
                s.target,
                s.reference,
            )
        )
        closed = s.gripper > 0.5
        # Every episode begins with an open hand.
        open_before = np.maximum.accumulate(np.where(closed, 0, rows))
        began = np.maximum.accumulate(np.where(first, rows, 0))
        handled = np.maximum.accumulate(np.where(closed, rows, -1)) >= began
        # The step that gives a new command is still one of the phase before, on its line.
        new = ~first & (closed != (s.action[:, 6] > 0.5))
        moves_joint = s.skill[e] < JOINTS
        fetches = np.where(moves_joint, s.phase < 4, s.phase == 0)
        phase = np.where(closed, HOLD, np.where(new | fetches, FETCH, LEAVE))
        line = np.where((new & ~moves_joint)[:, None], s.line[rows - 1], s.line)
        parts.append(
            (
                models[e],
                s.things,
                s.joints,
                s.skill[e],
                s.target[e],
                s.reference[e],
                s.things[rows, s.target[e]][open_before],
                s.tool[open_before],
                s.tool,
                _moved(s.tool, first),
                s.commanded,
                np.stack([s.width, s.width - s.width_before], -1),
                s.gripper,
                handled.astype(np.float32),
                e + episodes,
                phase,
                line,
                np.where(new & ~moves_joint, s.above[rows - 1], s.above),
                s.action,
            )
        )
        episodes += len(s.problem)
    words, models, poses, joints, *meant = joined(starts)
    used = int((models >= 0).sum(-1).max())
    told = Starts(words, Things(models[:, :used], poses[:, :used], joints[:, :used]), *meant)
    models, poses, joints, *rest = joined(parts)
    things = Things(models[:, :used], poses[:, :used], joints[:, :used])
    situation = Situation(*rest[:3], things, *rest[3:-5])
    episode, phase, line, above, action = rest[-5:]
    # A hand that leaves a thing rises from where it is.
    leaves = ((phase == LEAVE) & situation.carries)[:, None]
    line = torch.where(leaves, leaving(situation, above), line)
    return told, Steps(situation, episode, phase, Goal(line, above), action)


def _moved(tool: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return the tool's motion since the step before: displacement and rotation vector, shape (n, 6)."""
    now = torch.from_numpy(tool)
    before = torch.from_numpy(np.where(first[:, None], tool, np.roll(tool, 1, axis=0)))
    return torch.cat([now[:, :3] - before[:, :3], between(before[:, 3:], now[:, 3:])], -1).numpy()


@dataclass(frozen=True)
class Chosen:
    """The demonstrator's choices, in the network's terms; see ``network.Choices``.

    Attributes:
        grasp: index, shape (n,).
        turn_to: turn of the line from that grasp about the vertical [rad], shape (n,).
        at: the target's place, shape (n, 3).
        turn: turn of the target there, from how it stood [rad], shape (n,).
    """

    grasp: Tensor
    turn_to: Tensor
    at: Tensor
    turn: Tensor


def chosen(network: KitchenNetwork, steps: Steps) -> Chosen:
    """Return the demonstrator's choices; grasps have a meaning while it fetches, places while it carries."""
    s, line = steps.situation, steps.goal.line
    rows = torch.arange(len(steps))
    poses = network.grasp_poses(s)
    off = (poses[..., :3] - line[:, None, :3]).norm(dim=-1)
    spin = between(poses[..., 3:], line[:, None, 3:].expand(-1, poses.shape[1], -1))
    possible = network.codes.graspable[s.things.models[rows, s.target]]
    grasp = (off + UNIT * spin.norm(dim=-1)).masked_fill(~possible, torch.inf).argmin(-1)
    # The line is the goal of the tool, and with it that of the target that it holds.
    now, there = s.things.poses[rows, s.target], network.reference_pose(s)
    turn = smallest(yaw_of(line[:, 3:]) - yaw_of(s.tool[:, 3:]))
    held = now[:, :3] - s.tool[:, :3]
    x, y = turned(held[:, 0], held[:, 1], turn)
    end = line[:, :3] + torch.stack([x, y, held[:, 2]], -1)
    apart = end - there[:, :3]
    x, y = turned(apart[:, 0], apart[:, 1], -network.place_frame(s))
    whole = turn + yaw_of(now[:, 3:]) - yaw_of(s.stood[:, 3:])
    return Chosen(grasp, spin[rows, grasp][:, 2], torch.stack([x, y, apart[:, 2]], -1), smallest(whole))


class CloningTrainer(EpochTrainer[KitchenNetwork]):
    """Trains the network."""

    CHECKPOINT, SAMPLES = "network.pt", "steps"
    CLIP = 1.0

    def __init__(
        self,
        parameters: CloningTraining,
        catalogue: Catalogue,
        training: tuple[Starts, Steps],
        held_out: tuple[Starts, Steps],
    ) -> None:
        self._p = parameters
        (self._starts, self._steps), (self._held_starts, self._held_steps) = training, held_out
        super().__init__(lambda: KitchenNetwork(catalogue, Sizes()), parameters, self._steps, self._held_steps)

    @torch.no_grad()
    def validate(self) -> dict[str, float]:
        """Return measures over episodes that were not trained on."""
        network, starts, steps = self.network.eval(), self._held_starts, self._held_steps
        s, right = steps.situation, chosen(network, steps)
        known = network.known(s)
        understood = network.understand(starts.words, starts.things)
        choices = network.choices(s, known)
        fetch, carry = _which(steps)
        named = starts.reference >= 0
        goal = network.goal(s, choices, steps.phase)
        off = (goal.line[:, :3] - steps.goal.line[:, :3]).norm(dim=-1)
        spun = between(goal.line[:, 3:], steps.goal.line[:, 3:]).norm(dim=-1)
        action = network.act(s, known, steps.goal, steps.phase)
        error = (action[:, :3] - steps.action[:, :3]).norm(dim=-1)
        twist = (action[:, 3:6] - steps.action[:, 3:6]).norm(dim=-1)
        skill, target, reference = meant(understood)
        return {
            "skill": _share(skill == starts.skill),
            "target": _share(target == starts.target),
            "reference": _share((reference == starts.reference)[named]),
            "phase": _share(network.phase(s, known) == steps.phase),
            "grasp": _share((choices.grasp.argmax(-1) == right.grasp)[fetch]),
            "grasp_near": _share((off < 0.01)[fetch]),
            "place_mm": 1e3 * float(off[carry].median()),
            "place_near": _share((off < 0.02)[carry]),
            "turn_near": _share((spun < 0.1)[carry]),
            "height_mm": 1e3 * float((goal.above - steps.goal.above).abs()[fetch | carry].median()),
            "action_mm": 1e3 * float(error.median()),
            "action_p95_mm": 1e3 * float(error.quantile(0.95)),
            "action_rad": float(twist.median()),
            "action_p95_rad": float(twist.quantile(0.95)),
            "gripper": _share((action[:, 6] > 0) == (steps.action[:, 6] > 0.5)),
        }

    def _loss(self, index: Tensor, generator: torch.Generator) -> Tensor:
        steps = self._steps[index]
        # Fewer instructions and choices than actions are enough, and each takes longer.
        told, few = self._starts[steps.episode[: self._p.starts]], steps[torch.arange(len(steps)) < self._p.choices]
        return self._words_loss(told, generator) + self._choices_loss(few) + self._action_loss(steps, generator)

    def _words_loss(self, starts: Starts, generator: torch.Generator) -> Tensor:
        p, poses = self._p, starts.things.poses
        noise = torch.zeros_like(poses)
        noise[..., :2] = torch.randn(*poses.shape[:2], 2, generator=generator) * p.start_noise
        things = replace(starts.things, poses=poses + noise)
        scale = p.word_noise / starts.words.shape[1] ** 0.5
        words = starts.words + torch.randn(starts.words.shape, generator=generator) * scale
        found = self.network.understand(words, things)
        named = starts.reference >= 0
        reference = functional.cross_entropy(found.reference, starts.reference.clamp_min(0), reduction="none")
        return (
            functional.cross_entropy(found.skill, starts.skill)
            + functional.cross_entropy(found.target, starts.target)
            + _mean(reference, named)
        )

    def _choices_loss(self, steps: Steps) -> Tensor:
        network, s = self.network, steps.situation
        right, choices = chosen(network, steps), network.choices(s, network.known(s))
        fetch, carry = _which(steps)
        rows = torch.arange(len(steps))
        grasp = functional.cross_entropy(choices.grasp, right.grasp, reduction="none")
        turn_to = functional.smooth_l1_loss(choices.turn_to, right.turn_to, beta=0.02, reduction="none")
        # Of the places, the nearest to the demonstrator's learns where that is.
        off = _off(choices.at, right.at[:, None])
        nearest = off.argmin(-1)
        place = functional.cross_entropy(choices.place, nearest, reduction="none")
        near = off[rows, nearest] + 0.03 * off.mean(-1)
        differs = smallest(network.turns(s) - right.turn[:, None]).abs()
        turn = functional.cross_entropy(choices.turn[rows, nearest], differs.argmin(-1), reduction="none")
        height = _off(choices.heights[rows, steps.phase][:, None], steps.goal.above[:, None])
        return (
            _mean(grasp, fetch)
            + _mean(turn_to, fetch & ~s.carries)
            + _mean(place + 3 * near + turn, carry)
            + _mean(height, s.carries)
        )

    def _action_loss(self, steps: Steps, generator: torch.Generator) -> Tensor:
        network, s = self.network, steps.situation
        known = network.known(s)
        done = functional.binary_cross_entropy_with_logits(
            network.is_done(s, known), (steps.phase == LEAVE).float(), reduction="none"
        )
        action = network.act(s, known, self._noisy(steps.goal, generator), steps.phase)
        shift = functional.smooth_l1_loss(action[:, :3] / STEP, steps.action[:, :3] / STEP, beta=0.05)
        spin = functional.smooth_l1_loss(action[:, 3:6] / TURN, steps.action[:, 3:6] / TURN, beta=0.05)
        gripper = functional.binary_cross_entropy_with_logits(action[:, 6], steps.action[:, 6])
        return _mean(done, steps.phase != HOLD) + 5 * shift + 5 * spin + gripper

    def _noisy(self, goal: Goal, generator: torch.Generator) -> Goal:
        """Return a goal with noise; a radian of the hand weighs as much as a decimetre."""
        noise = torch.randn(len(goal), 7, generator=generator) * self._p.line_noise
        turn = multiply(from_vector(noise[:, 3:6] / UNIT), goal.line[:, 3:])
        return Goal(torch.cat([goal.line[:, :3] + noise[:, :3], turn], -1), goal.above + noise[:, 6])


def _which(steps: Steps) -> tuple[Tensor, Tensor]:
    """Return in which steps the hand's goal is a grasp, and in which it carries, each of shape (n,)."""
    carries = steps.situation.carries
    return ~carries | (steps.phase == FETCH), carries & (steps.phase == HOLD)


def _off(found: Tensor, right: Tensor) -> Tensor:
    """Return the loss of lengths [m], shape (...,)."""
    right = right.expand_as(found)
    return functional.smooth_l1_loss(found / UNIT, right / UNIT, beta=0.05, reduction="none").sum(-1)


def _mean(values: Tensor, which: Tensor) -> Tensor:
    return (values * which).sum() / which.sum().clamp_min(1)


def _share(right: Tensor) -> float:
    return float(right.float().mean())
