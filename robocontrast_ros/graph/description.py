"""The one description of the graph: which nodes a session starts, and with which parameters.

The launch files and the ``robocontrast`` command are both made from it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robocontrast_ros.bags.recorder_lag import history_depth
from robocontrast_ros.configuration import ConfigurationError, write_yaml
from robocontrast_ros.graph.names import CONTAINER, LEADER, NO_SHARED_MEMORY, OPERATOR, PRACTICE, WATCHDOG
from robocontrast_ros.robots.kinds import kind_of
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.sessions.fitting import steps_per_control
from robocontrast_ros.sessions.recording import kept_topics, recorded_topics
from robocontrast_ros.sessions.resolving import ResolvedSession
from robocontrast_ros.sessions.schema import ALL
from robocontrast_ros.system.sockets import receive_limit, wanted_limit

A_MONTH = 30 * 86400.0
"""How long a person at the console may take for an answer [s]."""

SIMULATOR_SERVICES = (
    *("get_simulator_features", "get_entities_states", "set_entity_state", "spawn_entity", "delete_entity"),
    *("reset_simulation", "step_simulation", "set_simulation_state"),
)
"""Services of simulation_interfaces that the graph uses."""

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
        nodes: what runs in it.
        shared_memory: whether messages may come and go through memory that it shares with other processes.
    """

    nodes: tuple[GraphNode, ...]
    shared_memory: bool = True

    @property
    def composed(self) -> bool:
        """Whether its executable is the container, whose arguments are the names of its nodes."""
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
            folder: where.
            namespace: of the nodes, without a slash at either end; empty for the root.
        """
        path = folder / f"{self.name}.yaml"
        place = f"/{namespace}" if namespace else ""
        content = {}
        for node in self.nodes:
            # In a ROS parameter file an empty list has no type. Without the key, the default holds, which is empty.
            given = {name: value for name, value in node.parameters.items() if value != []}
            content[f"{place}/{node.name}"] = {"ros__parameters": given}
        write_yaml(path, content)
        return path


def checked_namespace(namespace: str) -> str:
    """Return a namespace for the nodes without a slash at either end.

    Raises:
        ConfigurationError: it is no ROS namespace.
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

    A session that is practised has one within the user's: the simulated robot has the topics of the real one, whose
    driver may run in the same ROS domain and would carry out its commands.

    Args:
        session: the session.
        namespace: the user's; empty for none.

    Raises:
        ConfigurationError: it is no ROS namespace.
    """
    place = checked_namespace(namespace)
    return "/".join(filter(None, (place, PRACTICE))) if session.world.practised else place


def processes_of(session: ResolvedSession, run: RunFolder, resume: bool = False) -> tuple[NodeProcess, ...]:
    """Return the processes of a session, each with its nodes.

    So that no fault spreads, the simulator, the recorder, the watchdog and the episode manager have processes of their
    own, and so has the policy server, unless the session says otherwise: with `composed: all` the recorder and the
    manager alone have. Where the robot moves by itself, the two
    that command it share no memory with others: a process that is stopped may hold a lock of it for a second. But
    images come to ``rollout`` in shared memory where the machine's socket buffers are too small for them.
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
    """Return the name of the process, and of its executable, that a node of a session is in."""
    composed = _composed(session)
    return CONTAINER if node in composed and len(composed) > 1 else node


def world_parameters(session: ResolvedSession) -> dict[str, Any]:
    """Return what a simulator of a session's robot and world is told of them."""
    scenes, cameras = session.task.scenes, session.parameters.cameras
    return {
        "robot": str(session.robot_file),
        "world": scenes.world,
        "start_position": [float(value) for value in scenes.start_position or ()],
        "physics_step": scenes.physics_step,
        "cameras": [camera.name for camera in cameras],
        "camera_widths": [camera.width for camera in cameras],
        "camera_heights": [camera.height for camera in cameras],
    }


def nodes_of(session: ResolvedSession, run: RunFolder, resume: bool = False) -> tuple[GraphNode, ...]:
    """Return the nodes of a session; ``episode_manager`` is the last.

    A policy server elsewhere is not among them, nor a simulator that is not ours. The session ends with
    ``episode_manager``; any other node that ends before it is a fault.
    """
    task, robot, timeouts = session.task, session.robot, session.parameters.timeouts
    task_file, robot_file = str(session.task_file), str(session.robot_file)
    period = 1.0 / task.control_rate
    world, named = session.world, session.parameters.world
    when_asked = world.features.embedded and session.parameters.camera_images == "when_asked"
    cameras, loading = session.parameters.cameras, 2.0 * timeouts.load
    simulator = {
        **world_parameters(session),
        "spawnables": sorted(task.scenes.models.values()),
        "camera_period": 0.0 if when_asked else period,
        "real_time": not world.lockstep,
        "tags": world.features.camera,
        "tags_file": session.parameters.operator.tags,
        # An arm that nobody resets begins at rest, and is sent to its start by commands.
        **({} if world.features.resets_robot else {"start_position": []}),
    }
    watched, limits = not world.lockstep, session.parameters.watchdog
    simulator_services = {name: f"{named.simulator.rstrip('/')}/{name}" for name in SIMULATOR_SERVICES}
    features = world.features
    bridge = {
        **simulator_services,
        "task": task_file,
        "robot": robot_file,
        "backend": named.backend,
        "stream": world.streams,
        "plays": not world.lockstep,
        "contacts_topic": robot.contacts_topic if robot.reports_contacts else "",
        "scene_period": period,
        "operator": OPERATOR,
        "run": str(run.path) if features.person else "",
        "timeout": timeouts.set_up,
        "sensor_timeout": timeouts.sensors,
        "startup_timeout": timeouts.start_up,
    }
    port = {
        "robot": robot_file,
        "world_resets_robot": world.features.resets_robot,
        "control_period": period,
        "sensor_timeout": timeouts.sensors,
        "heartbeat_limit": limits.rollout * period,
    }
    rollout = {
        **port,
        "capture_images": "simulator/capture_images" if when_asked else "",
        "move_cameras": f"{named.simulator.rstrip('/')}/move_cameras" if world.features.moves_cameras else "",
        "cameras": [camera.name for camera in cameras] if world.features.moves_cameras else [],
        "step_simulation": simulator_services["step_simulation"],
        "image_cameras": simulator["cameras"],
        "image_widths": simulator["camera_widths"],
        "image_heights": simulator["camera_heights"],
        "pacing": named.pacing,
        "streams": world.streams,
        "sources": ["simulator", "sim_bridge"] if world.features.embedded else ["sim_bridge"],
        "steps_per_control": steps_per_control(task, task_file),
        # How often that takes depends on the machine; stamps must not.
        "publishes_unstepped": world.features.embedded,
        # The policy server answers within the policy's limit; after that, the server is lost.
        "policy_timeout": timeouts.policy + 5.0,
        "load_timeout": loading,
        "policy_server": session.parameters.policy_server.node,
        "simulator_timeout": timeouts.sensors,
        "startup_timeout": timeouts.start_up,
        "recorder": "recorder",
        "recording_timeout": timeouts.recording,
        "image_depth": history_depth(max([3 * c.width * c.height for c in cameras], default=0)),
        "watchdog": WATCHDOG if watched else "",
        "speed_scaling": session.parameters.speed_scaling,
    }
    watchdog = {
        **port,
        "loop_limit": limits.loop,
        # A second after the rollout itself takes the policy server for lost.
        "policy_limit": timeouts.policy + 6.0,
        "state_limit": limits.state,
        "camera_limit": limits.cameras,
        "watched_cameras": [camera.name for camera in cameras],
    }
    recorder = {
        "topics": [str(topic) for topic in recorded_topics(session)],
        "kept": [topic for topic, _ in kept_topics(session)],
        "stop_deadline": timeouts.recording,
    }
    recording = session.parameters.recording
    if recording is not None:
        recorder |= {"compression": recording.compression, "format": recording.format}
    manager = {
        "run": str(run.path),
        "resume": resume,
        "rest": not world.features.resets_robot and kind_of(robot).way is not None,
        "recorder": "recorder" if recording is not None else "",
        "watchdog": WATCHDOG if watched else "",
        "operator": OPERATOR if features.console else "",
        "camera_reads": features.camera,
        # Who carries things may have lunch meanwhile; an abort is noticed at once.
        "setup_timeout": A_MONTH if features.console else timeouts.set_up + 5.0,
        "answer_timeout": timeouts.scoring,
        "judge_timeout": A_MONTH if features.console else timeouts.judge,
        # The recorder answers when the last messages are there, or after its own limit.
        "recording_timeout": timeouts.recording + 5.0,
        # A policy that hung is loaded again and warmed up before the next episode's first step.
        "silence_timeout": loading + timeouts.policy + timeouts.sensors + timeouts.recording + 10.0,
        "policy_server": session.parameters.policy_server.node,
        "load_timeout": loading,
        # The policy server answers when its policy is loaded and warmed up.
        "startup_timeout": timeouts.start_up + loading + 5.0,
    }
    server = {
        "policy": str(session.policy_file),
        "timeout": timeouts.policy,
        "load_timeout": timeouts.load,
    }
    if session.parameters.blind is not None:
        server |= {"answer_time": session.parameters.blind.answer_time or 0.0, "blind": True}
    led = {
        **({"simulator": simulator} if world.features.embedded else {}),
        "sim_bridge": bridge,
        **({OPERATOR: {"run": str(run.path)}} if features.console else {}),
        **({"policy_server": server} if session.policy_file else {}),
        **({WATCHDOG: watchdog} if watched else {}),
        "scorer": {"task": task_file, "judge": named.judge, "scores": list(session.parameters.scores)},
        "rollout": rollout,
        **({"recorder": recorder} if recording is not None else {}),
    }
    return (
        *(GraphNode(name, {**parameters, "leader": LEADER}) for name, parameters in led.items()),
        GraphNode(LEADER, manager),
    )
