"""The control that ignores the instruction: it draws one, and carries it out as the oracle does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from robocontrast_ros.configuration import ConfigurationError, record
from robocontrast_ros.domain import Instruction, Scene
from robocontrast_ros.policies.baselines.language_table.oracle import Oracle
from robocontrast_ros.policies.scripted import ByOracle, ByOracleParameters

if TYPE_CHECKING:
    from robocontrast_ros.policies.baselines.language_table.pushing import Pusher


@record
class BlindParameters(ByOracleParameters):
    """The file config/policies/blind.yaml."""

    families: tuple[str, ...] = Field(min_length=1, description="families of instructions that it draws from")


class Blind(ByOracle, Oracle):
    """Draws an instruction that can be carried out in the scene, from the trial's seed and whatever the words are."""

    parameters, oracle = BlindParameters, Oracle

    @classmethod
    def from_file(cls, path: Path) -> ByOracle:
        """Return the policy that a parameter file describes.

        Raises:
            ConfigurationError: the file, or one that it names, does not fit, or a family is not known.
        """
        made = super().from_file(path)
        unknown = [family for family in made._own.families if family not in made._task.families]
        if unknown:
            raise ConfigurationError(str(path), "families", unknown, f"some of {', '.join(made._task.families)}")
        return made

    def first_skill(self, text: str, start: Scene) -> Pusher:
        """Return the skill for a drawn instruction.

        Raises:
            ValueError: no instruction of its families can be carried out in this scene.
        """
        from robocontrast_ros.tasks.protocol import Infeasible

        there = set(start.names)
        known = [
            condition
            for condition in self._task.language.conditions()
            if condition.family in self._own.families and there >= set(_blocks(condition))
        ]
        for index in self._rng.permutation(len(known)):
            if not isinstance(self._task.planner.plan(known[index], start), Infeasible):
                return self.skill(known[index], start)
        raise ValueError(f"{self._own.name}: nothing that it knows can be done in this scene")


def _blocks(instruction: Instruction) -> list[str]:
    return [value for key, value in instruction.arguments if key in ("source", "target")]
