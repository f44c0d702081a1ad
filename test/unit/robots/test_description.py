"""Robots as URDF: the same kinematics and the same shapes as in the embedded world, read by MuJoCo's URDF reader."""

from __future__ import annotations

import math
from functools import cache
from xml.etree import ElementTree as ET

import mujoco
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.configuration.files import known_names
from robocontrast_ros.domain import Pose
from robocontrast_ros.objects.frames import compose as pose_in
from robocontrast_ros.robots.description import OPTICAL, RobotTree, camera_link, robot_tree
from robocontrast_ros.robots.differential_drive_mjcf import base_mjcf
from robocontrast_ros.robots.kinematics import Kinematics
from robocontrast_ros.robots.manipulator_mjcf import arm_mjcf
from robocontrast_ros.robots.profile import load_profile as read_profile
from robocontrast_ros.robots.profile_base import RobotProfile
from robocontrast_ros.robots.urdf import urdf_of
from robocontrast_ros.worlds.mujoco.composition import compose, robot_prefix

load_profile = cache(read_profile)
ROBOTS = sorted(known_names("robots"))
ARMS = [name for name in ROBOTS if not load_profile(name).mobile]
SAME = 1e-9
READER = """<mujoco><compiler fusestatic="false" discardvisual="false" inertiafromgeom="false"
  boundmass="1e-9" boundinertia="1e-9"/></mujoco>"""
BOX, SPHERE, CYLINDER, CAPSULE = (
    getattr(mujoco.mjtGeom, f"mjGEOM_{name}").value for name in ("BOX", "SPHERE", "CYLINDER", "CAPSULE")
)


def mjcf_of(profile: RobotProfile) -> str:
    return base_mjcf(profile) if profile.mobile else arm_mjcf(profile)


@cache
def tree_of(name: str) -> RobotTree:
    profile = load_profile(name)
    return robot_tree(mjcf_of(profile), profile)


def read(urdf: str) -> mujoco.MjModel:
    """Return what MuJoCo reads from a URDF document, all of its links and shapes kept."""
    return mujoco.MjModel.from_xml_string(urdf.replace("</robot>", f"{READER}</robot>"))


@cache
def read_of(name: str) -> mujoco.MjModel:
    return read(urdf_of(tree_of(name)))


@cache
def kinematics_of(name: str) -> Kinematics:
    return Kinematics(load_profile(name))


def at(model: mujoco.MjModel, positions: dict[str, float], prefix: str = "") -> mujoco.MjData:
    data = mujoco.MjData(model)
    for joint, position in positions.items():
        data.qpos[model.joint(prefix + joint).qposadr[0]] = position
    mujoco.mj_kinematics(model, data)
    return data


def body_pose(data: mujoco.MjData, name: str) -> Pose:
    w, x, y, z = data.body(name).xquat.tolist()
    return Pose(tuple(data.body(name).xpos.tolist()), (x, y, z, w))


def assert_same(one: Pose, other: Pose) -> None:
    assert one.distance_to(other) < SAME
    assert abs(np.dot(one.orientation, other.orientation)) == pytest.approx(1.0, abs=1e-12)


def random_positions(tree: RobotTree, rng: np.random.Generator) -> dict[str, float]:
    """Return positions of all joints that the driver reports, and of those that go with them."""
    moving = [joint for joint in tree.joints if joint.type != "fixed"]
    free = {j.name: float(rng.uniform(*(j.limits if any(j.limits) else (-9.0, 9.0)))) for j in moving if not j.mimic}
    coupled = {j.name: j.mimic.multiplier * free[j.mimic.joint] + j.mimic.offset for j in moving if j.mimic}
    return free | coupled


@pytest.mark.parametrize("name", ARMS)
@given(seed=st.integers(0, 2**32 - 1))
def test_forward_kinematics_of_the_urdf_are_those_of_the_package(name, seed):
    profile, kinematics = load_profile(name), kinematics_of(name)
    positions = np.random.default_rng(seed).uniform(*np.array([(j.lower, j.upper) for j in profile.joints]).T).tolist()
    there = at(read_of(name), dict(zip(profile.joint_names, positions, strict=True)))
    assert_same(pose_in(profile.base_pose, body_pose(there, profile.tool_frame)), kinematics.tool_pose(positions))


def shapes(model: mujoco.MjModel, data: mujoco.MjData, robot: str = "") -> list[tuple[tuple[float, ...], np.ndarray]]:
    """Return what touches things: type, sizes, place, axes; a capsule as the cylinder and spheres that URDF has."""
    found = []
    for geom in range(model.ngeom):
        body = model.body(model.geom_bodyid[geom]).name
        if not body.startswith(robot) or not (model.geom_contype[geom] or model.geom_conaffinity[geom]):
            continue
        kind, size = model.geom_type[geom], model.geom_size[geom]
        place, axes = data.geom_xpos[geom], data.geom_xmat[geom].reshape(3, 3)
        if kind == CAPSULE:
            for side in (-1.0, 1.0):
                found.append(((SPHERE, size[0], *(place + side * size[1] * axes[:, 2])), np.eye(3)))
        sizes = {BOX: size, SPHERE: size[:1], CYLINDER: size[:2], CAPSULE: size[:2]}[kind]
        turned = {BOX: axes, SPHERE: np.eye(3)}.get(kind, np.outer(axes[:, 2], axes[:, 2]))
        found.append(((CYLINDER if kind == CAPSULE else kind, *sizes, *place), turned))
    return found


@pytest.mark.parametrize("name", ROBOTS)
def test_every_link_touches_with_what_the_embedded_world_has_in_any_posture(name):
    profile = load_profile(name)
    folder = "apartment" if profile.mobile else "language_table"
    world = resolve_uri(f"package://robocontrast_ros/models/{folder}/world.xml")
    prefix = robot_prefix(profile.name)
    model, _ = compose(world, profile.name, mjcf_of(profile), (), False)
    rng = np.random.default_rng(0)
    for _ in range(5):
        positions = random_positions(tree_of(name), rng)
        embedded, described = at(model, positions, prefix), at(read_of(name), positions)
        where = Pose() if profile.mobile else profile.base_pose
        expected, got = shapes(model, embedded, prefix), shapes(read_of(name), described)
        assert len(got) == len(expected) > 5
        w, x, y, z = (where.orientation[3], *where.orientation[:3])
        turn = np.empty(9)
        mujoco.mju_quat2Mat(turn, np.array([w, x, y, z]))
        turn = turn.reshape(3, 3)
        placed = [((*key[:-3], *(np.asarray(where.position) + turn @ key[-3:])), key[0], axes) for key, axes in got]
        for key, axes in expected:
            assert any(
                len(other) == len(key)
                and np.allclose(other, key, atol=SAME)
                and np.allclose(turn @ turned @ turn.T if kind != BOX else turn @ turned, axes, atol=1e-7)
                for other, kind, turned in placed
            ), key


@pytest.mark.parametrize("name", ROBOTS)
def test_masses_and_inertias_are_those_of_the_embedded_robot(name):
    own, described = mujoco.MjModel.from_xml_string(mjcf_of(load_profile(name))), read_of(name)
    assert described.body_mass.sum() == pytest.approx(own.body_mass.sum())
    # MuJoCo's reader wants some mass of a frame that moves, be it that of a joint between two others.
    one, other = (sorted(map(sorted, m.body_inertia[m.body_mass > 1e-6].tolist())) for m in (own, described))
    assert np.allclose(one, other, rtol=1e-6)


@pytest.mark.parametrize("name", ROBOTS)
def test_transforms_put_every_frame_where_the_urdf_has_it(name):
    tree = tree_of(name)
    positions = random_positions(tree, np.random.default_rng(1))
    reported = {
        joint.name: positions[joint.name] for joint in tree.joints if joint.name in positions and not joint.mimic
    }
    described = at(read_of(name), positions)
    poses = {tree.root: Pose()}
    transforms = {t.child_frame: t for t in (*tree.fixed(), *tree.moving(reported))}
    for link in tree.links[1:]:
        transform = transforms[link.name]
        poses[link.name] = pose_in(poses[transform.frame_id], transform.pose)
        assert_same(poses[link.name], body_pose(described, link.name))


@pytest.mark.parametrize("name", ROBOTS)
def test_joints_have_the_limits_and_speeds_of_the_profile(name):
    profile = load_profile(name)
    limits = {joint.get("name"): joint.find("limit") for joint in ET.fromstring(urdf_of(tree_of(name))).iter("joint")}
    for joint, speed in profile.joint_speeds.items():
        assert float(limits[joint].get("velocity")) == speed > 0.0
        assert float(limits[joint].get("effort")) > 0.0
    if not profile.mobile:
        for joint in profile.joints:
            assert float(limits[joint.name].get("lower")) == joint.lower
            assert float(limits[joint.name].get("upper")) == joint.upper
            assert float(limits[joint.name].get("effort")) == joint.effort


def test_all_fingers_follow_the_driven_joint_and_none_follows_a_follower():
    for name in ("franka_hand", "ur5e_2f85"):
        hand = load_profile(name).end_effector
        mimics = [joint.mimic for joint in tree_of(name).joints if joint.mimic]
        assert mimics and {mimic.joint for mimic in mimics} == {hand.joints[0].name}


@pytest.mark.parametrize("name", ["franka_hand", "ur5e_2f85"])
@given(share=st.floats(0.0, 1.0))
def test_pads_are_as_far_apart_as_the_hand_says(name, share):
    hand = load_profile(name).end_effector
    driven, described = hand.drive(share), read_of(name)
    tree = tree_of(name)
    positions = {hand.joints[0].name: driven} | {
        j.name: j.mimic.multiplier * driven + j.mimic.offset for j in tree.joints if j.mimic
    }
    there = at(described, positions)
    thick = hand.finger.pad[1] / 2
    size = np.array(hand.finger.pad) / 2
    pads = [
        g for g in range(described.ngeom) if np.allclose(described.geom_size[g], size) and described.geom_contype[g]
    ]
    assert len(pads) == 2
    apart = math.dist(*(there.geom_xpos[g] for g in pads)) - 2 * thick
    assert apart == pytest.approx((1.0 - share) * hand.greatest_width, abs=1e-9)


def test_frames_of_a_base_have_its_prefix_and_the_root_no_mass():
    tree = tree_of("locobot")
    assert tree.links[0].name == "locobot/base_footprint" and tree.links[0].mass == 0.0
    assert {link.name for link in tree.links[1:]} == {
        *("locobot/base_link", "locobot/wheel_left_link", "locobot/wheel_right_link"),
        *("locobot/camera_link", "locobot/camera_color_optical_frame"),
    }


def test_a_camera_is_where_the_profile_has_it_with_its_body_frame_ahead_and_its_optical_frame_in_it():
    profile = load_profile("locobot")
    fixed = {transform.child_frame: transform for transform in tree_of("locobot").fixed()}
    body, optical = fixed["locobot/camera_link"], fixed["locobot/camera_color_optical_frame"]
    assert optical.pose == OPTICAL, "REP-103: z forward, x right, y down"
    assert_same(pose_in(body.pose, optical.pose), profile.mount.optical_pose)


@pytest.mark.parametrize(
    ("optical", "link"),
    [
        ("camera_color_optical_frame", "camera_link"),
        ("locobot/camera_color_optical_frame", "locobot/camera_link"),
        ("left_camera_optical_frame", "left_camera_link"),
        ("eye", "eye_link"),
    ],
)
def test_a_cameras_body_frame_is_named_after_its_optical_frame(optical, link):
    assert camera_link(optical) == link


def test_joints_off_the_bodies_origin_several_in_a_body_and_references_are_kept():
    document = """<mujoco><compiler angle="radian"/><worldbody><body name="base"><geom size=".1"/>
      <body name="two" pos="1 0 0" quat=".6 .8 0 0"><geom size=".1 .2 .3" type="box" pos=".1 0 0"/>
        <joint name="turn_joint" axis="0 0 1" pos=".2 0 0" ref=".3"/><joint name="slide" type="slide" axis="0 1 0"/>
        <joint name="tilt" axis="1 0 0" pos="0 .1 .2"/>
        <body name="ball" pos="0 0 1"><joint type="ball"/><geom size=".1"/></body>
      </body></body></worldbody></mujoco>"""
    own = mujoco.MjModel.from_xml_string(document)
    described = read(urdf_of(robot_tree(document, load_profile("franka"))))
    for seed in range(5):
        turn, slide, tilt = np.random.default_rng(seed).uniform(-1.0, 1.0, 3)
        positions = {"turn_joint": turn, "slide": slide, "tilt": tilt}
        one, other = at(own, positions), at(described, positions)
        for body in ("two", "ball"):
            assert_same(body_pose(one, body), body_pose(other, body))
