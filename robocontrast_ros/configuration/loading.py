"""Read a YAML file into a frozen record; an error names the key that does not fit."""

from __future__ import annotations

import os
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import TypeAdapter, ValidationError

from robocontrast_ros.configuration.errors import ConfigurationError
from robocontrast_ros.configuration.strict_yaml import parse_yaml
from robocontrast_ros.system.disk import write_file

Record = TypeVar("Record")

PACKAGE_SCHEME = "package://robocontrast_ros/"


def share_directory() -> Path:
    """Return the folder that holds config/ and models/: the checkout, or the installed share folder.

    Raises:
        ConfigurationError: neither is there.
    """
    package = Path(__file__).resolve().parent.parent
    prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    # <prefix>/lib/python3.x/site-packages/robocontrast_ros when installed.
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
    """Return the file a ``package://robocontrast_ros/…`` URI or a path names.

    Args:
        uri: a package URI, an absolute path, or a path relative to ``relative_to``.
        relative_to: folder that relative paths start from; the working directory when None.
    """
    if uri.startswith(PACKAGE_SCHEME):
        return share_directory() / uri[len(PACKAGE_SCHEME) :]
    path = Path(uri).expanduser()
    return path if path.is_absolute() else (relative_to or Path.cwd()) / path


def read_yaml(path: Path) -> Any:
    """Return the file's content.

    Raises:
        ConfigurationError: the file is not there, cannot be read, or is not YAML as ``parse_yaml`` takes it.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(str(path), "", error.strerror, "a readable YAML file", "Check the path.") from None
    except UnicodeDecodeError:
        raise ConfigurationError(str(path), "", "not UTF-8 text", "valid YAML") from None
    return parse_yaml(text, str(path))


def write_yaml(path: Path, content: Any) -> None:
    """Write plain mappings, lists and scalars as YAML, in the order they have.

    Raises:
        DiskError: the file cannot be written.
    """
    write_file(path, yaml.safe_dump(content, sort_keys=False, allow_unicode=True))


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
        raise ConfigurationError(source, "", data, f"a mapping of the keys {', '.join(_keys(cls))}")
    try:
        return TypeAdapter(cls).validate_python(data, context={"source": source})
    except ValidationError as error:
        raise _explain(cls, error, source) from None


def dump_record(record: Any) -> dict[str, Any]:
    """Return the record as plain mappings, lists and scalars that YAML writes and reads back."""
    return TypeAdapter(type(record)).dump_python(record, mode="json")


def _keys(cls: type) -> list[str]:
    """Return the keys of a record as they are written in a file."""
    named = getattr(cls, "__pydantic_fields__", {})
    names = [f.name for f in fields(cls)] if is_dataclass(cls) else []
    return [(named[name].alias if name in named else None) or name for name in names]


def _explain(cls: type, error: ValidationError, source: str) -> ConfigurationError:
    """Turn the first of pydantic's findings into our one-line form."""
    first = error.errors(include_url=False)[0]
    key = ".".join(str(part) for part in first["loc"])
    kind, got = first["type"], first.get("input")
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        owner = _record_at(cls, first["loc"][:-1])
        return ConfigurationError.unknown(source, key, str(first["loc"][-1]), _keys(owner), "key")
    if kind in ("missing", "missing_argument"):
        return ConfigurationError(source, key, "nothing", "a value for this required key", "Add the key.")
    message = first["msg"]
    if kind == "value_error":
        inner = first["ctx"]["error"]
        if isinstance(inner, ConfigurationError):
            # Of a record that a validator read: in a file of its own, or in this one.
            where = (inner.source, inner.key) if inner.source else (source, ".".join(filter(None, (key, inner.key))))
            return ConfigurationError(*where, inner.got, inner.expected, inner.cure)
        message = str(inner)
    elif kind in ("too_short", "string_too_short"):
        what = "item" if kind == "too_short" else "character"
        message = f"{first['ctx']['min_length']} {what} or more"
    return ConfigurationError(source, key, got, _lower(message.removeprefix("Input should be ")))


def _record_at(cls: Any, location: tuple[Any, ...]) -> Any:
    """Return the nested record class at a location, as far as it can be followed."""
    for part in location:
        annotation = next((f.type for f in fields(cls) if f.name == part), None) if is_dataclass(cls) else None
        annotation = getattr(cls, "__pydantic_fields__", {}).get(part, annotation)
        annotation = getattr(annotation, "annotation", annotation)
        candidates = [annotation, *getattr(annotation, "__args__", ())]
        nested = next((c for c in candidates if is_dataclass(c)), None)
        cls = nested if nested is not None else cls
    return cls


def _lower(message: str) -> str:
    return message[:1].lower() + message[1:]
