"""What every controller is: the way from a policy's actions to commands that the robot may execute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import ActionConventions, RobotState
from robocontrast_ros.robots.commands import RobotCommand


@dataclass(frozen=True)
class ControlStep:
    """What an action becomes in one control period.

    Attributes:
        command: what goes to the robot.
        clamped: whether the robot does less than the action asked for.
        reasons: why, in words; empty when it was not clamped.
    """

    command: RobotCommand
    clamped: bool = False
    reasons: tuple[str, ...] = ()


Action = Sequence[float] | NDArray[np.float64]


class Controller(Protocol):
    """The way from actions of one action space to commands of one robot.

    Attributes:
        action_size: numbers in one action.
        conventions: what they mean; none of it is left open.
    """

    action_size: int
    conventions: ActionConventions

    def reset(self, state: RobotState) -> None:
        """Begin an episode with the robot where it is."""

    def ends_episode(self, action: Action) -> bool:
        """Tell whether the action says that the robot is done; it is then not begun."""

    def begin(self, action: Action, state: RobotState) -> None:
        """Take an action to be carried out; what was left of the one before is dropped.

        Args:
            action: `action_size` numbers, SI units.
            state: where the robot is now.

        Raises:
            ValueError: the action has another size, or a number that is not finite or has no meaning; the
                robot must be stopped with `hold`.
        """

    def step(self, state: RobotState) -> ControlStep | None:
        """Return what the robot is to do during the next control period; None when the action is done.

        An action takes at least one control period.
        """

    def hold(self, state: RobotState) -> RobotCommand:
        """Return the safe stop: stay where the robot is now."""
