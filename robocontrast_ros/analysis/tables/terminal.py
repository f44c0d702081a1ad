"""Tables in a terminal of any width: no line is wider, rows that differ look different, and nothing is cut off."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

from robocontrast_ros.analysis.tables.block import ALARM, FAINT, TOTAL, Column, TableBlock, Value, words
from robocontrast_ros.statistics.estimate import Estimate

STYLES = {TOTAL: "bold", ALARM: "bold red", FAINT: "dim", "": ""}
BETWEEN = 1
"""Cells between two columns."""


class Table:
    """A table, which becomes as wide as its content, and at most as wide as the terminal.

    If it is too wide, its headings are broken, then its words. If that is not enough, a table of numbers becomes
    several, one below the other, each with the names of the rows; a table with words becomes a list of its rows.
    """

    def __init__(self, block: TableBlock) -> None:
        """Lay out a table."""
        self._block = block
        self._columns = [
            _Column(
                one.heading, one.textual, [Text(_words(value, one.column)).plain.expandtabs() for value in one.values]
            )
            for one in block.shown
            if not one.column.page
        ]
        self._spaced = any("\n" in cell for column in self._columns for cell in column.cells)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Show the table."""
        width = options.max_width
        if self._block.title:
            yield Text(self._block.title, style="bold", overflow="fold")
        if (parts := _parts(self._columns, width)) is None:
            yield from self._as_list(console, width)
        else:
            for number, part in enumerate(parts):
                yield from [Text()] if number else []
                yield from self._as_table(console, part)
        if self._block.note:
            yield Text(self._block.note, style="dim italic", overflow="fold")

    def _as_table(self, console: Console, part: dict[int, int]) -> Iterator[Text]:
        """Yield the lines of some columns, of given widths."""
        columns = [self._columns[index] for index in part]
        widths = list(part.values())
        yield from _row(console, columns, [column.heading for column in columns], widths, "bold", at_end=True)
        number = 0
        for heading, lines in self._block.lines():
            if heading:
                yield Text(heading, style="italic", overflow="fold")
            for line in lines:
                if self._spaced and number:
                    yield Text()
                cells = [column.cells[number] for column in columns]
                yield from _row(console, columns, cells, widths, STYLES[line.style])
                number += 1

    def _as_list(self, console: Console, width: int) -> Iterator[Text]:
        """Yield the rows one below the other, a line a column."""
        heading = _Column("", True, [column.heading for column in self._columns])
        first = min(heading.widest, (width - BETWEEN) // 2)
        if first < 1:
            raise ValueError(f"a terminal of {width} columns is too narrow for any table; expected 3 or more")
        cell, number = _Column("", True, []), 0
        for group, lines in self._block.lines():
            if group:
                yield from [Text()] if number else []
                yield Text(group, style="italic", overflow="fold")
            for place, line in enumerate(lines):
                if place or (number and not group):
                    yield Text()
                for column in self._columns:
                    if shown := column.cells[number]:
                        pair, widths = [column.heading, shown], [first, width - BETWEEN - first]
                        yield from _row(console, [heading, cell], pair, widths, STYLES[line.style])
                number += 1


def tables(blocks: Iterable[TableBlock]) -> Group:
    """Return tables with an empty line between each two; those without rows are left out."""
    parts: list[RenderableType] = []
    for block in blocks:
        parts += [*([""] if parts else []), Table(block)] if block.rows else []
    return Group(*parts)


def _words(value: Value, column: Column) -> str:
    return words(value.mean if column.brief and isinstance(value, Estimate) else value, column.form)


class _Column:
    """A column in words."""

    def __init__(self, heading: str, textual: bool, cells: list[str]) -> None:
        self.heading, self.textual, self.cells = heading, textual, cells
        lines = [line for cell in cells for line in cell.split("\n")]
        content = max(map(cell_len, lines), default=0)
        self.widest = max(content, cell_len(heading), 1)
        # Numbers are not broken; words are broken at spaces.
        longest = max((cell_len(word) for line in lines for word in line.split()), default=0)
        head = max((cell_len(word) for word in heading.split()), default=0)
        self.unbroken = max(content, head, 1)
        self.narrowest = max(longest, head, 1) if textual else self.unbroken


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + BETWEEN * (len(widths) - 1)


def _parts(columns: Sequence[_Column], width: int) -> list[dict[int, int]] | None:
    """Return the columns of each part, with their widths, from top to bottom; None for a list of rows."""
    first, *others = columns
    broken = [column.narrowest for column in others]
    for least in ([column.unbroken for column in columns], [first.unbroken, *broken], [first.narrowest, *broken]):
        if _total(least) <= width:
            return [_grown(columns, range(len(columns)), least, width)]
    if any(column.textual for column in others):
        return None
    name = next((w for w in (first.unbroken, first.narrowest) if _total([w, *sorted(broken)[-1:]]) <= width), None)
    if name is None:
        return None
    parts: list[list[int]] = [[]]
    for number, least_of_it in enumerate(broken, start=1):
        if _total([name, *(broken[n - 1] for n in parts[-1]), least_of_it]) > width:
            parts.append([])
        parts[-1].append(number)
    return [_grown(columns, (0, *part), [name, *(broken[n - 1] for n in part)], width) for part in parts]


def _grown(columns: Sequence[_Column], chosen: Sequence[int], least: list[int], width: int) -> dict[int, int]:
    """Return the widths of some columns; those that are broken share the free room."""
    widths, room = list(least), width - _total(least)
    while room > 0:
        narrow = [n for n, index in enumerate(chosen) if widths[n] < columns[index].widest]
        if not narrow:
            break
        # The narrowest gets the next cell, so that short words stay whole.
        widths[min(narrow, key=widths.__getitem__)] += 1
        room -= 1
    return dict(zip(chosen, widths, strict=True))


def _row(
    console: Console,
    columns: Sequence[_Column],
    cells: Sequence[str],
    widths: Sequence[int],
    style: str,
    at_end: bool = False,
) -> Iterator[Text]:
    """Yield the lines of a row; ``at_end`` puts short cells beside the last lines of long ones."""
    wrapped = [
        [line.plain.rstrip() for line in Text(cell).wrap(console, width, overflow="fold")] or [""]
        for cell, width in zip(cells, widths, strict=True)
    ]
    height = max(map(len, wrapped))
    for number, lines in enumerate(wrapped):
        free = [""] * (height - len(lines))
        wrapped[number] = [*free, *lines] if at_end else [*lines, *free]
    for pieces in zip(*wrapped, strict=True):
        line = "".join(
            _aligned(piece, width, column.textual) + " " * BETWEEN
            for column, piece, width in zip(columns, pieces, widths, strict=True)
        )
        yield Text(line.rstrip(), style=style, no_wrap=True, overflow="ignore")


def _aligned(text: str, width: int, left: bool) -> str:
    free = " " * (width - cell_len(text))
    return text + free if left else free + text
