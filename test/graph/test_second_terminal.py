"""Two sessions side by side in one ROS domain, and a second terminal that looks at everything meanwhile.

The second one uses a simulator that runs already, by its standard services. Each ends with one of its nodes.
"""

from __future__ import annotations

import os
import signal
import time
from importlib import import_module

import pytest

rclpy = pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from rcl_interfaces.msg import ParameterType  # noqa: E402
from rclpy.parameter import Parameter, parameter_value_to_python  # noqa: E402
from rclpy.parameter_client import AsyncParameterClient  # noqa: E402
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy  # noqa: E402
from session_runs import Workplace, events_of, finish, finished, node_pids, scores, wait_until  # noqa: E402
from spinning import spun_node  # noqa: E402
from strange_simulator import WORLD, start  # noqa: E402

from robocontrast_ros.domain import Fault  # noqa: E402
from robocontrast_ros.runs.events import ProcessDied, TrialStarted, TrialVoid  # noqa: E402
from robocontrast_ros.sessions.resolving import resolve  # noqa: E402

NODES = {"simulator", "sim_bridge", "policy_server", "scorer", "rollout", "recorder", "episode_manager"}
SIMULATOR = "gz"
EVERY_NODE = {f"/robot1/{name}" for name in NODES} | {f"/robot2/{name}" for name in NODES - {"simulator"} | {SIMULATOR}}
STREAMS = {"clock", "joint_states", "scene", "tool_pose", "progress", "trial", "session_status"}
TRIALS = 3
KILLED = {"simulator": Fault.SIMULATOR_LOST, "policy_server": Fault.POLICY_SERVER_LOST}
"""Node of each session that is killed in the end -> why its trial is void."""
READ_ONLY = {"simulator": "physics_step", "recorder": "kept", "episode_manager": "resume", "rollout": "robot"}


@pytest.fixture(scope="module")
def side_by_side(tmp_path_factory):
    """Run two sessions of one seed in two namespaces until a second terminal has looked at everything of the first.

    Return the nodes that it saw, their parameters, what it heard, the runs, and how they ended.
    """
    place = Workplace(tmp_path_factory.mktemp("lab"))
    changes = {"policy": "random", "task": place.short_task(40), "test_set": {"size": 60}, "cameras": []}
    own, other = Workplace(place.folder / "robot1"), Workplace(place.folder / "robot2")
    processes = []
    for each in (own, other):
        each.folder.mkdir()
        world = {"backend": "simulation_interfaces", "simulator": SIMULATOR, **WORLD} if each is other else {}
        session = each.session(**changes, world=world)
        processes.append(each.begin("evaluate", session, "--namespace", each.folder.name))
    simulator = start(resolve(session), place.folder / "simulator.yaml", SIMULATOR, other.folder.name)
    places = [own, other]
    try:
        runs = [wait_until(lambda each=each: each.runs and each.runs[0], "a run folder") for each in places]
        for run in runs:
            wait_until(lambda run=run: any(isinstance(e, TrialStarted) for e in events_of(run)), "a trial")
        with spun_node("second_terminal") as terminal:
            heard = _echo_everything(terminal, "/robot1")
            parameters = {name: _look_at(terminal, f"/robot1/{name}") for name in sorted(NODES)}
            # Names of nodes come in a later round of the discovery than their services.
            wait_until(lambda: _nodes(terminal) >= EVERY_NODE, "every node", 60.0)
            nodes = _nodes(terminal)
            wait_until(lambda: {t for t, messages in heard.items() if messages} >= STREAMS, "every topic", 60.0)
        for run in runs:
            wait_until(lambda run=run: len(finished(run)) >= TRIALS, "the trials")
        for run, name in zip(runs, KILLED, strict=True):
            os.kill(node_pids(run)[name], signal.SIGKILL)
        ended = [finish(process) for process in processes]
    finally:
        for process in processes:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                finish(process)
        simulator.terminate()
        simulator.communicate(timeout=120)
    return nodes, parameters, heard, runs, ended


def _nodes(terminal) -> set[str]:
    return {f"{space.rstrip('/')}/{name}" for name, space in terminal.get_node_names_and_namespaces()}


def _echo_everything(terminal, namespace: str) -> dict[str, list]:
    """Subscribe to every topic of a namespace, as `ros2 topic echo` does."""
    heard: dict[str, list] = {}
    wanted = {f"{namespace}/{topic}" for topic in STREAMS}
    wait_until(lambda: wanted <= set(_topics(terminal, namespace)), "all topics", 60.0)
    for topic, kind in _topics(terminal, namespace).items():
        package, _, message = kind.split("/")
        name = topic.removeprefix(f"{namespace}/")
        heard[name] = []
        latched = any(
            info.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
            for info in terminal.get_publishers_info_by_topic(topic)
        )
        qos = QoSProfile(
            depth=10,
            reliability=ReliabilityPolicy.RELIABLE,
            durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
        )
        terminal.create_subscription(getattr(import_module(f"{package}.msg"), message), topic, heard[name].append, qos)
    return heard


def _topics(terminal, namespace: str) -> dict[str, str]:
    names = terminal.get_topic_names_and_types()
    # Names with a part that begins with an underscore are hidden: those of actions.
    return {topic: kinds[0] for topic, kinds in names if topic.startswith(f"{namespace}/") and "/_" not in topic}


def _look_at(terminal, node: str) -> dict[str, object]:
    """List, describe, get and try to set a node's parameters, as `ros2 param` and rqt do; return what it has."""
    client = AsyncParameterClient(terminal, node)
    assert client.wait_for_services(60.0), node
    listed = list(_answer(client.list_parameters).result.names)
    described = {d.name: d for d in _answer(lambda: client.describe_parameters(listed)).descriptors}
    values = dict(zip(listed, _answer(lambda: client.get_parameters(listed)).values, strict=True))
    ours = [name for name in listed if described[name].description and described[name].read_only]
    change = Parameter(ours[0], value=parameter_value_to_python(values[ours[0]]))
    (set_,) = _answer(lambda: client.set_parameters([change])).results
    assert not set_.successful and "read-only" in set_.reason, (node, set_)
    assert not [name for name in ours if values[name].type == ParameterType.PARAMETER_NOT_SET], node
    return {name: parameter_value_to_python(values[name]) for name in ours}


def _answer(ask):
    """Ask until there is an answer: a server gives up the answer to a client that it has not discovered yet."""
    deadline = time.monotonic() + 60.0
    while time.monotonic() < deadline:
        future, again = ask(), time.monotonic() + 2.0
        while time.monotonic() < again:
            if future.done():
                return future.result()
            time.sleep(0.01)
    raise AssertionError("no answer")


@pytest.mark.long
def test_every_node_of_both_sessions_is_there_in_its_own_namespace(side_by_side):
    nodes, *_ = side_by_side
    assert nodes >= EVERY_NODE


@pytest.mark.long
def test_every_parameter_of_every_node_is_listed_and_described_with_its_value_and_cannot_be_set(side_by_side):
    _, parameters, _, runs, _ = side_by_side
    for node, name in READ_ONLY.items():
        assert name in parameters[node]
    assert parameters["recorder"]["kept"] == ["robot_description", "tf_static"]
    assert parameters["simulator"]["physics_step"] == 0.002
    assert parameters["episode_manager"]["run"] == str(runs[0])


@pytest.mark.long
def test_every_topic_of_the_session_can_be_echoed(side_by_side):
    _, _, heard, *_ = side_by_side
    assert {topic for topic, messages in heard.items() if messages} >= STREAMS


@pytest.mark.long
def test_neither_session_notices_the_other_nor_the_second_terminal_and_another_simulator_gives_the_same(side_by_side):
    _, _, _, runs, _ = side_by_side
    assert "simulator" not in {path.stem for path in (runs[1] / "logs").iterdir()}
    assert scores(runs[0])[:TRIALS] == scores(runs[1])[:TRIALS]
    for run, fault in zip(runs, KILLED.values(), strict=True):
        void = [event for event in events_of(run) if isinstance(event, TrialVoid)]
        assert len(void) <= 1 and {event.fault for event in void} <= {fault, Fault.ABORTED}, void
        assert not [event for event in finished(run) if event.recording.missing]
        assert all("trial" in dict(event.recording.messages) for event in finished(run))
        assert node_pids(run) == {}


@pytest.mark.long
def test_a_node_that_is_killed_is_told_at_once_and_ends_its_session_alone(side_by_side):
    _, _, _, runs, ended = side_by_side
    for run, name, (code, output) in zip(runs, KILLED, ended, strict=True):
        assert code == 3 and f"--resume {run}" in output and "Traceback" not in output, output
        said = output.index(f"error: process '{name}' was killed by SIGKILL")
        assert said < output.index("stopping the session"), "it is told at once"
        assert [event.process for event in events_of(run) if isinstance(event, ProcessDied)] == [name]
        assert not (run / "graph.yaml").exists()
