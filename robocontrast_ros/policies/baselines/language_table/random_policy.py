"""A policy of random actions, as a lower bound."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from robocontrast_ros.configuration import load_record, record
from robocontrast_ros.policies.action_spaces import PLANAR_DELTA
from robocontrast_ros.policies.protocol import Observation, PolicyDescription


@record
class RandomParameters:
    """The file config/policies/random.yaml."""

    policy: str = Field(description="plug-in that reads this file")
    name: str = Field(min_length=1, description="name of the policy in results")
    max_step: float = Field(gt=0, le=0.1, description="bound of a displacement along x and along y [m]")
    persistence: float = Field(ge=0, lt=1, description="share of the last displacement that is kept in the next")


class RandomPolicy:
    """A random walk: each displacement is a mixture of the last one and a uniform draw."""

    def __init__(self, parameters: RandomParameters) -> None:
        self._parameters = parameters
        self.reset("", 0)

    @classmethod
    def from_file(cls, path: Path) -> RandomPolicy:
        """Return the policy that a parameter file describes.

        Raises:
            ConfigurationError: the file does not fit.
        """
        return cls(load_record(RandomParameters, path))

    @classmethod
    def describe_file(cls, path: Path) -> PolicyDescription:
        """Return the description of the policy of a parameter file.

        Raises:
            ConfigurationError: the file does not fit.
        """
        return cls.from_file(path).describe()

    def describe(self) -> PolicyDescription:
        """Return that it answers with planar displacements and needs nothing."""
        return replace(PLANAR_DELTA, name=self._parameters.name)

    def reset(self, instruction: str, seed: int) -> None:
        """Begin a trial; the instruction has no effect."""
        self._rng = np.random.default_rng(seed)
        self._last = np.zeros(2)

    def act(self, observation: Observation) -> NDArray[np.float64]:
        """Return the next displacement, shape (1, 2) [m]."""
        bound, keep = self._parameters.max_step, self._parameters.persistence
        self._last = keep * self._last + (1 - keep) * self._rng.uniform(-bound, bound, 2)
        return self._last[None].copy()
