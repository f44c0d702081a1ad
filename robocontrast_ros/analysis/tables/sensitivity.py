"""Posterior over prior of conditions as a table, for a reader and as a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from robocontrast_ros.analysis.estimates.sensitivity import Condition
from robocontrast_ros.analysis.tables.block import Column, TableBlock
from robocontrast_ros.analysis.tables.frames import columns_of, frame, part, write_files
from robocontrast_ros.statistics.estimate import Estimate

NOTE = (
    "Posterior over prior: share of a condition's values among the successes, over that among all trials; 1 where "
    "success does not depend on it. In bins of about equally many trials, and by logistic regression with splines at "
    "the bin's median. 95 % intervals, each for one line; test instances are independent, not their trials."
)
NEURAL = " Neural: the package sbi, without interval."

FILE = (
    part(0, "policy", str, "whose trials"),
    part(0, "perturbation", str, "whose draws"),
    part(0, "condition", str, "name of the condition", lambda condition: condition.name),
    part(0, "instances", int, "test instances with a draw of it"),
    part(1, "group", str, "the name that was drawn, or the range of the bin", lambda group: group.name),
    part(1, "median", float, "median of the condition in the bin; empty for a name", lambda group: group.place),
    part(1, "trials", int, "trials in the group"),
    *(
        Column(name, lambda row, name=name: getattr(row[1], name), kind=Estimate, meaning=meaning)
        for name, meaning in (
            ("success", "share of successes"),
            ("ratio", "posterior over prior"),
            ("spline", "the same at the median by logistic regression with splines"),
        )
    ),
    part(1, "neural", float, "the same of the bin by neural posterior estimation"),
)

COLUMNS = columns_of(FILE)
"""Columns of the file ``sensitivity.csv``."""


def sensitivity_block(conditions: Sequence[Condition], mark: str = "") -> TableBlock:
    """Return all groups of all conditions; ``mark`` is the mark of intervals."""
    rows = [(condition, group) for condition in conditions for group in condition.groups]
    several = len({condition.policy for condition in conditions}) > 1
    estimated = any(group.neural is not None for _, group in rows)

    def heading(row: tuple[Condition, object]) -> str:
        condition = row[0]
        who = (condition.policy,) if several else ()
        return ": ".join((*who, f"{condition.symbol}, {condition.name}"))

    columns = [
        Column("condition", lambda row: row[1].name),
        Column("n", lambda row: row[1].trials),
        Column("success", lambda row: row[1].success, brief=True),
        Column("ratio", lambda row: row[1].ratio),
        Column("splines", lambda row: row[1].spline),
        *([Column("neural", lambda row: row[1].neural)] if estimated else []),
    ]
    return TableBlock(columns, rows, note=NOTE + NEURAL * estimated, mark=mark, group=Column("condition", heading))


def write_sensitivity(conditions: Sequence[Condition], folder: Path) -> tuple[Path, ...]:
    """Write the table into a folder, as CSV; return the file.

    Raises:
        DiskError: it cannot be written.
    """
    rows = [(condition, group) for condition in conditions for group in condition.groups]
    return write_files(folder, {"sensitivity": frame(FILE, rows)})
