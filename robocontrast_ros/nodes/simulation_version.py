"""The versions of simulation_interfaces: 1.x (Humble to Kilted) and 2.x (Rolling), whichever is installed.

From 2.0 on SpawnEntity, SetEntityState and Spawnable have other fields under the same names. Some middlewares connect
the two versions in spite of this and drop the fields that the other side does not know; with others (Fast DDS of
Kilted) the service never comes up, without an error.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rclpy.client import Client
from rclpy.node import Node
from rclpy.topic_endpoint_info import TopicEndpointInfo

from robocontrast_ros.configuration import ConfigurationError

CURE = (
    "Install the same version on both sides: Humble, Jazzy and Kilted bring 1.4 to 1.6, Rolling 2.x, by "
    "apt install ros-$ROS_DISTRO-simulation-interfaces"
)


def resource_of(message: Any) -> Any:
    """Return what has `uri` and `resource_string`: the message itself in 1.x, a part of it in 2.x."""
    return getattr(message, "entity_resource", message)


def set_all(request: Any) -> None:
    """Say that SetEntityState sets pose and twist, as it always does in 1.x."""
    if hasattr(request, "set_pose"):
        request.set_pose = request.set_twist = True


def sets(request: Any) -> tuple[bool, bool]:
    """Return whether a request of SetEntityState sets the pose, and the twist."""
    return getattr(request, "set_pose", True), getattr(request, "set_twist", True)


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
                f"that of the simulation_interfaces here ({min(ours)})",
                CURE,
            )


def _hashes(endpoints: Iterable[TopicEndpointInfo]) -> set[str]:
    """Return the hashes of their types; Humble's endpoints have none, which reads INVALID."""
    return {str(endpoint.topic_type_hash) for endpoint in endpoints} - {"INVALID"}
