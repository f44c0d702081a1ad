"""`robocontrast sensitivity`: the conditions that a policy's successes have."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from robocontrast_ros.cli.terminal import Console
from robocontrast_ros.configuration import ConfigurationError


def sensitivity(
    runs: Annotated[list[Path], typer.Argument(help="Run folders with trials whose conditions were drawn.")],
    to: Annotated[Path | None, typer.Option(help="Folder for the table, as CSV, and a figure a condition.")] = None,
    bins: Annotated[int, typer.Option(help="Bins of a condition that is a number.", min=2)] = 6,
    condition: Annotated[
        list[str] | None, typer.Option(help="Name of a condition, such as camera_distance_m; all if left out.")
    ] = None,
    neural: Annotated[
        bool, typer.Option("--neural", help="Estimate by the package sbi, too; minutes a condition.")
    ] = False,
) -> None:
    """Show which conditions successes have: the posterior given success over the prior of camera pose, light, places.

    A condition is a number, or a name, that differs among the proofs of a perturbation's trials, such as those of
    `camera_pose`, `looks` and `object_poses`.
    """
    from robocontrast_ros.analysis.estimates.sensitivity import VALUES, sensitivity_of
    from robocontrast_ros.analysis.tables.sensitivity import sensitivity_block, write_sensitivity
    from robocontrast_ros.analysis.tables.terminal import tables
    from robocontrast_ros.cli.runs import results_of_distinct, write_files

    if neural and find_spec("sbi") is None:
        cure = "Install the extra `neural`: `pip install sbi`."
        raise ConfigurationError("command line", "--neural", "no package `sbi`", "the paper's neural estimator", cure)
    console, results, known = Console(), results_of_distinct(runs), set()
    for run, result in zip(runs, results, strict=True):
        names = {each.name for each in sensitivity_of([result])}
        if not names:
            raise ConfigurationError(
                "command line",
                "RUNS",
                str(run),
                f"a run with trials that count and whose proofs have a measure of {VALUES} or more values",
                "Name `camera_pose`, `looks` or `object_poses` among the session's perturbations.",
            )
        known |= names
    for name in condition or ():
        if name not in known:
            raise ConfigurationError.unknown("command line", "--condition", name, sorted(known), "recorded condition")
    found = sensitivity_of(results, bins, condition or (), neural)
    console.print(tables([sensitivity_block(found)]))
    if to is not None:
        # matplotlib takes a second to import.
        from robocontrast_ros.analysis.figures.sensitivity import drawings_of

        write_files(to, partial(write_sensitivity, found), drawings_of(found), console)
