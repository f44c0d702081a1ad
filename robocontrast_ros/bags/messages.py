"""Make and serialise messages without ROS, as rclpy would."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from rosbags.interfaces import Nodetype
from rosbags.typesys import get_types_from_msg
from rosbags.typesys.store import Typestore

from robocontrast_ros.bags.definitions import find_definition

_NUMBERS = {"bool": np.bool_, "byte": np.uint8, "char": np.uint8, "octet": np.uint8}
"""Types of numbers that have other names in numpy."""


@dataclass(frozen=True)
class _Kind:
    """The parts for making messages of a type.

    Attributes:
        cls: their class.
        defaults: default of each field.
        numbers: fields that hold several numbers, with their type.
    """

    cls: type
    defaults: dict[str, Any]
    numbers: tuple[tuple[str, Any], ...]


class Messages:
    """Makes messages of any type that is installed; for ``messages.encoding`` and the like."""

    def __init__(self) -> None:
        """Begin without types."""
        self._store = Typestore()
        self._kinds: dict[str, _Kind] = {}

    def make(self, type_name: str, /, **values: Any) -> Any:
        """Return a message of a type such as ``sensor_msgs/msg/Image``; fields that are left out are 0 or empty.

        Raises:
            BagError: its definition cannot be found.
            TypeError: it has no such field.
        """
        kind = self._kinds.get(type_name) or self._learn(type_name)
        for name, number in kind.numbers:
            if name in values:
                values[name] = np.asarray(values[name], number)
        return kind.cls(**{**kind.defaults, **values})

    def cdr(self, message: Any) -> bytes:
        """Return a message serialised."""
        return bytes(self._store.serialize_cdr(message, message.__msgtype__))

    def _learn(self, type_name: str) -> _Kind:
        if type_name not in self._store.types:
            self._store.register(get_types_from_msg(find_definition(type_name).text, type_name))
        defaults, numbers = {}, []
        for name, (node, value) in self._store.get_msgdef(type_name).fields:
            if node == Nodetype.BASE:
                defaults[name] = "" if value[0] == "string" else False if value[0] == "bool" else 0
            elif node == Nodetype.NAME:
                defaults[name] = self.make(value)
            else:
                (inner, kind), length = value
                fixed = length if node == Nodetype.ARRAY else 0
                if inner == Nodetype.NAME:
                    defaults[name] = [self.make(kind) for _ in range(fixed)]
                elif kind[0] == "string":
                    defaults[name] = [""] * fixed
                else:
                    number = np.dtype(_NUMBERS.get(kind[0], kind[0]))
                    defaults[name] = np.zeros(fixed, number)
                    numbers.append((name, number))
        return self._kinds.setdefault(type_name, _Kind(self._store.types[type_name], defaults, tuple(numbers)))
