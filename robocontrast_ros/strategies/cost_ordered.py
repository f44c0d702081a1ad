"""Test instances in the order of the least set-up cost."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import Scene, TestInstance
from robocontrast_ros.strategies.contrast_set import run_contrasts
from robocontrast_ros.strategies.effort import setup_moves, transition_costs
from robocontrast_ros.strategies.prediction import Visit, predict_visit
from robocontrast_ros.strategies.protocol import (
    PerturbationUse,
    Strategy,
    StrategyContext,
    StrategyRun,
    solved_at_start,
)
from robocontrast_ros.strategies.visit_order import shortest_path

MARGIN = 0.05
"""Share of the budget kept for the extra cost of failures: a block that a policy left in another place is farther from
its next place. The unused rest goes to further instances."""
FIRST_GUESS = 16
"""First number of test instances in the search for the most that a budget suffices for."""


class CostOrdered(Strategy):
    """Each test instance in its own scene, with its perturbations if there are any, the nearest scenes together.

    The *choice* of instances is random: the first ones in the shuffled order of the test set, as many as a little less
    than the budget is expected to suffice for, if every trial succeeds. Only their *order* is planned: a
    travelling-salesman path from the scene that an instance's last trial leaves to the next instance's own scene. If a
    path through the whole test set ended with the budget, the instances on it would be those of cheap neighbourhoods
    (dense parts of the space of scenes), and their mean no estimate of the test set's. For the same reason, if trials
    cost more than planned, the last instances in the shuffled order are left out, wherever they are on the path. The
    rest of the budget at the end of the path goes to the next instances of the shuffled order, in the same way.

    The first set-up counts as free: in simulation its objects are brought in from outside, and otherwise the scene
    before it is unknown.

    Because neighbours on the path resemble each other, the first trials are no sample of the test set: a sequential
    test must not use them.
    """

    name = "cost_ordered"
    description = "a random part of the test set, as the budget allows, in the order that costs least"
    uses_perturbations = PerturbationUse.OPTIONAL
    base_trials_iid = False
    blocks_independent = False

    def run(self, context: StrategyContext) -> StrategyRun:
        """Return the trials."""
        rest: list[TestInstance] = []
        for base in context.test_set:
            if solved_at_start(context.task, base):
                yield from run_contrasts(context, base, context.perturbations)
            else:
                rest.append(base)
        visits = _Visits(context)
        spent, scene = 0.0, None
        while rest:
            path = _affordable(visits, rest, scene, (1.0 - MARGIN) * (context.budget - spent))
            while path.order:
                base = path.take()
                rest.remove(base)
                done = yield from run_contrasts(context, base, context.perturbations)
                trials = [trial for repeats in done.values() for trial in repeats]
                spent += math.fsum(trial.cost for trial in trials)
                if trials:  # else it was left out
                    scene = trials[-1].result.final_scene
                path.shorten(scene, context.budget - spent)


class _Visits:
    """The predicted visit of each test instance, computed at its first use."""

    def __init__(self, context: StrategyContext) -> None:
        self.context = context
        self._known: dict[str, Visit] = {}

    def __call__(self, base: TestInstance) -> Visit:
        if base.instance_id not in self._known:
            self._known[base.instance_id] = predict_visit(self.context, base, self.context.perturbations)
        return self._known[base.instance_id]


class _Path:
    """Some test instances in the order of least cost.

    Attributes:
        order: remaining instances, as positions in the shuffled order.
    """

    def __init__(self, visits: _Visits, bases: Sequence[TestInstance], scene: Scene | None) -> None:
        """Find the order.

        Args:
            visits: predicted visit of each instance.
            bases: the instances, in shuffled order.
            scene: start of the path; None if the first set-up is free.
        """
        self._context = visits.context
        self._visits = [visits(base) for base in bases]
        self._between = self._transitions([visit.left for visit in self._visits])
        start = None if scene is None else self._transitions([scene])[0]
        self.order = shortest_path(self._between, start)

    def take(self) -> TestInstance:
        """Return the next instance, which then is no longer on the path."""
        return self._visits[self.order.pop(0)].base

    def cost(self, scene: Scene | None) -> float:
        """Return the expected cost of the path from a scene; from None its first set-up is free."""
        if not self.order:
            return 0.0
        visited = [self._visits[place] for place in self.order]
        first = 0.0
        if scene is not None:
            moves = setup_moves(scene, visited[0].base.scene, self._context.tolerance)
            first = self._context.cost.cost(moves)
        return first + math.fsum((*self._between[self.order[:-1], self.order[1:]], *(visit.cost for visit in visited)))

    def shorten(self, scene: Scene | None, budget: float) -> None:
        """Leave out instances, the last of the shuffled order first, until the budget suffices."""
        while self.order and self.cost(scene) > budget:
            self.order.remove(max(self.order))

    def _transitions(self, scenes: Sequence[Scene]) -> NDArray[np.float64]:
        wanted = [visit.base.scene for visit in self._visits]
        return transition_costs(scenes, wanted, self._context.cost, self._context.tolerance)


def _affordable(visits: _Visits, rest: Sequence[TestInstance], scene: Scene | None, budget: float) -> _Path:
    """Return the path through as many of the first instances as a budget suffices for, at least through one."""
    path = cache(lambda number: _Path(visits, rest[:number], scene))
    fits, number = 1, 1
    while path(number).cost(scene) <= budget:
        if number == len(rest):
            return path(number)
        fits, number = number, min(max(2 * number, FIRST_GUESS), len(rest))
    # The number before the first that does not fit; one instance is always taken, at any cost.
    return path(bisect_right(range(fits + 1, number), budget, key=lambda n: path(n).cost(scene)) + fits)
