"""The embedded world: physics, entities and cameras, on the real models."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.domain import Pose, RobotState
from robocontrast_ros.domain.rotations import between, from_vector
from robocontrast_ros.images.rendering import Camera
from robocontrast_ros.objects.frames import compose, rotate
from robocontrast_ros.robots.commands import JointTrajectoryCommand
from robocontrast_ros.robots.kinds import make_controller
from robocontrast_ros.robots.kinematics import Kinematics, Unreachable
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.worlds.mujoco.entities import (
    Category,
    EntityState,
    InvalidModel,
    InvalidName,
    NameNotUnique,
    NotMovable,
    ResetScope,
    ResourceNotFound,
    Twist,
    UnknownEntity,
)
from robocontrast_ros.worlds.mujoco.world import World

MODELS = "package://robocontrast_ros/models/language_table"
WORLD = f"{MODELS}/world.xml"
BLOCKS = (
    "red_moon",
    "red_pentagon",
    "blue_moon",
    "blue_cube",
    "green_cube",
    "green_star",
    "yellow_star",
    "yellow_pentagon",
)
START = (0.2, 0.0, 0.01)
CONTROL = 50


def uri(block: str) -> str:
    return f"{MODELS}/{block}.xml"


def tilt(pose: Pose) -> float:
    x, y, _, _ = pose.orientation
    return math.acos(min(1.0, 1.0 - 2.0 * (x * x + y * y)))


def spread(world: World) -> None:
    """Put all eight blocks on the board, well apart."""
    for index, block in enumerate(BLOCKS):
        pose = Pose.planar(0.3 + 0.1 * (index // 4), -0.21 + 0.14 * (index % 4), 0.7 * index)
        world.spawn(block, pose, uri=uri(block))


def arm_state(world: World) -> RobotState:
    joints = world.joint_state()
    return RobotState(world.time_ns, world.tool_pose(), joints.names, joints.positions)


def command(world: World, controller, delta):
    """Return what a displacement of the tool becomes in its one control period."""
    state = arm_state(world)
    controller.begin(delta, state)
    return controller.step(state)


def everything(world: World) -> tuple:
    return (world.joint_state(), *(world.entity_state(name) for name in world.entities()))


@pytest.fixture(scope="module", params=["franka", "ur5e"])
def any_world(request) -> World:
    return World(load_profile(request.param), WORLD, START)


@pytest.fixture(scope="module")
def franka():
    return load_profile("franka")


@pytest.fixture
def world(franka) -> World:
    return World(franka, WORLD, START)


@pytest.fixture(scope="module")
def pictures(franka):
    world = World(franka, WORLD, START, (Camera("board"), Camera("scene", 224, 224)))
    yield world
    world.close()


def test_mujoco_does_not_measure_its_steps():
    model = mujoco.MjModel.from_xml_string("<mujoco/>")
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data)
    step = data.timer[mujoco.mjtTimer.mjTIMER_STEP]
    assert (step.number, step.duration) == (1, 0.0)


# -- robot --------------------------------------------------------------------------------------------


def test_the_tool_starts_at_the_start_position_at_rest(any_world):
    any_world.reset()
    assert any_world.tool_pose().position == pytest.approx(START, abs=5e-4)
    assert any_world.joint_state().velocities == (0.0,) * len(any_world.profile.joints)


def test_the_robot_holds_still_without_a_command(any_world):
    any_world.reset()
    any_world.step(500)
    assert any_world.tool_pose().position == pytest.approx(START, abs=1e-3)


def test_a_start_out_of_reach_is_refused(franka):
    with pytest.raises(Unreachable, match="cannot point down"):
        World(franka, WORLD, (3.0, 0.0, 0.01))


def test_commanded_deltas_add_up_to_the_motion_of_the_tool(any_world):
    any_world.reset(ResetScope.ALL)
    controller = make_controller(any_world.profile, "planar_delta", 0.1)
    controller.reset(arm_state(any_world))
    deltas = [(0.02, 0.01)] * 10 + [(0.0, -0.02)] * 10 + [(-0.01, 0.01)] * 10
    for delta in deltas:
        step = command(any_world, controller, delta)
        assert not step.clamped
        any_world.apply_command(step.command)
        any_world.step(CONTROL)
    expected = np.asarray(START[:2]) + np.sum(deltas, axis=0)
    x, y, z = any_world.tool_pose().position
    assert (x, y) == pytest.approx(expected, abs=2e-3)
    assert z == pytest.approx(any_world.profile.action_spaces.planar_delta.height, abs=1e-3)


def test_joint_positions_drive_the_arm_where_they_say_and_never_into_the_board(any_world):
    any_world.reset(ResetScope.ALL)
    profile = any_world.profile
    controller = make_controller(profile, "joint_positions", 0.1)
    controller.reset(arm_state(any_world))
    kinematics = Kinematics(profile)
    through_the_board = kinematics.posture((0.3, 0.1, -0.15))
    for _ in range(10):
        step = command(any_world, controller, through_the_board)
        any_world.apply_command(step.command)
        any_world.step(CONTROL)
        assert not any(profile.name in contact for contact in any_world.contacts())
    assert "the workspace ends there" in step.reasons
    above = kinematics.posture((0.3, 0.1, 0.1))
    while step.clamped:
        step = command(any_world, controller, above)
        any_world.apply_command(step.command)
        any_world.step(CONTROL)
    any_world.step(CONTROL)
    assert any_world.tool_pose().position == pytest.approx((0.3, 0.1, 0.1), abs=2e-3)


def test_joints_arrive_on_time_and_hold_the_last_point(world):
    joints = world.joint_state()
    goal = (joints.positions[0] + 0.2, *joints.positions[1:])
    # In the reverse order: names decide, not places.
    world.apply_command(JointTrajectoryCommand(joints.names[::-1], goal[::-1], 0.5))
    world.step(125)
    half = [(a + b) / 2 for a, b in zip(joints.positions, goal, strict=True)]
    assert world.joint_state().positions == pytest.approx(half, abs=5e-3)
    world.step(250)
    assert world.joint_state().positions == pytest.approx(goal, abs=1e-3)


@pytest.mark.parametrize(
    "change",
    [
        {"names": ("fr3_joint1",)},
        {"names": ("other",) * 7},
        {"positions": (math.nan,) * 7},
        {"positions": (0.0,) * 6},
        {"duration": -1.0},
    ],
    ids=str,
)
def test_a_command_that_does_not_fit_is_refused_and_changes_nothing(world, change):
    joints = world.joint_state()
    good = {"names": joints.names, "positions": joints.positions, "duration": 0.1}
    with pytest.raises(ValueError, match="joint trajectory: got"):
        world.apply_command(JointTrajectoryCommand(**(good | change)))
    world.step(CONTROL)
    assert world.joint_state().positions == pytest.approx(joints.positions, abs=1e-3)


# -- entities -----------------------------------------------------------------------------------------


def test_entities_are_the_robot_the_furniture_and_what_was_spawned(world):
    world.spawn("block", Pose.planar(0.4, 0.0), uri=uri("red_moon"))
    assert world.entities() == ("franka", "table", "board", "block")
    kinds = [world.category(name) for name in world.entities()]
    assert kinds == [Category.ROBOT, Category.STATIC_OBJECT, Category.STATIC_OBJECT, Category.DYNAMIC_OBJECT]
    assert world.source("block") == uri("red_moon")


@pytest.mark.parametrize("block", BLOCKS)
def test_each_block_rests_where_it_is_put_and_is_about_4_cm_wide(world, block):
    world.spawn("block", Pose.planar(0.4, 0.1, 0.5), uri=uri(block))
    world.step(250)
    state = world.entity_state("block")
    assert state.pose.position == pytest.approx((0.4, 0.1, 0.0), abs=5e-4)
    assert state.pose.yaw == pytest.approx(0.5, abs=1e-3)
    assert tilt(state.pose) < 1e-3
    assert state.twist.linear == pytest.approx((0.0, 0.0, 0.0), abs=1e-4)
    box = world.bounds("block")
    assert box.lower[2] == pytest.approx(0.0, abs=1e-6)
    for axis in (0, 1):
        assert 0.03 < box.upper[axis] - box.lower[axis] < 0.056


@pytest.fixture(scope="module")
def star(franka) -> World:
    world = World(franka, WORLD, START)
    world.spawn("star", Pose.planar(0.4, 0.2), uri=uri("green_star"))
    return world


@examples(30)
@given(x=st.floats(0.2, 0.55), y=st.floats(0.15, 0.25), yaw=st.floats(-3.1, 3.1), speed=st.floats(-0.5, 0.5))
def test_a_state_that_was_set_is_read_back_to_the_last_bit(star, x, y, yaw, speed):
    wanted = EntityState(Pose.planar(x, y, yaw, 0.2), Twist((speed, 0.0, 0.1), (0.0, 0.0, speed)))
    star.set_entity_state("star", wanted)
    state = star.entity_state("star")
    assert state.pose == wanted.pose
    assert state.twist.linear == pytest.approx(wanted.twist.linear, abs=1e-9)
    assert state.twist.angular == pytest.approx(wanted.twist.angular, abs=1e-9)
    star.step(1)
    assert star.entity_state("star").pose.position[0] == pytest.approx(x + 0.002 * speed, abs=1e-6)


def test_others_go_on_as_they_were_when_something_comes_or_goes(world):
    world.spawn("a", Pose.planar(0.3, 0.1), uri=uri("red_moon"))
    world.spawn("z", Pose.planar(0.4, 0.1, 1.0, 0.05), uri=uri("blue_cube"))
    world.step(20)  # "z" is falling
    before = everything(world)
    world.spawn("m", Pose.planar(0.5, -0.1), uri=uri("green_star"))
    assert everything(world)[: len(before) - 1] == before[:-1]
    assert world.entity_state("z") == before[-1]
    world.delete("m")
    assert everything(world) == before


def test_what_comes_and_goes_at_once_is_as_if_it_came_and_went_one_after_another(franka):
    def changes(world):
        world.delete("a")
        world.spawn("b", Pose.planar(0.4, 0.1, 1.0, 0.05), uri=uri("blue_cube"))
        world.spawn("m", Pose.planar(0.5, -0.1), uri=uri("green_star"))
        world.delete("b")
        world.spawn("b", Pose.planar(0.4, 0.12, 1.0, 0.05), uri=uri("blue_moon"))

    ends = []
    for together in (False, True):
        world = World(franka, WORLD, START)
        world.spawn("a", Pose.planar(0.3, 0.1), uri=uri("red_moon"))
        world.spawn("z", Pose.planar(0.42, 0.14, 1.0, 0.1), uri=uri("blue_cube"))
        world.step(20)
        if together:
            with world.at_once():
                changes(world)
        else:
            changes(world)
        world.step(100)
        ends.append((world.entities(), everything(world)))
    assert ends[0] == ends[1]


def test_what_cannot_come_leaves_what_came_at_once_with_it(world):
    with world.at_once():
        world.spawn("a", Pose.planar(0.3, 0.1), uri=uri("red_moon"))
        with pytest.raises(NameNotUnique, match="'a' is taken"):
            world.spawn("a", Pose.planar(0.4, 0.1), uri=uri("red_moon"))
    assert world.entities() == ("franka", "table", "board", "a")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda w: w.entity_state("nobody"),
            UnknownEntity,
            "no entity 'nobody'; there are: franka, table, board",
        ),
        (lambda w: w.delete("nobody"), UnknownEntity, "nobody"),
        (lambda w: w.delete("board"), NotMovable, "belongs to the world"),
        (lambda w: w.set_entity_state("board", EntityState(Pose())), NotMovable, "fixed"),
        (lambda w: w.set_entity_state("franka", EntityState(Pose())), NotMovable, "fixed"),
        (lambda w: w.spawn("a b", Pose(), uri=uri("red_moon")), InvalidName, "got 'a b'"),
        (lambda w: w.spawn("board", Pose(), uri=uri("red_moon")), NameNotUnique, "'board' is taken"),
        (
            lambda w: w.spawn("x", Pose(), uri=f"{MODELS}/none.xml"),
            ResourceNotFound,
            "none.xml: No such file",
        ),
        (lambda w: w.spawn("x", Pose(), resource="<robot/>"), InvalidModel, "resource string of 'x'"),
        (
            lambda w: w.spawn("x", Pose(), resource="<mujoco/>"),
            InvalidModel,
            "got 0 top-level bodies, expected one",
        ),
        (
            lambda w: w.spawn(
                "x",
                Pose(),
                resource="<mujoco><worldbody><body><freejoint/></body></worldbody></mujoco>",
            ),
            InvalidModel,
            "mass",
        ),
    ],
)
def test_a_request_that_cannot_be_served_says_why_and_changes_nothing(world, call, error, message):
    before = everything(world)
    with pytest.raises(error, match=message):
        call(world)
    assert everything(world) == before
    world.step(1)


def test_a_resource_string_without_a_free_joint_is_a_fixed_obstacle(world):
    pillar = '<mujoco><worldbody><body><geom type="box" size=".02 .02 .1"/></body></worldbody></mujoco>'
    world.spawn("pillar", Pose.planar(0.3, 0.1, 0.3, 0.1), resource=pillar)
    world.step(10)
    assert world.category("pillar") is Category.STATIC_OBJECT
    assert world.entity_state("pillar").pose.position == pytest.approx((0.3, 0.1, 0.1))
    assert world.world_bounds("pillar").upper[2] == pytest.approx(0.2)


def test_a_world_that_is_none_is_refused(franka, tmp_path):
    with pytest.raises(ResourceNotFound, match=r"nowhere\.xml"):
        World(franka, str(tmp_path / "nowhere.xml"))
    (tmp_path / "bad.xml").write_text("<mujoco><worldbody><lamp/></worldbody></mujoco>")
    with pytest.raises(InvalidModel, match=r"bad\.xml"):
        World(franka, str(tmp_path / "bad.xml"))
    with pytest.raises(InvalidModel, match="no camera 'roof'; there are: board, scene"):
        World(franka, WORLD, cameras=(Camera("roof"),))


# -- physics ------------------------------------------------------------------------------------------


def push(world: World, controller, deltas) -> list[float]:
    """Carry out deltas of the tool; return the greatest tilt of the block meanwhile."""
    tilts = []
    for delta in deltas:
        world.apply_command(command(world, controller, delta).command)
        world.step(CONTROL)
        tilts.append(tilt(world.entity_state("block").pose))
    return tilts


@pytest.mark.parametrize("block", BLOCKS)
def test_a_pushed_block_moves_with_the_tool_stays_flat_and_stops_with_it(any_world, block):
    any_world.reset(ResetScope.ALL)
    any_world.spawn("block", Pose.planar(0.26, 0.0, 0.4), uri=uri(block))
    controller = make_controller(any_world.profile, "planar_delta", 0.1)
    controller.reset(arm_state(any_world))
    tilts = push(any_world, controller, [(0.02, 0.0)] * 6)
    pushed = any_world.entity_state("block").pose
    assert pushed.position[0] > 0.29
    assert max(tilts) < math.radians(4)
    assert (block_and_robot := tuple(sorted(("block", any_world.profile.name)))) in any_world.contacts()
    any_world.apply_command(controller.hold(arm_state(any_world)))
    any_world.step(2 * CONTROL)
    at_rest = any_world.entity_state("block")
    assert pushed.distance_to(at_rest.pose) < 0.006
    assert at_rest.twist.linear == pytest.approx((0.0, 0.0, 0.0), abs=1e-3)
    push(any_world, controller, [(-0.02, 0.0)] * 2)
    any_world.step(1)
    assert block_and_robot not in any_world.contacts()


def test_a_block_pushes_another_and_both_contacts_are_reported(world):
    world.spawn("near", Pose.planar(0.25, 0.0), uri=uri("blue_cube"))
    world.spawn("far", Pose.planar(0.292, 0.0), uri=uri("red_moon"))
    controller = make_controller(world.profile, "planar_delta", 0.1)
    controller.reset(arm_state(world))
    seen = set()
    for _ in range(5):
        world.apply_command(command(world, controller, (0.02, 0.0)).command)
        world.step(CONTROL)
        seen |= world.contacts()
    assert {("far", "near"), ("franka", "near"), ("board", "near")} <= seen
    assert world.entity_state("far").pose.position[0] > 0.3


def test_the_hollow_of_a_moon_is_hollow(world):
    """A convex hull in its place would keep the post out."""
    post = '<mujoco><worldbody><body><geom type="cylinder" size=".004 .01"/></body></worldbody></mujoco>'
    world.spawn("moon", Pose.planar(0.4, 0.0), uri=uri("red_moon"))
    world.spawn("post", Pose.planar(0.4135, 0.0, 0.0, 0.02), resource=post)
    world.step(5)
    assert ("moon", "post") not in world.contacts()
    world.delete("post")
    world.spawn("post", Pose.planar(0.395, 0.0, 0.0, 0.02), resource=post)
    world.step(5)
    assert ("moon", "post") in world.contacts()


REST = 500
"""Physics steps after which a block that was left alone sleeps."""


def test_a_block_that_rests_stays_where_it_is_to_the_last_bit(world):
    spread(world)
    world.step(REST)
    before = [world.entity_state(block) for block in BLOCKS]
    world.step(REST)
    assert [world.entity_state(block) for block in BLOCKS] == before
    assert {state.twist for state in before} == {Twist()}


def test_a_block_that_rested_moves_when_the_tool_or_another_block_touches_it_as_one_that_did_not(world):
    def pushed(rested: int) -> tuple[float, float]:
        world.reset(ResetScope.SPAWNED)
        world.spawn("near", Pose.planar(0.25, 0.0), uri=uri("blue_cube"))
        world.spawn("far", Pose.planar(0.35, 0.0), uri=uri("green_star"))
        world.reset(ResetScope.STATE)
        world.step(rested)
        controller = make_controller(world.profile, "planar_delta", 0.1)
        controller.reset(arm_state(world))
        for _ in range(7):
            world.apply_command(command(world, controller, (0.02, 0.0)).command)
            world.step(CONTROL)
        return tuple(world.entity_state(name).pose.position[0] for name in ("near", "far"))

    near, far = pushed(REST)
    assert near > 0.32 and far > 0.36
    assert pushed(1) == pytest.approx((near, far), abs=5e-4)


def test_a_block_that_rested_falls_when_it_is_lifted_and_when_what_it_rested_on_is_taken_away(world):
    for height, name in ((0.0, "below"), (0.04, "above")):
        world.spawn(name, Pose.planar(0.4, 0.1, 0.0, height), uri=uri("blue_cube"))
    world.step(REST)
    assert world.entity_state("above").pose.position[2] == pytest.approx(0.038, abs=1e-3)
    world.set_entity_state("below", EntityState(Pose.planar(0.5, -0.1, 0.0, 0.05)))
    world.step(REST)
    for name in ("above", "below"):
        assert world.entity_state(name).pose.position[2] == pytest.approx(0.0, abs=1e-3)


# -- time and determinism -----------------------------------------------------------------------------


def test_time_counts_steps_without_rounding_and_goes_on_over_a_reset_of_the_state(world):
    world.step(12345)
    assert world.time_ns == 12345 * 2_000_000
    world.reset(ResetScope.STATE)
    assert world.time_ns == 12345 * 2_000_000
    world.reset(ResetScope.TIME)
    assert world.time_ns == 0


def test_a_reset_restores_what_its_scope_names_and_nothing_else(world):
    spread(world)
    start = everything(world)
    world.set_entity_state("red_moon", EntityState(Pose.planar(0.5, 0.25)))
    world.step(10)
    world.reset(ResetScope.STATE)
    assert everything(world) == start
    world.reset(ResetScope.SPAWNED)
    assert world.entities() == ("franka", "table", "board")
    assert world.time_ns > 0
    world.reset(ResetScope.DEFAULT)
    assert world.time_ns == 0


def episode(world: World, seed: int) -> list[tuple]:
    """Push about for a while; return every state on the way."""
    rng = np.random.default_rng(seed)
    controller = make_controller(world.profile, "planar_delta", 0.1)
    controller.reset(arm_state(world))
    states = []
    for _ in range(25):
        delta = rng.uniform((0.0, -0.01), (0.03, 0.03))
        world.apply_command(command(world, controller, delta).command)
        world.step(CONTROL)
        states.append((world.contacts(), *everything(world)))
    return states


def test_the_same_calls_give_the_same_states_to_the_last_bit_whatever_happened_before(franka, world):
    spread(world)
    expected = episode(world, 1)
    assert any(world.profile.name in pair for contacts, *_ in expected for pair in contacts)

    world.reset(ResetScope.STATE)
    assert episode(world, 1) == expected, "after a reset"

    episode(world, 2)
    world.reset(ResetScope.STATE)
    assert episode(world, 1) == expected, "after a reset that follows another history"

    other = World(franka, WORLD, START)
    for index in reversed(range(len(BLOCKS))):
        pose = Pose.planar(0.3 + 0.1 * (index // 4), -0.21 + 0.14 * (index % 4), 0.7 * index)
        other.spawn(BLOCKS[index], pose, uri=uri(BLOCKS[index]))
        other.spawn("passing_by", Pose.planar(0.5, 0.28), uri=uri("red_moon"))
        other.step(3)
        other.delete("passing_by")
    other.reset(ResetScope.STATE)
    assert episode(other, 1) == expected, "in another world, spawned in another order"


# -- cameras ------------------------------------------------------------------------------------------


def test_images_have_the_resolution_that_was_asked_for_and_show_what_is_there(pictures):
    pictures.reset(ResetScope.ALL)
    empty = pictures.cameras.render("board")
    assert empty.shape == (180, 320, 3)
    assert empty.dtype == np.uint8
    assert pictures.cameras.render("scene").shape == (224, 224, 3)
    pictures.spawn("block", Pose.planar(0.45, 0.1), uri=uri("red_pentagon"))
    changed = np.argwhere((pictures.cameras.render("board") != empty).any(axis=2))
    assert len(changed) > 50


@pytest.mark.parametrize("offset", [None, Pose((-0.03, 0.02, -0.05), from_vector((-0.03, -0.06, 0.05)))])
@pytest.mark.parametrize("place", [(0.45, 0.15), (0.55, -0.25), (0.3, 0.1)])
def test_camera_info_and_pose_project_a_block_to_where_it_is_seen(pictures, place, offset):
    pictures.reset(ResetScope.ALL)
    pictures.cameras.move({} if offset is None else {"board": offset})
    empty = pictures.cameras.render("board").astype(int)
    red = '<geom type="box" size=".015 .015 .001" rgba="1 0 0 1"/>'
    flat = f"<mujoco><worldbody><body>{red}</body></worldbody></mujoco>"
    pictures.spawn("marker", Pose.planar(*place), resource=flat)
    seen = np.argwhere(np.abs(pictures.cameras.render("board").astype(int) - empty).max(axis=2) > 30)
    row, column = seen.mean(axis=0)

    camera = pictures.cameras.pose("board")
    x, y, z, w = camera.orientation
    rotation = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
    u, v, depth = np.reshape(pictures.cameras.info("board").k, (3, 3)) @ (
        rotation.T @ (np.array([*place, 0.0]) - camera.position)
    )
    assert (u / depth, v / depth) == pytest.approx((column, row), abs=0.8)


def test_a_moved_camera_stands_where_it_was_moved_to_whatever_comes_or_goes_until_a_reset(pictures):
    pictures.reset(ResetScope.ALL)
    place, states = pictures.cameras.pose("board"), everything(pictures)
    image, other = pictures.cameras.render("board"), pictures.cameras.render("scene")
    offset = Pose((0.03, -0.02, 0.05), from_vector((0.0, 0.1, -0.05)))
    for repeat in range(2):
        pictures.cameras.move({"board": offset})
        moved, wanted = pictures.cameras.pose("board"), compose(place, offset)
        assert moved.position == pytest.approx(wanted.position, abs=1e-12), repeat
        assert between(moved.orientation, wanted.orientation) == pytest.approx((0, 0, 0), abs=1e-7)
    assert (pictures.cameras.render("board") != image).any(axis=2).mean() > 0.3
    assert np.array_equal(pictures.cameras.render("scene"), other)
    assert everything(pictures) == states, "the physics knows no cameras"
    pictures.spawn("block", Pose.planar(0.5, 0.1), uri=uri("blue_cube"))
    assert pictures.cameras.pose("board") == moved
    with pytest.raises(InvalidModel, match=r"no camera 'boards'; there are: .*board"):
        pictures.cameras.move({"scene": offset, "boards": offset})
    assert pictures.cameras.pose("board") == moved
    pictures.reset(ResetScope.STATE)
    pictures.delete("block")
    assert pictures.cameras.pose("board") == place
    assert np.array_equal(pictures.cameras.render("board"), image)


@pytest.mark.parametrize("robot", ["franka_hand", "ur5e_2f85"])
def test_a_moved_camera_on_a_wrist_keeps_to_the_wrist(robot):
    profile = load_profile(robot)
    world = World(profile, "package://robocontrast_ros/models/tabletop.xml", cameras=(Camera("wrist", 64, 48),))
    offset = Pose((0.0, 0.05, -0.03), from_vector((0.0, 0.1, -0.05)))

    def in_the_tool():
        """Return the camera's position in the frame of the tool [m], and where the tool is."""
        tool, camera = world.tool_pose(), world.cameras.pose("wrist")
        x, y, z, w = tool.orientation
        return rotate((-x, -y, -z, w), np.subtract(camera.position, tool.position)), tool

    place, start = in_the_tool()
    world.cameras.move({"wrist": offset})
    moved, _ = in_the_tool()
    assert math.dist(moved, place) == pytest.approx(math.dist(offset.position, (0, 0, 0)))
    joints = np.add(profile.home, 0.2)
    world.apply_command(JointTrajectoryCommand(profile.joint_names, tuple(joints.tolist()), 0.5))
    world.step(300)
    later, tool = in_the_tool()
    assert tool.distance_to(start) > 0.05
    assert later == pytest.approx(moved, abs=1e-9)


def test_the_camera_of_language_table_sees_the_board_upright(pictures):
    info = pictures.cameras.info("board")
    assert info.k[0] == pytest.approx(0.8 * info.width, rel=1e-3)
    camera = pictures.cameras.pose("board")
    assert camera.position == pytest.approx((0.75, 0.0, 0.5))
    pictures.reset(ResetScope.ALL)
    empty = pictures.cameras.render("board").astype(int)
    rows = {}
    for name, place in {"top": (0.3, 0.2), "bottom": (0.5, 0.2), "left": (0.5, -0.2)}.items():
        pictures.spawn(name, Pose.planar(*place), uri=uri("blue_cube"))
        rows[name] = np.argwhere(np.abs(pictures.cameras.render("board").astype(int) - empty).max(axis=2) > 30).mean(
            axis=0
        )
        pictures.delete(name)
    assert rows["top"][0] < rows["bottom"][0], "small x is up"
    assert rows["left"][1] < rows["bottom"][1], "small y is left"


@pytest.mark.parametrize("block", BLOCKS)
def test_each_block_shows_its_colour(pictures, block):
    pictures.reset(ResetScope.ALL)
    empty = pictures.cameras.render("board").astype(int)
    pictures.spawn("block", Pose.planar(0.5, 0.1), uri=uri(block))
    image = pictures.cameras.render("board").astype(int)
    red, green, blue = image[np.abs(image - empty).max(axis=2) > 30].mean(axis=0)
    colour = block.split("_")[0]
    assert {
        "red": red > 2 * max(green, blue),
        "green": green > 1.5 * max(red, blue),
        "blue": blue > 1.5 * max(red, green),
        "yellow": min(red, green) > 1.5 * blue,
    }[colour]


def test_the_same_scene_gives_the_same_pixels_whatever_was_drawn_before(pictures, franka):
    pictures.reset(ResetScope.ALL)
    pictures.spawn("block", Pose.planar(0.5, 0.1), uri=uri("yellow_star"))
    other = World(franka, WORLD, START, (Camera("board"),))
    try:
        other.spawn("block", Pose.planar(0.5, 0.1), uri=uri("yellow_star"))
        assert np.array_equal(other.cameras.render("board"), pictures.cameras.render("board"))
    finally:
        other.close()


def test_model_files_are_where_their_uris_say():
    assert all(resolve_uri(uri(block)).is_file() for block in BLOCKS)
