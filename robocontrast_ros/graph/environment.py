"""The environment of a session's processes."""

from __future__ import annotations

import os
import sys

from robocontrast_ros.system.numerics import pin


def node_environment(domain: int, elsewhere: bool = False) -> dict[str, str]:
    """Return the environment of node processes, with ROS's paths, and discovery on this machine only.

    Args:
        domain: ROS domain of the graph.
        elsewhere: whether to discover also nodes on other machines of the network. ROS_AUTOMATIC_DISCOVERY_RANGE, if
            the user sets it, overrules this.
    """
    environment = quiet_environment()
    environment["ROS_DOMAIN_ID"] = str(domain)
    environment.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET" if elsewhere else "LOCALHOST")
    prefixes = environment.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    if sys.prefix not in prefixes:
        environment["AMENT_PREFIX_PATH"] = os.pathsep.join([sys.prefix, *filter(None, prefixes)])
    return environment


def quiet_environment() -> dict[str, str]:
    """Return the environment of every process of a session: pinned numeric libraries, and logs without buffers."""
    environment = dict(os.environ)
    pin(environment)
    environment["PYTHONUNBUFFERED"] = "1"
    return environment
