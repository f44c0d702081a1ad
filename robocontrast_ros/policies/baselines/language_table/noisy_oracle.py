"""The oracle with action noise and random misunderstandings, as a weakness for a contrast set to find."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from robocontrast_ros.configuration import record
from robocontrast_ros.domain import Instruction, Scene
from robocontrast_ros.policies.baselines.language_table.oracle import Oracle
from robocontrast_ros.policies.protocol import Observation
from robocontrast_ros.policies.scripted import ByOracle, ByOracleParameters

if TYPE_CHECKING:
    from robocontrast_ros.policies.baselines.language_table.pushing import Pusher


@record
class NoisyOracleParameters(ByOracleParameters):
    """The file config/policies/noisy_oracle.yaml."""

    action_noise: float = Field(ge=0, description="standard deviation added to each coordinate of an action [m]")
    wrong_direction: float = Field(
        ge=0, le=1, description="chance to take a direction or place for another one, once a trial"
    )
    wrong_block: float = Field(ge=0, le=1, description="chance to push another block than the one named, once a trial")
    habit: float = Field(
        ge=0,
        le=1,
        description="chance to take a direction for its opposite where that has more room, once a trial",
    )


class NoisyOracle(ByOracle, Oracle):
    """The oracle with Gaussian noise and a chance of misunderstanding, all from the trial's seed."""

    parameters, oracle = NoisyOracleParameters, Oracle

    def reset(self, instruction: str, seed: int) -> None:
        """Begin a trial; noise and misunderstandings come from the seed."""
        super().reset(instruction, seed)
        self._noise, self._mistakes = self._rng.spawn(2)

    def step(self, observation: Observation) -> NDArray[np.float64]:
        """Return the next displacement, shape (1, 2) [m]."""
        action = super().step(observation)
        return action + self._noise.normal(0.0, self._own.action_noise, action.shape)

    def skill(self, instruction: Instruction, start: Scene) -> Pusher:
        """Return the skill for an instruction, changed by the misunderstandings that are drawn."""
        from robocontrast_ros.tasks.language_table.goals import DIRECTIONS, LOCATIONS

        chances = self._own
        # All chances are drawn for every instruction, so that trials of one seed are comparable.
        turned, swapped, habitual = self._mistakes.random(3) < (
            chances.wrong_direction,
            chances.wrong_block,
            chances.habit,
        )
        arguments = dict(instruction.arguments)
        if habitual and "direction" in arguments:
            x, y = start[arguments.get("target", arguments["source"])].pose.xy
            arguments["direction"] = self._roomier(arguments["direction"], x, y)
        if turned:
            for key, known in (("direction", DIRECTIONS), ("location", LOCATIONS)):
                if key in arguments:
                    arguments[key] = self._another(known, {arguments[key]})
        if swapped:
            named = {arguments["source"], arguments.get("target", "")}
            arguments["source"] = self._another(start.names, named)
        return super().skill(replace(instruction, arguments=tuple(arguments.items())), start)

    def _roomier(self, direction: str, x: float, y: float) -> str:
        """Return the direction, or its opposite if that has more of the board before it."""
        from robocontrast_ros.tasks.language_table.goals import DIRECTIONS, direction_sign

        board = self._task.parameters.board
        opposite = next(d for d in DIRECTIONS if not (direction_sign(d) + direction_sign(direction)).any())

        def room(towards: str) -> float:
            down, right = direction_sign(towards)
            rooms = (
                {1.0: board.x_max - x, -1.0: x - board.x_min},
                {1.0: board.y_max - y, -1.0: y - board.y_min},
            )
            return min(side[sign] for side, sign in zip(rooms, (down, right), strict=True) if sign)

        return max(direction, opposite, key=room)

    def _another(self, known: tuple[str, ...], but: set[str]) -> str:
        others = [value for value in known if value not in but]
        return others[self._mistakes.integers(len(others))]
