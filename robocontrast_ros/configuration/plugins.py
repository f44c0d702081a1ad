"""Find what users may add by name: the kinds of ``METHODS``."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robocontrast_ros.configuration.errors import NOTHING, ConfigurationError, nearest, raised
from robocontrast_ros.configuration.loading import read_mapping

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP_PREFIX = "robocontrast_ros."

METHODS = {
    "policies": ("from_file",),
    "recipes": ("from_file",),
    "tasks": ("from_file",),
    "strategies": ("run", "trials_expected"),
    "perturbations": ("supports", "apply"),
    "observation_filters": ("apply", "levels", "description", "plausible", "of_images"),
    "scene_backends": ("read", "set_up", "features"),
    "judges": ("begin",),
    "scores": ("update", "value", "spec"),
    "pacers": ("begin", "step", "steps_world"),
    "robot_ports": ("state", "command", "hold", "way", "stop"),
    "robot_kinds": ("profile", "estimator", "controllers", "stop", "way", "safety", "check_reach", "embodiment"),
    "end_effectors": ("tool_pose", "add_to", "joints", "width", "positions", "greatest_width", "envelope"),
}
"""Kind -> methods and attributes that a plug-in of it must have."""

MADE = {
    "policies": ("describe", "reset", "act"),
    "recipes": ("train", "parameters"),
    "tasks": (
        *("name", "families", "metric", "control_rate", "step_limit", "sample", "make_instance"),
        *("language", "scenes", "goals", "planner"),
        *("rewording", "relocation", "neighbourhood", "clutter", "wording", "portraits", "handling", "premise"),
        *("backdrop", "scores", "path_dimensions"),
    ),
    "strategies": ("run", "trials_expected", "name", "description", "uses_perturbations", "base_trials_iid"),
    "perturbations": ("supports", "apply", "name", "symbol", "axes", "description", "plausible", "expectation"),
    "judges": ("begin", "asks"),
}
"""Kind -> methods and attributes that what a plug-in makes must have."""

IMPORTABLE = "an importable `module:Object`"

INSTALLED = (
    "For a module of your own put its folder on PYTHONPATH, such as `PYTHONPATH=. robocontrast …`, or install its "
    "package: `pip install -e .`."
)
"""Cure where there is no such module."""

_SINGULAR = {
    "policies": "policy",
    "strategies": "strategy",
    "robot_ports": "port",
    "robot_kinds": "kind of robot",
    "scene_backends": "backend",
    "end_effectors": "type of end effector",
}


def registered(kind: str) -> Iterable[EntryPoint]:
    """Return what the installed packages register for a kind, one of ``METHODS``."""
    return _registered(tuple(map(str, sys.path))).get(GROUP_PREFIX + kind, ())


@lru_cache(maxsize=4)
def _registered(search_path: tuple[str, ...]) -> Mapping[str, Iterable[EntryPoint]]:
    """Return our groups of entry points; reading hundreds of packages takes long, so once for a ``sys.path``."""
    from importlib.metadata import entry_points

    found = entry_points()
    return {group: found.select(group=group) for group in found.groups if group.startswith(GROUP_PREFIX)}


def plugin_names(kind: str) -> tuple[str, ...]:
    """Return the names registered for a kind, one of ``METHODS``."""
    return tuple(sorted({entry.name for entry in registered(kind)}))


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
        # Not what that module imports itself and lacks: of that its own packages are the cure.
        own = isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}.")
        cure = f"Python says: {error}.{f' {INSTALLED}' if own else ''}"
        raise ConfigurationError(source, key, name, IMPORTABLE, cure) from None


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
        found = _imported(lambda: import_object(name, source, key), name, source, key)
    else:
        entry = next((entry for entry in registered(kind) if entry.name == name), None)
        if entry is None:
            module, _, last = name.rpartition(".")
            own = f"For a class of your own write `module:Class`{f', such as `{module}:{last}`' if module else ''}."
            raise ConfigurationError.unknown(source, key, name, plugin_names(kind), singular(kind), own)
        found = _imported(entry.load, name, source, key)
    _require(found, METHODS.get(kind, ()), kind, source, key, name)
    return found


def make_plugin(kind: str, name: str, source: str, key: str) -> Any:
    """Return what the class of that name makes, without arguments; see ``load_plugin``.

    Raises:
        ConfigurationError: as ``load_plugin``, or the class cannot be called so, or lacks an attribute.
    """
    maker = load_plugin(kind, name, source, key)
    try:
        made = maker()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # the user's code
        raise ConfigurationError(
            source,
            key,
            name,
            f"a {singular(kind)}, made by calling its class without arguments",
            f"It raises {raised(error)}.",
        ) from None
    _require(made, MADE.get(kind, ()), kind, source, key, name)
    return made


def _imported(load: Callable[[], Any], name: str, source: str, key: str) -> Any:
    """Return what importing gives; whatever it raises is the one error."""
    try:
        return load()
    except (ConfigurationError, KeyboardInterrupt):
        raise
    except BaseException as error:  # importing runs the user's code
        raise ConfigurationError(source, key, name, IMPORTABLE, f"It raises {raised(error)}.") from None


def find_configured(kind: str, path: Path) -> Any:
    """Return the plug-in that a parameter file names by its key ``task`` (or ``policy``, …), not yet made.

    Raises:
        ConfigurationError: the file names no plug-in, or one that is not known.
    """
    content, key = read_mapping(path), singular(kind)
    named = content.get(key)
    if not isinstance(named, str):
        got = named if key in content else NOTHING
        close = nearest(key, map(str, content)) if key not in content else ""
        cure = f"Did you mean `{key}` instead of `{close}`?" if close else f"Write a line such as `{key}: …`."
        raise ConfigurationError(
            str(path), key, got, f"{_known_words(kind)}, or `module:Class` for one of your own", cure
        )
    return load_plugin(kind, named, str(path), key)


def _known_words(kind: str) -> str:
    return f"a known {singular(kind)}: {', '.join(plugin_names(kind))}"


def load_configured(kind: str, path: Path) -> Any:
    """Return what a parameter file describes, made by the plug-in that it names.

    Raises:
        ConfigurationError: the file does not fit, or names a plug-in that is not known.
    """
    return make_configured(kind, find_configured(kind, path), path)


def make_configured(kind: str, maker: Any, path: Path) -> Any:
    """Return what a plug-in, from ``find_configured``, makes of its parameter file.

    Raises:
        ConfigurationError: the file does not fit, or what is made lacks a method of its kind.
    """
    made = maker.from_file(path)
    name = f"{type(made).__name__}, made by its `from_file`"
    _require(made, MADE.get(kind, ()), kind, str(path), singular(kind), name)
    return made


def _require(found: Any, members: Sequence[str], kind: str, source: str, key: str, name: str) -> None:
    """Refuse what lacks methods or attributes of a plug-in of its kind."""
    missing = object()
    lacks = [member for member in members if getattr(found, member, missing) is missing]
    if lacks:
        raise ConfigurationError(
            source, key, name, f"a {singular(kind)}, which has {', '.join(members)}", f"It lacks {', '.join(lacks)}."
        )


def singular(kind: str) -> str:
    """Return the name of one of a kind: ``task`` for ``tasks``."""
    return _SINGULAR.get(kind, kind.removesuffix("s"))
