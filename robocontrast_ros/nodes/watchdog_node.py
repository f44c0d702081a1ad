"""watchdog: stops the robot if its control loop, its sensors or its policy are silent, or on request."""

from __future__ import annotations

import time
from functools import partial
from typing import Any, cast

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import CameraInfo
from std_msgs.msg import String
from std_srvs.srv import Trigger

from robocontrast_ros.configuration import load_plugin
from robocontrast_ros.domain import nanoseconds
from robocontrast_ros.episodes.watch import BEATS, Beat, Limits, Phase, Stop, Watch
from robocontrast_ros.graph.parameters.rollout import WatchdogParameters
from robocontrast_ros.messages.decoding import stamp_from_msg
from robocontrast_ros.msg import Heartbeat, Stopped
from robocontrast_ros.nodes.conversions.domain import time_to_msg
from robocontrast_ros.nodes.rollout.inbox import Inbox
from robocontrast_ros.nodes.rollout.recorder_watch import Uncounted
from robocontrast_ros.nodes.runtime.main import run_node
from robocontrast_ros.nodes.runtime.parameters import declare_record
from robocontrast_ros.nodes.runtime.qos import LATCHED, LOCKSTEP, STATE
from robocontrast_ros.nodes.runtime.stream import Stream
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.srv import ReleaseStop
from robocontrast_ros.system.scheduling import run_before_others

LOOKS = {BEATS: 20, 1: 1}
"""Heartbeats in a control period -> checks for silence in a control period."""


class Watchdog(Node):
    """Stops the robot, through its own port to the robot's driver.

    All work runs in one thread: between two looks, the executor takes the messages that have arrived.
    """

    def __init__(self) -> None:
        """Declare the parameters; make the robot's port, the inputs, the services and the timer of the looks."""
        super().__init__("watchdog")
        self._node_parameters = parameters = declare_record(self, WatchdogParameters)
        profile = load_profile(parameters.robot)
        cameras = {c.name: c.info_topic for c in profile.cameras if c.name in parameters.watched_cameras}
        inputs = {"state": parameters.state_limit}
        inputs |= {f"camera/{name}": parameters.camera_limit for name in cameras}
        self._watch = Watch(
            Limits(parameters.heartbeat_limit, parameters.loop_limit, parameters.policy_limit, inputs), self.get_name()
        )
        port = load_plugin("robot_ports", profile.port, str(parameters.robot), "port")
        self._phase, self._latched = Phase.IDLE, cast("Stop | None", None)
        self._inbox = Inbox(self, self._hear, only=profile.state.topic)
        self._inbox.needed = lambda: self._phase.moves or self._latched is not None
        self._robot = port(self, profile, parameters, self._inbox, Uncounted())
        self.create_subscription(Heartbeat, "heartbeat", self._beat, STATE)
        self._cameras = [Stream(partial(self._heard, f"camera/{name}")) for name in cameras]
        for stream, topic in zip(self._cameras, cameras.values(), strict=True):
            stream.subscription = self.create_subscription(
                CameraInfo, topic, stream.put, qos_profile_sensor_data, raw=True
            )
        self.create_subscription(String, "stop", self._asked_by_topic, LOCKSTEP)
        # Requests by a service or the command are also published on `stop`, so that the bag has every request.
        self._requests = self.create_publisher(String, "stop", LOCKSTEP)
        self._publisher = self.create_publisher(Stopped, "stopped", LATCHED)
        self.create_service(Trigger, "~/stop", self._stop)
        self.create_service(ReleaseStop, "~/release", self._release)
        self._failure, self._due, self._stop_due, self._proven = "", 0.0, 0.0, False
        # The first line of a log takes some 50 ms of a processor, and this process runs before others: this kept the
        # driver from reading the stop command. So a line is written now.
        self.get_logger().info(f"watches the rollout, {', '.join(inputs)}")
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._looks = self.create_timer(self._look_period, self._look, clock=steady)

    def _beat(self, message: Heartbeat) -> None:
        beat = Beat(Phase(message.phase), message.turns, stamp_from_msg(message.waiting_since))
        self._watch.beat(beat, time.monotonic())
        before, self._phase = self._phase, beat.phase
        if before.beats != beat.phase.beats:
            self._change_pace()
        if beat.phase is Phase.PROVING and not self._proven and self._inbox.newest(self._robot.topic) is not None:
            # A publisher's first message may take long: it must not be a stop that is needed.
            self._command_stop()
            self._tell()

    def _hear(self, topic: str) -> None:
        if topic == self._robot.topic:
            self._watch.heard("state", time.monotonic())

    @property
    def _look_period(self) -> float:
        return self._node_parameters.control_period / LOOKS[self._phase.beats]

    def _change_pace(self) -> None:
        """Look and report at once, and then at the period of the phase."""
        self._looks.timer_period_ns = nanoseconds(self._look_period)
        self._looks.reset()
        self._tell()

    def _tell(self) -> None:
        self._due = 0.0
        self._look()

    def _heard(self, source: str, *_: Any) -> None:
        self._watch.heard(source, time.monotonic())

    def _asked_by_topic(self, message: String) -> None:
        self._ask("topic", message.data or "asked for on the topic `stop`")

    def _stop(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._ask("service", "asked for by the service `stop`")
        self._requests.publish(String(data=self._watch.stop.reason))
        response.success, response.message = True, f"the robot is stopped: {self._watch.stop.reason}"
        return response

    def _ask(self, source: str, reason: str) -> None:
        self._watch.ask(source, reason, "a person", time.monotonic())
        self._look()

    def _release(self, request: ReleaseStop.Request, response: ReleaseStop.Response) -> ReleaseStop.Response:
        refused = self._watch.release(request.by, time.monotonic())
        response.accepted = not refused
        response.detail = refused or f"released by {self._watch.released_by}; the session goes on"
        if response.accepted:
            note = f": {request.note}" if request.note else ""
            self.get_logger().warning(f"the stop was released by {self._watch.released_by}{note}")
            self._look()
        return response

    def _look(self) -> None:
        if self._inbox.needed():
            self._inbox.read()
            for stream in self._cameras:
                stream.read()
        now = time.monotonic()
        stop = self._watch.look(now)
        changed, self._latched = stop is not self._latched, stop
        # Half a look, so that a look that comes a little early does not skip a command or a message.
        early = 0.5 * self._look_period
        if stop is not None and (changed or now >= self._stop_due):
            self._command_stop()
            self._stop_due = now + self._node_parameters.control_period - early
        if changed or now >= self._due:
            self._publish(stop, now)
            self._due = now + self._node_parameters.control_period / self._phase.beats - early
        if changed and stop is not None:
            self.get_logger().error(f"the robot is stopped by {stop.by}: {stop.reason}")

    def _command_stop(self) -> None:
        try:
            self._robot.stop()
            # A user's own port may not report whether its driver answers.
            self._proven = self._proven or getattr(self._robot, "stop_answered", True)
        except Exception as error:  # a watchdog goes on, whatever a driver's port raises
            if self._failure != (failure := f"{type(error).__name__}: {error}"):
                self._failure = failure
                self.get_logger().error(f"the robot's port cannot stop it: {failure}")

    def _publish(self, stop: Stop | None, now: float) -> None:
        message = Stopped(stamp=time_to_msg(time.time_ns()), stopped=stop is not None, proven=self._proven)
        message.by = self._watch.released_by
        if stop is not None:
            message.since = time_to_msg(time.time_ns() - nanoseconds(now - stop.since))
            message.source, message.reason, message.by = stop.source, stop.reason, stop.by
        self._publisher.publish(message)


def main() -> None:
    """Run the node before all others that want this processor."""
    run_before_others()
    run_node(Watchdog)


if __name__ == "__main__":
    main()
