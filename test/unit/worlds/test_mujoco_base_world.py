"""A base in the embedded world: driving, contacts, teleporting and odometry."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from robocontrast_ros.domain import Pose, RobotState
from robocontrast_ros.images.rendering import Camera
from robocontrast_ros.objects.frames import compose
from robocontrast_ros.robots.commands import JointTrajectoryCommand, TwistCommand
from robocontrast_ros.robots.controllers.protocol import ControlStep
from robocontrast_ros.robots.description import Transform
from robocontrast_ros.robots.kinds import make_controller, make_state_estimator
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.worlds.mujoco.entities import Category, EntityState, NotMovable, ResetScope, Twist
from robocontrast_ros.worlds.mujoco.sensors import Contacts, JointState, Odometry
from robocontrast_ros.worlds.mujoco.world import World

PROFILE = load_profile("locobot")
SPACE = PROFILE.action_spaces.discrete_navigation
RADIUS = PROFILE.body.radius
STEP, PERIOD = 0.005, 0.1
CONTROL = round(PERIOD / STEP)
START = Pose.planar(2.0, 1.5, 0.4)
FLOOR = """<mujoco>
  <option integrator="implicitfast" cone="elliptic"/>
  <worldbody>
    <geom name="floor" type="plane" size="10 10 0.1" rgba="0.8 0.8 0.8 1"/>
    <site name="robot_start" pos="1 2 0" euler="0 0 90"/>
    <body name="wall"><geom type="box" size="0.05 5 1" pos="9 0 1"/></body>
  </worldbody>
</mujoco>"""
CRATE = (
    '<mujoco><worldbody><body mocap="true"><geom type="box" size=".3 .3 .4" pos="0 0 .4" rgba="1 0 0 1"/>'
    "</body></worldbody></mujoco>"
)


@pytest.fixture(scope="module")
def floor(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("world") / "floor.xml"
    path.write_text(FLOOR)
    return str(path)


def make_world(floor: str, *cameras: Camera, step: float = STEP) -> World:
    return World(PROFILE, floor, cameras=cameras, physics_step=step)


@pytest.fixture
def world(floor) -> World:
    return make_world(floor)


class Driver:
    """Drives a world's base by actions, on what its odometry says."""

    def __init__(self, world: World, start: Pose = START, control: int = CONTROL) -> None:
        self.world, self._control = world, control
        self._estimator = make_state_estimator(PROFILE)
        self.controller = make_controller(PROFILE, "discrete_navigation", PERIOD)
        world.set_entity_state("locobot", EntityState(start))
        self._estimator.begin(start)
        world.step(control)
        self.controller.reset(self.state())

    def state(self) -> RobotState:
        return self._estimator.update(self.world.reading())

    def act(self, action: int) -> list[ControlStep]:
        state, steps = self.state(), []
        self.controller.begin((action,), state)
        while (step := self.controller.step(state)) is not None:
            steps.append(step)
            self.world.apply_command(step.command)
            self.world.step(self._control)
            state = self.state()
        return steps


def truth(world: World) -> Pose:
    return world.entity_state("locobot").pose


def turned(pose: Pose, before: Pose) -> float:
    return math.remainder(pose.yaw - before.yaw, math.tau)


def tilt(pose: Pose) -> float:
    x, y, _, _ = pose.orientation
    return math.acos(min(1.0, 1.0 - 2.0 * (x * x + y * y)))


def everything(world: World) -> tuple:
    states = [world.entity_state(name) for name in world.entities()]
    return world.joint_state(), world.reading().pose, world.touched(), *states


# -- driving ------------------------------------------------------------------------------------------


def test_the_base_stands_where_the_world_says_at_rest_and_upright(world):
    world.step(200)
    pose = truth(world)
    assert pose.position == pytest.approx((1.0, 2.0, 0.0), abs=1e-3)
    assert pose.yaw == pytest.approx(math.pi / 2, abs=1e-3)
    assert tilt(pose) < math.radians(0.3)
    assert world.tool_pose() == pose
    assert world.touched() == (), "the floor is no entity"


def test_a_start_position_comes_before_what_the_world_says(floor):
    world = World(PROFILE, floor, (3.0, 1.0, 0.0), physics_step=STEP)
    assert truth(world) == Pose.planar(3.0, 1.0)
    world.step(10)
    world.reset()
    assert truth(world) == Pose.planar(3.0, 1.0)


@pytest.mark.parametrize("step", [0.002, 0.004, 0.005, 0.01])
def test_each_action_is_true_to_1_cm_and_1_degree_at_every_physics_step(floor, step):
    driver = Driver(make_world(floor, step=step), control=round(PERIOD / step))
    for action in [1, 2, 2, 1, 3, 1, 1, 2, 3, 3]:
        before = truth(driver.world)
        assert not any(s.clamped for s in driver.act(action))
        after = truth(driver.world)
        way, angle = (SPACE.distance, 0.0) if action == 1 else (0.0, SPACE.angle * (1 if action == 2 else -1))
        assert math.dist(after.xy, before.xy) == pytest.approx(way, abs=0.01)
        assert math.degrees(turned(after, before) - angle) == pytest.approx(0.0, abs=1.0)


def test_a_square_of_two_metres_leads_back_to_where_it_began(world):
    driver = Driver(world)
    start = truth(world)
    for _ in range(4):
        for action in [1] * 4 + [2] * 3:
            assert not any(s.clamped for s in driver.act(action))
    end = truth(world)
    assert math.dist(end.xy, start.xy) < 0.02
    assert math.degrees(abs(turned(end, start))) < 1.0
    assert tilt(end) < math.radians(0.3)


def test_odometry_is_near_the_truth_but_is_not_the_truth(world):
    driver = Driver(world)
    for _ in range(8):
        driver.act(1)
    believed, true = driver.state().pose, truth(world)
    assert 1e-4 < math.dist(believed.xy, true.xy) < 0.03
    assert math.degrees(abs(turned(believed, true))) < 0.5


def test_the_base_follows_a_twist_within_the_limits_of_its_driver(world):
    limits = PROFILE.limits
    world.set_entity_state("locobot", EntityState(START))
    speeds = []
    for _ in range(40):
        world.apply_command(TwistCommand(5.0, 0.0))
        world.step(CONTROL)
        speeds.append(math.hypot(*world.entity_state("locobot").twist.linear[:2]))
    assert speeds[-1] == pytest.approx(limits.linear_speed, rel=0.01)
    assert max(np.diff(speeds)) <= limits.linear_acceleration * PERIOD * 1.1
    assert world.touched() == ()


def test_the_base_stops_by_itself_when_commands_end(world):
    world.apply_command(TwistCommand(0.3, 0.0))
    world.step(round(PROFILE.command.timeout / STEP))
    assert world.entity_state("locobot").twist.linear[1] == pytest.approx(0.3, abs=0.01)
    world.step(round(2.0 / STEP))
    assert world.entity_state("locobot").twist.linear == pytest.approx((0.0, 0.0, 0.0), abs=2e-3)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (TwistCommand(math.nan, 0.0), "expected finite numbers"),
        (TwistCommand(0.0, math.inf), "expected finite numbers"),
        (JointTrajectoryCommand(("a",), (0.0,), 0.1), "'locobot' follows twists"),
    ],
    ids=str,
)
def test_a_command_that_does_not_fit_is_refused_and_changes_nothing(world, command, message):
    world.step(50)
    before = truth(world)
    with pytest.raises(ValueError, match=message):
        world.apply_command(command)
    world.step(CONTROL)
    assert math.dist(truth(world).xy, before.xy) < 1e-4


def test_an_arm_does_not_follow_twists():
    model = "package://robocontrast_ros/models/language_table/world.xml"
    with pytest.raises(ValueError, match="'franka' follows joint trajectories, not TwistCommand"):
        World(load_profile("franka"), model).apply_command(TwistCommand())


# -- things in the way --------------------------------------------------------------------------------


def test_a_base_before_a_box_is_blocked_says_how_far_it_came_and_names_what_it_touches(world):
    world.spawn("crate", Pose.planar(2.0, 0.0), resource=CRATE)
    driver = Driver(world, Pose.planar(1.0, 0.0, 0.0))
    assert not any(s.clamped for s in driver.act(1) + driver.act(1))
    assert world.touched() == ()
    *_, last = driver.act(1)
    assert re.fullmatch(r"blocked: moved 0.0[23] of 0.25 m", *last.reasons)
    pose = truth(world)
    assert pose.position[0] + RADIUS == pytest.approx(1.7, abs=0.005)
    assert tilt(pose) < math.radians(0.5)
    assert world.touched() == ("crate",)
    assert world.entity_state("crate").pose == Pose.planar(2.0, 0.0), "a person moves it, the robot does not"
    driver.act(2)
    for _ in range(5):
        driver.act(2)
    driver.act(1)
    assert world.touched() == (), "it has turned round and left"


@pytest.mark.parametrize("angle", [0.0, 0.4, 0.8])
def test_pushing_at_full_speed_moves_nothing_tips_nothing_and_tunnels_nowhere(world, angle):
    world.spawn("crate", Pose.planar(2.0, 0.0), resource=CRATE)
    start = Pose.planar(2.0 - math.cos(angle), -math.sin(angle), angle)
    world.set_entity_state("locobot", EntityState(start))
    for _ in range(80):
        world.apply_command(TwistCommand(PROFILE.limits.linear_speed, 0.0))
        world.step(CONTROL)
        pose = truth(world)
        nearest = [
            min(max(value, centre - 0.3), centre + 0.3) for value, centre in zip(pose.xy, (2.0, 0.0), strict=True)
        ]
        assert math.dist(pose.xy, nearest) > RADIUS - 0.003
        assert tilt(pose) < math.radians(1.0)
        assert abs(pose.position[2]) < 0.002
    assert world.entity_state("crate").pose == Pose.planar(2.0, 0.0)


@pytest.mark.parametrize("beside", [0.25, 0.3, 0.35, 0.4, 0.45])
def test_it_does_not_sink_into_the_corner_of_a_box(world, beside):
    world.spawn("crate", Pose.planar(2.0, 0.0), resource=CRATE)
    world.set_entity_state("locobot", EntityState(Pose.planar(1.2, beside, 0.0)))
    for _ in range(40):
        world.apply_command(TwistCommand(0.4, 0.0))
        world.step(CONTROL)
        x, y = truth(world).xy
        nearest = min(max(x, 1.7), 2.3), min(max(y, -0.3), 0.3)
        assert math.dist((x, y), nearest) > RADIUS - 0.003
        assert tilt(truth(world)) < math.radians(1.0)
    assert world.entity_state("crate").pose == Pose.planar(2.0, 0.0)


def test_a_base_that_leans_on_a_wall_can_turn_away_from_it(world):
    world.spawn("crate", Pose.planar(2.0, 0.0), resource=CRATE)
    driver = Driver(world, Pose.planar(1.4, 0.0, 0.3))
    assert driver.act(1)[-1].clamped
    for _ in range(4):
        assert not any(s.clamped for s in driver.act(2))
    assert not any(s.clamped for s in driver.act(1))


def test_wheels_that_slip_are_not_noticed(floor):
    """On ice odometry goes on where the base does not: it is no ground truth."""
    wheels = PROFILE.wheels.__class__(**{**PROFILE.wheels.__dict__, "friction": 0.02})
    profile = PROFILE.__class__(**{**PROFILE.__dict__, "wheels": wheels})
    world = World(profile, floor, physics_step=STEP)
    world.spawn("crate", Pose.planar(2.0, 0.0), resource=CRATE)
    world.set_entity_state("locobot", EntityState(Pose.planar(1.5, 0.0)))
    for _ in range(30):
        world.apply_command(TwistCommand(0.3, 0.0))
        world.step(CONTROL)
    assert truth(world).position[0] < 1.53
    assert world.reading().pose.position[0] > 0.5


# -- moving things by hand ----------------------------------------------------------------------------


@examples(30)
@given(x=st.floats(-5.0, 5.0), y=st.floats(-5.0, 5.0), yaw=st.floats(-3.1, 3.1))
def test_what_is_moved_by_hand_is_read_back_to_the_last_bit_and_stays(hand, x, y, yaw):
    wanted = Pose.planar(x, y, yaw)
    hand.set_entity_state("crate", EntityState(wanted, Twist((1.0, 0.0, 0.0))))
    assert hand.entity_state("crate") == EntityState(wanted), "it has no velocity"
    hand.step(2)
    assert hand.entity_state("crate") == EntityState(wanted)


@pytest.fixture(scope="module")
def hand(floor) -> World:
    world = make_world(floor)
    world.spawn("crate", Pose.planar(4.0, 4.0), resource=CRATE)
    return world


def test_things_that_are_moved_by_hand_are_dynamic_and_the_robot_is_a_robot(world):
    world.spawn("crate", Pose.planar(3.0, 1.0), resource=CRATE)
    kinds = {name: world.category(name) for name in world.entities()}
    assert kinds == {
        "locobot": Category.ROBOT,
        "wall": Category.STATIC_OBJECT,
        "crate": Category.DYNAMIC_OBJECT,
    }
    with pytest.raises(NotMovable, match="'wall' is fixed"):
        world.set_entity_state("wall", EntityState(Pose()))


def test_they_stay_where_they_are_when_something_comes_or_goes_and_return_on_a_reset(world):
    world.spawn("a", Pose.planar(3.0, 1.0), resource=CRATE)
    world.spawn("z", Pose.planar(-3.0, 1.0, 0.3), resource=CRATE)
    world.set_entity_state("z", EntityState(Pose.planar(-3.5, 1.2, 1.0)))
    world.apply_command(TwistCommand(0.3, 0.2))
    world.step(100)
    before = everything(world)
    world.spawn("m", Pose.planar(0.0, -4.0), resource=CRATE)
    assert world.entity_state("z").pose == Pose.planar(-3.5, 1.2, 1.0)
    assert world.entity_state("m").pose == Pose.planar(0.0, -4.0)
    world.delete("m")
    assert everything(world) == before
    world.step(CONTROL)
    assert math.hypot(*world.entity_state("locobot").twist.linear[:2]) > 0.1, "it drives on"
    world.reset(ResetScope.STATE)
    assert world.entity_state("z").pose == Pose.planar(-3.0, 1.0, 0.3)
    assert truth(world).xy == (1.0, 2.0)


def test_a_base_that_is_teleported_stands_still_there_and_its_odometry_starts_anew(world):
    world.apply_command(TwistCommand(0.5, 0.5))
    world.step(200)
    assert world.reading().pose.xy != (0.0, 0.0)
    wanted = Pose.planar(-2.0, 0.5, -1.0)
    world.set_entity_state("locobot", EntityState(wanted))
    assert truth(world) == wanted
    assert world.reading().pose == Pose()
    world.step(200)
    assert truth(world).distance_to(wanted) < 1e-3
    assert abs(turned(truth(world), wanted)) < 1e-3
    assert world.reading().pose.distance_to(Pose()) < 1e-3


# -- sensors ------------------------------------------------------------------------------------------


def test_sensors_are_those_that_the_profile_names_and_agree_with_each_other(world):
    driver = Driver(world)
    driver.act(1)
    world.apply_command(TwistCommand(0.2, 0.3))
    world.step(4 * CONTROL)
    sensors = world.sensors()
    assert [sensor.topic for sensor in sensors] == [topic for topic, _ in PROFILE.driver_topics]
    odometry, joints, contacts, transforms = (sensor.value for sensor in sensors)
    assert isinstance(odometry, Odometry)
    assert odometry.pose == world.reading().pose
    assert odometry.linear == pytest.approx(0.12, abs=0.03)
    assert odometry.angular == pytest.approx(0.3, abs=0.01)
    assert isinstance(joints, JointState)
    assert joints.names == ("wheel_left_joint", "wheel_right_joint")
    assert joints.velocities[1] > joints.velocities[0], "it turns left"
    assert contacts == Contacts(())
    assert transforms.transforms[0] == Transform("locobot/odom", "locobot/base_footprint", odometry.pose)
    wheels = [(frame.frame_id, frame.child_frame) for frame in transforms.transforms[1:]]
    assert wheels == [("locobot/base_link", f"locobot/wheel_{side}_link") for side in ("left", "right")]
    left = transforms.transforms[1].pose
    assert left.position == pytest.approx((0.0, 0.115, 0.035))
    assert math.cos(joints.positions[0]) == pytest.approx(1.0 - 2.0 * left.orientation[1] ** 2)
    assert [s.frame_id for s in sensors] == ["locobot/odom", "locobot/base_footprint", "", ""]


def test_latched_sensors_say_where_the_camera_is(floor):
    world = make_world(floor, Camera("camera", 64, 48))
    description, static = world.latched_sensors()
    assert (description.topic, static.topic) == ("robot_description", "tf_static")
    frames = {frame.child_frame: frame for frame in static.value.transforms}
    place, frame = Pose(), PROFILE.cameras[0].frame_id
    while frame != "locobot/base_footprint":
        place, frame = compose(frames[frame].pose, place), frames[frame].frame_id
    world.set_entity_state("locobot", EntityState(Pose()))
    seen = world.cameras.pose("camera")
    assert seen.position == pytest.approx(place.position, abs=1e-9)
    assert np.abs(np.dot(seen.orientation, place.orientation)) == pytest.approx(1.0)


def test_contacts_are_those_of_the_last_step_call(world):
    world.spawn("crate", Pose.planar(2.0, 0.0), resource=CRATE)
    world.set_entity_state("locobot", EntityState(Pose.planar(2.0 - 0.3 - RADIUS - 0.02, 0.0)))
    world.apply_command(TwistCommand(0.3, 0.0))
    world.step(100)
    assert world.touched() == ("crate",)
    world.apply_command(TwistCommand(-0.3, 0.0))
    world.step(400)
    assert world.touched() == ("crate",), "it did at the beginning of these steps"
    world.step(CONTROL)
    assert world.touched() == ()


# -- camera -------------------------------------------------------------------------------------------


def test_the_camera_sees_a_box_that_is_put_before_it(floor):
    world = make_world(floor, Camera("camera", 160, 120))
    try:
        world.set_entity_state("locobot", EntityState(Pose.planar(0.0, 0.0, 0.0)))
        empty = world.cameras.render("camera").astype(int)
        world.spawn("crate", Pose.planar(2.5, 0.6), resource=CRATE)
        image = world.cameras.render("camera").astype(int)
        seen = np.argwhere(np.abs(image - empty).max(axis=2) > 60)
        assert len(seen) > 200
        red, green, blue = image[tuple(seen.T)].mean(axis=0)
        assert red > 2 * max(green, blue)
        assert seen[:, 1].mean() < 80, "it is to the left"
        world.set_entity_state("locobot", EntityState(Pose.planar(0.0, 0.0, math.pi)))
        behind = world.cameras.render("camera").astype(int)
        assert not ((behind[..., 0] > 120) & (behind[..., 1] < 60)).any(), "it is behind the robot now"
    finally:
        world.close()


def test_the_view_keeps_its_width_at_every_resolution(floor):
    world = make_world(floor, Camera("camera", 224, 224))
    info = world.cameras.info("camera")
    assert 2 * math.atan(112 / info.k[0]) == pytest.approx(PROFILE.mount.horizontal_view, rel=1e-6)


# -- determinism --------------------------------------------------------------------------------------


def episode(world: World, actions) -> list[tuple]:
    driver = Driver(world, Pose.planar(1.0, 0.1, 0.3))
    states = []
    for action in actions:
        driver.act(action)
        states.append(everything(world))
    return states


def test_the_same_calls_give_the_same_states_to_the_last_bit_whatever_happened_before(floor, world):
    actions = [1, 1, 1, 2, 1, 3, 3, 1, 1]
    world.spawn("crate", Pose.planar(2.0, 0.5), resource=CRATE)
    world.spawn("lamp", Pose.planar(1.0, 2.0), resource=CRATE)
    expected = episode(world, actions)
    assert any(touched for _, _, touched, *_ in expected), "it runs into something"

    assert episode(world, actions) == expected, "after it was put back"

    world.apply_command(TwistCommand(0.7, -1.0))
    world.step(333)
    world.reset(ResetScope.STATE)
    assert episode(world, actions) == expected, "after a reset that follows another history"

    other = make_world(floor)
    other.spawn("lamp", Pose.planar(4.0, 2.0), resource=CRATE)
    other.step(7)
    other.spawn("crate", Pose.planar(2.0, 0.5), resource=CRATE)
    other.set_entity_state("lamp", EntityState(Pose.planar(1.0, 2.0)))
    assert episode(other, actions) == expected, "in another world, spawned in another order"
