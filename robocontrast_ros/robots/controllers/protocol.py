"""The interface of a controller, which turns a policy's actions into commands that a robot may execute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import ActionConventions, RobotState
from robocontrast_ros.domain.channels import Channel
from robocontrast_ros.robots.commands import RobotCommand


@dataclass(frozen=True)
class ControlStep:
    """One control period of an action.

    Attributes:
        command: command for the robot.
        clamped: whether the robot does less than the action asks for.
        reasons: reasons of the clamping, in words; empty if not clamped.
    """

    command: RobotCommand
    clamped: bool = False
    reasons: tuple[str, ...] = ()


Action = Sequence[float] | NDArray[np.float64]


class Controller(Protocol):
    """Turns actions of one action space into commands of one robot.

    Attributes:
        channels: meaning of an action's numbers, one channel after the other.
        action_size: numbers in one action.
        conventions: their meaning, in full.
    """

    channels: tuple[Channel, ...]
    action_size: int
    conventions: ActionConventions

    def reset(self, state: RobotState) -> None:
        """Begin an episode with the robot in its present state."""

    def ends_episode(self, action: Action) -> bool:
        """Return whether the action ends the episode; such an action is not begun."""

    def begin(self, action: Action, state: RobotState) -> None:
        """Begin an action; the rest of the one before is dropped.

        Args:
            action: `action_size` numbers, SI units.
            state: state of the robot now.

        Raises:
            ValueError: the action has another size, or a number that is not finite or has no meaning; the
                robot must be stopped with `hold`.
        """

    def step(self, state: RobotState) -> ControlStep | None:
        """Return the command for the next control period; None if the action is done.

        An action takes at least one control period.
        """

    def hold(self, state: RobotState) -> RobotCommand:
        """Return the command to stop and stay."""
