"""The force at the tool as the drivers of a UR and of a Franka publish it."""

from __future__ import annotations

from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node

TOPICS = ("force_torque_sensor_broadcaster/wrench", "franka_robot_state_broadcaster/external_wrench_in_base_frame")
"""Of ur_robot_driver and of franka_ros2."""

RATE = 100.0
"""How often they are published [Hz]; the drivers' own rates are 500 and 1000."""


class EmulatedWrench:
    """Publishes the same force on all topics.

    Attributes:
        force: its components [N]; may be changed at any time.
    """

    def __init__(self, node: Node) -> None:
        """Publish on a node's timer."""
        self.force = 0.0, 0.0, 0.0
        self._node = node
        self._publishers = [node.create_publisher(WrenchStamped, topic, 10) for topic in TOPICS]
        node.create_timer(1.0 / RATE, self._publish)

    def _publish(self) -> None:
        message = WrenchStamped()
        message.header.stamp = self._node.get_clock().now().to_msg()
        message.wrench.force.x, message.wrench.force.y, message.wrench.force.z = self.force
        for publisher in self._publishers:
            publisher.publish(message)
