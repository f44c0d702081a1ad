"""What makes messages of rclpy's classes."""

from __future__ import annotations

from robocontrast_ros.messages.encoding import Encoder
from robocontrast_ros.nodes.conversions.types import make_message
from robocontrast_ros.worlds.driver_messages import DriverEncoder

DOMAIN = Encoder(make_message)
DRIVER = DriverEncoder(make_message)
