"""Find what users may add (tasks, perturbations, strategies, policies) by name."""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from robocontrast_ros.configuration.errors import ConfigurationError
from robocontrast_ros.configuration.loading import read_yaml

GROUP_PREFIX = "robocontrast_ros."

_SINGULAR = {"policies": "policy", "strategies": "strategy"}


def plugin_names(kind: str) -> tuple[str, ...]:
    """Return the names registered for a kind: ``tasks``, ``perturbations``, ``strategies``, ``policies``."""
    return tuple(sorted({entry.name for entry in entry_points(group=GROUP_PREFIX + kind)}))


def load_plugin(kind: str, name: str, source: str, key: str) -> Any:
    """Return the object registered under a name, or the one that ``module:Object`` names.

    Args:
        kind: the entry-point group without its prefix.
        name: a registered name, or ``module:Object`` for a user's own class.
        source: the file that named it, for the error.
        key: the key in that file, for the error.

    Raises:
        ConfigurationError: there is no such name, or it cannot be imported.
    """
    if ":" in name:
        module, _, attribute = name.partition(":")
        try:
            return getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise ConfigurationError(
                source, key, name, "an importable `module:Object`", f"Python says: {error}."
            ) from None
    for entry in entry_points(group=GROUP_PREFIX + kind):
        if entry.name == name:
            return entry.load()
    raise ConfigurationError.unknown(source, key, name, plugin_names(kind), singular(kind))


def find_configured(kind: str, path: Path) -> Any:
    """Return the plug-in that a parameter file names by its key ``task`` (or ``policy``, …), without making it.

    Raises:
        ConfigurationError: the file names no plug-in, or one that is not known.
    """
    content, key = read_yaml(path), singular(kind)
    if not isinstance(content, dict) or not isinstance(content.get(key), str):
        known = ", ".join(plugin_names(kind))
        raise ConfigurationError(
            str(path), key, "nothing", f"one of {known}", f"Add a line such as `{key}: …`."
        )
    return load_plugin(kind, content[key], str(path), key)


def load_configured(kind: str, path: Path) -> Any:
    """Return what a parameter file describes, made by the plug-in that ``find_configured`` finds.

    Raises:
        ConfigurationError: the file does not fit, or names a plug-in that is not known.
    """
    return find_configured(kind, path).from_file(path)


def singular(kind: str) -> str:
    """Return the name of one of a kind: ``task`` for ``tasks``."""
    return _SINGULAR.get(kind, kind.removesuffix("s"))
