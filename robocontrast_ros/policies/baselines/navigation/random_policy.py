"""A navigation policy of random moves, as a lower bound."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from robocontrast_ros.configuration import record
from robocontrast_ros.policies.action_spaces import DISCRETE_NAVIGATION
from robocontrast_ros.policies.protocol import Observation
from robocontrast_ros.policies.scripted import PolicyParameters, ScriptedPolicy
from robocontrast_ros.robots.action_spaces import Move


@record
class RandomMovesParameters(PolicyParameters):
    """The file config/policies/vln_random.yaml."""

    forward: float = Field(ge=0, le=1, description="chance of FORWARD; LEFT and RIGHT share what is left")
    stop: float = Field(ge=0, le=1, description="chance of STOP")

    def __post_init__(self) -> None:
        if self.forward + self.stop > 1:
            raise ValueError("`forward` and `stop` of at most 1 together")


class RandomMoves(ScriptedPolicy):
    """Draws each move independently."""

    parameters, answers = RandomMovesParameters, DISCRETE_NAVIGATION

    def act(self, observation: Observation) -> NDArray[np.float64]:
        """Return the next move, shape (1, 1)."""
        turn = (1 - self._p.forward - self._p.stop) / 2
        chances = {Move.STOP: self._p.stop, Move.FORWARD: self._p.forward, Move.LEFT: turn, Move.RIGHT: turn}
        return np.array([[float(self._rng.choice(list(chances), p=list(chances.values())))]])
