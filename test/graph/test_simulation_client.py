"""A simulator of others as the bridge reads it: names, poses that are none, hashes that are none, a clock that lies."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from geometry_msgs.msg import Point, Pose, Quaternion
from hypothesis import given
from hypothesis import strategies as st
from rclpy.type_hash import TypeHash
from rosgraph_msgs.msg import Clock
from simulation_interfaces.msg import EntityState
from simulation_interfaces.srv import GetEntitiesStates, GetSimulatorFeatures
from spinning import spun_node

from robocontrast_ros.domain import Fault
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.graph.parameters.sim_bridge import SimulationServices
from robocontrast_ros.nodes.conversions.domain import time_to_msg
from robocontrast_ros.nodes.runtime.simulated_clock import SimulatedClock
from robocontrast_ros.nodes.sim_bridge.simulation_client import EntityNames, RosSimulation, poses_from_response
from robocontrast_ros.nodes.simulation_version import _hashes

names = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)


@given(st.lists(names, unique=True), st.sampled_from(["{name}", "/World/{name}", "{name}::link", "a_{name}_b"]))
def test_names_go_there_and_back_and_what_has_none_here_is_left_out(ours, pattern):
    entities = EntityNames({"*": pattern, "franka": "/Robots/arm"})
    theirs = {entities.theirs(name): name for name in [*ours, "franka"]}
    assert theirs["/Robots/arm"] == "franka"
    assert entities.ours(theirs) == theirs
    assert pattern == "{name}" or entities.ours(["Light"]) == {}


def test_an_entity_without_a_pose_is_not_there():
    good = Pose(position=Point(x=1.0), orientation=Quaternion(w=1.0))
    nothing, torn = Pose(orientation=Quaternion(w=0.0)), Pose(position=Point(x=float("nan")))
    states = [EntityState(pose=pose) for pose in (good, nothing, torn)]
    stamp, poses = poses_from_response(GetEntitiesStates.Response(entities=["a", "b", "c"], states=states))
    assert stamp == 0 and list(poses) == ["a"]


def test_types_without_a_hash_as_those_of_humble_are_no_other_version():
    assert _hashes([SimpleNamespace(topic_type_hash=TypeHash())]) == set()


class Told:
    """A clock that is told what to say after a request for steps."""

    def __init__(self, node, *, timeout=0.3):
        self.clock = SimulatedClock(node, "told_clock", 0.002, timeout)
        self._publisher = node.create_publisher(Clock, "told_clock", 10)

    def say(self, *steps):
        for number in steps:
            self._publisher.publish(Clock(clock=time_to_msg(number * 2_000_000)))


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (range(101, 151), ""),
        (range(102, 152, 2), ""),
        (range(105, 150, 5), ""),
        ((), "it went on by 0 s"),
        (range(101, 130), "it went on by 0.058 s"),
        ((200,), "it went on by 0.2 s"),
    ],
    ids=["each step", "every other", "the last left out", "none", "too few", "twice as many"],
)
def test_the_clock_shows_whether_steps_were_made(said, words):
    with spun_node("told") as node:
        told = Told(node)
        deadline = threading.Event()
        while told.clock.now < 100 * 2_000_000 and not deadline.wait(0.02):
            told.say(100)
        if words:
            with pytest.raises(BenchFault, match=words) as fault:
                told.clock.stepped(50, lambda: told.say(*said))
            assert fault.value.fault is Fault.SIMULATOR_LOST
        else:
            told.clock.stepped(50, lambda: told.say(*said))
            assert told.clock.now >= 145 * 2_000_000


def test_services_that_are_there_are_named_where_one_is_missing_and_a_silent_one_may_be_of_another_middleware():
    with spun_node("strange") as node, spun_node("bridge") as bridge:
        silent = threading.Event()
        node.create_service(GetSimulatorFeatures, "sim/get_simulator_features", lambda _, response: silent.wait(3.0))
        services = {name: f"sim/{name}" for name in SimulationServices.__dataclass_fields__}
        simulation = RosSimulation(bridge, SimulationServices(**services), "world", 0.5)
        with pytest.raises(BenchFault, match=r"set_entity_state' is not there.*there are get_simulator_features"):
            simulation.wait(1.0)
        with pytest.raises(BenchFault, match=r"although it is there.*RMW_IMPLEMENTATION"):
            simulation.features()
        silent.set()
