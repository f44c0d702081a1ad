"""`robocontrast train`: train policies by a recipe, showing progress lines with the time."""

from __future__ import annotations

import os
import shlex
import time
from pathlib import Path

from rich.console import Console

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.configuration.files import find_file


def train_policy(recipe: str, output: Path, processes: int | None, console: Console) -> None:
    """Train by a recipe and print how to evaluate the policies.

    Args:
        recipe: name in config/training/, or path of a file.
        output: folder in which the training's folder is, named after the recipe.
        processes: that make demonstrations; one per processor when None.
        console: where progress is shown.

    Raises:
        ConfigurationError: the recipe does not fit, or PyTorch is not installed.
    """
    file = find_file("training", recipe, "command line", "RECIPE", Path.cwd())
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise ConfigurationError(
            "command line",
            "RECIPE",
            recipe,
            "PyTorch, which training needs",
            f"Install the extra `learned` (docs/film_bc.md). Python says: {error}.",
        ) from None
    from robocontrast_ros.training.recipes import train

    processes = processes or len(os.sched_getaffinity(0))
    trained = train(
        file,
        output / file.stem,
        processes,
        lambda line: console.print(f"{time.strftime('%H:%M:%S')} {line}", soft_wrap=True),
    )
    for policy in trained.policies:
        console.print(
            shlex.join(["robocontrast", "evaluate", trained.session, "--policy", str(policy)]), soft_wrap=True
        )
    console.print(f"model card: {trained.card}", soft_wrap=True)
