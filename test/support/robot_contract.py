"""The contracts of robot profiles: inherit the class of its kind, give the profile's name, and all is checked."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import Pose, RobotState
from robocontrast_ros.robots.controllers import Controller, ControlStep, make_controller
from robocontrast_ros.robots.kinematics import Kinematics
from robocontrast_ros.robots.manipulator import ManipulatorProfile
from robocontrast_ros.robots.profile import load_profile

PERIOD = 0.1
BOARD_X, BOARD_Y, MARGIN = (0.15, 0.60), (-0.3048, 0.3048), 0.05
# One test serves several classes on purpose: that is what a contract is.
quick = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.differing_executors])
unit = st.floats(0.0, 1.0)


def between(limits: tuple[float, float], share: float) -> float:
    return limits[0] + share * (limits[1] - limits[0])


def at(joints: tuple[float, ...]) -> RobotState:
    """Return the state of an arm with its joints somewhere; its controller takes nothing else from it."""
    return RobotState(0.0, Pose(), joint_positions=tuple(joints))


def carry_out(controller: Controller, action: tuple[float, ...], state: RobotState) -> ControlStep:
    """Return the one control step of an action that takes one control period."""
    controller.begin(action, state)
    step = controller.step(state)
    assert step is not None
    assert controller.step(state) is None, "the action takes one control period"
    return step


class ArmContract:
    """An arm that pushes on the board of Language-Table."""

    robot: str

    @pytest.fixture(scope="class")
    @classmethod
    def profile(cls) -> ManipulatorProfile:
        return load_profile(cls.robot)

    @pytest.fixture(scope="class")
    @classmethod
    def kinematics(cls, profile) -> Kinematics:
        return Kinematics(profile)

    @pytest.fixture
    def controller(self, profile):
        controller = make_controller(profile, "planar_delta", PERIOD)
        controller.reset(at(Kinematics(profile).posture((0.35, 0.0, self.height(profile)))))
        return controller

    @staticmethod
    def height(profile: ManipulatorProfile) -> float:
        return profile.action_spaces.planar_delta.height

    @staticmethod
    def within_limits(profile: ManipulatorProfile, positions: tuple[float, ...]) -> bool:
        return all(j.lower <= q <= j.upper for j, q in zip(profile.joints, positions, strict=True))

    def test_the_tool_points_down_everywhere_on_the_board_and_5_cm_beyond(self, profile, kinematics):
        for x in np.linspace(BOARD_X[0] - MARGIN, BOARD_X[1] + MARGIN, 8):
            for y in np.linspace(BOARD_Y[0] - MARGIN, BOARD_Y[1] + MARGIN, 9):
                positions = kinematics.posture((x, y, self.height(profile)))
                assert self.within_limits(profile, positions)
                pose = kinematics.tool_pose(positions)
                assert math.dist(pose.position, (x, y, self.height(profile))) < 5e-4
                assert down(pose) < 2e-3

    def test_joints_keep_away_from_their_limits_on_the_board(self, profile, kinematics):
        for x in np.linspace(*BOARD_X, 6):
            for y in np.linspace(*BOARD_Y, 7):
                positions = kinematics.posture((x, y, self.height(profile)))
                margins = [
                    min(q - j.lower, j.upper - q) for j, q in zip(profile.joints, positions, strict=True)
                ]
                assert min(margins) > 0.05

    @quick
    @given(start=st.tuples(unit, unit), goal=st.tuples(unit, unit))
    def test_steps_lead_from_anywhere_to_anywhere(self, profile, kinematics, start, goal):
        z = self.height(profile)
        position, end = ((between(BOARD_X, x), between(BOARD_Y, y), z) for x, y in (start, goal))
        joints = kinematics.posture(position)
        for _ in range(100):
            here = np.asarray(kinematics.tool_pose(joints).position)
            delta = np.asarray(end) - here
            if np.linalg.norm(delta) < 1e-3:
                break
            target = here + delta * min(1.0, 0.02 / np.linalg.norm(delta))
            motion = kinematics.step(joints, (target[0], target[1], z), PERIOD)
            assert self.within_limits(profile, motion.positions)
            for joint, before, after in zip(profile.joints, joints, motion.positions, strict=True):
                assert abs(after - before) <= joint.velocity * PERIOD + 1e-9
            joints = motion.positions
        assert math.dist(kinematics.tool_pose(joints).position, end) < 1e-3

    @quick
    @given(x=unit, y=unit)
    def test_inverse_and_forward_kinematics_agree(self, profile, kinematics, x, y):
        position = (between(profile.workspace.x, x), between(profile.workspace.y, y), self.height(profile))
        assert math.dist(kinematics.tool_pose(kinematics.posture(position)).position, position) < 5e-4

    def test_a_delta_within_bounds_moves_the_tool_by_it_at_constant_height(
        self, profile, kinematics, controller
    ):
        joints = kinematics.posture((0.35, 0.0, self.height(profile)))
        step = carry_out(controller, (0.02, -0.01), at(joints))
        assert not step.clamped
        assert step.reasons == ()
        assert step.command.names == profile.joint_names
        assert step.command.duration == PERIOD
        pose = kinematics.tool_pose(step.command.positions)
        assert pose.position == pytest.approx((0.37, -0.01, self.height(profile)), abs=1e-3)
        assert down(pose) < 5e-3

    def test_a_delta_beyond_the_bound_is_clamped_and_says_so(self, profile, kinematics, controller):
        bound = profile.action_spaces.planar_delta.max_step
        joints = kinematics.posture((0.35, 0.0, self.height(profile)))
        step = carry_out(controller, (10 * bound, 0.0), at(joints))
        assert step.clamped
        assert str(bound) in step.reasons[0]
        x, y, _ = kinematics.tool_pose(step.command.positions).position
        assert (x, y) == pytest.approx((0.35 + bound, 0.0), abs=1e-3)

    def test_the_tool_stays_inside_the_workspace(self, profile, kinematics, controller):
        joints = kinematics.posture((0.35, 0.0, self.height(profile)))
        steps = []
        for _ in range(40):
            steps.append(carry_out(controller, (0.03, 0.0), at(joints)))
            joints = steps[-1].command.positions
        assert steps[-1].clamped
        assert any("workspace" in reason for reason in steps[-1].reasons)
        assert kinematics.tool_pose(joints).position[0] == pytest.approx(profile.workspace.x[1], abs=1e-3)

    @pytest.mark.parametrize("action", [(math.nan, 0.0), (math.inf, 0.0), (0.01,), (0.01, 0.0, 0.0)])
    def test_an_action_of_another_size_or_not_finite_is_refused(self, profile, controller, action):
        with pytest.raises(ValueError, match="2 finite numbers"):
            controller.begin(action, at(profile.home))

    def test_a_lagging_robot_loses_no_part_of_the_deltas(self, profile, kinematics, controller):
        z = self.height(profile)
        for index in range(10):
            # The joints are always one step behind.
            lagging = kinematics.posture((0.35 + 0.01 * max(index - 1, 0), 0.0, z))
            step = carry_out(controller, (0.01, 0.0), at(lagging))
            assert not step.clamped
        assert kinematics.tool_pose(step.command.positions).position[0] == pytest.approx(0.45, abs=1e-3)

    def test_a_robot_that_was_pushed_away_goes_on_from_where_it_is(self, profile, kinematics, controller):
        elsewhere = kinematics.posture((0.45, 0.1, self.height(profile)))
        step = carry_out(controller, (0.01, 0.0), at(elsewhere))
        assert step.clamped
        assert kinematics.tool_pose(step.command.positions).xy == pytest.approx((0.46, 0.1), abs=1e-3)

    def test_hold_keeps_the_joints_where_they_are_and_inside_their_limits(
        self, profile, kinematics, controller
    ):
        joints = kinematics.posture((0.4, 0.1, self.height(profile)))
        assert controller.hold(at(joints)).positions == pytest.approx(joints)
        beyond = tuple(joint.upper + 1.0 for joint in profile.joints)
        assert self.within_limits(profile, controller.hold(at(beyond)).positions)

    def test_the_same_actions_give_the_same_commands(self, profile, kinematics):
        joints = kinematics.posture((0.3, 0.1, self.height(profile)))

        def run() -> list[tuple[float, ...]]:
            controller = make_controller(profile, "planar_delta", PERIOD)
            controller.reset(at(joints))
            return [carry_out(controller, (0.01, 0.02), at(joints)).command.positions for _ in range(5)]

        assert run() == run()

    def test_no_displacement_says_that_the_robot_is_done(self, controller):
        assert not controller.ends_episode((0.0, 0.0))

    def test_an_action_space_that_it_does_not_offer_is_refused_by_name(self, profile):
        with pytest.raises(ConfigurationError, match=r"got 'base_twist', expected .* offers: planar_delta"):
            make_controller(profile, "base_twist", PERIOD)


def down(pose) -> float:
    """Return the angle between the tool's axis and straight down [rad]."""
    x, y, _, _ = pose.orientation
    return math.acos(min(1.0, max(-1.0, -(1.0 - 2.0 * (x * x + y * y)))))
