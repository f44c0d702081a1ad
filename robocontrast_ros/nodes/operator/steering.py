"""The console's actions on the session and the robot, by services of episode_manager, watchdog and sim_bridge."""

from __future__ import annotations

from typing import Any

from rclpy.client import Client
from rclpy.node import Node
from std_msgs.msg import Empty
from std_srvs.srv import Trigger

from robocontrast_ros.console.console import Refused
from robocontrast_ros.console.new_instances import NotRecorded
from robocontrast_ros.domain import Fault, Judgement, Scene
from robocontrast_ros.messages.decoding import scene_from_msg
from robocontrast_ros.nodes.conversions.domain import fault_from_msg, judgement_to_msg
from robocontrast_ros.nodes.runtime.channel import NoAnswer, call
from robocontrast_ros.nodes.runtime.qos import RECORDED
from robocontrast_ros.srv import AbortSession, CorrectTrial, GetScene, PauseSession, ReleaseStop, ResumeSession

ANSWER = 5.0
"""Time limit of a service's answer [s]."""

SCORING = 600.0
"""Time limit of an answer for which a trial is scored anew from its bag [s]."""

LATER = "it may still be done: wait, and look at what the page shows"
"""Message if no answer came: the request may still be waiting."""

READING = 20.0
"""Time limit of an answer for which a camera reads the scene [s]."""


AT_THE_ROBOT = "stop it at the robot itself, by its emergency stop or its teach pendant"
"""Message on other ways to stop a robot."""


class ServiceSteering:
    """A ``console.console.Steering``. Its methods block for some milliseconds."""

    def __init__(self, node: Node, manager: str, watchdog: str, bridge: str) -> None:
        """Make the clients.

        Args:
            node: the node of the clients, whose answers another thread takes.
            manager: name of the episode manager's node.
            watchdog: name of the watchdog's node.
            bridge: name of the node that reports the scene.
        """
        self._reached = node.create_publisher(Empty, "reached", RECORDED)
        self._stop = node.create_client(Trigger, f"{watchdog}/stop")
        self._release = node.create_client(ReleaseStop, f"{watchdog}/release")
        self._pause = node.create_client(PauseSession, f"{manager}/pause")
        self._resume = node.create_client(ResumeSession, f"{manager}/resume")
        self._correct = node.create_client(CorrectTrial, f"{manager}/correct_trial")
        self._scene = node.create_client(GetScene, f"{bridge}/get_scene")
        self._abort = node.create_client(AbortSession, f"{manager}/abort")

    def stop(self, reason: str) -> None:
        """Stop the robot, and keep it stopped."""
        if not _asked(self._stop, Trigger.Request(), cure=AT_THE_ROBOT).success:
            raise Refused(f"the watchdog did not stop the robot: {AT_THE_ROBOT}")

    def release(self, by: str, note: str) -> None:
        """Let the robot move again."""
        _accepted(self._release, ReleaseStop.Request(by=by, note=note))

    def reached(self) -> None:
        """Let the trial end: its goal is reached."""
        self._reached.publish(Empty())

    def pause(self) -> None:
        """Have the session wait after the present trial."""
        _accepted(self._pause, PauseSession.Request())

    def resume(self) -> None:
        """Have the session go on."""
        _accepted(self._resume, ResumeSession.Request())

    def correct(self, trial_id: str, judgement: Judgement, reason: str) -> None:
        """Correct how a trial was judged."""
        said = judgement_to_msg(judgement, 0)
        _accepted(self._correct, CorrectTrial.Request(trial_id=trial_id, judgement=said, reason=reason), SCORING)

    def scene(self) -> Scene:
        """Return the present scene, as far as it is known.

        Raises:
            NotRecorded: the scene is not known.
        """
        try:
            response = call(self._scene, GetScene.Request(), READING)
        except NoAnswer as error:
            raise NotRecorded(str(error)) from None
        fault, detail = fault_from_msg(response.fault)
        if fault is not Fault.NONE:
            raise NotRecorded(detail or fault.name)
        return scene_from_msg(response.scene)

    def end(self) -> None:
        """End the session."""
        _accepted(self._abort, AbortSession.Request())


def _accepted(client: Client, request: Any, timeout: float = ANSWER) -> None:
    response = _asked(client, request, timeout)
    if not response.accepted:
        raise Refused(response.detail)


def _asked(client: Client, request: Any, timeout: float = ANSWER, cure: str = LATER) -> Any:
    try:
        return call(client, request, timeout)
    except NoAnswer as error:
        raise Refused(f"{error}; {cure}") from None
