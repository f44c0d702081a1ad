"""The terminal of every command."""

from __future__ import annotations

from typing import Any

import rich.console


class Console(rich.console.Console):
    """A console that prints every text as it is.

    Paths, names and sentences of users may have square brackets or colons in them, which rich would take for styles and
    emoji. What has a style is a ``rich.text.Text``.
    """

    def __init__(self, **settings: Any) -> None:
        """Open it; the settings are rich's."""
        super().__init__(**{"markup": False, "emoji": False, **settings})
