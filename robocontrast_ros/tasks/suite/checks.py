"""What is wrong with a task of the suite, by its scene: its words, its goal, its things, its plan."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from operator import mul

import shapely

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import PART, Scene, whole_of
from robocontrast_ros.objects.joints import part_pose
from robocontrast_ros.tasks.composed import leaves
from robocontrast_ros.tasks.kitchen.library import Things
from robocontrast_ros.tasks.suite.files import SAID, VARIANTS, SuiteTask
from robocontrast_ros.tasks.suite.predicates import PICKED_UP, SuitePredicates
from robocontrast_ros.tasks.tabletop import shapes
from robocontrast_ros.tasks.tabletop.referring import ANYTHING, APART, SIZES, Expression, nouns, resolve

TOUCHING = 1e-4
"""Depth to which two outlines may overlap [m]: less than rounding and weight."""

OFF_JOINT = 1e-4
"""Farthest that a moving part may be from its joint [m]; also of 1 - cos of half the angle."""


def expression(phrase: str, things: Things) -> Expression:
    """Return an expression such as ``large red bowl on your left``.

    Raises:
        ValueError: its words are unknown; the text says what was expected.
    """
    rest, place = phrase, ""
    for end, side in SAID.items():
        if rest.endswith(f" {end}"):
            rest, place = rest.removesuffix(f" {end}"), side
    known = {noun for model in things.models.values() if not model.fixed for noun in nouns(model)} | {ANYTHING}
    size = next((size for size in SIZES if rest.startswith(f"{size} ")), "")
    rest = rest.removeprefix(f"{size} ") if size else rest
    colour = next((m.colour for m in things.models.values() if m.colour and rest.startswith(f"{m.colour} ")), "")
    noun = rest.removeprefix(f"{colour} ") if colour and rest not in known else rest
    if noun not in known:
        raise ValueError(f"[small|large] [COLOUR] NOUN [{'|'.join(SAID)}], with a noun of the object library")
    return Expression(noun, colour if noun != rest else "", size, place)


def unclear(task: SuiteTask, scene: Scene, things: Things, apart: float = APART) -> ConfigurationError | None:
    """Return the error for the first expression that does not mean in a scene what it should; None if all do."""
    said = " ".join(task.texts.values()).lower()
    movable = {name: model for name, model in things.models.items() if not model.fixed}
    for phrase, meant in task.words.items():
        try:
            found = resolve(expression(phrase, things), scene, movable, apart)
        except ValueError as error:
            return task.error(f"words.{phrase}", phrase, str(error))
        if set(found) != set(meant):
            got = ", ".join(found) or "nothing"
            return task.error(f"words.{phrase}", got, f"{', '.join(meant)} alone", "Use words that fit nothing else.")
        if phrase.lower() not in said:
            return task.error(f"words.{phrase}", phrase, "words of the instruction, in one of its variants")
    named = {name for names in task.words.values() for name in names}
    for name in task.named:
        if name not in named and things.models[scene[name].model].fixed is False:
            return task.error("words", sorted(task.words), f"an expression that means {name}, which the goal is about")
    return None


def first_error(task: SuiteTask, things: Things, predicates: SuitePredicates) -> ConfigurationError | None:
    """Return the first thing that is wrong with a task, without physics and without planning; None if nothing is."""
    return error_of_scene(task, things) or error_of_task(task, things, predicates)


def error_of_scene(task: SuiteTask, things: Things) -> ConfigurationError | None:
    """Return the first thing that is wrong with a task's scene, whatever is to be done in it; None if nothing is."""
    scene = task.scene
    for state in scene:
        if state.model not in things.models:
            return ConfigurationError.unknown(
                str(task.file), f"things.{state.name}.model", state.model, things.models, "object"
            )
    for key, got, expected in loose_parts(scene, things):
        return ConfigurationError(str(task.file), f"things.{key}", got, expected)
    for one, other in overlapping(scene, things):
        return ConfigurationError(str(task.file), f"things.{one}", f"inside '{other}'", "things that do not overlap")
    return None


def error_of_task(task: SuiteTask, things: Things, predicates: SuitePredicates) -> ConfigurationError | None:
    """Return the first thing that is wrong with a task in its scene; None if nothing is."""
    scene = task.scene
    for name in task.named:
        if name not in scene:
            return task.error("goal", name, f"things of the scene: {', '.join(scene.names)}")
    for atom in leaves(task.tree):
        try:
            predicates.check(atom, scene)
        except ValueError as error:
            return task.error("goal", str(error), "predicates that make sense of these things")
        if atom.predicate != PICKED_UP and predicates.holds(atom, scene):
            return task.error("goal", f"{atom}, which holds already", "subtasks that are not done at the start")
    for first, second in itertools.combinations(VARIANTS, 2):
        if task.texts[first].lower() == task.texts[second].lower():
            return task.error(f"instruction.{second}", task.texts[second], f"other words than those of '{first}'")
    return unclear(task, scene, things)


def loose_parts(scene: Scene, things: Things) -> Iterator[tuple[str, str, str]]:
    """Yield moving parts that do not belong to a thing or are not on their joints: key, what is there, expected."""
    for state in scene:
        whole, part = whole_of(state.name), things.parts.get(state.model)
        for joint in things.models[state.model].joints:
            if f"{state.name}{PART}{joint.name}" not in scene:
                yield state.name, f"no '{state.name}{PART}{joint.name}'", "a thing with all its moving parts"
        if not whole and part is None:
            continue
        model = f"{scene[whole].model}{PART}{state.name.rpartition(PART)[2]}" if whole in scene else ""
        if part is None or state.model != model:
            yield f"{state.name}.model", state.model, f"{model or 'a thing of the scene'}, for a name OBJECT{PART}PART"
        else:
            there = part_pose(scene[whole].pose, part.joint, things.position(scene, state.name))
            turned = 1.0 - abs(sum(map(mul, there.orientation, state.pose.orientation)))
            if there.distance_to(state.pose) > OFF_JOINT or turned > OFF_JOINT:
                position = ", ".join(f"{number:.6f}" for number in (*there.position, *there.orientation))
                yield f"{state.name}.pose", "a place off its joint", f"a place on it, the nearest is [{position}]"


def first_of_scene(
    tasks: Sequence[SuiteTask], things: Things, predicates: SuitePredicates
) -> ConfigurationError | None:
    """Return the first thing that is wrong with the tasks of one scene file; None if nothing is, as ``first_error``."""
    seen: Scene | None = None
    for task in tasks:
        # Tasks of a file have one scene, and to compare all outlines of it takes longer than all else.
        error = None if task.scene is seen else error_of_scene(task, things)
        seen = task.scene
        if (error := error or error_of_task(task, things, predicates)) is not None:
            return error
    return said_twice(tasks)


def overlapping(scene: Scene, things: Things) -> Iterator[tuple[str, str]]:
    """Yield pairs of upright things whose outlines and heights overlap, and of which neither holds the other."""
    standing = [o for o in scene if things.is_thing(o.model) and not whole_of(o.name) and shapes.is_upright(o.pose)]
    areas = {o.name: shapes.footprint(things.models[o.model], o.pose).buffer(-TOUCHING) for o in standing}
    for one, other in itertools.combinations(standing, 2):
        (low, high), (bottom, top) = (shapes.heights(things.models[o.model], o.pose) for o in (one, other))
        if min(high, top) - max(low, bottom) < TOUCHING or not areas[one.name].intersects(areas[other.name]):
            continue
        lower, upper = (one, other) if low <= bottom else (other, one)
        holder = things.models[lower.model]
        place = holder.cavity or holder.top
        if place is None or not shapely.covers(shapes.placed(place.polygon, lower.pose), areas[upper.name]):
            yield one.name, other.name


def said_twice(tasks: Iterable[SuiteTask]) -> ConfigurationError | None:
    """Return the error for a text that two tasks of one scene have with different goals; None if there is none."""
    known: dict[str, SuiteTask] = {}
    for task in tasks:
        for variant, text in task.texts.items():
            other = known.setdefault(text.lower(), task)
            if other.tree != task.tree:
                return task.error(f"instruction.{variant}", text, f"words that do not also ask for '{other.name}'")
    return None
