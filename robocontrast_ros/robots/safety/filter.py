"""The common part of all safety filters: their interface, and limits of commanded motion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import Intervention, RobotState
from robocontrast_ros.robots.commands import RobotCommand
from robocontrast_ros.robots.safety_limits import Limit
from robocontrast_ros.robots.state_estimation import Reading

SLACK = 1e-9
"""Share of a limit by which rounding may exceed it."""

HALVINGS = 20
"""Halvings in the search for the greatest allowed share of a step."""


@dataclass(frozen=True)
class Checked:
    """The filter's answer to a command.

    Attributes:
        command: the command to send: the given one if it exceeds no limit; None if the robot has to stop.
        interventions: the limits that it exceeds, at most one of each kind.
    """

    command: RobotCommand | None
    interventions: tuple[Intervention, ...] = ()


class SafetyFilter(Protocol):
    """Keeps one robot within its limits under any command.

    The *commanded* motion is limited: its velocity is the mean over a control period, and acceleration and jerk are
    differences of that from period to period. A driver that interpolates moves differently in between. A robot may be
    slowed down at once: a velocity between 0 and one that a limit of acceleration or jerk allows is also allowed.
    """

    def begin(self) -> None:
        """Begin an episode, or continue after a stop: the robot is at rest."""

    def check(self, command: RobotCommand, state: RobotState, person_near: bool) -> Checked:
        """Return the command that may be sent in place of one.

        Args:
            command: command for the coming control period.
            state: state of the robot, by its newest reading.
            person_near: whether a person is near, so that it has to be slower.
        """

    def held(self, command: RobotCommand) -> None:
        """Record a command to stop and stay, which is never refused."""

    def sprung(self, state: RobotState, reading: Reading) -> Intervention | None:
        """Return the jump by which a robot came free that its commands had pressed against something; None if none did.

        It goes to its target faster than it can drive.

        Args:
            state: the robot's state before.
            reading: the reading after it, which is too far away.
        """

    def homing(self, reading: Reading, person_near: bool) -> tuple[float, Intervention | None]:
        """Return the limits of the robot's way to the start of an episode, or to its posture of rest.

        Args:
            reading: newest reading of the robot.
            person_near: whether a person is near, so that it has to be slower.

        Returns:
            The share of its homing speed, above 0; and the limit because of which it has to stop, or None.
        """


@dataclass(frozen=True)
class Bound:
    """A limit of one axis.

    Attributes:
        limit: greatest value; infinite if there is none.
        action: ``slow`` or ``stop``.
        unit: unit of the limit.
    """

    limit: float
    action: str
    unit: str

    @classmethod
    def of(cls, given: Limit, unit: str, own: float = np.inf) -> Bound:
        """Return a limit of a robot's file, at most the robot's own."""
        return cls(own if given.limit is None else min(given.limit, own), given.action, unit)


class AxisMotion:
    """The commanded velocities of a robot's axes, period after period, and their limits."""

    def __init__(
        self,
        axes: Sequence[str],
        velocity: Sequence[Bound],
        acceleration: Sequence[Bound],
        jerk: Sequence[Bound],
        reduced_speed: float,
        period: float,
    ) -> None:
        """Take names and limits of the axes.

        Args:
            axes: names.
            velocity: limit of each axis.
            acceleration: limit of each axis.
            jerk: limit of each axis.
            reduced_speed: share of the velocities that is allowed while a person is near.
            period: duration of a control step [s].
        """
        self._axes, self._period = tuple(axes), period
        self._bounds = {"velocity": velocity, "acceleration": acceleration, "jerk": jerk}
        # A row for each kind; a limit times its time is the greatest distance of a velocity from the limit's centre.
        self._limits = np.array([[bound.limit for bound in of] for of in self._bounds.values()])
        self._times = np.array([[1.0], [period], [period * period]])
        self._slower = np.array([[reduced_speed], [1.0], [1.0]])
        self._still = np.zeros(len(self._axes))
        self.rest()

    def rest(self) -> None:
        """Take the robot to be at rest."""
        self._velocity = self._acceleration = self._still

    def moved(self, velocity: NDArray[np.float64]) -> None:
        """Record the velocities [rad/s or m/s] that were commanded for a control period."""
        self._acceleration = (velocity - self._velocity) / self._period
        self._velocity = velocity

    def allowed(self, wanted: NDArray[np.float64], person_near: bool) -> tuple[float, list[Intervention]]:
        """Return the greatest share of velocities [rad/s or m/s] that holds all limits, and the limits that reduce it.

        It is 1 if the velocities hold all limits; 0, a hold, always does.
        """
        limits = self._limits * self._slower if person_near else self._limits
        centres = np.array([self._still, self._velocity, self._velocity + self._acceleration * self._period])
        reach = limits * self._times
        slack = SLACK * reach
        low, high = np.minimum(centres - reach, 0.0), np.maximum(centres + reach, 0.0)
        beyond = (wanted < low - slack) | (wanted > high + slack)
        if not beyond.any():
            return 1.0, []
        shares = np.where(beyond, np.where(wanted > 0.0, high, low) / np.where(beyond, wanted, 1.0), 1.0)
        asked = np.abs(wanted - centres) / self._times
        found = [
            self._intervention(kind, beyond[row], shares[row], asked[row], limits[row], person_near)
            for row, kind in enumerate(self._bounds)
            if beyond[row].any()
        ]
        return float(shares.min()), found

    def _intervention(
        self,
        kind: str,
        beyond: NDArray[np.bool_],
        shares: NDArray[np.float64],
        asked: NDArray[np.float64],
        limits: NDArray[np.float64],
        person_near: bool,
    ) -> Intervention:
        """Return the intervention of the worst axis of a kind; of those that stop the robot, if there are any."""
        bounds = self._bounds[kind]
        stops = beyond & np.array([bound.action == "stop" for bound in bounds])
        worst = int(np.argmin(np.where(stops if stops.any() else beyond, shares, np.inf)))
        bound = bounds[worst]
        values = float(asked[worst]), float(limits[worst])
        return Intervention(kind, self._axes[worst], *values, bound.unit, bound.action, person_near)


def greatest_share(start: float, holds: Callable[[float], bool]) -> float:
    """Return a share of a step, up to a given one, at which a condition holds; it holds at 0."""
    if holds(start):
        return start
    low, high = 0.0, start
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def stops(interventions: Sequence[Intervention]) -> bool:
    """Return whether one of them stops the robot."""
    return any(each.action == "stop" for each in interventions)
