"""The nodes that a session starts, for either kind of robot."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from robocontrast_ros.bags.recorder_lag import history_depth
from robocontrast_ros.configuration import ConfigurationError, read_yaml, resolve_uri
from robocontrast_ros.graph.description import (
    NO_SHARED_MEMORY,
    GraphNode,
    NodeProcess,
    checked_namespace,
    namespace_of,
    nodes_of,
    processes_of,
)
from robocontrast_ros.graph.parameters.episode_manager import BenchSettings
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.recording import recorded_topics
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.system.sockets import wanted_limit


def parameters(name: str, tmp_path, **overrides) -> dict[str, dict[str, object]]:
    session = resolve(name, Overrides(output=str(tmp_path), **overrides))
    return {node.name: node.parameters for node in nodes_of(session, session.new_run(0.0))}


def test_another_engine_has_its_own_simulator_with_the_models_of_the_run_folder(tmp_path):
    nodes = parameters("language_table_demo", tmp_path, policy="oracle", settings={"world.backend": "dart"})
    own = nodes["second_simulator"]
    assert "simulator" not in nodes and own["engine"] == "dart" and own["physics_step"] == 0.002
    assert len(own["start_joints"]) == 7 and own["models"].endswith("parameters/models")
    assert nodes["sim_bridge"]["resources"] == [f"*={own['models']}/{{name}}.sdf"]
    assert nodes["sim_bridge"]["step_simulation"] == "second_simulator/step_simulation"
    assert nodes["rollout"]["step_simulation"] == "second_simulator/step_simulation"
    assert (nodes["rollout"]["clock_topic"], nodes["rollout"]["publishes_unstepped"]) == ("clock", False)
    assert nodes["recorder"]["kept"] == []


@pytest.mark.parametrize("robot", ["franka", "ur5e"])
def test_an_arm_starts_where_the_task_says_and_is_no_part_of_the_scene(tmp_path, robot):
    nodes = parameters("language_table_demo", tmp_path, robot=robot)
    assert len(nodes["simulator"]["start_position"]) == 3
    assert (Path(nodes["sim_bridge"]["robot"]).stem, nodes["sim_bridge"]["contacts_topic"]) == (robot, "")
    assert nodes["rollout"]["steps_per_control"] * nodes["simulator"]["physics_step"] == pytest.approx(0.1)
    assert (nodes["simulator"]["camera_period"], nodes["rollout"]["capture_images"]) == (0.1, "")
    assert nodes["recorder"]["kept"] == ["robot_description", "tf_static"]
    assert (nodes["rollout"]["move_cameras"], nodes["rollout"]["cameras"]) == ("simulator/move_cameras", ["board"])


def test_a_robot_that_moves_about_starts_where_the_scene_says_and_its_contacts_go_into_it(tmp_path):
    nodes = parameters("locobot_vln", tmp_path)
    assert nodes["simulator"]["start_position"] == []
    bridge = nodes["sim_bridge"]
    assert (Path(bridge["robot"]).stem, bridge["contacts_topic"]) == ("locobot", "locobot/mobile_base/contacts")
    assert nodes["rollout"]["steps_per_control"] * nodes["simulator"]["physics_step"] == pytest.approx(0.1)
    assert nodes["simulator"]["camera_period"] == 0.0
    assert nodes["rollout"]["capture_images"] == "simulator/capture_images"
    assert nodes["recorder"]["kept"] == ["robot_description", "tf_static"]


@pytest.mark.parametrize(("backend", "period"), [("practice", 0.0), ("practice_camera", 0.1)])
def test_a_camera_that_reads_the_table_takes_images_all_the_time_whatever_the_session_says(tmp_path, backend, period):
    settings = {"world.backend": backend, "world.pacing": "wall_clock", "camera_images": "when_asked"}
    nodes = parameters("language_table_demo", tmp_path, settings=settings)
    assert nodes["simulator"]["camera_period"] == period
    assert bool(nodes["rollout"]["capture_images"]) == (period == 0.0)
    assert nodes["watchdog"]["watched_cameras"] == ([] if period == 0.0 else ["board"]), "silence is no fault then"


def test_where_the_simulator_is_not_ours_it_is_not_started_and_on_the_wall_clock_nothing_is_stepped(tmp_path):
    elsewhere = {"world.backend": "simulation_interfaces"}
    nodes = parameters("language_table_demo", tmp_path, settings=elsewhere)
    assert "simulator" not in nodes and nodes["sim_bridge"]["stream"] and nodes["rollout"]["pacing"] == "lockstep"
    assert nodes["rollout"]["sources"] == ["sim_bridge"]
    assert (nodes["rollout"]["move_cameras"], nodes["rollout"]["cameras"]) == ("", [])
    for prefix, expected in (("/gzserver", "/gzserver/step_simulation"), ("/", "/step_simulation")):
        nodes = parameters("language_table_demo", tmp_path, settings={**elsewhere, "world.simulator": prefix})
        assert {nodes[name]["step_simulation"] for name in ("rollout", "sim_bridge")} == {expected}
    judged = {**elsewhere, "world.pacing": "wall_clock", "world.judge": "outside"}
    session = resolve("language_table_demo", Overrides(output=str(tmp_path), settings=judged))
    nodes = {node.name: node.parameters for node in nodes_of(session, session.new_run(0.0))}
    assert nodes["sim_bridge"]["stream"] and nodes["sim_bridge"]["plays"] and nodes["scorer"]["judge"] == "outside"
    topics = {topic for topic, _ in recorded_topics(session)}
    assert "clock" not in topics and "judgement" in topics


def test_a_watchdog_in_a_process_of_its_own_is_started_on_the_wall_clock_alone(tmp_path):
    assert "watchdog" not in parameters("language_table_demo", tmp_path)
    assert parameters("language_table_demo", tmp_path)["rollout"]["watchdog"] == ""
    real = {"world.backend": "simulation_interfaces", "world.pacing": "wall_clock", "watchdog.rollout": "0.5"}
    session = resolve("language_table_demo", Overrides(output=str(tmp_path), settings=real))
    run = session.new_run(0.0)
    (own,) = [process for process in processes_of(session, run) if "watchdog" in {n.name for n in process.nodes}]
    assert not own.composed
    nodes = {node.name: node.parameters for node in nodes_of(session, run)}
    watchdog, rollout = nodes["watchdog"], nodes["rollout"]
    assert rollout["watchdog"] == BenchSettings.of(session).watchdog == "watchdog"
    port = {
        "leader",
        "robot",
        "world_resets_robot",
        "control_period",
        "clear_height",
        "sensor_timeout",
        "heartbeat_limit",
    }
    assert watchdog.keys() & rollout.keys() == port
    assert all(watchdog[name] == rollout[name] for name in port), "the robot's port is made from the same parameters"
    assert (watchdog["heartbeat_limit"], watchdog["watched_cameras"]) == (pytest.approx(0.05), ["board"])
    assert watchdog["policy_limit"] > rollout["policy_timeout"]
    assert {"heartbeat", "stop", "stopped"} <= {topic for topic, _ in recorded_topics(session)}


def test_what_slows_a_real_robot_is_recorded_and_its_modes_are_not(tmp_path):
    world = {"world.backend": "simulation_interfaces", "world.pacing": "wall_clock", "speed_scaling": "mark"}
    for robot, topics in (("ur5e_real", ["speed_scaling_state_broadcaster/speed_scaling"]), ("franka_real", [])):
        session = resolve("language_table_demo", Overrides(robot=robot, output=str(tmp_path), settings=world))
        recorded = {topic.name for topic in recorded_topics(session)}
        assert [each.topic for each in session.robot.driver.limits if each.topic in recorded] == topics
        nodes = {node.name: node.parameters for node in nodes_of(session, session.new_run(0.0))}
        assert nodes["rollout"]["speed_scaling"] == "mark"


def test_the_force_at_a_real_robots_tool_is_recorded(tmp_path):
    world = {"world.backend": "simulation_interfaces", "world.pacing": "wall_clock"}
    for robot, settings, wrenches in (
        ("ur5e_real", world, ["force_torque_sensor_broadcaster/wrench"]),
        ("ur5e", world, []),
    ):
        session = resolve("language_table_demo", Overrides(robot=robot, output=str(tmp_path), settings=settings))
        kind = "geometry_msgs/msg/WrenchStamped"
        assert [topic.name for topic in recorded_topics(session) if topic.type_name == kind] == wrenches
        assert (session.robot.safety.force.limit is not None) == bool(wrenches)


def test_our_own_simulator_goes_on_by_itself_on_the_wall_clock_and_waits_otherwise(tmp_path):
    for settings, plays in (({}, False), ({"world.pacing": "wall_clock"}, True)):
        nodes = parameters("language_table_demo", tmp_path, settings=settings)
        assert (nodes["simulator"]["real_time"], nodes["sim_bridge"]["plays"]) == (plays, plays)
        assert nodes["sim_bridge"]["stream"] and nodes["rollout"]["streams"], "a simulated scene is known at any time"


@pytest.mark.parametrize(
    ("world", "key", "cure"),
    [
        ({"backend": "gazebo"}, "world.backend", "embedded"),
        ({"simulator": "/gzserver"}, "world.simulator", "backend: simulation_interfaces"),
        ({"judge": "me"}, "world.judge", "outside, person, true_scene"),
        ({"pacing": "by_feel"}, "world.pacing", "lockstep, wall_clock"),
    ],
)
def test_a_world_whose_parts_are_unknown_or_do_not_fit_is_refused_by_key_with_the_cure(world, key, cure):
    with pytest.raises(ConfigurationError) as error:
        resolve("language_table_demo", Overrides(settings={f"world.{key}": value for key, value in world.items()}))
    assert key in str(error.value) and cure in str(error.value)


def test_a_robot_with_a_port_that_nobody_has_registered_is_refused(tmp_path):
    robot = read_yaml(resolve_uri("package://robocontrast_ros/config/robots/franka.yaml"))
    file = tmp_path / "arm.yaml"
    file.write_text(yaml.safe_dump({**robot, "port": "telepathy"}))
    with pytest.raises(
        ConfigurationError, match=r"`port`: got 'telepathy', expected a known robot port: cmd_vel, .*, topics"
    ) as error:
        resolve("language_table_demo", Overrides(robot=str(file)))
    assert f"{file}: `port`" in str(error.value)


def test_a_session_that_is_practised_has_a_namespace_of_its_own_away_from_a_real_driver():
    practised = resolve("language_table_demo", Overrides(practice=True))
    assert [namespace_of(practised, given) for given in ("", "/lab/robot1/")] == ["practice", "lab/robot1/practice"]
    assert [namespace_of(resolve("language_table_demo"), given) for given in ("", "/lab/")] == ["", "lab"]


def test_commands_that_would_leave_the_namespace_of_a_practised_session_are_refused(tmp_path):
    arm = tmp_path / "arm.yaml"
    command = {"topic": "/arm/joint_trajectory", "type": "trajectory_msgs/msg/JointTrajectory"}
    arm.write_text(yaml.safe_dump({"extends": "ur5e", "command": command}))
    assert resolve("language_table_demo", Overrides(robot=str(arm))).robot.command.topic == "/arm/joint_trajectory"
    with pytest.raises(ConfigurationError, match=r"arm.yaml: `topic`: got '/arm/.*Write 'arm/joint_trajectory'"):
        resolve("language_table_demo", Overrides(robot=str(arm), practice=True))


@pytest.mark.parametrize("name", ["language_table_demo", "locobot_vln"])
def test_each_topic_is_recorded_once_images_only_where_they_are_wanted(name):
    session = resolve(name)
    topics = recorded_topics(session)
    assert len({topic for topic, _ in topics}) == len(topics)
    assert ("clock", "rosgraph_msgs/msg/Clock") in topics
    assert {"scene", "tool_pose", "trial", "progress", "trial_result"} < {topic for topic, _ in topics}
    assert {"sensor_msgs/msg/Image", session.robot.command.type, session.robot.state.type} < {
        kind for _, kind in topics
    }


def test_what_the_session_says_of_the_recording_reaches_the_nodes(tmp_path):
    session = yaml.safe_load(
        resolve_uri("package://robocontrast_ros/config/sessions/language_table_demo.yaml").read_text()
    )
    session |= {
        "recording": {"format": "humble", "compression": "none"},
        "timeouts": {"recording": 7.0},
        "cameras": [{"name": "board", "width": 640, "height": 480}],
    }
    (tmp_path / "session.yaml").write_text(yaml.safe_dump(session))
    nodes = parameters(str(tmp_path / "session.yaml"), tmp_path)
    assert (nodes["recorder"]["format"], nodes["recorder"]["compression"]) == ("humble", "none")
    assert nodes["recorder"]["stop_deadline"] == nodes["rollout"]["recording_timeout"] == 7.0
    settings = BenchSettings.of(resolve(str(tmp_path / "session.yaml")))
    assert (settings.recorder, settings.recording_timeout > 7.0) == ("recorder", True)
    assert nodes["rollout"]["image_depth"] == history_depth(3 * 640 * 480) == 72
    assert parameters("language_table_demo", tmp_path)["recorder"]["format"] == "jazzy"


def test_nothing_is_recorded_where_the_session_says_so(tmp_path):
    session = yaml.safe_load(
        resolve_uri("package://robocontrast_ros/config/sessions/language_table_demo.yaml").read_text()
    )
    (tmp_path / "session.yaml").write_text(yaml.safe_dump({**session, "recording": "none"}))
    nodes = parameters(str(tmp_path / "session.yaml"), tmp_path)
    assert "recorder" not in nodes and BenchSettings.of(resolve(str(tmp_path / "session.yaml"))).recorder == ""


RECORDER = GraphNode("recorder", {"topics": ["a b/msg/C"], "kept": []})


def test_a_parameter_file_holds_no_empty_list_whose_type_nobody_knows(tmp_path):
    path = NodeProcess((RECORDER,)).write_parameters(tmp_path)
    assert yaml.safe_load(path.read_text()) == {"/recorder": {"ros__parameters": {"topics": ["a b/msg/C"]}}}


def test_a_parameter_file_names_its_nodes_in_their_namespace(tmp_path):
    process = NodeProcess((RECORDER, GraphNode("scorer", {"task": "t.yaml"})))
    path = process.write_parameters(tmp_path, "lab/robot1")
    assert list(yaml.safe_load(path.read_text())) == ["/lab/robot1/recorder", "/lab/robot1/scorer"]
    assert (path.stem, process.arguments) == ("container", ["recorder", "scorer"])


@pytest.mark.parametrize(
    ("changes", "together"),
    [
        ({}, ["sim_bridge", "scorer", "rollout"]),
        ({"composed": False}, []),
        ({"policy_server.composed": True}, ["sim_bridge", "policy_server", "scorer", "rollout"]),
    ],
)
def test_what_a_fault_must_not_spread_to_has_a_process_of_its_own(tmp_path, changes, together):
    session = resolve("language_table_demo", Overrides(output=str(tmp_path), settings=changes))
    run = session.new_run(0.0)
    processes = processes_of(session, run)
    assert [node.name for each in processes for node in each.nodes if each.composed] == together
    assert sorted(node.name for each in processes for node in each.nodes) == sorted(
        node.name for node in nodes_of(session, run)
    )
    assert processes[-1].name == "episode_manager"
    assert all(len(each.nodes) == 1 for each in processes if each.name != "container")


def test_every_node_but_the_manager_goes_on_until_the_manager_is_gone(tmp_path):
    nodes = parameters("language_table_demo", tmp_path)
    assert {name: p.get("leader") for name, p in nodes.items()} == {
        **dict.fromkeys(nodes, "episode_manager"),
        "episode_manager": None,
    }


@pytest.mark.parametrize(
    ("given", "namespace"), [("", ""), ("/", ""), ("robot1", "robot1"), ("/lab/robot_1/", "lab/robot_1")]
)
def test_a_namespace_may_be_written_with_or_without_slashes(given, namespace):
    assert checked_namespace(given) == namespace


@pytest.mark.parametrize("given", ["1robot", "robot 1", "a//b", "a__b", "röbot", "~"])
def test_what_is_no_namespace_is_refused(given):
    with pytest.raises(ConfigurationError, match="namespace"):
        checked_namespace(given)


def test_a_policy_server_elsewhere_is_not_started_and_found_by_its_name(tmp_path):
    nodes = parameters("language_table_demo", tmp_path, policy_server="external")
    assert "policy_server" not in nodes
    assert nodes["rollout"]["policy_server"] == "policy_server"
    assert BenchSettings.of(resolve("language_table_demo")).policy_server == "policy_server"
    assert "policy_server" in parameters("language_table_demo", tmp_path)


@pytest.mark.parametrize(("limit", "unshared"), [(4194304.0, ["watchdog", "container"]), (212992.0, ["watchdog"])])
def test_what_commands_a_robot_on_the_wall_clock_shares_memory_where_its_images_need_that(
    tmp_path, monkeypatch, limit, unshared
):
    monkeypatch.setattr("robocontrast_ros.graph.description.receive_limit", lambda: limit)
    lockstep = resolve("language_table_demo", Overrides(output=str(tmp_path)))
    assert all(process.shared_memory for process in processes_of(lockstep, lockstep.new_run(0.0)))
    wall_clock = {"world.backend": "simulation_interfaces", "world.pacing": "wall_clock", "world.judge": "outside"}
    session = resolve("language_table_demo", Overrides(output=str(tmp_path), settings=wall_clock))
    assert wanted_limit([(c.width, c.height) for c in session.parameters.cameras]) > 212992
    processes = processes_of(session, session.new_run(1.0))
    assert [each.name for each in processes if not each.shared_memory] == unshared
    assert all((NO_SHARED_MEMORY in each.arguments) != each.shared_memory for each in processes)
