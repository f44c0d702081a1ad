"""Standard evaluation I(X): the test set in shuffled order, with full resets (seed 000, section 3)."""

from __future__ import annotations

from robocontrast_ros.domain import BASE, Start
from robocontrast_ros.strategies.protocol import (
    PerturbationUse,
    Proposal,
    Skipped,
    Strategy,
    StrategyContext,
    StrategyRun,
    solved_at_start,
)
from robocontrast_ros.strategies.repeats import run_repeats

FULL_RESET = "full reset to the scene of the test instance"


class Standard(Strategy):
    """Each test instance in its own scene."""

    name = "standard"
    description = "the i.i.d. test set in shuffled order, the scene fully reset before each trial"
    uses_perturbations = PerturbationUse.NONE
    base_trials_iid = True
    blocks_independent = True

    def run(self, context: StrategyContext) -> StrategyRun:
        """Return the trials."""
        for base in context.test_set:
            if solved_at_start(context.task, base):
                yield Skipped(base.instance_id, BASE, "the goal holds already in its own scene")
                continue
            yield from run_repeats(
                Proposal(base.instance_id, base, note=FULL_RESET, start=Start.FULL_RESET), context.repeats
            )
