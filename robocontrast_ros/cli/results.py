"""`robocontrast results`: write a run's results into its folder and show the summary."""

from __future__ import annotations

import shlex

from rich.console import Console
from rich.progress import track

from robocontrast_ros.analysis.data.golden import golden_words
from robocontrast_ros.analysis.data.pacing import pacing_of, pose_sources_of, speed_scaling_of
from robocontrast_ros.analysis.estimates.sample_size import sample_sizes
from robocontrast_ros.analysis.figures.maps import write_maps
from robocontrast_ros.analysis.tables.sample_size import sample_size_block
from robocontrast_ros.analysis.tables.summary import summary_report
from robocontrast_ros.analysis.tables.terminal import Table
from robocontrast_ros.analysis.write_results import write_results
from robocontrast_ros.domain.words import counted
from robocontrast_ros.runs.blinding import Blinding, blinding_of, is_of_several_policies
from robocontrast_ros.runs.journal import Journal, read_begun
from robocontrast_ros.runs.policy_runs import write_policy_runs
from robocontrast_ros.runs.run_folder import RunFolder


def show_results(run: RunFolder, console: Console, within: float | None = None) -> None:
    """Write a run's tables, summary, figures and maps into its folder, and show the summary.

    Of a blind session that is opened, those of each policy, into a run folder of its own; of one that is not, nothing
    is shown but how many trials there are.

    Args:
        run: the run folder.
        console: to print on.
        within: target half-width; its sample size is shown. None for no target.

    Raises:
        JournalError: the run's journal cannot be read.
        ConfigurationError: its copy of the task's file does not fit any more.
    """
    journal = read_begun(run.journal)
    events = journal.events
    blinding = blinding_of(events)
    if blinding is not None and is_of_several_policies(events):
        _show_of_each(run, journal, blinding, console, within)
        return
    results = write_results(run, journal)
    if results.warning:
        console.print(results.warning, style="yellow", highlight=False)
    console.print(summary_report(results.summary))
    if not results.trials["counts"].any():
        console.print(
            f"No trial counts; {counted(len(results.trials), 'attempt was', 'attempts were')} void.",
            style="yellow",
        )
    kept = blinding.words if blinding is not None else ""
    if slowed := speed_scaling_of(events):
        console.print(slowed, style="yellow", highlight=False)
    for words in filter(None, (kept, pacing_of(events).words, pose_sources_of(events))):
        console.print(words, highlight=False)
    if within is not None:
        console.print("", Table(sample_size_block(sample_sizes(results, (within,)))), sep="\n")
    # Paths are for copying: they must not be broken at the terminal's edge.
    console.print(f"picture: {results.figure}", soft_wrap=True, highlight=False)
    _draw_maps(run, journal, console)
    console.print(f"run folder: {run.path}", soft_wrap=True, highlight=False)
    console.print(f"as one page: robocontrast report {shlex.quote(str(run.path))}", soft_wrap=True, highlight=False)
    said = golden_words(events)
    if said:
        console.print(said, soft_wrap=True, highlight=False)


def _show_of_each(run: RunFolder, journal: Journal, blinding: Blinding, console: Console, within: float | None) -> None:
    """Show the results of each policy of a blind session."""
    if blinding.opened is None:
        console.print(f"{blinding.words}; no results before it is opened.", soft_wrap=True, highlight=False)
        quoted = shlex.quote(str(run.path))
        console.print(
            f"It opens at its end: robocontrast evaluate --resume {quoted}; before that, robocontrast unblind {quoted} "
            "breaks the blinding.",
            soft_wrap=True,
            highlight=False,
        )
        return
    folders = write_policy_runs(run, journal)
    for folder in folders:
        console.print(f"\n{folder.name}", style="bold", highlight=False)
        show_results(folder, console, within)
    console.print(f"\n{blinding.words}", soft_wrap=True, highlight=False)
    quoted = shlex.join(str(folder.path) for folder in folders)
    console.print(f"side by side: robocontrast compare {quoted}", soft_wrap=True, highlight=False)


def _draw_maps(run: RunFolder, journal: Journal, console: Console) -> None:
    """Draw the missing maps; with images in the bags this takes minutes for a long run."""
    shown = {"description": "maps", "console": console, "transient": True, "disable": not console.is_terminal}
    write_maps(run, journal.corrected, lambda missing: track(missing, **shown))
    if run.maps.is_dir():
        console.print(f"maps: {run.maps}", soft_wrap=True, highlight=False)
