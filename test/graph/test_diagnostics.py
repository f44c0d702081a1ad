"""What `diagnostics` says of streams, and the clock of a node's stamps."""

from __future__ import annotations

import threading
import time

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock
from spinning import spun_node

from robocontrast_ros.domain import Fault, nanoseconds
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.nodes.runtime.clock import now
from robocontrast_ros.nodes.runtime.diagnostics import Diagnostics, Level, Report, StreamReport


def test_a_stream_is_judged_by_its_rate_since_the_last_look():
    stream = StreamReport("joint_states", 10.0)
    assert stream.look(3, 100.0).message == "counting"
    levels = [stream.look(count, at).level for count, at in ((13, 101.0), (18, 102.0), (18, 103.0), (27, 104.0))]
    assert levels == [Level.OK, Level.WARN, Level.ERROR, Level.OK]
    values = stream.look(47, 106.0).values
    assert values == {
        "topic": "joint_states",
        "messages": 47,
        "expected rate [Hz]": "10",
        "rate [Hz]": "10.0",
    }


def test_in_lockstep_no_rate_is_wrong():
    stream = StreamReport("joint_states", None)
    assert [stream.look(0, at).level for at in (1.0, 2.0, 3.0)] == [Level.OK] * 3


def test_a_node_reports_its_parts_once_a_second_where_somebody_listens():
    asked = threading.Event()

    def parts() -> dict[str, Report]:
        asked.set()
        return {"pump": Report(Level.WARN, "hot", {"temperature [K]": 350.5})}

    with spun_node("plant") as node:
        Diagnostics(node, "plant 7").add(parts)
        assert not asked.wait(1.5), "nobody listens"
        heard: list[DiagnosticArray] = []
        with spun_node("screen") as screen:
            screen.create_subscription(DiagnosticArray, "diagnostics", heard.append, 10)
            deadline = time.monotonic() + 60.0
            while not heard and time.monotonic() < deadline:
                time.sleep(0.05)
    (status,) = heard[0].status
    assert (status.level, status.name, status.message) == (b"\x01", "plant: pump", "hot")
    assert status.hardware_id == "plant 7"
    assert [(pair.key, pair.value) for pair in status.values] == [("temperature [K]", "350.5")]


def test_stamps_are_of_the_system_unless_simulated_time_is_asked_for():
    with spun_node("plain") as node:
        assert abs(now(node, 1.0) - time.time_ns()) < nanoseconds(60.0)


def test_simulated_time_is_that_of_the_clock_topic_or_one_clear_error():
    with spun_node("simulated") as node:
        node.set_parameters([Parameter("use_sim_time", value=True)])
        with pytest.raises(BenchFault, match=r"'simulated' has `use_sim_time: true`, but nothing on /clock") as raised:
            now(node, 0.3)
        assert raised.value.fault is Fault.SIMULATOR_LOST
        with spun_node("simulator") as simulator:
            clock = simulator.create_publisher(Clock, "/clock", 10)
            message = Clock()
            message.clock.sec, message.clock.nanosec = 12, 500_000_000
            simulator.create_timer(0.05, lambda: clock.publish(message))
            assert now(node, 60.0) == 12_500_000_000
