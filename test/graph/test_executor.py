"""The lockstep executor serves everything that rclpy's own does, and ends when it is shut down."""

from __future__ import annotations

import threading
import time

import pytest

rclpy = pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from rcl_interfaces.msg import Log  # noqa: E402
from rcl_interfaces.srv import GetParameters  # noqa: E402
from rclpy.duration import Duration  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.node import Node  # noqa: E402
from rclpy.serialization import deserialize_message  # noqa: E402
from rclpy.task import Future  # noqa: E402
from session_runs import wait_until  # noqa: E402
from spinning import spun_node  # noqa: E402

from robocontrast_ros.domain import nanoseconds  # noqa: E402
from robocontrast_ros.nodes.runtime.executor import LockstepExecutor  # noqa: E402
from robocontrast_ros.nodes.runtime.offered import subscribe_as_offered  # noqa: E402
from robocontrast_ros.nodes.runtime.stream import WAITING, Stream  # noqa: E402


@pytest.fixture
def node():
    """Return a node that a lockstep executor spins on a thread of its own."""
    with spun_node("spun") as node:
        yield node


def test_subscriptions_that_come_later_are_served_in_the_order_of_their_messages(node):
    received = []
    node.create_subscription(Log, "numbers", lambda message: received.append(message.line), 100)
    publisher = node.create_publisher(Log, "numbers", 100)
    wait_until(lambda: publisher.get_subscription_count() == 1, "discovery")
    for number in range(50):
        publisher.publish(Log(line=number))
    wait_until(lambda: len(received) == 50, "the last message")
    assert received == list(range(50))


def test_a_subscription_that_replaces_another_is_served(node):
    first, second = [], []
    old = node.create_subscription(Log, "replaced", first.append, 10)
    publisher = node.create_publisher(Log, "replaced", 10)
    wait_until(lambda: publisher.get_subscription_count() == 1, "discovery")
    publisher.publish(Log())
    wait_until(lambda: first, "the first message")

    def replace():
        timer.cancel()
        node.destroy_subscription(old)
        node.create_subscription(Log, "replaced", second.append, 10)

    timer = node.create_timer(0.01, replace)
    wait_until(lambda: publisher.publish(Log()) or second, "a message for the new one")


def test_a_service_answers_a_client_of_the_same_node(node):
    def answer(request, response):
        response.values = []
        calls.append(list(request.names))
        return response

    calls = []
    node.create_service(GetParameters, "ask", answer)
    client = node.create_client(GetParameters, "ask")
    assert client.wait_for_service(60.0)
    done = threading.Event()
    client.call_async(GetParameters.Request(names=["a"])).add_done_callback(lambda future: done.set())
    assert done.wait(60.0)
    assert calls == [["a"]]


def test_timers_go_on(node):
    ticks = []
    node.create_timer(0.01, lambda: ticks.append(1))
    wait_until(lambda: len(ticks) >= 5, "five ticks")


def test_a_callback_that_waits_for_a_future_goes_on_when_it_is_done(node):
    gate = Future()
    order = []

    async def wait(message):
        order.append("began")
        await gate
        order.append("went on")

    node.create_subscription(Log, "gate", wait, 10)
    node.create_subscription(Log, "open", lambda message: gate.set_result(None), 10)
    publishers = {name: node.create_publisher(Log, name, 10) for name in ("gate", "open")}
    wait_until(lambda: all(p.get_subscription_count() == 1 for p in publishers.values()), "discovery")
    publishers["gate"].publish(Log())
    wait_until(lambda: order == ["began"], "the callback")
    publishers["open"].publish(Log())
    wait_until(lambda: order == ["began", "went on"], "the rest of the callback")


@pytest.fixture
def context():
    """Return a context of ROS, in which nothing is spun yet."""
    context = rclpy.Context()
    rclpy.init(context=context)
    yield context
    rclpy.shutdown(context=context)


def test_an_error_in_a_callback_is_not_swallowed(context):
    executor, node = LockstepExecutor(context=context), Node("failing", context=context)
    executor.add_node(node)

    def fail():
        raise RuntimeError("a bug")

    node.create_timer(0.001, fail)
    try:
        with pytest.raises(RuntimeError, match="a bug"):
            executor.spin()
    finally:
        executor.shutdown(timeout_sec=2.0)
        node.destroy_node()


def test_a_stream_hands_on_in_order_what_came_and_when_at_once_where_somebody_asks_else_by_itself(node):
    heard = []
    stream = Stream(lambda raw, arrival: heard.append((deserialize_message(raw, Log).line, arrival)), lambda: False)
    subscribe_as_offered(node, Log, "numbers", stream.put, WAITING)
    first, second = (node.create_publisher(Log, "numbers", 1000) for _ in range(2))
    wait_until(lambda: first.get_subscription_count() and second.get_subscription_count(), "discovery")
    began = time.monotonic_ns()
    for line in range(5):
        first.publish(Log(line=line))
    second.publish(Log(line=100))
    assert first.wait_for_all_acked(Duration(seconds=60)) and second.wait_for_all_acked(Duration(seconds=60))
    ended = time.monotonic_ns()
    stream.read()
    assert stream.received == 6 and [line for line, _ in heard if line < 100] == list(range(5))
    arrivals = [arrival for line, arrival in heard if line < 100]
    slack = nanoseconds(0.01)  # the clock that the middleware reads may be adjusted meanwhile
    assert arrivals == sorted(arrivals) and began - slack <= arrivals[0] and arrivals[-1] <= ended + slack
    second.publish(Log(line=101))
    wait_until(lambda: heard[-1][0] == 101, "a message that nobody asked for")


def test_of_a_stream_that_nobody_read_the_newest_messages_are(context):
    heard, lone = [], Node("not_spun", context=context)
    stream = Stream(lambda raw, arrival: heard.append(deserialize_message(raw, Log).line))
    subscribe_as_offered(lone, Log, "numbers", stream.put, WAITING)
    publisher = lone.create_publisher(Log, "numbers", 1000)
    wait_until(publisher.get_subscription_count, "discovery")
    for line in range(WAITING.depth + 50):
        publisher.publish(Log(line=line))
    assert publisher.wait_for_all_acked(Duration(seconds=60))
    stream.read()
    assert heard == list(range(50, WAITING.depth + 50))
    lone.destroy_node()


def test_a_stream_that_is_needed_is_read_at_each_look_of_the_executor_and_else_counted(node):
    heard, needed = [], [False]
    stream = Stream(lambda raw, arrival: heard.append(deserialize_message(raw, Log).line), lambda: needed[0])
    subscribe_as_offered(node, Log, "numbers", stream.put, WAITING)
    publisher = node.create_publisher(Log, "numbers", 1000)
    wait_until(publisher.get_subscription_count, "discovery")
    publisher.publish(Log(line=1))
    wait_until(lambda: stream.received == 1, "a look")
    needed[0] = True
    publisher.publish(Log(line=2))
    wait_until(lambda: heard == [1, 2], "a look that reads")


def test_a_stream_is_read_by_an_executor_that_knows_none(context):
    executor, usual, heard = SingleThreadedExecutor(context=context), Node("usual", context=context), []
    executor.add_node(usual)
    stream = Stream(lambda raw, arrival: heard.append(deserialize_message(raw, Log).line))
    subscribe_as_offered(usual, Log, "numbers", stream.put, WAITING)
    publisher = usual.create_publisher(Log, "numbers", 10)
    try:
        wait_until(publisher.get_subscription_count, "discovery")
        publisher.publish(Log(line=7))
        wait_until(lambda: executor.spin_once(0.1) or heard == [7], "the message")
    finally:
        executor.shutdown(timeout_sec=2.0)
        usual.destroy_node()
