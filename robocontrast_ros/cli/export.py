"""`robocontrast export`: a run, or the models of a task, in the formats of others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from robocontrast_ros.cli.terminal import Console, refused
from robocontrast_ros.configuration import ConfigurationError, load_configured
from robocontrast_ros.configuration.files import find_file
from robocontrast_ros.runs.run_folder import RunFolder


def export(
    source: Annotated[str, typer.Argument(metavar="RUN", help="Run folder; for sdf, urdf and usd a task.")],
    form: Annotated[
        str,
        typer.Option(
            "--format",
            help="video: an MP4 file a trial, and a grid a perturbation; lerobot: a LeRobotDataset v3.0; trackio: "
            "scores in the store of Trackio; sdf, urdf, usd: the models of a task's objects, for a simulator of "
            "others.",
        ),
    ],
    to: Annotated[
        Path | None,
        typer.Option(
            help="Folder to write into; by default videos are in videos/ of the run folder, models in models/."
        ),
    ] = None,
    control: Annotated[
        Path | None, typer.Option(help="Run folder of a control, whose success eval_info.json of lerobot has beside.")
    ] = None,
    robot: Annotated[str, typer.Option(help="For sdf, urdf and usd: the robot that touches the objects.")] = "franka",
    friction: Annotated[
        str,
        typer.Option(
            help="For sdf, urdf and usd: how the engine combines the friction of two sides: minimum (DART, ODE: "
            "Gazebo), maximum (MuJoCo), mean (PhysX: Isaac Sim), product (Bullet)."
        ),
    ] = "minimum",
) -> None:
    """Write a run in the formats of others: videos, a data set of LeRobot with its eval_info.json, or Trackio's store.

    Or write the models of a task as SDF, URDF or USD files: `robocontrast export language_table --format sdf`.
    `robocontrast report` links videos that are in videos/ of the run folder.
    """
    from robocontrast_ros.worlds.exported import MODEL_FORMATS

    if form in MODEL_FORMATS:
        _export_models(source, form, to or Path("models"), robot, friction)
        return
    folder, console = RunFolder.open(Path(source)), Console()
    from robocontrast_ros.analysis.estimates.comparison import ComparisonError, check_match
    from robocontrast_ros.analysis.estimates.results import compute_results
    from robocontrast_ros.analysis.estimates.test_set import draw_test_set
    from robocontrast_ros.analysis.export.formats import FORMATS, Export
    from robocontrast_ros.cli.runs import runs_of_policies
    from robocontrast_ros.runs.journal import read_begun

    if form not in FORMATS:
        raise ConfigurationError("command line", "--format", form, f"one of {', '.join((*FORMATS, *MODEL_FORMATS))}")
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


def _export_models(source: str, form: str, to: Path, named: str, friction: str) -> None:
    """Write the models of a task."""
    from robocontrast_ros.robots.profile import load_profile
    from robocontrast_ros.system.disk import writing
    from robocontrast_ros.worlds.exported.surfaces import RULES, NoCounterpart
    from robocontrast_ros.worlds.exported.task import export_task

    if friction not in RULES:
        raise ConfigurationError.unknown("command line", "--friction", friction, RULES, "combination")
    task = load_configured("tasks", find_file("tasks", source, "command line", "RUN", Path.cwd()))
    console = Console()
    try:
        with writing(to), console.status("writing the models"):
            files = list(export_task(task, load_profile(named), form, friction, to))
    except NoCounterpart as error:
        raise ConfigurationError("command line", "--format", form, f"a format for this task: {error}") from None
    console.path(f"{len(files)} models", to)
