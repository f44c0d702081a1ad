"""Hands that take actions of their drivers, and not a topic."""

from __future__ import annotations

import math
import threading
from collections.abc import Collection
from typing import Any

from action_msgs.msg import GoalStatus
from rclpy.node import Node
from std_srvs.srv import Trigger

from robocontrast_ros.nodes.rollout.drivers.faults import Trouble, interface, robot_fault
from robocontrast_ros.nodes.rollout.drivers.goals import Goals
from robocontrast_ros.robots.drivers import FrankaGripper, GripperAction
from robocontrast_ros.robots.manipulator import ManipulatorProfile

SAME = 1e-3
"""Greatest distance of the driven joint's next position from the last goal without a new goal [m or rad]."""

HOMING_TIMEOUT = 30.0
"""Time limit for a hand to find its greatest width [s]."""


class Hand:
    """A hand that takes a goal whenever its commanded position changes."""

    def __init__(self, trouble: Trouble) -> None:
        """Take the receiver of problems."""
        self._trouble, self._position = trouble, math.nan

    def check(self, timeout: float) -> None:
        """Make sure that the actions exist.

        Raises:
            BenchFault: ROBOT_FAULT.
        """
        raise NotImplementedError

    def home(self) -> None:
        """Have the hand find its greatest width, once, if the robot's file wants it.

        Raises:
            BenchFault: ROBOT_FAULT.
        """

    def command(self, position: float) -> None:
        """Have the driven joint go to a position [m or rad], without waiting."""
        if abs(position - self._position) <= SAME:
            return
        before, self._position = self._position, position
        self._send(position, before)

    def forget(self) -> None:
        """Send the next position in any case, and ignore answers: something else may have moved the hand."""
        self._position = math.nan
        for goals in self._actions():
            goals.forget()

    def stop(self) -> None:
        """Cancel all goals, whoever sent them, without waiting; a hand that holds an object goes on holding it.

        Raises:
            BenchFault: ROBOT_FAULT; an action does not exist.
        """
        self.forget()
        for goals in self._actions():
            goals.cancel_all(self._on_cancelled)

    @property
    def stop_answered(self) -> bool:
        """Whether all actions have answered a stop."""
        return all(goals.answered for goals in self._actions())

    def unanswered(self) -> float:
        """Return the longest time for which a goal has been neither accepted nor rejected [s]; 0 for none."""
        return max(goals.unanswered() for goals in self._actions())

    def _actions(self) -> Collection[Goals]:
        raise NotImplementedError

    def _on_cancelled(self, moved: bool) -> None:
        """Record that an action has answered a stop, and whether one of its goals was being carried out."""

    def _send(self, position: float, before: float) -> None:
        raise NotImplementedError


class FrankaHand(Hand):
    """franka_gripper: `grasp` closes, `move` opens."""

    def __init__(self, node: Node, profile: ManipulatorProfile, settings: FrankaGripper, trouble: Trouble) -> None:
        """Make the clients."""
        super().__init__(trouble)
        self._settings, self._hand = settings, profile.end_effector
        self._types = {name: interface(f"franka_msgs/action/{name.title()}") for name in ("move", "grasp", "homing")}
        self._goals = {name: Goals(node, kind, f"{settings.node}/{name}") for name, kind in self._types.items()}
        self._homed, self._newest = not settings.homing, 0
        self._halt = node.create_client(Trigger, f"{settings.node}/stop")

    def check(self, timeout: float) -> None:
        """Make sure that the actions exist."""
        for goals in self._goals.values():
            goals.check(timeout)

    def home(self) -> None:
        """Have the hand find its greatest width, once, if the robot's file wants it."""
        if not self._homed:
            _, result = awaited(self._goals["homing"], self._types["homing"].Goal(), HOMING_TIMEOUT)
            if not result.success:
                raise robot_fault(f"the hand was not homed: {result.error or 'it says no more'}")
            self._homed = True

    def _actions(self) -> Collection[Goals]:
        return self._goals.values()

    def _send(self, position: float, before: float) -> None:
        width = self._hand.width([position] * len(self._hand.joints))
        settings, kind = self._settings, self._types["grasp"]
        if math.isnan(before) or position >= before:
            name, goal = "move", self._types["move"].Goal(width=width, speed=settings.speed)
        else:
            name = "grasp"
            goal = kind.Goal(width=width, speed=settings.speed, force=settings.force)
            # An object of any width may be between the fingers.
            goal.epsilon.inner = goal.epsilon.outer = self._hand.width([j.open for j in self._hand.joints])
        self._newest += 1
        number = self._newest
        self._goals[name].send(
            goal,
            lambda: self._trouble.report(f"the hand's driver rejected the goal of '{name}': its log says why"),
            lambda status, result: self._ended(number, name, result),
        )

    def _on_cancelled(self, moved: bool) -> None:
        # franka_gripper looks for cancelled goals now and then; its service stops at once. If no goal is being
        # carried out nothing moves, and a held object must not be let go.
        if moved and self._halt.service_is_ready():
            self._halt.call_async(Trigger.Request())

    def _ended(self, number: int, name: str, result: Any) -> None:
        # A hand that grasps nothing has no success, but also no error; a replaced goal has an error.
        if number == self._newest and result.error:
            self._trouble.report(f"the hand did not {name}: {result.error}; is it homed?")


class ActionHand(Hand):
    """A hand by control_msgs/action/GripperCommand."""

    def __init__(self, node: Node, settings: GripperAction, trouble: Trouble) -> None:
        """Make the client."""
        super().__init__(trouble)
        self._settings, self._kind = settings, interface("control_msgs/action/GripperCommand")
        self._goals, self._newest = Goals(node, self._kind, settings.action), 0

    def check(self, timeout: float) -> None:
        """Make sure that the action exists."""
        self._goals.check(timeout)

    def _actions(self) -> Collection[Goals]:
        return (self._goals,)

    def _send(self, position: float, before: float) -> None:
        goal = self._kind.Goal()
        goal.command.position, goal.command.max_effort = position, self._settings.max_effort
        self._newest += 1
        number = self._newest
        self._goals.send(
            goal,
            lambda: self._trouble.report(f"'{self._goals.name}' rejected the goal {position:g}: its log says why"),
            lambda status, result: self._ended(number, status, result),
        )

    def _ended(self, number: int, status: int, result: Any) -> None:
        # Replaced goals are also aborted; a hand that holds an object stalls.
        if number == self._newest and status == GoalStatus.STATUS_ABORTED and not result.stalled:
            self._trouble.report(f"'{self._goals.name}' aborted its goal at {result.position:g}: its log says why")


def awaited(goals: Goals, goal: Any, timeout: float) -> tuple[int, Any]:
    """Send a goal and return its status and result.

    Raises:
        BenchFault: ROBOT_FAULT; the goal was rejected, or has not ended within the time [s].
    """
    done, outcome = threading.Event(), []

    def ended(status: int, result: Any) -> None:
        outcome[:] = [status, result]
        done.set()

    goals.send(goal, done.set, ended)
    if not done.wait(timeout):
        raise robot_fault(f"'{goals.name}' has not ended after {timeout:g} s: look at the driver's log")
    if not outcome:
        raise robot_fault(f"'{goals.name}' rejected its goal: its log says why")
    return outcome[0], outcome[1]


def make_hand(node: Node, profile: ManipulatorProfile, trouble: Trouble) -> Hand | None:
    """Return the hand that takes actions; None if there is no hand, or its commands go to a topic."""
    settings = profile.driver.hand if profile.driver is not None else None
    if isinstance(settings, FrankaGripper):
        return FrankaHand(node, profile, settings, trouble)
    return ActionHand(node, settings, trouble) if settings is not None else None
