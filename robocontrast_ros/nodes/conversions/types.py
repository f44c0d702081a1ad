"""Message classes by the names of their types."""

from __future__ import annotations

from importlib import import_module


def message_class(type_name: str) -> type:
    """Return the class of a type such as ``sensor_msgs/msg/Image``, whose package is installed."""
    package, _, name = type_name.split("/")
    return getattr(import_module(f"{package}.msg"), name)
