"""Pictures of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from robocontrast_ros.analysis.effort import StandardTrial, cumulative
from robocontrast_ros.analysis.summary import ALL, Row, Summary, running_means
from robocontrast_ros.domain import BASE, METRICS

# From the palette of Okabe and Ito, which is told apart under the common forms of colour blindness.
BLUE, ORANGE, GREEN, PINK, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#555555"


def draw_overview(
    summary: Summary, trials: pl.DataFrame, standard: Sequence[StandardTrial], path: Path
) -> None:
    """Draw each perturbation's mean beside the base trials, and the estimate against cost (figures 3 and 5).

    Args:
        summary: means and intervals.
        trials: the table of trials.
        standard: the standard evaluation that the base trials make up; empty where they do not.
        path: the PNG file to write.
    """
    figure = Figure(figsize=(11.0, 4.4), dpi=150, layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.0, 1.25))
    subject = f"{summary.policy} on {summary.robot}" if summary.policy else summary.session
    figure.suptitle(f"{subject} ({summary.strategy or 'session'} '{summary.session}')", fontsize=12)
    _draw_perturbations(left, summary)
    _draw_estimate(right, summary, trials, standard)
    figure.savefig(path)


def _draw_perturbations(axes: Axes, summary: Summary) -> None:
    base = summary.row(BASE)
    reference = base.score(summary.metric)
    if reference.mean is not None:
        axes.axhline(reference.mean, color=GREY, linestyle="--", linewidth=1.2)
        if reference.low is not None:
            axes.axhspan(reference.low, reference.high, color=GREY, alpha=0.15, linewidth=0.0)
    rows = [row for row in summary.rows if row.perturbation != ALL]
    for position, row in enumerate(rows):
        score = row.score(summary.metric)
        if score.mean is None:
            axes.text(position, 0.03, "no trial", ha="center", color=GREY)
            continue
        axes.bar(position, score.mean, width=0.6, color=GREY if row is base else BLUE, alpha=0.85)
        if score.low is not None:
            error = [[max(score.mean - score.low, 0.0)], [max(score.high - score.mean, 0.0)]]
            axes.errorbar(position, score.mean, error, color="black", capsize=4.0, linewidth=1.2)
    axes.set_xticks(range(len(rows)), [_tick(row) for row in rows])
    axes.set_xlim(-0.6, len(rows) - 0.4)
    axes.set_ylim(0.0, 1.02)
    axes.set_ylabel(f"mean {METRICS[summary.metric]} (95 % interval)")
    axes.set_title("Each perturbation beside the test-set mean", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)


def _tick(row: Row) -> str:
    return f"{row.symbol}\nn = {row.trials}" + (f"\n{row.void} void" if row.void else "")


def _draw_estimate(
    axes: Axes, summary: Summary, trials: pl.DataFrame, standard: Sequence[StandardTrial]
) -> None:
    unit, counting = summary.cost_unit, trials.filter("counts")
    few = {"marker": "o"} if len(counting) < 3 else {}
    step = {"where": "post", **few}
    if len(counting):
        axes.step(
            counting["cumulative_cost"],
            running_means(counting[summary.metric].to_list()),
            color=ORANGE,
            linewidth=2.0,
            label=f"this session, {len(counting)} trials",
            **step,
        )
        if standard and len(summary.rows) > 2:
            axes.step(
                cumulative(standard, unit),
                running_means([getattr(trial.result, summary.metric) for trial in standard]),
                color=BLUE,
                linestyle="--",
                label=f"standard evaluation of its test set, {len(standard)} trials",
                **step,
            )
        axes.legend(loc="best", fontsize=9)
    else:
        axes.text(0.5, 0.5, "no trial that counts", transform=axes.transAxes, ha="center", color=GREY)
    limit = summary.effort.within
    if limit is not None:
        axes.axvline(limit, color=GREY, linestyle=":")
        axes.annotate(
            f"{limit:.4g} {unit}: {summary.effort.within_is}",
            (limit, 0.02),
            rotation=90,
            ha="right",
            va="bottom",
            color=GREY,
            fontsize=8,
        )
    axes.set_xlim(left=0.0)
    axes.set_ylim(0.0, 1.02)
    axes.set_xlabel(f"cumulative cost of set-ups [{unit}]")
    axes.set_ylabel(f"mean {METRICS[summary.metric]} so far")
    axes.set_title("Estimate against effort", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
