"""Settings of the middleware that ROS's own quality of service does not know."""

from __future__ import annotations

import os

from robocontrast_ros.configuration import resolve_uri

_VARIABLES = ("FASTDDS_DEFAULT_PROFILES_FILE", "FASTRTPS_DEFAULT_PROFILES_FILE")


def tune_middleware() -> None:
    """Set the heartbeat period of Fast DDS publishers to 0.1 s; call it before ROS is initialised.

    A subscriber that missed messages learns that from the publisher's next message or heartbeat. In lockstep no next
    message comes before the missing one was received, and Fast DDS's heartbeat comes every 3 s by default. A recorder
    that was stopped for 2 s needed up to 8 s more for its messages, and 0.1 s with these settings.

    A user's own settings for Fast DDS are kept. Fast DDS 2 (Humble, Jazzy) and other middlewares do not read the
    variable: there it takes longer, and nothing is lost.
    """
    if not any(os.environ.get(variable) for variable in _VARIABLES):
        os.environ[_VARIABLES[0]] = str(resolve_uri("package://robocontrast_ros/config/fast_dds.xml"))
