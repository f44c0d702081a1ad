"""The fork server of a session's nodes."""

from __future__ import annotations

import os
import sys

from robocontrast_ros.graph.environment import quiet_environment
from robocontrast_ros.system.forking import ForkServer
from robocontrast_ros.system.starting import FORK_SERVER, NONE

NODES = ("container", "simulator", "recorder", "policy_server", "episode_manager")
"""Executables whose modules are imported before it is known whether a session needs them; others come with the fork."""


def start_fork_server() -> ForkServer | None:
    """Start it; None where the system or the user wants a new interpreter for each node."""
    if sys.platform != "linux" or os.environ.get(FORK_SERVER) == NONE:
        return None
    return ForkServer([f"robocontrast_ros.nodes.{name}_node" for name in NODES], quiet_environment())
