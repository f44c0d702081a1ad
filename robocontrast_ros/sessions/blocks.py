"""The schedule in blocks: a test instance with its contrasts, and which trials of the blocks a budget allows.

The trials of a session follow one another in the strategy's order, which is the canonical one. A *block* is the
successive trials of one test instance: its base trial, its perturbed trials, and their repeats. A strategy that comes
back to a test instance begins another block. If the blocks of a strategy are independent
(``Strategy.blocks_independent``), each can be run on its own, in any order. The cost of its first set-up is not known
then, because that depends on the scene that the block before it leaves. So the budget is settled afterwards, in the
canonical order, and comes out as in a session that ran one trial after another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace

from robocontrast_ros.domain import Budget, Scene, Trial
from robocontrast_ros.runs.events import Event, SetUp, TrialFinished
from robocontrast_ros.sessions.seeding import trial_seed
from robocontrast_ros.strategies.effort import AnyTolerance, CostModel, setup_moves
from robocontrast_ros.strategies.protocol import Proposal


class TrialSequence:
    """Makes trials from a strategy's proposals, in the canonical order: gives each its index, seed, block and twin."""

    def __init__(self, seed: int, twins: bool = True, taken: Collection[int] = ()) -> None:
        """Begin without a trial.

        Args:
            seed: the session's.
            twins: whether each trial names its twin.
            taken: indices that no trial gets any more.
        """
        self._seed, self._name_twins, self._taken = seed, twins, taken
        self._last: Trial | None = None
        self._twins: dict[tuple[str, int], str] = {}

    def next(self, proposal: Proposal) -> Trial:
        """Return the trial of the next proposal."""
        last, here = self._last, (proposal.base_id, proposal.repeat)
        begins = last is None or last.base_id != proposal.base_id
        index = 0 if last is None else last.index + 1
        while index in self._taken:
            index += 1
        trial = Trial(
            index=index,
            seed=trial_seed(self._seed, *here),
            block=(0 if last is None else last.block + begins),
            **vars(proposal),
        )
        if trial.is_base:
            self._twins[here] = trial.trial_id
        elif self._name_twins:
            trial = replace(trial, twin=self._twins.get(here, ""))
        self._last = trial
        return trial


@dataclass
class RunBlock:
    """A block that was run, with the values that settle its budget.

    Attributes:
        index: position in the canonical order, from 0.
        start: the target scene of its first trial.
        costs: the costs of each trial's set-ups, in order, with those of void attempts, but without the first set-up of
            the block, which depends on the block before.
        final: the scene that the last of these trials left.
    """

    index: int
    start: Scene
    costs: list[list[float]] = field(default_factory=list)
    final: Scene = field(default_factory=Scene)


@dataclass(frozen=True)
class SettledTrial:
    """A trial, and whether the budget allows it.

    Attributes:
        block: its block.
        cost: of all its set-ups.
        cumulative_cost: of all set-ups up to this trial's.
        within_budget: whether the budget allows it; no trial is run after the first that it does not allow.
    """

    block: int
    cost: float
    cumulative_cost: float
    within_budget: bool


def blocks_of(events: Iterable[Event]) -> tuple[RunBlock, ...]:
    """Return the blocks of a session's events, with the trials that count."""
    blocks: dict[int, RunBlock] = {}
    costs: list[float] = []
    for event in events:
        if isinstance(event, SetUp) and not event.restore:
            if event.trial.block in blocks:
                costs.append(event.cost)
            else:
                blocks[event.trial.block] = RunBlock(event.trial.block, event.target)
        elif isinstance(event, TrialFinished):
            block = blocks[event.trial.block]
            block.costs.append(costs)
            block.final, costs = event.scene_left, []
    return tuple(block for block in blocks.values() if block.costs)


def settle(
    blocks: Iterable[RunBlock], before: Scene, budget: Budget, cost_model: CostModel, tolerance: AnyTolerance
) -> tuple[SettledTrial, ...]:
    """Return which trials a budget allows, as the loop of a session does that runs one block after another.

    The set-up of a block's first trial is charged from the scene that the block before left, by the cost model, not by
    a person's time: if a person sets scenes up, there is one scene, and blocks are run one after another.

    Args:
        blocks: in any order, all of them from the first on.
        before: the scene before the first block.
        budget: its limit, and the cost spent already.
        cost_model: model of set-up costs.
        tolerance: how far an object may be from its wanted pose and still stay.

    Returns:
        All trials in the canonical order.

    Raises:
        ValueError: a block is missing, or is there twice.
    """
    ordered = sorted(blocks, key=lambda block: block.index)
    if [block.index for block in ordered] != list(range(len(ordered))):
        raise ValueError(f"blocks: got {[block.index for block in ordered]}, expected each from 0 on, once")
    settled: list[SettledTrial] = []
    within = True
    for block in ordered:
        first = cost_model.cost(setup_moves(before, block.start, tolerance))
        for number, others in enumerate(block.costs):
            cost = 0.0
            for set_up in others if number else (first, *others):
                within = within and budget.allows(set_up)
                budget = replace(budget, spent=budget.spent + set_up)
                cost += set_up
            settled.append(SettledTrial(block.index, cost, budget.spent, within))
        before = block.final
    return tuple(settled)
