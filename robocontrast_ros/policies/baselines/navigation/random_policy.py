"""A navigation policy of random moves, as a lower bound."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from robocontrast_ros.configuration import load_record, record
from robocontrast_ros.policies.action_spaces import DISCRETE_NAVIGATION
from robocontrast_ros.policies.protocol import Observation, PolicyDescription
from robocontrast_ros.robots.action_spaces import Move


@record
class RandomMovesParameters:
    """The file config/policies/vln_random.yaml."""

    policy: str = Field(description="plug-in that reads this file")
    name: str = Field(min_length=1, description="name of the policy in results")
    forward: float = Field(ge=0, le=1, description="chance of FORWARD; LEFT and RIGHT share what is left")
    stop: float = Field(ge=0, le=1, description="chance of STOP")

    def __post_init__(self) -> None:
        if self.forward + self.stop > 1:
            raise ValueError("`forward` and `stop` of at most 1 together")


class RandomMoves:
    """Draws each move independently."""

    def __init__(self, parameters: RandomMovesParameters) -> None:
        turn = (1 - parameters.forward - parameters.stop) / 2
        self._name = parameters.name
        self._chances = {
            Move.STOP: parameters.stop,
            Move.FORWARD: parameters.forward,
            Move.LEFT: turn,
            Move.RIGHT: turn,
        }
        self.reset("", 0)

    @classmethod
    def from_file(cls, path: Path) -> RandomMoves:
        """Return the policy that a parameter file describes.

        Raises:
            ConfigurationError: the file does not fit.
        """
        return cls(load_record(RandomMovesParameters, path))

    @classmethod
    def describe_file(cls, path: Path) -> PolicyDescription:
        """Return the description of the policy of a parameter file.

        Raises:
            ConfigurationError: the file does not fit.
        """
        return cls.from_file(path).describe()

    def describe(self) -> PolicyDescription:
        """Return that it answers with moves and needs nothing."""
        return replace(DISCRETE_NAVIGATION, name=self._name)

    def reset(self, instruction: str, seed: int) -> None:
        """Begin a trial; the instruction has no effect."""
        self._rng = np.random.default_rng(seed)

    def act(self, observation: Observation) -> NDArray[np.float64]:
        """Return the next move, shape (1, 1)."""
        return np.array([[float(self._rng.choice(list(self._chances), p=list(self._chances.values())))]])
