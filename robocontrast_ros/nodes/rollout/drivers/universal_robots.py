"""ur_robot_driver's own state: whether the robot runs, its safety is normal, and its program takes commands."""

from __future__ import annotations

import threading
from typing import Any

from rclpy.node import Node
from std_msgs.msg import Bool

from robocontrast_ros.nodes.rollout.drivers.faults import Kind, absence, interface, robot_fault
from robocontrast_ros.nodes.runtime.qos import LATCHED
from robocontrast_ros.robots.drivers import UniversalRobots

CURES = {
    "PROTECTIVE_STOP": "find out what it met, unlock the protective stop on the pendant, and start the program again",
    "SAFEGUARD_STOP": "close the safeguard, and reset it",
    "SYSTEM_EMERGENCY_STOP": "release the emergency stop, and start the robot on the pendant",
    "ROBOT_EMERGENCY_STOP": "release the emergency stop, and start the robot on the pendant",
    "REDUCED": "leave the reduced mode, in which the robot is slower than trials assume",
}
"""Safety mode -> a person's action against it; nothing here recovers from one."""


class UniversalRobotsState:
    """The modes that the driver's status controller publishes latched."""

    def __init__(self, node: Node, settings: UniversalRobots) -> None:
        """Subscribe.

        Raises:
            BenchFault: ur_dashboard_msgs is not installed.
        """
        self._node, self._changed = node, threading.Condition()
        self._robot_mode = interface("ur_dashboard_msgs/msg/RobotMode")
        self._safety_mode = interface("ur_dashboard_msgs/msg/SafetyMode")
        self._topics = {
            f"{settings.status}/robot_mode": self._robot_mode,
            f"{settings.status}/safety_mode": self._safety_mode,
            f"{settings.status}/robot_program_running": Bool,
        }
        self._values: dict[str, Any] = {}
        for topic, kind in self._topics.items():
            node.create_subscription(kind, topic, lambda message, topic=topic: self._put(topic, message), LATCHED)

    def check(self, timeout: float) -> None:
        """Wait for all modes.

        Raises:
            BenchFault: ROBOT_FAULT; a mode is not published, or the robot takes no commands.
        """
        with self._changed:
            known = self._changed.wait_for(lambda: len(self._values) == len(self._topics), timeout)
            missing = [topic for topic in self._topics if topic not in self._values]
        if not known:
            raise robot_fault(absence(self._node, missing[0], Kind.TOPIC))
        if problem := self.problem():
            raise robot_fault(problem)

    def problem(self) -> str:
        """Return why the robot takes no commands, and the cure; empty if it takes them, or nothing is known."""
        with self._changed:
            values = list(map(self._values.get, self._topics))
        robot, safety, program = values
        if safety is not None and safety.mode != self._safety_mode.NORMAL:
            name = constant(self._safety_mode, safety.mode)
            cure = CURES.get(name, "look at the pendant")
            return f"the safety mode of the robot is {name} ({safety.mode}), not NORMAL: {cure}"
        if robot is not None and robot.mode != self._robot_mode.RUNNING:
            name = constant(self._robot_mode, robot.mode)
            return f"the mode of the robot is {name} ({robot.mode}), not RUNNING: power it on and release its brakes"
        if program is not None and not program.data:
            return (
                "the robot's program does not run: press play for External Control on the pendant, or call "
                "resend_robot_program where the driver is headless"
            )
        return ""

    def _put(self, topic: str, message: Any) -> None:
        with self._changed:
            self._values[topic] = message
            self._changed.notify_all()


def constant(kind: Any, value: int) -> str:
    """Return the name of a constant of a message's class."""
    return next((name for name in dir(kind) if name.isupper() and getattr(kind, name) == value), "unknown")
