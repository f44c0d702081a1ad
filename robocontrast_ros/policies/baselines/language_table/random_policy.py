"""A policy of random actions, as a lower bound."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from robocontrast_ros.configuration import record
from robocontrast_ros.policies.action_spaces import PLANAR_DELTA
from robocontrast_ros.policies.protocol import Observation
from robocontrast_ros.policies.scripted import PolicyParameters, ScriptedPolicy


@record
class RandomParameters(PolicyParameters):
    """The file config/policies/random.yaml."""

    max_step: float = Field(gt=0, le=0.1, description="bound of a displacement along x and along y [m]")
    persistence: float = Field(ge=0, lt=1, description="share of the last displacement that is kept in the next")


class RandomPolicy(ScriptedPolicy):
    """A random walk: each displacement is a mixture of the last one and a uniform draw."""

    parameters, answers = RandomParameters, PLANAR_DELTA
    _last = np.zeros(2)

    def reset(self, instruction: str, seed: int) -> None:
        """Begin a trial; the instruction has no effect."""
        super().reset(instruction, seed)
        self._last = np.zeros(2)

    def act(self, observation: Observation) -> NDArray[np.float64]:
        """Return the next displacement, shape (1, 2) [m]."""
        bound, keep = self._p.max_step, self._p.persistence
        self._last = keep * self._last + (1 - keep) * self._rng.uniform(-bound, bound, 2)
        return self._last[None].copy()
