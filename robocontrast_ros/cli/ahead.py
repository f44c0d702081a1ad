"""The fork server and the ROS domain of a session's graph, started while the session is still read and planned."""

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
    """A fork server, and a ROS domain that is being probed; the caller closes them.

    Attributes:
        server: forks the nodes; None if each node is a new interpreter.
    """

    def __init__(self, namespace: str, fast: bool = False) -> None:
        """Begin.

        Args:
            namespace: of the nodes, as the user gave it.
            fast: whether it is already known that the session has no graph.
        """
        self.server: ForkServer | None = start_fork_server(fast)
        self._domain: Domain | None = None
        # An error is raised once the session is known, because the session may need no graph.
        with contextlib.suppress(ConfigurationError):
            if not fast:
                self._domain = Domain.probed(namespace, node_environment(0), self.server)
        # The import changes the environment for a moment, so it is done before the thread reads the environment.
        import_mujoco()
        threading.Thread(target=_try_rendering, args=(self.server,), daemon=True).start()

    def domain(self, namespace: str, elsewhere: bool) -> Domain:
        """Return the domain of the session's nodes, which is being probed; the caller closes it.

        Args:
            namespace: of the nodes.
            elsewhere: whether nodes of other machines are to be found.

        Raises:
            ConfigurationError: the domain is taken, or a variable of the environment is wrong.
        """
        if self._domain is not None and (self._domain.namespace != namespace or elsewhere):
            self.no_graph()
        domain, self._domain = self._domain, None
        return domain or Domain.probed(namespace, node_environment(0, elsewhere), self.server)

    def no_graph(self) -> None:
        """Close the domain, which only a graph needs; a domain that was returned belongs to the caller."""
        if self._domain is not None:
            self._domain.close()
            self._domain = None

    def close(self) -> None:
        """Close the domain and the fork server."""
        self.no_graph()
        if self.server is not None:
            self.server.close()
            self.server = None


def _try_rendering(server: ForkServer | None) -> None:
    """Find an OpenGL platform that works, because most sessions need the result before they begin."""
    from robocontrast_ros.images.rendering import RenderingUnavailable, working_backend

    with contextlib.suppress(RenderingUnavailable):
        working_backend(server)
