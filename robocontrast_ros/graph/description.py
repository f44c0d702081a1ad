"""The one description of the graph: which nodes a session starts, and with which parameters.

The launch files and the ``robocontrast`` command are both made from it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robocontrast_ros.configuration import ConfigurationError, dump_record, write_yaml
from robocontrast_ros.graph.names import CONTAINER, LEADER, NO_SHARED_MEMORY, OPERATOR, PRACTICE, WATCHDOG
from robocontrast_ros.graph.parameters.episode_manager import EpisodeManagerParameters
from robocontrast_ros.graph.parameters.operator import OperatorNodeParameters
from robocontrast_ros.graph.parameters.policy_server import PolicyServerParameters
from robocontrast_ros.graph.parameters.recorder import RecorderParameters
from robocontrast_ros.graph.parameters.rollout import RolloutParameters, WatchdogParameters
from robocontrast_ros.graph.parameters.scorer import ScorerParameters
from robocontrast_ros.graph.parameters.second_simulator import SecondSimulatorParameters
from robocontrast_ros.graph.parameters.sim_bridge import SimBridgeParameters
from robocontrast_ros.graph.parameters.simulator import SimulatorParameters
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.sessions.resolving import ResolvedSession
from robocontrast_ros.sessions.schema import ALL
from robocontrast_ros.system.sockets import receive_limit, wanted_limit
from robocontrast_ros.worlds.backends import SECOND_SIMULATOR

_PART = r"(?!.*__)[A-Za-z_][A-Za-z0-9_]*"
_NAMESPACE = re.compile(rf"{_PART}(/{_PART})*")


@dataclass(frozen=True)
class GraphNode:
    """One node of a session.

    Attributes:
        name: the node's name, and its executable's.
        parameters: values of its ROS parameters.
    """

    name: str
    parameters: dict[str, Any]


@dataclass(frozen=True)
class NodeProcess:
    """One or more nodes in a process of their own.

    Attributes:
        nodes: nodes that run in it.
        shared_memory: whether messages may use memory that the process shares with other processes.
    """

    nodes: tuple[GraphNode, ...]
    shared_memory: bool = True

    @property
    def composed(self) -> bool:
        """Whether the executable is the container, whose arguments are the names of its nodes."""
        return len(self.nodes) > 1

    @property
    def name(self) -> str:
        """Name of the process, of its executable and of its parameter file."""
        return CONTAINER if self.composed else self.nodes[0].name

    @property
    def arguments(self) -> list[str]:
        """Arguments of the executable, besides those of ROS."""
        names = [node.name for node in self.nodes] if self.composed else []
        return names if self.shared_memory else [*names, NO_SHARED_MEMORY]

    def write_parameters(self, folder: Path, namespace: str = "") -> Path:
        """Write the ROS parameter file of the process's nodes and return its path.

        Args:
            folder: folder of the file.
            namespace: namespace of the nodes, without a slash at either end; empty for the root.
        """
        path = folder / f"{self.name}.yaml"
        place = f"/{namespace}" if namespace else ""
        content = {}
        for node in self.nodes:
            # In a ROS parameter file an empty list has no type. Without the key, the node takes the default: empty.
            given = {name: value for name, value in node.parameters.items() if value != []}
            content[f"{place}/{node.name}"] = {"ros__parameters": given}
        write_yaml(path, content)
        return path


def checked_namespace(namespace: str) -> str:
    """Return a namespace for the nodes without a slash at either end.

    Raises:
        ConfigurationError: the text is no ROS namespace.
    """
    bare = namespace.strip("/")
    if bare and not _NAMESPACE.fullmatch(bare):
        raise ConfigurationError(
            "command line",
            "namespace",
            namespace,
            "a ROS namespace: letters, digits and single underscores, no digit first",
            "For instance: robot1",
        )
    return bare


def namespace_of(session: ResolvedSession, namespace: str) -> str:
    """Return the namespace of a session's nodes, without a slash at either end.

    A practised session has one within the user's: the simulated robot has the topics of the real one, whose driver may
    run in the same ROS domain and would carry out the commands.

    Args:
        session: the session.
        namespace: the user's namespace; empty for none.

    Raises:
        ConfigurationError: the text is no ROS namespace.
    """
    place = checked_namespace(namespace)
    return "/".join(filter(None, (place, PRACTICE))) if session.world.practised else place


def processes_of(session: ResolvedSession, run: RunFolder, resume: bool = False) -> tuple[NodeProcess, ...]:
    """Return the processes of a session, each with its nodes.

    The simulator, the recorder, the watchdog, the episode manager and the policy server have processes of their own, so
    that no fault spreads. The session may put the policy server, or with `composed: all` also the simulator, into the
    container. If the robot moves by itself, the two processes that command it share no memory with others, because a
    stopped process may hold a lock of that memory for a second. But ``rollout`` receives images in shared memory if the
    machine's socket buffers are too small for them.
    """
    watched, composed = not session.world.lockstep, _composed(session)
    nodes = nodes_of(session, run, resume)
    together = tuple(node for node in nodes if node.name in composed)
    groups = [(node,) for node in nodes if node.name not in composed]
    groups = [*groups[:-1], *([together] if together else ()), groups[-1]]
    images = [(camera.width, camera.height) for camera in session.parameters.cameras]
    unshared = {WATCHDOG, "rollout"} if receive_limit() >= wanted_limit(images) else {WATCHDOG}
    return tuple(NodeProcess(group, not (watched and unshared & {node.name for node in group})) for group in groups)


def _composed(session: ResolvedSession) -> set[str]:
    """Return the nodes of a session that share a process."""
    composed = {"sim_bridge", "scorer", "rollout"} if session.parameters.composed else set()
    if session.parameters.composed == ALL:
        composed |= {"simulator", "policy_server"}
    if session.parameters.policy_server.composed:
        composed.add("policy_server")
    return composed


def process_of(node: str, session: ResolvedSession) -> str:
    """Return the name of a node's process in a session, which is the name of its executable."""
    composed = _composed(session)
    return CONTAINER if node in composed and len(composed) > 1 else node


def nodes_of(session: ResolvedSession, run: RunFolder, resume: bool = False) -> tuple[GraphNode, ...]:
    """Return the nodes of a session; ``episode_manager`` is the last.

    They do not include a policy server elsewhere, or a simulator that is not ours. The session ends with
    ``episode_manager``; it is a fault if any other node ends before it.
    """
    features = session.world.features
    nodes = {
        "simulator": features.embedded and SimulatorParameters.of(session),
        SECOND_SIMULATOR: features.engine and SecondSimulatorParameters.of(session, run),
        "sim_bridge": SimBridgeParameters.of(session, run),
        OPERATOR: features.console and OperatorNodeParameters.of(run),
        "policy_server": session.policy_file and PolicyServerParameters.of(session),
        WATCHDOG: not session.world.lockstep and WatchdogParameters.of(session),
        "scorer": ScorerParameters.of(session),
        "rollout": RolloutParameters.of(session),
        "recorder": session.parameters.recording and RecorderParameters.of(session),
        LEADER: EpisodeManagerParameters(run=run.path, resume=resume),
    }
    return tuple(GraphNode(name, dump_record(parameters)) for name, parameters in nodes.items() if parameters)
