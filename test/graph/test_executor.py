"""The lockstep executor serves everything that rclpy's own does, and ends when it is shut down."""

from __future__ import annotations

import threading

import pytest

rclpy = pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from rcl_interfaces.msg import Log  # noqa: E402
from rcl_interfaces.srv import GetParameters  # noqa: E402
from rclpy.duration import Duration  # noqa: E402
from rclpy.node import Node  # noqa: E402
from rclpy.qos import QoSProfile  # noqa: E402
from rclpy.serialization import deserialize_message  # noqa: E402
from rclpy.task import Future  # noqa: E402
from session_runs import wait_until  # noqa: E402
from spinning import spun_node  # noqa: E402

from robocontrast_ros.nodes.runtime.executor import LockstepExecutor  # noqa: E402
from robocontrast_ros.nodes.runtime.offered import subscribe_as_offered  # noqa: E402
from robocontrast_ros.nodes.runtime.stream import DEPTH, Stream  # noqa: E402


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


def test_an_error_in_a_callback_is_not_swallowed():
    context = rclpy.Context()
    rclpy.init(context=context)
    node = Node("failing", context=context)
    executor = LockstepExecutor(context=context)
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
        rclpy.shutdown(context=context)


def test_of_messages_that_came_together_a_stream_hands_on_the_newest_of_each_publisher_and_their_number(node):
    blocked, go_on, heard = threading.Event(), threading.Event(), []

    def block(_: Log) -> None:
        blocked.set()
        assert go_on.wait(60.0)

    stream = Stream(lambda raw, count: heard.append((deserialize_message(raw, Log).line, count)))
    subscribe_as_offered(node, Log, "numbers", stream.put, QoSProfile(depth=DEPTH))
    node.create_subscription(Log, "block", block, 10)
    publishers = [node.create_publisher(Log, name, 100) for name in ("numbers", "numbers", "block")]
    wait_until(lambda: [p.get_subscription_count() for p in publishers] == [1, 1, 1], "discovery")
    arm, hand, blocker = publishers
    arm.publish(Log(line=1))
    wait_until(lambda: heard == [(1, 1)], "the first message")
    blocker.publish(Log())
    assert blocked.wait(60.0)
    for number in range(2, 10):
        arm.publish(Log(line=number))
        if number == 4:
            hand.publish(Log(line=100))
    assert all(publisher.wait_for_all_acked(Duration(seconds=60)) for publisher in (arm, hand))
    go_on.set()
    wait_until(lambda: len(heard) == 3, "the newest of both")
    assert sorted(heard[1:]) == [(9, 1), (100, 8)] and heard[1] == (100, 8), "in their order, with those before"


def test_a_stream_is_taken_by_whoever_needs_the_newest_at_once(node):
    entered, go_on, heard = threading.Event(), threading.Event(), []

    def block(_: Log) -> None:
        entered.set()
        assert go_on.wait(60.0)

    stream = Stream(lambda raw, count: heard.append(deserialize_message(raw, Log).line))
    subscribe_as_offered(node, Log, "numbers", stream.put, QoSProfile(depth=DEPTH))
    node.create_subscription(Log, "block", block, 10)
    publisher, blocker = (node.create_publisher(Log, name, 10) for name in ("numbers", "block"))
    wait_until(lambda: publisher.get_subscription_count() and blocker.get_subscription_count(), "discovery")
    blocker.publish(Log())
    assert entered.wait(60.0)
    publisher.publish(Log(line=7))
    assert publisher.wait_for_all_acked(Duration(seconds=60))
    stream.take()
    assert heard == [7], "while the executor is busy"
    go_on.set()
