"""A policy server in the rollout's own process (``policy_server.composed``): it is called, and nothing is sent."""

from __future__ import annotations

from collections.abc import Callable

from robocontrast_ros.policies.protocol import Observation
from robocontrast_ros.policies.serving.runner import Answer

Act = Callable[[Observation], Answer]
"""Answers an observation, or raises PolicyFault."""

_servers: dict[str, Act] = {}


def serve(server: str, act: Act) -> None:
    """Let a server of this process be called, under the name of its node with its namespace."""
    _servers[server] = act


def withdraw(server: str) -> None:
    """Let a server be called no more."""
    _servers.pop(server, None)


def served(server: str) -> Act | None:
    """Return the function that answers for a server of this process; None if it is in another process."""
    return _servers.get(server)
