"""A policy and a robot that do not fit are refused, and all that differs is said."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from described_policies import write_described
from typer.testing import CliRunner

from robocontrast_ros.cli.main import app
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.configuration.files import known_names
from robocontrast_ros.domain import ActionConventions
from robocontrast_ros.domain.action import Frame, Gripper, Reference, Rotation
from robocontrast_ros.policies.fit import check_fit, find_differences
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.robots.kinds import make_controller
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.robots.profile_base import CameraInterface
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.policy_check import check_policies
from robocontrast_ros.sessions.resolving import resolve

ROBOTS = {name: load_profile(name) for name in known_names("robots")}
FITTING = PolicyDescription(
    "mine",
    "planar_delta",
    2,
    chunk_length=8,
    cameras=("board",),
    conventions=ActionConventions("delta", "world", "none", "none"),
    rate=10.0,
    image_sizes=((224, 224),),
    joints=7,
    ensemble=0.01,
)
CAMERAS = {"board": (224, 224)}


def differences(robot: str = "franka", in_use=CAMERAS, **changes) -> list[str]:
    """Return, in words, in what the fitting policy with some changes differs."""
    found = find_differences(replace(FITTING, **changes), ROBOTS[robot], 10.0, in_use)
    return [str(difference) for difference in found]


def conventions(**changes) -> ActionConventions:
    return replace(FITTING.conventions, **changes)


def test_a_policy_that_is_shown_the_ground_truth_is_refused_where_nobody_tells_it(tmp_path, monkeypatch):
    (tmp_path / "unseen_table.py").write_text(
        "from robocontrast_ros.worlds.backends import BackendFeatures\n\n\n"
        "class Table:\n    features = BackendFeatures(person=True)\n    read = set_up = None\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    settings = {"world.backend": "unseen_table:Table", "world.pacing": "wall_clock"}

    def session(policy: str):
        return resolve("language_table_demo", Overrides(policy=policy, settings=settings))

    words = (
        r"language_table_demo.yaml: `policy`: got 'oracle'.*ground truth: backend 'unseen_table:Table' cannot report"
    )
    with pytest.raises(ConfigurationError, match=words):
        check_policies(session("oracle"))
    (description,) = check_policies(session("random"))
    assert not description.privileged


@pytest.mark.parametrize(
    ("robot", "space"),
    [(name, space) for name, robot in ROBOTS.items() for space in robot.action_spaces.offered],
)
def test_the_controller_of_every_action_space_leaves_no_convention_open(robot, space):
    declared = make_controller(ROBOTS[robot], space, 0.1).conventions
    for name, known in zip(vars(declared), (Reference, Frame, Rotation, Gripper), strict=True):
        assert getattr(declared, name) in get_args(known)


def test_a_policy_that_fits_in_everything_is_accepted():
    assert differences() == []
    check_fit(FITTING, ROBOTS["franka"], 10.0, CAMERAS, "mine.yaml")


def test_what_a_policy_leaves_open_fits():
    bare = PolicyDescription("bare", "planar_delta", 2, cameras=("board",))
    assert find_differences(bare, ROBOTS["ur5e"], 7.0, {"board": (64, 48)}) == ()


def test_a_rate_that_is_rounded_is_the_same():
    assert find_differences(replace(FITTING, rate=30.0), ROBOTS["franka"], 1 / 0.0333333, CAMERAS) == ()


def test_a_size_that_is_not_known_fits():
    assert differences(in_use={"board": None}) == []


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"conventions": conventions(reference="absolute")},
            "reference: the policy answers absolute, the robot's planar_delta takes delta",
        ),
        (
            {"conventions": conventions(frame="tool")},
            "frame: the policy answers tool, the robot's planar_delta takes world",
        ),
        (
            {"conventions": conventions(rotation="rotation_6d")},
            "rotation: the policy answers rotation_6d, the robot's planar_delta takes none",
        ),
        (
            {"conventions": conventions(gripper="closes")},
            "gripper: the policy has a gripper, robot 'franka' has none",
        ),
        (
            {"observes": ("tool_pose", "gripper_width")},
            "gripper: the policy has a gripper, robot 'franka' has none",
        ),
        (
            {"action_size": 7},
            "action_size: the policy answers 7 numbers, the robot's planar_delta takes 2",
        ),
        ({"rate": 5.0}, "rate: the policy was made for 5 Hz, the task's control_rate is 10 Hz"),
        (
            {"cameras": ("wrist",), "image_sizes": ()},
            "cameras: the policy needs 'wrist', in use are board",
        ),
        (
            {"image_sizes": ((128, 96),)},
            "image_sizes: the policy needs 'board' with 128x96 pixels, it has 224x224 pixels; the session's "
            "`cameras` sets them",
        ),
        ({"joints": 6}, "joints: the policy reads 6 joints, robot 'franka' shows 7"),
        (
            {"action_space": "base_twist"},
            "action_space: the policy answers in base_twist, robot 'franka' takes planar_delta",
        ),
    ],
)
def test_each_difference_is_told_alone(changes, told):
    (only,) = differences(**changes)
    assert only.startswith(told)


def test_a_policy_with_a_gripper_on_a_robot_without_is_one_line():
    hand = PolicyDescription(
        "droid",
        "joint_positions",
        8,
        conventions=ActionConventions("absolute", "joint", "none", "closes"),
        joints=7,
        observes=("joint_positions", "gripper_closed"),
    )
    (only,) = find_differences(hand, ROBOTS["franka"], 15.0, {})
    assert str(only) == "gripper: the policy has a gripper, robot 'franka' has none"


def test_what_a_policy_reads_of_the_state_the_robot_must_show():
    reads = PolicyDescription("mine", "discrete_navigation", 1, observes=("tool_pose", "joint_positions"))
    (only,) = find_differences(reads, ROBOTS["locobot"], 10.0, {})
    assert str(only) == "observes: the policy reads joint_positions, robot 'locobot' shows tool_pose"
    with pytest.raises(ValueError, match="observes gripper, expected some of joint_positions, tool_pose, gripper_w"):
        replace(reads, observes=("gripper",))


def test_a_camera_that_the_robot_has_but_the_session_leaves_out_is_told_with_the_cure():
    robot = ROBOTS["franka"]
    wrist = CameraInterface(name="wrist", image_topic="wrist", info_topic="wrist_info", frame_id="wrist")
    robot = replace(robot, cameras=(*robot.cameras, wrist))
    wanted = replace(FITTING, cameras=("board", "wrist"), image_sizes=())
    (told,) = find_differences(wanted, robot, 10.0, CAMERAS)
    assert told.text == (
        "the policy needs 'wrist', in use are board; the robot has it: name it in the session's `cameras`"
    )


def test_moves_are_not_averaged():
    moves = PolicyDescription("mine", "discrete_navigation", 1, chunk_length=4, ensemble=0.1)
    (told,) = find_differences(moves, ROBOTS["locobot"], 10.0, {})
    assert str(told) == (
        "ensemble: the policy's answers are to be averaged, the moves of discrete_navigation cannot be"
    )


def test_all_that_differs_is_told_at_once_one_line_each():
    wrong = PolicyDescription(
        "wrong",
        "planar_delta",
        7,
        cameras=("wrist", "board"),
        conventions=ActionConventions("absolute", "base", "quaternion_xyzw", "opens"),
        rate=15.0,
        image_sizes=(None, (64, 64)),
        joints=6,
    )
    with pytest.raises(ConfigurationError) as refused:
        check_fit(wrong, ROBOTS["franka"], 10.0, CAMERAS, "wrong.yaml")
    first, *lines = str(refused.value).splitlines()
    assert first.startswith("wrong.yaml: got 'wrong', expected a policy that fits robot 'franka'.")
    assert "robocontrast policies" in first
    assert [line.split(":")[0].strip() for line in lines] == [
        "gripper",
        "action_size",
        "reference",
        "frame",
        "rotation",
        "rate",
        "cameras",
        "image_sizes",
        "joints",
    ]


def test_a_session_whose_policy_fits_gets_its_description():
    (description,) = check_policies(resolve("language_table_demo", Overrides(policy="random")))
    assert description.name == "random"


def test_a_policy_whose_file_describes_it_is_not_loaded_for_the_check(tmp_path):
    file = write_described(tmp_path / "mine.yaml", "described_policies:DescribedByFile", rate=5.0)
    with pytest.raises(ConfigurationError, match="made for 5 Hz"):
        check_policies(resolve("language_table_demo", Overrides(policy=str(file))))
    write_described(file, "described_policies:DescribedByFile", rate=10.0)
    (description,) = check_policies(resolve("language_table_demo", Overrides(policy=str(file))))
    assert (description.name, description.rate) == ("mine", 10.0)


def test_evaluate_refuses_what_does_not_fit_with_one_line_per_difference(tmp_path):
    policy = write_described(
        tmp_path / "absolute.yaml",
        cameras=["board", "wrist"],
        conventions={"reference": "absolute", "gripper": "closes"},
        rate=5.0,
    )
    result = CliRunner().invoke(
        app, ["evaluate", "language_table_demo", "--policy", str(policy), "--output", str(tmp_path / "runs")]
    )
    assert result.exit_code == 2
    assert isinstance(result.exception, SystemExit), "no traceback"
    first, *lines = result.stderr.strip().splitlines()
    assert first.startswith(f"error: {policy}: got 'absolute', expected a policy that fits robot 'franka'.")
    assert lines == [
        "  gripper: the policy has a gripper, robot 'franka' has none",
        "  reference: the policy answers absolute, the robot's planar_delta takes delta",
        "  rate: the policy was made for 5 Hz, the task's control_rate is 10 Hz",
        "  cameras: the policy needs 'wrist', in use are board",
    ]
    assert not (tmp_path / "runs").exists(), "nothing was started"


def test_the_session_of_the_page_for_operators_is_a_whole_file_and_can_be_practised(tmp_path):
    page = Path(__file__).parents[3] / "docs" / "operator.md"
    (content,) = re.findall(r"```yaml\n(# my_session.yaml\n.+?)```", page.read_text(), re.DOTALL)
    file = tmp_path / "my_session.yaml"
    file.write_text(content)
    for practice in (False, True):
        session = resolve(file, Overrides(practice=practice))
        assert check_policies(session) and session.world.features.camera
    first = re.search(r"evaluate (\w+) --practice", page.read_text())[1]
    assert check_policies(resolve(first, Overrides(practice=True)))
