"""What the controller of each action space does with any robot: inherit the class, and give the profile's name."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import Pose, RobotState
from robocontrast_ros.robots.commands import TwistCommand
from robocontrast_ros.robots.controllers.protocol import Controller, ControlStep
from robocontrast_ros.robots.differential_drive import DifferentialDriveProfile
from robocontrast_ros.robots.kinds import make_controller
from robocontrast_ros.robots.kinematics import Kinematics, Unreachable
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
    return RobotState(0, Pose(), joint_positions=tuple(joints))


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

    def test_a_delta_within_bounds_moves_the_tool_by_it_at_constant_height(self, profile, kinematics, controller):
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

    def test_hold_keeps_the_joints_where_they_are_and_inside_their_limits(self, profile, kinematics, controller):
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


class JointPositionsContract:
    """An arm that takes `joint_positions` above the board of Language-Table."""

    robot: str

    @pytest.fixture(scope="class")
    @classmethod
    def profile(cls) -> ManipulatorProfile:
        return load_profile(cls.robot)

    @pytest.fixture(scope="class")
    @classmethod
    def kinematics(cls, profile) -> Kinematics:
        return Kinematics(profile)

    @pytest.fixture(scope="class")
    @classmethod
    def middle(cls, kinematics) -> tuple[float, ...]:
        """Where the joints are with the tool 10 cm above the middle of the board."""
        return kinematics.posture((0.35, 0.0, 0.1))

    @pytest.fixture
    def controller(self, profile, middle) -> Controller:
        return self.made(profile, middle)

    @staticmethod
    def made(profile: ManipulatorProfile, joints: tuple[float, ...]) -> Controller:
        controller = make_controller(profile, "joint_positions", PERIOD)
        controller.reset(at(joints))
        return controller

    @staticmethod
    def reach(profile: ManipulatorProfile) -> np.ndarray:
        """Return how far each joint may go in one control step [rad]."""
        speed = profile.action_spaces.joint_positions.speed
        return np.array([speed * joint.velocity * PERIOD for joint in profile.joints])

    def followed(
        self, controller: Controller, joints: tuple[float, ...], action: tuple[float, ...], steps: int = 200
    ) -> list[ControlStep]:
        """Repeat an action on an arm that follows at once, until it is where it shall be, or stays."""
        done = []
        while len(done) < steps:
            done.append(carry_out(controller, action, at(joints)))
            if not done[-1].clamped or done[-1].command.positions == joints:
                break
            joints = done[-1].command.positions
        return done

    def test_it_takes_one_number_a_joint(self, profile, controller):
        assert controller.action_size == len(profile.joints)

    @quick
    @given(
        place=st.tuples(unit, unit, unit),
        shares=st.lists(st.lists(st.floats(-0.5, 1.5), min_size=7, max_size=7), min_size=1, max_size=6),
    )
    def test_whatever_is_asked_for_joints_and_tool_keep_their_limits_also_on_the_way(
        self, profile, kinematics, place, shares
    ):
        box = profile.workspace
        inside = (between(BOARD_X, place[0]), between(BOARD_Y, place[1]), between((0.01, 0.2), place[2]))
        try:
            joints = kinematics.posture(inside)
        except Unreachable:
            reject()  # near the base and high up, an arm may not be able to point down
        controller = self.made(profile, joints)
        for share in shares:
            action = [between((j.lower, j.upper), s) for j, s in zip(profile.joints, share, strict=False)]
            step = carry_out(controller, action, at(joints))
            before, after = np.array(joints), np.array(step.command.positions)
            assert all(j.lower <= q <= j.upper for j, q in zip(profile.joints, after, strict=True))
            assert (np.abs(after - before) <= self.reach(profile) + 1e-9).all()
            assert step.clamped == bool(np.abs(after - action).max() > 1e-9)
            assert step.clamped == bool(step.reasons)
            for way in np.linspace(before, after, 12):
                tip = kinematics.tool_pose(way).position
                for value, (lower, upper) in zip(tip, (box.x, box.y, box.z), strict=True):
                    assert lower - 1e-3 <= value <= upper + 1e-3
                assert kinematics.lowest(way) >= box.z[0] - 1e-3
            joints = step.command.positions

    @quick
    @given(goal=st.tuples(unit, unit, unit))
    def test_a_place_that_can_be_reached_is_reached_exactly(self, profile, kinematics, middle, goal):
        place = (
            between((0.28, 0.45), goal[0]),
            between((-0.2, 0.2), goal[1]),
            between((0.08, 0.13), goal[2]),
        )
        action = kinematics.posture(place)
        *before, last = self.followed(self.made(profile, middle), middle, action)
        assert {reason for step in before for reason in step.reasons} <= {"the limits of velocity"}
        assert not last.clamped
        assert last.command.positions == pytest.approx(action, abs=1e-12)
        assert last.command.names == profile.joint_names
        assert last.command.duration == PERIOD
        least = np.abs(np.subtract(action, middle)) / self.reach(profile)
        assert len(before) + 1 <= math.ceil(least.max()) + 1, "at the greatest velocity"

    def test_an_arm_told_to_go_through_the_board_stops_above_it_and_says_why(
        self, profile, kinematics, middle, controller
    ):
        steps = self.followed(controller, middle, kinematics.posture((0.35, 0.0, -0.1)))
        end = steps[-1].command.positions
        assert steps[-1].clamped
        assert "the workspace ends there" in steps[-1].reasons
        assert 0.0 <= kinematics.lowest(end) - profile.workspace.z[0] < 3e-3
        assert kinematics.tool_pose(end).xy == pytest.approx((0.35, 0.0), abs=0.03)

    def test_a_tilted_rod_does_not_cut_into_the_board_either(self, profile, kinematics, middle, controller):
        tilted = kinematics.posture((0.35, 0.0, 0.015))
        tilted = (*tilted[:-2], tilted[-2] - 0.6, tilted[-1])
        for step in self.followed(controller, middle, tilted):
            assert kinematics.lowest(step.command.positions) >= profile.workspace.z[0] - 1e-3

    def test_a_tool_below_the_workspace_comes_up_but_goes_no_deeper(self, profile, kinematics, middle):
        below = kinematics.posture((0.35, 0.0, -0.02))
        steps = self.followed(self.made(profile, below), below, middle)
        assert steps[-1].command.positions == pytest.approx(middle)
        deeper = kinematics.posture((0.35, 0.0, -0.06))
        steps = self.followed(self.made(profile, below), below, deeper)
        assert kinematics.lowest(steps[-1].command.positions) >= kinematics.lowest(below) - 1e-3

    def test_limits_of_position_are_told_by_the_names_of_the_joints(self, profile, middle, controller):
        name, upper = profile.joints[-1].name, profile.joints[-1].upper
        first = carry_out(controller, (*middle[:-1], upper + 0.5), at(middle))
        assert first.reasons[0] == f"the limits of position of {name}"

    def test_a_robot_that_lags_gets_to_its_target_all_the_same(self, kinematics, middle, controller):
        action = kinematics.posture((0.42, 0.1, 0.1))
        lagging = joints = middle
        for _ in range(50):
            step = carry_out(controller, action, at(lagging))
            assert "the joints were not at their set point" not in step.reasons
            lagging, joints = tuple(0.3 * np.array(lagging) + 0.7 * np.array(joints)), step.command.positions
        assert step.command.positions == pytest.approx(action)

    def test_a_robot_that_was_moved_away_goes_on_from_where_it_is_and_says_so(
        self, profile, kinematics, middle, controller
    ):
        elsewhere = kinematics.posture((0.45, 0.15, 0.1))
        step = carry_out(controller, middle, at(elsewhere))
        assert step.reasons[0] == "the joints were not at their set point"
        assert (np.abs(np.subtract(step.command.positions, elsewhere)) <= self.reach(profile) + 1e-9).all()

    @pytest.mark.parametrize("wrong", [lambda q: q[:-1], lambda q: (*q, 0.0), lambda q: (math.nan, *q[1:])])
    def test_an_action_of_another_size_or_not_finite_is_refused(self, profile, middle, controller, wrong):
        with pytest.raises(ValueError, match=f"expected {len(profile.joints)} finite numbers"):
            controller.begin(wrong(middle), at(middle))

    def test_hold_keeps_the_joints_where_they_are_and_drops_the_action(self, profile, middle, controller):
        controller.begin(profile.home, at(middle))
        assert controller.hold(at(middle)).positions == pytest.approx(middle)
        assert controller.step(at(middle)) is None
        beyond = tuple(joint.upper + 1.0 for joint in profile.joints)
        held = controller.hold(at(beyond)).positions
        assert held == tuple(joint.upper for joint in profile.joints)

    def test_no_joint_positions_say_that_the_robot_is_done(self, middle, controller):
        assert not controller.ends_episode(middle)


def down(pose) -> float:
    """Return the angle between the tool's axis and straight down [rad]."""
    x, y, _, _ = pose.orientation
    return math.acos(min(1.0, max(-1.0, -(1.0 - 2.0 * (x * x + y * y)))))


class IdealBase:
    """A base that does what it is told as its driver's limits let it, on a floor without anything."""

    substeps = 20

    def __init__(self, profile: DifferentialDriveProfile, x: float, y: float, yaw: float) -> None:
        self._limits = profile.limits
        self.x, self.y, self.yaw = x, y, yaw
        self._speed = self._turn = 0.0
        self.stuck = False

    def state(self) -> RobotState:
        return RobotState(0, Pose.planar(self.x, self.y, self.yaw))

    def move(self, command: TwistCommand, period: float) -> None:
        """Follow a command for a period [s]."""
        limits, step = self._limits, period / self.substeps
        if self.stuck:
            return
        for _ in range(self.substeps):
            self._speed = ramp(
                self._speed, command.linear, limits.linear_acceleration, limits.linear_deceleration, step
            )
            self._turn = ramp(
                self._turn, command.angular, limits.angular_acceleration, limits.angular_deceleration, step
            )
            self.x += self._speed * math.cos(self.yaw) * step
            self.y += self._speed * math.sin(self.yaw) * step
            self.yaw += self._turn * step


def ramp(now: float, wanted: float, faster: float, slower: float, step: float) -> float:
    """Return a speed after a step of time, as the driver lets it change."""
    rate = faster if wanted * now >= 0.0 and abs(wanted) > abs(now) else slower
    return now + min(max(wanted - now, -rate * step), rate * step)


def drive(controller: Controller, base: IdealBase, action: int) -> list[ControlStep]:
    """Carry out one action; return its steps."""
    controller.begin((action,), base.state())
    steps: list[ControlStep] = []
    while (step := controller.step(base.state())) is not None:
        steps.append(step)
        assert len(steps) < 100, "the action does not end"
        base.move(step.command, PERIOD)
    return steps


class BaseContract:
    """A mobile base that takes `discrete_navigation`."""

    robot: str

    @pytest.fixture(scope="class")
    @classmethod
    def profile(cls) -> DifferentialDriveProfile:
        return load_profile(cls.robot)

    @pytest.fixture(scope="class")
    @classmethod
    def space(cls, profile):
        return profile.action_spaces.discrete_navigation

    @pytest.fixture
    def base(self, profile) -> IdealBase:
        return IdealBase(profile, 1.0, 2.0, 0.5)

    @pytest.fixture
    def controller(self, profile, base):
        controller = make_controller(profile, "discrete_navigation", PERIOD)
        controller.reset(base.state())
        return controller

    def test_it_moves_about_and_its_driver_says_where_it_is_first_of_all(self, profile):
        assert profile.mobile
        assert profile.driver_topics[0] == (profile.state.topic, profile.state.type)

    def test_forward_drives_its_distance_straight_ahead_and_comes_to_rest(self, space, base, controller):
        assert not any(step.clamped for step in drive(controller, base, 1))
        x, y = 1.0 + space.distance * math.cos(0.5), 2.0 + space.distance * math.sin(0.5)
        assert math.dist((base.x, base.y), (x, y)) < space.distance_tolerance
        assert base.yaw == pytest.approx(0.5, abs=space.angle_tolerance)
        before = base.state()
        base.move(TwistCommand(), PERIOD)
        assert math.dist(base.state().pose.xy, before.pose.xy) < 1e-3

    @pytest.mark.parametrize(("action", "sign"), [(2, 1), (3, -1)])
    def test_left_and_right_turn_by_their_angle_on_the_spot(self, space, base, controller, action, sign):
        assert not any(step.clamped for step in drive(controller, base, action))
        assert base.yaw == pytest.approx(0.5 + sign * space.angle, abs=space.angle_tolerance)
        assert (base.x, base.y) == pytest.approx((1.0, 2.0), abs=1e-9)

    @quick
    @given(actions=st.lists(st.integers(1, 3), min_size=1, max_size=40))
    def test_errors_do_not_add_up_over_any_sequence_of_actions(self, profile, space, actions):
        base = IdealBase(profile, 0.0, 0.0, 0.0)
        controller = make_controller(profile, "discrete_navigation", PERIOD)
        controller.reset(base.state())
        x = y = yaw = 0.0
        for action in actions:
            assert not any(step.clamped for step in drive(controller, base, action))
            x += space.distance * math.cos(yaw) * (action == 1)
            y += space.distance * math.sin(yaw) * (action == 1)
            yaw += space.angle * {1: 0, 2: 1, 3: -1}[action]
            assert math.dist((base.x, base.y), (x, y)) < 2 * space.distance_tolerance
            assert abs(base.yaw - yaw) <= space.angle_tolerance

    def test_commands_keep_within_the_speeds_of_the_action_space(self, space, base, controller):
        for action in (1, 2, 1, 3, 1):
            for step in drive(controller, base, action):
                assert abs(step.command.linear) <= space.forward_speed
                assert abs(step.command.angular) <= space.turn_speed

    def test_stop_alone_ends_an_episode(self, controller):
        assert [controller.ends_episode((action,)) for action in (0, 1, 2, 3)] == [True, False, False, False]

    @pytest.mark.parametrize("action", [(4.0,), (-1.0,), (1.5,), (math.nan,), (), (1.0, 1.0)])
    def test_what_is_no_action_is_refused_with_those_there_are(self, base, controller, action):
        assert not controller.ends_episode(action)
        with pytest.raises(ValueError, match="expected one number: 0 STOP, 1 FORWARD, 2 LEFT, 3 RIGHT"):
            controller.begin(action, base.state())

    @pytest.mark.parametrize(
        ("action", "reason"), [(1, r"blocked: moved 0.00 of 0\.25 m"), (2, "blocked: turned 0 of 30 degrees")]
    )
    def test_a_blocked_action_ends_in_time_stopped_and_says_how_far_it_came(
        self, space, base, controller, action, reason
    ):
        base.stuck = True
        *before, last = drive(controller, base, action)
        assert len(before) * PERIOD <= space.time_limit
        assert not any(step.clamped for step in before)
        assert last.clamped
        assert last.command == TwistCommand()
        assert any(re.fullmatch(reason, told) for told in last.reasons)

    def test_an_action_that_creeps_ends_at_the_time_limit(self, space, base, controller):
        controller.begin((1,), base.state())
        steps = []
        while (step := controller.step(base.state())) is not None:
            steps.append(step)
            base.x += 0.003
            base.y += 0.003
        assert len(steps) - 1 == round(space.time_limit / PERIOD), "periods of motion before it is stopped"
        assert re.fullmatch(r"blocked: moved 0\.1\d of 0\.25 m", steps[-1].reasons[-1])

    def test_after_a_blocked_action_the_next_starts_from_where_the_base_is(self, space, base, controller):
        base.stuck = True
        drive(controller, base, 1)
        base.stuck = False
        steps = drive(controller, base, 2)
        assert not any(step.clamped for step in steps)
        assert (base.x, base.y) == pytest.approx((1.0, 2.0), abs=1e-9)
        assert base.yaw == pytest.approx(0.5 + space.angle, abs=space.angle_tolerance)

    def test_a_base_that_was_carried_goes_on_from_where_it_is_and_says_so(self, space, base, controller):
        base.x += 0.3
        first, *others = drive(controller, base, 1)
        assert first.clamped
        assert first.reasons == ("the base was not at its set point",)
        assert not any(step.clamped for step in others)
        expected = 1.3 + space.distance * math.cos(0.5), 2.0 + space.distance * math.sin(0.5)
        assert math.dist((base.x, base.y), expected) < space.distance_tolerance

    def test_hold_stops_and_drops_the_action(self, base, controller):
        controller.begin((1,), base.state())
        controller.step(base.state())
        assert controller.hold(base.state()) == TwistCommand(0.0, 0.0)
        assert controller.step(base.state()) is None

    def test_the_same_actions_give_the_same_commands(self, profile):
        def run() -> list[TwistCommand]:
            base = IdealBase(profile, 0.0, 0.0, 0.3)
            controller = make_controller(profile, "discrete_navigation", PERIOD)
            controller.reset(base.state())
            return [step.command for action in (1, 2, 1, 3) for step in drive(controller, base, action)]

        assert run() == run()

    def test_an_action_space_that_it_does_not_offer_is_refused_by_name(self, profile):
        with pytest.raises(ConfigurationError, match="offers: discrete_navigation"):
            make_controller(profile, "planar_delta", PERIOD)
