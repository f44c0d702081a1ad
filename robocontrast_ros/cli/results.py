"""`robocontrast results`: write a run's results into its folder and show the summary."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robocontrast_ros.cli.terminal import Console
from robocontrast_ros.runs.run_folder import RunFolder

if TYPE_CHECKING:
    from robocontrast_ros.runs.blinding import Blinding
    from robocontrast_ros.runs.journal import Journal


def results(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    within: Annotated[
        float | None,
        typer.Option(
            help="Target half-width of the intervals, such as 0.05; prints the sample size for it.", min=0.001, max=0.5
        ),
    ] = None,
) -> None:
    """Write a run's tables, summary, and missing or outdated pictures from its journal and bags; show the summary."""
    show_results(RunFolder.open(run), Console(), within)


def show_results(run: RunFolder, console: Console, within: float | None = None) -> None:
    """Write a run's tables, summary, figures and maps into its folder, and show the summary.

    If the run is an opened blind session, each policy's results go into a run folder of its own. If the session is not
    opened yet, only its number of trials is shown.

    Args:
        run: the run folder.
        console: to print on.
        within: target half-width of the intervals, whose sample size is shown; None for no target.

    Raises:
        JournalError: the run's journal cannot be read.
        ConfigurationError: its copy of the task's file does not fit this version.
    """
    from robocontrast_ros.analysis.data.golden import golden_words
    from robocontrast_ros.analysis.data.pacing import pacing_of, pose_sources_of, speed_scaling_of
    from robocontrast_ros.analysis.estimates.sample_size import sample_sizes
    from robocontrast_ros.analysis.figures.maps import write_maps
    from robocontrast_ros.analysis.tables.deviations import deviations_block
    from robocontrast_ros.analysis.tables.sample_size import sample_size_block
    from robocontrast_ros.analysis.tables.summary import conclusion, summary_report
    from robocontrast_ros.analysis.tables.terminal import Table
    from robocontrast_ros.analysis.write_results import write_results
    from robocontrast_ros.domain.words import counted
    from robocontrast_ros.runs.blinding import blinding_of, is_of_several_policies
    from robocontrast_ros.runs.journal import read_begun

    journal = read_begun(run.journal)
    events = journal.events
    blinding = blinding_of(events)
    if blinding is not None and is_of_several_policies(events):
        _show_of_each(run, journal, blinding, console, within)
        return
    results = write_results(run, journal)
    if results.warning:
        console.print(results.warning, style="yellow")
    console.print(summary_report(results.summary))
    if (deviations := deviations_block(results)) is not None:
        console.print("", Table(deviations), sep="\n")
    if results.has_shifts:
        from robocontrast_ros.analysis.estimates.observation_shift import shifts_of
        from robocontrast_ros.analysis.tables.observation_shift import shift_report

        if (shifts := shifts_of(results)) is not None:
            console.print("", shift_report(shifts, results.summary.mark), sep="\n")
    if results.has_profiles:
        from robocontrast_ros.analysis.estimates.profile import profile_of
        from robocontrast_ros.analysis.tables.profile import profile_report

        if (profile := profile_of(results)) is not None:
            console.print("", profile_report(profile, results.summary.mark), sep="\n")
    if not results.trials["counts"].any():
        console.print(
            f"No trial counts; {counted(len(results.trials), 'attempt was', 'attempts were')} void.",
            style="yellow",
        )
    kept = blinding.words if blinding is not None else ""
    if slowed := speed_scaling_of(results.record):
        console.print(slowed, style="yellow")
    for words in filter(None, (kept, pacing_of(results.record).words, pose_sources_of(results.record))):
        console.print(words)
    if said := conclusion(results.summary):
        console.print(f"\n{said}", style="bold")
    if within is not None:
        console.print("", Table(sample_size_block(sample_sizes(results, (within,)))), sep="\n")
    console.path("picture", results.figure)
    # With images in the bags this takes minutes for a long run.
    write_maps(run, results.record, lambda missing: console.track(missing, "maps"))
    if run.maps.is_dir():
        console.path("maps", run.maps)
    console.path("run folder", run.path)
    console.say(f"as one page: robocontrast report {shlex.quote(str(run.path))}")
    if words := golden_words(results.record):
        console.say(words)


def _show_of_each(run: RunFolder, journal: Journal, blinding: Blinding, console: Console, within: float | None) -> None:
    """Show the results of each policy of a blind session."""
    from robocontrast_ros.runs.policy_runs import write_policy_runs

    if blinding.opened is None:
        console.say(f"{blinding.words}; no results before it is opened.")
        quoted = shlex.quote(str(run.path))
        console.say(
            f"It opens at its end: robocontrast evaluate --resume {quoted}; before that, robocontrast unblind {quoted} "
            "breaks the blinding."
        )
        return
    folders = write_policy_runs(run, journal)
    for folder in folders:
        console.print(f"\n{folder.name}", style="bold")
        show_results(folder, console, within)
    console.say(f"\n{blinding.words}")
    quoted = shlex.join(str(folder.path) for folder in folders)
    console.say(f"side by side: robocontrast compare {quoted}")
