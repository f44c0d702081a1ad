"""Trials that the person at the robot leaves out: the strategy is sent None for them and goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from robocontrast_ros.domain import BASE, Trial
from robocontrast_ros.runs.events import TrialSkipped
from robocontrast_ros.sessions.blocks import TrialSequence
from robocontrast_ros.strategies.protocol import Completed, Proposal, Skipped, StrategyRun

LeftOut = Mapping[tuple[str, str], TrialSkipped]
"""(base_id, perturbation) -> how a person left it out; ``base`` means all trials of a test instance."""

REASON = "left out by the person at the robot"


def why_left_out(proposal: Proposal, left_out: LeftOut) -> TrialSkipped | None:
    """Return the event that leaves a trial out: its own, an earlier repeat's or the base trial's; None without one."""
    own, base = (left_out.get((proposal.base_id, name)) for name in (proposal.perturbation, BASE))
    return next((skip for skip in (own, base) if skip is not None and proposal.repeat >= skip.repeat), None)


def why_not_without(
    steps: StrategyRun,
    sequence: TrialSequence,
    done: Sequence[tuple[Trial, Completed]],
    left_out: LeftOut,
    at: Callable[[int | None], None] = lambda trial: None,
) -> str:
    """Return why a strategy cannot go on without a trial that it proposes after the finished ones; empty if it can.

    Args:
        steps: its proposals, from the first trial on.
        sequence: makes trials of them.
        done: the finished trials, in order, with the result that it was sent for each.
        left_out: the trials left out, this one included.
        at: called with the number of trials done when the strategy is asked for the next; None if nothing follows from
            them, because then the request only tests whether it answers.
    """
    answer, position = None, 0
    while True:
        at(position if position < len(done) else None)
        try:
            step = steps.send(answer)
        except StopIteration:
            return "" if position == len(done) else "it ends"
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            # Errors of a strategy that takes None for a result.
            return f"{type(error).__name__}: {error}"
        answer = None
        if isinstance(step, Skipped) or why_left_out(step, left_out):
            continue
        if position == len(done):
            return ""
        trial, answer = done[position]
        if sequence.next(step) != trial:
            return "it proposes other trials"
        position += 1
