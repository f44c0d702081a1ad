"""Running one instance several times from the same starting scene."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

from robocontrast_ros.domain import Scene, TrialResult
from robocontrast_ros.strategies.protocol import Proposal, Skipped


def run_repeats(proposal: Proposal, repeats: int) -> Generator[Proposal | Skipped, TrialResult | None, Scene]:
    """Propose an instance ``repeats`` times and return the scene that the last trial left."""
    scene = proposal.instance.scene
    for repeat in range(repeats):
        result = yield replace(proposal, repeat=repeat)
        if result is None:
            raise TypeError("a strategy is sent the result of each trial that it proposed")
        scene = result.final_scene
    return scene
