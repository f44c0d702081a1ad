"""What formats of result files share: JSON with errors in one line, and checks of values."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from robocontrast_ros.analysis.foreign.outcomes import Outcome
from robocontrast_ros.configuration import ConfigurationError

_ABSENT = object()
_TYPES = {str: "a text", int: "a whole number", list: "a list", dict: "an object with keys", type(None): "null"}


def read_text(source: str) -> str:
    """Return the text of a file.

    Raises:
        ConfigurationError: it cannot be read, or is not UTF-8.
    """
    try:
        return Path(source).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(source, "", str(error), "a readable text file in UTF-8") from None


def read_lines(source: str) -> list[tuple[int, str]]:
    """Return the lines of a file that are not blank, each with its number; other separators are part of a line."""
    return [(n, line.strip()) for n, line in enumerate(read_text(source).split("\n"), 1) if line.strip()]


def read_table(source: str) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    """Return the header of a CSV file, in small letters, and its rows with the number of their last line.

    Cells are told apart by commas, or by what the header has in their place: semicolons or tabs.

    Raises:
        ConfigurationError: it cannot be read, a column is there twice, or a row has another number of cells.
    """
    text = read_text(source)
    first = text.partition("\n")[0]
    delimiter = next((mark for mark in (",", ";", "\t") if mark in first), ",")
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows = []
    try:
        reader.fieldnames = [name.strip().lower() for name in reader.fieldnames or ()]
        for row in reader:
            rows.append((reader.line_num, row))
            if None in row or None in row.values():
                got, expected = "another number of cells than the header", "a cell for each column"
                raise ConfigurationError(f"{source}, line {reader.line_num}", "", got, expected)
    except csv.Error as error:
        raise ConfigurationError(f"{source}, line {reader.line_num + 1}", "", str(error), "a row of a table") from None
    head = list(reader.fieldnames)
    if twice := next((name for name in head if head.count(name) > 1), ""):
        raise ConfigurationError(source, twice, "the column twice", "each column once")
    return head, rows


def read_json(source: str) -> Any:
    """Return the content of a JSON file; NaN and Infinity, which Python writes, are numbers.

    Raises:
        ConfigurationError: it cannot be read, is no JSON, or an object has a key twice.
    """
    try:
        stamp = Path(source).stat()
    except OSError as error:
        raise ConfigurationError(source, "", str(error), "a readable file") from None
    return _parsed(source, stamp.st_mtime_ns, stamp.st_size)


@lru_cache(maxsize=8)
def _parsed(source: str, changed: int, size: int) -> Any:
    """Return the content; formats look at a file one after the other."""
    return parse_json(read_text(source), source)


def parse_json(text: str, source: str, line: int | None = None) -> Any:
    """Return the value that a text holds.

    Args:
        text: the text.
        source: the file, for errors.
        line: the text's line in the file, if it is a line.

    Raises:
        ConfigurationError: it is no JSON, or an object has a key twice.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise ConfigurationError(_at(source, line), twice, "the key twice", "each key once in an object")
        return found

    try:
        return json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        where = f"line {line or error.lineno}, column {error.colno}"
        cure = "The file may have been cut off while it was written: write or copy it again."
        raise ConfigurationError(source, where, text[error.pos : error.pos + 20], f"JSON ({error.msg})", cure) from None
    except ConfigurationError:
        raise
    except (RecursionError, ValueError) as error:
        # Python refuses whole numbers of thousands of digits.
        got = "objects nested too deep" if isinstance(error, RecursionError) else str(error)
        raise ConfigurationError(_at(source, line), "", got, "a result file") from None


def _at(source: str, line: int | None) -> str:
    return source if line is None else f"{source}, line {line}"


def json_of(source: str) -> Any:
    """Return the content of a file whose name ends in `.json`; None for any other source."""
    return read_json(source) if source.lower().endswith(".json") and Path(source).is_file() else None


def taken(source: str, where: str, record: Any, key: str, kind: type | tuple[type, ...], default: Any = _ABSENT) -> Any:
    """Return the value of a key.

    Args:
        source: the file.
        where: dotted path of the record in it.
        record: the record.
        key: the key.
        kind: type of the value, or several; a bool is no int.
        default: the value if there is no such key; an error if left out.

    Raises:
        ConfigurationError: there is no such key, or the value has another type.
    """
    named = f"{where}.{key}" if where else key
    if not isinstance(record, dict):
        raise ConfigurationError(source, where, record, "an object with keys and values")
    value = record.get(key, default)
    if value is _ABSENT:
        raise ConfigurationError(source, named, "nothing", "a value; the file has another layout than is known")
    kinds = wanted = kind if isinstance(kind, tuple) else (kind,)
    if isinstance(value, bool) and not {bool, object} & {*kinds}:
        kinds = ()
    if value is not default and not isinstance(value, kinds):
        raise ConfigurationError(source, named, value, f"{' or '.join(_TYPES[one] for one in wanted)}")
    return value


def success_of(source: str, where: str, value: Any) -> bool | None:
    """Return a success from true, false, 0, 1; None for null and NaN.

    Raises:
        ConfigurationError: it is none of these.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, (bool, int, float)) and value in (0, 1):
        return bool(value)
    raise ConfigurationError(source, where, value, "true, false, 1 or 0; null or NaN without a result")


def score_of(value: Any) -> float | None:
    """Return a number in [0, 1]; None for anything else, which is no partial credit."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
        return None
    return float(value)


def number_of(place: str, key: str, cell: str) -> float | None:
    """Return the number in a cell of a table, of `true` and `false` 1 and 0; None if it is empty, or NaN.

    Raises:
        ConfigurationError: it is none of these.
    """
    words = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0, "": None, "null": None, "none": None}
    if cell.lower() in words:
        return words[cell.lower()]
    try:
        value = float(cell)
    except ValueError:
        raise ConfigurationError(place, key, cell, "a number, true or false") from None
    if math.isinf(value):
        raise ConfigurationError(place, key, cell, "a finite number")
    return None if math.isnan(value) else value


def checked(source: str, where: str, stated: Any, rows: list[Outcome], scale: float = 1.0) -> list[Outcome]:
    """Return rows; refuse a rate or a number in the file that disagrees with them.

    Void trials may count as failures in a rate, or not at all.

    Args:
        source: the file.
        where: dotted path of the record with the rates.
        stated: the record; keys that it does not have, and NaN, state nothing.
        rows: the trials.
        scale: the greatest rate, 1 or 100.

    Raises:
        ConfigurationError: it disagrees.
    """
    counting = [row for row in rows if row.void_reason is None]
    successes = sum(row.success is True for row in counting)
    rates = [scale * successes / number for number in (len(rows), len(counting)) if number]
    numbers = [len(rows), len(counting)]
    expected = {
        "pc_success": rates,
        "mean_success": rates,
        "n_episodes": numbers,
        "num_episodes": numbers,
        "num_episodes_total": numbers,
        "n_success": [successes],
    }
    for key, known in expected.items():
        value = stated.get(key) if isinstance(stated, dict) else None
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value:  # NaN
            continue
        if not any(one - 5e-4 * scale <= value <= one + 5e-4 * scale for one in known):
            words = " or ".join(f"{one:g}" for one in dict.fromkeys(known)) or "none"
            cure = "Rows are missing, or were changed: write the file again."
            raise ConfigurationError(source, f"{where}.{key}".lstrip("."), value, f"{words}, as its trials say", cure)
    return rows


def each(source: str, key: str, items: list[Any], read: Callable[[str, str, Any], Any]) -> list[Any]:
    """Return what ``read(source, where, item)`` returns of each item of a list, at its place such as `tasks[3]`."""
    return [read(source, f"{key}[{number}]", item) for number, item in enumerate(items)]
