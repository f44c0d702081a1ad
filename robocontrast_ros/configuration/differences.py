"""The differences between two sets of parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def first_difference(recorded: Any, present: Any, key: str = "") -> tuple[str, Any, Any]:
    """Return the dotted key of the first difference between two JSON values, and both values there.

    A key that only one of them has is None in the other.
    """
    if isinstance(recorded, dict) and isinstance(present, dict):
        for name in sorted({*recorded, *present}):
            if name not in recorded or name not in present or recorded[name] != present[name]:
                below = f"{key}.{name}" if key else name
                return first_difference(recorded.get(name), present.get(name), below)
    return key, recorded, present


def differences(recorded: Any, present: Any, key: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Return the dotted key of each difference between two JSON values, and both values there, as above."""
    if isinstance(recorded, dict) and isinstance(present, dict):
        for name in sorted({*recorded, *present}):
            below = f"{key}.{name}" if key else name
            yield from differences(recorded.get(name), present.get(name), below)
    elif recorded != present:
        yield key, recorded, present
