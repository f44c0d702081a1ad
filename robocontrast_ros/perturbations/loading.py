"""Making of the perturbations that a session or a study names, with their parameters."""

from __future__ import annotations

from functools import partial
from typing import Any

from robocontrast_ros.configuration import ConfigurationError, load_plugin, make_plugin, parse_record, plugin_names
from robocontrast_ros.perturbations.composition import Composition
from robocontrast_ros.perturbations.observation import FilterParameters, ObservationPerturbation
from robocontrast_ros.perturbations.protocol import Perturbation

Part = str | dict[str, Any]
"""A name, or a mapping of ``name`` and the perturbation's parameters."""

Entry = Part | tuple[Part, ...]
"""A perturbation, or the parts of a composition."""


def perturbation_names() -> tuple[str, ...]:
    """Return the names that a session may use: registered perturbations and observation filters."""
    return tuple(sorted({*plugin_names("perturbations"), *plugin_names("observation_filters")}))


def load_perturbation(entry: Entry, source: str, key: str) -> Perturbation:
    """Return a perturbation.

    Args:
        entry: as in the file; an observation filter's name means the perturbation that uses it, and a list the
            composition of its parts.
        source: the file, for errors.
        key: its key there, for errors.

    Raises:
        ConfigurationError: it has no name, is unknown, its parameters do not fit, or parts exclude each other.
    """
    if not isinstance(entry, str | dict):
        parts = [load_perturbation(part, source, key) for part in entry]
        try:
            return Composition(parts)
        except ValueError as error:
            got = f"[{', '.join(part.name for part in parts)}]"
            raise ConfigurationError(source, key, got, str(error)) from None
    given = {"name": entry} if isinstance(entry, str) else dict(entry)
    name = given.pop("name", None)
    where = key if isinstance(entry, str) else f"{key}.name"
    if not isinstance(name, str):
        raise ConfigurationError(source, where, name or "nothing", "the name of a perturbation")
    if name in plugin_names("observation_filters"):
        maker, taken = partial(ObservationPerturbation, name), FilterParameters
    elif ":" not in name and name not in plugin_names("perturbations"):
        raise ConfigurationError.unknown(source, where, name, perturbation_names(), "perturbation")
    elif not given:
        return make_plugin("perturbations", name, source, where)
    else:
        maker = load_plugin("perturbations", name, source, where)
        taken = getattr(maker, "parameters", None)
    if taken is None:
        expected = f"no parameters, because '{name}' has none"
        raise ConfigurationError(source, f"{key}.{next(iter(given))}", given, expected)
    try:
        return maker(parse_record(taken, given, source))
    except ConfigurationError as error:
        raise ConfigurationError(source, f"{key}.{error.key}", error.got, error.expected, error.cure) from None
