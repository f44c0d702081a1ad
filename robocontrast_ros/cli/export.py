"""`robocontrast export`: a run in the formats of others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from robocontrast_ros.cli.terminal import Console
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.runs.run_folder import RunFolder


def export(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    form: Annotated[str, typer.Option("--format", help="video: an MP4 file a trial, and a grid a perturbation.")],
    to: Annotated[
        Path | None, typer.Option(help="Folder to write into; videos are in videos/ of the run folder by default.")
    ] = None,
) -> None:
    """Write a run in the formats of others: videos of its trials.

    `robocontrast report` links videos that are in videos/ of the run folder.
    """
    folder, console = RunFolder.open(run), Console()
    from robocontrast_ros.analysis.estimates.results import compute_results
    from robocontrast_ros.analysis.estimates.test_set import draw_test_set
    from robocontrast_ros.analysis.export.formats import FORMATS, Export
    from robocontrast_ros.cli.runs import runs_of_policies
    from robocontrast_ros.runs.journal import read_begun

    if form not in FORMATS:
        raise ConfigurationError("command line", "--format", form, f"one of {', '.join(FORMATS)}")
    folders = runs_of_policies(folder)
    for each in folders:
        results = compute_results(read_begun(each.journal), draw_test_set(each))
        own = to if to is None or len(folders) == 1 else to / each.name
        FORMATS[form](Export(each, results, own, None, console.track, console.say))
