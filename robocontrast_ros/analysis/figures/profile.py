"""Charts of what a policy can do: score by what problems ask of it, and what costs it most."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from robocontrast_ros.analysis.estimates.profile import ALL, AXIS, DIFFICULTY, WORDS, Group, ProfileOfRun, ProfileRow
from robocontrast_ros.analysis.figures.charts import BLUE, GREEN, GREY, ORANGE, POLICY_COLOURS
from robocontrast_ros.analysis.figures.paper import Draw, Drawing
from robocontrast_ros.analysis.tables.block import SIGNED, words
from robocontrast_ros.analysis.tables.profile import label
from robocontrast_ros.statistics.estimate import Estimate

MARKERS = "os^Dvp"
"""Markers of the policies, because colour alone is not enough to distinguish them."""

LINE = 0.17
"""Height of a row of a chart [inch]."""


def drawings_of(found: ProfileOfRun) -> dict[str, Drawing]:
    """Return name -> chart: one of all groups, and one a policy of the differences."""
    lines = _lines(found)
    said = "; ".join(
        f"{label(row.group)} {words(row.score)}" + (f" ({row.policy})" if len(found.policies) > 1 else "")
        for row in found.rows
    )
    drawings = {
        "profile": Drawing(
            f"{found.score.heading.capitalize()} by what is asked",
            f"Points: mean {found.score.symbol} with 95 % intervals, in brackets the number of problems; dashed: over "
            f"all problems. {said}.",
            lambda figure: _draw_groups(figure, found, lines),
            0.7 + (0.2 if len(found.policies) > 1 else 0.0) + LINE * len(lines),
        )
    }
    for number, policy in enumerate(found.policies):
        ranked = costs_of(found, policy)
        if ranked:
            name = "profile_costs" if len(found.policies) == 1 else f"profile_costs_{number}"
            said = "; ".join(f"{_named(row.group)} {words(row.difference, SIGNED)}" for row in ranked)
            drawings[name] = Drawing(
                "What costs most" if len(found.policies) == 1 else f"What costs {policy} most",
                f"Bars: {found.score.symbol} minus that of the problems without it; of words, minus that in the usual "
                f"ones. Lines: 95 % intervals; grey: 0 is in the interval, or there is none. {said}.",
                _costs(ranked, found.score.symbol),
                0.6 + LINE * len(ranked),
            )
    return drawings


def costs_of(found: ProfileOfRun, policy: str) -> tuple[ProfileRow, ...]:
    """Return the rows of a policy that have a difference, the greatest loss first; axes are in their attributes."""
    rows = [row for row in found.of(policy) if row.group.by != AXIS and row.difference.mean is not None]
    return tuple(sorted(rows, key=lambda row: row.difference.mean or 0.0))


def _lines(found: ProfileOfRun) -> list[tuple[str, Group | None]]:
    """Return the lines of the chart of groups from above: headings, which have no group, and groups."""
    lines: list[tuple[str, Group | None]] = []
    heading = ALL
    for group in sorted(dict.fromkeys(row.group for row in found.rows), key=_under_its_axis):
        if group.by != ALL and _heading(group) != heading:
            heading = _heading(group)
            lines.append((heading, None))
        number = max(row.problems for row in found.rows if row.group == group)
        lines.append((f"{'all of them' if group.by == AXIS else label(group)} ({number})", group))
    return lines


def _heading(group: Group) -> str:
    return group.name if group.by == AXIS else group.axis or group.by


def _under_its_axis(group: Group) -> tuple[bool, str]:
    """Return the key that sorts axes, each with its attributes after it; all others stay where they are."""
    return (False, "") if group.by == ALL else (False, group.name) if group.by == AXIS else (not group.axis, group.axis)


def _named(group: Group) -> str:
    return f"{group.by}: {label(group)}" if group.by in (DIFFICULTY, WORDS) else label(group)


def _draw_groups(figure: Figure, found: ProfileOfRun, lines: Sequence[tuple[str, Group | None]]) -> None:
    axes = figure.subplots()
    several = len(found.policies)
    for number, policy in enumerate(found.policies):
        colour, marker = POLICY_COLOURS[number % len(POLICY_COLOURS)], MARKERS[number % len(MARKERS)]
        rows = {row.group: row for row in found.of(policy)}
        # Policies are drawn one below the other, so that no interval hides another.
        offset = 0.6 * ((number + 0.5) / several - 0.5)
        for place, (_, group) in enumerate(lines):
            if group in rows:
                _draw_estimate(axes, rows[group].score, place + offset, colour, marker)
                if group.by == ALL and (mean := rows[group].score.mean) is not None:
                    axes.axvline(mean, color=colour, linewidth=0.8, linestyle="--", zorder=1)
    _label(axes, lines)
    if found.score.bounded:
        width = found.score.high - found.score.low
        axes.set_xlim(found.score.low - 0.02 * width, found.score.high + 0.02 * width)
    axes.set_xlabel(f"mean {found.score.heading} (95 % interval)")
    axes.grid(axis="x", color="#e5e8eb", linewidth=0.6)
    axes.set_axisbelow(True)
    if several > 1:
        entries = [
            Line2D([], [], color=POLICY_COLOURS[k % len(POLICY_COLOURS)], marker=MARKERS[k % len(MARKERS)], label=name)
            for k, name in enumerate(found.policies)
        ]
        figure.legend(handles=entries, loc="outside upper center", fontsize="small", frameon=False, ncols=2)


def _draw_estimate(axes: Axes, found: Estimate, place: float, colour: str, marker: str) -> None:
    if found.mean is None:
        return
    if found.low is not None and found.high is not None:
        axes.hlines(place, found.low, found.high, color=colour, linewidth=1.4, zorder=2)
    axes.plot(found.mean, place, marker=marker, linestyle="none", color=colour, markersize=4.5, zorder=3, clip_on=False)


def _label(axes: Axes, lines: Sequence[tuple[str, Group | None]]) -> None:
    axes.set_yticks(range(len(lines)), [text for text, _ in lines])
    for text, (_, group) in zip(axes.get_yticklabels(), lines, strict=True):
        text.set_fontweight("normal" if group else "bold")
    axes.set_ylim(len(lines) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0.0)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _costs(ranked: Sequence[ProfileRow], symbol: str) -> Draw:
    return lambda figure: _draw_costs(figure.subplots(), ranked, symbol)


def _draw_costs(axes: Axes, ranked: Sequence[ProfileRow], symbol: str) -> None:
    for place, row in enumerate(ranked):
        found = row.difference
        shown = found.low is not None and found.high is not None
        # A bar in grey shows nothing: 0 is within its interval.
        decided = shown and not found.low <= 0.0 <= found.high
        colour = (ORANGE if (found.mean or 0.0) < 0.0 else GREEN) if decided else GREY
        axes.barh(place, found.mean, height=0.7, color=colour, alpha=0.85 if decided else 0.35)
        if shown:
            axes.hlines(place, found.low, found.high, color="black", linewidth=1.0)
    axes.axvline(0.0, color=BLUE, linewidth=0.8)
    _label(axes, [(f"{_named(row.group)} ({row.problems})", row.group) for row in ranked])
    axes.set_xlabel(f"difference of {symbol}")
