"""A session's file, and everything it names, is loaded and checked before anything starts."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from described_policies import write_described

from robocontrast_ros.configuration import ConfigurationError, dump_record, parse_record, resolve_uri
from robocontrast_ros.configuration.files import known_names
from robocontrast_ros.graph.parameters.rollout import RolloutParameters
from robocontrast_ros.graph.parameters.sim_bridge import SimBridgeParameters
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.sessions.fitting import check_robot_reaches
from robocontrast_ros.sessions.given_keys import given_keys
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.plan import plan_session
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.sessions.schema import SessionParameters

CONFIG = resolve_uri("package://robocontrast_ros/config")
SESSIONS = sorted((CONFIG / "sessions").glob("*.yaml"))
MINIMAL = {
    "name": "mine",
    "seed": 1,
    "task": "language_table",
    "robot": "franka",
    "policy": "noisy_oracle",
    "strategy": {"name": "contrast_set", "perturbations": ["LB1", "SB2"]},
    "test_set": {"size": 3},
}


@pytest.fixture
def write(tmp_path):
    """Write a session's file with some keys changed; None takes a key out."""

    def written(**changes) -> Path:
        content = {key: value for key, value in {**MINIMAL, **changes}.items() if value is not None}
        path = tmp_path / "session.yaml"
        path.write_text(yaml.safe_dump(content))
        return path

    return written


@pytest.mark.parametrize("path", SESSIONS, ids=lambda p: p.stem)
def test_every_session_that_is_shipped_is_complete_and_named_after_its_file(path):
    session = resolve(path)
    assert session.parameters.name == path.stem
    assert session.parameters.description
    # A test set of hundreds takes long to draw, and says no more here.
    first = plan_session(resolve(path, Overrides(max_trials=1, size=1)).evaluation())
    assert len(first.within_budget) == 1


def test_the_sessions_of_the_seed_are_shipped():
    names = {path.stem for path in SESSIONS}
    assert {"language_table_demo", "language_table_standard", "language_table_contrast"} <= names
    assert {"language_table_limited", "language_table_100"} <= names


def test_the_demo_has_forty_to_sixty_trials_and_the_hundred_has_a_hundred():
    demo, hundred = (plan_session(resolve(name).evaluation()) for name in ("language_table_demo", "language_table_100"))
    assert 40 <= len(demo.within_budget) <= 60
    assert {t.trial.perturbation for t in demo.trials} == {"base", "LB1", "LB2", "SB1", "SB2"}
    assert len(hundred.within_budget) == 100


def test_cameras_that_are_left_out_have_the_sizes_that_the_policys_file_asks_for(write, tmp_path):
    wanted = {"cameras": ["board"], "image_sizes": [[224, 160]]}
    policy = write_described(tmp_path / "mine.yaml", "described_policies:DescribedByFile", **wanted)

    def cameras(**changes) -> list[tuple]:
        resolved = resolve(write(**changes)).parameters.cameras
        return [(camera.name, camera.width, camera.height) for camera in resolved]

    assert cameras() == [("board", 320, 180)]
    assert cameras(policy=str(policy)) == [("board", 224, 160)]
    said = [{"name": "board", "width": 64, "height": 48}]
    assert cameras(policy=str(policy), cameras=said) == [("board", 64, 48)]
    wanted["image_sizes"] = [[8, 8]]
    tiny = write_described(tmp_path / "tiny.yaml", "described_policies:DescribedByFile", **wanted)
    with pytest.raises(ConfigurationError, match=r"tiny.yaml: `image_sizes`: got \"8x8 for 'board'\""):
        cameras(policy=str(tiny))


def test_a_session_is_found_by_name_or_by_path(write):
    assert resolve("language_table_demo").source == CONFIG / "sessions" / "language_table_demo.yaml"
    assert resolve(str(write())).parameters.name == "mine"


def test_everything_a_session_names_is_loaded(write):
    session = resolve(write(budget=4, cost="metres_moved"))
    assert session.robot.name == "franka"
    assert session.policy_file == CONFIG / "policies" / "noisy_oracle.yaml"
    assert session.task.name == "language_table"
    assert [p.symbol for p in session.perturbations] == ["ΔLB1", "ΔSB2"]
    evaluation = session.evaluation()
    assert (evaluation.budget, evaluation.cost_model.unit) == (4.0, "m")
    assert len(evaluation.test_set()) == 3


def test_paths_in_the_file_are_relative_to_it_and_kept_as_absolute_ones(write, tmp_path):
    robot = tmp_path / "mine.yaml"
    robot.write_text((CONFIG / "robots" / "franka.yaml").read_text())
    session = resolve(write(robot="mine.yaml"))
    assert session.robot_file == robot
    assert session.parameters.robot == str(robot)
    assert resolve(write(robot="./mine.yaml")).robot_file == robot


def test_files_of_the_console_are_relative_to_the_session_and_what_its_camera_needs_is_copied(write, tmp_path):
    (tmp_path / "tags.yaml").write_text("tags: {}\n")
    for name in ("k", "c"):
        (tmp_path / name).write_text("secret")
    session = resolve(
        write(
            policy="random",
            world={"backend": "practice_camera", "pacing": "wall_clock"},
            output=str(tmp_path / "runs"),
            operator={"tags": "tags.yaml", "key": "k", "certificate": "c"},
        )
    )
    assert session.parameters.operator.tags == str(tmp_path / "tags.yaml")
    assert session.parameters.operator.certificate == str(tmp_path / "c")
    run = session.new_run(now=0.0)
    assert (run.parameters / "tags.yaml").read_text() == "tags: {}\n"
    assert "secret" not in {file.read_text() for file in run.parameters.iterdir()}
    assert resolve(run.session_file).parameters.operator == session.parameters.operator


@pytest.mark.parametrize(
    ("backend", "practice", "unused", "used"),
    [
        ("operator_camera", True, ["calibration", "fixed_tags"], ["tags", "key"]),
        ("operator", True, ["calibration", "tags", "fixed_tags"], ["key"]),
        ("operator", False, ["tags", "fixed_tags"], ["calibration", "key"]),
        ("operator_camera", False, [], ["calibration", "tags", "fixed_tags", "key"]),
        ("embedded", False, ["calibration", "tags", "fixed_tags", "key"], []),
    ],
)
def test_a_file_of_the_console_that_is_not_there_is_refused_by_its_key_where_it_is_used(
    write, tmp_path, backend, practice, unused, used
):
    (tmp_path / "certificate.pem").write_text("")

    def session(keys):
        operator = {key: f"no_{key}.yaml" for key in keys}
        operator |= {"certificate": "certificate.pem"} if "key" in keys else {}
        world = {"backend": backend, "pacing": "wall_clock"}
        path = write(policy="random", world=world, operator=operator, output=str(tmp_path / "runs"))
        return resolve(path, Overrides(practice=practice or None))

    copies = {file.stem for file in session(unused).new_run(0.0).parameters.iterdir()}
    assert copies == {"session", "robot", "policy", "task"}
    for key in used:
        with pytest.raises(ConfigurationError, match=rf"session.yaml: `operator.{key}`: got '.*no_{key}.yaml', .+"):
            session([key]).new_run(0.0)


def test_handling_times_are_read_by_their_former_name_too(write):
    former, present = (resolve(write(**{key: {"taking": 30.0}})) for key in ("mover", "handling_times"))
    assert former.parameters == present.parameters
    assert former.parameters.handling_times.taking == 30.0


def test_overrides_take_the_place_of_what_the_file_says(write):
    overrides = Overrides(robot="ur5e", policy="oracle", budget=2.5, seed=9, max_trials=4, output="elsewhere")
    session = resolve(write(budget=1.0), overrides)
    parameters = session.parameters
    assert (session.robot.name, session.policy_file.stem) == ("ur5e", "oracle")
    assert (parameters.budget, parameters.seed, parameters.max_trials) == (2.5, 9, 4)
    assert parameters.output == "elsewhere"
    assert resolve(write(budget=1.0), Overrides(budget=math.inf)).evaluation().budget == math.inf
    assert resolve(write(budget=math.inf)).parameters.budget is None


def test_every_key_of_the_file_may_be_set_on_the_command_line(write):
    overrides = Overrides(
        size=5,
        repeats=2,
        settings={"setup.position_tolerance": 0.01, "stop_early.half_width": 0.1, "timeouts": {"policy": 3}},
    )
    parameters = resolve(write(), overrides).parameters
    assert (parameters.test_set.size, parameters.repeats, parameters.stop_early.half_width) == (5, 2, 0.1)
    assert (parameters.setup.position_tolerance, parameters.setup.orientation_tolerance) == (0.01, 0.05)
    assert (parameters.timeouts.policy, parameters.name) == (3, "mine")
    named = write(test_set={"size": 3, "families": ["separate_blocks"]})
    assert (
        resolve(named, Overrides(settings={"test_set.families": None})).evaluation().session.test_set.families is None
    )
    taken_away = resolve(write(max_trials=3), Overrides(settings={"max_trials": None}))
    assert taken_away.parameters.max_trials is None


def test_a_strategy_without_perturbations_on_the_command_line_leaves_those_of_the_file_out(write):
    session = resolve(write(), Overrides(strategy="standard"))
    assert (session.strategy.name, session.perturbations) == ("standard", ())
    kept = resolve(write(), Overrides(strategy="adaptive"))
    assert [p.name for p in kept.perturbations] == ["LB1", "SB2"]
    with pytest.raises(ConfigurationError, match=r"command line: `strategy.perturbations`: got .*uses no pert"):
        resolve(write(), Overrides(strategy="standard", settings={"strategy.perturbations": ["LB1"]}))


def test_families_that_are_named_take_turns_and_others_come_as_the_task_draws_them(write):
    named = ["separate_blocks", "block_to_block"]
    drawn = resolve(write(test_set={"size": 8, "families": named})).evaluation().test_set()
    in_turn = {f"x{number:04d}": named[number % 2] for number in range(8)}
    assert {instance.instance_id: instance.instruction.family for instance in drawn} == in_turn
    mixed = [i.instruction.family for i in resolve(write(test_set={"size": 20})).evaluation().test_set()]
    assert len(set(mixed)) == 5
    assert {mixed.count(family) for family in mixed} != {4}


def test_a_path_on_the_command_line_is_relative_to_the_working_directory(write, tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    task = elsewhere / "mine.yaml"
    task.write_text((CONFIG / "tasks" / "language_table.yaml").read_text())
    monkeypatch.chdir(elsewhere)
    assert resolve(write(), Overrides(settings={"task": "mine.yaml"})).task_file == task
    compared = Overrides(settings={"stop_early.compare_with": "before"})
    assert resolve(write(), compared).parameters.stop_early.compare_with == str(elsewhere / "before")


def test_a_policy_server_elsewhere_takes_the_place_of_a_policy(write):
    server = {"external": True, "node": "gpu/policy_server"}
    session = resolve(write(policy=None, policy_server=server))
    assert (session.policy_file, session.parameters.policy) == (None, "")
    assert session.parameters.policy_server.node == "gpu/policy_server"
    assert session.snapshot()["policy"] is None
    overridden = resolve(write(), Overrides(policy_server="external"))
    assert overridden.policy_file is None and overridden.parameters.policy_server.external


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"policy": None}, "a `policy`, or `policy_server` with `external: true`"),
        ({"policy_server": {"external": True}}, "no `policy`, because a policy server elsewhere has its own"),
        ({"policy_server": {"node": "gpu"}}, "`external: true` with another node's name"),
        ({"robot": "frankq"}, "`robot`: got 'frankq', expected a known robot, or the path of a .yaml file: "),
        ({"robot": "frankq"}, "Did you mean 'franka'?"),
        ({"policy": "oracel"}, "`policy`: got 'oracel', expected a known policy"),
        ({"task": "language_tabel"}, "`task`: got 'language_tabel', expected a known task"),
        (
            {"robot": "./none.yaml"},
            "or a known robot: franka, franka_hand, franka_hand_real, franka_real, locobot, locobot_real, ur5e, ",
        ),
        (
            {"strategy": {"name": "contrast_sets", "perturbations": ["LB1"]}},
            "`strategy.name`: got 'contrast_sets', expected a known strategy: adaptive, chain, contrast_set",
        ),
        (
            {"strategy": {"name": "contrast_set", "perturbations": ["LB1", "LB7"]}},
            "`strategy.perturbations`: got 'LB7', expected a known perturbation of task 'language_table': LB1, LB2, ",
        ),
        (
            {"strategy": {"name": "contrast_set"}},
            "`strategy.perturbations`: got 'none', expected at least one, for strategy 'contrast_set'",
        ),
        (
            {"strategy": {"name": "standard", "perturbations": ["LB1"]}},
            "because strategy 'standard' uses no perturbations. Take `contrast_set`, or leave them out.",
        ),
        (
            {"strategy": {"name": "contrast_set", "perturbations": ["LB1", "LB1"]}},
            "`strategy.perturbations`: got",
        ),
        ({"test_set": {"size": 0}}, "`test_set.size`: got 0, expected greater than or equal to 1"),
        (
            {"test_set": {"size": 3, "families": ["block_to_blok"]}},
            "`test_set.families`: got 'block_to_blok', expected a known family of the task 'language_table'",
        ),
        (
            {"test_set": {"size": 3, "families": []}},
            "`test_set.families`: got [], expected 1 item or more.",
        ),
        ({"cost": "minutes"}, "`cost`: got 'minutes', expected a known cost model: metres_moved"),
        ({"budget": -1}, "`budget`: got -1, expected greater than or equal to 0"),
        ({"repeats": 0}, "`repeats`: got 0"),
        ({"compare_within": "1e309"}, "`compare_within`: got '1e309', expected a finite number"),
        (
            {"handling_times": {"taking": math.inf}},
            "`handling_times.taking`: got inf, expected a finite number",
        ),
        ({"setup": {"position_tolerance": math.nan}}, "got nan, expected a finite number"),
        ({"robot": "./" + "f" * 5000}, "expected a file that exists, or a known robot"),
        ({"seed": None}, "`seed`: got 'nothing', expected a value for this required key"),
        ({"repeat": 2}, "`repeat`: got 'repeat', expected a known key"),
        ({"repeat": 2}, "Did you mean 'repeats'?"),
        ({"name": "a/b"}, "`name`: got 'a/b'"),
        (
            {"cameras": [{"name": "wrist", "width": 64, "height": 64}]},
            "`cameras`: got 'wrist', expected a known camera of the robot 'franka'",
        ),
        ({"timeouts": {"policy": 0}}, "`timeouts.policy`: got 0, expected greater than 0"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line_with_file_key_and_cure(write, changes, message):
    path = write(**changes)
    with pytest.raises(ConfigurationError) as caught:
        resolve(path)
    text = str(caught.value)
    assert message in text
    assert text.startswith(str(path))
    assert "\n" not in text


def test_all_cameras_of_the_robot_are_in_use_where_none_is_named(write):
    cameras = resolve(write()).parameters.cameras
    assert [(c.name, c.width, c.height) for c in cameras] == [("board", 320, 180)]
    assert resolve(write(cameras=[])).parameters.cameras == ()


def test_another_engine_is_started_as_our_own_simulator_is_and_draws_no_images(write):
    session = resolve(write(cameras=None, world={"backend": "dart"}))
    features = session.world.features
    assert (features.engine, features.started, features.embedded) == ("dart", True, False)
    assert session.parameters.cameras == () and session.simulator == "second_simulator"
    assert session.world.follows_pose and resolve(write()).simulator == "simulator"
    images = [{"name": "board", "width": 64, "height": 48}]
    for changes, words in (
        ({"cameras": images, "world": {"backend": "dart"}}, r"`cameras`: got \['board'\], expected no cameras"),
        ({"world": {"backend": "dart", "simulator": "/gz"}}, "because backend 'dart' has its own simulator"),
        ({"world": {"backend": "dart", "resets_robot": False}}, "because backend 'dart' brings the robot"),
        ({"world": {"backend": "dart", "entities": {"a": "b"}}}, "expected nothing, because backend 'dart'"),
    ):
        with pytest.raises(ConfigurationError, match=words):
            resolve(write(**{"cameras": None, **changes}))


@pytest.mark.parametrize(("task", "further"), [("tabletop", []), ("kitchen", ["agent"])])
def test_a_camera_that_only_another_tasks_world_has_is_in_use_there_alone(write, task, further):
    ours = {"task": task, "robot": "franka_hand", "policy": "random", "strategy": {"name": "standard"}}
    assert [c.name for c in resolve(write(**ours)).parameters.cameras] == ["wrist", "front", "top", *further]
    listed = ["wrist", "front", "top", "agent"]
    elsewhere = resolve(write(**ours, world={"backend": "simulation_interfaces", "simulator": "gazebo"}))
    assert [c.name for c in elsewhere.parameters.cameras] == listed
    asked = write(**ours, cameras=[{"name": "agent", "width": 64, "height": 48}])
    if further:
        assert [c.name for c in resolve(asked).parameters.cameras] == further
        return
    with pytest.raises(ConfigurationError) as caught:
        resolve(asked)
    expected = "expected a known camera of the robot 'franka_hand' in the task's world"
    assert str(caught.value).startswith(f"{asked}: `cameras`: got 'agent', {expected}")
    assert "models/tabletop.xml): front, top, wrist" in str(caught.value) and "\n" not in str(caught.value)


def test_a_robot_that_does_not_fit_the_task_is_refused_with_both_files_and_the_cure(write):
    path = write(robot="locobot")
    with pytest.raises(ConfigurationError) as caught:
        resolve(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: `robot`: got 'locobot', expected a robot that is fixed")
    assert "config/tasks/language_table.yaml" in text and "config/robots/locobot.yaml" in text
    assert "one of the robots franka, franka_hand, ur5e, ur5e_2f85." in text
    with pytest.raises(ConfigurationError, match="command line: `robot`: got 'locobot'"):
        resolve(write(), Overrides(robot="locobot"))
    with pytest.raises(ConfigurationError, match=r"expected a robot that is mobile.*robots locobot"):
        resolve(write(task="studio_apartment", strategy={"name": "standard"}))


def test_a_table_out_of_an_arms_reach_is_refused_with_the_place_and_the_cure(tmp_path):
    arm, session = tmp_path / "arm.yaml", ("session.yaml", "robot", tmp_path)
    region = ((0.34, 0.62), (-0.32, 0.32), (0.01, 0.5))
    task = SimpleNamespace(name="tabletop", scenes=SimpleNamespace(region=region))
    check_robot_reaches(load_profile("ur5e_2f85"), arm, task, tmp_path / "task.yaml", session)
    arm.write_text("extends: ur5e_2f85\nname: arm\nbase_position: [-0.3, 0.0, 0.0]\n")
    with pytest.raises(ConfigurationError) as caught:
        check_robot_reaches(load_profile(arm), arm, task, tmp_path / "task.yaml", session)
    text = str(caught.value)
    assert text.startswith(
        "session.yaml: `robot`: got 'arm', expected a robot that reaches all of the region of the task"
    )
    assert "the tool cannot be at (0." in text
    assert (
        f"Change `base_position` in {arm}, or: Name another task, or one of the robots franka_hand, ur5e_2f85." in text
    )
    assert "\n" not in text


@pytest.mark.parametrize(("step", "cure"), [(0.003, "0.0030303 would do"), (0.0099, "0.01 would do")])
def test_a_physics_step_that_does_not_divide_the_control_period_is_refused(write, tmp_path, step, cure):
    task = yaml.safe_load((CONFIG / "tasks" / "language_table.yaml").read_text())
    (tmp_path / "task.yaml").write_text(yaml.safe_dump({**task, "physics_step": step}))
    with pytest.raises(ConfigurationError, match=rf"task\.yaml: `physics_step`: got {step}.*{cure}"):
        resolve(write(task="task.yaml"))


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (Overrides(robot="ur6e"), "command line: `robot`: got 'ur6e'"),
        (Overrides(policy="./none.yaml"), "command line: `policy`: got './none.yaml'"),
        (Overrides(budget=-1.0), "command line: `budget`: got -1.0, expected greater than or equal to 0"),
        (Overrides(max_trials=0, seed=1), "command line: `max_trials`: got 0, expected greater than"),
        (Overrides(budget=math.nan), "command line: `budget`: got nan"),
        (Overrides(size=0), "command line: `test_set.size`: got 0"),
        (Overrides(strategy="standrad"), "command line: `strategy.name`: got 'standrad', expected a known"),
        (Overrides(settings={"test_set.sizes": 3}), "command line: `test_set.sizes`: got 'sizes', expected"),
        (Overrides(settings={"tset.size": 3}), "Did you mean 'test_set'?"),
        (Overrides(settings={"seed.x": 3}), "command line: `seed`: got {'x': 3}"),
        (Overrides(settings={"cost": "minutes"}), "command line: `cost`: got 'minutes'"),
        (
            Overrides(settings={"test_set": {"size": 3, "families": ["x"]}}),
            "line: `test_set.families`: got 'x'",
        ),
        (
            Overrides(settings={"policy": ""}),
            "command line: `policy`: got '', expected a `policy`",
        ),
        (
            Overrides(seed=3, settings={"seed": 4}),
            "command line: `--set seed`: got 4, expected each key once",
        ),
    ],
)
def test_what_does_not_fit_on_the_command_line_is_refused_by_its_option(write, overrides, message):
    with pytest.raises(ConfigurationError) as caught:
        resolve(write(), overrides)
    assert message in str(caught.value)


def test_an_unknown_session_is_refused_with_the_known_ones():
    with pytest.raises(ConfigurationError) as caught:
        resolve("language_table_dmo")
    assert "command line: `session`: got 'language_table_dmo', expected a known session" in str(caught.value)
    assert "Did you mean 'language_table_demo'?" in str(caught.value)


def test_a_policy_file_that_names_no_plug_in_is_refused(write, tmp_path):
    (tmp_path / "policy.yaml").write_text("name: mine\n")
    with pytest.raises(ConfigurationError, match="Write a line such as `policy: …`"):
        resolve(write(policy="policy.yaml"))


@pytest.mark.parametrize(
    ("kind", "methods"),
    [
        ("strategy", "run, trials_expected"),
        ("perturbation", "supports, apply"),
        ("policy", "from_file"),
        ("task", "from_file"),
        ("score", "spec, update, value"),
        ("judge", "begin"),
        ("backend", "features, read, set_up"),
    ],
)
def test_a_plug_in_that_is_none_of_its_kind_is_refused_by_what_it_lacks(write, tmp_path, kind, methods):
    (tmp_path / "policy.yaml").write_text("policy: os:path\n")
    (tmp_path / "task.yaml").write_text("task: os:path\n")
    changes = {
        "strategy": {"strategy": {"name": "os:path"}},
        "perturbation": {"strategy": {"name": "contrast_set", "perturbations": ["os:path"]}},
        "policy": {"policy": "policy.yaml"},
        "task": {"task": "task.yaml"},
        "score": {"scores": ["os:path"]},
        "judge": {"world": {"judge": "os:path"}},
        "backend": {"world": {"backend": "os:path"}},
    }[kind]
    with pytest.raises(ConfigurationError) as caught:
        resolve(write(**changes))
    assert f"got 'os:path', expected a {kind}, which has {methods}. It lacks" in str(caught.value)


def test_a_backend_whose_features_are_none_is_refused(write, monkeypatch):
    backend = SimpleNamespace(read=print, set_up=print, features={"steps": True})
    monkeypatch.setitem(sys.modules, "backends", SimpleNamespace(Mine=backend))
    with pytest.raises(ConfigurationError, match=r"`world\.backend`: got 'backends:Mine', expected a backend, whose"):
        resolve(write(world={"backend": "backends:Mine"}))


def test_a_perturbation_that_the_task_does_not_support_is_refused(write, tmp_path):
    path = write(strategy={"name": "contrast_set", "perturbations": ["line_world:Invert"]})
    with pytest.raises(
        ConfigurationError, match="got 'LB2', expected perturbations that task 'language_table' supports"
    ):
        resolve(path)


def test_a_run_folder_resolves_to_the_same_session(write, tmp_path):
    session = resolve(write(output=str(tmp_path / "runs")), Overrides(robot="ur5e", budget=3.0))
    run = session.new_run(now=0.0)
    assert run.path == tmp_path / "runs" / "mine_19700101_000000"
    again = resolve(RunFolder.open(run.path).session_file)
    assert again.evaluation().digest == session.evaluation().digest
    assert {path.name for path in run.parameters.iterdir()} == {
        "session.yaml",
        "robot.yaml",
        "policy.yaml",
        "task.yaml",
    }


def test_two_runs_within_one_second_have_folders_of_their_own(write, tmp_path):
    session = resolve(write(output=str(tmp_path)))
    assert session.new_run(0.0).path != session.new_run(0.0).path


def test_a_folder_that_cannot_be_made_is_told_of_by_its_key(write, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match=r"`output`: got .* expected a folder that can be written"):
        resolve(write(output=str(tmp_path / "file" / "runs"))).new_run(0.0)


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match="expected a run folder"):
        RunFolder.open(tmp_path)


def test_the_first_bag_of_a_trial_is_named_after_it_and_later_attempts_say_so(tmp_path):
    run = RunFolder(tmp_path)
    assert [run.bag("0007", attempt).name for attempt in (0, 1)] == ["0007", "0007_attempt1"]


def test_a_record_written_and_read_back_is_the_same(write):
    parameters = resolve(write()).parameters
    assert SessionParameters(**dump_record(parameters)) == parameters
    assert "franka" in known_names("robots")


def test_a_camera_that_is_received_compressed_is_refused_in_the_embedded_world_alone(tmp_path):
    robot = tmp_path / "arm.yaml"
    camera = {
        "name": "board",
        "image_topic": "image",
        "info_topic": "info",
        "frame_id": "eye",
        "transport": "compressed",
    }
    robot.write_text(yaml.safe_dump({"extends": "franka", "cameras": [camera]}))
    content = yaml.safe_load(
        resolve_uri("package://robocontrast_ros/config/sessions/language_table_demo.yaml").read_text()
    )
    session = tmp_path / "session.yaml"
    session.write_text(yaml.safe_dump({**content, "robot": str(robot)}))
    with pytest.raises(ConfigurationError, match=r"`cameras\.0\.transport`: got 'compressed', expected raw"):
        resolve(session)
    world = {"backend": "simulation_interfaces", "simulator": "gazebo"}
    session.write_text(yaml.safe_dump({**content, "robot": str(robot), "world": world}))
    assert resolve(session).robot.cameras[0].images.name == "image/compressed"


BY_HAND = {"backend": "operator", "pacing": "wall_clock", "judge": "person"}


@pytest.mark.parametrize(
    ("world", "says"),
    [
        ({"resources": {"red_moon": "moon.sdf"}}, r"`world\.resources`.*backend 'embedded' has its own simulator"),
        ({"resets_robot": False}, r"`world\.resets_robot`: got False, expected true"),
        ({"entities": {"*": "/World/{name}"}}, r"`world\.entities`.*backend 'embedded' has its own simulator"),
        (
            BY_HAND | {"resets_robot": True},
            r"`world\.resets_robot`: got True, expected false, because backend 'operator'",
        ),
    ],
)
def test_what_another_simulator_has_is_refused_of_a_world_without_one(write, world, says):
    with pytest.raises(ConfigurationError, match=says):
        resolve(write(world=world))


def test_the_names_and_files_of_another_simulator_reach_the_bridge(write):
    world = {
        "backend": "simulation_interfaces",
        "simulator": "/",
        "entities": {"*": "/World/{name}"},
        "resources": {"*": "/models/{name}.sdf"},
        "resets_robot": False,
    }
    session = resolve(write(world=world))
    bridge = SimBridgeParameters.of(session, RunFolder(Path("run")))
    assert bridge.entities == ("*=/World/{name}",) and bridge.resources == ("*=/models/{name}.sdf",)
    assert bridge.follows_pose and not bridge.resets_robot and bridge.get_entities == "/get_entities"
    rollout = RolloutParameters.of(session)
    assert rollout.clock_topic == "clock" and rollout.follows_pose and not rollout.world_resets_robot
    embedded = resolve(write())
    assert not SimBridgeParameters.of(embedded, RunFolder(Path("run"))).follows_pose
    assert not RolloutParameters.of(embedded).clock_topic


@pytest.mark.parametrize(
    ("files", "simulated"),
    [
        ({"arm.yaml": {"extends": "ur5e_real"}}, CONFIG / "robots" / "ur5e.yaml"),
        ({"arm.yaml": {"extends": "ur5e_real", "port": "streaming"}}, CONFIG / "robots" / "ur5e.yaml"),
        ({"arm.yaml": {"extends": "mid.yaml"}, "mid.yaml": {"extends": "ur5e_real"}}, CONFIG / "robots" / "ur5e.yaml"),
        ({"arm.yaml": {"extends": "ur5e_real", "port": "topics"}}, "arm.yaml"),
        ({"arm.yaml": {"extends": "mid.yaml", "port": "my_lab:Port"}, "mid.yaml": {"extends": "ur5e"}}, "mid.yaml"),
    ],
)
def test_in_practice_no_port_talks_to_a_driver_however_the_robots_file_extends_a_real_one(
    write, tmp_path, files, simulated
):
    for name, keys in files.items():
        (tmp_path / name).write_text(yaml.safe_dump(keys))
    session = write(robot="arm.yaml", policy="random", world=BY_HAND, output=str(tmp_path / "runs"))
    practised = resolve(session, Overrides(practice=True))
    assert practised.robot.port == "topics"
    assert practised.robot_file == tmp_path / simulated
    again = resolve(practised.new_run(0.0).session_file)
    assert again.robot == practised.robot, "nor when it is resumed"


@pytest.mark.parametrize(
    ("backend", "judge", "practised"),
    [
        ("operator", "person", "practice"),
        ("operator_camera", "person", "practice_camera"),
        ("operator", "camera", "practice_camera"),
        ("simulation_interfaces", "true_scene", "practice"),
        ("own_camera:CameraTable", "person", "practice_camera"),
        ("own_camera:CameraTable", "own_camera:TagJudge", "practice_camera"),
        ("operator", "own_camera:TagJudge", "practice_camera"),
    ],
)
def test_in_practice_the_world_has_a_camera_where_backend_or_judge_has_one_also_those_of_a_laboratory(
    tmp_path, backend, judge, practised
):
    file = tmp_path / "session.yaml"
    for said, settings in (
        ({"backend": backend, "judge": judge, "pacing": "wall_clock"}, {}),
        ({}, {"world.backend": backend, "world.judge": judge}),
    ):
        parameters = parse_record(SessionParameters, {**MINIMAL, "world": said}, str(file))
        given = given_keys(parameters, Overrides(practice=True, settings=settings), file)
        assert given["world.backend"] == practised
        assert given.get("world.judge", parameters.world.judge) == judge


def test_a_judge_whose_backend_lacks_what_it_needs_is_refused_and_those_that_have_it_are_named(write):
    for judge in ("camera", "own_camera:TagJudge"):
        with pytest.raises(ConfigurationError, match=r"needs no camera, or .* operator_camera, practice_camera, for"):
            resolve(write(world={"judge": judge}))
    with pytest.raises(ConfigurationError, match=r"needs no console, or .* operator, operator_camera, practice"):
        resolve(write(world={"judge": "person"}))


def test_a_robot_that_extends_no_simulated_one_cannot_be_practised(write, tmp_path):
    robot = yaml.safe_load((CONFIG / "robots" / "ur5e.yaml").read_text())
    driver = {"follow_joint_trajectory": {"controller": "arm_controller"}}
    (tmp_path / "lab.yaml").write_text(yaml.safe_dump({**robot, "port": "follow_joint_trajectory", "driver": driver}))
    (tmp_path / "arm.yaml").write_text(yaml.safe_dump({"extends": "lab.yaml", "name": "arm"}))
    session = write(robot="arm.yaml", world=BY_HAND)
    assert resolve(session).robot.port == "follow_joint_trajectory"
    with pytest.raises(ConfigurationError, match=r"arm.yaml: `port`: got 'follow_.*, expected .*--practice.*extends"):
        resolve(session, Overrides(practice=True))


@pytest.mark.parametrize("backend", ["embedded", "practice", "practice_camera"])
def test_our_simulator_plays_no_world_for_a_robot_with_a_real_driver(write, backend):
    world = {"backend": backend, "pacing": "wall_clock"}
    with pytest.raises(ConfigurationError, match=r"ur5e_real.yaml: `port`: got '.*', expected `port: topics`"):
        resolve(write(robot="ur5e_real", world=world))
    assert resolve(write(robot="ur5e", world=world)).robot.port == "topics"


def test_a_port_of_ones_own_is_not_used_in_practice(write, tmp_path):
    (tmp_path / "arm.yaml").write_text("extends: ur5e\nport: my_lab:Port\n")
    with pytest.raises(ConfigurationError, match=r"arm.yaml: `port`: got 'my_lab:Port', expected `port: topics`"):
        resolve(write(robot="arm.yaml", world={**BY_HAND, "backend": "practice"}))


@pytest.mark.parametrize("backend", ["operator", "operator_camera", "practice", "practice_camera"])
def test_a_camera_that_the_console_is_to_show_and_the_session_does_not_have_is_refused(write, backend):
    world = {"backend": backend, "pacing": "wall_clock"}
    session = write(policy="random", world=world, operator={"camera": "bord"})
    with pytest.raises(ConfigurationError, match=r"session.yaml: `operator.camera`: got 'bord', .*mean 'board'\?"):
        resolve(session)
    with pytest.raises(ConfigurationError, match=r"command line: `operator.camera`: got 'board', .*\(none\)"):
        resolve(session, Overrides(settings={"operator.camera": "board", "cameras": []}))
    assert resolve(session, Overrides(settings={"operator.camera": "board"})).parameters.operator.camera == "board"


def test_a_test_set_can_name_problems_of_a_task_in_place_of_families_and_others_are_refused(write):
    path = write(
        task="kitchen",
        robot="franka_hand",
        policy="kitchen_oracle",
        strategy={"name": "standard"},
        cameras=[],
        test_set={"size": 3, "families": ["kitchen_3_turn_on_stove", "stack"]},
    )
    drawn = {instance.instance_id: instance.instruction for instance in resolve(path).evaluation().test_set()}
    assert [drawn[name].family for name in ("x0000", "x0001", "x0002")] == ["turn_on", "stack", "turn_on"]
    wrong = {"test_set.families": ["kitchen_3_turn_on_stoves"]}
    expected = r"expected a known family or problem of the task 'kitchen': .* Did you mean 'kitchen_3_turn_on_stove'\?"
    with pytest.raises(ConfigurationError, match=expected):
        resolve(path, Overrides(settings=wrong))
