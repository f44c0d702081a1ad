"""Hands as records: how wide, how far out, how large, and what is told of mistakes in their files."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
import yaml
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from robocontrast_ros.configuration import ConfigurationError, resolve_uri
from robocontrast_ros.objects import FINGER_BEYOND
from robocontrast_ros.robots.manipulator_mjcf import arm_mjcf
from robocontrast_ros.robots.mjcf import TOOL_SITE
from robocontrast_ros.robots.profile import load_profile

ARMS = {"franka_hand": "franka_hand", "ur5e_2f85": "robotiq_2f85"}
PAD_PRIORITY = 1


class Fingers:
    """The hand of an arm in MuJoCo, put to any width by the kinematics of its joints and couplings."""

    def __init__(self, name: str) -> None:
        self.profile = load_profile(name)
        self.hand = self.profile.end_effector
        self.model = mujoco.MjModel.from_xml_string(arm_mjcf(self.profile))
        self.data = mujoco.MjData(self.model)
        self.pads = np.flatnonzero(self.model.geom_priority == PAD_PRIORITY)

    def put(self, width: float) -> None:
        for joint, position in zip(self.hand.joints, self.hand.positions(width), strict=True):
            self.data.joint(joint.name).qpos = position
        for row in range(self.model.neq):  # what the couplings demand: follower = coefficient * leader
            follower, leader = (self.model.jnt_qposadr[j[row]] for j in (self.model.eq_obj1id, self.model.eq_obj2id))
            self.data.qpos[follower] = self.model.eq_data[row, 1] * self.data.qpos[leader]
        # A leader may itself follow another one that stands below it.
        for row in range(self.model.neq):
            follower, leader = (self.model.jnt_qposadr[j[row]] for j in (self.model.eq_obj1id, self.model.eq_obj2id))
            self.data.qpos[follower] = self.model.eq_data[row, 1] * self.data.qpos[leader]
        mujoco.mj_kinematics(self.model, self.data)

    def corners(self, geom: int) -> np.ndarray:
        """Return corners of a geom's box, or ends of a capsule's axis, in the frame `tool`, shape (8, 3) [m]."""
        signs = np.array(np.meshgrid((-1, 1), (-1, 1), (-1, 1))).reshape(3, -1).T
        aabb, data = self.model.geom_aabb[geom].copy(), self.data
        if self.model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_CAPSULE:
            aabb[3:5] = 0.0  # only its axis: half the length is without the caps
            aabb[5] = self.model.geom_size[geom, 1]
        world = data.geom_xpos[geom] + (aabb[:3] + signs * aabb[3:]) @ data.geom_xmat[geom].reshape(3, 3).T
        tool = data.site(TOOL_SITE)
        return (world - tool.xpos) @ tool.xmat.reshape(3, 3)


@pytest.fixture(scope="module", params=ARMS)
def fingers(request) -> Fingers:
    return Fingers(request.param)


@examples(25)
@given(share=st.floats(0.0, 1.0))
def test_the_pads_are_as_far_apart_and_as_far_out_as_the_record_says_at_every_width(fingers, share):
    width = share * fingers.hand.greatest_width
    assert fingers.hand.width(fingers.hand.positions(width)) == pytest.approx(width, abs=1e-9)
    fingers.put(width)
    left, right = (fingers.corners(pad) for pad in fingers.pads)
    assert left[:, 1].min() == pytest.approx(width / 2, abs=1e-9)
    assert right[:, 1].max() == pytest.approx(-width / 2, abs=1e-9)
    for pad in (left, right):
        assert pad[:, 2].max() == pytest.approx(fingers.hand.tips(width), abs=1e-9)
        # The pads stay parallel to the hand's axis: the box around each is no thicker than the pad.
        assert np.ptp(pad, axis=0) == pytest.approx(fingers.hand.finger.pad, abs=1e-9)
    assert fingers.hand.tips(width) <= fingers.hand.overhang + 1e-12


def test_open_and_closed_are_the_ends_of_the_joints_ranges_and_of_the_widths(fingers):
    hand = fingers.hand
    assert hand.width([joint.open for joint in hand.joints]) == pytest.approx(hand.greatest_width)
    assert hand.width([joint.closed for joint in hand.joints]) == pytest.approx(0.0, abs=1e-9)
    for joint in hand.joints:
        assert sorted((joint.open, joint.closed)) == pytest.approx(fingers.model.joint(joint.name).range)
    assert (hand.drive(0.0), hand.drive(1.0)) == pytest.approx((hand.joints[0].open, hand.joints[0].closed))


def test_no_finger_tip_reaches_further_than_the_grasps_of_the_objects_expect(fingers):
    assert 0.0 < fingers.hand.overhang <= FINGER_BEYOND


def test_the_pads_of_a_parallelogram_advance_and_those_of_a_slide_do_not():
    slide, parallelogram = (load_profile(name).end_effector for name in ARMS)
    assert [slide.advance(width) for width in (0.0, 0.04, 0.08)] == [0.0, 0.0, 0.0]
    # Measured on the real 2F-85's drawings and on Menagerie's model: 11 mm at 44 mm, 13 mm closed.
    assert [parallelogram.advance(width) for width in (0.085, 0.044, 0.0)] == pytest.approx(
        [0.0, 0.011, 0.013], abs=5e-4
    )


def test_the_boxes_of_the_envelope_hold_the_open_hand(fingers):
    fingers.put(fingers.hand.greatest_width)
    flange = fingers.model.body("hand").id
    bodies = {flange}
    for body in range(flange + 1, fingers.model.nbody):
        if fingers.model.body_parentid[body] in bodies:
            bodies.add(body)
    boxes = [(np.array(box.center), np.array(box.half)) for box in fingers.hand.envelope]
    own = [geom for geom in range(fingers.model.ngeom) if fingers.model.geom_bodyid[geom] in bodies]
    assert len(own) >= 5
    for geom in own:
        corners = fingers.corners(geom)
        assert any((np.abs(corners - center) <= half + 0.002).all() for center, half in boxes), geom


def test_the_hand_that_kinematics_sees_is_the_open_hand(fingers):
    fingers.put(fingers.hand.greatest_width)
    still = mujoco.MjModel.from_xml_string(arm_mjcf(fingers.profile, moving_hand=False))
    assert still.nq == len(fingers.profile.joints)
    data = mujoco.MjData(still)
    mujoco.mj_kinematics(still, data)
    tool, own = data.site(TOOL_SITE), fingers.data.site(TOOL_SITE)
    places = [
        sorted(np.round(site.xmat.reshape(3, 3).T @ (xpos - site.xpos), 6).tolist() for xpos in d.geom_xpos)
        for site, d in ((tool, data), (own, fingers.data))
    ]
    assert np.allclose(*places, atol=1e-5)


def test_the_camera_on_the_hand_sees_both_finger_tips(fingers):
    fingers.put(fingers.hand.greatest_width)
    mujoco.mj_camlight(fingers.model, fingers.data)
    camera = fingers.model.camera(fingers.profile.mount.camera).id
    half = math.tan(math.radians(fingers.model.cam_fovy[camera]) / 2)
    width, height = fingers.model.cam_resolution[camera]
    for pad, side in zip(fingers.pads, (1.0, -1.0), strict=True):
        tip = fingers.data.geom_xpos[pad] - fingers.data.cam_xpos[camera]
        x, y, z = fingers.data.cam_xmat[camera].reshape(3, 3).T @ tip
        assert -z > 0.0 and abs(y / z) < half and abs(x / z) < half * width / height
        assert x * side > 0.0  # y of the tool points right in the image


# -- mistakes in files ------------------------------------------------------------------------------


def written(folder, gripper: str, changes: dict):
    """Write a gripper's file with some keys changed and an arm that has it; return the arm's file."""
    content = yaml.safe_load(resolve_uri(f"package://robocontrast_ros/config/grippers/{gripper}.yaml").read_text())
    for key, value in changes.items():
        inner, *names = (content, *key.split("."))
        for name in names[:-1]:
            inner = inner[name]
        if value is None:
            del inner[names[-1]]
        else:
            inner[names[-1]] = value
    (folder / "gripper.yaml").write_text(yaml.safe_dump(content))
    arm = {"extends": "franka_hand", "end_effector": "gripper.yaml"}
    (folder / "arm.yaml").write_text(yaml.safe_dump(arm))
    return folder / "arm.yaml"


@pytest.mark.parametrize(
    ("gripper", "changes", "said"),
    [
        (
            "franka_hand",
            {"type": "three_fingers"},
            "got 'three_fingers', expected a known type of end effector",
        ),
        ("franka_hand", {"stroke": None}, "`stroke`: got 'nothing'"),
        ("franka_hand", {"stroke": -0.08}, "`stroke`"),
        ("franka_hand", {"force": 0.0}, "`force`"),
        ("franka_hand", {"speed": "fast"}, "`speed`: got 'fast'"),
        ("franka_hand", {"palm": []}, "`palm`"),
        ("franka_hand", {"finger.pad": [0.017, 0.0, 0.017]}, "`finger`"),
        ("franka_hand", {"finger.mass": 0.0}, "`finger.mass`"),
        ("franka_hand", {"joint_names": ["same", "same"]}, "two names (got 'same' twice)"),
        ("franka_hand", {"crank": {}}, "`crank`"),
        ("robotiq_2f85", {"stroke": 0.5}, "a `stroke` that the cranks can close: at most 0.188964 m"),
        ("robotiq_2f85", {"crank.length": 0.0}, "`crank.length`"),
        ("robotiq_2f85", {"crank.angle": 2.0}, "`crank.angle`"),
    ],
)
def test_a_mistake_in_a_gripper_is_told_by_file_and_key(tmp_path, gripper, changes, said):
    with pytest.raises(ConfigurationError) as error:
        load_profile(written(tmp_path, gripper, changes))
    assert said in str(error.value)
    assert str(tmp_path / "gripper.yaml") in str(error.value)
    assert "\n" not in str(error.value)


def test_a_gripper_that_does_not_exist_and_a_camera_that_does_not_are_told(tmp_path):
    arm = tmp_path / "arm.yaml"
    arm.write_text("extends: franka_hand\nend_effector: fist\n")
    with pytest.raises(ConfigurationError, match=r"'fist'.*franka_hand, robotiq_2f85"):
        load_profile(arm)
    arm.write_text("extends: franka_hand\ncameras: []\n")
    with pytest.raises(ConfigurationError, match=r"`mount\.camera` among `cameras`"):
        load_profile(arm)


def test_a_gripper_read_from_its_file_works_as_the_one_that_ships(tmp_path):
    assert load_profile(written(tmp_path, "franka_hand", {})).end_effector == load_profile("franka_hand").end_effector
