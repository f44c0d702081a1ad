"""Show what a session would do, and what came of it."""

from __future__ import annotations

import math

from rich.console import Console
from rich.progress import track
from rich.table import Table
from rich.text import Text

from robocontrast_ros.analysis.data.golden import golden_words
from robocontrast_ros.analysis.estimates.sample_size import sample_sizes
from robocontrast_ros.analysis.figures.maps import write_maps
from robocontrast_ros.analysis.tables.sample_size import sample_size_report
from robocontrast_ros.analysis.tables.summary import summary_report
from robocontrast_ros.analysis.write_results import write_results
from robocontrast_ros.domain import Start
from robocontrast_ros.domain.words import counted
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.plan import plan_session
from robocontrast_ros.sessions.resolving import resolve


def show_plan(session: str, overrides: Overrides, console: Console) -> None:
    """Print the trials that a session would run and what they would cost.

    Raises:
        ConfigurationError: something does not fit.
    """
    resolved = resolve(session, overrides)
    plan = plan_session(resolved.evaluation())
    unit = plan.cost_unit
    table = Table("trial", "instance", "perturbation", "instruction")
    for heading in (f"cost [{unit}]", f"sum [{unit}]"):
        table.add_column(Text(heading), justify="right")
    for planned in plan.trials:
        trial = planned.trial
        table.add_row(
            trial.trial_id,
            trial.base_id,
            trial.perturbation,
            trial.instance.instruction.text,
            f"{planned.cost:.3f}",
            f"{planned.cumulative_cost:.3f}",
            style="" if planned.within_budget else "dim",
        )
    console.print(table)
    for base_id, perturbation, reason in plan.skipped:
        console.print(f"skipped: {perturbation} of {base_id}: {reason}", style="dim", highlight=False)
    back = [trial for trial in plan.within_budget if trial.trial.start is Start.GONE_BACK]
    if back:
        cost = math.fsum(trial.cost for trial in back)
        console.print(
            f"{cost:.2f} {unit} are for going back to the scene of the test instance "
            f"({counted(len(back), 'perturbed trial')}); another order of the perturbations may need less."
        )
    limit = "" if math.isinf(plan.budget) else f", within a budget of {plan.budget:g} {unit}"
    console.print(
        f"{len(plan.within_budget)} of {counted(len(plan.trials), 'trial')}, {plan.cost:.2f} {unit}{limit}, "
        "if every trial succeeds."
    )
    if resolved.parameters.stop_early is not None:
        console.print("`stop_early` may end it sooner: when, depends on the scores.")


def show_results(run: RunFolder, console: Console, within: float | None = None) -> None:
    """Write a run's tables, summary, figures and maps into its folder, and show the summary.

    Args:
        run: the run folder.
        console: to print on.
        within: half-width of the interval that is wanted; what it takes is shown. None where nobody asked.

    Raises:
        JournalError: the run's journal cannot be read.
        ConfigurationError: its copy of the task's file does not fit any more.
    """
    results = write_results(run)
    if results.warning:
        console.print(results.warning, style="yellow", highlight=False)
    console.print(summary_report(results.summary))
    if not results.trials["counts"].any():
        console.print(
            f"No trial counts; {counted(len(results.trials), 'attempt was', 'attempts were')} void.",
            style="yellow",
        )
    if within is not None:
        console.print("", sample_size_report(sample_sizes(results, (within,))), sep="\n")
    # Paths are for copying: they must not be broken at the terminal's edge.
    console.print(f"picture: {results.figure}", soft_wrap=True, highlight=False)
    _draw_maps(run, console)
    console.print(f"run folder: {run.path}", soft_wrap=True, highlight=False)
    console.print(f"as one page: robocontrast report {run.path}", soft_wrap=True, highlight=False)
    said = golden_words(read_journal(run.journal).events)
    if said:
        console.print(said, soft_wrap=True, highlight=False)


def _draw_maps(run: RunFolder, console: Console) -> None:
    """Draw the maps that are missing; with images in the bags, a long run has minutes of it."""
    shown = {"description": "maps", "console": console, "transient": True, "disable": not console.is_terminal}
    write_maps(run, read_journal(run.journal), lambda missing: track(missing, **shown))
    if run.maps.is_dir():
        console.print(f"maps: {run.maps}", soft_wrap=True, highlight=False)
