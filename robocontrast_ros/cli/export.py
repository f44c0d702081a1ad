"""`robocontrast export`: a run in the formats of others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from robocontrast_ros.cli.terminal import Console, refused
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.runs.run_folder import RunFolder


def export(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    form: Annotated[
        str,
        typer.Option(
            "--format",
            help="video: an MP4 file a trial, and a grid a perturbation; lerobot: a LeRobotDataset v3.0; trackio: "
            "scores in the store of Trackio.",
        ),
    ],
    to: Annotated[
        Path | None, typer.Option(help="Folder to write into; videos are in videos/ of the run folder by default.")
    ] = None,
    control: Annotated[
        Path | None, typer.Option(help="Run folder of a control, whose success eval_info.json of lerobot has beside.")
    ] = None,
) -> None:
    """Write a run in the formats of others: videos, a data set of LeRobot with its eval_info.json, or Trackio's store.

    `robocontrast report` links videos that are in videos/ of the run folder.
    """
    folder, console = RunFolder.open(run), Console()
    from robocontrast_ros.analysis.estimates.comparison import ComparisonError, check_match
    from robocontrast_ros.analysis.estimates.results import compute_results
    from robocontrast_ros.analysis.estimates.test_set import draw_test_set
    from robocontrast_ros.analysis.export.formats import FORMATS, Export
    from robocontrast_ros.cli.runs import runs_of_policies
    from robocontrast_ros.runs.journal import read_begun

    if form not in FORMATS:
        raise ConfigurationError("command line", "--format", form, f"one of {', '.join(FORMATS)}")
    if control is not None and form != "lerobot":
        raise ConfigurationError("command line", "--control", str(control), "nothing, for this format")
    other = None
    if control is not None:
        of_control = RunFolder.open(control)
        other = compute_results(read_begun(of_control.journal), draw_test_set(of_control))
    folders = runs_of_policies(folder)
    for each in folders:
        results = compute_results(read_begun(each.journal), draw_test_set(each))
        if other is not None:
            try:
                check_match(results, other)
            except ComparisonError as error:
                raise refused(error) from None
        own = to if to is None or len(folders) == 1 else to / each.name
        FORMATS[form](Export(each, results, own, other, console.track, console.say))
