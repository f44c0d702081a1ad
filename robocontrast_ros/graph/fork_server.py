"""The fork server of a session's processes, and its policy, which is loaded while the session is read and planned."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.graph.environment import quiet_environment
from robocontrast_ros.system.forking import ForkServer, Prepared
from robocontrast_ros.system.starting import FORK_SERVER, NONE, starting

if TYPE_CHECKING:
    from robocontrast_ros.policies.protocol import PolicyDescription
    from robocontrast_ros.sessions.resolving import ResolvedSession

NODES = (
    "robocontrast_ros.nodes.graph_probe",
    "robocontrast_ros.images.rendering",
    *(
        f"robocontrast_ros.nodes.{name}_node"
        for name in ("policy_server", "container", "simulator", "recorder", "episode_manager")
    ),
)
"""Modules that are imported before it is known whether a session needs them; a fork imports others itself.

The module that a session needs first comes first: its process starts while the rest is imported.
"""

FAST = "robocontrast_ros.cli.fast"
"""Module of the one process of a fast session."""


def start_fork_server(fast: bool = False) -> ForkServer | None:
    """Start the fork server; None if the system or the user wants a new interpreter for each process.

    Args:
        fast: whether the server is for a session without a graph.
    """
    if sys.platform != "linux" or os.environ.get(FORK_SERVER) == NONE:
        return None
    return ForkServer((FAST,) if fast else NODES, quiet_environment())


def policy_ahead(
    server: ForkServer | None, session: ResolvedSession, environment: Mapping[str, str] | None = None
) -> Callable[[Any, Path], PolicyDescription]:
    """Begin to load the policy of a session; return the function for ``check_policies`` that loads and describes it.

    Args:
        server: the fork server of the session's processes; None if there is none.
        session: the session.
        environment: environment of the process that will serve the policy, as far as it is known.
    """
    if server is not None and session.policy_file is not None:
        # A lost server is no reason not to begin.
        with contextlib.suppress(OSError):
            return _PolicyAhead(server, session, environment or quiet_environment()).load
    from robocontrast_ros.policies.loading import load_and_describe

    return load_and_describe


class _PolicyAhead:
    """The policy that a session begins with, loaded by the process that will serve it."""

    def __init__(self, server: ForkServer, session: ResolvedSession, environment: Mapping[str, str]) -> None:
        """Begin to load the policy of a session that has one.

        Raises:
            OSError: the server is gone.
        """
        from robocontrast_ros.graph.description import process_of
        from robocontrast_ros.sessions.policy_check import loading_of

        fast = session.parameters.fast
        module = FAST if fast else f"robocontrast_ros.nodes.{process_of('policy_server', session)}_node"
        function = "robocontrast_ros.policies.serving.ahead:load_ahead"
        loading = loading_of(session, session.policy_file, own_thread=not fast)
        self._file = session.policy_file
        self._fork: Prepared = server.prepare(starting(module, "main"), function, loading, environment=environment)

    def load(self, maker: Any, file: Path) -> PolicyDescription:
        """Wait for the policy and return its description; any other policy is loaded in this process.

        Arguments are those of ``load_and_describe``.

        Raises:
            ConfigurationError: the policy cannot be loaded, or does not describe itself.
        """
        from robocontrast_ros.policies.loading import load_and_describe, named_in

        if file != self._file:
            return load_and_describe(maker, file)
        try:
            found = self._fork.result()
        except EOFError:
            found = ConfigurationError(
                str(file), "policy", named_in(file), "a policy that is loaded", "Its process ended while it loaded it."
            )
        if isinstance(found, ConfigurationError):
            print(self._fork.said(), end="", file=sys.stderr)
            raise found
        return found
