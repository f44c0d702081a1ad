"""Tables for programs: each column's type and meaning is described once, beside the source of its value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from robocontrast_ros.analysis.data.trials import Columns, make_table
from robocontrast_ros.analysis.tables.block import Column
from robocontrast_ros.statistics.estimate import Estimate
from robocontrast_ros.system.disk import write_file

TYPES: Mapping[type, type[pl.DataType]] = {str: pl.String, int: pl.Int64, float: pl.Float64, bool: pl.Boolean}

ENDS = {"mean": "", "low": "its 95 % interval's lower end", "high": "its upper end"}
"""Columns of an estimate -> their meanings; if empty, the meaning of the estimate."""


def part(number: int, name: str, kind: type, meaning: str, of: Callable[[Any], Any] | None = None) -> Column:
    """Return a column whose values are in one of the records that make up a row.

    Args:
        number: index of that record in the row.
        name: its name in the file, and of the record's attribute if ``of`` is left out.
        kind: as ``Column.kind``.
        meaning: its meaning in words.
        of: returns the value in the record.
    """
    own = Column(name, of)
    return Column(name, lambda row: own.value(row[number]), kind=kind, meaning=meaning)


def columns_of(columns: Iterable[Column]) -> Columns:
    """Return the columns of a file; an estimate's are ``NAME_mean``, ``NAME_low`` and ``NAME_high``."""
    found: dict[str, tuple[type[pl.DataType], str]] = {}
    for column in columns:
        if column.kind is Estimate:
            found |= {_end(column, end): (pl.Float64, words or column.meaning) for end, words in ENDS.items()}
        else:
            found[column.name] = (TYPES[column.kind], column.meaning)
    return found


def frame(columns: Sequence[Column], rows: Iterable[Any]) -> pl.DataFrame:
    """Return the content of a file: a line for each row."""
    return make_table([cells(columns, row) for row in rows], columns_of(columns))


def cells(columns: Sequence[Column], row: Any) -> dict[str, object]:
    """Return the cells of a row, by the names of ``columns_of``."""
    found: dict[str, object] = {}
    for column in columns:
        value = column.value(row)
        if column.kind is Estimate:
            found |= {_end(column, end): number for end, number in asdict(value).items()}
        else:
            found[column.name] = value
    return found


def _end(column: Column, end: str) -> str:
    return f"{column.name}_{end}" if column.name else end


def write_files(folder: Path, tables: Mapping[str, pl.DataFrame], **texts: str) -> tuple[Path, ...]:
    """Write tables as CSV files, and texts as LaTeX files; return the files.

    Raises:
        DiskError: a file cannot be written.
    """
    content = {f"{name}.csv": table.write_csv() for name, table in tables.items()}
    content |= {f"{name}.tex": text for name, text in texts.items()}
    for name, text in content.items():
        write_file(folder / name, text)
    return tuple(folder / name for name in content)
