"""The control that ignores the instruction: it draws one, and carries it out as the oracle does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from robocontrast_ros.configuration import record
from robocontrast_ros.domain import Instruction, Scene
from robocontrast_ros.policies.baselines.tabletop.oracle import TabletopOracle
from robocontrast_ros.policies.scripted import ByOracle, ByOracleParameters

if TYPE_CHECKING:
    from robocontrast_ros.policies.baselines.tabletop.handling import Handler


@record
class TabletopBlindParameters(ByOracleParameters):
    """The file config/policies/tabletop_blind.yaml."""

    draws: int = Field(gt=0, description="instructions drawn until one can be carried out, at most")


class TabletopBlind(ByOracle, TabletopOracle):
    """Draws a skill and objects that it can be carried out with, from the trial's seed and whatever the words are."""

    parameters, oracle = TabletopBlindParameters, TabletopOracle

    def first_skill(self, text: str, start: Scene) -> Handler:
        """Return the skill for a drawn instruction.

        Raises:
            ValueError: none of those drawn can be carried out.
        """
        for _ in range(self._own.draws):
            try:
                return self.skill(self._drawn(start), start)
            except ValueError:
                continue
        raise ValueError(f"{self._own.name}: none of {self._own.draws} instructions can be carried out in this scene")

    def _drawn(self, start: Scene) -> Instruction:
        task, rng = self._task, self._rng
        names = [state.name for state in task.planner.movable(start)]
        family = task.families[rng.integers(len(task.families))]
        target, reference = (names[index] for index in rng.permutation(len(names))[:2])
        arguments = {"target": target} if family == "pick" else {"target": target, "reference": reference}
        return Instruction("", family, tuple(arguments.items()))
