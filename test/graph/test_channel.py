"""Waiting for a service that may need long, and for one that goes away meanwhile."""

from __future__ import annotations

import os
import threading
import time

import pytest

rclpy = pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from rclpy.node import Node  # noqa: E402
from robocontrast_ros.srv import SwapPolicy  # noqa: E402
from spinning import spun_node  # noqa: E402

from robocontrast_ros.nodes.channel import NoAnswer, patient_call, wait_for  # noqa: E402
from robocontrast_ros.nodes.executor import LockstepExecutor  # noqa: E402

DOMAIN = 104 + os.getpid() % 60


@pytest.fixture
def server(monkeypatch):
    """Return a node whose services nobody serves."""
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=DOMAIN)
    node = Node("asked", context=context)
    yield node
    node.destroy_node()
    rclpy.shutdown(context=context)


@pytest.fixture
def client(server):
    """Return a client of one of them."""
    server.service = server.create_service(SwapPolicy, "swap", lambda request, response: response)
    with spun_node("asking", DOMAIN) as node:
        client = node.create_client(SwapPolicy, "swap")
        wait_for(client, 20.0)
        yield client


def test_a_late_answer_is_waited_for(client, server):
    executor = LockstepExecutor(context=server.context)
    executor.add_node(server)
    threading.Timer(1.2, lambda: executor.spin_once(10.0)).start()
    assert not patient_call(client, SwapPolicy.Request(policy="p"), 30.0).accepted
    executor.shutdown()


def test_an_answer_that_does_not_come_ends_the_wait_at_its_limit(client):
    with pytest.raises(NoAnswer, match=r"'swap' did not answer within 0\.3 s"):
        patient_call(client, SwapPolicy.Request(), 0.3)


def test_a_service_that_goes_away_ends_the_wait_before_its_limit(client, server):
    threading.Timer(0.3, lambda: server.destroy_service(server.service)).start()
    began = time.monotonic()
    with pytest.raises(NoAnswer, match="'swap' is gone"):
        patient_call(client, SwapPolicy.Request(), 60.0)
    assert time.monotonic() - began < 30.0
