"""Pictures of a run."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from robocontrast_ros.analysis.summary import ALL, Row, Summary, running_estimates
from robocontrast_ros.domain import BASE

# From the palette of Okabe and Ito, which is told apart under the common forms of colour blindness.
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#555555"


def draw_overview(summary: Summary, trials: pl.DataFrame, path: Path) -> None:
    """Draw mean SPL for each perturbation beside the base trials, and the estimate against cost (figure 3).

    Args:
        summary: means and intervals.
        trials: the table of trials.
        path: the PNG file to write.
    """
    figure = Figure(figsize=(11.0, 4.4), dpi=150, layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.0, 1.25))
    subject = f"{summary.policy} on {summary.robot}" if summary.policy else summary.session
    figure.suptitle(f"{subject} ({summary.strategy or 'session'} '{summary.session}')", fontsize=12)
    _draw_perturbations(left, summary)
    _draw_estimate(right, summary, trials)
    figure.savefig(path)


def _draw_perturbations(axes: Axes, summary: Summary) -> None:
    base = summary.row(BASE)
    if base.spl.mean is not None:
        axes.axhline(base.spl.mean, color=GREY, linestyle="--", linewidth=1.2)
        if base.spl.low is not None:
            axes.axhspan(base.spl.low, base.spl.high, color=GREY, alpha=0.15, linewidth=0.0)
    rows = [row for row in summary.rows if row.perturbation != ALL]
    for position, row in enumerate(rows):
        spl = row.spl
        if spl.mean is None:
            axes.text(position, 0.03, "no trial", ha="center", color=GREY)
            continue
        axes.bar(position, spl.mean, width=0.6, color=GREY if row is base else BLUE, alpha=0.85)
        if spl.low is not None:
            error = [[max(spl.mean - spl.low, 0.0)], [max(spl.high - spl.mean, 0.0)]]
            axes.errorbar(position, spl.mean, error, color="black", capsize=4.0, linewidth=1.2)
    axes.set_xticks(range(len(rows)), [_tick(row) for row in rows])
    axes.set_xlim(-0.6, len(rows) - 0.4)
    axes.set_ylim(0.0, 1.02)
    axes.set_ylabel("mean SPL (95 % interval)")
    axes.set_title("Each perturbation beside the test-set mean", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)


def _tick(row: Row) -> str:
    symbol = row.perturbation if row.perturbation == BASE else f"Δ{row.perturbation}"
    return f"{symbol}\nn = {row.trials}" + (f"\n{row.void} void" if row.void else "")


def _draw_estimate(axes: Axes, summary: Summary, trials: pl.DataFrame) -> None:
    running = running_estimates(trials)
    unit = summary.cost_unit
    if len(running):
        cost = running["cumulative_cost"].to_numpy()
        few = "o" if len(running) < 3 else None
        axes.step(
            cost,
            running["mean_spl"],
            where="post",
            color=ORANGE,
            linewidth=2.0,
            marker=few,
            label="all trials",
        )
        if len(summary.rows) > 2:
            of_base = running["mean_spl_base"]
            axes.step(
                cost, of_base, where="post", color=BLUE, linestyle="--", marker=few, label="base trials alone"
            )
        axes.legend(loc="best", fontsize=9)
    else:
        axes.text(0.5, 0.5, "no trial that counts", transform=axes.transAxes, ha="center", color=GREY)
    if summary.budget is not None:
        axes.axvline(summary.budget, color=GREY, linestyle=":")
        axes.annotate(
            f"budget {summary.budget:g} {unit}",
            (summary.budget, 0.02),
            rotation=90,
            ha="right",
            va="bottom",
            color=GREY,
            fontsize=9,
        )
    axes.set_xlim(left=0.0)
    axes.set_ylim(0.0, 1.02)
    axes.set_xlabel(f"cumulative cost of set-ups [{unit}]")
    axes.set_ylabel("mean SPL so far")
    axes.set_title("Estimate against effort", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
