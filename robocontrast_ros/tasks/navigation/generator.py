"""Draws test instances: the apartment furnished at random, the robot put into it, two places to visit."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import shapely

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import Instruction, Pose, Scene, TestInstance
from robocontrast_ros.tasks.navigation.placing import Placer
from robocontrast_ros.tasks.navigation.protocol import path_length

if TYPE_CHECKING:
    from robocontrast_ros.tasks.navigation.task import VisionLanguageNavigation

_STARTS = 20


def draw_instance(task: VisionLanguageNavigation, rng: np.random.Generator, instance_id: str) -> TestInstance:
    """Draw an instance.

    Every object of the task stands where such a thing stands; nothing overlaps; the robot's start is uniform
    on the floor that it can be on; the pair of places is uniform among those between which the path is as
    long as the task's bounds say; the words are uniform choice by choice.

    Raises:
        ConfigurationError: too few scenes suit the task's parameters.
    """
    numbers = task.parameters.generator
    placer = Placer(task.shapes)
    for _ in range(numbers.draws):
        furnished = placer.draw(task.parameters.objects, rng)
        scene = _with_robot(task, furnished, rng) if furnished else None
        if scene is None:
            continue
        for instruction in _pairs(task, scene, rng):
            instance = task.make_instance(instance_id, instruction, scene)
            if instance is not None and _long_enough(task, instance):
                return replace(instance, instruction=task.realise(instruction, scene, rng))
    raise ConfigurationError(
        f"task '{task.name}'",
        "generator.draws",
        numbers.draws,
        "parameters that suit: not one of so many scenes does",
        "Give the room more space, take out objects, widen `generator.path`, or raise `generator.draws`.",
    )


def _with_robot(task: VisionLanguageNavigation, scene: Scene, rng: np.random.Generator) -> Scene | None:
    """Return the scene with a robot from which most of the free floor can be reached, or None."""
    free = task.floor_plan(scene).free_space
    parts = shapely.get_parts(free)
    if not len(parts):
        return None
    widest = parts[np.argmax(shapely.area(parts))]
    if widest.area < task.parameters.generator.open_share * free.area:
        return None
    x0, y0, x1, y1 = widest.bounds
    for _ in range(_STARTS):
        start = Pose.planar(rng.uniform(x0, x1), rng.uniform(y0, y1), rng.uniform(-np.pi, np.pi))
        if widest.contains(shapely.Point(start.xy)):
            return replace(scene, robot=start)
    return None


def _pairs(task: VisionLanguageNavigation, scene: Scene, rng: np.random.Generator) -> Iterator[Instruction]:
    pairs = list(itertools.permutations(task.places(scene), 2))
    for index in rng.permutation(len(pairs)):
        yield task.visit(*pairs[index])


def _long_enough(task: VisionLanguageNavigation, instance: TestInstance) -> bool:
    numbers = task.parameters.generator
    route = task.route(instance.instruction, instance.scene)
    assert route is not None
    least, greatest = numbers.path
    return (
        least <= route.length <= greatest
        and path_length(route.first_half) >= numbers.leg
        and path_length(route.second_half) >= numbers.leg
    )
