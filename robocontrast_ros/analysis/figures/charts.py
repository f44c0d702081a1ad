"""Charts of a run, and of two runs side by side, drawn into axes of matplotlib."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from robocontrast_ros.analysis.estimates.effort import StandardTrial, cumulative
from robocontrast_ros.analysis.estimates.latency import Latency
from robocontrast_ros.analysis.estimates.summary import ALL, Summary, SummaryRow
from robocontrast_ros.domain import BASE, ScoreSpec
from robocontrast_ros.domain.words import counted
from robocontrast_ros.statistics.curves import running_means
from robocontrast_ros.statistics.estimate import Estimate
from robocontrast_ros.system.disk import new_file

if TYPE_CHECKING:
    from robocontrast_ros.analysis.estimates.comparison import Comparison

# These colours are from the palette of Okabe and Ito, which is safe for the common forms of colour blindness.
BLUE, ORANGE, GREEN, PINK, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#555555"
COLUMN, PAGE = 3.4, 7.0
"""Widths of a paper's column, which is also a phone's, and of its page [inch]."""

SIDE_BY_SIDE = 8
"""Greatest number of bars whose labels fit side by side."""

POLICY_COLOURS = (BLUE, GREEN, PINK, ORANGE)
"""Colours of the policies that were swapped for one another, in order."""


def draw_overview(summary: Summary, trials: pl.DataFrame, standard: Sequence[StandardTrial], path: Path) -> None:
    """Draw each perturbation's mean beside the base trials, and the estimate against cost (figures 3 and 5).

    Args:
        summary: means and intervals.
        trials: the table of trials.
        standard: the standard evaluation that the base trials make up; empty if they do not.
        path: the PNG file to write.

    Raises:
        DiskError: it cannot be written.
    """
    figure = Figure(figsize=(11.0, 4.4), dpi=150, layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.0, 1.25))
    subject = f"{summary.policy} on {summary.robot}" if summary.policy else summary.session
    figure.suptitle(f"{subject} ({summary.strategy or 'session'} '{summary.session}')", fontsize=12)
    draw_perturbations(left, summary)
    left.set_title("Each perturbation beside the test-set mean", fontsize=10)
    draw_estimate(right, summary, trials, standard)
    legend = right.get_legend()
    above = 13.0 * len(legend.get_texts()) if legend else 0.0
    right.set_title("Estimate against effort", fontsize=10, pad=6.0 + above)
    with new_file(path) as part:
        figure.savefig(part)


def draw_perturbations(axes: Axes, summary: Summary) -> None:
    """Draw each perturbation's mean as a bar, beside the mean of the base trials (figure 5)."""
    position, ticks = 0, []
    for number, policy in enumerate(summary.policies):
        rows = [row for row in summary.rows if row.policy == policy and row.perturbation != ALL]
        colour = POLICY_COLOURS[number % len(POLICY_COLOURS)]
        _draw_reference(axes, summary, policy, position, len(rows))
        for row in rows:
            _draw_bar(axes, position, row, summary.metric, GREY if row.perturbation == BASE else colour)
            first = f"\n{policy}" if row is rows[0] and len(summary.policies) > 1 else ""
            ticks.append(_tick(row) + first)
            position += 1
    label_bars(axes, ticks)
    axes.set_xlim(-0.6, len(ticks) - 0.4)
    _limit(axes, summary.metric_spec, 0.0)
    axes.set_ylabel(f"mean {summary.metric_spec.heading} (95 % interval)")
    axes.spines[["top", "right"]].set_visible(False)


def _limit(axes: Axes, score: ScoreSpec, below: float) -> None:
    """Show the range of a score, as far as it has ends, with a little space above, and this share of it below."""
    width = score.high - score.low
    if score.bounded:
        axes.set_ylim(score.low - below * width, score.high + 0.02 * width)
    elif math.isfinite(score.low):
        axes.set_ylim(bottom=score.low)


def _draw_reference(axes: Axes, summary: Summary, policy: str, begin: int, rows: int) -> None:
    """Draw the mean of a policy's base trials behind its bars."""
    reference = summary.row(BASE, policy).scores[summary.metric]
    if reference.mean is None:
        return
    ends = begin - 0.5, begin + rows - 0.5
    axes.hlines(reference.mean, *ends, color=GREY, linestyle="--", linewidth=1.2)
    if reference.low is not None:
        axes.fill_between(ends, reference.low, reference.high, color=GREY, alpha=0.15, linewidth=0.0)


def _draw_bar(axes: Axes, position: int, row: SummaryRow, metric: str, colour: str) -> None:
    score = row.scores[metric]
    if score.mean is None:
        place = axes.get_xaxis_transform()
        axes.text(position, 0.03 / 1.02, "no trial", ha="center", color=GREY, transform=place)
        return
    axes.bar(position, score.mean, width=0.6, color=colour, alpha=0.85)
    if score.low is not None:
        error = [[max(score.mean - score.low, 0.0)], [max(score.high - score.mean, 0.0)]]
        axes.errorbar(position, score.mean, error, color="black", capsize=4.0, linewidth=1.2)


def draw_curves(axes: Axes, summary: Summary) -> None:
    """Draw success against emulated latency: a line a curve, with 95 % intervals."""
    several, longest = len(summary.policies) > 1, max(curve.points[-1].seconds for curve in summary.curves)
    for number, curve in enumerate(summary.curves):
        colour = POLICY_COLOURS[number % len(POLICY_COLOURS)]
        # Lines are shifted a little, so that no interval hides another.
        offset = 0.01 * longest * number
        x = [point.seconds + offset for point in curve.points]
        label = f"{curve.filter} ({curve.policy})" if several else curve.filter
        axes.plot(x, [p.success.mean for p in curve.points], color=colour, marker="o", markersize=4.0, label=label)
        for place, point in zip(x, curve.points, strict=True):
            if point.success.low is not None:
                axes.vlines(place, point.success.low, point.success.high, color=colour, linewidth=1.2)
    axes.set_ylim(-0.02, 1.02)
    axes.set_xlabel("time of an answer [s]; at 0 the world waits")
    axes.set_ylabel("success (95 % interval)")
    axes.spines[["top", "right"]].set_visible(False)
    if len(summary.curves) > 1:
        axes.legend(frameon=False)


def label_bars(axes: Axes, labels: Sequence[str]) -> None:
    """Write a label below each bar; more than ``SIDE_BY_SIDE`` are turned, and their lines are joined."""
    if len(labels) <= SIDE_BY_SIDE:
        axes.set_xticks(range(len(labels)), labels)
        return
    axes.set_xticks(range(len(labels)), [label.replace("\n", ", ") for label in labels])
    axes.tick_params(axis="x", rotation=50)
    for text in axes.get_xticklabels():
        text.set(ha="right", rotation_mode="anchor")


def _tick(row: SummaryRow) -> str:
    return f"{row.symbol}\nn = {row.trials}" + (f"\n{row.void} void" if row.void else "")


def draw_estimate(
    axes: Axes,
    summary: Summary,
    trials: pl.DataFrame,
    standard: Sequence[StandardTrial],
    link: Callable[[int], str] | None = None,
) -> None:
    """Draw the mean of the session's metric so far against the cost of set-ups so far (figure 3).

    Args:
        axes: to draw into.
        summary: means and intervals.
        trials: the table of trials.
        standard: the standard evaluation that the base trials make up; empty if they do not.
        link: index of a trial -> target of its point's link; None for a curve without points.
    """
    unit, counting = summary.cost_unit, trials.filter("counts")
    few = {"marker": "o"} if len(counting) < 3 else {}
    step = {"where": "post", **few}
    several = len(summary.policies) > 1
    if len(counting):
        for number, policy in enumerate(summary.policies):
            run = counting.filter(pl.col("policy") == policy)
            means = running_means(run[summary.metric_spec.column].to_list())
            colour = POLICY_COLOURS[number % len(POLICY_COLOURS)] if several else ORANGE
            label = f"{policy if several else 'this session'}, {counted(len(run), 'trial')}"
            axes.step(run["cumulative_cost"], means, color=colour, linewidth=2.0, label=label, **step)
            if link is not None:
                points = axes.scatter(run["cumulative_cost"], means, s=14.0, color=colour, zorder=3)
                points.set_urls([link(index) for index in run["index"]])
        if standard and len(summary.rows) > 2 and not several:
            axes.step(
                cumulative(standard, unit),
                running_means([trial.result.scores[summary.metric] for trial in standard]),
                color=BLUE,
                linestyle="--",
                label=f"standard evaluation of its test set, {counted(len(standard), 'trial')}",
                **step,
            )
    else:
        axes.text(0.5, 0.5, "no trial that counts", transform=axes.transAxes, ha="center", color=GREY)
    limit = summary.effort.within
    if limit is not None:
        axes.axvline(limit, color=GREY, linestyle=":", label=f"{limit:.4g} {unit}: {summary.effort.within_is}")
    if axes.get_legend_handles_labels()[0]:
        # The legend is above the axes, so that it hides no curve.
        axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), fontsize="small", frameon=False)
    axes.set_xlim(left=0.0)
    _limit(axes, summary.metric_spec, 0.0)
    axes.set_xlabel(f"cumulative cost of set-ups [{unit}]")
    axes.set_ylabel(f"mean {summary.metric_spec.heading} so far")
    axes.spines[["top", "right"]].set_visible(False)


def draw_budget(figure: Figure, summary: Summary) -> None:
    """Draw the cost of set-ups of the base trials and of each perturbation, in metres and in seconds.

    Args:
        figure: empty; gets two axes side by side.
        summary: means and intervals.
    """
    rows = [row for row in summary.rows if row.perturbation != ALL]
    labels = [summary.name_of(row) for row in rows]
    colours = [GREY if row.perturbation == BASE else BLUE for row in rows]
    panels = figure.subplots(1, 2, sharey=True)
    for axes, unit, words in zip(
        panels, ("metres", "seconds"), ("objects carried [m]", "time of a person [s]"), strict=True
    ):
        spent = [getattr(row, unit) for row in rows]
        bars = axes.barh(range(len(rows)), spent, height=0.6, color=colours, alpha=0.85)
        axes.bar_label(bars, [f"{value:.{1 if unit == 'metres' else 0}f}" for value in spent], padding=2.0)
        axes.set_xlim(0.0, 1.25 * max([*spent, 1e-9]))
        axes.set_xlabel(words)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_yticks(range(len(rows)), labels)
    panels[0].invert_yaxis()


def draw_latency(axes: Axes, latencies: Sequence[Latency]) -> None:
    """Draw the distribution of the policies' latencies, with the median and the 95th percentile.

    Args:
        axes: to draw into.
        latencies: one a policy; at least one.
    """
    for latency, colour in zip(latencies, itertools.cycle(POLICY_COLOURS), strict=False):
        edges = [1000.0 * edge for edge in latency.edges]
        axes.stairs(latency.counts, edges, fill=True, color=colour, alpha=0.5, label=latency.policy)
        for value, style in ((latency.median, "--"), (latency.p95, ":")):
            axes.axvline(1000.0 * value, color=colour, linestyle=style)
    axes.set_xlim(left=0.0)
    axes.set_xlabel("time for an answer [ms]; dashed: median, dotted: p95")
    axes.set_ylabel("answers")
    axes.spines[["top", "right"]].set_visible(False)
    if len(latencies) > 1:
        axes.legend(fontsize="small")


def draw_comparison(figure: Figure, comparison: Comparison, first: str, second: str) -> None:
    """Draw the comparison of two runs for each perturbation: both means, and the mean paired difference.

    Args:
        figure: empty; gets two axes, side by side if it is wide enough.
        comparison: the numbers.
        first: label of the first run.
        second: label of the second run.
    """
    rows, metric = comparison.rows, comparison.metric_spec.heading
    shape = (1, 2) if figure.get_figwidth() >= PAGE else (2, 1)
    means, differences = figure.subplots(*shape)
    for offset, colour, name, label in ((-0.18, BLUE, "first", first), (0.18, ORANGE, "second", second)):
        for position, row in enumerate(rows):
            _draw_point(means, position + offset, getattr(row, name), colour, label if position == 0 else None)
    for position, row in enumerate(rows):
        _draw_point(differences, position, row.difference, "black", None)
    differences.axhline(0.0, color=GREY, linestyle="--", linewidth=1.0)
    _limit(means, comparison.metric_spec, 0.02)
    means.set_ylabel(f"mean {metric}")
    differences.set_ylabel(f"difference of {metric}")
    means.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), fontsize="small", frameon=False)
    for axes in (means, differences):
        label_bars(axes, [f"{row.symbol}\nn = {row.pairs}" for row in rows])
        axes.set_xlim(-0.6, len(rows) - 0.4)
        axes.spines[["top", "right"]].set_visible(False)


def _draw_point(axes: Axes, position: float, value: Estimate, colour: str, label: str | None) -> None:
    if value.mean is None:
        return
    axes.plot(position, value.mean, "o", color=colour, markersize=5.0, label=label)
    if value.low is not None and value.high is not None:
        axes.vlines(position, value.low, value.high, color=colour, linewidth=1.5)
