"""The cheapest order to visit places, or to carry things: an open travelling-salesman path, by OR-Tools."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from robocontrast_ros.domain import SetupMove
from robocontrast_ros.domain.geometry import Vector3
from robocontrast_ros.strategies.effort import handled

RESOLUTION = 1000.0
"""Factor for the solver's costs, which are whole numbers of mm or ms."""
SEARCHED = 100
"""Number of places up to which the search continues after the first local optimum. With more, that takes a minute and
saves less than one percent."""
IMPROVEMENTS = 100
"""Solutions after which that search ends. It is a number, not a time, so that the path is the same on every machine."""


def shortest_path(costs: ArrayLike, start: ArrayLike | None = None) -> list[int]:
    """Return an order to visit all places at low cost, if not the lowest.

    A path is built arc by arc from the cheapest arcs and improved by local search until nothing helps; with few places,
    guided local search continues from there. Nothing in it is random or timed.

    Args:
        costs: cost from each place to each, not necessarily the same there and back, at least 0, shape (n, n).
        start: costs to each place from the start, shape (n,); None if the path may start anywhere.

    Returns:
        The indices 0 to n - 1, each once.
    """
    between = np.asarray(costs, dtype=float)
    number = len(between)
    if number < 2:
        return list(range(number))
    # This import is large, and few sessions need it.
    from ortools.constraint_solver import pywrapcp
    from ortools.constraint_solver.routing_enums_pb2 import FirstSolutionStrategy, LocalSearchMetaheuristic

    # The path starts at place 0 and, at no cost, ends there.
    padded = np.zeros((number + 1, number + 1))
    padded[1:, 1:] = between
    padded[0, 1:] = 0.0 if start is None else start
    manager = pywrapcp.RoutingIndexManager(number + 1, 1, 0)
    routing = pywrapcp.RoutingModel(manager)
    transit = routing.RegisterTransitMatrix(np.rint(padded * RESOLUTION).astype(int).tolist())
    routing.SetArcCostEvaluatorOfAllVehicles(transit)
    parameters = pywrapcp.DefaultRoutingSearchParameters()
    parameters.first_solution_strategy = FirstSolutionStrategy.GLOBAL_CHEAPEST_ARC
    parameters.local_search_metaheuristic = LocalSearchMetaheuristic.GREEDY_DESCENT
    if number <= SEARCHED:
        parameters.local_search_metaheuristic = LocalSearchMetaheuristic.GUIDED_LOCAL_SEARCH
        parameters.solution_limit = IMPROVEMENTS
    solution = routing.SolveWithParameters(parameters)
    order, index = [], solution.Value(routing.NextVar(routing.Start(0)))
    while not routing.IsEnd(index):
        order.append(manager.IndexToNode(index) - 1)
        index = solution.Value(routing.NextVar(index))
    return order


def in_cheapest_order(moves: Sequence[SetupMove], store: Vector3 | None) -> tuple[SetupMove, ...]:
    """Return moves in the order of the shortest walks between them.

    As in ``setup_moves``, objects that are taken out come first, so that their places are free. Objects that are
    brought in or taken out without a known place outside come first or last in their group, because no way to them is
    known.

    Args:
        moves: moves of one set-up.
        store: place of objects that are in no scene [m]; None if it is unknown.
    """
    out = [move for move in moves if move.goal is None]
    others = [move for move in moves if move.goal is not None]
    ordered = (*_least_walk(out, store), *_least_walk(others, store))
    return ordered if handled(ordered, store).walked < handled(moves, store).walked else tuple(moves)


def _least_walk(moves: list[SetupMove], store: Vector3 | None) -> list[SetupMove]:
    starts = [store if move.start is None else move.start.position for move in moves]
    goals = [store if move.goal is None else move.goal.position for move in moves]
    walks = [[0.0 if goal is None or start is None else math.dist(goal, start) for start in starts] for goal in goals]
    return [moves[k] for k in shortest_path(walks)]
