"""The oracle with action noise and random misunderstandings, as a weakness for a contrast set to find."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from robocontrast_ros.configuration import load_record, record, resolve_uri
from robocontrast_ros.domain import Instruction, Scene
from robocontrast_ros.policies.baselines.language_table.oracle import (
    Oracle,
    OracleParameters,
    describe,
    read_oracle,
)
from robocontrast_ros.policies.protocol import Observation, PolicyDescription

if TYPE_CHECKING:
    from robocontrast_ros.policies.baselines.language_table.pushing import Pusher
    from robocontrast_ros.tasks.language_table import LanguageTable


@record
class NoisyOracleParameters:
    """The file config/policies/noisy_oracle.yaml."""

    policy: str = Field(description="plug-in that reads this file")
    name: str = Field(min_length=1, description="name of the policy in results")
    oracle: str = Field(description="URI of the parameter file of the oracle without noise")
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


class NoisyOracle:
    """The oracle with Gaussian noise and a chance of misunderstanding, all from the trial's seed."""

    def __init__(self, parameters: NoisyOracleParameters, oracle: OracleParameters, task: LanguageTable) -> None:
        self._parameters = parameters
        self._oracle = _Misunderstanding(parameters, oracle, task)
        self.reset("", 0)

    @classmethod
    def from_file(cls, path: Path) -> NoisyOracle:
        """Return the policy that a parameter file describes.

        Raises:
            ConfigurationError: the file, or one that it names, does not fit.
        """
        parameters = load_record(NoisyOracleParameters, path)
        return cls(parameters, *read_oracle(resolve_uri(parameters.oracle, path.parent)))

    @classmethod
    def describe_file(cls, path: Path) -> PolicyDescription:
        """Return the description of the policy of a parameter file, without the oracle's file.

        Raises:
            ConfigurationError: the file does not fit.
        """
        return describe(load_record(NoisyOracleParameters, path).name)

    def describe(self) -> PolicyDescription:
        """Return the oracle's description with its own name."""
        return describe(self._parameters.name)

    def reset(self, instruction: str, seed: int) -> None:
        """Begin a trial; noise and misunderstandings come from the seed."""
        self._noise, self._oracle.mistakes = np.random.default_rng(seed).spawn(2)
        self._oracle.reset(instruction, seed)

    def act(self, observation: Observation) -> NDArray[np.float64]:
        """Return the next displacement, shape (1, 2) [m].

        Raises:
            ValueError: as ``Oracle.act``.
        """
        action = self._oracle.act(observation)
        return action + self._noise.normal(0.0, self._parameters.action_noise, action.shape)


class _Misunderstanding(Oracle):
    """An oracle that may take an instruction for another one."""

    mistakes: np.random.Generator

    def __init__(self, chances: NoisyOracleParameters, oracle: OracleParameters, task: LanguageTable) -> None:
        super().__init__(oracle, task)
        self._chances = chances

    def pusher(self, instruction: Instruction, start: Scene) -> Pusher:
        from robocontrast_ros.tasks.language_table.goals import DIRECTIONS, LOCATIONS

        chances = self._chances
        # All chances are drawn for every instruction, so that trials of one seed are comparable.
        turned, swapped, habitual = self.mistakes.random(3) < (
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
        return super().pusher(replace(instruction, arguments=tuple(arguments.items())), start)

    def _roomier(self, direction: str, x: float, y: float) -> str:
        """Return the direction or its opposite, whichever has more of the board before it."""
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
        return others[self.mistakes.integers(len(others))]
