"""The Language-Table task; it implements ``tasks.protocol.StructuredTask``."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from robocontrast_ros.configuration import ConfigurationError, load_record, resolve_uri
from robocontrast_ros.domain import Instruction, Pose, Scene, TestInstance
from robocontrast_ros.tasks.language_table import grammar
from robocontrast_ros.tasks.language_table.goals import (
    DIRECTIONS,
    DISTANCES,
    FAMILIES,
    LOCATIONS,
    BlockGoal,
    goal_point,
    make_goal,
)
from robocontrast_ros.tasks.language_table.outlines import block_outline
from robocontrast_ros.tasks.language_table.parameters import LanguageTableParameters
from robocontrast_ros.tasks.language_table.planner import NoPlan, find_plan, require_on_board
from robocontrast_ros.tasks.language_table.sampler import draw_pose, draw_scene, has_room
from robocontrast_ros.tasks.protocol import Backdrop, Plan

SOLVED = "the instruction is already fulfilled in this scene"


class LanguageTable:
    """The task of seed 000, section 5, with the numbers of the public environment."""

    families = FAMILIES
    metric: Literal["spl"] = "spl"

    def __init__(self, parameters: LanguageTableParameters) -> None:
        self.parameters = parameters
        self.name = parameters.name

    @classmethod
    def from_file(cls, path: Path) -> LanguageTable:
        """Return the task that a parameter file describes.

        Raises:
            ConfigurationError: the file does not fit.
        """
        return cls(load_record(LanguageTableParameters, path))

    @property
    def world(self) -> str:
        """URI of the world model without blocks."""
        return self.parameters.world

    @property
    def models(self) -> dict[str, str]:
        """Block name -> URI of its model."""
        return {b: self.parameters.block_model.replace("{block}", b) for b in self.parameters.blocks}

    @property
    def start_position(self) -> tuple[float, float, float]:
        """The tool's tip when a trial starts, world frame [m]."""
        return self.parameters.tool.start

    @property
    def control_rate(self) -> float:
        """Control steps per second of simulated time [Hz]."""
        return self.parameters.control_rate

    @property
    def physics_step(self) -> float:
        """Step of the embedded simulator's physics [s]."""
        return self.parameters.physics_step

    def outline(self, model: str) -> tuple[tuple[float, float], ...]:
        """Return the polygon that a block covers, in its frame, shape (n, 2) [m].

        Raises:
            KeyError: the task has no such block.
        """
        if model not in self.models:
            raise KeyError(f"no block '{model}'; there are: {', '.join(self.parameters.blocks)}")
        return block_outline(resolve_uri(self.models[model]), self.parameters.block_size.radius)

    def backdrop(self) -> Backdrop:
        """Return the board, with top, bottom, left and right as the instructions mean them."""
        (x0, y0), (x1, y1) = self.parameters.board.low, self.parameters.board.high
        return Backdrop(((x0, y0), (x1, y0), (x1, y1), (x0, y1)), up="-x")

    @property
    def step_limit(self) -> int:
        """Control steps after which a trial ends."""
        return self.parameters.step_limit

    def conditions(self) -> Iterator[Instruction]:
        """Enumerate every task condition once, each in its first wording.

        With the usual eight blocks these are the 696 of seed 000: 56 + 72 + 64 + 448 + 56. There the distance of
        a relative location is part of the wording, not a condition; here it is ``far``.
        """
        for family in self.families:
            for arguments in self._arguments(family):
                yield self._in_first_words(Instruction("", family, tuple(arguments.items())))

    def sample(self, rng: np.random.Generator, instance_id: str, family: str | None = None) -> TestInstance:
        """Draw one i.i.d. test instance.

        The family is uniform over the five (unless given), the condition uniform within its family,
        near or far with equal chance, the wording uniform choice by choice, and the scene uniform over
        those in which the instruction is feasible and not yet fulfilled.

        Raises:
            ValueError: the family is unknown.
            ConfigurationError: too few scenes suit the task's parameters.
        """
        if family is not None and family not in self.families:
            raise ValueError(f"family: got '{family}', expected one of {', '.join(self.families)}")
        chosen = family or self.families[rng.integers(len(self.families))]
        conditions = list(self._arguments(chosen))
        arguments = conditions[rng.integers(len(conditions))]
        if chosen == "block_to_relative_location":
            arguments = {**arguments, "distance": DISTANCES[rng.integers(len(DISTANCES))]}
        wanted = Instruction("", chosen, tuple(arguments.items()))
        for _ in range(self.parameters.sampling.scene_draws):
            scene = draw_scene(wanted, self.parameters, rng)
            instance = self.make_instance(instance_id, wanted, scene) if scene else None
            if instance is not None:
                return replace(instance, instruction=self.realise(wanted, instance.scene, rng))
        parameters = self.parameters
        raise ConfigurationError(
            f"task '{self.name}'",
            "board.margin",
            parameters.board.margin,
            f"room for {len(parameters.blocks)} blocks: none of {parameters.sampling.scene_draws} scenes suits "
            f"{chosen} {arguments}",
            "Lower `board.margin`, use fewer `blocks`, or raise `sampling.scene_draws`.",
        )

    def goal(self, instruction: Instruction, start: Scene) -> BlockGoal:
        """Return the expected behaviour of an instruction given in a starting scene."""
        return make_goal(instruction, start, self.parameters)

    def plan(self, instruction: Instruction, scene: Scene) -> Plan | None:
        """Return the shortest tool path that fulfils the instruction; None when there is none.

        It is of length 0 when the instruction is fulfilled already.
        """
        try:
            return self._plan(instruction, scene)
        except NoPlan:
            return None

    def infeasibility(self, instruction: Instruction, scene: Scene) -> str | None:
        """Return why the instruction cannot be given in the scene, in words; None when it can."""
        try:
            plan = self._plan(instruction, scene)
        except NoPlan as reason:
            return str(reason)
        return SOLVED if plan.length == 0.0 else None

    def realise(self, instruction: Instruction, scene: Scene, rng: np.random.Generator) -> Instruction:
        """Return the instruction in words drawn uniformly, choice by choice, from those that fit.

        Raises:
            ValueError: there are no words for it in this scene.
        """
        return self._said(instruction, scene, lambda fitting: fitting[rng.integers(len(fitting))])

    def reword(
        self, instruction: Instruction, arguments: dict[str, str], scene: Scene, rng: np.random.Generator
    ) -> Instruction:
        """Return the instruction with some arguments changed, in the same wording.

        Verb, preposition, sentence and kind of referring expression stay; where the new meaning has no
        counterpart of a synonym, another one is drawn.

        Raises:
            ValueError: the instruction's text is not of the grammar.
        """
        before = grammar.read(instruction.text)
        changed = replace(instruction, arguments=tuple({**dict(instruction.arguments), **arguments}.items()))
        drawn = grammar.keep_wording(before, lambda fitting: fitting[rng.integers(len(fitting))])
        return self._said(changed, scene, drawn)

    def parse(self, text: str, scene: Scene) -> Instruction:
        """Return the structure of an instruction text in a scene.

        Raises:
            ValueError: the grammar does not know the text, or the scene makes it ambiguous.
        """
        return grammar.to_instruction(text, grammar.read(text), self._on_table(scene))

    def make_instance(self, instance_id: str, instruction: Instruction, scene: Scene) -> TestInstance | None:
        """Return a test instance with its optimal path length; None when infeasible or solved already."""
        plan = self.plan(instruction, scene)
        if plan is None or plan.length == 0.0:
            return None
        return TestInstance(instance_id, self.name, instruction, scene, plan.length)

    def relocate(self, instruction: Instruction, name: str, scene: Scene, rng: np.random.Generator) -> Scene | None:
        """Return the scene with one block at another place in which the instruction can be given.

        The place is uniform among those; the block keeps its yaw and stands upright. None when all
        ``sampling.relocation_draws`` draws fail.
        """
        sampling = self.parameters.sampling
        here = scene[name].pose
        others = [o.pose for o in scene if o.name != name]
        for _ in range(sampling.relocation_draws):
            there = draw_pose(self.parameters, rng)
            moved = Pose.planar(*there.xy, here.yaw, there.position[2])
            if math.dist(moved.xy, here.xy) < sampling.relocation_distance:
                continue
            if not has_room(moved, others, self.parameters):
                continue
            candidate = scene.moved(name, moved)
            if self.infeasibility(instruction, candidate) is None:
                return candidate
        return None

    def _plan(self, instruction: Instruction, scene: Scene) -> Plan:
        self._require_domain(instruction, scene)
        goal = self.goal(instruction, scene)
        if goal.satisfied(scene):
            return Plan((self.start_position[:2],), scene)
        return find_plan(goal, scene, self.parameters)

    def _require_domain(self, instruction: Instruction, scene: Scene) -> None:
        """Refuse a scene in which the instruction makes no sense, whatever the plan."""
        p = self.parameters
        source, target = instruction.get("source"), instruction.get("target")
        for name in filter(None, (source, target)):
            require_on_board(scene, name, p)
        point = goal_point(instruction, scene, p)
        if point is not None and not p.board.contains(*point):
            raise NoPlan("the point that the instruction names is off the board")
        if target is None:
            return
        gap = scene[str(source)].pose.distance_to(scene[target].pose)
        if instruction.family == "block_to_block" and p.block_to_block.within < gap < p.block_to_block.start_beyond:
            raise NoPlan("source and target are almost together already")

    def _said(self, instruction: Instruction, scene: Scene, choose: grammar.Choose) -> Instruction:
        text, _ = grammar.say(grammar.to_meaning(instruction), self._on_table(scene), choose)
        return replace(instruction, text=text)

    def _in_first_words(self, instruction: Instruction) -> Instruction:
        text, _ = grammar.say(
            grammar.to_meaning(instruction),
            self.parameters.blocks,
            lambda fitting: max(fitting, key=lambda a: a.kind == "colour+shape"),
        )
        return replace(instruction, text=text)

    def _on_table(self, scene: Scene) -> tuple[str, ...]:
        return tuple(o.name for o in scene if o.model in self.models)

    def _arguments(self, family: str) -> Iterator[dict[str, str]]:
        """Enumerate a family's conditions as arguments."""
        blocks = self.parameters.blocks
        pairs = [{"source": a, "target": b} for a, b in itertools.permutations(blocks, 2)]
        match family:
            case "block_to_block" | "separate_blocks":
                yield from pairs
            case "block_to_absolute_location":
                yield from ({"source": a, "location": p} for a in blocks for p in LOCATIONS)
            case "block_to_relative_location":
                far = {"distance": DISTANCES[0]}
                yield from ({"source": a, "direction": d, **far} for a in blocks for d in DIRECTIONS)
            case "block_to_block_relative_location":
                yield from ({**pair, "direction": d} for pair in pairs for d in DIRECTIONS)
