"""Files of the suite: a scene at rest, and the tasks that are given in it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field

from robocontrast_ros.configuration import ConfigurationError, record
from robocontrast_ros.configuration.loading import parse_record, read_yaml
from robocontrast_ros.domain import PART, Instruction, ObjectState, Pose, Scene
from robocontrast_ros.system.disk import write_file
from robocontrast_ros.tasks.bddl import Atom
from robocontrast_ros.tasks.composed import Group, Mode, Tree, leaves, subtasks
from robocontrast_ros.tasks.protocol import Profile
from robocontrast_ros.tasks.suite.attributes import ATTRIBUTES, Difficulty, difficulty
from robocontrast_ros.tasks.suite.predicates import WORDS

VARIANTS = ("default", "vague", "specific")
"""How much an instruction says (seed 002): as people say it, with less, with colours, parts and sides."""

TASK = "task"
"""Argument of an instruction: name of its task."""

SAID = {"on your left": "left", "on your right": "right", "nearest to you": "nearest", "farthest from you": "farthest"}
"""End of an expression -> the place that it says."""

_NAME = re.compile(r"\w+", re.ASCII)

_KEYS = {predicate: key for key, predicate in WORDS.items()}


@record
class Variants:
    """The words of a task."""

    default: str = Field(min_length=1, description="as people say it")
    vague: str = Field(min_length=1, description="with a category or a purpose in place of names")
    specific: str = Field(min_length=1, description="with colours, sizes, places and manner")

    @property
    def texts(self) -> Mapping[str, str]:
        """Variant -> text."""
        return {name: getattr(self, name) for name in VARIANTS}


@record
class TaskRecord:
    """A task in a scene."""

    instruction: Variants = Field(description="its words")
    attributes: tuple[str, ...] = Field(default=(), description="what it asks of a policy")
    words: dict[str, tuple[str, ...]] = Field(
        default_factory=dict, description="expression in the words -> names of all the things that it fits"
    )
    goal: Any = Field(description="predicates of things, joined by all, any, choose and sequence")
    arms: tuple[str, ...] = Field(
        default=(), description="robots whose oracle solves it in nine of ten draws; not known"
    )


@record
class ThingRecord:
    """A thing of a scene."""

    model: str = Field(min_length=1, description="its model in the object library")
    pose: tuple[float, float, float, float, float, float, float] = Field(
        description="x, y, z [m] and the quaternion x, y, z, w, in the frame `world`"
    )

    def __post_init__(self) -> None:
        if not abs(math.hypot(*self.pose[3:]) - 1.0) <= 1e-3:
            raise ValueError("pose of three finite numbers and a quaternion of length 1")


@record
class SceneRecord:
    """A scene file."""

    physics: str = Field(min_length=1, description="the physics engine that settled it, with its version")
    things: dict[str, ThingRecord] = Field(min_length=1, description="name -> thing, table, background and light too")
    tasks: dict[str, TaskRecord] = Field(min_length=1, description="name -> task")


@dataclass(frozen=True)
class SuiteTask:
    """A task of the suite.

    Attributes:
        name: that of its file, and its own in it: ``pantry/cola_in_basket``.
        file: its file.
        scene: as it is stored.
        texts: variant -> words.
        words: expression in the texts -> names of all the things that it fits.
        attributes: names of attributes.
        tree: what shall hold at the end.
        arms: robots whose oracle solves it in nine of ten draws; empty if that was not tried.
        difficulty: what follows from the attributes and the tree.
    """

    name: str
    file: Path
    scene: Scene
    texts: Mapping[str, str]
    words: Mapping[str, tuple[str, ...]]
    attributes: tuple[str, ...]
    tree: Tree[Atom]
    arms: tuple[str, ...]
    difficulty: Difficulty

    def instruction(self, variant: str = "default") -> Instruction:
        """Return its instruction in one of its variants.

        Raises:
            KeyError: there is no such variant.
        """
        return Instruction(self.texts[variant], self.difficulty.label, ((TASK, self.name),))

    @property
    def profile(self) -> Profile:
        """What it asks of a policy."""
        axes = {name: ATTRIBUTES[name].axis for name in self.attributes}
        subtasks, score, label = self.difficulty
        return Profile(
            attributes=axes,
            difficulty=label,
            score=score,
            subtasks=subtasks,
            texts=self.texts,
            object_words={variant: self._object_words(text) for variant, text in self.texts.items()},
        )

    def _object_words(self, text: str) -> tuple[str, ...]:
        """Return the words of the expressions that a text says, also in the plural; those of places are left out."""
        said = [phrase for phrase in self.words if re.search(rf"\b{re.escape(phrase)}(e?s)?\b", text, re.IGNORECASE)]
        for end in SAID:
            said = [phrase.removesuffix(f" {end}") for phrase in said]
        return tuple(dict.fromkeys(" ".join(said).lower().split()))

    @property
    def handled(self) -> tuple[str, ...]:
        """Names of the things that a robot moves for it, in the order of its tree."""
        return tuple(dict.fromkeys(atom.arguments[0] for atom in leaves(self.tree)))

    @property
    def named(self) -> tuple[str, ...]:
        """Names of all the things that its goal is about."""
        return tuple(dict.fromkeys(name for atom in leaves(self.tree) for name in atom.arguments))

    def error(self, key: str, got: object, expected: str, cure: str = "") -> ConfigurationError:
        """Return the error for a key of the task."""
        return ConfigurationError(
            str(self.file), f"tasks.{self.name.partition('/')[2]}.{key}".rstrip("."), got, expected, cure
        )


def scene_files(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield files, and the YAML files of folders by name.

    Raises:
        ConfigurationError: there is no such file, or a folder without any.
    """
    for path in paths:
        found = sorted(path.glob("*.yaml")) if path.is_dir() else [path]
        if not found or not path.exists():
            raise ConfigurationError(str(path), "", "nothing", "a scene file, or a folder of them", "Check the path.")
        yield from found


def is_scene(path: Path) -> bool:
    """Return whether a YAML file is meant as a scene with tasks, and not as a task file or a problem of the kitchen.

    Raises:
        ConfigurationError: it cannot be read as YAML.
    """
    content = read_yaml(path)
    return isinstance(content, dict) and "task" not in content and bool(content.keys() & {"things", "tasks"})


def read_scene(path: Path) -> tuple[SuiteTask, ...]:
    """Return the tasks of a scene file; what they say is not yet compared with its scene.

    Raises:
        ConfigurationError: the file cannot be read, or a key of it is wrong.
    """
    source, content = str(path), read_yaml(path)
    said = parse_record(SceneRecord, content, source)
    for key, name in (*(("things", name) for name in said.things), *(("tasks", name) for name in said.tasks)):
        words = name.split(PART, 1 if key == "things" else 0)
        if not all(map(_NAME.fullmatch, words)):
            part = f", or OBJECT{PART}PART for a moving part" if key == "things" else ""
            raise ConfigurationError(source, key, name, f"a name of letters, digits and `_`{part}")
    scene = Scene(tuple(ObjectState(n, t.model, Pose(t.pose[:3], t.pose[3:])) for n, t in said.things.items()))
    found = []
    for name, task in said.tasks.items():
        key = f"tasks.{name}"
        for index, attribute in enumerate(task.attributes):
            where = f"{key}.attributes.{index}"
            if attribute not in ATTRIBUTES:
                raise ConfigurationError.unknown(source, where, attribute, ATTRIBUTES, "attribute")
            if attribute in task.attributes[:index]:
                raise ConfigurationError(source, where, attribute, "each attribute once")
        tree = parse_tree(task.goal, source, f"{key}.goal")
        level = difficulty(subtasks(tree), task.attributes)
        found.append(
            SuiteTask(
                f"{path.stem}/{name}",
                path,
                scene,
                task.instruction.texts,
                task.words,
                task.attributes,
                tree,
                task.arms,
                level,
            )
        )
    return tuple(found)


def parse_tree(content: Any, source: str, key: str) -> Tree[Atom]:
    """Return the tree of a goal: ``{in: [apple, bowl]}``, ``{all: […]}``, ``{choose: 2, of: […]}``.

    Args:
        content: of the file.
        source: the file, for errors.
        key: the goal's key there, for errors.

    Raises:
        ConfigurationError: it is no goal.
    """
    if not isinstance(content, dict) or not content:
        modes = ", ".join(mode.value for mode in Mode)
        raise ConfigurationError(source, key, content, f"a predicate and its things, or one of {modes}")
    count = 0
    if Mode.CHOOSE.value in content:
        mode, parts, where = Mode.CHOOSE, content.get("of"), f"{key}.of"
        count = content[Mode.CHOOSE.value]
        extra = content.keys() - {Mode.CHOOSE.value, "of"}
    else:
        (head, parts), *others = content.items()
        extra = {str(other) for other, _ in others}
        where = f"{key}.{head}"
        if head not in [mode.value for mode in Mode]:
            if extra:
                raise ConfigurationError(source, key, sorted(content), "one key", "Join several with `all`.")
            return _atom(head, parts, source, key)
        mode = Mode(head)
    if extra:
        raise ConfigurationError(source, key, sorted(content), "one key; `choose` has `of` beside it")
    if not isinstance(parts, list) or len(parts) < 2:
        raise ConfigurationError(source, where, parts, "a list of at least two goals")
    if mode is Mode.CHOOSE and not (type(count) is int and 1 <= count < len(parts)):
        raise ConfigurationError(
            source, f"{key}.choose", count, f"a number from 1 to {len(parts) - 1}", "Else use `all`."
        )
    return Group(mode, tuple(parse_tree(part, source, f"{where}.{k}") for k, part in enumerate(parts)), count)


def _atom(head: Any, names: Any, source: str, key: str) -> Atom:
    if head not in WORDS:
        raise ConfigurationError.unknown(source, key, str(head), [*WORDS, *(m.value for m in Mode)], "predicate")
    things = [names] if isinstance(names, str) else names
    if not isinstance(things, list) or not things or not all(isinstance(name, str) for name in things):
        raise ConfigurationError(source, f"{key}.{head}", names, "names of things")
    return Atom(WORDS[head], tuple(things))


def tree_content(tree: Tree[Atom]) -> dict[str, Any]:
    """Return a tree as a file has it; ``parse_tree`` reads it back."""
    if not isinstance(tree, Group):
        return {_KEYS[tree.predicate]: list(tree.arguments)}
    parts = [tree_content(part) for part in tree.parts]
    return {"choose": tree.count, "of": parts} if tree.mode is Mode.CHOOSE else {tree.mode.value: parts}


def scene_content(scene: Scene) -> dict[str, Any]:
    """Return the things of a scene as a file has them: positions to a micrometre, which is still at rest."""
    return {
        state.name: {
            "model": state.model,
            "pose": [round(number, 6) + 0.0 for number in (*state.pose.position, *state.pose.orientation)],
        }
        for state in scene
    }


def write_scene(path: Path, content: Mapping[str, Any]) -> None:
    """Write a scene file, lists of plain values on one line.

    Raises:
        DiskError: the file cannot be written.
    """
    write_file(path, yaml.safe_dump(dict(content), sort_keys=False, default_flow_style=None, width=120))


def by_name(tasks: Iterable[SuiteTask]) -> dict[str, SuiteTask]:
    """Return tasks by name.

    Raises:
        ConfigurationError: two have one name.
    """
    found: dict[str, SuiteTask] = {}
    for task in tasks:
        if task.name in found:
            raise task.error("", task.name, f"a name that no other task has; {found[task.name].file} has it")
        found[task.name] = task
    return found
