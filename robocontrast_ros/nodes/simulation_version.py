"""The versions of simulation_interfaces that are installed, and that a simulator uses: ours is 1.x.

From 2.0 on SpawnEntity and SetEntityState have other fields under the same names. Some middlewares connect the two
versions in spite of this and drop the fields that the other side does not know; with others (Fast DDS of Kilted) the
service never comes up, without an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rclpy.client import Client
from rclpy.node import Node
from rclpy.topic_endpoint_info import TopicEndpointInfo
from simulation_interfaces.srv import SetEntityState, SpawnEntity

from robocontrast_ros.configuration import ConfigurationError

CURE = "Humble, Jazzy and Kilted bring 1.4 to 1.6: apt install ros-$ROS_DISTRO-simulation-interfaces"

_OF_2 = {"SpawnEntity": "entity_resource", "SetEntityState": "set_pose"}
"""Service -> a field of its request that is new in 2.0."""


def check_installed(requests: Iterable[type] = (SpawnEntity.Request, SetEntityState.Request)) -> None:
    """Refuse installed interfaces of another version.

    Raises:
        ConfigurationError: the interfaces are 2.x.
    """
    fields: dict[str, Mapping[str, str]] = {
        cls.__name__.partition("_")[0]: cls.get_fields_and_field_types() for cls in requests
    }
    newer = [f"{name}.{_OF_2[name]}" for name, known in fields.items() if _OF_2[name] in known]
    if newer:
        raise ConfigurationError(
            "package simulation_interfaces", "version", f"2.x (it has {', '.join(newer)})", "1.x", CURE
        )


def check_spoken(node: Node, clients: Iterable[Client]) -> None:
    """Refuse a simulator whose services, as far as they have been found, have other fields than the clients.

    Endpoints have the hash of their type from Jazzy on and with DDS; without it nothing is refused.

    Raises:
        ConfigurationError: one of its services has another version.
    """
    for client in clients:
        topic = f"rq{client.service_name}Request"
        try:
            ours = _hashes(node.get_publishers_info_by_topic(topic, no_mangle=True))
            theirs = _hashes(node.get_subscriptions_info_by_topic(topic, no_mangle=True))
        except AttributeError:
            return
        other = theirs - ours
        if ours and other:
            raise ConfigurationError(
                f"service {client.service_name}",
                "type",
                f"a {client.srv_type.__name__} with other fields ({min(other)})",
                f"that of simulation_interfaces 1.x ({min(ours)})",
                f"Install 1.x where the simulator runs. {CURE}",
            )


def _hashes(endpoints: Iterable[TopicEndpointInfo]) -> set[str]:
    """Return the hashes of their types; Humble's endpoints have none, which reads INVALID."""
    return {str(endpoint.topic_type_hash) for endpoint in endpoints} - {"INVALID"}
