"""How near commands of shipped sessions come to the limits of the safety filter, which never intervenes there.

Sessions of demo size run in fast mode, one a kind of policy and robot. Of the commands, as they come from the
controller: the greatest velocity, acceleration and jerk by plain differences (the filter lets a robot slow down
faster), the greatest distance from a joint's measured position to its target, and how far the tool's target is outside
of the workspace; negative is inside.

    python -m benchmark.safety_limits [--trials 3]
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from robocontrast_ros.domain import RobotState
from robocontrast_ros.robots.commands import JointTrajectoryCommand, RobotCommand, TwistCommand
from robocontrast_ros.robots.controllers.arm import workspace_margins
from robocontrast_ros.robots.kinds import make_safety_filter
from robocontrast_ros.robots.kinematics import Kinematics
from robocontrast_ros.robots.profile_base import RobotProfile
from robocontrast_ros.robots.safety.filter import Checked
from robocontrast_ros.runs.journal import EventsInMemory
from robocontrast_ros.sessions import fast_mode
from robocontrast_ros.sessions.control import SessionControl
from robocontrast_ros.sessions.loop import Session
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.system.numerics import pin
from robocontrast_ros.worlds import in_process

SESSIONS = (
    *(("language_table_demo", robot, policy) for robot in ("franka", "ur5e") for policy in ("oracle", "random")),
    *(("language_table_demo", "franka", policy) for policy in ("film_bc_state", "film_bc", "blind")),
    ("tabletop_oracle", "franka_hand", "tabletop_oracle"),
    ("tabletop_oracle", "ur5e_2f85", "tabletop_oracle"),
    *(("tabletop_demo", robot, "tabletop_state") for robot in ("franka_hand", "ur5e_2f85")),
    ("tabletop_demo", "franka_hand", "tabletop_blind"),
    *(("locobot_vln", "locobot", policy) for policy in ("vln_modular", "vln_oracle", "vln_random")),
)
"""Session, robot and policy."""


@dataclass
class Peaks:
    """The greatest of what was asked for in a session, by kind [SI units]; and how often the filter intervened."""

    greatest: dict[str, float] = field(default_factory=dict)
    interventions: Counter[str] = field(default_factory=Counter)

    def take(self, kind: str, values: NDArray[np.float64]) -> None:
        """Take the values of one command."""
        self.greatest[kind] = max(self.greatest.get(kind, -np.inf), float(values.max()))


class Watched:
    """A ``SafetyFilter`` that keeps the peaks of what it is given."""

    def __init__(self, profile: RobotProfile, period: float, peaks: Peaks) -> None:
        self._filter, self._period, self._peaks = make_safety_filter(profile, period), period, peaks
        self._kinematics = None if profile.mobile else Kinematics(profile)
        self._velocities: list[NDArray[np.float64]] = []
        self._target: NDArray[np.float64] | None = None

    def begin(self) -> None:
        """Begin an episode."""
        self._velocities, self._target = [], None
        self._filter.begin()

    def held(self, command: RobotCommand) -> None:
        """Take note of a hold."""
        self._filter.held(command)

    def check(self, command: RobotCommand, state: RobotState, person_near: bool) -> Checked:
        """Return what the filter makes of a command."""
        if isinstance(command, TwistCommand):
            self._moves(np.array([command.linear, command.angular]))
        elif isinstance(command, JointTrajectoryCommand):
            measured, target = np.asarray(state.joint_positions), np.asarray(command.positions)
            before = measured if self._target is None else self._target
            self._target = target
            self._moves((target - before) / command.duration)
            self._peaks.take("jump", np.abs(target - measured))
            self._peaks.take("outside", -workspace_margins(self._kinematics, target))
        checked = self._filter.check(command, state, person_near)
        self._peaks.interventions.update(each.kind for each in checked.interventions)
        return checked

    def _moves(self, velocity: NDArray[np.float64]) -> None:
        still = np.zeros(len(velocity))
        last = self._velocities = [*(self._velocities or [still, still])[-2:], velocity]
        accelerations = np.diff(last, axis=0) / self._period
        self._peaks.take("velocity", np.abs(velocity))
        self._peaks.take("acceleration", np.abs(accelerations[-1]))
        self._peaks.take("jerk", np.abs(np.diff(accelerations, axis=0) / self._period))


def peaks_of(session: str, robot: str, policy: str, trials: int) -> Peaks:
    """Return the peaks of the first trials of a session."""
    resolved = resolve(session, Overrides(robot=robot, policy=policy, max_trials=trials, fast=True))
    peaks = Peaks()
    in_process.make_safety_filter = lambda profile, period: Watched(profile, period, peaks)
    bench = fast_mode.open_bench(resolved)
    try:
        Session(resolved.evaluation(), bench, EventsInMemory(), SessionControl(), lambda status: None, time.time).run()
    finally:
        bench.close()
    return peaks


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=3, help="of each session")
    trials = parser.parse_args().trials
    pin(os.environ)
    kinds = ("velocity", "acceleration", "jerk", "jump", "outside")
    table = Table("session", "robot", "policy", *kinds, "interventions")
    for session, robot, policy in SESSIONS:
        peaks = peaks_of(session, robot, policy, trials)
        found = (f"{peaks.greatest[kind]:.3g}" if kind in peaks.greatest else "" for kind in kinds)
        table.add_row(session, robot, policy, *found, str(dict(peaks.interventions) or "none"))
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
