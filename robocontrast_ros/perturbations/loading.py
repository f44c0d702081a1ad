"""Make the perturbations that a session or a study names, with their parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from robocontrast_ros.configuration import ConfigurationError, load_plugin, make_plugin, parse_record
from robocontrast_ros.perturbations.protocol import Perturbation

Entry = str | Mapping[str, Any]
"""A name, or a mapping of ``name`` and the perturbation's parameters."""


def load_perturbation(entry: Entry, source: str, key: str) -> Perturbation:
    """Return a perturbation.

    Args:
        entry: as the file says it.
        source: the file, for errors.
        key: its key there, for errors.

    Raises:
        ConfigurationError: it has no name, is not known, or its parameters do not fit.
    """
    if isinstance(entry, str):
        return make_plugin("perturbations", entry, source, key)
    given = dict(entry)
    name = given.pop("name", None)
    if not isinstance(name, str):
        raise ConfigurationError(source, f"{key}.name", name or "nothing", "the name of a perturbation")
    maker = load_plugin("perturbations", name, source, f"{key}.name")
    taken = getattr(maker, "parameters", None)
    if taken is None:
        if given:
            raise ConfigurationError(
                source, f"{key}.{next(iter(given))}", given, f"no parameters, for '{name}' has none"
            )
        return make_plugin("perturbations", name, source, f"{key}.name")
    try:
        return maker(parse_record(taken, given, source))
    except ConfigurationError as error:
        raise ConfigurationError(source, f"{key}.{error.key}", error.got, error.expected, error.cure) from None
