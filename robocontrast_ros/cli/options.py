"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

SETTING = "setup.position_tolerance=0.01"
"""An example of a setting of a session, for help and errors."""

SessionArgument = Annotated[
    str | None,
    typer.Argument(help="Name of a session in config/sessions/, or path of a .yaml file.", show_default=False),
]
RobotOption = Annotated[str | None, typer.Option(help="Name in config/robots/, or path of a .yaml file.")]
PolicyOption = Annotated[str | None, typer.Option(help="Name in config/policies/, or path of a .yaml file.")]
BudgetOption = Annotated[float | None, typer.Option(help="Budget K in the session's unit of cost; inf for no budget.")]
SeedOption = Annotated[int | None, typer.Option(help="Seed of every random draw.")]
TrialsOption = Annotated[int | None, typer.Option(help="Maximum number of trials.")]
ServerOption = Annotated[
    str | None,
    typer.Option(
        help="`external`: wait for a policy server that runs elsewhere (robocontrast serve); `composed`: run it in the "
        "process of rollout, which is faster."
    ),
]
FastOption = Annotated[
    bool | None,
    typer.Option(
        "--fast/--graph",
        help="Run in one process without ROS, much faster: the same trials, scores and bags.",
        show_default=False,
    ),
]
RepeatsOption = Annotated[int | None, typer.Option(help="Repeats of each instance.")]
SizeOption = Annotated[int | None, typer.Option(help="Number of test instances.")]
StrategyOption = Annotated[
    str | None,
    typer.Option(help="Strategy that chooses the trials; one without perturbations ignores those of the session."),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Any other key of the session's file (dotted) and its value in YAML, such as "
        f"{SETTING}. May be given several times.",
        show_default=False,
    ),
]
OutputOption = Annotated[str | None, typer.Option(help="Parent folder of the run folder.")]
NamespaceOption = Annotated[
    str,
    typer.Option(help="ROS namespace of all nodes, so that several robots can share a domain.", show_default=False),
]
BoardOption = Annotated[
    Path | None,
    typer.Option(
        help="YAML file of the board: columns, rows, square [m], tag [m], first_tag; else 5x7 squares of 32 mm.",
        show_default=False,
    ),
]
