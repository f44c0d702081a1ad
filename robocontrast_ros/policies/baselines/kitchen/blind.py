"""The control that ignores the instruction: it draws one of those that the scene offers, and carries it out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from robocontrast_ros.configuration import record
from robocontrast_ros.domain import Scene
from robocontrast_ros.policies.baselines.kitchen.oracle import KitchenOracle
from robocontrast_ros.policies.scripted import ByOracle, ByOracleParameters

if TYPE_CHECKING:
    from robocontrast_ros.domain import Instruction


@record
class KitchenBlindParameters(ByOracleParameters):
    """The file config/policies/kitchen_blind.yaml."""

    draws: int = Field(gt=0, description="instructions drawn until one can be carried out, at most")


class KitchenBlind(ByOracle, KitchenOracle):
    """Draws a skill, then things that it can be carried out with, from the trial's seed and whatever the words are."""

    parameters, oracle = KitchenBlindParameters, KitchenOracle

    def first_skill(self, text: str, start: Scene) -> Any:
        """Return the skill for a drawn instruction that is not fulfilled already.

        Raises:
            ValueError: none of those drawn can be carried out.
        """
        # Large; a policy's description asks for parameters alone.
        from robocontrast_ros.tasks.kitchen.requests import requests

        offered: dict[str, list[Instruction]] = {}
        for request in requests(start, self._task.things):
            offered.setdefault(request.family, []).append(request)
        families = list(offered)
        for _ in range(self._own.draws if families else 0):
            alike = offered[families[self._rng.integers(len(families))]]
            drawn = alike[self._rng.integers(len(alike))]
            try:
                if not self._task.goals.goal(drawn, start).satisfied(start):
                    return self.skill(drawn, start)
            except ValueError:
                continue
        raise ValueError(f"{self._own.name}: none of {self._own.draws} instructions can be carried out in this scene")
