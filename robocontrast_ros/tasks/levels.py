"""Levels of generalisation: the distance of a test instance from a policy's training (seed 004, section III).

A file of ``config/levels/`` declares the content of training, and the new parts in the instances of each level. The
level of an instance follows from the content of training alone, whatever drew the instance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from pydantic import Field

from robocontrast_ros.configuration import ConfigurationError, load_configured, load_record, record
from robocontrast_ros.configuration.files import find_file, known_names
from robocontrast_ros.domain import TestInstance
from robocontrast_ros.tasks.protocol import Task

Looks = Mapping[str, tuple[str, str]]
"""Model -> shape and colour: ``Task.looks``."""


class Level(str, Enum):
    """Distance of an instance from training; each level is farther than the one before."""

    PLACEMENT = "L1"
    """Everything was seen in training, at other places."""
    COMBINATION = "L2"
    """Every shape and every colour was seen, but not this shape in this colour."""
    NOVEL = "L3"
    """A shape, a colour or a word was not seen."""
    TASK = "L4"
    """The family of instructions was not seen."""


@record
class SplitRecord:
    """A set of instances, as a file declares it."""

    task: str = Field(default="", description="task that these things belong to; empty for the task of the file")
    families: tuple[str, ...] = Field(default=(), description="families of instructions; none named: all of the task")
    objects: tuple[str, ...] = Field(
        default=(), description="models, or shapes for all of their colours; none named: all of the task"
    )
    words: tuple[str, ...] = Field(default=(), description="of a test set: words that never occur in training")


@record
class LevelsRecord:
    """A file of config/levels/."""

    task: str = Field(min_length=1, description="task, by name or file")
    policies: tuple[str, ...] = Field(default=(), description="names of the policies that were trained so")
    train: SplitRecord
    tests: dict[Level, SplitRecord] = Field(
        description="level -> the things and words that are new in it; L1 has none, so it names those of training"
    )

    def __post_init__(self) -> None:
        if self.train.words:
            raise ValueError("words of a test set; training has those of its task")


@dataclass(frozen=True)
class Split:
    """A set of instances.

    Attributes:
        families: families of instructions.
        looks: shape and colour of everything in its scenes.
        words: of a test set, words that training never used.
    """

    families: frozenset[str]
    looks: frozenset[tuple[str, str]]
    words: frozenset[str] = frozenset()

    @property
    def shapes(self) -> frozenset[str]:
        """The shapes."""
        return frozenset(shape for shape, _ in self.looks)

    @property
    def colours(self) -> frozenset[str]:
        """The colours."""
        return frozenset(colour for _, colour in self.looks)


@dataclass(frozen=True)
class Levels:
    """The content of training, and the new parts in the instances of each level.

    Attributes:
        name: of the file.
        policies: names of the policies with this training.
        train: the content of training.
        tests: level -> its new parts, without the levels for which training left nothing.
    """

    name: str
    policies: tuple[str, ...]
    train: Split
    tests: Mapping[Level, Split]

    @classmethod
    def from_file(cls, path: Path) -> Levels:
        """Return the levels that a file declares.

        Raises:
            ConfigurationError: the file does not fit, or parts that it calls new are not new, or not in the way of
                their level.
        """
        source, declared = str(path), load_record(LevelsRecord, path)
        tasks: dict[str, Task] = {}

        def split(said: SplitRecord, key: str) -> Split:
            name = said.task or declared.task
            if name not in tasks:
                file = find_file("tasks", name, source, f"{key}.task" if said.task else "task", path.parent)
                tasks[name] = load_configured("tasks", file)
            return _split(said, tasks[name], source, key)

        train = split(declared.train, "train")
        tests = {level: split(said, f"tests.{level.value}") for level, said in declared.tests.items()}
        for level, test in tests.items():
            reason = _misplaced(level, test, train)
            if reason:
                expected = f"what is new to training as {level.value} says"
                raise ConfigurationError(source, f"tests.{level.value}", reason, expected)
        return cls(path.stem, declared.policies, train, tests)


def level_of(instance: TestInstance, trained: Levels, looks: Looks) -> Level:
    """Return the level of an instance for a policy with this training.

    Everything in its scene counts, named or not, because a policy sees all of it.

    Args:
        instance: the instance.
        trained: the levels with the content of training.
        looks: of the instance's task.

    Raises:
        KeyError: something in the scene has no look.
    """
    train, said = trained.train, f" {instance.instruction.text} "
    if instance.instruction.family not in train.families:
        return Level.TASK
    seen = {looks[o.model] for o in instance.scene}
    unsaid = {word for test in trained.tests.values() for word in test.words}
    if any(f" {word} " in said for word in unsaid) or any(
        shape not in train.shapes or colour not in train.colours for shape, colour in seen
    ):
        return Level.NOVEL
    return Level.PLACEMENT if seen <= train.looks else Level.COMBINATION


def levels_naming(policy: str) -> Levels | None:
    """Return the shipped levels that name a policy as trained for them; None if none does.

    Raises:
        ConfigurationError: a file does not fit.
    """
    files = known_names("levels").values()
    found = (path for path in files if policy in load_record(LevelsRecord, path).policies)
    path = next(found, None)
    return None if path is None else Levels.from_file(path)


def known_levels() -> tuple[Levels, ...]:
    """Return the shipped levels."""
    return tuple(Levels.from_file(path) for path in known_names("levels").values())


def _split(said: SplitRecord, task: Task, source: str, key: str) -> Split:
    if task.looks is None:
        raise ConfigurationError(source, "task", task.name, "a task whose things have a shape and a colour")
    for index, family in enumerate(said.families):
        if family not in task.families:
            raise ConfigurationError.unknown(source, f"{key}.families.{index}", family, task.families, "family")
    looks = task.looks
    known = dict.fromkeys((*looks, *(shape for shape, _ in looks.values())))
    for index, name in enumerate(said.objects):
        if name not in known:
            raise ConfigurationError.unknown(source, f"{key}.objects.{index}", name, known, "object")
    chosen = {look for model, look in looks.items() if not said.objects or {model, look[0]} & set(said.objects)}
    return Split(frozenset(said.families or task.families), frozenset(chosen), frozenset(said.words))


def _misplaced(level: Level, test: Split, train: Split) -> str:
    """Return why the declared parts of a level are not of that level; empty if they are."""
    both = sorted("_".join(filter(None, reversed(look))) for look in test.looks & train.looks)
    new = [look for look in test.looks if look[0] not in train.shapes or look[1] not in train.colours]
    match level:
        case Level.PLACEMENT if not (test.looks <= train.looks and test.families <= train.families):
            return "things or families that training has not"
        case Level.COMBINATION if both:
            return f"{', '.join(both)}, which training has"
        case Level.COMBINATION if new:
            return f"{'_'.join(filter(None, reversed(min(new))))}, of which training lacks the shape or the colour"
        case Level.NOVEL if not test.words and len(new) < len(test.looks):
            return "a shape and a colour that training has"
        case Level.TASK if test.families & train.families:
            return f"{', '.join(sorted(test.families & train.families))}, which training has"
    return ""
