"""recorder: the raw messages of each trial into a rosbag2 of its own, nothing deserialised."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import Field
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription
from rclpy.task import Future

from robocontrast_ros.bags.definitions import find_definition
from robocontrast_ros.bags.errors import BagError
from robocontrast_ros.bags.recorder import Recorder
from robocontrast_ros.bags.recorder_lag import ReportSchedule
from robocontrast_ros.bags.writer import BagTopic, Compression, MetadataFormat
from robocontrast_ros.configuration import ConfigurationError, record
from robocontrast_ros.domain import Fault
from robocontrast_ros.messages.decoding import stamp_from_msg
from robocontrast_ros.messages.topics import Topic
from robocontrast_ros.msg import RecordingStatus, TopicCount
from robocontrast_ros.nodes.conversions.domain import fault_to_msg
from robocontrast_ros.nodes.conversions.types import message_class
from robocontrast_ros.nodes.runtime.main import run_node
from robocontrast_ros.nodes.runtime.parameters import LedParameters, declare_record
from robocontrast_ros.nodes.runtime.qos import LATCHED
from robocontrast_ros.srv import StartRecording, StopRecording

MUTUAL_DISCOVERY = 0.3
"""From when we know a publisher until it knows us, at most [s]; measured: some 10 ms, more on a busy machine."""


@record
class RecorderParameters(LedParameters):
    """Parameters of the recorder."""

    topics: tuple[str, ...] = Field(
        min_length=1,
        description="What to record: 'topic package/msg/Type' each, the topic relative to the namespace.",
    )
    latched: tuple[str, ...] = Field(
        default=("trial",),
        description="Those of the topics that are published transient local, in each trial.",
    )
    kept: tuple[str, ...] = Field(
        default=(),
        description="Those of the latched topics that are published once, for all trials: they go into every bag.",
    )
    compression: Compression = Field(default="zstd", description="Of the bags' chunks: zstd or none.")
    format: MetadataFormat = Field(
        default="jazzy",
        description="Of metadata.yaml: jazzy, for Jazzy and later, or humble, which all of them read.",
    )
    queue_size: float = Field(
        default=256.0, gt=0.0, le=65536.0, description="Messages that wait to be written, at most [MiB]."
    )
    flush_period: float = Field(
        default=1.0, gt=0.0, le=60.0, description="Recorded messages survive the process after this time [s]."
    )
    discovery_deadline: float = Field(
        default=5.0,
        ge=0.0,
        le=60.0,
        description="Wait for publishers of all topics before the first bag [s].",
    )
    stop_deadline: float = Field(
        default=2.0, gt=0.0, le=60.0, description="How long stop waits for expected messages, wall clock [s]."
    )


class RecorderNode(Node):
    """Subscribes to everything at start-up; writes between start and stop."""

    pause = 0.005

    def __init__(self) -> None:
        """Declare parameters, subscriptions and services."""
        super().__init__("recorder")
        self._acquainted = False
        self._node_parameters = declare_record(self, RecorderParameters)
        self._topics = self._bag_topics()
        self._recorder = self._make_recorder()
        self._bag = ""
        self._expected: dict[str, int] = {}
        self._complete: Future | None = None
        self._reports = ReportSchedule()
        self._status = self.create_publisher(RecordingStatus, "~/status", LATCHED)
        self._subscriptions_by_name = {name: self._subscribe(name) for name in self._topics}
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
            self._topics,
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
                raise ConfigurationError(
                    source, key, entry, "a message type that is installed", str(error)
                ) from None
            topics[name] = BagTopic(
                name=self.resolve_topic_name(name),
                type_name=definition.type_name,
                latched=name in (*self._node_parameters.latched, *self._node_parameters.kept),
            )
        return topics

    def _subscribe(self, name: str) -> Subscription:
        topic = self._topics[name]
        qos = QoSProfile(
            # What has arrived waits here until it is taken. What has not is kept by its publisher, as far as that one's
            # history goes back (nodes/runtime/qos.py); rollout waits before that is too short.
            history=HistoryPolicy.KEEP_ALL,
            reliability=ReliabilityPolicy.BEST_EFFORT if topic.best_effort else ReliabilityPolicy.RELIABLE,
            durability=DurabilityPolicy.TRANSIENT_LOCAL if topic.latched else DurabilityPolicy.VOLATILE,
        )
        kind = message_class(topic.type_name)
        return self.create_subscription(kind, name, partial(self._receive, name), qos, raw=True)

    def _await_publishers(self) -> None:
        """Wait, before the first bag, until every topic has a publisher that knows this recorder.

        A publisher that has not discovered a subscriber does not keep its messages for it. When we know the
        publisher, it is about to know us: there is no way to ask, so it is given a moment.
        """
        if self._acquainted:
            return
        deadline = time.monotonic() + self._node_parameters.discovery_deadline
        while (unknown := self._without_publisher()) and time.monotonic() < deadline:
            time.sleep(0.02)
        if unknown:
            self.get_logger().warning(f"nothing publishes {', '.join(unknown)}: nothing is recorded of it")
        time.sleep(min(MUTUAL_DISCOVERY, self._node_parameters.discovery_deadline))
        self._acquainted = True

    def _without_publisher(self) -> list[str]:
        known = self._subscriptions_by_name.items()
        return [name for name, subscription in known if subscription.get_publisher_count() == 0]

    def _match_publishers(self) -> None:
        """Take best effort from publishers that offer no more; a reliable subscription would hear nothing."""
        unreliable = [n for n, t in self._topics.items() if not t.best_effort and self._is_best_effort(t)]
        for name in unreliable:
            self.get_logger().warning(
                f"{name}: published best effort; messages may be lost before they are counted"
            )
            self._topics[name] = replace(self._topics[name], best_effort=True)
            self.destroy_subscription(self._subscriptions_by_name[name])
            self._subscriptions_by_name[name] = self._subscribe(name)
        if unreliable:
            self._recorder = self._make_recorder()

    def _is_best_effort(self, topic: BagTopic) -> bool:
        publishers = self.get_publishers_info_by_topic(topic.name)
        return any(p.qos_profile.reliability == ReliabilityPolicy.BEST_EFFORT for p in publishers)

    def _receive(self, name: str, cdr: bytes, info: dict[str, Any]) -> None:
        self._take(name, cdr, info)
        # What else has come on this topic: to wake up once for each message takes longer than to write it.
        subscription = self._subscriptions_by_name[name]
        with subscription.handle:
            while (taken := subscription.handle.take_message(subscription.msg_type, True)) is not None:
                self._take(name, *taken)

    def _take(self, name: str, cdr: bytes, info: dict[str, Any]) -> None:
        self._recorder.receive(name, info["received_timestamp"], cdr)
        if self._recorder.recording and self._reports.due(name, len(cdr)):
            self._report()
        if self._complete is not None and self._recorder.arrived(self._expected):
            self._end_arrival(True)

    def _report(self) -> None:
        received = [TopicCount(topic=name, count=count) for name, count in self._recorder.received.items()]
        self._status.publish(RecordingStatus(bag=self._bag, received=received))

    def _start(
        self, request: StartRecording.Request, response: StartRecording.Response
    ) -> StartRecording.Response:
        if not self._recorder.recording:
            self._await_publishers()
            self._match_publishers()
        try:
            self._recorder.start(Path(request.bag), stamp_from_msg(request.after))
        except BagError as error:
            response.fault = fault_to_msg(Fault.RECORDER_LOST, str(error))
            return response
        self._bag = request.bag
        self._report()
        return response

    async def _stop(
        self, request: StopRecording.Request, response: StopRecording.Response
    ) -> StopRecording.Response:
        self._expected = {e.topic: e.count for e in request.expected}
        if not await self._arrival():
            response.fault = fault_to_msg(Fault.RECORDER_LOST, "it was asked to stop once more")
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
        """Wait until the expected messages are here or the deadline passes, while others are received.

        Returns false when it was asked to stop again meanwhile, by somebody who gave the first answer up.
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
