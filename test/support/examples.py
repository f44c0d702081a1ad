"""How many examples hypothesis tries where the number of its profile is not the one for a property."""

from __future__ import annotations

from typing import Any

from hypothesis import settings


def examples(number: int, quick: int | None = None, **others: Any) -> settings:
    """Return settings for so many examples in `make test-long`, and in `make test` for no more than its profile has.

    Args:
        number: of examples.
        quick: how many in `make test`, for what has many cases, or long ones.
        others: further settings.
    """
    if settings.get_current_profile_name() == "quick":
        number = min(number, settings.default.max_examples) if quick is None else quick
    return settings(max_examples=number, **others)
