"""Blind sessions: every trial is run by each of several policies, and nobody can see which of them runs.

Each trial that the strategy proposes is run by all policies, in an order of its own and from the same scene: before the
next policy runs it, the moved objects are put back, a set-up with its cost like any other. The order is random and
balanced (``orders``). The names of the policies go into the file of a secret; the journal has its SHA-256
(``runs.blinding``). Instead of the name everybody is shown the place in the order, ``1 of 2``. A code for the whole
session, "A" and "B", would let a person learn that A is the good one, and treat it accordingly.
"""

from __future__ import annotations

from collections.abc import Generator

from robocontrast_ros.sessions.seeding import generator
from robocontrast_ros.strategies.protocol import Completed, Proposal, Skipped, StrategyRun

HIDDEN = "blind"
"""Replaces a policy's name before the first trial."""


def orders(seed: int, policies: int, trials: int) -> tuple[tuple[int, ...], ...]:
    """Return the order in which policies run each trial, at random.

    Trials come in blocks of as many as there are policies. In a block each policy is first once, second once, and so
    on: a cyclic Latin square whose rows, columns and symbols are shuffled. So at every moment no policy was in a place
    more than once more often than another.

    Args:
        seed: the session's.
        policies: number of policies.
        trials: number of trials of the strategy.

    Returns:
        For each trial a permutation of ``range(policies)``; at least as many as there are trials, and one block at
        least.
    """
    found: list[tuple[int, ...]] = []
    for block in range(max(-(-trials // policies), 1)):
        rng = generator(seed, "blind", block)
        rows, columns, symbols = (rng.permutation(policies) for _ in range(3))
        found += (tuple(int(symbols[(row + column) % policies]) for column in columns) for row in rows)
    return tuple(found)


def run_by_each(steps: StrategyRun, policies: int) -> StrategyRun:
    """Propose each trial of a strategy as often as there are policies, one after the other.

    The strategy is sent the result of the policy that ran the trial last, whichever that was, with the cost of all its
    set-ups. The actual scene is that policy's final one: a contrast set, which changes the scene that is left, starts
    from a scene that nobody has to set up. And because the last policy is a random one, no policy decides more often
    than another in which scenes all of them are tested. If a run is left out, so is the trial: the strategy is sent
    None.
    """
    answer: Completed | None = None
    while True:
        try:
            step: Proposal | Skipped = steps.send(answer)
        except StopIteration:
            return
        if isinstance(step, Skipped):
            yield step
            answer = None
            continue
        answer = yield from _by_each(step, policies)


def _by_each(proposal: Proposal, policies: int) -> Generator[Proposal, Completed | None, Completed | None]:
    cost = 0.0
    for _ in range(policies):
        answer = yield proposal
        if answer is None:
            return None
        cost += answer.cost
    return Completed(answer.result, cost)
