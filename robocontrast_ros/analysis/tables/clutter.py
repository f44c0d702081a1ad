"""The measures of cluttered trials as tables, for a reader and as files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import itemgetter
from pathlib import Path

import polars as pl
from rich.console import Group

from robocontrast_ros.analysis.data.trials import Columns
from robocontrast_ros.analysis.estimates.clutter import ALL, BY, MEASURES, TABLE_I, Clutter, ClutterRow, PolicyChange
from robocontrast_ros.analysis.tables.block import SIGNED, Column, TableBlock, Value, difference
from robocontrast_ros.analysis.tables.frames import columns_of, frame, part, write_files
from robocontrast_ros.analysis.tables.latex import tabular
from robocontrast_ros.analysis.tables.terminal import tables
from robocontrast_ros.domain.words import counted
from robocontrast_ros.statistics.estimate import Estimate

BY_GROUP = ("sr", "sr_base", "h_sr", "cr", "gfr", "er")
"""Measures of the tables by group; a terminal shows only the first with its interval."""

SIGNED_MEASURES = ("difference_to_base",)
"""Measures that are differences."""

MEASURED = (
    "95 % intervals; test instances are independent, not their trials. SR_noocc and SR_occ are contributions: they add "
    "up to SR. SR_base is over the twins, the same scenes without distractors. The difference to base counts each test "
    "instance once; SR counts each trial, so SR minus SR_base can be another number. CR: any contact with a distractor."
)
TRENDS = (
    "Change of the share of successes, a unit of DvFC: the slope of the least-squares line over all these trials, and "
    "with DvFC and success centred among the trials of the same number of distractors. 95 % intervals of a bootstrap "
    "of test instances."
)
"""Explanations under the tables."""

_ESTIMATE = Column("", itemgetter(-1), kind=Estimate, meaning="the estimate")

_FILES: Mapping[str, tuple[Column, ...]] = {
    "clutter": (
        part(0, "policy", str, "whose trials"),
        part(0, "by", str, "what the trials are grouped by"),
        part(0, "group", str, "name of the group"),
        part(0, "place", float, "mean DvFC, number of distractors, or mean occlusion of the group"),
        part(0, "group_trials", int, "trials in the group", lambda row: row.trials),
        part(0, "instances", int, "test instances among them"),
        Column("measure", itemgetter(1), meaning="name of the measure"),
        Column(
            "trials",
            lambda row: row[0].numbers[row[1]],
            kind=int,
            meaning="trials that the estimate is over; of `difference_to_base`: test instances",
        ),
        _ESTIMATE,
    ),
    "clutter_trends": (
        part(0, "policy", str, "whose trials"),
        Column("of", itemgetter(1), meaning="`all` trials, or DvFC and success centred `within set size`"),
        part(0, "trials", int, "trials"),
        part(0, "instances", int, "test instances among them"),
        _ESTIMATE,
    ),
    "clutter_agreement": (
        Column("policy", itemgetter(0), meaning="whose successes; empty in the row of the union"),
        Column("other", itemgetter(1), meaning="which policy solves them, too; empty in the row of the union"),
        Column("trials", itemgetter(2), kind=int, meaning="successes; of the union: what all policies ran"),
        _ESTIMATE,
    ),
    "clutter_changes": (
        part(0, "first", str, "the policy before"),
        part(0, "second", str, "the policy after"),
        part(0, "trials", int, "that both ran"),
        Column("measure", itemgetter(1), meaning="name of the measure"),
        Column("of", itemgetter(2), meaning="`first`, `second` or `difference`, second minus first"),
        _ESTIMATE,
    ),
}

COLUMNS: Mapping[str, Columns] = {name: columns_of(columns) for name, columns in _FILES.items()}
"""File -> its columns."""


def clutter_tables(clutter: Clutter) -> dict[str, pl.DataFrame]:
    """Return the content of each file of ``COLUMNS`` that has rows."""
    rows: dict[str, list[tuple[object, ...]]] = {
        "clutter": [(row, name, estimate) for row in clutter.rows for name, estimate in row.measures.items()],
        "clutter_trends": [
            (trend, of, slope)
            for trend in clutter.trends
            for of, slope in (("all", trend.slope), ("within set size", trend.slope_in_set_size))
        ],
        "clutter_agreement": _agreement(clutter, ("", "")),
        "clutter_changes": [
            (change, name, of, estimate)
            for change in clutter.changes
            for name, estimates in change.measures.items()
            for of, estimate in zip(("first", "second", "difference"), estimates, strict=True)
        ],
    }
    return {name: frame(_FILES[name], found) for name, found in rows.items() if found}


def _agreement(clutter: Clutter, union: tuple[str, str]) -> list[tuple[object, ...]]:
    """Return policy, other policy, number and share of each pair of policies, and of all together under two names."""
    found = clutter.agreement
    if found is None:
        return []
    return [*((o.policy, o.other, o.solved, o.share) for o in found.pairs), (*union, found.trials, found.union)]


def write_clutter(clutter: Clutter, folder: Path) -> tuple[Path, ...]:
    """Write the tables into a folder, as CSV, and table I as LaTeX; return the files.

    Raises:
        DiskError: a file cannot be written.
    """
    return write_files(folder, clutter_tables(clutter), clutter=clutter_tex(clutter))


def clutter_tex(clutter: Clutter) -> str:
    """Return table I (section IV-A) as a tabular: a row a policy."""
    columns = [Column("policy"), Column("n", lambda row: row.trials), *_measures(TABLE_I)]
    comments = (f"{MEASURES[name].symbol}: {MEASURES[name].meaning}." for name in TABLE_I)
    return tabular(TableBlock(columns, clutter.by(ALL), note="95 % intervals. n: cluttered trials."), *comments)


def clutter_report(clutter: Clutter) -> Group:
    """Return all tables for the terminal."""
    blocks = [measures_block(clutter), *group_blocks(clutter), trends_block(clutter)]
    blocks += [agreement_block(clutter)] if clutter.agreement else []
    return tables([*blocks, *map(change_block, clutter.changes)])


def _measures(names: Iterable[str], *brief: str) -> list[Column]:
    return [
        Column(MEASURES[name].symbol, lambda row, name=name: measured(row, name), brief=name in brief) for name in names
    ]


def measured(row: ClutterRow, name: str) -> Estimate:
    """Return the estimate of a measure."""
    return difference(row.of(name)) if name in SIGNED_MEASURES else row.of(name)


def measures_block(clutter: Clutter, mark: str = "") -> TableBlock:
    """Return all measures: a row a measure, a column a policy; ``mark`` is the mark of intervals."""
    rows: list[tuple[str, str, dict[str, Value]]] = [
        ("trials", "trials with distractors", {row.policy: row.trials for row in clutter.by(ALL)}),
        ("instances", "test instances among them", {row.policy: row.instances for row in clutter.by(ALL)}),
        *(
            (measure.symbol, measure.meaning, {row.policy: measured(row, name) for row in clutter.by(ALL)})
            for name, measure in MEASURES.items()
            if any(name in row.measures for row in clutter.by(ALL))
        ),
    ]
    columns = [
        Column("all cluttered trials", itemgetter(0)),
        *(Column(policy, lambda row, policy=policy: row[2].get(policy)) for policy in clutter.policies),
    ]
    meaning = Column("what it is", itemgetter(1), roomy=True, page=True)
    return TableBlock([*columns, meaning], rows, note=MEASURED, mark=mark)


def group_blocks(clutter: Clutter, mark: str = "") -> tuple[TableBlock, ...]:
    """Return the measures by group: a table a grouping, a row a group and policy."""
    several = Column("policy") if len(clutter.policies) > 1 else None
    blocks = []
    for by, heading in BY.items():
        if by != ALL:
            rows = [row for policy in clutter.policies for row in clutter.by(by, policy)]
            names = (name for name in BY_GROUP if any(name in row.measures for row in rows))
            columns = [
                Column(heading, lambda row: row.group),
                Column("n", lambda row: row.trials),
                *_measures(names, *BY_GROUP[1:]),
            ]
            blocks.append(TableBlock(columns, rows, mark=mark, group=several))
    return tuple(blocks)


def trends_block(clutter: Clutter, mark: str = "") -> TableBlock:
    """Return the slope of success with DvFC, of each policy."""
    return TableBlock(
        [
            Column("trend of SR with DvFC", lambda trend: trend.policy),
            Column("n", lambda trend: trend.trials),
            Column("all", lambda trend: trend.slope, SIGNED),
            Column("within set size", lambda trend: trend.slope_in_set_size, SIGNED),
        ],
        clutter.trends,
        note=TRENDS,
        mark=mark,
    )


def agreement_block(clutter: Clutter) -> TableBlock:
    """Return the share of a policy's successes that each other also has, and the union (section IV-B, figure 4)."""
    headings = ("of the trials solved by", "solved too by", "n", "share")
    columns = [Column(heading, itemgetter(number)) for number, heading in enumerate(headings)]
    return TableBlock(columns, _agreement(clutter, ("all trials", "at least one")))


def change_block(change: PolicyChange) -> TableBlock:
    """Return the measures of the paper's table II (section V) before and after a change, with the difference."""
    headings = {f"before: {change.first}": ".2f", f"after: {change.second}": ".2f", "after - before": SIGNED}
    return TableBlock(
        [
            Column(f"{counted(change.trials, 'trial')} of both", lambda row: MEASURES[row[0]].symbol),
            *(
                Column(heading, lambda row, number=number: row[1][number], form)
                for number, (heading, form) in enumerate(headings.items())
            ),
        ],
        list(change.measures.items()),
    )
