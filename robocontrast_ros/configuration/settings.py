"""Settings on the command line: `--set KEY=VALUE`, a dotted key of a parameter file and a value in YAML."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from robocontrast_ros.configuration.errors import ConfigurationError
from robocontrast_ros.configuration.strict_yaml import parse_yaml


def parse_settings(settings: Iterable[str], example: str) -> dict[str, Any]:
    """Return the dotted keys and values of `--set`.

    Args:
        settings: texts ``key=value``.
        example: a right one, for the error.

    Raises:
        ConfigurationError: a text is not of that form, its value is not YAML, or a key is given twice.
    """
    parsed: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = (part.strip() for part in setting.partition("="))
        if not (equals and text and all(key.split("."))):
            raise ConfigurationError("command line", "--set", setting, f"key=value, such as {example}")
        if key in parsed:
            raise ConfigurationError("command line", f"--set {key}", text, "each key once")
        parsed[key] = parse_yaml(text, "command line", f"--set {key}")
    return parsed


def with_settings(content: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return a file's content with other values, which the file's record checks later.

    Args:
        content: the file's content, which is left as it is.
        settings: dotted key -> value. Keys on the way that are missing, or hold no mapping, become mappings.
    """
    changed = copy.deepcopy(dict(content))
    for key, value in settings.items():
        *path, last = key.split(".")
        at = changed
        for part in path:
            if not isinstance(at.get(part), dict):
                at[part] = {}
            at = at[part]
        at[last] = value
    return changed
