"""A table, described once: ``terminal``, ``latex``, ``markdown``, ``frames`` and the templates of reports show it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import Any

from robocontrast_ros.statistics.estimate import Estimate

NONE, SIGNED = "-", "+.2f"
TOTAL, ALARM, FAINT = "total", "alarm", "dim"
"""Styles of rows: totals over the others, alarms, and rows of little importance."""


@dataclass(frozen=True)
class PValue:
    """A p-value; None if nothing was tested."""

    value: float | None


@dataclass(frozen=True)
class Known:
    """A mean with words in the place of its interval."""

    mean: float | None
    words: str


@dataclass(frozen=True)
class Difference(Estimate):
    """An estimate that is shown with its sign in any column."""


def difference(estimate: Estimate) -> Difference:
    """Return an estimate as a difference."""
    return Difference(estimate.mean, estimate.low, estimate.high)


@dataclass(frozen=True)
class Link:
    """Words that are a link on a page."""

    words: str
    target: str


Value = str | int | float | Estimate | PValue | Known | Link | None
"""Content of a cell; NaN and None are unknown."""


def words(value: Value, form: str = ".2f", none: str = NONE, minus: str = "-") -> str:
    """Return a value as text for a reader, such as ``0.71 [0.52, 0.88]``.

    Args:
        value: the value; an estimate without an interval is shown as its mean alone.
        form: format of floating-point numbers, in Python's format language; differences have ``SIGNED``.
        none: text for an unknown value.
        minus: the sign of a negative number.
    """
    match value:
        case Difference(mean, low, high):
            return words(Estimate(mean, low, high), SIGNED, none, minus)
        case Estimate(mean, low, high):
            ends = () if mean is None or low is None or high is None else (low, high)
            interval = f" [{', '.join(words(end, form, none, minus) for end in ends)}]" if ends else ""
            return words(mean, form, none, minus) + interval
        case Known(mean, instead):
            return f"{words(mean, form, none, minus)}, {instead}"
        case Link(shown):
            return shown
        case PValue(p):
            return "<0.001" if p is not None and p < 0.001 else words(p, ".3f", none)
        case float():
            return none if math.isnan(value) else f"{value:{form}}".replace("-", minus)
    return none if value is None else str(value)


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        name: its heading; in files, its name.
        of: returns its value in a row; the row's attribute of this name if left out.
        form: format of its numbers, as ``words`` takes it.
        brief: whether a terminal shows the means of its estimates alone.
        roomy: whether a narrow page leaves it out.
        page: whether a terminal leaves it out.
        beside: whether it is read with the column before it, so that its heading may be that of another.
        kind: its type in files: str, int, float, bool, or Estimate, which is three columns (``frames``).
        meaning: its meaning in files, in words.
    """

    name: str
    of: Callable[[Any], Value] | None = None
    form: str = ".2f"
    brief: bool = False
    roomy: bool = False
    page: bool = False
    beside: bool = False
    kind: type = str
    meaning: str = ""

    def value(self, row: Any) -> Value:
        """Return the value in a row."""
        return getattr(row, self.name) if self.of is None else self.of(row)


@dataclass(frozen=True)
class Shown:
    """A column with its values, one a row.

    Attributes:
        heading: its heading, which differs from those of the other columns unless it is ``beside`` another.
        column: its description.
        values: its values, in the order of the rows.
    """

    heading: str
    column: Column
    values: tuple[Value, ...]

    @property
    def textual(self) -> bool:
        """Whether it has words alone, which are aligned left and may be broken."""
        return all(isinstance(value, str | Link | None) for value in self.values) and any(self.values)


@dataclass(frozen=True)
class Line:
    """A row as it is shown: its style, and its cells in words."""

    style: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class TableBlock:
    """A table.

    Attributes:
        columns: the first names the row. Of two with the same name and the same values, one is shown; of two that share
            only their name, the second's heading is numbered.
        rows: the records from which the columns take their values.
        title: text above it; its first heading may be title enough.
        note: explanation below it.
        mark: mark at the headings of estimates.
        group: the column by whose values rows are grouped: the value is shown once, above its rows.
        style: returns the style of a row: ``TOTAL``, ``ALARM``, ``FAINT`` or empty.
        chart: name of the figure that shows it on a page.
    """

    columns: Sequence[Column]
    rows: Sequence[Any]
    title: str = ""
    note: str = ""
    mark: str = ""
    group: Column | None = None
    style: Callable[[Any], str] = lambda row: ""
    chart: str = ""

    @cached_property
    def shown(self) -> tuple[Shown, ...]:
        """The columns that are shown."""
        found: list[Shown] = []
        for column in self.columns:
            values = tuple(column.value(row) for row in self.rows)
            heading = column.name + (self.mark if any(isinstance(one, Estimate) for one in values) else "")
            alike = [one for one in found if one.column.name == column.name and not column.beside]
            if any(repr(one.values) == repr(values) for one in alike):
                continue
            number = len(alike) + 1
            while not column.beside and any(one.heading == heading for one in found):
                number, heading = number + 1, f"{column.name} ({number})"
            found.append(Shown(heading, column, values))
        return tuple(found)

    def lines(self, put: Callable[[Value, str], str] = words) -> Iterator[tuple[str, list[Line]]]:
        """Return the rows of each group, with the group's heading: empty if there are no groups.

        Args:
            put: returns a value in words, with a column's form.
        """
        heads = [str(self.group.value(row)) if self.group else "" for row in self.rows]
        for head, numbers in groupby(range(len(heads)), heads.__getitem__):
            yield (
                head,
                [
                    Line(
                        self.style(self.rows[number]),
                        tuple(put(one.values[number], one.column.form) for one in self.shown),
                    )
                    for number in numbers
                ],
            )


def plain(headings: Iterable[str], rows: Iterable[Sequence[Value]], **more: Any) -> TableBlock:
    """Return a table whose rows are sequences of cells; the other arguments are those of ``TableBlock``."""
    columns = [Column(heading, itemgetter(number)) for number, heading in enumerate(headings)]
    return TableBlock(columns, list(rows), **more)
