"""Instructions in scenes that are drawn without physics, from which a network learns the things that words name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from robocontrast_ros.configuration import record, resolve_uri
from robocontrast_ros.domain import Instruction, Scene
from robocontrast_ros.tasks.grammar import drawn
from robocontrast_ros.tasks.tabletop import Tabletop
from robocontrast_ros.tasks.tabletop.parameters import FAMILIES
from robocontrast_ros.tasks.tabletop.referring import Expression, expressions
from robocontrast_ros.tasks.tabletop.scenes import NoRoom, SceneDraw, suits
from robocontrast_ros.training.shards import Stored


@record
class SentenceParameters:
    """Parameters of the instructions in scenes."""

    shards: int = Field(ge=2, description="number of files; the first twentieth, at least one, is for validation")
    scenes: int = Field(gt=0, description="scenes in one shard")
    each: int = Field(gt=0, description="instructions in each scene")
    seed: int = Field(ge=0, description="of all draws; evaluations must use other seeds")


@dataclass
class Sentences(Stored):
    """Instructions, i of each of m scenes with at most s things; indices of things are slots.

    Attributes:
        models: name of each thing's model, empty for none, shape (m, s).
        poses: x, y, z [m] and yaw [rad], shape (m, s, 4).
        texts: shape (m, i).
        skill: index of the family, shape (m, i).
        target: slot, shape (m, i).
        reference: slot, -1 for none, shape (m, i).
    """

    models: NDArray[np.str_]
    poses: NDArray[np.float32]
    texts: NDArray[np.str_]
    skill: NDArray[np.int64]
    target: NDArray[np.int64]
    reference: NDArray[np.int64]


def make_sentences(task_file: str, parameters: SentenceParameters, index: int) -> Sentences:
    """Draw the scenes of a file, and instructions in them: skill, things and words uniform among those that make sense.

    Args:
        task_file: URI or path of the task's file.
        parameters: numbers of scenes and instructions, and the seed.
        index: number of the file; the draws depend on it, the parameters and the task alone.
    """
    task, draw = _drawing(task_file)
    rng = np.random.default_rng([parameters.seed, index])
    scenes, each, slots = parameters.scenes, parameters.each, task.parameters.sampling.most
    models = np.full((scenes, slots), "", dtype=f"U{max(map(len, task.library))}")
    poses = np.zeros((scenes, slots, 4), np.float32)
    texts: list[list[str]] = []
    columns = np.full((3, scenes, each), -1, np.int64)
    for row in range(scenes):
        scene, said = _told(task, draw, each, rng)
        things = task.planner.movable(scene)
        for slot, thing in enumerate(things):
            models[row, slot] = thing.model
            poses[row, slot] = (*thing.pose.position, thing.pose.yaw)
        texts.append([text for text, *_ in said])
        columns[:, row] = np.array([numbers for _, *numbers in said]).T
    return Sentences(models, poses, np.array(texts), *columns)


@lru_cache(maxsize=1)
def _drawing(task: str) -> tuple[Tabletop, SceneDraw]:
    """Return a task and the ``SceneDraw`` of its scenes, which stay as they are drawn."""
    found = Tabletop.from_file(resolve_uri(task))
    return found, SceneDraw(found.parameters, found.library, found.planner, lambda scene: scene)


def _told(
    task: Tabletop, draw: SceneDraw, each: int, rng: np.random.Generator
) -> tuple[Scene, list[tuple[str, int, int, int]]]:
    """Return a scene, and instructions in it: text, skill, target, reference."""
    while True:
        family = FAMILIES[rng.integers(len(FAMILIES))]
        pairs = draw.pairs(family)
        wanted = Instruction("", family, tuple(pairs[rng.integers(len(pairs))].items()))
        try:
            scene = draw.scene(wanted, rng)
        except NoRoom:
            continue
        things = task.planner.movable(scene)
        ways = [list(expressions(thing.name, scene, task.library)) for thing in things]
        possible = {skill: list(_pairs(task, family, things, ways)) for skill, family in enumerate(FAMILIES)}
        skills = [skill for skill, found in possible.items() if found]
        if skills:
            break
    said = []
    for _ in range(each):
        skill = skills[rng.integers(len(skills))]
        target, reference = possible[skill][rng.integers(len(possible[skill]))]
        named: dict[str, Expression] = {"target": _one(ways[target], rng)}
        if reference >= 0:
            named["reference"] = _one(ways[reference], rng)
        said.append((task.language.put(FAMILIES[skill], named, drawn(rng)), skill, target, reference))
    return scene, said


def _pairs(task: Tabletop, family: str, things: list, ways: list[list[Expression]]) -> Iterator[tuple[int, int]]:
    """Enumerate the slots of target and reference of a family that have words."""
    library = task.library
    for target, thing in enumerate(things):
        if not ways[target]:
            continue
        if family == "pick":
            yield target, -1
            continue
        for reference, other in enumerate(things):
            if reference != target and ways[reference] and suits(family, library[thing.model], library[other.model]):
                yield target, reference


def _one(ways: list[Expression], rng: np.random.Generator) -> Expression:
    return ways[int(rng.integers(len(ways)))]
