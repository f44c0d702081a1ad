"""The one error for a journal that cannot be used."""

from __future__ import annotations


class JournalError(ValueError):
    """A journal cannot be read, or is not the expected one; the message has the remedy."""
