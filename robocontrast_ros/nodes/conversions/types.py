"""Message classes by the names of their types, and what makes messages of them."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from robocontrast_ros.messages.encoding import Encoder
from robocontrast_ros.worlds.driver_messages import DriverEncoder


@cache
def message_class(type_name: str) -> type:
    """Return the class of a type such as ``sensor_msgs/msg/Image``, whose package is installed."""
    package, _, name = type_name.split("/")
    return getattr(import_module(f"{package}.msg"), name)


def make_message(type_name: str, /, **values: Any) -> Any:
    """Return a message of a type with some of its fields; the others have their default."""
    return message_class(type_name)(**values)


DOMAIN = Encoder(make_message)
"""Makes messages of rclpy's classes of domain values."""

DRIVER = DriverEncoder(make_message)
"""Likewise those of a robot's driver."""
