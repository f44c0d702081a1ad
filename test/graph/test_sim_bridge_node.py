"""The bridge beside a real simulator: scenes of a mobile robot, with contacts that this test reports itself.

And with a backend of this test's own, which tells the tolerances that it was given.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

import yaml
from robocontrast_ros.msg import Contacts
from robocontrast_ros.msg import Scene as SceneMsg
from robocontrast_ros.srv import GetScene, SetupScene
from simulator_process import SimulatorClient, start_process
from spinning import spun_node

from robocontrast_ros.configuration import load_configured, resolve_uri
from robocontrast_ros.console.tolerances import PERSON
from robocontrast_ros.domain import Fault, Pose, Scene
from robocontrast_ros.messages.decoding import scene_from_msg, stamp_from_msg
from robocontrast_ros.nodes.conversions.domain import scene_to_msg, time_to_msg
from robocontrast_ros.nodes.runtime.channel import DiscoveryProbe, call, wait_for
from robocontrast_ros.nodes.runtime.qos import LOCKSTEP
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.strategies.effort import Tolerance

TASK_FILE = resolve_uri("package://robocontrast_ros/config/tasks/studio_apartment.yaml")
TASK = load_configured("tasks", TASK_FILE)
START = Pose.planar(1.5, 2.0, 0.7)
BRIDGE = "from robocontrast_ros.nodes.sim_bridge_node import main; main()"
TABLE = """
from robocontrast_ros.domain import Scene
from robocontrast_ros.worlds.backends import BackendFeatures

class Table:
    features = BackendFeatures(person=True)
    set_up = None

    def __init__(self, context):
        asked = context.set_up_tolerances
        self.description = f"{asked.usual} {asked.of('banana')}"

    def read(self):
        return 0, Scene()
"""


class Bridge:
    """A client of the bridge's services, which also plays the robot's bumpers."""

    def __init__(self, simulator: SimulatorClient) -> None:
        self.simulator, node = simulator, simulator.node
        self.scenes: list[SceneMsg] = []
        node.create_subscription(SceneMsg, "scene", self.scenes.append, LOCKSTEP)
        self._bumpers = node.create_publisher(Contacts, "bumpers", LOCKSTEP)
        self._set_up = node.create_client(SetupScene, "sim_bridge/setup_scene")
        self._get = node.create_client(GetScene, "sim_bridge/get_scene")
        assert self._get.wait_for_service(240.0)
        for _ in range(120):
            # A first answer may be lost; this question may be repeated.
            future = self._get.call_async(GetScene.Request())
            simulator._executor.spin_until_future_complete(future, 1.0)
            if future.done():
                break
        simulator.wait(lambda: self._bumpers.get_subscription_count() == 1)

    def set_up(self, target: Scene) -> SetupScene.Response:
        future = self._set_up.call_async(SetupScene.Request(target=scene_to_msg(target)))
        self.simulator.wait(future.done)
        return future.result()

    def touch(self, stamp: int, *entities: str, carried: tuple[str, ...] = ()) -> None:
        message = Contacts(entities=list(entities), carried=list(carried))
        message.header.stamp = time_to_msg(stamp)
        self._bumpers.publish(message)


@pytest.fixture
def bridge(tmp_path) -> Iterator[Bridge]:
    robot = str(resolve_uri("package://robocontrast_ros/config/robots/locobot.yaml"))
    camera = {"cameras": ["camera"], "camera_widths": [16], "camera_heights": [16]}
    processes = [start_process(tmp_path, robot=robot, world=TASK.scenes.world, physics_step=0.005, **camera)]
    parameters = {
        "task": str(TASK_FILE),
        "robot": robot,
        "contacts_topic": "bumpers",
        "sensor_timeout": 0.5,
    }
    path = tmp_path / "sim_bridge.yaml"
    path.write_text(yaml.safe_dump({"/**": {"ros__parameters": parameters}}))
    arguments = ["--ros-args", "-r", "__ns:=/test", "--params-file", str(path)]
    processes.append(subprocess.Popen([sys.executable, "-c", BRIDGE, *arguments]))
    try:
        simulator = SimulatorClient(load_profile("locobot"))
        yield Bridge(simulator)
        simulator.close()
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.communicate(timeout=120)


def test_a_scene_waits_for_the_contacts_of_its_time_and_where_none_come_set_up_says_so(bridge):
    simulator = bridge.simulator
    silent = bridge.set_up(Scene(robot=START))
    assert silent.fault.code == Fault.SENSOR_LOST
    assert "nothing on bumpers of 0.250 s within 0.5 s" in silent.fault.detail

    bridge.touch(10**9, "walls")  # known ahead of time: enough for every set-up until then
    answer = bridge.set_up(Scene(robot=START))
    assert answer.fault.code == Fault.NONE
    scene = scene_from_msg(answer.scene)
    assert scene.robot.distance_to(START) < 0.01 and scene.contacts == ()

    simulator.wait(lambda: bool(bridge.scenes))
    simulator.step(120)
    simulator.wait(lambda: simulator.now() >= 1_100_000_000)
    due = simulator.now()
    seen = len(bridge.scenes)
    bridge.touch(due, "bed", "couch", carried=("lamp",))
    simulator.wait(lambda: len(bridge.scenes) > seen)
    last = bridge.scenes[-1]
    assert stamp_from_msg(last.header.stamp) == due
    assert scene_from_msg(last).contacts == ("bed", "couch", "walls")
    assert scene_from_msg(last).carried == ("lamp",)
    assert scene_from_msg(last).robot.distance_to(START) < 0.01


def bridge_at_a_table(folder, run: str) -> list[str]:
    """Return what starts a bridge to a table in a folder, for the session of a run."""
    (folder / "my_table.py").write_text(TABLE)
    tabletop, hand = (
        f"package://robocontrast_ros/config/{name}.yaml" for name in ("tasks/tabletop", "robots/franka_hand")
    )
    given = {"backend": "my_table:Table", "task": resolve_uri(tabletop), "robot": resolve_uri(hand), "run": run}
    parameters = (word for name, value in given.items() for word in ("-p", f"{name}:='{value}'"))
    return [sys.executable, "-c", BRIDGE, "--ros-args", *parameters]


@pytest.mark.parametrize("named", [True, False])
def test_a_backend_has_the_tolerances_of_the_session_of_the_run_and_without_a_run_the_usual_ones(
    tmp_path, monkeypatch, named
):
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    operator = {"position_tolerance": 0.02, "tolerances": {"banana": {"orientation": 0.5}}}
    world = {"backend": "practice", "pacing": "wall_clock", "judge": "person"}
    session = resolve("tabletop_demo", Overrides(output=str(tmp_path), settings={"world": world, "operator": operator}))
    run = str(session.new_run(0.0).path) if named else ""
    process = subprocess.Popen(bridge_at_a_table(tmp_path, run))
    try:
        with spun_node("asking") as node:
            client = node.create_client(GetScene, "sim_bridge/get_scene")
            DiscoveryProbe(node, "sim_bridge").wait(240.0)
            wait_for(client, 240.0)
            world = call(client, GetScene.Request(), 120.0).world
            setup = node.create_client(SetupScene, "sim_bridge/setup_scene")
            wait_for(setup, 240.0)
            fault = call(setup, SetupScene.Request(), 120.0).fault
    finally:
        process.terminate()
        process.communicate(timeout=120)
    usual, banana = (Tolerance(0.02, 0.15), Tolerance(0.02, 0.5)) if named else (PERSON, PERSON)
    assert world == f"{usual} {banana}"
    assert fault.code == Fault.SETUP_FAILED, "what it cannot do is answered"
    assert fault.detail.startswith("the backend 'my_table:Table' raised TypeError: ")


def test_a_run_that_is_no_run_folder_ends_the_bridge_with_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    ended = subprocess.run(
        bridge_at_a_table(tmp_path, str(tmp_path / "nowhere")), text=True, capture_output=True, timeout=240, check=False
    )
    assert ended.returncode == 2, ended.stderr
    assert "`run`: got" in ended.stderr and "nowhere" in ended.stderr and "Traceback" not in ended.stderr
