"""Messages of openpi's protocol: msgpack, with NumPy arrays in the format of openpi's ``msgpack_numpy``.

Other forms of arrays that servers of this protocol write are also read: those of the package ``msgpack-numpy``
(lebedov/msgpack-numpy) and of vLLM, and each with keys of text in place of bytes.

It imports nothing of this package, because ``lerobot_server.py`` uses it where the package is not installed.
"""

from __future__ import annotations

import re
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray

LARGEST_MESSAGE = 2**26
"""Size limit of a message with observations [byte]."""

LARGEST_ANSWER = 2**24
"""Size limit of a policy server's answer [byte]: hundreds of times as much as actions need."""

MOST_VALUES = 2**17
"""Limit of an answer's values, an array's numbers aside. Each takes much more memory than its byte of the message."""

_MOST_KEYS = 8
"""Limit of the keys of a mapping that may be an array."""

_DTYPE = re.compile(r"[<>|=]?[?\w]+(\[\w+\])?")


class Packer:
    """Packs messages into one buffer, without intermediate copies of arrays."""

    def __init__(self) -> None:
        self._packer = msgpack.Packer(default=_pack_array, autoreset=False)

    def pack(self, message: dict[str, Any]) -> memoryview:
        """Return the bytes of a message, valid until the next call, and no longer than the packer."""
        self._packer.reset()
        self._packer.pack(message)
        return self._packer.getbuffer()


def unpack(data: bytes) -> Any:
    """Return the message in bytes; arrays are read-only views of these bytes. Nothing is unpickled.

    Raises:
        ValueError: the bytes are no message, it has more than `MOST_VALUES` values, or an array in it has no numbers.
    """
    left = MOST_VALUES

    def count(values: Any) -> Any:
        nonlocal left
        left -= len(values)
        if left < 0:
            raise ValueError(f"more than {MOST_VALUES} values")
        return values

    limits = {"max_array_len": MOST_VALUES, "max_map_len": MOST_VALUES}
    try:
        return msgpack.unpackb(data, object_hook=lambda value: _unpack_array(count(value)), list_hook=count, **limits)
    except UnicodeDecodeError:
        cure = "the server packs bytes as text; have it pack with `use_bin_type=True`, msgpack's default"
        raise ValueError(f"{len(data)} bytes that are no msgpack message: {cure}") from None
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError, msgpack.UnpackException) as error:
        # msgpack's error for a message that is nested too deeply has no text.
        why = str(error) or type(error).__name__
        raise ValueError(f"{len(data)} bytes that are no msgpack message: {why}") from None


def array_type(name: Any) -> np.dtype[Any]:
    """Return the type of an array's numbers by its name in a message, such as ``<f4``.

    Raises:
        ValueError: it is none, or one that is not exchanged: objects, records, complex numbers, NumPy's own strings.
    """
    text = name.decode("ascii", "replace") if isinstance(name, bytes) else str(name)
    try:
        # A longer text, or a list, describes records.
        dtype = np.dtype(text if _DTYPE.fullmatch(text) else "V1")
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"arrays of {text[:40]!r}, which NumPy does not know") from None
    return _check(dtype)


def _pack_array(value: Any) -> dict[bytes, Any]:
    if isinstance(value, np.ndarray):
        _check(value.dtype)
        data = np.ascontiguousarray(value).data
        return {b"__ndarray__": True, b"data": data, b"dtype": value.dtype.str, b"shape": value.shape}
    if isinstance(value, np.generic):
        _check(value.dtype)
        return {b"__npgeneric__": True, b"data": value.item(), b"dtype": value.dtype.str}
    raise TypeError(f"a {type(value).__name__} cannot be packed")


def _unpack_array(value: dict[Any, Any]) -> Any:
    if len(value) > _MOST_KEYS:
        return value
    # openpi's keys are bytes; those of a server in another language are text.
    fields = {key.decode("ascii", "replace") if isinstance(key, bytes) else key: item for key, item in value.items()}
    if "__ndarray__" in fields:
        return _array(fields, fields["dtype"])
    if "__npgeneric__" in fields:
        return array_type(fields["dtype"]).type(fields["data"])
    if {"nd", "type", "data"} <= fields.keys():
        # The package msgpack-numpy. It pickles arrays of the kind O.
        if fields.get("kind") in (b"O", b"V", "O", "V"):
            raise ValueError("arrays of objects or records are not exchanged")
        return _array(fields, fields["type"]) if fields["nd"] else _array({**fields, "shape": ()}, fields["type"])[()]
    return value


def _array(fields: dict[str, Any], dtype: Any) -> NDArray[Any]:
    return np.ndarray(buffer=fields["data"], dtype=array_type(dtype), shape=fields["shape"])


def _check(dtype: np.dtype[Any]) -> np.dtype[Any]:
    # Others hold objects, or pointers into memory. An array of empty texts may have any size.
    if dtype.kind not in "biufmMSU" or dtype.itemsize == 0:
        raise ValueError(f"arrays of {dtype} are not exchanged")
    return dtype
