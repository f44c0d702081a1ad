"""The page of one run."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from robocontrast_ros.analysis.data.pacing import pacing_of, pose_sources_of, speed_scaling_of
from robocontrast_ros.analysis.estimates.latency import latencies
from robocontrast_ros.analysis.estimates.profile import profile_of
from robocontrast_ros.analysis.estimates.results import Results, compute_results
from robocontrast_ros.analysis.estimates.sample_size import sample_sizes
from robocontrast_ros.analysis.estimates.test_set import draw_test_set
from robocontrast_ros.analysis.figures.paper import (
    budget_of,
    curves_of,
    estimate_of,
    latency_of,
    perturbations_of,
    write_drawings,
    write_figures,
)
from robocontrast_ros.analysis.figures.profile import drawings_of
from robocontrast_ros.analysis.report.clutter import clutter_section
from robocontrast_ros.analysis.report.headline import headlines_of
from robocontrast_ros.analysis.report.observation_shift import shift_section
from robocontrast_ros.analysis.report.profile import profile_section
from robocontrast_ros.analysis.report.rendering import check_folder, on_page, render, write_page
from robocontrast_ros.analysis.report.reproduction import policies_loaded, reproduction_of
from robocontrast_ros.analysis.report.svg import Chart, make_chart
from robocontrast_ros.analysis.report.trials import (
    Attempt,
    Track,
    attempts_of,
    draw_maps,
    instances_of,
    no_progress,
    symbols_of,
    video_link,
)
from robocontrast_ros.analysis.report.understanding import understanding_section
from robocontrast_ros.analysis.report.worklist import worklist_block, worklist_of
from robocontrast_ros.analysis.tables.block import TableBlock
from robocontrast_ros.analysis.tables.deviations import deviations_block
from robocontrast_ros.analysis.tables.sample_size import sample_size_block
from robocontrast_ros.analysis.tables.summary import (
    all_scores_block,
    changes_block,
    conclusion,
    effort_block,
    estimates_block,
    latency_block,
    latency_blocks,
    scores_block,
    selections_block,
    set_ups_block,
)
from robocontrast_ros.domain import find_spec
from robocontrast_ros.runs.blinding import blinding_of
from robocontrast_ros.runs.events import (
    Event,
    Paused,
    PolicyLoaded,
    PolicyRefused,
    ProcessDied,
    Resumed,
    SessionInterrupted,
    SpeedScalingNoted,
)
from robocontrast_ros.runs.journal import Journal, read_begun
from robocontrast_ros.runs.run_folder import RunFolder

REPORT = "report.html"


@dataclass(frozen=True)
class RunEvent:
    """An event of a run that is not a trial.

    Attributes:
        time: seconds since the epoch.
        what: its kind, in a word or two.
        words: its description, in a sentence.
    """

    time: float
    what: str
    words: str


def write_report(run: RunFolder, to: Path | None = None, track: Track = no_progress, now: float | None = None) -> Path:
    """Write the page of a run, and its figures for papers into its folder; return the page's file.

    Args:
        run: the run folder; the maps that it lacks are drawn.
        to: the file; ``report.html`` in the run folder if left out.
        track: iterates over its input, and may show progress.
        now: seconds since the epoch, for the page; the present if left out.

    Raises:
        JournalError: the run's journal cannot be read, or holds no session, or a blind one with all its policies.
        ConfigurationError: there can be no such page, or a file of config/levels/ does not fit.
        DiskError: the page, a map or a figure cannot be written.
    """
    path = to or run.path / REPORT
    check_folder(path)
    journal = read_begun(run.journal)
    results = compute_results(journal, draw_test_set(run))
    write_page(run_page(run, journal, results, track, now, path.parent), path)
    write_figures(run, results)
    if (profile := profile_of(results)) is not None:
        write_drawings(run.figures, drawings_of(profile))
    return path


def run_page(
    run: RunFolder,
    journal: Journal,
    results: Results,
    track: Track = no_progress,
    now: float | None = None,
    page: Path | None = None,
) -> str:
    """Return the page of a run, which lies in the folder ``page``, else in the run folder; see ``write_report``."""
    no_maps = draw_maps(run, results.record, track)
    attempts = attempts_of(run, results, track, page=page or run.path)
    made = time.time() if now is None else now
    return render("run.html", **_content(run, journal, results, attempts, page or run.path), no_maps=no_maps, made=made)


def _content(
    run: RunFolder, journal: Journal, results: Results, attempts: Sequence[Attempt], page: Path
) -> dict[str, object]:
    summary, started = results.summary, journal.started
    assert started is not None, "compute_results refuses a journal without"
    symbols = symbols_of(results)
    sequential = summary.sequential
    worklist = worklist_of(attempts, tuple(symbols))
    return {
        "run": run.name,
        "started": started,
        "session": started.recorded,
        "summary": summary,
        "metric": summary.metric_spec.symbol,
        "symbols": symbols,
        "warning": journal.warning,
        "ended": journal.ended,
        "attempts": attempts,
        "instances": instances_of(attempts, results.record, tuple(symbols)),
        "worklist": worklist,
        "worklist_table": worklist_block(worklist),
        "grids": {
            symbol: link
            for name, symbol in symbols.items()
            if (link := video_link(run.videos / f"grid_{name}.mp4", page))
        },
        "headlines": tuple(headlines_of(summary)),
        "conclusion": conclusion(summary),
        "tables": _tables(run, results),
        "charts": _charts(results),
        "deviations": deviations_block(results),
        "profile": profile_section(results, attempts),
        "understanding": understanding_section(results),
        "clutter": clutter_section(run, results, attempts),
        "shift": shift_section(results, attempts),
        "latencies": latency_block(latencies(results.record)),
        "blinding": blinding.words if (blinding := blinding_of(journal.events)) is not None else "",
        "pacing": pacing_of(results.record).words,
        "pose_sources": pose_sources_of(results.record),
        "speed_scaling": speed_scaling_of(results.record),
        "loaded": policies_loaded(results.record),
        "sequential": sequential,
        "sequential_symbol": find_spec(summary.scores, sequential.score).symbol if sequential else "",
        "skips": [skip for _, skip in results.record.skips],
        "run_events": tuple(_run_events(journal.events)),
        "reproduction": reproduction_of(run, results.record),
    }


def _tables(run: RunFolder, results: Results) -> dict[str, TableBlock | list[TableBlock]]:
    summary = results.summary
    estimates = estimates_block(summary)
    return {
        "scores": scores_block(summary),
        "changes": changes_block(summary),
        "all_scores": all_scores_block(summary),
        "selections": selections_block(summary),
        # The page is shared: it names files relative to the run folder.
        "estimates": replace(estimates, note=estimates.note.replace(f"{run.path}/", "")),
        "set_ups": set_ups_block(summary),
        "effort": effort_block(summary),
        "sample_sizes": sample_size_block(sample_sizes(results)),
        "latency": latency_blocks(summary),
    }


def _charts(results: Results) -> dict[str, Chart]:
    if results.trials.filter("counts").is_empty():
        return {}
    summary = results.summary
    metric, unit = summary.metric_spec.symbol, summary.cost_unit
    bars = ", ".join(
        f"{summary.name_of(row)} {on_page(row.scores[summary.metric].mean)}" for row in summary.rows if row.trials
    )
    spent = ", ".join(f"{summary.name_of(row)} {row.metres:.1f} m and {row.seconds:.0f} s" for row in summary.rows)
    charts = [
        make_chart(
            "perturbations",
            "Each perturbation beside the test-set mean",
            f"Bars of mean {metric} with 95 % intervals: {bars or 'no trial'}.",
            perturbations_of(results),
        ),
        make_chart(
            "estimate",
            "Estimate against effort",
            f"Mean {metric} of the trials so far against the cumulative cost of set-ups in {unit}. "
            "Each point is a trial and links to it.",
            estimate_of(results, lambda index: f"#trial-{index:04d}"),
        ),
        make_chart("budget", "Cost of set-ups", f"Bars of metres and seconds: {spent}.", budget_of(results), 2.2),
    ]
    if summary.curves:
        curves = ". ".join(
            f"{curve.policy}, {curve.filter}: "
            + ", ".join(f"{point.seconds:g} s {on_page(point.success.mean)}" for point in curve.points)
            for curve in summary.curves
        )
        words = f"Share of successes, with 95 % intervals, against the time of an answer. {curves}."
        charts.append(make_chart("thinking", "Success against emulated latency", words, curves_of(results), 2.6))
    answered = latencies(results.record)
    if answered:
        words = "; ".join(f"{one.policy}: {one.answers} answers" for one in answered)
        charts.append(
            make_chart(
                "latency",
                "Policy latency",
                f"Histogram of the time for an answer. {words}.",
                latency_of(answered),
                2.2,
            )
        )
    return {chart.name: chart for chart in charts}


def _run_events(events: Sequence[Event]) -> Iterable[RunEvent]:
    loaded_before = False
    for event in events:
        if isinstance(event, PolicyLoaded):
            if loaded_before:
                yield RunEvent(event.time, "policy", f"{event.name} serves from now on.")
            loaded_before = True
        elif isinstance(event, PolicyRefused):
            yield RunEvent(event.time, "policy refused", f"{event.policy}: {event.reason}")
        elif isinstance(event, SessionInterrupted):
            yield RunEvent(event.time, "interrupted", f"{event.fault.name}: {event.detail}")
        elif isinstance(event, ProcessDied):
            yield RunEvent(event.time, "process died", f"{event.process}: {event.detail}")
        elif isinstance(event, SpeedScalingNoted):
            yield RunEvent(event.time, "speed scaling", event.detail)
        elif isinstance(event, Paused) and event.detail:
            yield RunEvent(event.time, "paused", event.detail)
        elif isinstance(event, Resumed) and event.by:
            yield RunEvent(event.time, "released", f"{event.by} released the robot, and the session went on.")
        elif isinstance(event, Resumed) and event.restarted:
            yield RunEvent(event.time, "resumed", "The session was resumed in a new process.")
