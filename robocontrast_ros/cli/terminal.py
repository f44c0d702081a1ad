"""The terminal of every command."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import rich.console
import typer
from rich.text import Text

from robocontrast_ros.analysis.tables.block import Value, plain
from robocontrast_ros.analysis.tables.terminal import Table


def refused(error: object, code: int = 2) -> typer.Exit:
    """Print an error as one line on stderr; return the exception that ends the command with an exit code."""
    print(f"error: {error}", file=sys.stderr)
    return typer.Exit(code)


class Console(rich.console.Console):
    """A console that prints every text as it is.

    Paths, names and sentences of users may contain square brackets and colons, which rich would take for styles and
    emoji, and numbers, which it would colour. A text with a style is a ``rich.text.Text``.
    """

    def __init__(self, **settings: Any) -> None:
        """Open the console; the settings are those of rich's console."""
        super().__init__(**{"markup": False, "emoji": False, "highlight": False, **settings})

    def say(self, text: object, label: str = "", style: str = "red") -> None:
        """Print a line that can be copied, because it is not broken at the terminal's edge.

        Args:
            text: the line.
            label: words before the line, in colour; empty for none.
            style: of the label.
        """
        words = Text.assemble((label, style), " ", str(text)) if label else str(text)
        self.print(words, soft_wrap=True)

    def path(self, what: str, path: Path) -> None:
        """Print the path of something that was written."""
        self.say(f"{what}: {path}")

    def table(self, headings: Iterable[str], rows: Iterable[Sequence[Value]], **more: Any) -> None:
        """Print a table; the arguments are those of ``analysis.tables.block.plain``."""
        self.print(Table(plain(headings, rows, **more)))

    def track(self, things: Sequence[Any], what: str) -> Iterable[Any]:
        """Iterate over things; a terminal shows the progress meanwhile."""
        from rich.progress import track

        return track(things, description=what, console=self, transient=True, disable=not self.is_terminal)
