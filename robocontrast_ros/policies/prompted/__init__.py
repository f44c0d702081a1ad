"""A small network understands prompts of words and pictures, the oracle pushes (docs/prompted.md)."""

from __future__ import annotations

LONGEST = 64
"""Words (tokens) and pictures of a prompt, at most; what follows is not read."""
