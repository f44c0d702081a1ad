"""Waiting for a service that may need long, and for one that goes away meanwhile."""

from __future__ import annotations

import threading
import time

import pytest

rclpy = pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from rclpy.action import ActionClient, ActionServer  # noqa: E402
from rclpy.node import Node  # noqa: E402
from robocontrast_ros.action import RunEpisode  # noqa: E402
from robocontrast_ros.srv import SwapPolicy  # noqa: E402
from spinning import spun_node  # noqa: E402

from robocontrast_ros.domain import Fault  # noqa: E402
from robocontrast_ros.episodes.bench import LIMITS, BenchFault  # noqa: E402
from robocontrast_ros.nodes.runtime.channel import (  # noqa: E402
    Channel,
    NoAnswer,
    call,
    call_while_there,
    fault_without_answer,
    wait_for,
)
from robocontrast_ros.nodes.runtime.executor import LockstepExecutor  # noqa: E402
from robocontrast_ros.sessions.schema import TimeoutParameters  # noqa: E402

ENDLESS = 36000.0
"""A limit that is not met in a test [s]."""


@pytest.fixture
def server():
    """Return a node whose services nobody serves."""
    context = rclpy.Context()
    rclpy.init(context=context)
    node = Node("asked", context=context)
    yield node
    node.destroy_node()
    rclpy.shutdown(context=context)


@pytest.fixture
def client(server):
    """Return a client of one of them."""
    server.service = server.create_service(SwapPolicy, "swap", lambda request, response: response)
    with spun_node("asking") as node:
        client = node.create_client(SwapPolicy, "swap")
        wait_for(client, 120.0)
        yield client


def test_a_late_answer_is_waited_for(client, server):
    executor = LockstepExecutor(context=server.context)
    executor.add_node(server)
    threading.Timer(1.2, lambda: executor.spin_once(60.0)).start()
    assert not call_while_there(client, SwapPolicy.Request(policy="p"), 120.0).accepted
    executor.shutdown()


def test_an_answer_that_does_not_come_ends_the_wait_at_its_limit(client):
    with pytest.raises(NoAnswer, match=r"'swap' did not answer within 0\.3 s"):
        call_while_there(client, SwapPolicy.Request(), 0.3)


@pytest.mark.parametrize(("fault", "key"), LIMITS.items(), ids=[fault.name for fault in LIMITS])
def test_the_fault_of_an_answer_that_does_not_come_names_the_sessions_key_of_its_limit(client, fault, key):
    with pytest.raises(BenchFault) as error, fault_without_answer(fault):
        call_while_there(client, SwapPolicy.Request(), 0.1)
    said = f"'swap' did not answer within 0.1 s; where the machine is busy, raise `timeouts.{key}` of the session"
    assert (error.value.fault, error.value.detail.lstrip("/")) == (fault, said)
    assert hasattr(TimeoutParameters(), key)


def test_the_fault_of_a_service_that_is_gone_names_no_limit(client, server):
    threading.Timer(0.3, lambda: server.destroy_service(server.service)).start()
    with pytest.raises(BenchFault) as error, fault_without_answer(Fault.SCORER_LOST):
        call_while_there(client, SwapPolicy.Request(), 60.0)
    assert error.value.detail == "'swap' is gone"


def test_a_service_that_goes_away_ends_the_wait_before_its_limit(client, server):
    threading.Timer(0.3, lambda: server.destroy_service(server.service)).start()
    with pytest.raises(NoAnswer, match="'swap' is gone"):
        call_while_there(client, SwapPolicy.Request(), ENDLESS)


@pytest.mark.parametrize("ask", [call, call_while_there])
def test_a_channel_that_is_closed_ends_the_waits_for_its_answers(client, ask):
    rclpy.init()
    owner = Node("closing")
    channel = Channel(owner)
    silent = channel.node.create_client(SwapPolicy, "swap")
    channel.start()
    wait_for(silent, 120.0)
    threading.Timer(0.3, channel.close).start()
    with pytest.raises(NoAnswer, match="'swap' is gone"):
        ask(silent, SwapPolicy.Request(), ENDLESS)
    owner.destroy_node()
    rclpy.shutdown()


def test_the_answer_to_a_goal_is_not_lost_however_soon_it_comes(monkeypatch):
    class Slow(rclpy.task.Future):
        """A future that takes long to make, as where another thread gets the processor meanwhile."""

        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            time.sleep(0.3)

    monkeypatch.setattr("rclpy.action.client.Future", Slow)
    rclpy.init()
    owner = Node("sending")
    channel = Channel(owner)
    with spun_node("acting") as acting:
        acting.server = ActionServer(acting, RunEpisode, "run", lambda goal: goal.succeed() or RunEpisode.Result())
        client = ActionClient(channel.node, RunEpisode, "run")
        channel.start()
        assert client.wait_for_server(120.0)
        answered = threading.Event()
        sent = channel.do(lambda: client.send_goal_async(RunEpisode.Goal()), 60.0)
        sent.add_done_callback(lambda handle: answered.set())
        assert answered.wait(60.0)
        assert sent.result().accepted
    channel.close()
    owner.destroy_node()
    rclpy.shutdown()


def test_what_is_done_on_the_channels_thread_returns_or_raises_to_the_caller():
    rclpy.init()
    owner = Node("doing")
    channel = Channel(owner)
    channel.start()
    busy = threading.Event()
    assert channel.do(lambda: threading.current_thread().name, 60.0) == "io"
    with pytest.raises(ZeroDivisionError):
        channel.do(lambda: 1 / 0, 60.0)
    with pytest.raises(NoAnswer, match=r"_doing_io' is busy for more than 0\.1 s"):
        channel.do(busy.wait, 0.1)
    busy.set()
    channel.close()
    owner.destroy_node()
    rclpy.shutdown()
