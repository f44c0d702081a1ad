"""The one error for a user's mistake in a parameter file or on the command line."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ConfigurationError(ValueError):
    """A mistake in what the user wrote; the message says where, what, and how to mend it."""

    def __init__(self, source: str, key: str, got: object, expected: str, cure: str = "") -> None:
        """Name the mistake.

        Args:
            source: the file, or the command line's option.
            key: dotted path of the key in that file; empty when the file as a whole is meant.
            got: the value that was found.
            expected: what would have been right.
            cure: what to do, as a sentence.
        """
        where = f"{source}: `{key}`" if key else source
        super().__init__(f"{where}: got {got!r}, expected {expected}." + (f" {cure}" if cure else ""))
        self.source, self.key, self.got, self.expected, self.cure = source, key, got, expected, cure

    def __reduce__(self) -> tuple[type, tuple[str, str, object, str, str]]:
        """Let it cross from one process to another."""
        return type(self), (self.source, self.key, self.got, self.expected, self.cure)

    @classmethod
    def unknown(cls, source: str, key: str, got: str, known: Iterable[str], kind: str) -> ConfigurationError:
        """Return the error for a name that is not among the known ones."""
        names = sorted(known)
        close = difflib.get_close_matches(str(got), names, n=1)
        cure = f"Did you mean '{close[0]}'?" if close else ""
        return cls(source, key, got, f"a known {kind}: {', '.join(names) or '(none)'}", cure)
