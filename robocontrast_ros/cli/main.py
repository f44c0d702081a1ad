"""The `robocontrast` command: its commands, help, errors in one line, exit codes.

A command imports large libraries only when it runs, because a help text and a mistake on the command line need none.
"""

from __future__ import annotations

import functools
import gc
import sys
from collections.abc import Callable
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from robocontrast_ros import __version__
from robocontrast_ros.bags.errors import BagError
from robocontrast_ros.cli import (
    calibrate,
    clutter,
    clutter_tables,
    compare,
    console,
    correct,
    evaluate,
    export,
    lerobot_env,
    levels,
    objects,
    perturbations,
    plan,
    policies,
    report,
    results,
    score,
    sensitivity,
    serve,
    shift,
    stop,
    study,
    suite,
    swap,
    tasks,
    train,
    unblind,
    understanding,
    watch,
)
from robocontrast_ros.cli.signals import exit_code, output_outlasts, signals_raise
from robocontrast_ros.cli.terminal import Console, refused
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.configuration.errors import nearest
from robocontrast_ros.configuration.files import known_names
from robocontrast_ros.configuration.plugins import PROTOCOLS, plugin_names
from robocontrast_ros.runs.errors import JournalError
from robocontrast_ros.system.disk import DiskError
from robocontrast_ros.system.garbage import YOUNG


class _OneLine(TyperGroup):
    """The command group; it prints a mistake in the options in one line, like every other mistake."""

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """Run the command, and end the process if ``standalone_mode``."""
        gc.set_threshold(YOUNG)
        if not standalone_mode:
            return super().main(*args, standalone_mode=False, **extra)
        with output_outlasts(), signals_raise():
            return self._run_and_exit(*args, **extra)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command; if there is none of that name, the error suggests the nearest name."""
        try:
            return super().resolve_command(ctx, args)
        except typer.TyperException as error:
            if close := nearest(args[0], self.list_commands(ctx)):
                error.message = f"{error.message.rstrip('.')}. Did you mean '{close}'?"
            raise

    def _run_and_exit(self, *args: Any, **extra: Any) -> NoReturn:
        try:
            code = super().main(*args, standalone_mode=False, **extra)
        except typer.TyperException as error:
            # An error without a message means that the help was requested and has been printed.
            if error.format_message():
                print(f"error: {_usage(error)}", file=sys.stderr)
            sys.exit(error.exit_code)
        except typer.Abort as abort:
            # Click itself prints an empty line on Ctrl-C.
            sys.exit(exit_code(abort.__context__) if isinstance(abort.__context__, KeyboardInterrupt) else 1)
        sys.exit(code or 0)


def _usage(error: typer.TyperException) -> str:
    """Return the mistake in a command's options, and the command that lists the options, in one line."""
    context, close = getattr(error, "ctx", None), getattr(error, "possibilities", None)
    words = " ".join((error.message if close else _of_value(error)).split()).rstrip(".")
    meant = f" Did you mean {' or '.join(close)}?" if close else ""
    where = f" `{context.command_path} -h` lists what there is." if context is not None else ""
    return f"command line: {words}{'' if words.endswith('?') else '.'}{meant}{where}"


def _of_value(error: typer.TyperException) -> str:
    """Return what is wrong with an option's value, with the value, which typer's own words leave out."""
    words, cause = error.format_message(), error.__cause__ or error.__context__
    found = getattr(cause, "errors", list)()
    if not isinstance(error, typer.BadParameter) or not found:
        return words
    wanted = found[0]["msg"].removeprefix("Input should be ").partition(", unable")[0]
    return f"{words.removesuffix(f': {error.message}')}: got {found[0]['input']!r}, expected {wanted}"


app = typer.Typer(
    cls=_OneLine,
    no_args_is_help=True,
    suggest_commands=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""Evaluate language-guided robot policies with [bold]contrast sets[/].

A session runs a small i.i.d. test set and, around each of its instances,
named perturbations of Language, Scene and Behaviour (ΔL, ΔLB, ΔS, ΔSB),
within a budget of effort.

Typical use:

  [cyan]robocontrast plan language_table_demo --policy oracle[/]   list trials and costs

  [cyan]robocontrast evaluate language_table_demo[/]               run it in simulation

  [cyan]robocontrast evaluate language_table_demo --robot ur5e[/]  on another robot

  [cyan]robocontrast evaluate --resume runs/…[/]                   resume it

  [cyan]robocontrast score runs/…[/]                               rescore from bags

  [cyan]robocontrast report runs/…[/]                              report and figures
""",
)


def _one_line_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Wrap a command: an expected error is one line on stderr and exit code 2, a signal has its own exit code."""

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except (ConfigurationError, DiskError, JournalError, BagError) as error:
            raise refused(error) from None
        except KeyboardInterrupt as stop:
            print("stopped", file=sys.stderr)
            raise typer.Exit(exit_code(stop)) from None

    return wrapped


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


def _list_known() -> None:
    """List what can be used by name: files of this package, and plug-ins of any (docs/extending.md)."""
    files = ("sessions", "robots", "policies", "tasks", "levels", "studies", "training", "understanding")
    rows = [(f"{kind} (files in config/{kind}/)", ", ".join(known_names(kind))) for kind in files]
    rows += [(f"{kind.replace('_', ' ')} (plug-ins)", ", ".join(plugin_names(kind))) for kind in PROTOCOLS]
    Console().table(("kind", "names"), rows)


COMMANDS = {
    "evaluate": evaluate.evaluate,
    "plan": plan.plan,
    "serve": serve.serve,
    "console": console.console,
    "swap": swap.swap,
    "unblind": unblind.unblind,
    "correct": correct.correct,
    "stop": stop.stop,
    "results": results.results,
    "score": score.score,
    "report": report.report,
    "compare": compare.compare,
    "picture": report.picture,
    "watch": watch.watch,
    "export": export.export,
    "lerobot-env": lerobot_env.lerobot_env,
    "clutter": clutter.clutter,
    "print-tags": calibrate.print_tags,
    "calibrate": calibrate.calibrate,
    "clutter-bins": clutter.clutter_bins,
    "clutter-tables": clutter_tables.clutter_tables,
    "sensitivity": sensitivity.sensitivity,
    "understanding": understanding.understanding,
    "shift": shift.shift,
    "train": train.train,
    "study": study.study,
    "policies": policies.policies,
    "objects": objects.objects,
    "perturbations": perturbations.perturbations,
    "levels": levels.levels,
    "list": _list_known,
}
"""Name -> command, in the order of the help."""

for _name, _command in COMMANDS.items():
    app.command(_name)(_one_line_errors(_command))

_tasks = typer.Typer(cls=_OneLine, no_args_is_help=True, help="Look at tasks: the suite's, and the kitchen's as text.")
_tasks.command("list")(_one_line_errors(suite.list_tasks))
_tasks.command("export")(_one_line_errors(suite.export))
_tasks.command("new")(_one_line_errors(suite.new))
_tasks.command("check")(_one_line_errors(tasks.check))
_tasks.command("modifications")(_one_line_errors(tasks.modifications))
app.add_typer(_tasks, name="tasks")
