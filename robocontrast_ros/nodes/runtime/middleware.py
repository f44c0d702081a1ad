"""Settings of the middleware that ROS's own quality of service does not include."""

from __future__ import annotations

import os

from robocontrast_ros.configuration import resolve_uri

_VARIABLES = ("FASTDDS_DEFAULT_PROFILES_FILE", "FASTRTPS_DEFAULT_PROFILES_FILE")
_DISCOVERY = "ROS_AUTOMATIC_DISCOVERY_RANGE"


def tune_middleware(shared_memory: bool = True) -> None:
    """Set Fast DDS for lockstep and for a quick start; call this before ROS is initialised.

    Its publishers' heartbeats come every 0.1 s, and a participant announces itself as often for 4 s.

    A subscriber that missed messages notices it by the publisher's next message or heartbeat. In lockstep no next
    message comes before the missing one was received, and Fast DDS's heartbeat comes every 3 s by default. A recorder
    that was stopped for 2 s needed up to 8 s more for its messages, and 0.1 s with these settings.

    First announcements get lost while seven processes start at once; by default five are sent within half a second, and
    the next one 3 s later, which one start in two had to wait for.

    A user's own settings for Fast DDS are kept. Fast DDS 2 (Humble, Jazzy) and other middlewares do not read the
    variable: with them it takes longer, and nothing is lost.

    Args:
        shared_memory: whether messages to and from the same machine may use memory that processes share. A stopped
            process (SIGSTOP) may hold a lock of this memory, and others then wait for a second.
    """
    local = not shared_memory and os.environ.get(_DISCOVERY) == "LOCALHOST"
    if not shared_memory:
        os.environ.setdefault("FASTDDS_BUILTIN_TRANSPORTS", "UDPv4")
    if any(os.environ.get(variable) for variable in _VARIABLES):
        return
    if local:
        # rmw_fastrtps adds shared memory itself for this range. The profile finds the same processes, and no others.
        os.environ[_DISCOVERY] = "SUBNET"
    name = "fast_dds_loopback.xml" if local else "fast_dds.xml"
    os.environ[_VARIABLES[0]] = str(resolve_uri(f"package://robocontrast_ros/config/{name}"))
