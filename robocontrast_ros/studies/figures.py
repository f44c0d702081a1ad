"""Figures of a study: 3 and 6 of seed 000, and 5, 7 and 8, which show the same for another task and cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from robocontrast_ros.statistics.clusters import cluster_mean
from robocontrast_ros.statistics.estimate import Estimate
from robocontrast_ros.studies.curves import Curve
from robocontrast_ros.studies.orders import ESTIMATORS, Estimator, ExpectedError
from robocontrast_ros.studies.seed_run import DIFFICULTY, SeedRun

# The palette of Okabe and Ito is distinct under the common forms of colour blindness; grey replaces their yellow.
COLOURS = ("#000000", "#E69F00", "#56B4E9", "#009E73", "#CC79A7", "#0072B2", "#D55E00", "#7F7F7F")
DASHES: tuple[object, ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (1, 1)),
    "-",
    (0, (3, 1, 1, 1)),
    (0, (5, 1.5)),
    (0, (2, 2)),
    (0, (4, 1, 1, 1, 1, 1)),
)
"""Lines differ in more than colour: print may be black and white, and two curves may coincide."""

EARLY = 0.04
"""First share of the cost axis whose errors, those of the very first trials, do not set the range of the error axis."""

BINS = 6
"""Number of bins of a measure of scenes that has more values than this."""

UPRIGHT = 5
"""Greatest number of perturbations whose names fit side by side; more names are turned upright."""

STYLE = {"font.size": 8, "axes.spines.top": False, "axes.spines.right": False, "pdf.fonttype": 42}


@dataclass(frozen=True, eq=False)
class Picture:
    """Data of the figures of one policy, with their names and units.

    Attributes:
        policy: its name.
        contrast: label of the strategy whose perturbations are drawn.
        symbols: its perturbations -> their symbols.
        metric: name of the score.
        unit: of costs.
        seed_runs: one per seed.
        curves: error and trials against cost.
        expected: error of each estimator of the contrast set over random orders, beside the standard evaluation's.
        control: name of the study's control; empty if there is none.
        controls: the control's trials, one per seed; empty for the control itself and in a study without one.
    """

    policy: str
    contrast: str
    symbols: Mapping[str, str]
    metric: str
    unit: str
    seed_runs: Sequence[SeedRun]
    curves: Sequence[Curve] = ()
    expected: Mapping[Estimator, ExpectedError] = field(default_factory=dict)
    control: str = ""
    controls: Sequence[SeedRun] = ()


def draw_estimate(picture: Picture, path: Path) -> None:
    """Draw each perturbation beside the test-set mean, and error against cost (figures 3, 5 and 7).

    Args:
        picture: the data.
        path: of the PDF and the PNG, without suffix.
    """
    seed_runs, curves = picture.seed_runs, picture.curves
    with rc_context(STYLE):
        figure = Figure(figsize=(7.2, 3.1), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(1.0, 1.6))
        _draw_perturbations(left, picture)
        plain = [curve for curve in curves if curve.estimator == "plain"]
        for curve, colour, dash in zip(plain, *_styles(len(plain)), strict=True):
            _draw_error(right, curve, curve.strategy, colour, dash)
        cost = float(np.mean([seed_run.standard_cost for seed_run in seed_runs]))
        _mark_cost(right, cost, seed_runs[0].standard, picture.unit, high=True)
        _finish_errors(right, plain, picture)
        figure.suptitle(picture.policy, fontsize=9)
        _save(figure, path)


def draw_estimators(picture: Picture, path: Path) -> None:
    """Draw the expected error of the estimators from one contrast set, and of the standard evaluation."""
    standard = picture.seed_runs[0].standard
    with rc_context(STYLE):
        figure = Figure(figsize=(4.4, 3.1), layout="constrained")
        axes = figure.subplots()
        plain = picture.expected["plain"]
        axes.plot(plain.costs, plain.against, color=COLOURS[2], linestyle=DASHES[2], label=standard)
        for (estimator, found), colour, dash in zip(
            picture.expected.items(), ("#009E73", "#000000", "#D55E00"), ("-", DASHES[1], "-"), strict=True
        ):
            axes.plot(found.costs, found.of, color=colour, linestyle=dash, label=ESTIMATORS[estimator])
        axes.set_xlim(left=0.0)
        axes.set_ylim(bottom=0.0)
        axes.set_xlabel(f"cumulative cost of set-ups [{picture.unit}]")
        axes.set_ylabel(f"absolute error of mean {picture.metric},\nmean over random orders")
        axes.legend(frameon=False, fontsize=7)
        axes.set_title(f"{picture.policy}: estimators of '{picture.contrast}'", fontsize=9)
        _save(figure, path)


def draw_trials(picture: Picture, path: Path) -> None:
    """Draw the number of trials against their cost (figures 6 and 8); write PDF and PNG."""
    seed_runs, curves = picture.seed_runs, picture.curves
    with rc_context(STYLE):
        figure = Figure(figsize=(4.4, 3.1), layout="constrained")
        axes = figure.subplots()
        plain = [curve for curve in curves if curve.estimator == "plain"]
        for curve, colour, dash in zip(plain, *_styles(len(plain)), strict=True):
            for seed_run in seed_runs:
                own = seed_run.sessions[curve.strategy].cumulative_cost
                axes.plot((0.0, *own), range(len(own) + 1), color=colour, alpha=0.25, linewidth=0.8)
            edges, trials = curve.errors.edges[1:], _where_all(curve, curve.trials)
            axes.plot((0.0, *edges), (0.0, *trials), color=colour, linestyle=dash, label=curve.strategy)
        cost = float(np.mean([seed_run.standard_cost for seed_run in seed_runs]))
        _mark_cost(axes, cost, seed_runs[0].standard, picture.unit, high=False)
        axes.set_xlim(left=0.0)
        axes.set_ylim(bottom=0.0)
        axes.set_xlabel(f"cumulative cost of set-ups [{picture.unit}]")
        axes.set_ylabel("trials")
        axes.set_title(picture.policy, fontsize=9)
        axes.legend(frameon=False, fontsize=7)
        _save(figure, path)


def draw_by_measures(pictures: Sequence[Picture], measures: Sequence[str], path: Path) -> None:
    """Draw the mean score of the perturbed trials against measures of their scenes, a line for each policy.

    Against the difficulty of the problem it is that of the base trials.

    A measure of few values has a point at each; any other has bins of equal numbers of trials, whose edges are those of
    the first policy's scenes.

    Args:
        pictures: one per policy.
        measures: names, one panel each.
        path: of the PDF and the PNG, without suffix.
    """
    with rc_context(STYLE):
        figure = Figure(figsize=(2.6 * len(measures) + 1.4, 2.9), layout="constrained")
        panels = figure.subplots(1, len(measures), squeeze=False, sharey=True)[0]
        for axes, measure in zip(panels, measures, strict=True):
            edges = _edges(_drawn(pictures[0], measure)[0])
            for picture, colour, dash in zip(pictures, *_styles(len(pictures)), strict=True):
                x, score, clusters = _drawn(picture, measure)
                if not len(x):
                    continue
                cells = np.searchsorted(edges, x, side="right")
                groups = [cells == cell for cell in np.unique(cells)]
                found = [cluster_mean(score[group], clusters[group]) for group in groups]
                ends = [(e.mean, e.mean) if e.low is None else (e.low, e.high) for e in found]
                at, means = [x[group].mean() for group in groups], [e.mean for e in found]
                axes.plot(at, means, color=colour, linestyle=dash, marker=".", label=picture.policy)
                axes.fill_between(at, *np.transpose(ends), color=colour, alpha=0.10, linewidth=0.0)
            axes.set_xlabel(measure)
            axes.set_ylim(0.0, 1.05)
        panels[0].set_ylabel(f"mean {pictures[0].metric} (95 % intervals)")
        figure.legend(*panels[0].get_legend_handles_labels(), frameon=False, fontsize=7, loc="outside right upper")
        _save(figure, path)


FIGURES: Mapping[str, Callable[[Picture, Path], None]] = {
    "estimate": draw_estimate,
    "trials": draw_trials,
    "estimators": draw_estimators,
}
"""Start of a file's name -> the function that draws it."""


def _drawn(picture: Picture, measure: str) -> tuple[NDArray[np.float64], ...]:
    """Return measure, score and cluster of the trials of the contrast set that have the measure, and are drawn."""
    parts = []
    for seed, seed_run in enumerate(picture.seed_runs):
        trials = seed_run.sessions[picture.contrast]
        x = trials.measures.get(measure, np.full(len(trials.score), np.nan))
        known = (trials.is_base == (measure == DIFFICULTY)) & ~np.isnan(x)
        parts.append((x[known], trials.score[known], trials.instance[known] + seed * 1_000_000))
    return tuple(np.concatenate(part) for part in zip(*parts, strict=True))


def _edges(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the lower edges of all bins but the first."""
    values = np.unique(x)
    return values[1:] if len(values) <= BINS else np.unique(np.quantile(x, np.linspace(0.0, 1.0, BINS + 1)[1:-1]))


def _styles(number: int) -> tuple[list[str], list[object]]:
    return [COLOURS[i % len(COLOURS)] for i in range(number)], [DASHES[i % len(DASHES)] for i in range(number)]


def _draw_perturbations(axes: Axes, picture: Picture) -> None:
    seed_runs = picture.seed_runs
    target = _pooled(seed_runs, seed_runs[0].standard, None)
    names = list(picture.symbols)
    if target.low is not None:
        axes.axhspan(target.low, target.high, color=COLOURS[0], alpha=0.12, linewidth=0.0)
    if target.mean is not None:
        axes.axhline(target.mean, color=COLOURS[0], linestyle="--", linewidth=1.0, label="test-set mean")
    ticks = []
    for position, name in enumerate(names):
        estimate = _pooled(seed_runs, picture.contrast, name)
        number = sum(int(np.sum(s.sessions[picture.contrast].perturbation == name)) for s in seed_runs)
        ticks.append(f"{picture.symbols[name]}\nn = {number}")
        if estimate.mean is None:
            axes.text(position, 0.03, "no trial", ha="center")
            continue
        axes.bar(position, estimate.mean, width=0.62, color=COLOURS[2])
        if estimate.low is not None:
            reach = [[estimate.mean - estimate.low], [estimate.high - estimate.mean]]
            axes.errorbar(position, estimate.mean, reach, color="black", capsize=3.0, linewidth=1.0)
    if picture.controls:
        means = [_pooled(picture.controls, picture.contrast, name).mean for name in names]
        axes.plot(
            range(len(names)),
            [np.nan if mean is None else mean for mean in means],
            linestyle="none",
            marker="D",
            markersize=5.0,
            markerfacecolor="white",
            markeredgecolor=COLOURS[6],
            label=picture.control,
        )
    axes.set_xticks(range(len(names)), ticks, rotation=90 if len(names) > UPRIGHT else 0)
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.set_ylim(0.0, 1.15)
    axes.set_yticks(np.linspace(0.0, 1.0, 6))
    axes.set_ylabel(f"mean {picture.metric} (95 % interval)")
    axes.legend(frameon=False, fontsize=7, loc="upper right", ncols=2)


def _pooled(seed_runs: Sequence[SeedRun], label: str, perturbation: str | None) -> Estimate:
    """Return the mean over trials of all seeds; a base instance of each seed is a cluster."""
    parts = []
    for seed, seed_run in enumerate(seed_runs):
        trials = seed_run.sessions[label]
        chosen = slice(None) if perturbation is None else trials.perturbation == perturbation
        parts.append((trials.score[chosen], trials.instance[chosen] + seed * 1_000_000))
    return cluster_mean(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _draw_error(axes: Axes, curve: Curve, label: str, colour: str, dash: object) -> None:
    errors = curve.errors
    mean, deviation = _where_all(curve, errors.error), errors.deviation
    axes.plot(errors.cost, mean, color=colour, linestyle=dash, linewidth=1.4, label=label)
    low, high = np.maximum(mean - deviation, 0.0), mean + deviation
    axes.fill_between(errors.cost, low, high, color=colour, alpha=0.10, linewidth=0.0)


def _where_all(curve: Curve, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values in the bins that all seeds reach, else NaN, because a mean over fewer seeds would jump."""
    return np.where(curve.errors.runs == curve.errors.runs.max(), values, np.nan)


def _mark_cost(axes: Axes, cost: float, standard: str, unit: str, high: bool) -> None:
    """Mark the cost of the standard evaluation; the label is right of the line, high or low."""
    axes.axvline(cost, color="0.45", linestyle=":", linewidth=1.0)
    axes.annotate(
        f"{standard}: {cost:.0f} {unit}",
        (cost, 0.98 if high else 0.03),
        (2.0, 0.0),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        rotation=90,
        ha="left",
        va="top" if high else "bottom",
        color="0.35",
        fontsize=6.5,
    )


def _finish_errors(axes: Axes, curves: Sequence[Curve], picture: Picture) -> None:
    late = [curve.errors.error[int(EARLY * len(curve.errors.error)) :] for curve in curves]
    axes.set_xlim(left=0.0)
    axes.set_ylim(0.0, max(1.3 * float(np.nanmax(late)), 0.01))
    axes.set_xlabel(f"cumulative cost of set-ups [{picture.unit}]")
    axes.set_ylabel(f"absolute error of mean {picture.metric}")
    axes.legend(frameon=False, fontsize=7, ncols=2)


def _save(figure: Figure, path: Path) -> None:
    figure.savefig(path.with_suffix(".pdf"))
    figure.savefig(path.with_suffix(".png"), dpi=200)
