"""Running one instance several times from the same starting scene."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

from robocontrast_ros.strategies.protocol import Completed, Proposal, Skipped

Repeats = tuple[Completed, ...]
"""Results of one instance's repeats, in order; the last one's final scene is the scene that resulted. Empty if the
trial was left out."""


def run_repeats(proposal: Proposal, repeats: int) -> Generator[Proposal | Skipped, Completed | None, Repeats]:
    """Propose an instance ``repeats`` times, at least once, until a repeat is left out, and return the results."""
    done: list[Completed] = []
    for repeat in range(repeats):
        completed = yield replace(proposal, repeat=repeat)
        if completed is None:
            break
        done.append(completed)
    return tuple(done)
