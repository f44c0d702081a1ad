"""Hands by their drivers' actions, in place of a topic."""

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
"""How far the driven joint's next position may be from the last goal without being a goal of its own [m or rad]."""

HOMING_TIMEOUT = 30.0
"""How long a hand may take to find its greatest width [s]."""


class Hand:
    """A hand that takes goals: one whenever the position that it is to go to changes."""

    def __init__(self, trouble: Trouble) -> None:
        """Take what troubles are told to."""
        self._trouble, self._position = trouble, math.nan

    def check(self, timeout: float) -> None:
        """Make sure that the actions are there.

        Raises:
            BenchFault: ROBOT_FAULT.
        """
        raise NotImplementedError

    def home(self) -> None:
        """Have the hand find its greatest width, once, where that is wanted.

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
        """Take the next position to be another one, and no answers: somebody else may have moved the hand."""
        self._position = math.nan
        for goals in self._actions():
            goals.forget()

    def stop(self) -> None:
        """Cancel all goals, whoever sent them, without waiting; a hand that has closed on something goes on holding it.

        Raises:
            BenchFault: ROBOT_FAULT; an action is not there.
        """
        self.forget()
        for goals in self._actions():
            goals.cancel_all(self._on_cancelled)

    @property
    def stop_answered(self) -> bool:
        """Whether all actions have answered a stop."""
        return all(goals.answered for goals in self._actions())

    def unanswered(self) -> float:
        """Return for how long a goal has been neither accepted nor rejected [s]; 0 where none is."""
        return max(goals.unanswered() for goals in self._actions())

    def _actions(self) -> Collection[Goals]:
        raise NotImplementedError

    def _on_cancelled(self, moved: bool) -> None:
        """Take note that an action has answered a stop, and whether a goal of it was being carried out."""

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
        """Make sure that the actions are there."""
        for goals in self._goals.values():
            goals.check(timeout)

    def home(self) -> None:
        """Have the hand find its greatest width, once, where that is wanted."""
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
            # Of whatever is between the fingers.
            goal.epsilon.inner = goal.epsilon.outer = self._hand.width([j.open for j in self._hand.joints])
        self._newest += 1
        number = self._newest
        self._goals[name].send(
            goal,
            lambda: self._trouble.report(f"the hand's driver rejected the goal of '{name}': its log says why"),
            lambda status, result: self._ended(number, name, result),
        )

    def _on_cancelled(self, moved: bool) -> None:
        # franka_gripper looks for cancelled goals now and then; its service stops at once. Where no goal is being
        # carried out nothing moves, and what is held must not be let go.
        if moved and self._halt.service_is_ready():
            self._halt.call_async(Trigger.Request())

    def _ended(self, number: int, name: str, result: Any) -> None:
        # A hand that grasps nothing has no success, and no error either; a goal that was replaced has one.
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
        """Make sure that the action is there."""
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
        # Replaced goals are aborted, too; a hand that holds something stalls.
        if number == self._newest and status == GoalStatus.STATUS_ABORTED and not result.stalled:
            self._trouble.report(f"'{self._goals.name}' aborted its goal at {result.position:g}: its log says why")


def awaited(goals: Goals, goal: Any, timeout: float) -> tuple[int, Any]:
    """Send a goal and return its status and result.

    Raises:
        BenchFault: ROBOT_FAULT; it was rejected, or has not ended within the time [s].
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
    """Return what moves the hand by actions; None where there is none, or its commands go to a topic."""
    settings = profile.driver.hand if profile.driver is not None else None
    if isinstance(settings, FrankaGripper):
        return FrankaHand(node, profile, settings, trouble)
    return ActionHand(node, settings, trouble) if settings is not None else None
