"""A recipe makes policies and their model card; its file names the plug-in that reads it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import yaml
from typing_extensions import Self

from robocontrast_ros.configuration import ConfigurationError, dump_record, load_configured, load_record
from robocontrast_ros.policies.vocabulary import write_vocabulary
from robocontrast_ros.training.card import Card
from robocontrast_ros.training.progress import TimeLeft
from robocontrast_ros.training.shards import Parameters, Stored, make_shards

if TYPE_CHECKING:
    from robocontrast_ros.training.epochs import EpochTrainer

Say = Callable[[str], None]
"""Receives lines of progress."""


@dataclass(frozen=True)
class Trained:
    """The products of a recipe.

    Attributes:
        policies: parameter files.
        card: the model card of all.
        session: name of a short session that runs each of them.
    """

    policies: tuple[Path, ...]
    card: Path
    session: str


class Recipe(Protocol):
    """The training of some policies.

    Attributes:
        parameters: the record of the recipe's file.
    """

    parameters: Any

    @classmethod
    def from_file(cls, path: Path) -> Recipe:
        """Return the recipe that a file describes.

        Raises:
            ConfigurationError: the file, or one that it names, does not fit.
        """

    def train(self, folder: Path, processes: int, say: Say) -> Trained:
        """Follow the recipe: demonstrations, networks, checkpoints, parameter files and a model card.

        Args:
            folder: of demonstrations and checkpoints; files in it are not made again.
            processes: number that make demonstrations.
            say: receives lines of progress.

        Raises:
            ConfigurationError: a file that the recipe names does not fit.
        """


class RecipeFile:
    """Base of a recipe, whose constructor loads the files that its file names.

    Attributes:
        PARAMETERS: the record of its file.
        parameters: the content of the file.
    """

    PARAMETERS: ClassVar[type]
    parameters: Any

    def __init__(self, path: Path, parameters: Any) -> None:
        """Take the file and its content.

        Raises:
            ConfigurationError: a file that it names does not fit.
        """
        self.parameters, self._path = parameters, path

    @classmethod
    def from_file(cls, path: Path) -> Self:
        """Return the recipe that a file describes; see ``Recipe``."""
        return cls(path, load_record(cls.PARAMETERS, path))


@dataclass(frozen=True)
class Work:
    """A folder in which a recipe is followed; files in it are not made again.

    Attributes:
        folder: of demonstrations, checkpoints, parameter files and the model card.
        processes: number that make demonstrations.
        say: receives lines of progress.
        measured: validation of each network, by its name.
    """

    folder: Path
    processes: int
    say: Say
    measured: dict[str, dict[str, float]] = field(default_factory=dict)

    def shards(self, name: str, make: Callable[[Parameters, int], Stored], parameters: Parameters) -> list[Path]:
        """Return all shards of a kind, see ``make_shards``; make the missing ones, with a line of progress after each.

        Args:
            name: of their folder.
            make: returns the shard of a number.
            parameters: its first argument.
        """
        folder = self.folder / name
        missing = parameters.shards - len(list(folder.glob("shard*.npz")))
        left = TimeLeft(missing)
        for number, _ in enumerate(make_shards(make, parameters, folder, self.processes), start=1):
            done = parameters.shards - missing + number
            self.say(f"{name}: {done} of {parameters.shards} shards, {left.after(number)}")
        return sorted(folder.glob("shard*.npz"))

    def network(self, name: str, trainer: EpochTrainer[Any]) -> str:
        """Train and validate a network; return its checkpoint, relative to the folder."""
        self.say(f"{name}: {trainer.counted}")
        trainer.run(self.folder / name, self.say)
        self.measured[name] = trainer.validate()
        return f"{name}/{trainer.CHECKPOINT}"

    def vocabulary(self, expressions: Iterable[str]) -> str:
        """Write the words of the training for the key ``vocabulary``; return the file, relative to the folder."""
        return write_vocabulary(self.folder, expressions).name

    def policy(self, plugin: str, name: str, **keys: Any) -> Path:
        """Write a policy's parameter file beside the folders of its checkpoints; return it."""
        path = self.folder / f"{name}.yaml"
        path.write_text(yaml.safe_dump({"policy": plugin, "name": name, **keys}, sort_keys=False), encoding="utf-8")
        return path

    def trained(
        self, policies: Sequence[Path], session: str, recipe: str, card: Card, data: Mapping[str, Any]
    ) -> Trained:
        """Write the model card, and its numbers as ``card.json``; return the products.

        Args:
            policies: parameter files.
            session: name of a short session that runs each of them.
            recipe: name of the recipe's file.
            card: content of the card.
            data: numbers of the networks' training data.
        """
        file = self.folder / "README.md"
        file.write_text(card.text(recipe, self.measured), encoding="utf-8")
        numbers = {"data": data, "validation": self.measured}
        (self.folder / "card.json").write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")
        return Trained(tuple(policies), file, session)


def train(recipe_file: Path, folder: Path, processes: int, say: Say) -> Trained:
    """Follow the recipe of a file such as config/training/film_bc.yaml; every part can be resumed.

    Raises:
        ConfigurationError: as ``Recipe``, or the folder belongs to another recipe.
    """
    recipe: Recipe = load_configured("recipes", recipe_file)
    folder.mkdir(parents=True, exist_ok=True)
    _claim(folder, recipe.parameters, recipe_file)
    return recipe.train(folder, processes, say)


def _claim(folder: Path, parameters: Any, recipe_file: Path) -> None:
    """Write the recipe into the folder, or refuse a folder of another recipe."""
    begun = folder / "recipe.yaml"
    if begun.exists() and load_record(type(parameters), begun) != parameters:
        raise ConfigurationError(
            str(recipe_file),
            "",
            "another recipe than before",
            f"the recipe that was begun in {folder}, {begun}",
            "Name another folder with --output, or remove this one.",
        )
    begun.write_text(yaml.safe_dump(dump_record(parameters), sort_keys=False), encoding="utf-8")
