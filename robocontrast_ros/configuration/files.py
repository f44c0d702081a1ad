"""Find a parameter file by its name."""

from __future__ import annotations

from pathlib import Path

from robocontrast_ros.configuration.errors import ConfigurationError
from robocontrast_ros.configuration.loading import resolve_uri

SUFFIXES = (".yaml", ".yml")

KINDS = {"policies": "policy", "studies": "study", "training": "recipe", "understanding": "check"}
"""Folder of config/ -> its files' kind in messages, where that is not the folder's name without its `s`."""


def is_path(name: str) -> bool:
    """Return whether a text is a path or package URI of a parameter file, and not the name of one in config/."""
    return "/" in name or name.endswith(SUFFIXES)


def known_names(kind: str) -> dict[str, Path]:
    """Return the names of the files in config/<kind>/ of this package, and their paths."""
    folder = resolve_uri(f"package://robocontrast_ros/config/{kind}")
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def find_file(kind: str, name: str, source: str, key: str, relative_to: Path) -> Path:
    """Return the parameter file of a name or a path.

    Args:
        kind: folder of config/, such as ``sessions`` or ``robots``.
        name: name or path.
        source: the file or option with the name, for the error.
        key: its key there, for the error.
        relative_to: folder that a relative path starts from.

    Raises:
        ConfigurationError: there is no such name or file.
    """
    known, what = known_names(kind), KINDS.get(kind, kind.removesuffix("s"))
    if not is_path(name):
        if name not in known:
            raise ConfigurationError.unknown(source, key, name, known, f"{what}, or the path of a .yaml file")
        return known[name]
    path = resolve_uri(name, relative_to).resolve()
    if not is_file(path):
        raise ConfigurationError(
            source,
            key,
            name,
            f"a file that exists, or a known {what}: {', '.join(known) or '(none)'}",
            f"There is no file {path}.",
        )
    return path


def is_file(path: Path) -> bool:
    """Return whether a file exists; False if the path is too long, or leads through a private folder."""
    try:
        return path.is_file()
    except OSError:
        return False
