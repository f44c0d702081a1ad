"""The pictures of the check "Does it understand?".

A chart a policy shows the change of success under each perturbation, and one chart of all policies success by level.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from robocontrast_ros.analysis.estimates.understanding import MEANINGS, Check, Understanding, UnderstandingRow, Verdict
from robocontrast_ros.analysis.figures.charts import BLUE, GREEN, GREY, ORANGE, PAGE, PINK, POLICY_COLOURS
from robocontrast_ros.analysis.figures.paper import Draw, Drawing
from robocontrast_ros.analysis.tables.block import SIGNED, words
from robocontrast_ros.analysis.tables.understanding import Condition, conditions_of, grouped, percent, policies_of
from robocontrast_ros.statistics.estimate import NO_ESTIMATE

RED = "#C00000"
"""Colour of flagged rows alone."""

LIGHT = "#8b95a1"

LOOKS = {
    Verdict.ROBUST: (GREEN, "o"),
    Verdict.BRITTLE: (ORANGE, "v"),
    Verdict.SOUND: (BLUE, "s"),
    Verdict.WITHOUT_UNDERSTANDING: (RED, "D"),
    Verdict.UNDECIDED: (GREY, "."),
    Verdict.NO_SKILL: (LIGHT, "x"),
    Verdict.NO_EXPECTATION: (PINK, "P"),
    Verdict.SAME_AS_BASE: (LIGHT, "|"),
}
"""Verdict -> colour and marker, because colour alone is not enough to distinguish them."""

LINE = 0.155
"""Height of a line of a label [inch]."""

BETWEEN = 0.055
"""Space between two labels [inch]."""

LONGEST = 22
"""Greatest number of letters in a line of a label."""

ACROSS = 3
"""Number of panels in a row of the chart of levels."""

LEGEND_COLUMNS = 4

COLOURS = (*POLICY_COLOURS, GREY, "#7b4fa3", "#8c6d1f", "black")
MARKERS = "os^Dvp"
"""Markers of the policies; eight have colours of their own, and two dozen differ in colour or marker."""


def drawings_of(found: Understanding) -> dict[str, Drawing]:
    """Return name -> chart, one a policy."""
    drawings = {}
    for number, check in enumerate(found.checks):
        name = "understanding" if len(found.checks) == 1 else f"understanding_{number}"
        rows = "; ".join(
            f"{row.symbol} {words(row.change.difference, SIGNED)}, {row.verdict.value}" for row in check.rows
        )
        above = 0.2 * ((len(_legend_entries(check, found.margin)) + 1) // 2)
        drawings[name] = Drawing(
            f"Does {check.policy} understand?",
            f"Change of success from base trials under each perturbation, with 95 % intervals: {rows}. Shaded: changes "
            f"of less than {found.margin:g}, which do not matter.",
            _drawing(check, found.margin),
            0.6 + above + sum(height for _, _, height in _lines(check)),
        )
    return drawings


def levels_drawing(found: Understanding) -> dict[str, Drawing]:
    """Return name -> the chart of success by level, a panel a condition; empty for one policy at one level."""
    conditions, policies = conditions_of(found), policies_of(found)
    if len({one.level for one in conditions}) * len(policies) < 2:
        return {}
    panels = len({one.name for one in conditions})
    rows, legend = -(-panels // ACROSS), -(-len(policies) // LEGEND_COLUMNS)
    words = "; ".join(
        f"{one.level}, {one.symbol}: {', '.join(f'{name} {percent(cell)}' for name, cell in one.cells.items())}"
        for one in conditions
    )
    drawing = Drawing(
        "Success by level",
        f"A panel a condition: success in percent at each level with 95 % intervals, a marker a policy. {words}.",
        lambda figure: _draw_levels(figure, conditions, policies),
        0.4 + 0.2 * legend + (1.65 if found.no_mistakes else 1.5) * rows,
        PAGE,
    )
    return {"understanding_levels": drawing}


def _draw_levels(figure: Figure, conditions: Sequence[Condition], policies: Sequence[str]) -> None:
    levels = list(dict.fromkeys(one.level for one in conditions))
    shown = {one.name: one.symbol for one in conditions}
    rows = -(-len(shown) // ACROSS)
    panels = figure.subplots(rows, ACROSS, sharex=True, sharey=True, squeeze=False).ravel()
    for axes, (name, symbol) in zip(panels, shown.items(), strict=False):
        axes.set_title(symbol.replace(", ", "\n"), fontsize="medium")
        for one in conditions:
            if one.name == name:
                _draw_level(axes, levels.index(one.level), one, policies)
        axes.set_xlim(-0.5, len(levels) - 0.5)
        axes.set_ylim(-4.0, 104.0)
        axes.set_yticks((0, 50, 100))
        turned = len(levels) > 1 and max(map(len, levels)) > 6
        axes.set_xticks(range(len(levels)), levels, **({"rotation": 30, "ha": "right"} if turned else {}))
        axes.grid(axis="y", color="#e5e8eb", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in panels[len(shown) :]:
        axes.set_visible(False)
    for number, axes in enumerate(panels):
        # Only the lowest panel of each column has these labels.
        axes.tick_params(labelbottom=len(shown) - ACROSS <= number < len(shown))
    figure.supylabel("success [%]", fontsize="medium")
    entries = [
        Line2D([], [], color=colour, marker=marker, linewidth=1.2, markersize=4.0, label=policy)
        for policy, (colour, marker) in zip(policies, map(_look, range(len(policies))), strict=True)
    ]
    figure.legend(handles=entries, loc="outside upper center", fontsize="small", frameon=False, ncols=LEGEND_COLUMNS)


def _draw_level(axes: Axes, place: int, condition: Condition, policies: Sequence[str]) -> None:
    for number, policy in enumerate(policies):
        found = condition.cells.get(policy, NO_ESTIMATE)
        if found.mean is None:
            continue
        colour, marker = _look(number)
        # Policies are drawn side by side, so that no interval hides another.
        x = place + 0.7 * ((number + 0.5) / len(policies) - 0.5)
        if found.low is not None and found.high is not None:
            axes.vlines(x, 100.0 * found.low, 100.0 * found.high, color=colour, linewidth=1.2)
        axes.plot(x, 100.0 * found.mean, marker=marker, linestyle="none", color=colour, markersize=4.0, clip_on=False)


def _look(number: int) -> tuple[str, str]:
    """Return colour and marker of a policy, because colour alone is not enough to distinguish them."""
    return COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]


def _drawing(check: Check, margin: float) -> Draw:
    return lambda figure: _draw(figure, check, margin)


def _draw(figure: Figure, check: Check, margin: float) -> None:
    axes = figure.subplots()
    axes.axvspan(-margin, margin, color=GREEN, alpha=0.12, linewidth=0.0, zorder=0)
    axes.axvline(0.0, color=GREY, linewidth=0.8, zorder=1)
    if check.retest and check.retest.difference.low is not None and check.retest.difference.high is not None:
        ends = check.retest.difference.low, check.retest.difference.high
        axes.axvspan(*ends, color=GREY, alpha=0.15, linewidth=0.0, zorder=0.5)
        for end in ends:
            axes.axvline(end, color=GREY, linewidth=0.8, linestyle=":", zorder=1)
    below, ticks, labels = 0.0, [], []
    for label, row, height in _lines(check):
        ticks.append(below - 0.5 * height)
        labels.append(label)
        if row:
            _draw_row(axes, ticks[-1], row)
        below -= height
    axes.set_yticks(ticks, labels, linespacing=1.0)
    for text, (_, row, _) in zip(axes.get_yticklabels(), _lines(check), strict=True):
        text.set_fontweight("normal" if row else "bold")
        text.set_color(RED if row and row.verdict is Verdict.WITHOUT_UNDERSTANDING else "black")
    axes.tick_params(axis="y", length=0.0)
    axes.set_ylim(below, 0.0)
    values = [(row.change.difference.low, row.change.difference.high) for row in check.rows]
    known = [value for ends in values for value in ends if value is not None]
    axes.set_xlim(min([-2.0 * margin, *known]) - 0.04, max([2.0 * margin, *known]) + 0.04)
    axes.set_xlabel("change of success")
    axes.spines[["top", "right", "left"]].set_visible(False)
    entries = _legend_entries(check, margin)
    axes.legend(
        handles=entries,
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        fontsize="small",
        frameon=False,
        ncols=2,
        columnspacing=1.0,
        handlelength=1.4,
    )


def _draw_row(axes: Axes, place: float, row: UnderstandingRow) -> None:
    colour, marker = LOOKS[row.verdict]
    found = row.change.difference
    if found.mean is None:
        return
    if found.low is not None and found.high is not None:
        axes.hlines(place, found.low, found.high, color=colour, linewidth=1.4, zorder=2)
    axes.plot(found.mean, place, marker=marker, linestyle="none", color=colour, markersize=5.5, zorder=3, clip_on=False)


def _legend_entries(check: Check, margin: float) -> list[Line2D | Patch]:
    used = {row.verdict for row in check.rows}
    entries: list[Line2D | Patch] = [
        Line2D([], [], color=LOOKS[one][0], marker=LOOKS[one][1], linewidth=1.4, markersize=5.5, label=one.value)
        for one in MEANINGS
        if one in used
    ]
    entries.append(Patch(color=GREEN, alpha=0.12, linewidth=0.0, label=f"within {margin:g}"))
    if check.retest and check.retest.difference.low is not None:
        entries.append(Patch(color=GREY, alpha=0.15, linewidth=0.0, label="test-retest"))
    return entries


def _lines(check: Check) -> list[tuple[str, UnderstandingRow | None, float]]:
    """Return label, row and height [inch] of each line of the chart; headings of groups have no row."""
    lines: list[tuple[str, UnderstandingRow | None, float]] = []
    for heading, rows in grouped(check):
        lines.append((heading.partition(":")[0], None, LINE + 2.0 * BETWEEN))
        for row in rows:
            label = _broken(row)
            lines.append((label, row, BETWEEN + LINE * (label.count("\n") + 1)))
    return lines


def _broken(row: UnderstandingRow) -> str:
    """Return the symbols of a row, on as many lines of ``LONGEST`` letters as they need."""
    lines = [""]
    for number, symbol in enumerate(row.symbols):
        said = symbol if number == 0 else f"= {symbol}"
        joined = f"{lines[-1]} {said}".strip()
        if len(joined) <= LONGEST or not lines[-1]:
            lines[-1] = joined
        else:
            lines.append(said)
    return "\n".join(lines)
