"""Find message definitions in the ROS environment, or without one in rosbags, so that a bag can carry them."""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from rosbags.interfaces import Nodetype
from rosbags.interfaces.typing import Typesdict
from rosbags.typesys import Stores, TypesysError, get_types_from_msg, get_typestore
from rosbags.typesys.msg import denormalize_msgtype, normalize_msgtype
from rosbags.typesys.store import Typestore

from robocontrast_ros.bags.errors import BagError

_SEPARATOR = "=" * 80

_STAMPS = ("std_msgs/msg/Header", "builtin_interfaces/msg/Time")
"""Types that begin with seconds (int32) and nanoseconds (uint32)."""

_ENCAPSULATION, _LENGTH = 4, 4
"""Bytes of CDR before the first field, and of the length of a list."""


@dataclass(frozen=True)
class Definition:
    """The definition of a message type, with which a bag can be read anywhere.

    Attributes:
        type_name: as ROS 2 writes it, for instance ``sensor_msgs/msg/Image``.
        text: the type's .msg file, comments included where ROS is installed, followed by those of every type within
            it, in the form that rosbag2 stores (schema encoding ``ros2msg``).
        type_hash: REP-2016 hash, ``RIHS01_…``.
        stamp_offset: place of the stamp in a serialised message [byte]; None if it is not fixed.
    """

    type_name: str
    text: str
    type_hash: str
    stamp_offset: int | None = None

    def stamp_of(self, cdr: bytes) -> int | None:
        """Return the stamp of a serialised message [ns]; None if its place is not fixed."""
        at = self.stamp_offset
        if at is None or len(cdr) < at + 8:
            return None
        seconds, nanoseconds = struct.unpack_from("<iI" if cdr[1] & 1 else ">iI", cdr, at)
        return seconds * 1_000_000_000 + nanoseconds


def find_definition(type_name: str, prefixes: Iterable[Path] | None = None) -> Definition:
    """Return the definition of a message type from the share folders of the environment.

    Where ROS is not installed, standard types are those that rosbags knows: the same fields and hash, no comments.

    Args:
        type_name: ``package/msg/Type`` or ``package/Type``.
        prefixes: install prefixes in the order they are searched; those of AMENT_PREFIX_PATH, then the Python
            environment's, if None.

    Raises:
        BagError: the type, or one within it, is in none of them and no standard type, or is not in the .msg format.
    """
    return _find(normalize_msgtype(type_name), tuple(environment_prefixes() if prefixes is None else prefixes))


def environment_prefixes() -> tuple[Path, ...]:
    """Return the install prefixes of the running ROS environment."""
    named = [p for p in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if p]
    return tuple(dict.fromkeys([*map(Path, named), Path(sys.prefix)]))


@lru_cache(maxsize=256)
def _find(type_name: str, prefixes: tuple[Path, ...]) -> Definition:
    texts: dict[str, str] = {}
    types: Typesdict = {}
    waiting = [type_name]
    while waiting:
        name = waiting.pop(0)
        if name in texts:
            continue
        file = _file(name, prefixes)
        if file is None and name not in _standard().fielddefs:
            raise _missing(name, prefixes, wanted_for=type_name)
        texts[name], parsed = _parsed_standard(name) if file is None else _parsed(file, name)
        types |= parsed
        waiting += _referenced(parsed[name][1])
    store = Typestore()
    store.register(types)
    first, *others = texts
    parts = [texts[first], *(f"{_SEPARATOR}\nMSG: {denormalize_msgtype(o)}\n{texts[o]}" for o in others)]
    text = "\n".join(part.rstrip("\n") for part in parts) + "\n"
    return Definition(type_name, text, store.hash_rihs01(type_name), _stamp_offset(types, type_name))


@lru_cache(maxsize=256)
def _parsed(path: Path, name: str) -> tuple[str, Typesdict]:
    """Return the text of a type's definition, and its parsed form."""
    text = path.read_text(encoding="utf-8")
    try:
        return text, get_types_from_msg(text, name)
    except TypesysError as error:
        raise BagError(f"{path}: not a message definition: {error}. Install the package again.") from None


@lru_cache(maxsize=1)
def _standard() -> Typestore:
    """Return the types of ROS's own packages, as rosbags brings them."""
    return get_typestore(Stores.ROS2_KILTED)


def _parsed_standard(name: str) -> tuple[str, Typesdict]:
    """Return the text of a standard type's definition, and its parsed form."""
    text = _standard().generate_msgdef(name, ros_version=2)[0].partition(_SEPARATOR)[0]
    return text, get_types_from_msg(text, name)


def _stamp_offset(types: Typesdict, type_name: str) -> int | None:
    """Return the place of a message's stamp: a time or header that comes first, or that of a list's first element."""
    fields = types[type_name][1]
    node, value = fields[0][1] if fields else (None, None)
    if node == Nodetype.NAME and value in _STAMPS:
        return _ENCAPSULATION
    if node == Nodetype.SEQUENCE and value[0][0] == Nodetype.NAME:
        first = types[value[0][1]][1][0][1]
        if first[0] == Nodetype.NAME and first[1] in _STAMPS:
            return _ENCAPSULATION + _LENGTH
    return None


def _file(type_name: str, prefixes: tuple[Path, ...]) -> Path | None:
    package, _, name = type_name.split("/")
    paths = (prefix / "share" / package / "msg" / f"{name}.msg" for prefix in prefixes)
    return next((path for path in paths if path.is_file()), None)


def _missing(type_name: str, prefixes: tuple[Path, ...], wanted_for: str) -> BagError:
    package, _, name = type_name.split("/")
    within = "" if type_name == wanted_for else f" (part of '{wanted_for}')"
    searched = ", ".join(map(str, prefixes)) or "(no install prefix)"
    return BagError(
        f"message type '{type_name}'{within}: no share/{package}/msg/{name}.msg in {searched}. "
        f"Install the package '{package}', or source the workspace that holds it."
    )


def _referenced(fields: Iterable[tuple[str, tuple[int, object]]]) -> list[str]:
    """Return the names of the message types of fields, in order."""
    names = []
    for _, (node, value) in fields:
        inner = value[0] if node in (Nodetype.ARRAY, Nodetype.SEQUENCE) else (node, value)
        if inner[0] == Nodetype.NAME:
            names.append(inner[1])
    return names
