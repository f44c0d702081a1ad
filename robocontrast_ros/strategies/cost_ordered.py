"""Test instances in the order in which setting them up costs least."""

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
from robocontrast_ros.strategies.tour import shortest_path

MARGIN = 0.05
"""Share of the budget kept for the extra cost of failures: a block that a policy left in another place is farther from
where it is wanted next. What is not needed goes to further instances."""
FIRST_GUESS = 16
"""Number of test instances that the search for how many a budget suffices for tries first."""


class CostOrdered(Strategy):
    """Each test instance in its own scene, with its perturbations if there are any, the nearest scenes together.

    *Which* instances are run is left to chance: those that come first in the shuffled order of the test
    set, as many as a little less than the budget is expected to suffice for, if every trial succeeds. Only
    the *order* of these is chosen: a travelling-salesman path from the scene that an instance's last trial
    leaves to the next instance's own scene. Were a path through the whole test set cut off where the budget
    ends, the instances that were run would be those of cheap neighbourhoods (crowded parts of the space of
    scenes), and their mean no estimate of the test set's. For the same reason, where trials cost more
    than planned, the instances that come last in the shuffled order are left out, wherever they are on the
    path. What the budget still allows at the end of the path goes to the next instances of the shuffled
    order, in the same way.

    The first set-up is taken to be free: in simulation its objects are brought in from outside, and elsewhere
    the scene before it is not known.

    As neighbours on the path resemble each other, trials that were run first are no sample of the test set:
    a sequential test must not use them.
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
    """Some test instances in the order that costs least.

    Attributes:
        order: those that are left, as positions in the shuffled order.
    """

    def __init__(self, visits: _Visits, bases: Sequence[TestInstance], scene: Scene | None) -> None:
        """Find the order.

        Args:
            visits: the predicted visit of each.
            bases: the instances, in shuffled order.
            scene: where the path starts; None where the first set-up is free.
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
        """Return what the path is expected to cost from a scene; from None its first set-up is free."""
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
    # The one before the first that does not fit; one instance is taken, whatever it costs.
    return path(bisect_right(range(fits + 1, number), budget, key=lambda n: path(n).cost(scene)) + fits)
