"""recorder: writes the raw messages of each trial into a rosbag2 of its own, and deserialises nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.task import Future

from robocontrast_ros.bags.definitions import find_definition
from robocontrast_ros.bags.errors import BagError
from robocontrast_ros.bags.recorder import Recorder
from robocontrast_ros.bags.recorder_lag import ReportSchedule
from robocontrast_ros.bags.writer import BagTopic
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import Fault
from robocontrast_ros.graph.parameters.recorder import RecorderParameters
from robocontrast_ros.messages.decoding import stamp_from_msg
from robocontrast_ros.messages.topics import Topic
from robocontrast_ros.msg import RecordingStatus, TopicCount
from robocontrast_ros.nodes.conversions.domain import fault_to_msg
from robocontrast_ros.nodes.recorder.subscriptions import RawSubscriptions
from robocontrast_ros.nodes.runtime.main import run_node
from robocontrast_ros.nodes.runtime.parameters import declare_record
from robocontrast_ros.nodes.runtime.qos import LATCHED
from robocontrast_ros.srv import StartRecording, StopRecording


class RecorderNode(Node):
    """Subscribes to all topics when it starts; writes between start and stop."""

    pause = 0.005

    def __init__(self) -> None:
        """Declare parameters, subscriptions and services."""
        super().__init__("recorder")
        self._node_parameters = declare_record(self, RecorderParameters)
        self._inputs = RawSubscriptions(self, self._bag_topics(), self._take)
        self._recorder = self._make_recorder()
        self._bag = ""
        self._expected: dict[str, int] = {}
        self._complete: Future | None = None
        self._reports = ReportSchedule()
        self._status = self.create_publisher(RecordingStatus, "~/status", LATCHED)
        # A group of its own: messages are taken while stop waits for them.
        services = MutuallyExclusiveCallbackGroup()
        self.create_service(StartRecording, "~/start", self._start, callback_group=services)
        self.create_service(StopRecording, "~/stop", self._stop, callback_group=services)

    def on_end(self) -> None:
        """Close the bag of a trial that was not stopped, before the process ends."""
        if self._recorder.recording:
            self._recorder.stop({})

    def _make_recorder(self) -> Recorder:
        parameters = self._node_parameters
        return Recorder(
            self._inputs.topics,
            parameters.queue_size,
            parameters.flush_period,
            parameters.compression,
            parameters.kept,
            parameters.format,
        )

    def _bag_topics(self) -> dict[str, BagTopic]:
        topics: dict[str, BagTopic] = {}
        for index, entry in enumerate(self._node_parameters.topics):
            source, key = f"parameters of node '{self.get_name()}'", f"topics.{index}"
            name, type_name = Topic.parse(entry, source, key)
            try:
                definition = find_definition(type_name)
            except BagError as error:
                expected = "a message type that is installed"
                raise ConfigurationError(source, key, entry, expected, str(error)) from None
            topics[name] = BagTopic(
                name=self.resolve_topic_name(name),
                type_name=definition.type_name,
                latched=name in (*self._node_parameters.latched, *self._node_parameters.kept),
            )
        return topics

    def _take(self, name: str, timestamp: int, cdr: bytes) -> None:
        self._recorder.receive(name, timestamp, cdr)
        if self._recorder.recording and self._reports.due(name, len(cdr)):
            self._report()
        if self._complete is not None and self._recorder.arrived(self._expected):
            self._end_arrival(True)

    def _report(self) -> None:
        received = [TopicCount(topic=name, count=count) for name, count in self._recorder.received.items()]
        self._status.publish(RecordingStatus(bag=self._bag, received=received))

    def _start(self, request: StartRecording.Request, response: Any) -> Any:
        if not self._recorder.recording:
            self._inputs.await_publishers(self._node_parameters.discovery_deadline)
            if self._inputs.match_publishers():
                self._recorder = self._make_recorder()
            # Messages from before the trial are known by their stamps, but not by 0, the start of simulated time.
            self._inputs.take_waiting()
        try:
            self._recorder.start(Path(request.bag), stamp_from_msg(request.after))
        except BagError as error:
            response.fault = fault_to_msg(Fault.RECORDER_LOST, str(error))
            return response
        self._bag = request.bag
        self._report()
        return response

    async def _stop(self, request: StopRecording.Request, response: Any) -> Any:
        self._expected = {e.topic: e.count for e in request.expected}
        if not await self._arrival():
            response.fault = fault_to_msg(Fault.RECORDER_LOST, "it was asked to stop again")
            return response
        try:
            recorded = self._recorder.stop(self._expected)
        except BagError as error:
            response.fault = fault_to_msg(Fault.RECORDER_LOST, str(error))
            return response
        response.received = [TopicCount(topic=t, count=c) for t, c in recorded.written.items()]
        response.missing = [TopicCount(topic=t, count=c) for t, c in recorded.missing.items()]
        if recorded.problem:
            response.fault = fault_to_msg(Fault.RECORDER_LOST, recorded.problem)
        return response

    async def _arrival(self) -> bool:
        """Wait until the expected messages have arrived or the deadline passes, while others are received.

        Return False if a second request to stop came meanwhile, from a client that gave up the first answer.
        """
        self._end_arrival(False)
        if not self._recorder.recording or self._recorder.arrived(self._expected):
            return True
        self._complete = complete = Future(executor=self.executor)
        deadline = self.create_timer(
            self._node_parameters.stop_deadline,
            lambda: self._end_arrival(True) if self._complete is complete else None,
            clock=Clock(clock_type=ClockType.STEADY_TIME),
        )
        is_last = await complete
        self.destroy_timer(deadline)
        return is_last

    def _end_arrival(self, is_last: bool) -> None:
        complete, self._complete = self._complete, None
        if complete is not None:
            complete.set_result(is_last)


def main() -> None:
    """Run the node."""
    run_node(RecorderNode)
