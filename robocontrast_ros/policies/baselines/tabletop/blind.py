"""The control that does not listen: the oracle, for an instruction of its own that it draws."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from robocontrast_ros.configuration import load_record, record, resolve_uri
from robocontrast_ros.domain import Instruction, Scene
from robocontrast_ros.policies.baselines.tabletop.oracle import (
    TabletopOracle,
    TabletopOracleParameters,
    read_oracle,
)
from robocontrast_ros.policies.protocol import PolicyDescription

if TYPE_CHECKING:
    from robocontrast_ros.policies.baselines.tabletop.handling import Handler
    from robocontrast_ros.tasks.tabletop import Tabletop


@record
class TabletopBlindParameters:
    """The file config/policies/tabletop_blind.yaml."""

    policy: str = Field(description="plug-in that reads this file")
    name: str = Field(min_length=1, description="name of the policy in results")
    oracle: str = Field(description="URI of the oracle's parameter file")
    draws: int = Field(gt=0, description="instructions drawn until one can be carried out, at most")


class TabletopBlind(TabletopOracle):
    """Draws a skill and its objects from the trial's seed, whatever the words say, that can be carried out."""

    def __init__(self, parameters: TabletopBlindParameters, oracle: TabletopOracleParameters, task: Tabletop) -> None:
        super().__init__(oracle, task)
        self._blind = parameters
        self._rng = np.random.default_rng(0)

    @classmethod
    def from_file(cls, path: Path) -> TabletopBlind:
        """Return the policy that a parameter file describes.

        Raises:
            ConfigurationError: the file, or one that it names, does not fit.
        """
        parameters = load_record(TabletopBlindParameters, path)
        return cls(parameters, *read_oracle(resolve_uri(parameters.oracle, path.parent)))

    @classmethod
    def describe_file(cls, path: Path) -> PolicyDescription:
        """Return the description of the policy of a parameter file, by the oracle's file.

        Raises:
            ConfigurationError: a file does not fit.
        """
        parameters = load_record(TabletopBlindParameters, path)
        below = resolve_uri(parameters.oracle, path.parent)
        return replace(TabletopOracle.describe_file(below), name=parameters.name)

    def describe(self) -> PolicyDescription:
        """Return the oracle's description with its own name."""
        return replace(super().describe(), name=self._blind.name)

    def reset(self, instruction: str, seed: int) -> None:
        """Begin a trial; the words have no effect."""
        super().reset(instruction, seed)
        self._rng = np.random.default_rng(seed)

    def handler(self, text: str, start: Scene) -> Handler:
        """Return the skill for an instruction that is drawn.

        Raises:
            ValueError: none of those drawn can be carried out.
        """
        for _ in range(self._blind.draws):
            try:
                return self.made(self._drawn(start), start)
            except ValueError:
                continue
        raise ValueError(f"tabletop_blind: none of {self._blind.draws} instructions can be carried out in this scene")

    def _drawn(self, start: Scene) -> Instruction:
        task, rng = self._task, self._rng
        names = [state.name for state in task.planner.movable(start)]
        family = task.families[rng.integers(len(task.families))]
        target, reference = (names[index] for index in rng.permutation(len(names))[:2])
        arguments = {"target": target} if family == "pick" else {"target": target, "reference": reference}
        return Instruction("", family, tuple(arguments.items()))
