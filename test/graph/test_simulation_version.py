"""Interfaces of another version than 1.x are refused at start-up, here and in the simulator."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from simulation_interfaces.srv import SetEntityState, SpawnEntity
from spinning import spun_node

from robocontrast_ros.configuration import ConfigurationError, resolve_uri
from robocontrast_ros.nodes.simulation_version import check_installed, check_spoken

BRIDGE = "from robocontrast_ros.nodes.sim_bridge_node import main; main()"
TASK = resolve_uri("package://robocontrast_ros/config/tasks/language_table.yaml")
ROBOT = resolve_uri("package://robocontrast_ros/config/robots/franka.yaml")


class SpawnEntity_Request(SpawnEntity.Request):  # noqa: N801 - as rosidl names it
    """The request of 2.0, as far as its fields tell."""

    @classmethod
    def get_fields_and_field_types(cls):
        """Return the fields of 2.0."""
        return {"name": "string", "entity_resource": "simulation_interfaces/Resource"}


def test_installed_interfaces_of_2_are_refused_with_what_to_install():
    check_installed()
    with pytest.raises(ConfigurationError, match=r"2\.x") as error:
        check_installed([SpawnEntity_Request, SetEntityState.Request])
    assert "SpawnEntity.entity_resource" in str(error.value) and "apt install" in str(error.value)


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
    assert "/simulator/set_entity_state" in bridge.stderr and "1.x" in bridge.stderr
    assert "Traceback" not in bridge.stderr


def test_a_simulator_of_the_same_version_is_not():
    with spun_node("simulator") as simulator, spun_node("bridge") as bridge:
        simulator.create_service(SetEntityState, "~/set_entity_state", lambda _, response: response)
        client = bridge.create_client(SetEntityState, "simulator/set_entity_state")
        assert client.wait_for_service(60.0)
        check_spoken(bridge, [client])
