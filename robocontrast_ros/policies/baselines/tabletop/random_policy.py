"""A policy of random actions for an arm with a hand, as a lower bound: on the tabletop, and in the kitchen."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from robocontrast_ros.configuration import record
from robocontrast_ros.policies.action_spaces import TOOL_DELTA
from robocontrast_ros.policies.protocol import Observation
from robocontrast_ros.policies.scripted import PolicyParameters, ScriptedPolicy


@record
class RandomHandParameters(PolicyParameters):
    """The file config/policies/hand_random.yaml."""

    max_step: float = Field(gt=0, le=0.1, description="bound of a displacement along each axis [m]")
    max_turn: float = Field(ge=0, le=0.5, description="bound of a rotation vector along each axis [rad]")
    persistence: float = Field(ge=0, lt=1, description="share of the last motion that is kept in the next")
    grip: float = Field(ge=0, le=1, description="chance that an open hand closes, or a closed one opens")


class RandomHand(ScriptedPolicy):
    """A random walk of the tool: each motion mixes the last one and a uniform draw; now and then the hand is used."""

    parameters, answers = RandomHandParameters, TOOL_DELTA
    _last, _gripper = np.zeros(6), 0.0

    def reset(self, instruction: str, seed: int) -> None:
        """Begin a trial with an open hand; the instruction has no effect."""
        super().reset(instruction, seed)
        self._last, self._gripper = np.zeros(6), 0.0

    def act(self, observation: Observation) -> NDArray[np.float64]:
        """Return the next displacement [m], rotation vector [rad] and gripper, shape (1, 7)."""
        p = self._p
        bounds = np.repeat([p.max_step, p.max_turn], 3)
        self._last = p.persistence * self._last + (1 - p.persistence) * self._rng.uniform(-bounds, bounds)
        if self._rng.random() < p.grip:
            self._gripper = 1.0 - self._gripper
        return np.array([[*self._last, self._gripper]])
