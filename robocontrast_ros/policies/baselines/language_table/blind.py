"""The control that does not listen: the oracle, for an instruction of its own that it draws."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from robocontrast_ros.configuration import ConfigurationError, load_record, record, resolve_uri
from robocontrast_ros.domain import Instruction, Scene
from robocontrast_ros.policies.baselines.language_table.oracle import (
    Oracle,
    OracleParameters,
    describe,
    read_oracle,
)
from robocontrast_ros.policies.protocol import Observation, PolicyDescription

if TYPE_CHECKING:
    from robocontrast_ros.tasks.language_table import LanguageTable


@record
class BlindParameters:
    """The file config/policies/blind.yaml."""

    policy: str = Field(description="plug-in that reads this file")
    name: str = Field(min_length=1, description="name of the policy in results")
    oracle: str = Field(description="URI of the oracle's parameter file")
    families: tuple[str, ...] = Field(min_length=1, description="families of instructions that it draws from")


class Blind(Oracle):
    """Draws an instruction from the trial's seed, whatever the words say, that can be carried out in the scene."""

    def __init__(self, parameters: BlindParameters, oracle: OracleParameters, task: LanguageTable) -> None:
        super().__init__(oracle, task)
        self._blind = parameters
        self._rng = np.random.default_rng(0)

    @classmethod
    def from_file(cls, path: Path) -> Blind:
        """Return the policy that a parameter file describes.

        Raises:
            ConfigurationError: the file, or one that it names, does not fit, or a family is not known.
        """
        parameters = load_record(BlindParameters, path)
        oracle, task = read_oracle(resolve_uri(parameters.oracle, path.parent))
        unknown = [family for family in parameters.families if family not in task.families]
        if unknown:
            raise ConfigurationError(str(path), "families", unknown, f"some of {', '.join(task.families)}")
        return cls(parameters, oracle, task)

    @classmethod
    def describe_file(cls, path: Path) -> PolicyDescription:
        """Return the description of the policy of a parameter file, without the oracle's file.

        Raises:
            ConfigurationError: the file does not fit.
        """
        return describe(load_record(BlindParameters, path).name)

    def describe(self) -> PolicyDescription:
        """Return the oracle's description with its own name."""
        return describe(self._blind.name)

    def reset(self, instruction: str, seed: int) -> None:
        """Begin a trial; the words have no effect."""
        super().reset(instruction, seed)
        self._rng = np.random.default_rng(seed)

    def act(self, observation: Observation) -> NDArray[np.float64]:
        """Return the next displacement, shape (1, 2) [m].

        Raises:
            ValueError: the observation has no scene, or nothing can be done in it.
        """
        if self._pusher is None and observation.scene is not None:
            self._pusher = self.pusher(self._drawn(observation.scene), observation.scene)
        return super().act(observation)

    def _drawn(self, start: Scene) -> Instruction:
        from robocontrast_ros.tasks.protocol import Infeasible

        there = set(start.names)
        known = [
            condition
            for condition in self._task.language.conditions()
            if condition.family in self._blind.families and there >= set(_blocks(condition))
        ]
        for index in self._rng.permutation(len(known)):
            if not isinstance(self._task.planner.plan(known[index], start), Infeasible):
                return known[index]
        raise ValueError(f"{self._blind.name}: nothing that it knows can be done in this scene")


def _blocks(instruction: Instruction) -> list[str]:
    return [value for key, value in instruction.arguments if key in ("source", "target")]
