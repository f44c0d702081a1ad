"""The measures of cluttered trials as tables for the terminal, as CSV and as LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import polars as pl
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from robocontrast_ros.analysis.data.trials import Columns, make_table
from robocontrast_ros.analysis.estimates.clutter import (
    ALL,
    BY,
    MEASURES,
    TABLE_I,
    Clutter,
    Row,
)
from robocontrast_ros.analysis.tables.latex import booktabs, estimate_tex
from robocontrast_ros.analysis.tables.summary import NONE, difference_in_words, in_words, small_table
from robocontrast_ros.domain.words import counted
from robocontrast_ros.statistics.estimate import Estimate
from robocontrast_ros.system.disk import write_file

BY_GROUP = ("sr", "sr_base", "h_sr", "cr", "gfr", "er")
"""Measures of the tables by group, the first with its interval."""

SIGNED = ("difference_to_base",)
"""Measures that are differences."""

READ = (
    "95 % intervals; test instances are independent, not their trials. SR_noocc and SR_occ are contributions: they add "
    "up to SR. SR_base is over the twins, the same scenes without distractors. The difference to base counts each test "
    "instance once; SR counts each trial, so SR minus SR_base can be another number. CR: any contact with a "
    "distractor. Trends: change of the share of successes, a unit of DvFC; DvFC has bins of the same number of scenes."
)

_ESTIMATE: Columns = {
    "mean": (pl.Float64, "the estimate"),
    "low": (pl.Float64, "its 95 % interval's lower end"),
    "high": (pl.Float64, "its upper end"),
}

COLUMNS: Mapping[str, Columns] = {
    "clutter": {
        "policy": (pl.String, "whose trials"),
        "by": (pl.String, "what the trials are grouped by"),
        "group": (pl.String, "name of the group"),
        "place": (pl.Float64, "mean DvFC, number of distractors, or mean occlusion of the group"),
        "group_trials": (pl.Int64, "trials in the group"),
        "instances": (pl.Int64, "test instances among them"),
        "measure": (pl.String, "name of the measure"),
        "trials": (pl.Int64, "trials that the estimate is over; of `difference_to_base`: test instances"),
        **_ESTIMATE,
    },
    "clutter_trends": {
        "policy": (pl.String, "whose trials"),
        "of": (pl.String, "`all` trials, or DvFC and success centred `within set size`"),
        "trials": (pl.Int64, "trials"),
        "instances": (pl.Int64, "test instances among them"),
        **_ESTIMATE,
    },
    "clutter_agreement": {
        "policy": (pl.String, "whose successes; empty in the row of the union"),
        "other": (pl.String, "which policy solves them, too; empty in the row of the union"),
        "trials": (pl.Int64, "successes; in the row of the union the trials that all policies ran"),
        **_ESTIMATE,
    },
    "clutter_changes": {
        "first": (pl.String, "the policy before"),
        "second": (pl.String, "the policy after"),
        "trials": (pl.Int64, "that both ran"),
        "measure": (pl.String, "name of the measure"),
        "of": (pl.String, "`first`, `second` or `difference`, second minus first"),
        **_ESTIMATE,
    },
}
"""File -> its columns."""


def clutter_tables(clutter: Clutter) -> dict[str, pl.DataFrame]:
    """Return the content of each file of ``COLUMNS``."""
    rows: dict[str, list[dict[str, object]]] = {name: [] for name in COLUMNS}
    for row in clutter.rows:
        given = {name: getattr(row, name) for name in ("policy", "by", "group", "place", "instances")}
        for name, estimate in row.measures.items():
            numbers = {"group_trials": row.trials, "trials": row.numbers[name]}
            rows["clutter"].append({**given, **numbers, "measure": name, **asdict(estimate)})
    for trend in clutter.trends:
        given = {name: getattr(trend, name) for name in ("policy", "trials", "instances")}
        for of, slope in (("all", trend.slope), ("within set size", trend.slope_in_set_size)):
            rows["clutter_trends"].append({**given, "of": of, **asdict(slope)})
    if clutter.agreement:
        rows["clutter_agreement"] = [
            {"policy": one.policy, "other": one.other, "trials": one.solved, **asdict(one.share)}
            for one in clutter.agreement.pairs
        ]
        union = {"policy": "", "other": "", "trials": clutter.agreement.trials, **asdict(clutter.agreement.union)}
        rows["clutter_agreement"].append(union)
    for change in clutter.changes:
        given = {name: getattr(change, name) for name in ("first", "second", "trials")}
        for name, estimates in change.measures.items():
            for of, estimate in zip(("first", "second", "difference"), estimates, strict=True):
                rows["clutter_changes"].append({**given, "measure": name, "of": of, **asdict(estimate)})
    return {name: make_table(found, COLUMNS[name]) for name, found in rows.items() if found}


def write_clutter(clutter: Clutter, folder: Path) -> tuple[Path, ...]:
    """Write the tables into a folder, as CSV, and table I as LaTeX; return the files.

    Raises:
        DiskError: a file cannot be written.
    """
    content = {f"{name}.csv": table.write_csv() for name, table in clutter_tables(clutter).items()}
    content["clutter.tex"] = clutter_tex(clutter)
    for name, text in content.items():
        write_file(folder / name, text)
    return tuple(folder / name for name in content)


def clutter_tex(clutter: Clutter) -> str:
    """Return table I as a tabular: a row a policy."""
    columns = {"policy": "l", "n": "r"} | {MEASURES[name].symbol: "l" for name in TABLE_I}
    rows = [(row.policy, str(row.trials), *(estimate_tex(row.of(name)) for name in TABLE_I)) for row in clutter.by(ALL)]
    comments = [f"{MEASURES[name].symbol}: {MEASURES[name].meaning}." for name in TABLE_I]
    return booktabs(columns, rows, ("policy",), ("95 % intervals. n: cluttered trials.", *comments))


def clutter_report(clutter: Clutter) -> Group:
    """Return all tables for the terminal."""
    parts: list[RenderableType] = [table_one(clutter), "", measures_table(clutter)]
    for by in BY:
        if by != ALL:
            parts += ["", *groups_table(clutter, by)]
    parts += ["", trends_table(clutter)]
    if clutter.agreement:
        parts += ["", agreement_table(clutter)]
    parts += changes_tables(clutter)
    return Group(*parts, Text(READ, style="dim italic"))


def table_one(clutter: Clutter) -> Table:
    """Return the means in the form of the paper's table I (section IV-A): a row a policy."""
    table = small_table("means", "n", *(MEASURES[name].symbol for name in TABLE_I))
    for row in clutter.by(ALL):
        table.add_row(Text(row.policy), str(row.trials), *(_mean(row.of(name)) for name in TABLE_I))
    return table


def measures_table(clutter: Clutter) -> Table:
    """Return all measures with their intervals: a row a measure, a column a policy."""
    table = small_table("all cluttered trials", *clutter.policies)
    rows = clutter.by(ALL)
    for name, measure in MEASURES.items():
        if any(name in row.measures for row in rows):
            table.add_row(Text(measure.symbol), *(shown(name)(row.of(name)) for row in rows))
    return table


def groups_table(clutter: Clutter, by: str) -> list[RenderableType]:
    """Return the measures by group: a row a group, a part a policy."""
    names = measures_by_group(clutter, by)
    table = small_table(BY[by], "n", *(MEASURES[name].symbol for name in names))
    for policy in clutter.policies:
        if len(clutter.policies) > 1:
            table.add_row(Text(policy), style="italic")
        for row in clutter.by(by, policy):
            table.add_row(Text(row.group), str(row.trials), *_cells(row, names))
    return [table]


def measures_by_group(clutter: Clutter, by: str) -> tuple[str, ...]:
    """Return which of ``BY_GROUP`` there are."""
    return tuple(name for name in BY_GROUP if any(name in row.measures for row in clutter.by(by)))


def _cells(row: Row, names: Sequence[str]) -> list[str]:
    return [in_words(row.of(name)) if number == 0 else _mean(row.of(name)) for number, name in enumerate(names)]


def trends_table(clutter: Clutter) -> Table:
    """Return the slope of success with DvFC, of each policy."""
    table = small_table("trend of SR with DvFC", "n", "all", "within set size")
    for trend in clutter.trends:
        slopes = (difference_in_words(slope) for slope in (trend.slope, trend.slope_in_set_size))
        table.add_row(Text(trend.policy), str(trend.trials), *slopes)
    return table


def agreement_table(clutter: Clutter) -> Table:
    """Return which of a policy's successes the others have, too, and the union (section IV-B, figure 4)."""
    agreement = clutter.agreement
    assert agreement is not None, "the caller asks first"
    table = small_table("of the trials solved by", "n", "solved too by", "share")
    for one in agreement.pairs:
        table.add_row(Text(one.policy), str(one.solved), Text(one.other), in_words(one.share))
    table.add_row(Text("all trials"), str(agreement.trials), Text("at least one"), in_words(agreement.union))
    return table


def changes_tables(clutter: Clutter) -> list[RenderableType]:
    """Return the measures of the paper's table II (section V) before and after each change: a row a measure."""
    parts: list[RenderableType] = []
    for change in clutter.changes:
        headings = (f"before: {change.first}", f"after: {change.second}", "after - before")
        table = small_table(f"{counted(change.trials, 'trial')} of both", *headings)
        for name, (first, second, difference) in change.measures.items():
            cells = (in_words(first), in_words(second), difference_in_words(difference))
            table.add_row(Text(MEASURES[name].symbol), *cells)
        parts += ["", table]
    return parts


def shown(name: str) -> Callable[[Estimate], str]:
    """Return the function that puts an estimate of a measure into words."""
    return difference_in_words if name in SIGNED else in_words


def _mean(estimate: Estimate) -> str:
    return NONE if estimate.mean is None else f"{estimate.mean:.2f}"
