"""The figures of a run: drawn once as SVG for the page, in two widths, and once for papers, as PDF and PNG."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import matplotlib as mpl
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from robocontrast_ros.analysis.estimates.comparison import Comparison
from robocontrast_ros.analysis.estimates.latency import Latency
from robocontrast_ros.analysis.figures.run_figures import (
    BLUE,
    GREY,
    ORANGE,
    draw_budget,
    draw_estimate,
    draw_latency,
    draw_perturbations,
)
from robocontrast_ros.analysis.results import Results
from robocontrast_ros.domain import METRICS
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.statistics.estimate import Estimate
from robocontrast_ros.system.disk import make_folder, new_file

Draw = Callable[[Figure], None]
"""Draws into an empty figure."""

COLUMN, PAGE = 3.4, 7.0
"""Widths [inch]: of a paper's column, which is a phone's too, and of its page."""

PRINT_DPI = 300
STYLE = {
    "font.size": 8.0,
    "axes.titlesize": 9.0,
    "figure.titlesize": 9.0,
    "svg.fonttype": "none",  # text stays text: to be searched, read aloud and copied
    "pdf.fonttype": 42,
    # matplotlib measures with this font and the page shows with it where it can
    "font.sans-serif": ["DejaVu Sans"],
}


@dataclass(frozen=True)
class Chart:
    """A figure on a page.

    Attributes:
        name: unique on the page.
        title: of the figure.
        words: what it shows, for those who cannot see it.
        wide: SVG element for a laptop.
        narrow: SVG element for a phone.
    """

    name: str
    title: str
    words: str
    wide: Markup
    narrow: Markup


def make_chart(name: str, title: str, words: str, draw: Draw, height: float = 2.8) -> Chart:
    """Draw a figure for a page.

    Args:
        name: unique on the page.
        title: of the figure.
        words: what it shows, for those who cannot see it.
        draw: draws it.
        height: [inch].
    """
    wide, narrow = (_svg(f"{name}-{width:g}", words, width, height, draw) for width in (PAGE, COLUMN))
    return Chart(name, title, words, wide, narrow)


def _svg(name: str, words: str, width: float, height: float, draw: Draw) -> Markup:
    with mpl.rc_context({**STYLE, "svg.hashsalt": name}):
        figure = Figure(figsize=(width, height), layout="constrained")
        draw(figure)
        text = StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    # Several figures share one page, so their ids must differ; links lead to ids of the page itself.
    svg = re.sub(r'( id="|url\(#|href="#(?!trial-))', rf"\g<1>{name}-", svg)
    # The links of points are for a pointer; with a keyboard the table of trials is the shorter way.
    svg = svg.replace("<a ", '<a tabindex="-1" ').replace(' target="_blank"', "")
    head, rest = svg.split(">", 1)
    head = re.sub(r' (?:width|height)="[^"]*"', "", head)
    return Markup(head) + Markup(' role="img" aria-label="{}">').format(words) + Markup(rest)


def perturbations_of(results: Results) -> Draw:
    """Return what draws the bars of the perturbations beside the base trials."""
    return lambda figure: draw_perturbations(figure.subplots(), results.summary)


def estimate_of(results: Results, link: Callable[[int], str] | None = None) -> Draw:
    """Return what draws the estimate against cost; with links, a point for each trial."""
    return lambda figure: draw_estimate(
        figure.subplots(), results.summary, results.trials, results.standard, link
    )


def budget_of(results: Results) -> Draw:
    """Return what draws the cost of the base trials' and of each perturbation's set-ups."""
    return lambda figure: draw_budget(figure, results.summary)


def latency_of(latencies: Sequence[Latency]) -> Draw:
    """Return what draws the distribution of the policies' times for an answer."""
    return lambda figure: draw_latency(figure.subplots(), latencies)


def write_figures(run: RunFolder, results: Results) -> tuple[Path, ...]:
    """Write the figures of a run for papers into its folder: vector PDF, and PNG in 300 dpi, a column wide.

    Returns:
        The files: ``perturbations``, ``estimate`` and ``budget``, each in both forms; none where no trial counts.
    """
    if results.trials.filter("counts").is_empty():
        return ()
    make_folder(run.figures)
    written = []
    for name, draw in {
        "perturbations": perturbations_of(results),
        "estimate": estimate_of(results),
        "budget": budget_of(results),
    }.items():
        with mpl.rc_context(STYLE):
            figure = Figure(figsize=(COLUMN, 2.6), layout="constrained")
            draw(figure)
            for ending in ("pdf", "png"):
                path = run.figures / f"{name}.{ending}"
                metadata = {"CreationDate": None} if ending == "pdf" else None
                with new_file(path) as part:
                    figure.savefig(part, dpi=PRINT_DPI, metadata=metadata)
                written.append(path)
    return tuple(written)


def draw_comparison(figure: Figure, comparison: Comparison, first: str, second: str) -> None:
    """Draw what two runs say for each perturbation: both means, and the mean paired difference.

    Args:
        figure: empty; gets two axes, side by side where it is wide enough.
        comparison: the numbers.
        first: what the first run is called.
        second: what the second is called.
    """
    rows, metric = comparison.rows, METRICS[comparison.metric]
    shape = (1, 2) if figure.get_figwidth() >= PAGE else (2, 1)
    means, differences = figure.subplots(*shape)
    for offset, colour, name, label in ((-0.18, BLUE, "first", first), (0.18, ORANGE, "second", second)):
        for position, row in enumerate(rows):
            _draw_point(
                means, position + offset, getattr(row, name), colour, label if position == 0 else None
            )
    for position, row in enumerate(rows):
        _draw_point(differences, position, row.difference, "black", None)
    differences.axhline(0.0, color=GREY, linestyle="--", linewidth=1.0)
    means.set_ylim(-0.02, 1.02)
    means.set_ylabel(f"mean {metric}")
    differences.set_ylabel(f"difference of {metric}")
    means.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), fontsize="small", frameon=False)
    for axes in (means, differences):
        axes.set_xticks(range(len(rows)), [f"{row.symbol}\nn = {row.pairs}" for row in rows])
        axes.set_xlim(-0.6, len(rows) - 0.4)
        axes.spines[["top", "right"]].set_visible(False)


def _draw_point(axes: Axes, position: float, value: Estimate, colour: str, label: str | None) -> None:
    if value.mean is None:
        return
    axes.plot(position, value.mean, "o", color=colour, markersize=5.0, label=label)
    if value.low is not None and value.high is not None:
        axes.vlines(position, value.low, value.high, color=colour, linewidth=1.5)
