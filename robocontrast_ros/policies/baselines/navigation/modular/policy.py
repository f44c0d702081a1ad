"""A modular baseline: sentence embeddings for the instruction, the camera for places, a map for paths.

It uses the camera's image, odometry and the instruction, like modular object-goal navigation (Chaplot et al. 2020,
"Object Goal Navigation using Goal-Oriented Semantic Exploration").
"""

from __future__ import annotations

import math
from collections import deque

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import Pose
from robocontrast_ros.domain.products import norm
from robocontrast_ros.policies.baselines.navigation.modular.language import PhraseGrounder
from robocontrast_ros.policies.baselines.navigation.modular.memory import FloorMemory, Mask, Reader
from robocontrast_ros.policies.baselines.navigation.modular.parameters import ModularParameters, describe
from robocontrast_ros.policies.baselines.navigation.modular.vision import Eye, Points, View
from robocontrast_ros.policies.baselines.navigation.moves import Point, find_moves
from robocontrast_ros.policies.protocol import Observation, PolicyDescription
from robocontrast_ros.policies.sentence_encoder import SentenceEncoder
from robocontrast_ros.robots.action_spaces import Move

BLOCKED_SHARE = 0.5
"""A FORWARD that covered less than this share of its distance was blocked."""


class ModularNavigation:
    """Goes to the places in the order in which the instruction names them, and stops at the last."""

    def __init__(self, parameters: ModularParameters, encoder: SentenceEncoder) -> None:
        self._p = parameters
        self._categories = tuple(parameters.vision.categories)
        self.grounder = PhraseGrounder(parameters.language, self._categories, encoder)
        self._eye = Eye(parameters.vision)
        self.reset("", 0)

    def describe(self) -> PolicyDescription:
        """Return the description: it needs one camera and answers with moves."""
        return describe(self._p)

    def reset(self, instruction: str, seed: int) -> None:
        """Begin a trial; the seed decides to which side the robot turns when it looks around."""
        self._places = deque(self.grounder.places(instruction))
        self._side = Move.LEFT if np.random.default_rng(seed).random() < 0.5 else Move.RIGHT
        self._memory: FloorMemory | None = None
        self._before: tuple[Move, Pose] | None = None
        self._look_for_next()

    def act(self, observation: Observation) -> NDArray[np.float64]:
        """Return the next move, shape (1, 1)."""
        pose = observation.tool_pose
        if self._memory is None:
            self._memory = FloorMemory(self._p.memory, pose.xy, self._categories)
        view = self._eye.look(observation.images[self._p.vision.camera.name])
        self._memory.add(view, pose)
        if self._before is not None and self._before[0] is Move.FORWARD:
            driven = math.dist(self._before[1].xy, pose.xy)
            if driven < BLOCKED_SHARE * self._p.moves.distance:
                self._memory.add_bump(pose, self._p.radius + self._p.memory.cell / 2)
        move = self._move(self._memory, view, pose)
        self._before = (move, pose)
        return np.array([[float(move)]])

    def _move(self, memory: FloorMemory, view: View, pose: Pose) -> Move:
        while self._places:
            place = self._places[0]
            seen = memory.where(place)
            if len(seen) and norm(seen - pose.xy).min() <= self._p.near:
                self._places.popleft()
                self._look_for_next()
                continue
            if not self._moves:
                self._moves = deque(self._plan(memory, view, place, pose))
            if self._moves:
                return self._moves.popleft()
            # It was searched for everywhere.
            self._places.popleft()
            self._look_for_next()
        return Move.STOP

    def _look_for_next(self) -> None:
        self._turns = round(2 * math.pi / self._p.moves.angle)
        self._towards: Points | None = None
        self._moves: deque[Move] = deque()

    def _plan(self, memory: FloorMemory, view: View, place: str, pose: Pose) -> list[Move]:
        """Return moves up to the next FORWARD, by the most promising way; none if nothing is left to try."""
        seen = memory.where(place)
        moves = self._moves_to(memory, memory.around(seen, self._p.near), pose) if len(seen) else []
        if moves:
            return moves
        # It was seen too far away, or behind something: go that way until it is seen better.
        for sighting in view.sightings[::-1]:
            if sighting.category == place:
                way = pose.yaw + sighting.bearing
                ahead = self._p.vision.range * np.array([math.cos(way), math.sin(way)])
                self._towards = (np.asarray(pose.xy) + ahead)[None]
        if self._towards is not None:
            moves = self._moves_to(memory, memory.around(self._towards, self._p.near), pose)
            if moves:
                return moves
            self._towards = None
        if self._turns > 0:
            self._turns -= 1
            return [self._side]
        return self._moves_to(memory, memory.frontier(), pose)

    def _moves_to(self, memory: FloorMemory, targets: Mask, pose: Pose) -> list[Move]:
        """Return the moves on the way to a set of cells up to the first FORWARD; none if there is no way."""
        gaps = memory.gaps()
        gap_at, known_at = memory.reader(gaps), memory.reader(memory.known)
        for gap in self._p.gaps:
            passable = gaps >= gap
            left_at = memory.reader(memory.distances(targets & passable, passable))

            def cost(a: Point, b: Point, gap: float = gap) -> float | None:
                middle = ((a[0] + b[0]) / 2, (a[1] + b[1]) / 2)
                # A robot that is too near to something already may move away.
                if min(gap_at(middle), gap_at(b)) < min(gap, gap_at(a)):
                    return None
                return math.dist(a, b) * (1.0 if known_at(b) else self._p.unknown_cost)

            # The map will have changed before the robot has driven farther than the horizon.
            spared = max(left_at(pose.xy) - self._p.horizon, 0.0)
            if math.isinf(spared):
                continue

            def remaining(place: Point, left_at: Reader = left_at, spared: float = spared) -> float:
                return max(left_at(place) - spared, 0.0)

            moves = find_moves(pose.xy, pose.yaw, self._p.moves, self._p.search, cost, remaining)
            if moves and Move.FORWARD in moves:
                return moves[: moves.index(Move.FORWARD) + 1]
        return []
