"""The figures of a run for papers, as PDF and PNG; ``report.svg`` puts the same figures on a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from robocontrast_ros.analysis.estimates.latency import Latency
from robocontrast_ros.analysis.estimates.results import Results
from robocontrast_ros.analysis.figures.charts import (
    COLUMN,
    draw_budget,
    draw_curves,
    draw_estimate,
    draw_latency,
    draw_perturbations,
)
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.system.disk import make_folder, new_file

Draw = Callable[[Figure], None]
"""Draws into an empty figure."""


@dataclass(frozen=True)
class Drawing:
    """A chart.

    Attributes:
        title: its title.
        words: description for readers who cannot see it.
        draw: draws it.
        height: its height [inch].
        width: its width in a paper [inch]: that of a column, or of a page.
    """

    title: str
    words: str
    draw: Draw
    height: float
    width: float = COLUMN


PRINT_DPI = 300
STYLE = {
    "font.size": 8.0,
    "axes.titlesize": 9.0,
    "figure.titlesize": 9.0,
    "svg.fonttype": "none",  # text stays text: it can be searched, read aloud and copied
    "pdf.fonttype": 42,
    # the font that matplotlib measures with, and the page uses if it is installed
    "font.sans-serif": ["DejaVu Sans"],
}


def perturbations_of(results: Results) -> Draw:
    """Return a function that draws bars of the perturbations beside the base trials."""
    return lambda figure: draw_perturbations(figure.subplots(), results.summary)


def estimate_of(results: Results, link: Callable[[int], str] | None = None) -> Draw:
    """Return a function that draws the estimate against cost; with links, a point for each trial."""
    return lambda figure: draw_estimate(figure.subplots(), results.summary, results.trials, results.standard, link)


def budget_of(results: Results) -> Draw:
    """Return a function that draws the cost of base trials' and of each perturbation's set-ups."""
    return lambda figure: draw_budget(figure, results.summary)


def curves_of(results: Results) -> Draw:
    """Return a function that draws success against emulated latency."""
    return lambda figure: draw_curves(figure.subplots(), results.summary)


def latency_of(latencies: Sequence[Latency]) -> Draw:
    """Return a function that draws the distribution of the policies' latencies."""
    return lambda figure: draw_latency(figure.subplots(), latencies)


def write_figures(run: RunFolder, results: Results) -> tuple[Path, ...]:
    """Write the figures of a run for papers into its folder: vector PDF, and PNG in 300 dpi, a column wide.

    Returns:
        The files: ``perturbations``, ``estimate`` and ``budget``, and ``latency`` if the session has several
        emulated latencies, each in both forms; empty if no trial counts.

    Raises:
        DiskError: a file cannot be written.
    """
    if results.trials.filter("counts").is_empty():
        return ()
    drawings = {
        "perturbations": Drawing("Perturbations", "Bars beside the base trials.", perturbations_of(results), 2.6),
        "estimate": Drawing("Estimate", "The mean against cost.", estimate_of(results), 2.6),
        "budget": Drawing("Budget", "Cost of the set-ups.", budget_of(results), 2.6),
    }
    if results.summary.curves:
        words = "Success against the time of an answer."
        drawings["latency"] = Drawing("Latency", words, curves_of(results), 2.6)
    return write_drawings(run.figures, drawings)


def write_drawings(folder: Path, drawings: Mapping[str, Drawing]) -> tuple[Path, ...]:
    """Write figures as vector PDF, and as PNG in 300 dpi; return the files.

    Args:
        folder: the folder of the files; it is made if it does not exist.
        drawings: name of each -> the figure.

    Raises:
        DiskError: a file cannot be written.
    """
    make_folder(folder)
    written = []
    for name, drawing in drawings.items():
        with mpl.rc_context(STYLE):
            figure = Figure(figsize=(drawing.width, drawing.height), layout="constrained")
            drawing.draw(figure)
            for ending in ("pdf", "png"):
                path = folder / f"{name}.{ending}"
                metadata = {"CreationDate": None} if ending == "pdf" else None
                with new_file(path) as part:
                    figure.savefig(part, dpi=PRINT_DPI, metadata=metadata)
                written.append(path)
    return tuple(written)
