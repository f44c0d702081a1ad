"""Read a YAML file into a frozen record; an error names the key that does not fit."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from robocontrast_ros.configuration.errors import NOTHING, ConfigurationError, nearest
from robocontrast_ros.configuration.strict_yaml import parse_yaml
from robocontrast_ros.system.disk import write_file

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

Record = TypeVar("Record")

FILE_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"
"""Pattern of names that are also names of files and folders."""

FILE_NAME_WORDS = "letters, digits, `_`, `-` and `.` alone, a letter or digit first: it is the name of a folder, too"

PACKAGE_SCHEME = "package://robocontrast_ros/"


def share_directory() -> Path:
    """Return the folder that holds config/ and models/: the checkout, or the installed share folder.

    Raises:
        ConfigurationError: neither exists.
    """
    package = Path(__file__).resolve().parent.parent
    prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    # An installed package is in <prefix>/lib/python3.x/site-packages/robocontrast_ros.
    candidates = [
        package.parent,
        *(parent / "share" / "robocontrast_ros" for parent in package.parents),
        *(Path(prefix) / "share" / "robocontrast_ros" for prefix in prefixes if prefix),
    ]
    for candidate in candidates:
        if (candidate / "config").is_dir() and (candidate / "models").is_dir():
            return candidate
    raise ConfigurationError(
        "robocontrast_ros", "", str(package), "a folder with config/ and models/", "Run `make setup` again."
    )


def resolve_uri(uri: str, relative_to: Path | None = None) -> Path:
    """Return the file that a ``package://robocontrast_ros/…`` URI or a path names.

    Args:
        uri: a package URI, an absolute path, or a path relative to ``relative_to``.
        relative_to: folder that relative paths start from; the working directory if None.

    Raises:
        ConfigurationError: it is the URI of another package.
    """
    if uri.startswith(PACKAGE_SCHEME):
        return share_directory() / uri[len(PACKAGE_SCHEME) :]
    if uri.startswith("package://"):
        raise ConfigurationError(uri, "", "a file of another package", f"{PACKAGE_SCHEME}…, or a path")
    path = Path(uri).expanduser()
    return path if path.is_absolute() else (relative_to or Path.cwd()) / path


def read_yaml(path: Path) -> Any:
    """Return the file's content.

    Raises:
        ConfigurationError: the file does not exist, cannot be read, or is not YAML that ``parse_yaml`` accepts.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(str(path), "", error.strerror, "a readable YAML file", "Check the path.") from None
    except UnicodeDecodeError:
        raise ConfigurationError(str(path), "", "not UTF-8 text", "valid YAML") from None
    return parse_yaml(text, str(path))


def read_mapping(path: Path) -> dict[str, Any]:
    """Return the file's keys and values.

    Raises:
        ConfigurationError: an error of ``read_yaml``, or the file is empty, or holds a list or a single value.
    """
    content = read_yaml(path)
    if not isinstance(content, dict):
        raise _no_mapping(content, str(path))
    return content


class _Empty:
    """The content of an empty file, as messages show it."""

    def __repr__(self) -> str:
        return "nothing: the file is empty"


def _no_mapping(content: Any, source: str, keys: Sequence[str] = ()) -> ConfigurationError:
    """Return the error for a file's content that is no mapping; ``keys`` are the known keys, if any."""
    expected = f"a mapping of the keys {', '.join(keys)}" if keys else "a mapping, with lines such as `key: value`"
    return ConfigurationError(source, "", _Empty() if content is None else content, expected)


def write_yaml(path: Path, content: Any) -> None:
    """Write plain mappings, lists and scalars as YAML, in the order they have, and without aliases.

    Raises:
        DiskError: the file cannot be written.
    """
    import yaml

    dumper = type("Dumper", (yaml.SafeDumper,), {"ignore_aliases": lambda self, data: True})
    write_file(path, yaml.dump(content, Dumper=dumper, sort_keys=False, allow_unicode=True))


def load_record(cls: type[Record], path: Path) -> Record:
    """Return the record that a YAML file describes.

    Raises:
        ConfigurationError: the file cannot be read, has an unknown key, lacks one, or a value is
            out of range.
    """
    return parse_record(cls, read_yaml(path), str(path))


def parse_record(cls: type[Record], data: Any, source: str) -> Record:
    """Return the record that a mapping describes; ``source`` names the file in errors, and is in validators' context.

    Raises:
        ConfigurationError: as ``load_record``.
    """
    if not isinstance(data, dict):
        raise _no_mapping(data, source, _required(cls) or _keys(cls))
    from pydantic import ValidationError

    try:
        return _adapter(cls).validate_python(data, context={"source": source})
    except ValidationError as error:
        raise _explain(cls, error, source, data) from None


def dump_record(record: Any) -> dict[str, Any]:
    """Return the record as plain mappings, lists and scalars that YAML writes and reads back."""
    return _adapter(type(record)).dump_python(record, mode="json")


@cache
def _adapter(cls: type) -> TypeAdapter[Any]:
    """Return the adapter that checks and dumps a record; its schema is built once."""
    from pydantic import TypeAdapter

    return TypeAdapter(cls)


def _keys(cls: type) -> list[str]:
    """Return the keys of a record as they are written in a file."""
    named = getattr(cls, "__pydantic_fields__", {})
    names = [f.name for f in fields(cls)] if is_dataclass(cls) else []
    return [(named[name].alias if name in named else None) or name for name in names]


def _required(cls: type) -> list[str]:
    """Return those keys of a record that have no default."""
    named = getattr(cls, "__pydantic_fields__", {})
    return [key for key, field in zip(_keys(cls), named.values(), strict=False) if field.is_required()]


UNKNOWN_KEY = ("extra_forbidden", "unexpected_keyword_argument")

EXPECTED = {
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "text",
    "dict_type": "a mapping of keys and values",
    "list_type": "a list",
    "tuple_type": "a list",
}
"""Kind of pydantic's finding -> our words for the expected value; other kinds have pydantic's own."""


def _explain(cls: type, error: ValidationError, source: str, data: Any) -> ConfigurationError:
    """Return the first of pydantic's findings as our error; a missing key and its misspelling are one error."""
    found = error.errors(include_url=False)
    first = found[0]
    key = _key(first["loc"], data)
    kind, got = first["type"], first.get("input")
    if kind in UNKNOWN_KEY:
        owner = _record_at(cls, first["loc"][:-1])
        return ConfigurationError.unknown(source, key, str(first["loc"][-1]), _keys(owner), "key")
    if kind in ("missing", "missing_argument"):
        # A key that was written in its place is another finding.
        name, unknown = str(first["loc"][-1]), [str(one["loc"][-1]) for one in found if one["type"] in UNKNOWN_KEY]
        close = nearest(name, unknown)
        cure = f"Did you mean `{name}` instead of `{close}`?" if close else "Add the key."
        return ConfigurationError(source, key, NOTHING, "a value for this required key", cure)
    if kind == "value_error" and isinstance(inner := first["ctx"]["error"], ConfigurationError):
        # The error of a record that a validator read, in a file of its own or in this one.
        where = (inner.source, inner.key) if inner.source else (source, ".".join(filter(None, (key, inner.key))))
        return ConfigurationError(*where, inner.got, inner.expected, inner.cure)
    # A value that may be of several types has a finding for each of them.
    expected = " or ".join(dict.fromkeys(_expected(cls, one) for one in found if _key(one["loc"], data) == key))
    if kind == "value_error" and isinstance(got, dict):
        key, got = _told_of(got, key, expected)
    return ConfigurationError(source, key, got, expected, _cure(cls, first))


def _told_of(mapping: dict[str, Any], key: str, expected: str) -> tuple[str, Any]:
    """Return the key and the value to show for a mistake across the keys of a mapping.

    Of the whole mapping, those are shown that the expectation names in backticks; of a file none of whose keys it
    names, the first that it names is missing.
    """
    named = {name: _value(mapping, name) for name in re.findall(r"`([A-Za-z_][\w.]*)[^`]*`", expected)}
    there = {name: value for name, value in named.items() if value is not NOTHING}
    if len(there) == 1 or (named and not there and not key):
        name, value = next(iter((there or named).items()))
        return ".".join(filter(None, (key, name))), value
    return key, there or mapping


def _value(mapping: Any, key: str) -> Any:
    for part in key.split("."):
        mapping = mapping.get(part, NOTHING) if isinstance(mapping, dict) else NOTHING
    return mapping


def _expected(cls: type, found: Any) -> str:
    """Return the expected value in words, without names of our classes."""
    kind, context = found["type"], found.get("ctx", {})
    if kind == "value_error":
        return _lower(str(context["error"]))
    if kind == "dataclass_type":
        return f"a mapping of the keys {', '.join(_keys(_record_at(cls, found['loc'])))}"
    if kind == "string_pattern_mismatch" and context["pattern"] == FILE_NAME:
        return FILE_NAME_WORDS
    if kind in ("too_short", "string_too_short"):
        least, what = context["min_length"], "item" if kind == "too_short" else "character"
        return f"{least} {what}{'s' * (least != 1)} or more"
    return EXPECTED.get(kind) or _lower(found["msg"].removeprefix("Input should be "))


def _cure(cls: type, found: Any) -> str:
    """Return how to write what YAML takes for another thing: a single value, a text, or nothing."""
    kind, got = found["type"], found.get("input")
    if kind in ("list_type", "tuple_type") and isinstance(got, str | int | float):
        return f"For one write `[{got}]`."
    if kind == "string_type" and isinstance(got, bool | date):
        # YAML takes words such as `on` and `no` for truth values, and 2026-01-31 for a date.
        return "Put the text in quotes."
    if got is None:
        return "There is nothing after the key: write a value, or leave the key out."
    if kind == "dataclass_type" and isinstance(got, str):
        record = _record_at(cls, found["loc"])
        keys = _required(record) or _keys(record)[:1]
        return f"Write `{{{keys[0]}: {got}{''.join(f', {key}: …' for key in keys[1:])}}}`."
    return ""


def _key(location: tuple[Any, ...], data: Any) -> str:
    """Return the dotted key of a location in the data, without the names of types that pydantic adds."""
    parts = []
    for part in location:
        inside = isinstance(data, dict) or (isinstance(part, int) and isinstance(data, list | tuple))
        if inside:
            parts.append(str(part))
            data = data.get(part) if isinstance(data, dict) else data[part] if part < len(data) else None
    return ".".join(parts)


def _record_at(cls: Any, location: tuple[Any, ...]) -> Any:
    """Return the nested record class at a location, as far as it can be followed."""
    for part in location:
        annotation = next((f.type for f in fields(cls) if f.name == part), None) if is_dataclass(cls) else None
        annotation = getattr(cls, "__pydantic_fields__", {}).get(part, annotation)
        cls = _record_in(getattr(annotation, "annotation", annotation)) or cls
    return cls


def _record_in(annotation: Any) -> Any:
    """Return the record class in an annotation, such as that of a list of records; None if it has none."""
    if is_dataclass(annotation):
        return annotation
    return next(filter(None, map(_record_in, getattr(annotation, "__args__", ()))), None)


def _lower(message: str) -> str:
    return message[:1].lower() + message[1:]
