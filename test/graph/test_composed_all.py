"""`composed: all`: the graph in one process gives the same trials, and others hear and call it as before."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest
import yaml

rclpy = pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from domains import own_domain  # noqa: E402
from geometry_msgs.msg import PoseStamped  # noqa: E402
from robocontrast_ros.msg import Scene  # noqa: E402
from robocontrast_ros.srv import CaptureImages, SetupScene, SwapPolicy  # noqa: E402
from session_runs import Workplace, finish, finished, node_pids, scores, wait_until  # noqa: E402
from simulation_interfaces.msg import SimulationState  # noqa: E402
from simulation_interfaces.srv import GetEntitiesStates, GetSimulatorFeatures, SetSimulationState  # noqa: E402
from simulator_process import SimulatorClient  # noqa: E402
from spinning import spun_node  # noqa: E402
from twice import recorded_fast, unequal  # noqa: E402

from robocontrast_ros.configuration import ConfigurationError  # noqa: E402
from robocontrast_ros.domain import BASE, Pose  # noqa: E402
from robocontrast_ros.graph.description import NodeProcess, processes_of  # noqa: E402
from robocontrast_ros.images.rendering import Camera  # noqa: E402
from robocontrast_ros.nodes.runtime import intra_process  # noqa: E402
from robocontrast_ros.nodes.runtime.channel import (  # noqa: E402
    NoAnswer,
    PendingResponse,
    call,
    wait_for,
)
from robocontrast_ros.nodes.runtime.qos import LOCKSTEP, RECORDED  # noqa: E402
from robocontrast_ros.nodes.sim_bridge.simulation_client import RosSimulation, SimulationServices  # noqa: E402
from robocontrast_ros.nodes.simulator.cameras import CameraPublishers  # noqa: E402
from robocontrast_ros.nodes.simulator.state import PlayControl  # noqa: E402
from robocontrast_ros.robots.commands import JointTrajectoryCommand  # noqa: E402
from robocontrast_ros.robots.profile import load_profile  # noqa: E402
from robocontrast_ros.sessions.overrides import Overrides  # noqa: E402
from robocontrast_ros.sessions.resolving import resolve  # noqa: E402
from robocontrast_ros.worlds.mujoco.sensors import CameraInfo  # noqa: E402

PROFILE = load_profile("franka")
IMAGES = PROFILE.cameras[0].image_topic
CONTROL = 50


def container_of(folder, **settings: object) -> NodeProcess:
    """Return the container of the demo, and make its run folder."""
    session = resolve("language_table_demo", Overrides(output=str(folder), settings={"composed": "all", **settings}))
    processes = processes_of(session, session.new_run(0.0))
    assert [each.name for each in processes] == ["recorder", "container", "episode_manager"]
    return processes[1]


def test_simulator_and_policy_server_share_the_container_and_no_list_has_an_alias(tmp_path):
    container = container_of(tmp_path)
    assert container.arguments == ["simulator", "sim_bridge", "policy_server", "scorer", "rollout"]
    content = container.write_parameters(tmp_path).read_text()
    assert "&" not in content and "*" not in content
    nodes = {name.strip("/"): given["ros__parameters"] for name, given in yaml.safe_load(content).items()}
    assert nodes["rollout"]["image_widths"] == nodes["simulator"]["camera_widths"] != []


@pytest.mark.parametrize(
    ("settings", "server", "reason"),
    [
        ({"world.pacing": "wall_clock"}, None, "`world.pacing: wall_clock`, where no policy may delay what stops"),
        ({"world.backend": "simulation_interfaces"}, None, "`world.backend: simulation_interfaces`, whose simulator"),
        ({}, "external", "`policy_server.external: true`, where the policy server runs elsewhere"),
    ],
    ids=["wall clock", "another simulator", "policy server elsewhere"],
)
def test_all_is_refused_by_name_with_the_reason(settings, server, reason):
    with pytest.raises(ConfigurationError) as error:
        resolve("language_table_demo", Overrides(policy_server=server, settings={"composed": "all", **settings}))
    assert error.value.key == "composed" and f"true or false with {reason}" in str(error.value)
    assert (
        resolve("language_table_demo", Overrides(policy_server=server, settings=settings)).parameters.composed is True
    )


def test_a_container_that_is_killed_ends_the_session_which_is_resumed_and_all_is_as_in_one_process(tmp_path):
    """test_told_and_shown.py says the same of the usual graph: one process gives its trials and bags."""
    place = Workplace(tmp_path)
    session = place.session(
        policy="film_bc",
        task=place.short_task(10),
        strategy={"name": "contrast_set", "perturbations": ["moved_camera"]},
        test_set={"size": 3},
        cameras=None,
        composed="all",
    )
    process = place.begin("evaluate", session)
    run = wait_until(lambda: place.runs and place.runs[0], "a run folder")
    wait_until(lambda: len(finished(run)) > 1, "the first trial, and that of the moved camera")
    os.kill(node_pids(run)["container"], signal.SIGKILL)
    code, output = finish(process)
    assert code == 3 and "process 'container' was killed by SIGKILL" in output, output
    assert "Traceback" not in output and node_pids(run) == {}
    before = scores(run)
    code, output = place.run("evaluate", "--resume", run)
    assert code == 0, output
    assert {file.stem for file in (run / "parameters/nodes").iterdir()} == {"container", "recorder", "episode_manager"}
    assert len(finished(run)) == 6 and scores(run)[: len(before)] == before
    assert {event.trial.perturbation == BASE for event in finished(run)[: len(before)]} == {True, False}
    fast = recorded_fast(run)
    assert scores(run) == scores(fast)
    # Simulated time begins again in the part after it.
    assert unequal(run, fast, len(before)) == []


@pytest.fixture(scope="module")
def container(tmp_path_factory):
    """Run simulator, sim_bridge and scorer in one process, in the namespace `test`."""
    folder = tmp_path_factory.mktemp("container")
    nodes = [n for n in container_of(folder).nodes if n.name in ("simulator", "sim_bridge", "scorer")]
    file = NodeProcess(tuple(nodes)).write_parameters(folder, "test")
    with own_domain():
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "robocontrast_ros.nodes.container_node", *(node.name for node in nodes)),
                *("--ros-args", "-r", "__ns:=/test", "--params-file", str(file)),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        client = SimulatorClient(PROFILE)
        yield SimpleNamespace(process=process, client=client)
        client.close()
        process.terminate()
        process.communicate(timeout=120)


def test_others_step_the_simulator_and_hear_all_that_follows(container):
    simulator, scenes = container.client, []
    simulator.node.create_subscription(Scene, "scene", scenes.append, LOCKSTEP)
    simulator.wait(lambda: simulator.node.count_publishers("scene") == 1)

    def everything_came() -> bool:
        simulator.step(0)
        return bool(scenes) and all(simulator.heard.values())

    simulator.wait(everything_came)
    simulator.start_over()
    simulator.step(CONTROL)
    simulator.wait(lambda: all(simulator.heard.values()))
    assert simulator.now() == CONTROL * 2_000_000


def test_others_command_the_robot_before_a_step(container):
    simulator = container.client
    simulator.start_over()
    simulator.step(CONTROL)
    simulator.wait(lambda: bool(simulator.heard[PROFILE.state.topic]))
    home = tuple(simulator.heard[PROFILE.state.topic][-1].position)
    for count in range(2, 5):
        simulator.command(JointTrajectoryCommand(PROFILE.joint_names, (home[0] + 0.1, *home[1:]), 0.1))
        simulator.step(CONTROL)
        simulator.wait(lambda expected=count: len(simulator.heard[PROFILE.state.topic]) == expected)
    assert simulator.heard[PROFILE.state.topic][-1].position[0] > home[0] + 0.05


def test_others_ask_for_images_while_nodes_of_the_process_move_the_world(container):
    simulator = container.client
    capture = simulator.node.create_client(CaptureImages, "simulator/capture_images")
    set_up = simulator.node.create_client(SetupScene, "sim_bridge/setup_scene")
    simulator.wait(lambda: capture.service_is_ready() and set_up.service_is_ready())
    request = SetupScene.Request()
    request.target.header.frame_id = PROFILE.world_frame
    before = len(simulator.heard[IMAGES])
    for _ in range(5):
        # Set up in a thread of sim_bridge's, drawn and answered in the simulator's.
        asked = [set_up.call_async(request), *(capture.call_async(CaptureImages.Request()) for _ in range(3))]
        simulator.wait(lambda asked=asked: all(future.done() for future in asked))
        assert asked[0].result().fault.code == 0, asked[0].result().fault
        assert [future.result().cameras for future in asked[1:]] == [1, 1, 1]
        assert "franka" in simulator.call(GetEntitiesStates).entities
    simulator.wait(lambda: len(simulator.heard[IMAGES]) >= before + 15)
    assert "drawn by" in simulator.call(GetSimulatorFeatures).features.custom_info


def test_others_have_it_play_and_quit(container):
    simulator = container.client

    def enter(state: int) -> None:
        simulator.call(SetSimulationState, state=SimulationState(state=state))

    simulator.start_over()
    enter(SimulationState.STATE_PLAYING)
    simulator.wait(lambda: len(simulator.heard["clock"]) > 20 and len(simulator.heard[IMAGES]) > 1)
    home = tuple(simulator.heard[PROFILE.state.topic][-1].position)
    simulator.command(JointTrajectoryCommand(PROFILE.joint_names, (home[0] + 0.1, *home[1:]), 0.1))
    simulator.wait(lambda: simulator.heard[PROFILE.state.topic][-1].position[0] > home[0] + 0.05)
    enter(SimulationState.STATE_QUITTING)
    assert container.process.wait(timeout=120) == 0


@pytest.fixture
def handing():
    """Hand over in this process, for the test alone."""
    intra_process.hand_over()
    yield
    intra_process.stop_handing_over()


def pose(number: int) -> PoseStamped:
    message = PoseStamped()
    message.header.stamp.sec = number
    return message


def test_a_message_that_is_handed_over_and_one_of_others_is_heard_once(handing, monkeypatch):
    heard, came = [], []
    real = intra_process._Copies.came
    monkeypatch.setattr(intra_process._Copies, "came", lambda self, m: came.append(real(self, m)) or came[-1])
    with spun_node("one") as one, spun_node("other") as other:
        intra_process.subscribe_openly(one, PoseStamped, "goal", heard.append, LOCKSTEP)
        ours = intra_process.HandingPublisher(one, PoseStamped, "goal", RECORDED)
        theirs = other.create_publisher(PoseStamped, "goal", RECORDED)
        wait_until(lambda: (ours.subscribers(), theirs.get_subscription_count()) == (2, 1), "discovery")
        for number in range(3):
            message = pose(number)
            ours.publish(message)
            assert heard[-1] is message, "before publish() returns"
        theirs.publish(pose(7))
        wait_until(lambda: len(came) == 4, "what came through the middleware")
    assert sorted(came) == [False, True, True, True] and len(heard) == 4
    assert [message.header.stamp.sec for message in heard] == [0, 1, 2, 7]


def test_a_copy_that_was_lost_is_not_waited_for():
    copies = intra_process._Copies()
    for number in range(3):
        copies.expect(pose(number))
    assert copies.came(pose(1)) and not copies.came(pose(0)) and copies.came(pose(2))
    assert not copies.came(pose(2))


class Sent(list):
    """A publisher that keeps what it is given."""

    publish = list.append


def test_what_is_handed_over_in_an_episode_is_published_together_in_its_order_and_none_stays_behind(
    handing, monkeypatch
):
    monkeypatch.setattr(intra_process, "LATE", 3600.0)
    intra_process.hand_over(together=True)
    sent = Sent()
    outbox = intra_process._outbox
    with intra_process.published_together():
        outbox.publish(sent, 1)
        outbox.publish(sent, 2)
        assert sent == []
        intra_process.publish_waiting()
        assert sent == [1, 2]
        outbox.publish(sent, 3)
    assert sent == [1, 2, 3]
    outbox.publish(sent, 4)
    assert sent == [1, 2, 3, 4]


def test_what_no_step_follows_is_published_while_the_episode_waits():
    outbox, sent = intra_process._Outbox(), Sent()
    with outbox.together():
        outbox.publish(sent, 1)
        wait_until(lambda: sent, "what waits to be published")
        outbox.publish(sent, 2)
        wait_until(lambda: len(sent) == 2, "what came later")


def test_a_service_of_this_process_is_called_by_reference_and_sent_for_by_others(handing):
    requests = []

    def answer(request, response):
        requests.append((request, threading.get_ident()))
        response.accepted, response.detail = True, request.policy
        return response

    with spun_node("served") as server, spun_node("asking") as asking:
        intra_process.serve(server, SwapPolicy, "~/swap", answer)
        client = asking.create_client(SwapPolicy, "served/swap")
        wait_for(client, 120.0)
        request = SwapPolicy.Request(policy="near")
        assert call(client, request, 0.0).detail == "near"
        assert requests == [(request, threading.get_ident())] and requests[0][0] is request
        # What a client of another process does.
        assert PendingResponse(client, SwapPolicy.Request(policy="far")).result(120.0).detail == "far"
    assert requests[-1][1] != threading.get_ident()


def test_what_a_service_of_this_process_says_is_read_without_a_message(handing):
    heard, reading = [], (7, {"cube": Pose()})
    with spun_node("served") as server, spun_node("asking") as asking:
        intra_process.serve_reading(server, "~/states", lambda: reading)
        names = {"get_entities_states": "served/states"}
        simulation = RosSimulation(asking, SimulationServices(**names), "world", 120.0)
        simulation.request_poses(lambda *poses: heard.append((poses, threading.get_ident())))
    assert heard == [(reading, threading.get_ident())]


class Drawing:
    """Cameras of a world that draw until they may continue."""

    def __init__(self):
        self.fails, self.goes_on = False, threading.Event()

    def __iter__(self):
        return iter((Camera(PROFILE.cameras[0].name, 4, 3),))

    def info(self, name):
        return CameraInfo(4, 3, (1.0,) * 9)

    def render(self, name, begun):
        if self.fails:
            raise RuntimeError("no context")
        begun()
        assert self.goes_on.wait(120.0)
        return np.zeros((3, 4, 3), np.uint8)


def test_while_opengl_draws_on_its_thread_the_step_goes_on_and_what_it_raises_is_not_lost():
    drawing = Drawing()
    world = SimpleNamespace(profile=PROFILE, cameras=drawing)
    with spun_node("camera") as node, ThreadPoolExecutor(1) as thread:
        cameras = CameraPublishers(node, world, 0.1, lambda: 0)
        cameras.thread = thread
        cameras.time_passed()
        drawing.goes_on.set()
        cameras.draw_due()
        drawing.fails = True
        cameras.time_passed()
        with pytest.raises(RuntimeError, match="no context"):
            cameras.draw_due()


def test_a_service_of_this_process_that_fails_is_lost_for_good(handing):
    with spun_node("served") as server:
        intra_process.serve(server, SwapPolicy, "swap", lambda request, response: 1 // 0)
        client = server.create_client(SwapPolicy, "swap")
        with pytest.raises(NoAnswer, match=r"'.*swap' failed: .*zero") as error:
            call(client, SwapPolicy.Request(), 1.0)
    assert not error.value.late


HANGS = """
import threading, time
from rclpy.node import Node
from robocontrast_ros.nodes.runtime import intra_process
from robocontrast_ros.nodes.runtime.channel import call
from robocontrast_ros.nodes.runtime.main import run_nodes
from robocontrast_ros.srv import SwapPolicy

class Served(Node):
    def __init__(self):
        super().__init__("served")
        intra_process.serve(self, SwapPolicy, "~/swap", lambda request, response: time.sleep(10_000))

class Asking(Node):
    def __init__(self):
        super().__init__("asking")
        client = self.create_client(SwapPolicy, "served/swap")
        threading.Thread(target=call, args=(client, SwapPolicy.Request(), 0.3), daemon=True).start()

intra_process.hand_over()
run_nodes([Served, Asking])
"""


def test_a_service_of_this_process_that_hangs_ends_the_process():
    done = subprocess.run([sys.executable, "-c", HANGS], text=True, capture_output=True, timeout=120, check=False)
    assert done.returncode == 1 and "'served/swap' hangs, in this process" in done.stderr, done.stderr


def test_a_world_that_plays_is_moved_by_one_thread_at_a_time():
    lock, free, node = threading.RLock(), [], MagicMock()

    def step(_: int) -> None:
        other = threading.Thread(target=lambda: free.append(lock.acquire(blocking=False)))
        other.start()
        other.join()

    world = SimpleNamespace(step_duration=0.002, step=step)
    control = PlayControl(node, world, lambda: None, 0.01, False, lock)
    _, look = node.create_timer.call_args.args
    control.set(SimpleNamespace(state=SimpleNamespace(state=SimulationState.STATE_PLAYING)), None)
    wait_until(lambda: look() or free, "a period in which it moves")
    assert not any(free)
