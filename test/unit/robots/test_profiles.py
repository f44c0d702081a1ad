"""Every robot of the package keeps the contract; mistakes in a profile are told by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
import yaml
from controller_contracts import ArmContract, BaseContract, JointPositionsContract, between
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from transforms3d.quaternions import quat2mat

from robocontrast_ros.configuration import ConfigurationError, parse_record, resolve_uri
from robocontrast_ros.robots.end_effectors.rod import Rod
from robocontrast_ros.robots.kinematics import Kinematics
from robocontrast_ros.robots.manipulator import ManipulatorProfile
from robocontrast_ros.robots.manipulator_mjcf import arm_mjcf
from robocontrast_ros.robots.profile import load_profile

FILES = sorted(resolve_uri("package://robocontrast_ros/config/robots").glob("*.yaml"))
NAMES = [path.stem for path in FILES]
ARMS = [name for name in NAMES if isinstance(load_profile(name), ManipulatorProfile)]


class TestFranka(ArmContract):
    robot = "franka"


class TestUr5e(ArmContract):
    robot = "ur5e"


class TestFrankaByJoints(JointPositionsContract):
    robot = "franka"


class TestUr5eByJoints(JointPositionsContract):
    robot = "ur5e"


class TestLocobot(BaseContract):
    robot = "locobot"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_profile_is_named_after_its_file(path: Path):
    assert load_profile(str(path)).name == path.stem


def transform(a: float, d: float, alpha: float, theta: float, convention: str) -> np.ndarray:
    """Return a Denavit-Hartenberg transform as the textbooks print it."""
    ct, st_, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
    if convention == "modified":  # Craig, Introduction to Robotics
        return np.array(
            [
                [ct, -st_, 0, a],
                [st_ * ca, ct * ca, -sa, -d * sa],
                [st_ * sa, ct * sa, ca, d * ca],
                [0, 0, 0, 1],
            ]
        )
    return np.array(  # Spong, Robot Modeling and Control
        [[ct, -st_ * ca, st_ * sa, a * ct], [st_, ct * ca, -ct * sa, a * st_], [0, sa, ca, d], [0, 0, 0, 1]]
    )


def flange(profile: ManipulatorProfile, joints: tuple[float, ...]) -> np.ndarray:
    """Return the flange in the base frame by multiplying the table's transforms."""
    angles = [*joints, *[0.0] * (len(profile.kinematics) - len(joints))]
    pose = np.eye(4)
    for row, theta in zip(profile.kinematics, angles, strict=True):
        pose = pose @ transform(row.a, row.d, row.alpha, theta, profile.convention)
    return pose


@pytest.mark.parametrize("name", ARMS)
@examples(30)
@given(shares=st.lists(st.floats(0.0, 1.0), min_size=7, max_size=7))
def test_the_model_agrees_with_the_table_of_parameters(name, shares):
    profile = load_profile(name)
    joints = tuple(j.lower + share * (j.upper - j.lower) for j, share in zip(profile.joints, shares, strict=False))
    yaw = profile.base_yaw
    base = np.array([[np.cos(yaw), -np.sin(yaw), 0, 0], [np.sin(yaw), np.cos(yaw), 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    base[:3, 3] = profile.base_position
    expected = base @ flange(profile, joints) @ np.array([*profile.end_effector.tool_pose.position, 1])
    assert Kinematics(profile).tool_pose(joints).position == pytest.approx(expected[:3], abs=1e-9)


@pytest.mark.parametrize("name", ARMS)
@settings(max_examples=15, deadline=None)
@given(shares=st.lists(st.floats(0.0, 1.0), min_size=7, max_size=7))
def test_the_lowest_point_of_an_arm_is_where_mujoco_measures_it(name, shares):
    profile = load_profile(name)
    joints = [between((j.lower, j.upper), share) for j, share in zip(profile.joints, shares, strict=False)]
    depth = 3.0
    ground = f'<geom name="ground" type="box" size="9 9 1" pos="0 0 {-depth - 1}"/>'
    arm = arm_mjcf(profile, moving_hand=False).replace("<worldbody>", f"<worldbody>{ground}")
    model = mujoco.MjModel.from_xml_string(arm)
    data = mujoco.MjData(model)
    data.qpos = joints
    mujoco.mj_kinematics(model, data)
    moving = [g for g in range(model.ngeom) if model.body_weldid[model.geom_bodyid[g]] != 0]
    distances = [mujoco.mj_geomDistance(model, data, model.geom("ground").id, g, 9.0, None) for g in moving]
    assert Kinematics(profile).lowest(joints) == pytest.approx(min(distances) - depth, abs=1e-3)


@pytest.mark.parametrize(
    ("name", "joints", "position", "axis"),
    [
        # The "ready" posture of libfranka and MoveIt: O_T_EE without a hand.
        (
            "franka",
            (0, -np.pi / 4, 0, -3 * np.pi / 4, 0, np.pi / 2, np.pi / 4),
            (0.3069, 0, 0.5903),
            (0, 0, -1),
        ),
        # Universal Robots: all joints at zero, and stretched upwards.
        ("ur5e", (0, 0, 0, 0, 0, 0), (-0.8172, -0.2329, 0.0628), (0, -1, 0)),
        ("ur5e", (0, -np.pi / 2, 0, -np.pi / 2, 0, 0), (0, -0.2329, 1.0794), (0, -1, 0)),
    ],
)
def test_the_flange_is_where_the_makers_say(name, joints, position, axis):
    pose = flange(load_profile(name), joints)
    assert pose[:3, 3] == pytest.approx(position, abs=2e-4)
    assert pose[:3, 2] == pytest.approx(axis, abs=1e-9)


def remove(data, *keys):
    for key in keys[:-1]:
        data = data[key]
    del data[keys[-1]]


def put(data, value, *keys):
    for key in keys[:-1]:
        data = data[key]
    data[keys[-1]] = value


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda d: put(d, 1, "jonts"), r"`jonts`: got 'jonts', expected a known key.*Did you mean 'joints'"),
        (
            lambda d: put(d, 3.0, "joints", 0, "lower"),
            r"`lower` < `upper` for joint 'fr3_joint1' \(got 3.0 and 2.7437\)",
        ),
        (lambda d: d["joints"].pop(), r"`home` to have one entry a joint: 6, not 7"),
        (
            lambda d: d["kinematics"].pop(0) and d["kinematics"].pop(0),
            r"`kinematics` to have one row a joint",
        ),
        (lambda d: put(d, 9.0, "home", 2), r"`home` within the limits .* of 'fr3_joint3', not 9.0"),
        (lambda d: remove(d, "end_effector"), r"`end_effector`: got 'nothing', expected a value"),
        (lambda d: remove(d, "end_effector", "length"), r"`end_effector.length`: got 'nothing', expected a value"),
        (lambda d: put(d, "rodd", "end_effector", "type"), r"`end_effector.type`: got 'rodd'.*Did you mean 'rod'"),
        (lambda d: remove(d, "end_effector", "type"), r"`end_effector`: .*Add a `type`, one of .*rod"),
        (
            lambda d: put(d, "hook", "end_effector"),
            r"`end_effector`: got 'hook', expected a known gripper, or the path",
        ),
        (
            lambda d: put(d, -1.0, "joints", 1, "velocity"),
            r"`joints.1.velocity`: got -1.0, expected greater than 0",
        ),
        (lambda d: put(d, "fr3_joint1", "joints", 1, "name"), r"each joint name once"),
        (lambda d: put(d, [0.5, 0.1], "workspace", "x"), r"`x` as \[least, greatest\]"),
        (lambda d: put(d, 0.5, "action_spaces", "planar_delta", "height"), r"`workspace.z`"),
        (lambda d: put(d, 0.0, "links", 0, "shapes", 0, "radius"), r"a `radius` above 0 m for a capsule"),
        (
            lambda d: put(d, "geometry_msgs/msg/Twist", "command", "type"),
            r"trajectory_msgs/msg/JointTrajectory",
        ),
    ],
)
def test_a_mistake_in_an_arms_profile_is_one_message_that_names_it(tmp_path, mistake, message):
    check_mistake("franka", tmp_path, mistake, message)


def check_mistake(robot, tmp_path, mistake, message):
    data = yaml.safe_load(FILES[NAMES.index(robot)].read_text())
    mistake(data)
    path = tmp_path / "robot.yaml"
    path.write_text(yaml.safe_dump(data))
    with pytest.raises(ConfigurationError, match=message) as caught:
        load_profile(str(path))
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda d: put(d, "rover", "type"), r"`type`: got 'rover', expected a known kind of robot: differ"),
        (lambda d: put(d, "eye", "mount", "camera"), r"`mount.camera` among `cameras` \(camera\), not 'eye'"),
        (lambda d: put(d, "wheel_left_joint", "wheels", "right"), r"another name for the right wheel"),
        (lambda d: put(d, 0.4, "wheels", "separation"), r"`wheels.separation` below twice `body.radius`"),
        (
            lambda d: put(d, 0.9, "action_spaces", "discrete_navigation", "forward_speed"),
            r"forward_speed` within `limits.linear_speed` \(0.7\), not 0.9",
        ),
        (
            lambda d: put(d, 0.1, "action_spaces", "discrete_navigation", "distance_tolerance"),
            r"`distance_tolerance` of at most a quarter of `distance` \(0.0625\), not 0.1",
        ),
        (lambda d: put(d, "sensor_msgs/msg/JointState", "state", "type"), r"nav_msgs/msg/Odometry"),
        (
            lambda d: put(d, {"speed": 0.5}, "action_spaces", "joint_positions"),
            r"`action_spaces` that a differential_drive can take: discrete_navigation, not joint_positions",
        ),
        (lambda d: remove(d, "odom_frame"), r"`odom_frame`: got 'nothing', expected a value"),
    ],
)
def test_a_mistake_in_a_bases_profile_is_one_message_that_names_it(tmp_path, mistake, message):
    check_mistake("locobot", tmp_path, mistake, message)


def test_the_camera_of_the_locobot_is_where_its_description_puts_it():
    mount = load_profile("locobot").mount
    level = replace(mount, tilt=0.0).optical_pose
    assert level.position == pytest.approx((0.1014, 0.0175, 0.5617), abs=1e-4)
    ahead, down = quat2mat(wxyz(level))[:, 2], quat2mat(wxyz(level))[:, 1]
    assert ahead == pytest.approx((1.0, 0.0, 0.0), abs=1e-9)
    assert down == pytest.approx((0.0, 0.0, -1.0), abs=1e-9)
    tilted = quat2mat(wxyz(replace(mount, tilt=0.3, pan=0.5).optical_pose))[:, 2]
    assert tilted == pytest.approx((np.cos(0.3) * np.cos(0.5), np.cos(0.3) * np.sin(0.5), -np.sin(0.3)), abs=1e-9)


def wxyz(pose):
    x, y, z, w = pose.orientation
    return w, x, y, z


def test_an_unknown_robot_is_told_the_known_ones():
    known = (
        "franka, franka_hand, franka_hand_real, franka_real, locobot, locobot_real, ur5e, ur5e_2f85, ur5e_2f85_real, "
        "ur5e_real"
    )
    with pytest.raises(ConfigurationError, match=rf"got 'franca'.*{known}.*Did you mean 'franka'"):
        load_profile("franca")


def test_a_place_out_of_reach_is_refused_with_how_far_it_is():
    with pytest.raises(ValueError, match=r"'ur5e': the tool cannot point down at \(2.000, 0.000, 0.010\) m"):
        Kinematics(load_profile("ur5e")).posture((2.0, 0.0, 0.01))


def written(path, **data):
    path.write_text(yaml.safe_dump(data))
    return path


def test_a_file_that_extends_a_robot_has_its_keys_but_for_its_own(tmp_path):
    rod = {"type": "rod", "length": 0.1, "radius": 0.01}
    written(tmp_path / "long.yaml", extends="franka", name="long", end_effector=rod | {"length": 0.3})
    path = written(tmp_path / "own.yaml", extends="long.yaml", name="own", description="mine", end_effector=rod)
    franka, own = load_profile("franka"), load_profile(path)
    assert own == replace(franka, name="own", description="mine", end_effector=own.end_effector)
    assert own.end_effector == parse_record(Rod, rod, "rod") != franka.end_effector


@pytest.mark.parametrize(
    ("extends", "message"),
    [
        ("franca", r"b.yaml: `extends`: got 'franca', expected a known robot, or .*Did you mean 'franka'"),
        (7, r"b.yaml: `extends`: got 7, expected name or path of a robot's file"),
        ("a.yaml", r"b.yaml: `extends`: got 'a.yaml', expected a robot that does not extend this one"),
    ],
)
def test_a_robot_that_extends_none_is_refused(tmp_path, extends, message):
    path = written(tmp_path / "a.yaml", extends="b.yaml")
    written(tmp_path / "b.yaml", extends=extends)
    with pytest.raises(ConfigurationError, match=message):
        load_profile(path)


def test_the_key_pusher_of_older_files_is_a_rod(tmp_path):
    data = yaml.safe_load(FILES[NAMES.index("ur5e")].read_text())
    rod = data.pop("end_effector")
    pusher = {key: value for key, value in rod.items() if key != "type"}
    old = written(tmp_path / "old.yaml", **data, pusher=pusher, safety="ur5e")
    assert load_profile(old) == load_profile("ur5e")
    hand = written(tmp_path / "new.yaml", extends="old.yaml", end_effector=rod | {"length": 0.5})
    assert load_profile(hand).end_effector.length == 0.5
    bad = written(tmp_path / "bad.yaml", **data, pusher=pusher | {"lenght": 1.0})
    with pytest.raises(ConfigurationError, match=r"`end_effector.lenght`: got 'lenght', expected a known key"):
        load_profile(bad)


def test_an_end_effector_may_stand_in_a_file_of_its_own(tmp_path):
    rod = {"type": "rod", "length": 0.1, "radius": 0.01}
    written(tmp_path / "rod.yaml", **rod)
    path = written(tmp_path / "own.yaml", extends="franka", end_effector="rod.yaml")
    assert load_profile(path).end_effector == parse_record(Rod, rod, "rod")
    written(tmp_path / "rod.yaml", **rod | {"length": -1.0})
    with pytest.raises(ConfigurationError, match=r"rod.yaml: `length`: got -1.0, expected greater than 0"):
        load_profile(path)
