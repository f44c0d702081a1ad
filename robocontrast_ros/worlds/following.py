"""Set points of a simulated arm's servos, and of its hand's drive, of any engine: how they follow commands."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocontrast_ros.robots.commands import JointTrajectoryCommand
from robocontrast_ros.robots.manipulator import ManipulatorProfile

AHEAD = 50
"""Physics steps whose set points are computed at once; one by one they cost as much as the physics."""


class TrajectoryFollower:
    """Set points of an arm's joints, on straight lines in joint space.

    A motion starts at the set point that the previous command has reached, as in joint_trajectory_controller when it
    interpolates from the desired state.
    """

    def __init__(self, profile: ManipulatorProfile, home: NDArray[np.float64]) -> None:
        """Take the robot, and the joint positions after a reset [rad]."""
        self._profile, self._home = profile, home
        self._lower, self._upper = np.array([(joint.lower, joint.upper) for joint in profile.joints]).T
        self._lead = np.asarray(profile.servo.damping) / np.asarray(profile.servo.stiffness)
        self._ahead: list[NDArray[np.float64]] = []
        self._timestep = math.nan
        self.go_home()

    def bind(self, timestep: float) -> None:
        """Take the time of a physics step [s], and compute the set points anew."""
        self._timestep, self._ahead = timestep, []

    def go_home(self) -> None:
        """Stay at the positions after a reset."""
        self._go(_Trajectory(self._home, self._home, 1))

    def apply(self, command: JointTrajectoryCommand) -> None:
        """Go to positions, straight in joint space, and hold them.

        Raises:
            ValueError: the joints are not the robot's, a number is not finite, or the duration is negative.
        """
        profile = self._profile
        given, count = sorted(command.names), len(command.positions)
        if given != sorted(profile.joint_names) or count != len(given):
            raise ValueError(
                f"joint trajectory: got a position for {', '.join(command.names) or 'no joint'}, expected "
                f"one for each of {', '.join(profile.joint_names)}"
            )
        if not (all(map(math.isfinite, command.positions)) and 0.0 <= command.duration < math.inf):
            raise ValueError(f"joint trajectory: got {command}, expected finite positions and a duration >= 0 s")
        order = [command.names.index(name) for name in profile.joint_names]
        goal = np.asarray(command.positions, dtype=float)[order].clip(self._lower, self._upper)
        length = max(round(command.duration / self._timestep), 1)
        self._go(_Trajectory(self._trajectory.position(self._followed), goal, length))

    def next_set_points(self) -> NDArray[np.float64]:
        """Return the servos' set points for the coming physics step [rad]."""
        if not self._ahead:
            self._ahead = self._coming()
        self._followed += 1
        return self._ahead.pop()

    def _go(self, trajectory: _Trajectory) -> None:
        self._trajectory, self._followed, self._ahead = trajectory, 0, []

    def _coming(self) -> list[NDArray[np.float64]]:
        """Return the servos' set points for the coming physics steps, the next one last."""
        desired = self._trajectory.position(np.arange(self._followed, self._followed + AHEAD + 1))
        # A servo with damping lags behind a moving set point; leading by the velocity cancels that.
        velocity = (desired[1:] - desired[:-1]) / self._timestep
        return list((desired[1:] + self._lead * velocity)[::-1])


@dataclass(frozen=True)
class _Trajectory:
    """A straight line in joint space, counted in physics steps.

    Attributes:
        start: joint positions at the first step [rad].
        goal: joint positions from the last step on [rad].
        length: physics steps from the start to the goal, at least 1.
    """

    start: NDArray[np.float64]
    goal: NDArray[np.float64]
    length: int

    def position(self, step: ArrayLike) -> NDArray[np.float64]:
        """Return the joint positions after numbers of steps, shape (..., joints) [rad]."""
        share = np.minimum(np.asarray(step) / self.length, 1.0)
        return self.start + share[..., None] * (self.goal - self.start)


def hand_goal(position: float, name: str, ends: tuple[float, float]) -> float:
    """Return the goal of a hand's driven joint within its ends [rad or m].

    Raises:
        ValueError: the position is not finite.
    """
    if not math.isfinite(position):
        raise ValueError(f"gripper: got {position}, expected a finite position of '{name}'")
    low, high = sorted(ends)
    return min(max(position, low), high)


def hand_set_point(before: float, goal: float, now: float, farthest: float, ahead: float) -> float:
    """Return the set point of a hand's drive for the coming physics step [rad or m].

    It goes to the goal at the hand's greatest speed. If an object between the fingers stops them, it stays just so far
    ahead of them that they press with their whole force; so a hand begins to open at once when it is commanded to.

    Args:
        before: the previous one.
        goal: the commanded position.
        now: position of the driven joint.
        farthest: greatest motion in a step.
        ahead: distance from the joint at which it presses with its whole force.
    """
    moved = min(max(goal, before - farthest), before + farthest)
    return min(max(moved, now - ahead), now + ahead)
