"""Write a run's results into its folder: tables, summary, LaTeX and the overview picture."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path

from pydantic_core import to_json
from rich.console import Console

from robocontrast_ros.analysis.data.trials import write_trials
from robocontrast_ros.analysis.estimates.results import Results, compute_results
from robocontrast_ros.analysis.estimates.test_set import draw_test_set
from robocontrast_ros.analysis.tables.deviations import deviations_block
from robocontrast_ros.analysis.tables.latex import tabular
from robocontrast_ros.analysis.tables.summary import conclusion, estimates_tex, scores_tex, summary_report, summary_tex
from robocontrast_ros.analysis.tables.terminal import Table
from robocontrast_ros.runs.journal import Journal, read_begun
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.system.disk import make_folder, write_file

TEXT_WIDTH = 120


def write_results(run: RunFolder, journal: Journal | None = None) -> Results:
    """Write a run's results into its folder.

    These are trials.parquet, trials.csv, summary.json, summary.txt, summary.tex, scores.tex, estimates.tex and
    figures/overview.png, which is drawn unless it is newer than the journal; if scenes were modified or skills follow
    one another in chains, also observation_shift.tex, observation_shift.csv, observation_shift_skills.csv and
    chains.csv; if its problems have profiles, profile.csv and profile_problems.csv; if a plan was locked for it,
    deviations.tex.

    Args:
        run: the run folder.
        journal: the run's, if it was read already.

    Raises:
        JournalError: the run's journal cannot be read, or holds no session, or a blind one with all its policies.
        ConfigurationError: a file of config/levels/ does not fit, or the copy of the locked plan was changed.
        DiskError: a file cannot be written; an existing one stays as it was.
    """
    results = compute_results(journal or read_begun(run.journal), draw_test_set(run))
    # Before anything is written, because the copy of the plan may have been changed.
    deviations = deviations_block(results)
    write_trials(results.trials, run.path / "trials.parquet", run.path / "trials.csv", results.summary.scores)
    # Open ends of scores' ranges are null.
    summary = to_json(results.summary, indent=2, inf_nan_mode="null").decode()
    write_file(run.path / "summary.json", summary + "\n")
    write_file(run.path / "summary.tex", summary_tex(results.summary))
    write_file(run.path / "scores.tex", scores_tex(results.summary))
    write_file(run.path / "estimates.tex", estimates_tex(results.summary))
    text = Console(file=StringIO(), width=TEXT_WIDTH, markup=False, emoji=False)
    text.print(summary_report(results.summary))
    if deviations is not None:
        text.print("", Table(deviations), sep="\n")
        write_file(run.path / "deviations.tex", tabular(deviations))
    if results.has_shifts:
        # They import scipy.stats, which takes long, and which most runs do not need.
        from robocontrast_ros.analysis.estimates.observation_shift import shifts_of
        from robocontrast_ros.analysis.tables.observation_shift import shift_report, write_shifts

        if (shifts := shifts_of(results)) is not None:
            text.print("", shift_report(shifts, results.summary.mark), sep="\n")
            write_shifts(shifts, run.path)
    if results.has_profiles:
        # They import the perturbations, which most runs do not need.
        from robocontrast_ros.analysis.estimates.profile import profile_of
        from robocontrast_ros.analysis.tables.profile import profile_report, write_profile

        if (profile := profile_of(results)) is not None:
            text.print("", profile_report(profile, results.summary.mark), sep="\n")
            write_profile(profile, run.path)
    if said := conclusion(results.summary):
        text.print(f"\n{said}")
    write_file(run.path / "summary.txt", text.file.getvalue())
    make_folder(run.figures)
    figure = run.figures / "overview.png"
    if not _is_newer(figure, run.journal):
        # Matplotlib takes long to import.
        from robocontrast_ros.analysis.figures.charts import draw_overview

        draw_overview(results.summary, results.trials, results.standard, figure)
    return replace(results, figure=figure)


def _is_newer(file: Path, than: Path) -> bool:
    """Return whether a file exists and was written after another."""
    try:
        return file.stat().st_mtime_ns > than.stat().st_mtime_ns
    except OSError:
        return False
