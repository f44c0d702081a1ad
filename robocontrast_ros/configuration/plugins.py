"""Find what users may add (tasks, perturbations, strategies, policies) by name."""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points
from typing import Any

from robocontrast_ros.configuration.errors import ConfigurationError

GROUP_PREFIX = "robocontrast_ros."


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
    raise ConfigurationError.unknown(source, key, name, plugin_names(kind), kind.rstrip("s"))
