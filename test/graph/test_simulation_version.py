"""Requests of both versions of simulation_interfaces; one that differs on the two sides is refused at start-up."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from simulation_interfaces.msg import Resource
from simulation_interfaces.srv import SetEntityState, SpawnEntity
from spinning import spun_node

from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.domain import Pose
from robocontrast_ros.nodes.simulation_version import check_spoken, resource_of, set_all
from robocontrast_ros.nodes.simulator.entities import EntityServices
from robocontrast_ros.worlds.mujoco.entities import EntityState, Twist

BRIDGE = "from robocontrast_ros.nodes.sim_bridge_node import main; main()"
TASK = resolve_uri("package://robocontrast_ros/config/tasks/language_table.yaml")
ROBOT = resolve_uri("package://robocontrast_ros/config/robots/franka.yaml")


def test_a_model_is_named_in_the_fields_of_both_versions():
    newer, own = SimpleNamespace(entity_resource=Resource()), SpawnEntity.Request()
    for request in (newer, own):
        resource_of(request).uri = "moon.sdf"
    assert newer.entity_resource.uri == "moon.sdf" and resource_of(own).uri == "moon.sdf"


class World:
    """One entity, whose state is put down."""

    profile = SimpleNamespace(world_frame="world")
    before = EntityState(Pose.planar(0.1, 0.2, 0.3), Twist((1.0, 0.0, 0.0), (0.0, 0.0, 2.0)))

    def entity_state(self, name):
        """Return its state."""
        return self.before

    def set_entity_state(self, name, state):
        """Put down a state."""
        self.after = state


@pytest.mark.parametrize(("pose", "twist"), [(True, True), (True, False), (False, True), (False, False)])
def test_what_a_request_of_2_does_not_set_stays(pose, twist):
    world, wanted = World(), SetEntityState.Request(entity="moon")
    wanted.state.pose.position.x = wanted.state.twist.linear.y = 0.7
    request = SimpleNamespace(entity="moon", state=wanted.state, set_pose=pose, set_twist=twist)
    _, answer = EntityServices(world, (), lambda: 0).answers()["set_entity_state"]
    answer(request, SetEntityState.Response())
    assert (world.after.pose == world.before.pose) is not pose and (world.after.pose.position[0] == 0.7) is pose
    assert (world.after.twist == world.before.twist) is not twist and (world.after.twist.linear[1] == 0.7) is twist
    set_all(request)
    answer(request, SetEntityState.Response())
    assert (world.after.pose.position[0], world.after.twist.linear[1]) == (0.7, 0.7)


def test_a_simulator_whose_service_has_other_fields_is_refused_before_anything_is_asked():
    with spun_node("simulator") as simulator:
        simulator.create_service(SpawnEntity, "~/set_entity_state", lambda _, response: response)
        bridge = subprocess.run(
            [sys.executable, "-c", BRIDGE, "--ros-args", "-p", f"task:={TASK}", "-p", f"robot:={ROBOT}"],
            text=True,
            capture_output=True,
            timeout=240,
            check=False,
        )
    assert bridge.returncode == 2, bridge.stderr
    assert "/simulator/set_entity_state" in bridge.stderr and "the same version on both sides" in bridge.stderr
    assert "Traceback" not in bridge.stderr


def test_a_simulator_of_the_same_version_is_not():
    with spun_node("simulator") as simulator, spun_node("bridge") as bridge:
        simulator.create_service(SetEntityState, "~/set_entity_state", lambda _, response: response)
        client = bridge.create_client(SetEntityState, "simulator/set_entity_state")
        assert client.wait_for_service(60.0)
        check_spoken(bridge, [client])
