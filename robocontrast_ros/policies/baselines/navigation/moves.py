"""Moves of the action space `discrete_navigation`, and a search for the cheapest ones to a goal."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable

from pydantic import Field

from robocontrast_ros.configuration import record
from robocontrast_ros.domain import Pose
from robocontrast_ros.robots.action_spaces import Move

Point = tuple[float, float]


@record
class MoveSizes:
    """Sizes of the robot's moves, as in its profile."""

    distance: float = Field(gt=0, description="FORWARD [m]")
    angle: float = Field(gt=0, le=math.pi, description="LEFT and RIGHT [rad]")

    def carried_out(self, move: Move, pose: Pose) -> Pose:
        """Return the pose after a move on a plane."""
        x, y = pose.xy
        if move is Move.FORWARD:
            return Pose.planar(x + self.distance * math.cos(pose.yaw), y + self.distance * math.sin(pose.yaw), pose.yaw)
        turn = {Move.LEFT: self.angle, Move.RIGHT: -self.angle}.get(move, 0.0)
        return Pose.planar(x, y, pose.yaw + turn)


@record
class Search:
    """Parameters of the search for moves."""

    cell: float = Field(gt=0, description="places nearer than this, with the same heading, count as one [m]")
    turn_cost: float = Field(ge=0, description="cost of a turn, in metres driven")
    limit: int = Field(ge=1, description="number of places after which the search gives up")


def find_moves(
    start: Point,
    yaw: float,
    sizes: MoveSizes,
    search: Search,
    cost: Callable[[Point, Point], float | None],
    remaining: Callable[[Point], float],
) -> list[Move] | None:
    """Return the cheapest moves to a place with nothing remaining, by A*.

    Args:
        start: the robot's place [m].
        yaw: its heading [rad].
        sizes: of the moves.
        search: parameters.
        cost: of driving straight from one place to another, at least its length [m]; None if impossible.
        remaining: lower bound or estimate of the distance left from a place [m]; infinite if there is no way, 0 only
            at the goal.

    Returns:
        The moves; None if no way was found within the limit.
    """
    headings = round(2 * math.pi / sizes.angle)
    ways = [
        (sizes.distance * math.cos(yaw + k * sizes.angle), sizes.distance * math.sin(yaw + k * sizes.angle))
        for k in range(headings)
    ]
    # (estimate, order of insertion, cost so far, place, heading, moves so far)
    queue: list[tuple[float, int, float, Point, int, _Trace | None]] = []
    heapq.heappush(queue, (remaining(start), 0, 0.0, start, 0, None))
    seen: set[tuple[int, int, int]] = set()
    pushed = 0
    while queue and len(seen) < search.limit:
        _, _, spent, place, heading, trace = heapq.heappop(queue)
        key = (round(place[0] / search.cell), round(place[1] / search.cell), heading)
        if key in seen:
            continue
        seen.add(key)
        left = remaining(place)
        if left == 0.0:
            return _moves(trace)
        if math.isinf(left):
            continue
        dx, dy = ways[heading]
        ahead = (place[0] + dx, place[1] + dy)
        driving = cost(place, ahead)
        options = [(Move.LEFT, place, (heading + 1) % headings, search.turn_cost)]
        options.append((Move.RIGHT, place, (heading - 1) % headings, search.turn_cost))
        if driving is not None:
            options.append((Move.FORWARD, ahead, heading, driving))
        for move, to, towards, price in options:
            estimate = remaining(to)
            if not math.isinf(estimate):
                pushed += 1
                total = spent + price
                heapq.heappush(queue, (total + estimate, pushed, total, to, towards, (move, trace)))
    return None


_Trace = tuple[Move, "_Trace | None"]


def _moves(trace: _Trace | None) -> list[Move]:
    moves = []
    while trace is not None:
        move, trace = trace
        moves.append(move)
    return moves[::-1]
