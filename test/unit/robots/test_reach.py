"""Both arms with hands reach everywhere above the region of the tabletop; what is out of reach is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from robocontrast_ros.configuration import load_record, resolve_uri
from robocontrast_ros.domain import Pose
from robocontrast_ros.robots.kinematics import Kinematics, Unreachable
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.robots.reach import check_reach, pointing_down
from robocontrast_ros.tasks.tabletop.parameters import TabletopParameters

ARMS = ("franka_hand", "ur5e_2f85")
TASK = load_record(TabletopParameters, resolve_uri("package://robocontrast_ros/config/tasks/tabletop.yaml"))


@pytest.fixture(params=ARMS)
def arm(request):
    return load_profile(request.param)


def test_an_arm_reaches_all_of_the_region_turned_every_way(arm):
    check_reach(arm, *TASK.tool_region)


def test_a_tool_at_its_lowest_touches_nothing_with_its_finger_tips(arm):
    assert arm.floor >= 0.0
    assert arm.floor < 1e-3, "what lies flat on the table can be grasped"


def test_its_home_posture_points_down_between_robot_and_region(arm):
    tool = Kinematics(arm).tool_pose(arm.home)
    assert tool.position == pytest.approx((0.30, 0.0, 0.45), abs=2e-3)
    assert tool.orientation == pytest.approx(pointing_down(0.0, 0.0, 0.0, 0.0).orientation, abs=2e-3)
    assert tool.position[0] < TASK.region.x_min


def test_a_table_out_of_reach_is_told_by_robot_and_place(arm):
    away = replace(arm, base_position=(-0.4, 0.0, 0.0))
    with pytest.raises(Unreachable, match=rf"robot '{arm.name}': the tool cannot be at \(0\.\d+, -0\.\d+, 0\.\d+\) m"):
        check_reach(away, *TASK.tool_region)


def test_a_place_outside_of_the_workspace_is_told(arm):
    with pytest.raises(Unreachable, match=r"\(0\.900, 0\.000, 0\.100\) m is outside of its `workspace`"):
        check_reach(arm, (0.9, 0.9), (0.0, 0.0), (0.1, 0.1))


def test_turns_that_the_wrist_cannot_make_are_told():
    arm = load_profile("franka_hand")
    *joints, wrist = arm.joints
    stiff = replace(arm, joints=(*joints, replace(wrist, lower=arm.home[-1] - 0.8, upper=arm.home[-1] + 0.8)))
    with pytest.raises(Unreachable, match=r"turned by -?\d+ degrees; it ends"):
        check_reach(stiff, *TASK.tool_region)


def test_a_tool_that_points_down_has_its_axes_there():
    assert pointing_down(0.1, 0.2, 0.3, 0.0) == Pose((0.1, 0.2, 0.3), (1.0, 0.0, 0.0, 0.0))
