"""Joint trajectories as goals of an action, by which the controller reports whether it follows."""

from __future__ import annotations

from typing import Any

from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Time

from robocontrast_ros.nodes.conversions.driver import command_to_msgs
from robocontrast_ros.nodes.rollout.drivers.arm import ArmRobot
from robocontrast_ros.nodes.rollout.drivers.controllers import ControllerParameters
from robocontrast_ros.nodes.rollout.drivers.faults import interface
from robocontrast_ros.nodes.rollout.drivers.goals import Goals, status_in_words
from robocontrast_ros.nodes.rollout.drivers.universal_robots import constant
from robocontrast_ros.robots.commands import JointTrajectoryCommand, RobotCommand
from robocontrast_ros.robots.manipulator import ManipulatorProfile

STANDS = 0.02
"""Greatest distance of joints from the place of their stop without a new stop [rad]. Positions are measured, and an arm
that is stopped at each measured position again and again would sink."""


class FollowJointTrajectoryRobot(ArmRobot):
    """The port `follow_joint_trajectory`. Each command is a goal of one point, which replaces the one before.

    joint_trajectory_controller goes on from the present point of the previous trajectory, and aborts the previous goal
    with INVALID_GOAL; a cancelled goal ends at the arm's present place, or at the place of its halt.
    """

    _profile: ManipulatorProfile

    def _connect(self) -> None:
        self._controller = self._profile.driver.follow_joint_trajectory.controller
        super()._connect()
        self._kind = interface("control_msgs/action/FollowJointTrajectory")
        self._goals = Goals(self._node, self._kind, f"{self._controller}/follow_joint_trajectory")
        self._parameters_of = ControllerParameters(self._node, self._controller, self._timeout)
        self._newest, self._rejected = 0, False
        self._stopped: dict[str, float] = {}

    @property
    def stop_answered(self) -> bool:
        """Whether the controller, and the hand, have answered a stop."""
        return self._goals.answered and super().stop_answered

    def _check_driver(self) -> None:
        self._goals.check(self._timeout)
        self._goals.forget()
        self._rejected = False
        self._ordered(self._parameters_of)

    def _problem(self) -> str:
        if (since := self._goals.unanswered()) > self._timeout:
            self._goals.forget()
            return (
                f"the controller '{self._controller}' has neither accepted nor rejected a motion for {since:.1f} s: "
                "restart the robot's driver, and look at the network"
            )
        return super()._problem()

    def _move(self, command: JointTrajectoryCommand) -> None:
        self._stopped = {}
        self._go(command)

    def _halt(self, command: RobotCommand | None) -> None:
        self._newest += 1  # goals that end from now on were ended by this stop
        self._goals.forget()
        number, there = self._newest, {}
        if isinstance(command, JointTrajectoryCommand):
            there = dict(zip(command.names, command.positions, strict=True))
        stands = bool(there) and self._stopped.keys() == there.keys()
        if stands and all(abs(there[name] - at) < STANDS for name, at in self._stopped.items()):
            there = {}
        else:
            self._stopped = there

        def hold(_: bool) -> None:
            if there and number == self._newest:
                self._go(command)

        # Held only when the others are cancelled, so that this goal is not cancelled with them. The controller holds
        # by itself an arm that a goal moved, but not one that another program moves by its topic.
        self._goals.cancel_all(hold)

    def _go(self, command: JointTrajectoryCommand) -> None:
        """Send a goal that begins now: a goal that began at the time of the observation would end in the past."""
        self._newest += 1
        number = self._newest
        (_, trajectory), *_ = command_to_msgs(self._profile, command, 0)
        trajectory.header.stamp = Time()
        goal = self._kind.Goal(trajectory=trajectory)
        self._goals.send(goal, self._on_rejection, lambda status, result: self._on_end(number, status, result))

    def _on_rejection(self) -> None:
        self._trouble.report(
            f"the controller '{self._controller}' rejected a motion. The action gives no reason, its log does: "
            "it rejects all motions while it is not active, and those with other joints than its own"
        )

    def _on_end(self, number: int, status: int, result: Any) -> None:
        kind = self._kind.Result
        replaced = number != self._newest
        if status == GoalStatus.STATUS_SUCCEEDED or (
            replaced and result.error_code in (kind.SUCCESSFUL, kind.INVALID_GOAL)
        ):
            return
        code = f"{constant(kind, result.error_code)} ({result.error_code})"
        said = f": {result.error_string.rstrip('.')}" if result.error_string else ""
        if status == GoalStatus.STATUS_CANCELED:
            what = "cancelled a motion that another process asked it to cancel"
        elif result.error_code == kind.INVALID_GOAL:
            what = f"aborted a motion with {code}{said}. Does another process command the robot?"
        else:
            what = f"{status_in_words(status)} a motion with {code}{said}. Is something in its way?"
        self._trouble.report(f"the controller '{self._controller}' {what}")
