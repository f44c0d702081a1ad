"""Charts of posterior over prior: one a condition of a perturbation, with all policies."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np
from matplotlib.axes import Axes

from robocontrast_ros.analysis.estimates.sensitivity import Condition
from robocontrast_ros.analysis.figures.charts import GREY, POLICY_COLOURS
from robocontrast_ros.analysis.figures.clutter import MARKERS
from robocontrast_ros.analysis.figures.paper import Draw, Drawing

UNITS = {"_m": "m", "_rad": "rad"}
"""Ending of a measure's name -> its unit."""


def drawings_of(conditions: Sequence[Condition]) -> dict[str, Drawing]:
    """Return name -> chart of each condition in which a policy succeeded."""

    def key(condition: Condition) -> tuple[str, str]:
        return condition.perturbation, condition.name

    found = {}
    for (perturbation, name), group in groupby(sorted(filter(_known, conditions), key=key), key):
        own = list(group)
        found[f"{perturbation}_{name}"] = Drawing(
            f"{own[0].symbol}: {_label(name)}",
            f"Posterior over prior of {_label(name)} given success; dashed: 1, as drawn. Band: 95 % intervals of a "
            "logistic regression with splines; points: bins with 95 % intervals; crosses: neural estimate.",
            _draw(own),
            2.6,
        )
    return found


def _known(condition: Condition) -> bool:
    return any(group.ratio.mean is not None for group in condition.groups)


def _label(name: str) -> str:
    for ending, unit in UNITS.items():
        if name.endswith(ending):
            return f"{name.removesuffix(ending).replace('_', ' ')} [{unit}]"
    return name.replace("_", " ")


def _draw(conditions: Sequence[Condition]) -> Draw:
    return lambda figure: _draw_conditions(figure.subplots(), conditions)


def _draw_conditions(axes: Axes, conditions: Sequence[Condition]) -> None:
    names = list(dict.fromkeys(group.name for condition in conditions for group in condition.groups))
    axes.axhline(1.0, color=GREY, linestyle="--", linewidth=1.0)
    for number, condition in enumerate(conditions):
        colour = POLICY_COLOURS[number % len(POLICY_COLOURS)]
        curve = condition.curve
        if curve is not None:
            low, mean, high = np.array([[e.low, e.mean, e.high] for e in curve.ratio], dtype=float).T
            axes.plot(curve.at, mean, color=colour, linewidth=1.5)
            axes.fill_between(curve.at, low, high, color=colour, alpha=0.15, linewidth=0.0)
        # Points are shifted a little, so that no interval hides another.
        width = curve.at[-1] - curve.at[0] if curve is not None else 10.0
        shift = 0.01 * width * (number - 0.5 * (len(conditions) - 1))
        shown = [g for g in condition.groups if g.ratio.mean is not None]
        places = [(names.index(g.name) if g.place is None else g.place) + shift for g in shown]
        marker = MARKERS[number % len(MARKERS)]
        axes.plot(places, [g.ratio.mean for g in shown], marker, color=colour, markersize=4.0, label=condition.policy)
        for place, g in zip(places, shown, strict=True):
            if g.ratio.low is not None:
                axes.vlines(place, g.ratio.low, g.ratio.high, color=colour, linewidth=1.2)
            if g.neural is not None:
                axes.plot(place, g.neural, "x", color=colour, markersize=6.0)
    if conditions[0].curve is None:
        axes.set_xticks(range(len(names)), [name.replace("_", " ") for name in names], rotation=30, ha="right")
    else:
        axes.set_xlabel(_label(conditions[0].name))
    axes.set_ylim(bottom=0.0)
    axes.set_ylabel("posterior / prior (95 % interval)")
    axes.spines[["top", "right"]].set_visible(False)
    if len(conditions) > 1:
        axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), fontsize="small", frameon=False)
