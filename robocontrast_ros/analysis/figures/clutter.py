"""Charts of cluttered trials (seed 001, figures 3 to 5 and 7), drawn from the table of measures."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from robocontrast_ros.analysis.estimates.clutter import (
    ALL,
    BY,
    DVFC,
    FAMILY,
    MEASURES,
    OCCLUSION,
    SET_SIZE,
    Clutter,
    ClutterRow,
)
from robocontrast_ros.analysis.figures.charts import BLUE, GREEN, GREY, ORANGE, PINK, POLICY_COLOURS
from robocontrast_ros.analysis.figures.paper import Draw, Drawing

MARKERS = "os^Dvp"
"""Markers of the policies' lines, because colour alone is not enough to distinguish them."""

PLACES = {
    DVFC: "DvFC (mean of the bin)",
    SET_SIZE: "distractors (0: base)",
    OCCLUSION: "share of the target that is hidden",
}
"""Grouping of a figure -> label of its axis."""

CURVES = (
    (DVFC, "sr", "Success"),
    (SET_SIZE, "sr", "Success"),
    (OCCLUSION, "sr", "Success"),
    (DVFC, "cr", "Collisions"),
    (DVFC, "gfr", "Grasp failures"),
)
"""Grouping along the axis of each chart, its measure, and the measure in words (figure 7)."""

ENDINGS = {
    "solved": ("sr", GREEN),
    "fail: reach": ("fail_reach", PINK),
    "fail: grasp": ("fail_grasp", ORANGE),
    "fail: after": ("fail_after", BLUE),
}
"""Ending of a trial -> its measure and its colour; their shares add up to 1."""

MOST_SETS = 12
"""Greatest number of sets of policies in the chart ``solved_by``."""


def drawings_of(clutter: Clutter) -> dict[str, Drawing]:
    """Return name -> chart; charts without content are left out."""
    who = f"one line a policy ({', '.join(clutter.policies)}), with 95 % intervals"
    found = {}
    for by, name, what in CURVES:
        if len(clutter.groups(by)) > 1 and any(name in row.measures for row in clutter.by(by)):
            found[f"{name}_by_{by}"] = Drawing(
                f"{what} by {BY[by]}",
                f"{MEASURES[name].symbol}, {MEASURES[name].meaning}, against {PLACES[by]}: {who}.",
                _curves(clutter, by, name),
                2.6,
            )
    found["sr_by_family"] = Drawing(
        "Success by skill",
        "Bars: share of the cluttered trials that are solved, with 95 % intervals; lines: of their base trials.",
        lambda figure: _draw_skills(figure.subplots(), clutter),
        2.6,
    )
    if clutter.has("fail_reach"):
        found["failure_stages"] = Drawing(
            "How trials end",
            "Shares of the cluttered trials that are solved, fail to reach the target, reach it and fail to grasp it, "
            "and fail after the grasp.",
            lambda figure: _draw_stages(figure.subplots(), clutter),
            1.2 + 0.3 * len(clutter.policies),
        )
    if clutter.agreement and clutter.agreement.trials:
        found["solved_by"] = Drawing(
            "Which policies solve which trials",
            "Bars: number of the trials that all policies ran and exactly the marked policies solved.",
            lambda figure: _draw_sets(figure, clutter),
            2.0 + 0.25 * len(clutter.policies),
        )
    return found


def _curves(clutter: Clutter, by: str, name: str) -> Draw:
    return lambda figure: _draw_curves(figure.subplots(), clutter, by, name)


def _draw_curves(axes: Axes, clutter: Clutter, by: str, name: str) -> None:
    places = [row.place for row in clutter.by(by) if row.place is not None]
    # Lines are shifted a little, so that no interval hides another.
    apart = 0.01 * (max(places) - min(places))
    for number, policy in enumerate(clutter.policies):
        rows = [row for row in clutter.by(by, policy) if row.of(name).mean is not None]
        offset = apart * (number - 0.5 * (len(clutter.policies) - 1))
        x = [(row.place or 0.0) + offset for row in rows]
        axes.plot(
            x,
            [row.of(name).mean for row in rows],
            color=_colour(number),
            marker=MARKERS[number % len(MARKERS)],
            markersize=4.0,
            linewidth=1.5,
            label=policy,
        )
        _draw_intervals(axes, x, rows, name, _colour(number))
    axes.set_ylim(-0.02, 1.02)
    axes.set_xlabel(PLACES[by])
    axes.set_ylabel(f"{MEASURES[name].symbol} (95 % interval)")
    axes.spines[["top", "right"]].set_visible(False)
    if len(clutter.policies) > 1:
        _legend(axes)


def _draw_intervals(axes: Axes, x: Sequence[float], rows: Sequence[ClutterRow], name: str, colour: str) -> None:
    for place, row in zip(x, rows, strict=True):
        found = row.of(name)
        if found.low is not None and found.high is not None:
            axes.vlines(place, found.low, found.high, color=colour, linewidth=1.2)


def _draw_skills(axes: Axes, clutter: Clutter) -> None:
    families = clutter.groups(FAMILY)
    width = 0.8 / len(clutter.policies)
    for number, policy in enumerate(clutter.policies):
        rows = [row for row in clutter.by(FAMILY, policy) if row.of("sr").mean is not None]
        x = [families.index(row.group) - 0.4 + width * (number + 0.5) for row in rows]
        heights = [row.of("sr").mean for row in rows]
        axes.bar(x, heights, width=0.9 * width, color=_colour(number), alpha=0.85, label=policy)
        _draw_intervals(axes, x, rows, "sr", "black")
        for place, row in zip(x, rows, strict=True):
            base = row.of("sr_base").mean
            if base is not None:
                axes.hlines(base, place - 0.45 * width, place + 0.45 * width, color=GREY, linewidth=1.5)
    turned = max(len(name) for name in families) * len(families) > 30
    axes.set_xticks(
        range(len(families)),
        [name.replace("_", " ") for name in families],
        **({"rotation": 30, "ha": "right"} if turned else {}),
    )
    axes.set_ylim(0.0, 1.02)
    axes.set_ylabel("SR; line: SR_base")
    axes.spines[["top", "right"]].set_visible(False)
    if len(clutter.policies) > 1:
        _legend(axes)


def _draw_stages(axes: Axes, clutter: Clutter) -> None:
    rows = [row for row in clutter.by(ALL) if "fail_reach" in row.measures]
    left = [0.0] * len(rows)
    for words, (name, colour) in ENDINGS.items():
        shares = [row.of(name).mean or 0.0 for row in rows]
        bars = axes.barh(range(len(rows)), shares, left=left, height=0.6, color=colour, alpha=0.85, label=words)
        axes.bar_label(bars, [f"{share:.2f}" if share >= 0.08 else "" for share in shares], label_type="center")
        left = [before + share for before, share in zip(left, shares, strict=True)]
    axes.set_yticks(range(len(rows)), [row.policy for row in rows])
    axes.invert_yaxis()
    axes.set_xlim(0.0, 1.0)
    axes.set_xlabel("share of cluttered trials")
    axes.spines[["top", "right"]].set_visible(False)
    _legend(axes, 2)


def _draw_sets(figure: Figure, clutter: Clutter) -> None:
    """Draw an UpSet plot: a bar a set of policies, and the marked policies below it."""
    agreement = clutter.agreement
    assert agreement is not None, "the caller asks first"
    sets = list(agreement.solved_by.items())[:MOST_SETS]
    ratios = (2.0, 0.4 * len(clutter.policies))
    bars, marks = figure.subplots(2, 1, sharex=True, height_ratios=ratios)
    drawn = bars.bar(range(len(sets)), [count for _, count in sets], width=0.6, color=GREY)
    bars.bar_label(drawn, [str(count) for _, count in sets])
    bars.margins(y=0.15)
    bars.set_ylabel("trials")
    bars.tick_params(bottom=False)
    bars.spines[["top", "right"]].set_visible(False)
    for x, (solvers, _) in enumerate(sets):
        rows = [clutter.policies.index(policy) for policy in solvers]
        marks.plot([x] * len(clutter.policies), range(len(clutter.policies)), "o", color="#d5d9de", markersize=6.0)
        if rows:
            marks.plot([x, x], [min(rows), max(rows)], color="black", linewidth=1.5)
            marks.plot([x] * len(rows), rows, "o", color="black", markersize=6.0)
    marks.set_yticks(range(len(clutter.policies)), clutter.policies)
    marks.set_ylim(len(clutter.policies) - 0.5, -0.5)
    marks.set_xticks([])
    marks.set_xlim(-0.6, len(sets) - 0.4)
    marks.set_xlabel(f"solved by exactly these; {agreement.trials} trials that all ran")
    marks.spines[["top", "right", "bottom", "left"]].set_visible(False)


def _colour(number: int) -> str:
    return POLICY_COLOURS[number % len(POLICY_COLOURS)]


def _legend(axes: Axes, columns: int = 1) -> None:
    # The legend is above the axes, so that it hides nothing.
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), fontsize="small", frameon=False, ncols=columns)
