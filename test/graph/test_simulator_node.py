"""The simulator as a process of its own: every feature that it announces, over real topics and services."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pytest
import yaml
from articulated import CABINET
from session_runs import wait_until

rclpy = pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from domains import own_domain  # noqa: E402
from geometry_msgs.msg import Vector3  # noqa: E402
from rclpy.node import Node  # noqa: E402
from simulation_interfaces.msg import Bounds, EntityCategory, Result, SimulationState, SimulatorFeatures  # noqa: E402
from simulation_interfaces.srv import (  # noqa: E402
    DeleteEntity,
    GetEntities,
    GetEntitiesStates,
    GetEntityBounds,
    GetEntityInfo,
    GetEntityState,
    GetSimulationState,
    GetSimulatorFeatures,
    GetSpawnables,
    ResetSimulation,
    SetEntityState,
    SetSimulationState,
    SpawnEntity,
    StepSimulation,
)
from simulator_process import OK, SimulatorClient, start_process  # noqa: E402
from trajectory_msgs.msg import JointTrajectory  # noqa: E402

from robocontrast_ros.configuration import resolve_uri  # noqa: E402
from robocontrast_ros.messages.decoding import stamp_from_msg  # noqa: E402
from robocontrast_ros.messages.images import image_to_array  # noqa: E402
from robocontrast_ros.nodes.conversions.driver import command_to_msgs  # noqa: E402
from robocontrast_ros.nodes.runtime.executor import lockstep_executor  # noqa: E402
from robocontrast_ros.nodes.runtime.qos import RECORDED  # noqa: E402
from robocontrast_ros.nodes.simulation_version import resource_of  # noqa: E402
from robocontrast_ros.nodes.simulator_node import Simulator  # noqa: E402
from robocontrast_ros.robots.commands import JointTrajectoryCommand  # noqa: E402
from robocontrast_ros.robots.profile import load_profile  # noqa: E402
from robocontrast_ros.worlds.mujoco.world import World  # noqa: E402

FRANKA = "package://robocontrast_ros/config/robots/franka.yaml"
MODELS = "package://robocontrast_ros/models/language_table"
PROFILE = load_profile("franka")
CAMERA = PROFILE.cameras[0]
START = (0.2, 0.0, 0.01)
CONTROL = 50
STEP_NS = 2_000_000
FIXED = '<mujoco><worldbody><body><geom type="box" size=".02 .02 .1"/></body></worldbody></mujoco>'


def start(folder, **parameters: object):
    given = {
        "robot": str(resolve_uri(FRANKA)),
        "world": f"{MODELS}/world.xml",
        "start_position": list(START),
        "spawnables": [f"{MODELS}/red_moon.xml"],
        "cameras": ["board"],
        "camera_widths": [160],
        "camera_heights": [90],
    }
    return start_process(folder, **(given | parameters))


class Client(SimulatorClient):
    """A client of the Franka's simulator, in the terms of its board."""

    def __init__(self) -> None:
        super().__init__(PROFILE)

    def step(self, steps: int = CONTROL) -> None:
        super().step(steps)

    def send(self, positions: tuple[float, ...], duration: float = 0.1) -> None:
        self.command(JointTrajectoryCommand(PROFILE.joint_names, positions, duration))

    def spawn(self, name: str, model: str = "red_moon", x: float = 0.4, y: float = 0.1, **fields: object):
        return super().spawn(name, x, y, **({"uri": f"{MODELS}/{model}.xml"} | fields))

    def names(self, **filters: object) -> list[str]:
        request = GetEntities.Request()
        for key, value in filters.items():
            setattr(request.filters, key, value)
        response = self.call(GetEntities, filters=request.filters)
        assert response.result.result == OK, response.result.error_message
        return response.entities


@pytest.fixture(scope="module")
def client(tmp_path_factory) -> Iterator[Client]:
    process = start(tmp_path_factory.mktemp("simulator"))
    client = Client()
    yield client
    client.close()
    process.terminate()
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output


@pytest.fixture
def simulator(client) -> Client:
    """The simulator as it was at its start, with nothing heard yet."""
    client.start_over()
    return client


def test_a_step_brings_time_and_all_sensors_of_the_new_time(simulator):
    for count in (1, 2, 3):
        simulator.step()
        simulator.wait(lambda expected=count: all(len(h) == expected for h in simulator.heard.values()))
    due = [CONTROL * STEP_NS * count for count in (1, 2, 3)]
    assert [stamp_from_msg(m.clock) for m in simulator.heard["clock"]] == due
    for topic in (PROFILE.state.topic, CAMERA.image_topic, CAMERA.info_topic):
        assert [stamp_from_msg(m.header.stamp) for m in simulator.heard[topic]] == due, topic
    joints = simulator.heard[PROFILE.state.topic][-1]
    assert tuple(joints.name) == PROFILE.joint_names
    assert len(joints.position) == len(joints.velocity) == len(joints.effort) == len(PROFILE.joints)


def test_images_are_rgb_in_the_optical_frame_and_fit_their_camera_info(simulator):
    simulator.step()
    simulator.wait(lambda: all(simulator.heard[topic] for topic in (CAMERA.image_topic, CAMERA.info_topic)))
    image, info = simulator.heard[CAMERA.image_topic][-1], simulator.heard[CAMERA.info_topic][-1]
    assert image_to_array(image).shape == (info.height, info.width, 3) == (90, 160, 3)
    assert image.header.frame_id == info.header.frame_id == CAMERA.frame_id
    assert info.k[0] == pytest.approx(0.8 * 160, rel=1e-3)
    assert np.ptp(image_to_array(image)) > 100


def test_short_steps_bring_an_image_only_once_a_camera_period(simulator):
    for _ in range(20):
        simulator.step(10)
    simulator.wait(lambda: len(simulator.heard["clock"]) == 20)
    simulator.wait(lambda: len(simulator.heard[CAMERA.image_topic]) == 4)
    stamps = [stamp_from_msg(m.header.stamp) // 1_000_000 for m in simulator.heard[CAMERA.image_topic]]
    assert stamps == [20, 120, 220, 320][: len(stamps)]


def test_the_first_step_after_a_reset_brings_an_image_even_at_the_time_of_the_last_one(simulator):
    for _ in range(2):
        simulator.step()
        simulator.wait(lambda: len(simulator.heard[CAMERA.image_topic]) == 1)
        simulator.start_over()


def test_a_command_that_was_sent_before_a_step_is_carried_out_in_it(simulator):
    simulator.step()
    simulator.wait(lambda: bool(simulator.heard[PROFILE.state.topic]))
    home = tuple(simulator.heard[PROFILE.state.topic][-1].position)
    for count in range(1, 101):
        wanted = home[0] + (0.05 if count % 2 else -0.05)
        simulator.send((wanted, *home[1:]))
        simulator.step()
        simulator.wait(lambda expected=count + 1: len(simulator.heard[PROFILE.state.topic]) == expected)
        reached = simulator.heard[PROFILE.state.topic][-1].position[0]
        assert reached == pytest.approx(wanted, abs=0.02), f"step {count}"


def test_a_command_for_other_joints_is_not_carried_out(simulator):
    simulator.step()
    simulator.wait(lambda: bool(simulator.heard[PROFILE.state.topic]))
    home = tuple(simulator.heard[PROFILE.state.topic][-1].position)
    simulator.command(JointTrajectoryCommand(("other",), (1.0,), 0.1))
    simulator.step()
    simulator.wait(lambda: len(simulator.heard[PROFILE.state.topic]) == 2)
    assert tuple(simulator.heard[PROFILE.state.topic][-1].position) == pytest.approx(home, abs=1e-3)


def test_the_same_requests_give_the_same_states_and_pixels_to_the_last_bit(simulator):
    def run() -> list:
        simulator.call(ResetSimulation, scope=ResetSimulation.Request.SCOPE_ALL)
        simulator.wait(lambda: bool(simulator.heard["clock"]) and simulator.now() == 0)
        for heard in simulator.heard.values():
            heard.clear()
        simulator.spawn("block", x=0.26, y=0.002)
        seen = []
        joints = None
        for count in range(1, 11):
            if joints is not None:
                simulator.send((joints[0] + 0.01, joints[1] + 0.02, *joints[2:]))
            simulator.step()
            simulator.wait(lambda expected=count: all(len(h) == expected for h in simulator.heard.values()))
            joints = tuple(simulator.heard[PROFILE.state.topic][-1].position)
            state = simulator.call(GetEntityState, entity="block").state
            seen.append((joints, state, bytes(simulator.heard[CAMERA.image_topic][-1].data)))
        return seen

    assert run() == run()


def test_entities_are_told_by_name_category_and_place(simulator):
    assert simulator.spawn("red_moon", x=0.4, y=0.25).result.result == OK
    assert simulator.spawn("blue_cube", "blue_cube", x=0.4, y=-0.1).result.result == OK
    assert simulator.names() == ["franka", "table", "board", "blue_cube", "red_moon"]
    assert simulator.names(filter="(red|green)_.*") == ["red_moon"]
    category = EntityCategory(category=EntityCategory.CATEGORY_ROBOT)
    assert simulator.names(categories=[category]) == ["franka"]
    objects = EntityCategory(category=EntityCategory.CATEGORY_OBJECT)
    assert simulator.names(categories=[objects]) == ["table", "board", "blue_cube", "red_moon"]
    corners = [Vector3(x=0.5, y=0.4, z=0.1), Vector3(x=0.3, y=0.26, z=0.02)]
    assert simulator.names(bounds=Bounds(type=Bounds.TYPE_BOX, points=corners)) == ["red_moon"]
    info = simulator.call(GetEntityInfo, entity="red_moon").info
    assert info.category.category == EntityCategory.CATEGORY_DYNAMIC_OBJECT
    assert info.description.endswith("red_moon.xml")


def test_a_state_that_was_set_is_read_back_and_bounds_are_a_box(simulator):
    simulator.spawn("block")
    request = SetEntityState.Request(entity="block")
    request.state.pose.position.x, request.state.pose.position.y = 0.5, -0.2
    request.state.pose.orientation.z, request.state.pose.orientation.w = 0.6, 0.8
    request.state.twist.linear.x = 0.25
    assert simulator.call(SetEntityState, entity="block", state=request.state).result.result == OK
    state = simulator.call(GetEntityState, entity="block").state
    assert state.header.frame_id == "world"
    assert state.pose == request.state.pose
    assert state.twist.linear.x == pytest.approx(0.25)
    states = simulator.call(GetEntitiesStates)
    assert states.states[states.entities.index("block")].pose == request.state.pose
    bounds = simulator.call(GetEntityBounds, entity="block").bounds
    assert bounds.type == Bounds.TYPE_BOX
    upper, lower = bounds.points
    assert upper.z - lower.z == pytest.approx(0.03)
    assert 0.03 < upper.x - lower.x < 0.05


def test_models_are_spawned_from_uri_or_text_under_a_free_name_and_deleted(simulator):
    assert [resource_of(s).uri for s in simulator.call(GetSpawnables).spawnables] == [f"{MODELS}/red_moon.xml"]
    assert simulator.spawn("block").entity_name == "block"
    assert simulator.spawn("block", allow_renaming=True).entity_name == "block_1"
    pillar = simulator.spawn("pillar", uri="", resource_string=FIXED)
    assert pillar.result.result == OK, pillar.result.error_message
    assert simulator.call(DeleteEntity, entity="block").result.result == OK
    assert simulator.names()[3:] == ["block_1", "pillar"]


def test_a_drawer_is_an_entity_of_its_own_that_its_pose_pulls_out(simulator):
    assert simulator.spawn("cabinet", x=0.9, y=0.0, uri=CABINET.uri).result.result == OK
    parts = [f"cabinet/{part.name}" for part in CABINET.joints]
    assert simulator.names()[3:] == ["cabinet", *parts]
    state = simulator.call(GetEntityState, entity=parts[2]).state
    shut = state.pose.position.x
    # Not along its joint alone: the drawer comes as near as it can.
    state.pose.position.x, state.pose.position.z = shut + 0.1, 2.0
    assert simulator.call(SetEntityState, entity=parts[2], state=state).result.result == OK
    pulled = {name: simulator.call(GetEntityState, entity=name).state.pose.position for name in parts}
    assert [pulled[name].x - shut for name in parts] == pytest.approx([0.0, 0.0, 0.1])
    assert pulled[parts[2]].z < 0.3
    info = simulator.call(GetEntityInfo, entity=parts[2]).info
    assert info.category.category == EntityCategory.CATEGORY_DYNAMIC_OBJECT
    refused = simulator.call(DeleteEntity, entity=parts[2]).result
    assert refused.result == Result.RESULT_OPERATION_FAILED and "a part of 'cabinet'" in refused.error_message
    assert simulator.call(DeleteEntity, entity="cabinet").result.result == OK
    assert simulator.names() == ["franka", "table", "board"]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"name": "board"}, SpawnEntity.Response.NAME_NOT_UNIQUE),
        ({"name": "a b"}, SpawnEntity.Response.NAME_INVALID),
        ({"name": ""}, SpawnEntity.Response.NAME_INVALID),
        ({"name": "x", "uri": "robot.sdf"}, SpawnEntity.Response.UNSUPPORTED_FORMAT),
        ({"name": "x", "uri": ""}, SpawnEntity.Response.NO_RESOURCE),
        ({"name": "x", "uri": f"{MODELS}/none.xml"}, SpawnEntity.Response.NO_RESOURCE),
        ({"name": "x", "uri": "", "resource_string": "<sdf/>"}, SpawnEntity.Response.RESOURCE_PARSE_ERROR),
        ({"name": "x", "entity_namespace": "no no"}, SpawnEntity.Response.NAMESPACE_INVALID),
        ({"name": "x", "x": float("nan")}, SpawnEntity.Response.INVALID_POSE),
    ],
    ids=str,
)
def test_what_cannot_be_spawned_is_refused_with_code_and_reason(simulator, fields, code):
    response = simulator.spawn(**fields)
    assert response.result.result == code
    assert response.result.error_message
    assert simulator.names() == ["franka", "table", "board"]


def test_requests_about_nobody_or_for_the_impossible_are_refused(simulator):
    for kind in (GetEntityState, GetEntityInfo, GetEntityBounds, DeleteEntity, SetEntityState):
        result = simulator.call(kind, entity="nobody").result
        assert result.result == Result.RESULT_NOT_FOUND
        assert "there are: franka, table, board" in result.error_message
    assert simulator.call(DeleteEntity, entity="franka").result.result == Result.RESULT_OPERATION_FAILED
    assert simulator.call(SetEntityState, entity="table").result.result == Result.RESULT_OPERATION_FAILED
    simulator.spawn("block")
    request = SetEntityState.Request(entity="block")
    request.state.header.frame_id = "moon"
    response = simulator.call(SetEntityState, entity="block", state=request.state)
    assert response.result.result == SetEntityState.Response.INVALID_POSE
    request = GetEntities.Request()
    request.filters.tags.tags = ["heavy"]
    response = simulator.call(GetEntities, filters=request.filters)
    assert response.result.result == Result.RESULT_FEATURE_UNSUPPORTED
    request = GetEntities.Request()
    request.filters.filter = "("
    assert simulator.call(GetEntities, filters=request.filters).result.result == Result.RESULT_OPERATION_FAILED
    assert simulator.call(GetSpawnables, sources=["x"]).result.result == Result.RESULT_OPERATION_FAILED


def test_each_scope_of_a_reset_restores_what_it_names(simulator):
    scopes = ResetSimulation.Request
    simulator.spawn("block", x=0.4)
    request = SetEntityState.Request(entity="block")
    request.state.pose.position.x = 0.5
    simulator.call(SetEntityState, entity="block", state=request.state)
    simulator.step()
    assert simulator.call(ResetSimulation, scope=scopes.SCOPE_STATE).result.result == OK
    state = simulator.call(GetEntityState, entity="block").state
    assert state.pose.position.x == 0.4
    assert stamp_from_msg(state.header.stamp) == CONTROL * STEP_NS
    simulator.call(ResetSimulation, scope=scopes.SCOPE_TIME)
    assert stamp_from_msg(simulator.call(GetEntityState, entity="block").state.header.stamp) == 0
    simulator.call(ResetSimulation, scope=scopes.SCOPE_SPAWNED)
    assert simulator.names() == ["franka", "table", "board"]


def test_it_plays_by_the_wall_clock_and_steps_only_when_it_is_paused(simulator):
    def change(state: int) -> int:
        return simulator.call(SetSimulationState, state=SimulationState(state=state)).result.result

    answers = SetSimulationState.Response
    assert simulator.call(GetSimulationState).state.state == SimulationState.STATE_PAUSED
    assert change(SimulationState.STATE_PAUSED) == answers.ALREADY_IN_TARGET_STATE
    assert change(SimulationState.STATE_NO_WORLD) == answers.INCORRECT_TRANSITION
    began = time.monotonic()
    assert change(SimulationState.STATE_PLAYING) == OK
    assert simulator.call(StepSimulation, steps=1).result.result == Result.RESULT_INCORRECT_STATE
    simulator.wait(lambda: bool(simulator.heard["clock"]) and simulator.now() > 500_000_000)
    assert simulator.now() * 1e-9 < time.monotonic() - began, "it is not faster than the wall clock"
    assert change(SimulationState.STATE_PAUSED) == OK
    first = simulator.call(GetEntityState, entity="board").state.header.stamp
    assert simulator.call(GetEntityState, entity="board").state.header.stamp == first
    simulator.step(1)
    later = simulator.call(GetEntityState, entity="board").state.header.stamp
    assert stamp_from_msg(later) == stamp_from_msg(first) + STEP_NS
    assert change(SimulationState.STATE_STOPPED) == OK
    assert stamp_from_msg(simulator.call(GetEntityState, entity="board").state.header.stamp) == 0


def test_a_world_that_is_too_slow_for_real_time_does_not_follow_commands_ever_later(tmp_path, monkeypatch):
    happened: list[str] = []
    step, apply_command = World.step, World.apply_command

    def slow_step(world: World, count: int) -> None:
        happened.append("step")
        time.sleep(5 * count * world.step_duration)
        step(world, count)

    def applied(world: World, command: object) -> None:
        happened.append("command")
        apply_command(world, command)

    monkeypatch.setattr(World, "step", slow_step)
    monkeypatch.setattr(World, "apply_command", applied)
    given = {"robot": str(resolve_uri(FRANKA)), "world": f"{MODELS}/world.xml", "real_time": True}
    (tmp_path / "simulator.yaml").write_text(yaml.safe_dump({"/**": {"ros__parameters": given}}))
    rclpy.init(args=["--ros-args", "-r", "__ns:=/slow", "--params-file", str(tmp_path / "simulator.yaml")])
    node, person, executor = Simulator(), Node("person"), lockstep_executor()
    executor.add_node(node)
    publisher = person.create_publisher(JointTrajectory, PROFILE.command.topic, RECORDED)
    command = JointTrajectoryCommand(PROFILE.joint_names, (0.0,) * len(PROFILE.joints), 0.1)
    ((_, message),) = command_to_msgs(PROFILE, command, 0)

    def carried_out(count: int) -> bool:
        executor.spin_once(timeout_sec=0.1)
        return happened.count("command") >= count

    wait_until(lambda: publisher.publish(message) or carried_out(1), "discovery")
    happened.clear()
    for _ in range(8):
        publisher.publish(message)
    wait_until(lambda: carried_out(8), "the last command")
    node.on_end()
    executor.shutdown()
    node.destroy_node()
    person.destroy_node()
    rclpy.shutdown()
    together = "".join(what[0] for what in happened).split("s")
    assert len(list(filter(None, together))) <= 4, "those that came together are not carried out one by one"


def test_the_features_are_those_that_these_tests_try(simulator):
    features = simulator.call(GetSimulatorFeatures).features
    untried = {
        SimulatorFeatures.NAMED_POSES,
        SimulatorFeatures.POSE_BOUNDS,
        SimulatorFeatures.ENTITY_TAGS,
        SimulatorFeatures.ENTITY_BOUNDS_CONVEX,
        SimulatorFeatures.ENTITY_INFO_SETTING,
        SimulatorFeatures.STEP_SIMULATION_ACTION,
    }
    assert set(features.features) == set(range(16)) - untried - {15} | {20, 21, 22, 23, 24, 25, 26, 31, 32}
    assert list(features.spawn_formats) == ["mjcf", "yaml"]


def test_it_can_be_told_to_quit(tmp_path):
    with own_domain():
        process = start(tmp_path)
        client = Client()
        quitting = SimulationState(state=SimulationState.STATE_QUITTING)
        assert client.call(SetSimulationState, state=quitting).result.result == OK
        output, _ = process.communicate(timeout=120)
        assert process.returncode == 0, output
        client.close()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"start_position": [3.0, 0.0, 0.0]},
            "`start_position`: got (3.0, 0.0, 0.0), expected a place that the tool",
        ),
        pytest.param({"world": f"{MODELS}/none.xml"}, "`world`", marks=pytest.mark.long),
        pytest.param(
            {"cameras": ["roof"]},
            "`cameras`: got 'roof', expected a known camera of 'franka': board",
            marks=pytest.mark.long,
        ),
        pytest.param({"camera_widths": [160, 320]}, "of the same length", marks=pytest.mark.long),
        ({"colour": "red"}, "`colour`: got 'colour', expected a known parameter"),
    ],
    ids=str,
)
def test_a_mistake_in_the_parameters_is_one_line_and_exit_code_2(tmp_path, parameters, message):
    process = start(tmp_path, **parameters)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 2, output
    assert message in output
    assert "Traceback" not in output
