"""Serialised messages without what means nothing in them.

Fast CDR, which serialises what ROS publishes, leaves the bytes between two aligned values as it finds them in memory;
in a bag written without ROS they are 0.
"""

from __future__ import annotations

from functools import cache

from rosbags.typesys import get_types_from_msg
from rosbags.typesys.store import Typestore

from robocontrast_ros.bags.definitions import find_definition


@cache
def _store(type_name: str) -> Typestore:
    store = Typestore()
    store.register(get_types_from_msg(find_definition(type_name).text, type_name))
    return store


def without_padding(cdr: bytes, type_name: str) -> bytes:
    """Return a serialised message with zeros for the bytes that align its values."""
    store = _store(type_name)
    return bytes(store.serialize_cdr(store.deserialize_cdr(cdr, type_name), type_name))
