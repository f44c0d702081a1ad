"""A recipe leads from nothing to policies and their model card; its file names the plug-in that reads it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import yaml

from robocontrast_ros.configuration import ConfigurationError, dump_record, load_configured, load_record

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
    """How policies are trained.

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
            folder: of demonstrations and checkpoints; what it contains already is not made again.
            processes: number that make demonstrations.
            say: receives lines of progress.

        Raises:
            ConfigurationError: a file that the recipe names does not fit.
        """


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
