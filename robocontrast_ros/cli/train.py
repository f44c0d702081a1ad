"""`robocontrast train`: train policies by a recipe, showing progress lines with the time."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import Annotated

import typer

from robocontrast_ros.cli.terminal import Console
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.configuration.files import find_file


def train(
    recipe: Annotated[str, typer.Argument(help="Name of a recipe in config/training/, or path of a .yaml file.")],
    output: Annotated[
        Path, typer.Option(help="Parent folder of the training's folder; an existing training is resumed.")
    ] = Path("training"),
    processes: Annotated[
        int | None, typer.Option(help="Processes that make demonstrations; by default one per processor.", min=1)
    ] = None,
) -> None:
    """Train a learned policy: demonstrations of the oracle, networks, checkpoints, model card.

    The same command resumes an interrupted training. Exit codes: 0 done, 2 invalid input, 130 Ctrl-C.
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
            f"Install `robocontrast_ros[torch]`, as `make setup` does (docs/film_bc.md). Python says: {error}.",
        ) from None
    from robocontrast_ros.system.processes import processors
    from robocontrast_ros.training.recipes import train as train_policies

    console = Console()
    trained = train_policies(
        file,
        output / file.stem,
        processes or processors(),
        lambda line: console.say(f"{time.strftime('%H:%M:%S')} {line}"),
    )
    for policy in trained.policies:
        console.say(shlex.join(["robocontrast", "evaluate", trained.session, "--policy", str(policy)]))
    console.path("model card", trained.card)
