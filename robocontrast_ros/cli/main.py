"""The `robocontrast` command: what a user types. Every command ends with 2 on the user's mistake, in one line."""

from __future__ import annotations

import functools
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.table import Table
from typer.core import TyperGroup

from robocontrast_ros import __version__
from robocontrast_ros.bags.errors import BagError
from robocontrast_ros.cli.signals import exit_code, output_outlasts, signals_raise
from robocontrast_ros.configuration import ConfigurationError, parse_settings, plugin_names
from robocontrast_ros.configuration.files import known_names
from robocontrast_ros.runs.journal import JournalError
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.system.disk import DiskError


class _OneLine(TyperGroup):
    """The command, which tells a mistake in its options in one line, as it tells every other mistake."""

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """Run the command and end the process, unless not ``standalone_mode``."""
        if not standalone_mode:
            return super().main(*args, standalone_mode=False, **extra)
        with output_outlasts(), signals_raise():
            return self._run_and_exit(*args, **extra)

    def _run_and_exit(self, *args: Any, **extra: Any) -> NoReturn:
        try:
            code = super().main(*args, standalone_mode=False, **extra)
        except typer.TyperException as error:
            # Without words it is the help that is wanted, and was printed.
            if error.format_message():
                print(f"error: {_usage(error)}", file=sys.stderr)
            sys.exit(error.exit_code)
        except typer.Abort as abort:
            # What is printed on Ctrl-C by click is an empty line.
            sys.exit(exit_code(abort.__context__) if isinstance(abort.__context__, KeyboardInterrupt) else 1)
        sys.exit(code or 0)


def _usage(error: typer.TyperException) -> str:
    """Return what is wrong with a command's options, and where they are explained, in one line."""
    context, close = getattr(error, "ctx", None), getattr(error, "possibilities", None)
    words = " ".join((error.message if close else error.format_message()).split()).rstrip(".")
    meant = f" Did you mean {' or '.join(close)}?" if close else ""
    where = f" `{context.command_path} -h` lists what there is." if context is not None else ""
    return f"command line: {words}{'' if words.endswith('?') else '.'}{meant}{where}"


app = typer.Typer(
    cls=_OneLine,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""Evaluate language-guided robot policies with [bold]contrast sets[/].

A session takes a small i.i.d. test set, walks the neighbourhood of each instance with named perturbations
of Language, Scene and Behaviour (ΔL, ΔLB, ΔS, ΔSB), and spends no more than a budget of effort.

Typical use:

  [cyan]robocontrast plan language_table_demo[/]                      what would be run, and its cost

  [cyan]robocontrast evaluate language_table_demo[/]                  run it in simulation

  [cyan]robocontrast evaluate language_table_demo --robot ur5e[/]     the same on another robot

  [cyan]robocontrast evaluate --resume runs/…[/]                      go on after an interruption

  [cyan]robocontrast score runs/…[/]                                  recompute the scores from the bags alone

  [cyan]robocontrast report runs/…[/]                                 one page to read, and figures for a paper
""",
)

SETTING = "setup.position_tolerance=0.01"
"""What a setting of a session looks like."""

SessionArgument = Annotated[
    str | None,
    typer.Argument(
        help="Name of a session in config/sessions/, or path of a .yaml file.", show_default=False
    ),
]
RobotOption = Annotated[str | None, typer.Option(help="Name in config/robots/, or path of a .yaml file.")]
PolicyOption = Annotated[str | None, typer.Option(help="Name in config/policies/, or path of a .yaml file.")]
BudgetOption = Annotated[
    float | None, typer.Option(help="Budget K in the session's unit of cost; inf for none.")
]
SeedOption = Annotated[int | None, typer.Option(help="Seed that every random draw comes from.")]
TrialsOption = Annotated[int | None, typer.Option(help="Trials after which the session ends.")]
ServerOption = Annotated[
    str | None,
    typer.Option(
        help="`external`: wait for a policy server that runs elsewhere (robocontrast serve); `composed`: in the "
        "process of rollout, which is faster."
    ),
]
FastOption = Annotated[
    bool | None,
    typer.Option(
        "--fast/--graph",
        help="In one process without ROS, many times as fast: the same trials and scores, no bags.",
        show_default=False,
    ),
]
RepeatsOption = Annotated[int | None, typer.Option(help="How often each instance is run.")]
SizeOption = Annotated[int | None, typer.Option(help="Number of test instances.")]
StrategyOption = Annotated[
    str | None,
    typer.Option(help="Which trials are run; one without perturbations leaves those of the session out."),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Any other key of the session's file, dotted, and its value in YAML, such as "
        f"{SETTING}. May be given several times.",
        show_default=False,
    ),
]
OutputOption = Annotated[str | None, typer.Option(help="Folder in which the run folder is made.")]


def _explained(command: Callable[..., None]) -> Callable[..., None]:
    """Turn a user's mistake, or a disk that refuses, into a line on stderr and exit code 2, a signal into its code."""

    @functools.wraps(command)
    def explained(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except (ConfigurationError, DiskError, JournalError, BagError) as error:
            print(f"error: {error}", file=sys.stderr)
            raise typer.Exit(2) from None
        except KeyboardInterrupt as stop:
            print("stopped", file=sys.stderr)
            raise typer.Exit(exit_code(stop)) from None

    return explained


def _version(wanted: bool) -> None:
    if wanted:
        print(f"robocontrast_ros {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


NamespaceOption = Annotated[
    str,
    typer.Option(
        help="ROS namespace of all nodes, so that several robots share a domain.", show_default=False
    ),
]


@app.command()
@_explained
def evaluate(
    session: SessionArgument = None,
    robot: RobotOption = None,
    policy: PolicyOption = None,
    budget: BudgetOption = None,
    seed: SeedOption = None,
    max_trials: TrialsOption = None,
    output: OutputOption = None,
    policy_server: ServerOption = None,
    fast: FastOption = None,
    repeats: RepeatsOption = None,
    size: SizeOption = None,
    strategy: StrategyOption = None,
    settings: SetOption = None,
    namespace: NamespaceOption = "",
    resume: Annotated[
        Path | None, typer.Option(help="Run folder of a session to go on with.", show_default=False)
    ] = None,
) -> None:
    """Run an evaluation session in simulation and show what came of it.

    The nodes are started as processes of their own and stopped at the end; with --fast it is one process without ROS.
    Progress is shown live.
    Ctrl-C stops the robot and ends cleanly, as do SIGTERM and SIGHUP. Exit codes: 0 done, 2 a mistake in what was
    asked, 3 interrupted and to be resumed, 130 Ctrl-C, 143 SIGTERM, 129 SIGHUP.
    """
    from robocontrast_ros.cli import evaluate as runner

    console = Console()
    overrides = Overrides(
        robot=robot,
        policy=policy,
        budget=budget,
        seed=seed,
        max_trials=max_trials,
        output=output,
        policy_server=policy_server,
        fast=fast,
        repeats=repeats,
        size=size,
        strategy=strategy,
        settings=parse_settings(settings or (), SETTING),
    )
    if resume is not None:
        given = [*(["session"] if session is not None else ()), *overrides.given()]
        if given:
            raise ConfigurationError(
                "command line",
                "--resume",
                ", ".join(given),
                "nothing else",
                "A session goes on as it was begun.",
            )
        run, code = runner.resume(resume, console, namespace)
    elif session is None:
        raise ConfigurationError(
            "command line",
            "SESSION",
            "nothing",
            f"one of {', '.join(known_names('sessions'))}, or a .yaml file",
        )
    else:
        run, code = runner.start(session, overrides, console, namespace)
    if runner.begun(run):
        code = _show_results_of(run, code, console)
    raise typer.Exit(code)


def _show_results_of(run: RunFolder, code: int, console: Console) -> int:
    """Show what came of a session, and return the exit code."""
    again = f"robocontrast results {run.path}"
    if code in (128 + signal.SIGTERM, 128 + signal.SIGHUP):
        # Who ends us so does not wait for long, and nobody may be looking.
        console.print(f"Tables, figure and maps: {again}", soft_wrap=True, highlight=False)
        return code
    # Tables and figures need large libraries, which must not keep the session waiting.
    from robocontrast_ros.cli.results import show_results

    try:
        show_results(run, console)
    except DiskError as error:
        print(f"error: {error} The journal is whole; tables, figure and maps: {again}", file=sys.stderr)
        return code or 3
    return code


@app.command()
@_explained
def plan(
    session: SessionArgument,
    robot: RobotOption = None,
    policy: PolicyOption = None,
    budget: BudgetOption = None,
    seed: SeedOption = None,
    max_trials: TrialsOption = None,
    repeats: RepeatsOption = None,
    size: SizeOption = None,
    strategy: StrategyOption = None,
    settings: SetOption = None,
) -> None:
    """Print a session's trials and their expected cost without running it.

    The expectation is that every trial succeeds: where one fails, another scene results, and what
    follows costs more or less than planned.
    """
    from robocontrast_ros.cli.results import show_plan

    overrides = Overrides(
        robot=robot,
        policy=policy,
        budget=budget,
        seed=seed,
        max_trials=max_trials,
        repeats=repeats,
        size=size,
        strategy=strategy,
        settings=parse_settings(settings or (), SETTING),
    )
    show_plan(str(session), overrides, Console())


@app.command()
@_explained
def serve(
    policy: Annotated[str, typer.Argument(help="Name in config/policies/, or path of a .yaml file.")],
    domain: Annotated[
        int | None, typer.Option(help="ROS domain; ROS_DOMAIN_ID, or 0, when left out.", show_default=False)
    ] = None,
    timeout: Annotated[float, typer.Option(help="Limit of each answer of the policy [s].")] = 10.0,
    load_timeout: Annotated[
        float, typer.Option(help="Limit of loading it, and of warming it up [s].")
    ] = 120.0,
    namespace: NamespaceOption = "",
) -> None:
    """Run the policy server alone, for instance on the machine with the GPU, for a session elsewhere.

    Ctrl-C ends it.
    """
    from robocontrast_ros.cli.serve import serve_policy

    serve_policy(policy, domain, timeout, load_timeout, namespace)


@app.command()
@_explained
def swap(
    run: Annotated[Path, typer.Argument(help="Run folder of a session that is running.")],
    policy: Annotated[
        str,
        typer.Argument(
            help="Name in config/policies/, or path of a .yaml file, on the policy server's machine."
        ),
    ],
) -> None:
    """Go on with another policy from the next trial of a running session on.

    The old one serves until the new one is loaded, warmed up and known to fit; otherwise it goes on. Exit codes: 0 the
    new one serves, 1 it is refused, 2 a mistake in what was asked, 3 there is no session any more.
    """
    from robocontrast_ros.cli.swap import swap_policy

    raise typer.Exit(swap_policy(run, policy, Console()))


@app.command()
@_explained
def results(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    within: Annotated[
        float | None,
        typer.Option(
            help="Half-width of an interval that is wanted, for instance 0.05: how much more it takes.",
            min=0.001,
            max=0.5,
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write a run's tables, summary, figures and missing maps anew from its journal and bags, and show them."""
    from robocontrast_ros.cli.results import show_results

    show_results(RunFolder.open(run), Console(), within)


@app.command()
@_explained
def score(
    paths: Annotated[
        list[Path], typer.Argument(help="Run folders, bags, folders of bags, in any mix.", metavar="RUN|BAG…")
    ],
    task: Annotated[
        Path | None,
        typer.Option(help="Score under the thresholds of this parameter file, too.", show_default=False),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Score with another threshold, too: a dotted key of the task's file, such as "
            "block_to_block.within=0.04. May be given several times.",
            show_default=False,
        ),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(help="Folder to write the scores to, as .parquet and .csv.", show_default=False),
    ] = None,
    processes: Annotated[
        int | None, typer.Option(help="Processes that score; one a processor.", min=1, show_default=False)
    ] = None,
) -> None:
    """Recompute every score from the bags alone, and compare it with the journal where there is one.

    With --task or --set, score under other thresholds as well, with bounds where the recording cannot tell. Exit
    codes: 0 all is well, 1 a score differs or a bag is missing or broken, 2 a mistake in what was asked, 130 Ctrl-C.
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
@_explained
def report(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    to: Annotated[
        Path | None, typer.Option(help="HTML file to write; report.html in the run folder when left out.")
    ] = None,
) -> None:
    """Write a run as one HTML page, with its pictures inside it, and its figures for papers.

    The page loads nothing and can be passed on as it is. The figures, PDF and PNG, go into figures/ of the run folder.
    """
    from robocontrast_ros.cli.report import write_run_report

    write_run_report(run, to, Console())


@app.command()
@_explained
def compare(
    runs: Annotated[
        list[Path], typer.Argument(help="Run folders; the first is compared with each of the others.")
    ],
    to: Annotated[Path, typer.Option(help="HTML file to write.")] = Path("comparison.html"),
    pictures: Annotated[
        bool, typer.Option(help="Frames and maps on the page; without them it is made in a few seconds.")
    ] = True,
) -> None:
    """Compare policies trial by trial on the same test set: numbers, one HTML page, and CSV and JSON beside it.

    The runs have the same task and seed; what differs is the policy. With an oracle's run as the second, the difference
    in differences is what each perturbation costs the policy beyond what it costs any robot. Exit code 2 says why runs
    do not match.
    """
    from robocontrast_ros.cli.report import write_run_comparison

    write_run_comparison(runs, to, Console(), pictures)


@app.command()
@_explained
def picture(
    bag: Annotated[Path, typer.Argument(help="Bag of a trial: a folder in bags/ of a run folder.")],
    to: Annotated[Path, typer.Option(help="PNG file to write.")] = Path("trial.png"),
) -> None:
    """Draw a recorded trial: what the camera saw, and its map."""
    from robocontrast_ros.analysis.figures.trial_picture import draw_trial

    draw_trial(bag, to)
    print(to)


@app.command()
@_explained
def train(
    recipe: Annotated[
        str, typer.Argument(help="Name of a recipe in config/training/, or path of a .yaml file.")
    ],
    output: Annotated[
        Path, typer.Option(help="Folder in which the training's folder is; what is there is gone on with.")
    ] = Path("training"),
    processes: Annotated[
        int | None, typer.Option(help="Processes that make demonstrations; one a processor.", min=1)
    ] = None,
) -> None:
    """Train a learned policy: demonstrations of the oracle, networks, checkpoints, model card.

    Interrupted, the same command goes on where it was. Exit codes: 0 done, 2 a mistake in what was asked, 130 Ctrl-C.
    """
    from robocontrast_ros.cli.train import train_policy

    train_policy(recipe, output, processes, Console())


@app.command()
@_explained
def study(
    name: Annotated[str, typer.Argument(help="Name of a study in config/studies/, or path of a .yaml file.")],
    output: Annotated[
        Path, typer.Option(help="Folder in which the study's folder is; what is there is gone on with.")
    ] = Path("studies"),
    processes: Annotated[
        int | None, typer.Option(help="Processes that run sessions; one a processor.", min=1)
    ] = None,
) -> None:
    """Compare strategies on many test sets in fast simulation: error and trials against cost, and claims decided.

    Interrupted, the same command goes on where it was. Exit codes: 0 done, 1 it cannot be done, 2 a mistake in what was
    asked, 130 Ctrl-C.
    """
    from robocontrast_ros.cli import study as runner
    from robocontrast_ros.studies.job import StudyError

    console = Console()
    try:
        runner.run(name, output, processes, console)
    except KeyboardInterrupt as stop:
        console.print("stopped; the same command goes on where it was")
        raise typer.Exit(exit_code(stop)) from None
    except StudyError as error:
        print(f"error: {error}", file=sys.stderr)
        raise typer.Exit(1) from None


@app.command()
@_explained
def policies(
    files: Annotated[
        list[str] | None,
        typer.Argument(help="Names in config/policies/, or paths of .yaml files; all when left out."),
    ] = None,
    robot: RobotOption = None,
    session: Annotated[
        str | None,
        typer.Option(help="Session whose robot, control rate and cameras count.", show_default=False),
    ] = None,
) -> None:
    """List policies: what each answers with and needs, which robots it fits, and why not the others.

    Nothing is loaded or connected to where a policy's file says enough.
    """
    from robocontrast_ros.cli.policies import show_policies

    show_policies(files or [], robot, session, Console())


@app.command("list")
@_explained
def list_known() -> None:
    """List the sessions, robots, policies, tasks, strategies and perturbations that are known by name."""
    table = Table("what", "names", show_lines=False)
    for kind in ("sessions", "robots", "policies", "tasks", "studies", "training"):
        table.add_row(f"{kind} (files in config/{kind}/)", ", ".join(known_names(kind)))
    for kind in ("strategies", "perturbations", "policies", "tasks"):
        table.add_row(f"{kind} (plug-ins)", ", ".join(plugin_names(kind)))
    Console().print(table)
