"""Find what users may add (tasks, perturbations, strategies, policies) by name."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from robocontrast_ros.configuration.errors import ConfigurationError
from robocontrast_ros.configuration.loading import read_yaml

GROUP_PREFIX = "robocontrast_ros."

METHODS = {
    "policies": ("from_file",),
    "tasks": ("from_file",),
    "strategies": ("run", "trials_expected"),
    "perturbations": ("supports", "apply"),
    "scene_backends": ("read", "set_up"),
    "judges": ("begin",),
    "pacers": ("begin", "step"),
    "robot_ports": ("state", "command", "hold", "home", "stop"),
}
"""Kind -> methods that a plug-in of it must have."""

MADE = {"policies": ("describe", "reset", "act"), "tasks": ("sample", "goal", "plan")}
"""Kind -> methods that the result of ``from_file`` must have."""

IMPORTABLE = "an importable `module:Object`"

_SINGULAR = {"policies": "policy", "strategies": "strategy", "robot_ports": "port", "scene_backends": "backend"}


def plugin_names(kind: str) -> tuple[str, ...]:
    """Return the names registered for a kind: ``tasks``, ``perturbations``, ``strategies``, ``policies``."""
    return tuple(sorted({entry.name for entry in entry_points(group=GROUP_PREFIX + kind)}))


def import_object(name: str, source: str, key: str) -> Any:
    """Return the object that ``module:Object`` names; what importing its module raises is passed on.

    Args:
        name: ``module:Object``.
        source: the file that named it, for the error.
        key: the key in that file, for the error.

    Raises:
        ConfigurationError: there is no such module, or no such object in it.
    """
    module, _, attribute = name.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(source, key, name, IMPORTABLE, f"Python says: {error}.") from None


def load_plugin(kind: str, name: str, source: str, key: str) -> Any:
    """Return the object registered under a name, or the one that ``module:Object`` names.

    Args:
        kind: the entry-point group without its prefix.
        name: a registered name, or ``module:Object`` for a user's own class.
        source: the file that named it, for the error.
        key: the key in that file, for the error.

    Raises:
        ConfigurationError: there is no such name, it cannot be imported, or it is no plug-in of that kind.
    """
    if ":" in name:
        try:
            found = import_object(name, source, key)
        except ConfigurationError:
            raise
        except Exception as error:  # importing runs the user's code
            said = str(error).partition("\n")[0]
            raise ConfigurationError(
                source, key, name, IMPORTABLE, f"It raises {type(error).__name__}: {said}."
            ) from None
        _require(found, METHODS.get(kind, ()), kind, source, key, name)
        return found
    for entry in entry_points(group=GROUP_PREFIX + kind):
        if entry.name == name:
            return entry.load()
    raise ConfigurationError.unknown(source, key, name, plugin_names(kind), singular(kind))


def find_configured(kind: str, path: Path) -> Any:
    """Return the plug-in that a parameter file names by its key ``task`` (or ``policy``, …), not yet made.

    Raises:
        ConfigurationError: the file names no plug-in, or one that is not known.
    """
    content, key = read_yaml(path), singular(kind)
    if not isinstance(content, dict) or not isinstance(content.get(key), str):
        known = ", ".join(plugin_names(kind))
        raise ConfigurationError(str(path), key, "nothing", f"one of {known}", f"Add a line such as `{key}: …`.")
    return load_plugin(kind, content[key], str(path), key)


def load_configured(kind: str, path: Path) -> Any:
    """Return what a parameter file describes, made by the plug-in that it names.

    Raises:
        ConfigurationError: the file does not fit, or names a plug-in that is not known.
    """
    made = find_configured(kind, path).from_file(path)
    name = f"{type(made).__name__}, made by its `from_file`"
    _require(made, MADE.get(kind, ()), kind, str(path), singular(kind), name)
    return made


def _require(found: Any, methods: Sequence[str], kind: str, source: str, key: str, name: str) -> None:
    """Refuse what lacks methods of a plug-in of its kind."""
    lacks = [method for method in methods if not callable(getattr(found, method, None))]
    if lacks:
        raise ConfigurationError(
            source,
            key,
            name,
            f"a {singular(kind)}, which has the methods {', '.join(methods)}",
            f"It lacks {', '.join(lacks)}.",
        )


def singular(kind: str) -> str:
    """Return the name of one of a kind: ``task`` for ``tasks``."""
    return _SINGULAR.get(kind, kind.removesuffix("s"))
