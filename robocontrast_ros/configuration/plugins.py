"""Plug-ins of users, found by name: the kinds of ``PROTOCOLS``."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robocontrast_ros.configuration.errors import NOTHING, ConfigurationError, nearest, raised
from robocontrast_ros.configuration.loading import read_mapping

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP_PREFIX = "robocontrast_ros."

PROTOCOLS = {
    "policies": "policies.protocol:Policy",
    "recipes": "training.recipes:Recipe",
    "tasks": "tasks.protocol:Task",
    "strategies": "strategies.protocol:Strategy",
    "perturbations": "perturbations.protocol:Perturbation",
    "observation_filters": "observations.protocol:ObservationFilter",
    "scene_backends": "worlds.backends:SceneBackend",
    "engines": "worlds.engines.engine:Engine",
    "judges": "episodes.judging:Judge",
    "scores": "episodes.scoring.score:Score",
    "pacers": "episodes.ports:NamedPacer",
    "robot_ports": "episodes.ports:DriverPort",
    "robot_kinds": "robots.kinds:RobotKind",
    "end_effectors": "robots.end_effectors.base:EndEffector",
    "result_formats": "analysis.foreign.outcomes:ResultFormat",
}
"""Kind -> its Protocol, `module:Class` in this package: a plug-in has all members of the Protocol.

Members that a plug-in may leave out are in Protocols that derive from that one.
"""

IMPORTABLE = "an importable `module:Object`"

INSTALLED = (
    "For a module of your own put its folder on PYTHONPATH, such as `PYTHONPATH=. robocontrast …`, or install its "
    "package: `pip install -e .`."
)
"""Cure if a module does not exist."""

_SINGULAR = {
    "policies": "policy",
    "strategies": "strategy",
    "robot_ports": "port",
    "robot_kinds": "kind of robot",
    "scene_backends": "backend",
    "engines": "engine",
    "end_effectors": "type of end effector",
    "result_formats": "format of result files",
}


def registered(kind: str) -> Iterable[EntryPoint]:
    """Return the entry points of the installed packages for a kind, one of ``PROTOCOLS``."""
    return _registered(tuple(map(str, sys.path))).get(GROUP_PREFIX + kind, ())


@lru_cache(maxsize=4)
def _registered(search_path: tuple[str, ...]) -> Mapping[str, Iterable[EntryPoint]]:
    """Return our groups of entry points, read once for a ``sys.path``, because hundreds of packages take long."""
    from importlib.metadata import entry_points

    found = entry_points()
    return {group: found.select(group=group) for group in found.groups if group.startswith(GROUP_PREFIX)}


def plugin_names(kind: str) -> tuple[str, ...]:
    """Return the names registered for a kind, one of ``PROTOCOLS``."""
    return tuple(sorted({entry.name for entry in registered(kind)}))


@cache
def members(kind: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the members of a kind's plug-in, and of those of the objects that it makes.

    The plug-in itself has the class methods of the kind's Protocol, such as ``from_file``. A Protocol without class
    methods describes the plug-in's objects: their class has the methods and class variables. A record is itself the
    plug-in, and has all members.
    """
    module, _, name = PROTOCOLS[kind].partition(":")
    types: dict[str, str] = {}
    values: dict[str, Any] = {}
    for base in reversed(getattr(importlib.import_module(f"robocontrast_ros.{module}"), name).__mro__):
        types |= inspect.get_annotations(base)
        values |= vars(base)
    names = [name for name in types | values if not name.startswith("_")]
    makers = tuple(name for name in names if isinstance(values.get(name), classmethod))
    of_class = tuple(name for name in names if types.get(name, "ClassVar").startswith("ClassVar"))
    made = tuple(name for name in names if name not in makers)
    return makers or of_class or made, made


def import_object(name: str, source: str, key: str) -> Any:
    """Return the object that ``module:Object`` names; errors of the module's import are passed on.

    Args:
        name: ``module:Object``.
        source: the file that named it, for the error.
        key: the key in that file, for the error.

    Raises:
        ConfigurationError: the module does not exist, or does not have the object.
    """
    module, _, attribute = name.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        # A module that this one imports and that is missing is another error: its packages are the cure.
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
        ConfigurationError: the name is not known, cannot be imported, or is no plug-in of that kind.
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
    _require(found, members(kind)[0], kind, source, key, name)
    return found


def make_plugin(kind: str, name: str, source: str, key: str) -> Any:
    """Return an object of the class of that name, made without arguments; see ``load_plugin``.

    Raises:
        ConfigurationError: an error of ``load_plugin``, or the class cannot be called so, or lacks an attribute.
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
    _require(made, members(kind)[1], kind, source, key, name)
    return made


def _imported(load: Callable[[], Any], name: str, source: str, key: str) -> Any:
    """Return the imported object; whatever the import raises becomes a ``ConfigurationError``."""
    try:
        return load()
    except (ConfigurationError, KeyboardInterrupt):
        raise
    except BaseException as error:  # importing runs the user's code
        raise ConfigurationError(source, key, name, IMPORTABLE, f"It raises {raised(error)}.") from None


def find_configured(kind: str, path: Path) -> Any:
    """Return the plug-in that a parameter file names by its key ``task`` (or ``policy``, …); no object is made.

    Raises:
        ConfigurationError: the file names no plug-in, or an unknown one.
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
    """Return the object that a parameter file describes, made by the plug-in that it names.

    Raises:
        ConfigurationError: the file does not fit, or names an unknown plug-in.
    """
    return make_configured(kind, find_configured(kind, path), path)


def make_configured(kind: str, maker: Any, path: Path) -> Any:
    """Return the object that a plug-in, from ``find_configured``, makes of its parameter file.

    Raises:
        ConfigurationError: the file does not fit, or the object lacks a method of its kind.
    """
    made = maker.from_file(path)
    name = f"{type(made).__name__}, made by its `from_file`"
    _require(made, members(kind)[1], kind, str(path), singular(kind), name)
    return made


def _require(found: Any, wanted: Sequence[str], kind: str, source: str, key: str, name: str) -> None:
    """Refuse a plug-in, or its object, that lacks methods or attributes of its kind."""
    lacks = [member for member in wanted if not hasattr(found, member)]
    if lacks:
        raise ConfigurationError(
            source, key, name, f"a {singular(kind)}, which has {', '.join(wanted)}", f"It lacks {', '.join(lacks)}."
        )


def singular(kind: str) -> str:
    """Return the singular of a kind's name: ``task`` for ``tasks``."""
    return _SINGULAR.get(kind, kind.removesuffix("s"))
