"""Message classes by the names of their types."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any


@cache
def message_class(type_name: str) -> type:
    """Return the class of a type such as ``sensor_msgs/msg/Image``, whose package is installed."""
    package, _, name = type_name.split("/")
    return getattr(import_module(f"{package}.msg"), name)


def make_message(type_name: str, /, **values: Any) -> Any:
    """Return a message of a type with some of its fields; the others have their default."""
    return message_class(type_name)(**values)
