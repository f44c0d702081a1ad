"""What the console does to the session and the robot: services of episode_manager and watchdog."""

from __future__ import annotations

from typing import Any

from rclpy.client import Client
from rclpy.node import Node
from std_msgs.msg import Empty
from std_srvs.srv import Trigger

from robocontrast_ros.console.console import Refused
from robocontrast_ros.nodes.runtime.channel import NoAnswer, call
from robocontrast_ros.nodes.runtime.qos import RECORDED
from robocontrast_ros.srv import AbortSession, PauseSession, ReleaseStop, ResumeSession

ANSWER = 5.0
"""How long a service may take to answer [s]."""


class ServiceSteering:
    """A ``console.console.Steering``. Its methods block for some milliseconds."""

    def __init__(self, node: Node, manager: str, watchdog: str) -> None:
        """Make the clients.

        Args:
            node: whose answers are taken by another thread.
            manager: name of the episode manager's node.
            watchdog: name of the watchdog's node.
        """
        self._reached = node.create_publisher(Empty, "reached", RECORDED)
        self._stop = node.create_client(Trigger, f"{watchdog}/stop")
        self._release = node.create_client(ReleaseStop, f"{watchdog}/release")
        self._pause = node.create_client(PauseSession, f"{manager}/pause")
        self._resume = node.create_client(ResumeSession, f"{manager}/resume")
        self._abort = node.create_client(AbortSession, f"{manager}/abort")

    def stop(self, reason: str) -> None:
        """Stop the robot, and keep it stopped."""
        if not _asked(self._stop, Trigger.Request()).success:
            raise Refused("the watchdog did not stop the robot: press the emergency stop")

    def release(self, by: str, note: str) -> None:
        """Let it move again."""
        _accepted(self._release, ReleaseStop.Request(by=by, note=note))

    def reached(self) -> None:
        """Let the trial end: its goal is reached."""
        self._reached.publish(Empty())

    def pause(self) -> None:
        """Have the session wait after the present trial."""
        _accepted(self._pause, PauseSession.Request())

    def resume(self) -> None:
        """Have it go on."""
        _accepted(self._resume, ResumeSession.Request())

    def end(self) -> None:
        """End it."""
        _accepted(self._abort, AbortSession.Request())


def _accepted(client: Client, request: Any) -> None:
    response = _asked(client, request)
    if not response.accepted:
        raise Refused(response.detail)


def _asked(client: Client, request: Any) -> Any:
    try:
        return call(client, request, ANSWER)
    except NoAnswer as error:
        raise Refused(f"{error}; to stop the robot press the emergency stop") from None
