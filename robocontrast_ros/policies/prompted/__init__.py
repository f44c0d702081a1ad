"""A small network understands prompts of words and pictures, the oracle pushes (docs/prompted.md)."""

from __future__ import annotations

LONGEST = 64
"""Limit of the words (tokens) and pictures of a prompt; the rest is not read."""
