"""Messages of openpi's protocol: msgpack, with NumPy arrays in the format of openpi's ``msgpack_numpy``.

Imports nothing of this package: ``lerobot_server.py`` uses it where the package is not installed.
"""

from __future__ import annotations

from typing import Any

import msgpack
import numpy as np

LARGEST_MESSAGE = 2**26
"""Size limit of a message [byte]."""


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
    """Return the message in bytes; arrays are read-only views of these bytes.

    Raises:
        ValueError: the bytes are no message, or an array in it has no numbers.
    """
    try:
        return msgpack.unpackb(data, object_hook=_unpack_array)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError, msgpack.UnpackException) as error:
        raise ValueError(f"{len(data)} bytes that are no msgpack message: {error}") from None


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
    if b"__ndarray__" in value:
        dtype = _check(np.dtype(value[b"dtype"]))
        return np.ndarray(buffer=value[b"data"], dtype=dtype, shape=value[b"shape"])
    if b"__npgeneric__" in value:
        return _check(np.dtype(value[b"dtype"])).type(value[b"data"])
    return value


def _check(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.kind in "VOc":
        raise ValueError(f"arrays of {dtype} are not exchanged")
    return dtype
