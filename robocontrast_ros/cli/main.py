"""The commands of `robocontrast` with their options; each calls a module that is imported only when it runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robocontrast_ros.cli.app import app, one_line_errors
from robocontrast_ros.cli.evaluate import evaluate
from robocontrast_ros.cli.options import (
    BoardOption,
    NamespaceOption,
    RobotOption,
)
from robocontrast_ros.cli.plan import plan
from robocontrast_ros.cli.signals import exit_code
from robocontrast_ros.cli.terminal import Console
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.configuration.files import known_names

if TYPE_CHECKING:
    from robocontrast_ros.runs.run_folder import RunFolder


app.command()(one_line_errors(evaluate))
app.command()(one_line_errors(plan))


def _open(run: Path) -> RunFolder:
    """Return a run folder; raise ConfigurationError where it is none."""
    from robocontrast_ros.runs.run_folder import RunFolder

    return RunFolder.open(run)


@app.command()
@one_line_errors
def serve(
    policy: Annotated[str, typer.Argument(help="Name in config/policies/, or path of a .yaml file.")],
    domain: Annotated[
        int | None, typer.Option(help="ROS domain; ROS_DOMAIN_ID, or 0, when left out.", show_default=False)
    ] = None,
    timeout: Annotated[float, typer.Option(help="Time limit of each answer of the policy [s].")] = 10.0,
    load_timeout: Annotated[
        float, typer.Option(help="Time limit of loading the policy, and of warming it up [s].")
    ] = 120.0,
    namespace: NamespaceOption = "",
) -> None:
    """Run only the policy server, for instance on a machine with a GPU, for a session elsewhere.

    Ctrl-C ends it.
    """
    from robocontrast_ros.cli.serve import serve_policy

    serve_policy(policy, domain, timeout, load_timeout, namespace)


@app.command()
@one_line_errors
def console(run: Annotated[Path, typer.Argument(help="Run folder of a session with a console.")]) -> None:
    """Show how the page of the person at the robot is opened: its link, and the QR code of it."""
    from robocontrast_ros.cli.console import show_access

    show_access(run, Console())


@app.command()
@one_line_errors
def swap(
    run: Annotated[Path, typer.Argument(help="Run folder of a session that is running.")],
    policy: Annotated[
        str,
        typer.Argument(help="Name in config/policies/, or path of a .yaml file, on the policy server's machine."),
    ],
) -> None:
    """Swap the policy of a running session, from its next trial on.

    The old policy serves until the new one is loaded, warmed up and known to fit.
    Exit codes: 0 the new policy serves, 1 it was refused, 2 invalid input, 3 the session has ended.
    """
    from robocontrast_ros.cli.swap import swap_policy

    raise typer.Exit(swap_policy(run, policy, Console()))


@app.command()
@one_line_errors
def unblind(
    run: Annotated[Path, typer.Argument(help="Run folder of a blind session.")],
    by: Annotated[str, typer.Option(help="Who opens it before its end.", show_default=False)] = "",
    reason: Annotated[str, typer.Option(help="Why, for the journal.", show_default=False)] = "",
) -> None:
    """Show which policy ran which trial of a blind session, and whether its blinding was kept.

    A session opens by itself at its end. Opened before, its blinding is broken, which the journal keeps; it has to be
    interrupted for that, and can be resumed.
    Exit codes: 0 the blinding was kept, 1 it was not, or is not proved, 2 invalid input.
    """
    from robocontrast_ros.cli.unblind import unblind_run

    raise typer.Exit(unblind_run(run, by, reason, Console()))


@app.command()
@one_line_errors
def correct(
    run: Annotated[Path, typer.Argument(help="Run folder of a session that is not running.")],
    trial: Annotated[str, typer.Argument(help="The trial, by its number as in the tables, for instance 0007.")],
    by: Annotated[str, typer.Option(help="Who corrects it.", show_default=False)],
    reason: Annotated[str, typer.Option(help="Why.", show_default=False)],
    success: Annotated[bool, typer.Option("--success/--failure", help="Whether it is a success.", show_default=False)],
    progress: Annotated[float, typer.Option(help="How far it came, from 0 to 1, where it is a failure.")] = 0.0,
) -> None:
    """Correct how a person, or a camera, judged a trial.

    Its scores are computed anew from its bag. What was judged first stays in the journal. While the session runs, the
    person's page corrects trials.
    """
    from robocontrast_ros.cli.correct import correct_trial
    from robocontrast_ros.domain import Judgement

    correct_trial(run, trial, Judgement(success, 1.0 if success else progress, by), reason, Console())


@app.command()
@one_line_errors
def stop(
    run: Annotated[
        Path | None,
        typer.Argument(
            help="Run folder of a session that is running; when left out, all that run on this machine.",
            show_default=False,
        ),
    ] = None,
    release: Annotated[bool, typer.Option("--release", help="Release the stop, once its cause is gone.")] = False,
    by: Annotated[str, typer.Option(help="Name of the person who releases it.", show_default=False)] = "",
    note: Annotated[str, typer.Option(help="What was wrong, for the log.", show_default=False)] = "",
) -> None:
    """Stop the robot of a session on the wall clock, until a person releases it.

    It takes seconds to find the session: a robot's own emergency stop is at once.
    Exit codes: 0 stopped, or released, 1 the release is refused, 2 invalid input, 3 the watchdog does not answer.
    """
    from robocontrast_ros.cli.stop import release_robot, stop_robot

    if release:
        raise typer.Exit(release_robot(run, by, note, Console()))
    for option, value in (("--by", by), ("--note", note)):
        if value:
            raise ConfigurationError("command line", option, value, "--release beside it")
    raise typer.Exit(stop_robot(run, Console()))


@app.command()
@one_line_errors
def results(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    within: Annotated[
        float | None,
        typer.Option(
            help="Target half-width of the intervals, such as 0.05; prints the sample size for it.",
            min=0.001,
            max=0.5,
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write a run's tables, summary, and missing or outdated pictures from its journal and bags; show the summary."""
    folder = _open(run)
    from robocontrast_ros.cli.results import show_results

    show_results(folder, Console(), within)


@app.command()
@one_line_errors
def score(
    paths: Annotated[list[Path], typer.Argument(help="Run folders, bags and folders of bags.", metavar="RUN|BAG…")],
    task: Annotated[
        Path | None,
        typer.Option(help="Also score under the thresholds of this parameter file of the task.", show_default=False),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Also score with another threshold: a dotted key of the task's file, such as "
            "block_to_block.within=0.04. May be given several times.",
            show_default=False,
        ),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(help="Folder for the scores, as .parquet and .csv.", show_default=False),
    ] = None,
    processes: Annotated[
        int | None,
        typer.Option(help="Processes that score; by default one per processor.", min=1, show_default=False),
    ] = None,
) -> None:
    """Recompute every score from the bags alone, and compare it with the journal if there is one.

    With --task or --set, also score under other thresholds, with bounds where the recording ends too early.
    Exit codes: 0 all scores agree, 1 a score differs or a bag is missing or broken, 2 invalid input, 130 Ctrl-C.
    """
    from robocontrast_ros.cli.score import show_scores

    console = Console()
    try:
        well = show_scores(paths, task, settings or [], to, processes, console)
    except KeyboardInterrupt as stop:
        console.print("stopped")
        raise typer.Exit(exit_code(stop)) from None
    raise typer.Exit(0 if well else 1)


@app.command()
@one_line_errors
def report(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    to: Annotated[
        Path | None, typer.Option(help="HTML file to write; by default report.html in the run folder.")
    ] = None,
) -> None:
    """Write the report of a run: one HTML page with its pictures inside, and figures for papers.

    The page is self-contained. The figures, PDF and PNG, are written to figures/ in the run folder.
    """
    _open(run)
    from robocontrast_ros.cli.report import write_run_report

    write_run_report(run, to, Console())


@app.command()
@one_line_errors
def compare(
    runs: Annotated[list[Path], typer.Argument(help="Run folders; the first is compared with each of the others.")],
    to: Annotated[Path, typer.Option(help="HTML file to write.")] = Path("comparison.html"),
    pictures: Annotated[
        bool, typer.Option(help="Camera frames and maps on the page; without them it takes a few seconds.")
    ] = True,
) -> None:
    """Compare policies trial by trial on the same test set: numbers, one HTML page, and CSV and JSON beside it.

    The runs need the same task and seed; where they do not match, the exit code is 2.
    With an oracle's run as the second, the difference in differences is what a perturbation costs beyond the geometry.
    """
    for run in runs:
        _open(run)
    from robocontrast_ros.cli.compare import write_run_comparison

    write_run_comparison(runs, to, Console(), pictures)


@app.command()
@one_line_errors
def picture(
    bag: Annotated[Path, typer.Argument(help="Bag of a trial: a folder in bags/ of a run folder.")],
    to: Annotated[Path, typer.Option(help="PNG file to write.")] = Path("trial.png"),
) -> None:
    """Draw a recorded trial: camera images and the map."""
    from robocontrast_ros.analysis.figures.trial_picture import draw_trial

    draw_trial(bag, to)
    print(to)


@app.command()
@one_line_errors
def clutter(
    image: Annotated[Path, typer.Argument(help="A picture of any size: the robot's view.")],
    top_image: Annotated[Path | None, typer.Argument(help="The same scene from above.", show_default=False)] = None,
    to: Annotated[Path, typer.Option(help="PNG file to write.")] = Path("clutter.png"),
) -> None:
    """Measure how cluttered a scene looks, by feature congestion, and draw where."""
    from robocontrast_ros.cli.clutter import show_clutter

    show_clutter([image, *([top_image] if top_image else [])], to, Console())


@app.command("print-tags")
@one_line_errors
def print_tags(
    board: BoardOption = None,
    objects: Annotated[
        str | None,
        typer.Option(
            help="Task, such as tabletop, or path of its .yaml file: draw the tags for its objects instead, and write "
            "the YAML file for `operator.tags` beside them.",
            show_default=False,
        ),
    ] = None,
    to: Annotated[
        Path | None, typer.Option(help="PDF or PNG file to write; else board.pdf, or tags.pdf.", show_default=False)
    ] = None,
    family: Annotated[
        str | None,
        typer.Option(
            help="Family of the tags for objects, such as aruco_5x5_250; else apriltag_36h11. That of a board is in "
            "its file.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Draw the board of tags with which a camera is calibrated, or the tags for objects, for print in its true size."""
    from robocontrast_ros.cli.calibrate import print_board, print_object_tags
    from robocontrast_ros.images.tag_families import USUAL

    if objects is None:
        if family is not None:
            cure = f"Write `family: {family}` into a file for --board, which `robocontrast calibrate` takes, too."
            raise ConfigurationError("command line", "--family", family, "nothing, where --objects is not given", cure)
        print_board(board, to or Path("board.pdf"), Console())
        return
    if board is not None:
        raise ConfigurationError("command line", "--board", str(board), "nothing, where --objects is given")
    print_object_tags(objects, to or Path("tags.pdf"), family or USUAL, Console())


@app.command()
@one_line_errors
def calibrate(
    images: Annotated[list[Path], typer.Argument(help="Pictures of the board, with nothing moved between them.")],
    info: Annotated[
        Path,
        typer.Option(
            help="The camera's intrinsics: what `ros2 topic echo --once …/camera_info` prints, or a file of "
            "camera_calibration.",
            show_default=False,
        ),
    ],
    at: Annotated[
        tuple[float, float, float, float],
        typer.Option(
            help="Where the lower left corner of the board is: x, y and z in the world's frame [m], and the angle from "
            "its x axis to the board's lower edge about z [rad]. The board lies flat, with its tags up."
        ),
    ] = (0.0, 0.0, 0.0, 0.0),
    board: BoardOption = None,
    frame: Annotated[str, typer.Option(help="Optical frame of the camera.")] = "camera_color_optical_frame",
    world: Annotated[str, typer.Option(help="Frame of the result.")] = "world",
    to: Annotated[Path, typer.Option(help="YAML file to write.")] = Path("camera.yaml"),
    fixed_tags: Annotated[
        Path | None,
        typer.Option(
            help="YAML file to write the other tags to that lie on the table beside the board, for the session's "
            "`operator.fixed_tags`.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Find out where a camera stands, from pictures of a printed board; with its error."""
    from robocontrast_ros.cli.calibrate import calibrate_camera

    calibrate_camera(images, info, at, board, frame, world, to, fixed_tags, Console())


@app.command("clutter-tables")
@one_line_errors
def clutter_tables(
    runs: Annotated[
        list[Path],
        typer.Argument(help="Run folders with cluttered trials; the first is compared with each of the others."),
    ],
    to: Annotated[
        Path | None,
        typer.Option(help="Folder for the tables, as CSV and LaTeX, and the figures.", show_default=False),
    ] = None,
    bins: Annotated[int, typer.Option(help="Bins by DvFC.", min=1)] = 8,
) -> None:
    """Show how policies do among distractors: success, contacts, grasps and failures, by DvFC, set size and occlusion.

    With several runs, also which policies solve the same scenes, and what changes from the first to each other.
    """
    from robocontrast_ros.cli.clutter_tables import show_clutter_tables

    show_clutter_tables(runs, to, bins, Console())


@app.command()
@one_line_errors
def understanding(
    runs: Annotated[
        list[Path],
        typer.Argument(
            help="Run folders with perturbations of what a policy is told or shown; or one name in "
            "config/understanding/, whose sessions are run first.",
        ),
    ],
    to: Annotated[
        Path | None,
        typer.Option(help="Folder for the tables, as CSV and LaTeX, and the figures.", show_default=False),
    ] = None,
    processes: Annotated[
        int | None, typer.Option(help="Sessions of a check at a time; by default one per processor.", min=1)
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(help="Loss of the share of successes that does not matter; 0.15.", show_default=False),
    ] = None,
    chance: Annotated[
        Path | None,
        typer.Option(
            help="Run folder of the random policy, which measures chance; else `wrong_instruction` does.",
            show_default=False,
        ),
    ] = None,
    no_mistakes: Annotated[
        bool,
        typer.Option(
            "--no-mistakes", help="Add success to which no mistake led to the table of levels, for every condition."
        ),
    ] = False,
) -> None:
    """Does it understand? Whether policies keep their success under plausible perturbations, and lose it under others.

    A policy that succeeds all the same where nobody could know what to do is flagged in red.
    """
    from robocontrast_ros.cli.understanding import run_understanding, show_understanding

    if len(runs) == 1 and not runs[0].is_dir():
        for option, value in (("--margin", margin), ("--chance", chance)):
            if value is not None:
                raise ConfigurationError("command line", option, str(value), "none: a check has its own in its file")
        run_understanding(str(runs[0]), to, processes, Console(), no_mistakes=no_mistakes)
        return
    show_understanding(runs, to, margin, chance, Console(), no_mistakes=no_mistakes)


@app.command()
@one_line_errors
def train(
    recipe: Annotated[str, typer.Argument(help="Name of a recipe in config/training/, or path of a .yaml file.")],
    output: Annotated[
        Path, typer.Option(help="Parent folder of the training's folder; an existing training is resumed.")
    ] = Path("training"),
    processes: Annotated[
        int | None,
        typer.Option(help="Processes that make demonstrations; by default one per processor.", min=1),
    ] = None,
) -> None:
    """Train a learned policy: demonstrations of the oracle, networks, checkpoints, model card.

    The same command resumes an interrupted training. Exit codes: 0 done, 2 invalid input, 130 Ctrl-C.
    """
    from robocontrast_ros.cli.train import train_policy

    train_policy(recipe, output, processes, Console())


@app.command()
@one_line_errors
def study(
    name: Annotated[str, typer.Argument(help="Name of a study in config/studies/, or path of a .yaml file.")],
    output: Annotated[
        Path, typer.Option(help="Parent folder of the study's folder; an existing study is resumed.")
    ] = Path("studies"),
    processes: Annotated[
        int | None, typer.Option(help="Processes that run sessions; by default one per processor.", min=1)
    ] = None,
) -> None:
    """Compare strategies on many test sets in fast simulation: error and trials against cost, and decided claims.

    The same command resumes an interrupted study. Exit codes: 0 done, 1 the study failed, 2 invalid input, 130 Ctrl-C.
    """
    from robocontrast_ros.cli import study as runner
    from robocontrast_ros.studies.job import StudyError

    console = Console()
    try:
        runner.run(name, output, processes, console)
    except KeyboardInterrupt as stop:
        console.print("stopped; the same command resumes it")
        raise typer.Exit(exit_code(stop)) from None
    except StudyError as error:
        print(f"error: {error}", file=sys.stderr)
        raise typer.Exit(1) from None


@app.command()
@one_line_errors
def policies(
    files: Annotated[
        list[str] | None,
        typer.Argument(help="Names in config/policies/, or paths of .yaml files; by default all."),
    ] = None,
    robot: RobotOption = None,
    session: Annotated[
        str | None,
        typer.Option(help="Session whose robot, control rate and cameras the policies must fit.", show_default=False),
    ] = None,
) -> None:
    """List policies: their actions and requirements, the robots they fit, and why they do not fit the others.

    A policy is loaded only if its file does not say enough.
    """
    from robocontrast_ros.cli.policies import show_policies

    show_policies(files or [], robot, session, Console())


@app.command()
@one_line_errors
def objects(
    places: Annotated[
        list[str] | None,
        typer.Argument(help="Files and folders of objects; by default config/objects/.", metavar="FILE|FOLDER…"),
    ] = None,
    picture: Annotated[Path | None, typer.Option(help="PNG file to draw them into.", show_default=False)] = None,
) -> None:
    """List the objects of tables: names, colours, sizes, masses, what can be done with them; and draw them.

    An object of your own is checked: its size and mass, its surface, whether it stands and a grasp holds.
    """
    from robocontrast_ros.cli.objects import show_objects

    show_objects(places or [], picture, Console())


@app.command()
@one_line_errors
def perturbations(
    session: Annotated[
        str | None,
        typer.Argument(help="Session whose perturbations are shown on a test instance.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the test instance.", min=0)] = 0,
    image: Annotated[Path | None, typer.Option(help="PNG file of what the cameras see.", show_default=False)] = None,
) -> None:
    """List what can be perturbed; with a session, show what becomes of one of its test instances.

    Those of the session are shown; where it has none, all that its task supports.
    """
    from robocontrast_ros.cli.perturbations import show_perturbations

    show_perturbations(session, seed, image, Console())


@app.command()
@one_line_errors
def levels(
    run: Annotated[
        Path | None, typer.Argument(help="Run folder whose trials are sorted by level.", show_default=False)
    ] = None,
    trained_on: Annotated[
        str | None,
        typer.Option(
            help="Name in config/levels/, or path of a .yaml file, that says what the run's policies were trained on.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """List what policies were trained on; with a run, count its trials by level of generalisation, L1 to L4."""
    folder = None if run is None else _open(run)
    from robocontrast_ros.cli.levels import show_levels

    show_levels(folder, trained_on, Console())


@app.command("list")
@one_line_errors
def list_known() -> None:
    """List what can be used by name: files of this package, and plug-ins of any (docs/extending.md)."""
    from rich.table import Table

    from robocontrast_ros.configuration.plugins import PROTOCOLS, plugin_names

    table = Table("kind", "names")
    for kind in ("sessions", "robots", "policies", "tasks", "levels", "studies", "training", "understanding"):
        table.add_row(f"{kind} (files in config/{kind}/)", ", ".join(known_names(kind)))
    for kind in PROTOCOLS:
        table.add_row(f"{kind.replace('_', ' ')} (plug-ins)", ", ".join(plugin_names(kind)))
    Console().print(table)
