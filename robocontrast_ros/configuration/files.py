"""Find a parameter file by its name."""

from __future__ import annotations

from pathlib import Path

from robocontrast_ros.configuration.errors import ConfigurationError
from robocontrast_ros.configuration.loading import resolve_uri

SUFFIXES = (".yaml", ".yml")


def is_path(name: str) -> bool:
    """Tell a path or package URI of a parameter file from a name that stands for one in config/."""
    return "/" in name or name.endswith(SUFFIXES)


def known_names(kind: str) -> dict[str, Path]:
    """Return the names that stand for files of config/<kind>/ in this package."""
    folder = resolve_uri(f"package://robocontrast_ros/config/{kind}")
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def find_file(kind: str, name: str, source: str, key: str, relative_to: Path) -> Path:
    """Return the parameter file that a name or a path stands for.

    Args:
        kind: folder of config/: ``sessions``, ``robots``, ``policies`` or ``tasks``.
        name: name or path.
        source: where it was written, for the error.
        key: its key there, for the error.
        relative_to: folder that a relative path starts from.

    Raises:
        ConfigurationError: there is no such name or file.
    """
    known = known_names(kind)
    if not is_path(name):
        if name not in known:
            raise ConfigurationError.unknown(source, key, name, known, f"{key}, or the path of a .yaml file")
        return known[name]
    path = resolve_uri(name, relative_to).resolve()
    if not is_file(path):
        raise ConfigurationError(
            source,
            key,
            name,
            f"a file that exists, or a known {key}: {', '.join(known) or '(none)'}",
            f"There is no file {path}.",
        )
    return path


def is_file(path: Path) -> bool:
    """Tell whether there is such a file; false where the path is too long, or leads through a private folder."""
    try:
        return path.is_file()
    except OSError:
        return False
