"""What a session's graph needs, whatever session it is: begun while the session is still read and planned."""

from __future__ import annotations

import contextlib
import threading

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.graph.environment import node_environment
from robocontrast_ros.graph.fork_server import start_fork_server
from robocontrast_ros.graph.ros_domain import Domain
from robocontrast_ros.system.forking import ForkServer
from robocontrast_ros.system.opengl import import_mujoco


class GraphAhead:
    """A fork server, and a domain that is probed; to be closed.

    Attributes:
        server: forks the nodes; None where they are started one by one.
    """

    def __init__(self, namespace: str, fast: bool = False) -> None:
        """Begin.

        Args:
            namespace: of the nodes, as the user gave it.
            fast: whether there will be no graph, as far as is known.
        """
        self.server: ForkServer | None = start_fork_server(fast)
        self._domain: Domain | None = None
        # Whatever is wrong is said when the session is known; it may need no graph.
        with contextlib.suppress(ConfigurationError):
            if not fast:
                self._domain = Domain.probed(namespace, node_environment(0), self.server)
        # It changes the environment for a moment, which the thread reads.
        import_mujoco()
        threading.Thread(target=_try_rendering, args=(self.server,), daemon=True).start()

    def domain(self, namespace: str, elsewhere: bool) -> Domain:
        """Return the domain of the session's nodes, which is being probed; the caller closes it.

        Args:
            namespace: of the nodes.
            elsewhere: whether nodes of other machines are to be found.

        Raises:
            ConfigurationError: it is taken, or a variable of the environment is wrong.
        """
        if self._domain is not None and (self._domain.namespace != namespace or elsewhere):
            self.no_graph()
        domain, self._domain = self._domain, None
        return domain or Domain.probed(namespace, node_environment(0, elsewhere), self.server)

    def no_graph(self) -> None:
        """End what only a graph needs; the domain that was returned is the caller's."""
        if self._domain is not None:
            self._domain.close()
            self._domain = None

    def close(self) -> None:
        """End all of it."""
        self.no_graph()
        if self.server is not None:
            self.server.close()
            self.server = None


def _try_rendering(server: ForkServer | None) -> None:
    """Find out which OpenGL platform works, which most sessions ask before they begin."""
    from robocontrast_ros.images.rendering import RenderingUnavailable, working_backend

    with contextlib.suppress(RenderingUnavailable):
        working_backend(server)
