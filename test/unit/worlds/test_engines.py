"""A second engine: things fall, rest, slide and are pushed as physics says, an arm goes where it is sent, twice alike.

The models are those of `robocontrast export`, and the engine is DART.
"""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace

import pytest

from robocontrast_ros.configuration import ConfigurationError, load_configured, resolve_uri
from robocontrast_ros.domain import Pose
from robocontrast_ros.robots.commands import GripperCommand, JointTrajectoryCommand, TwistCommand
from robocontrast_ros.robots.kinematics import Kinematics
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.worlds.ellipsoids import ellipsoid
from robocontrast_ros.worlds.engines.engine import GRAVITY, Engine
from robocontrast_ros.worlds.engines.sdf import parse_sdf, read_sdf
from robocontrast_ros.worlds.engines.starting import engine_named
from robocontrast_ros.worlds.engines.world import EngineWorld
from robocontrast_ros.worlds.exported.task import export_task
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
from robocontrast_ros.worlds.mujoco.sensors import Contacts

pytest.importorskip("dartpy", reason="dartpy has no wheel for this Python")

STEP = 0.002
BLOCKS = ["red_pentagon", "green_cube", "red_moon", "green_star"]
FRICTION, ROD_FRICTION = 0.6, 0.3
PLACES = {"red_pentagon": Pose((0.3, 0.1, 0.0)), "green_star": Pose((0.36, 0.1, 0.0))}


def exported(folder, task, robot):
    task = load_configured("tasks", resolve_uri(f"package://robocontrast_ros/config/tasks/{task}.yaml"))
    list(export_task(task, load_profile(robot), "sdf", "minimum", folder))
    return folder


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return exported(tmp_path_factory.mktemp("models with spaces"), "language_table", "franka")


@pytest.fixture(scope="module")
def hand_models(tmp_path_factory):
    return exported(tmp_path_factory.mktemp("hand"), "tabletop", "franka_hand")


@pytest.fixture(scope="module")
def dart():
    from robocontrast_ros.worlds.engines.dart import Dart

    return Dart


def world_of(dart, models, robot="franka", start=(0.185, 0.0, 0.01)):
    profile = load_profile(robot)
    joints = Kinematics(profile).posture(start)
    return EngineWorld(dart, profile, models, STEP, joints)


def spawned(dart, models, *blocks, **places):
    world = world_of(dart, models)
    for number, name in enumerate(blocks):
        world.spawn(name, places.get(name, Pose((0.3 + 0.08 * number, 0.1, 0.0))), uri=str(models / f"{name}.sdf"))
    return world


def test_an_engine_has_all_that_the_protocol_says(dart):
    names = {name for name in vars(Engine) if not name.startswith("_")} | {"friction_rule"}
    assert not {name for name in names if not hasattr(dart, name)}


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_falls_rests_and_slides_as_physics_says(name, dart, models):
    world = spawned(dart, models, name, **{name: Pose((0.3, 0.1, 0.05))})
    world.step(20)
    fallen = 0.05 - world.entity_state(name).pose.position[2]
    assert fallen == pytest.approx(0.5 * GRAVITY * STEP**2 * 20 * 21, abs=1e-6)
    world.step(480)
    rest = world.entity_state(name).pose
    assert abs(rest.position[2]) < 1e-4 and max(map(abs, rest.orientation[:2])) < 1e-3
    speed = 0.5
    world.set_entity_state(name, EntityState(rest, Twist((speed, 0.0, 0.0))))
    world.step(250)
    slid = world.entity_state(name).pose.position[0] - rest.position[0]
    assert slid == pytest.approx(speed**2 / (2.0 * FRICTION * GRAVITY), rel=0.03)


def test_a_thing_slides_by_the_friction_of_the_pair_not_of_the_thing(dart, models):
    # On the board 0.6, on another block 0.3: the copies of its shape.
    world = spawned(dart, models, "green_cube", "blue_cube", blue_cube=Pose((0.3, 0.1, 0.0381)))
    world.set_entity_state("green_cube", EntityState(Pose((0.3, 0.1, 0.0))))
    world.step(100)
    top = world.entity_state("blue_cube").pose
    world.set_entity_state("blue_cube", EntityState(top, Twist((0.25, 0.0, 0.0))))
    world.step(100)
    under, over = (world.entity_state(name).pose.position for name in ("green_cube", "blue_cube"))
    assert over[2] - under[2] == pytest.approx(0.038, abs=5e-4), "it is still on the other"
    assert over[0] - top.position[0] == pytest.approx(0.25**2 / (2.0 * ROD_FRICTION * GRAVITY), rel=0.1)
    assert under[0] == pytest.approx(0.3, abs=2e-4), "the one below is held by the greater friction of the board"


def test_a_pose_that_is_set_is_read_back_and_stays_while_nothing_is_stepped(dart, models):
    world = spawned(dart, models, "red_moon")
    pose = Pose((0.4, -0.1, 0.05), (0.1, -0.2, 0.3, math.sqrt(0.86)))
    world.set_entity_state("red_moon", EntityState(pose, Twist((0.1, 0.2, 0.3), (1.0, 2.0, 3.0))))
    found = world.entity_state("red_moon")
    assert found.pose.distance_to(pose) < 1e-12
    assert found.pose.orientation == pytest.approx(pose.orientation, abs=1e-12)
    assert found.twist.linear == pytest.approx((0.1, 0.2, 0.3)) and found.twist.angular == pytest.approx((1, 2, 3))


def pushed(world):
    """Push the pentagon with the rod for 1 s; return the last positions of all."""
    kinematics = Kinematics(world.profile)
    joints = kinematics.posture((0.2, 0.1, 0.01))
    names = world.profile.joint_names
    for x in (0.25, 0.33, 0.4):
        world.apply_command(JointTrajectoryCommand(names, joints, 0.3))
        world.step(150)
        joints = kinematics.posture((x, 0.1, 0.01))
    world.apply_command(JointTrajectoryCommand(names, joints, 0.3))
    world.step(200)
    return {name: pose.position for name, pose in world.poses().items()}, world.joint_state().positions


def test_the_arm_pushes_a_block_which_pushes_another_and_every_bit_is_the_same_again(dart, models):
    world = spawned(dart, models, *PLACES, **PLACES)
    first = pushed(world)
    goal = Kinematics(world.profile).posture((0.4, 0.1, 0.01))
    assert first[1] == pytest.approx(goal, abs=2e-3), "the arm follows its commands"
    # The rod's edge is 12.7 mm before the tool's end, and the pentagon's centre some 20 mm before its own.
    assert first[0]["red_pentagon"][0] == pytest.approx(0.4 + 0.0127 + 0.0205, abs=0.004)
    assert first[0]["green_star"][0] > 0.46
    world.reset(ResetScope.STATE)
    assert pushed(world) == first, "whatever happened before"
    assert pushed(spawned(dart, models, *PLACES, **PLACES)) == first
    again = (
        "import test_engines as t; from pathlib import Path; from robocontrast_ros.worlds.engines.dart import Dart\n"
        "print(t.pushed(t.spawned(Dart, Path(sys.argv[1]), *t.PLACES, **t.PLACES)))"
    )
    folder = str(resolve_uri(__file__).parent)
    code = f"import sys; sys.path.insert(0, {folder!r})\n{again}"
    said = subprocess.run([sys.executable, "-c", code, str(models)], capture_output=True, text=True, check=True)
    assert said.stdout.strip().splitlines()[-1] == str(first), "in another process, too"


def test_a_scene_is_the_same_to_the_bit_however_it_was_put_together(dart, models):
    turned = Pose.planar(0.3, 0.1, 2.1)
    places = {"red_pentagon": turned, "green_star": Pose.planar(0.4, -0.1, -0.7)}
    at_once = spawned(dart, models, *places, **places)
    long = spawned(dart, models, "green_star", "red_moon", "red_pentagon", green_star=Pose((0.5, 0.2, 0.1)))
    long.step(50)
    long.reset(ResetScope.STATE)
    long.delete("red_moon")
    for name, pose in places.items():
        long.set_entity_state(name, EntityState(pose))
    long.spawn("blue_cube", Pose((0.2, -0.2, 0.0)), uri=str(models / "blue_cube.sdf"))
    long.delete("blue_cube")
    for world in (at_once, long):
        world.step(100)
    assert at_once.poses() == long.poses()


def test_an_arm_without_commands_stays_where_a_reset_puts_it(dart, models):
    world = world_of(dart, models)
    start = world.joint_state()
    assert start.names == world.profile.joint_names and start.velocities == (0.0,) * 7
    world.step(500)
    assert world.joint_state().positions == pytest.approx(start.positions, abs=1e-6)
    assert world.time_ns == 1_000_000_000


def test_entities_are_spawned_listed_deleted_and_restored(dart, models):
    world = spawned(dart, models, "red_moon", "green_cube")
    assert world.entities() == ("franka", "table", "board", "green_cube", "red_moon")
    kinds = [world.category(name) for name in ("franka", "board", "red_moon")]
    assert kinds == [Category.ROBOT, Category.STATIC_OBJECT, Category.DYNAMIC_OBJECT]
    box = world.bounds("green_cube")
    assert box.upper == pytest.approx((0.019, 0.019, 0.038)) and box.lower == pytest.approx((-0.019, -0.019, 0.0))
    assert world.bounds("board") is None and world.source("red_moon").endswith("red_moon.sdf")
    text = (models / "blue_cube.sdf").read_text()
    world.spawn("blue_cube", Pose((0.5, 0.0, 0.0)), resource=text)
    assert world.bounds("blue_cube") == world.bounds("green_cube") and world.source("blue_cube") == ""
    wide = world.world_bounds("blue_cube")
    assert wide.upper == pytest.approx((0.519, 0.019, 0.038))
    moved = Pose((0.45, -0.1, 0.0))
    world.set_entity_state("red_moon", EntityState(moved))
    world.delete("green_cube")
    assert world.entity_state("red_moon").pose.distance_to(moved) < 1e-12, "others stay"
    world.reset(ResetScope.STATE)
    assert world.entity_state("red_moon").pose.position == pytest.approx((0.3, 0.1, 0.0))
    world.step(5)
    world.reset(ResetScope.ALL)
    assert world.entities() == ("franka", "table", "board") and world.time_ns == 0


@pytest.mark.parametrize(
    ("act", "error", "words"),
    [
        (lambda world: world.delete("nothing"), UnknownEntity, "there are: franka, table, board"),
        (lambda world: world.delete("board"), NotMovable, "belongs to the world"),
        (lambda world: world.set_entity_state("franka", EntityState(Pose())), NotMovable, "is fixed"),
        (lambda world: world.spawn("9", Pose(), uri="x.sdf"), InvalidName, "expected a letter"),
        (lambda world: world.spawn("board", Pose(), uri="x.sdf"), NameNotUnique, "is taken"),
        (lambda world: world.spawn("cup", Pose(), uri="/nowhere/cup.sdf"), ResourceNotFound, "cannot be read"),
        (lambda world: world.spawn("cup", Pose(), resource="<mujoco/>"), InvalidModel, "0 models"),
        (lambda world: world.spawn("cup", Pose(), resource="cup"), InvalidModel, "syntax error"),
        (lambda world: world.apply_command(TwistCommand()), ValueError, "follows joint trajectories"),
        (lambda world: world.apply_command(GripperCommand(0.0)), ValueError, "no hand"),
        (lambda world: world.apply_command(JointTrajectoryCommand(("a",), (0.0,), 0.1)), ValueError, "for each of"),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_reason(act, error, words, dart, models):
    with pytest.raises(error, match=words):
        act(world_of(dart, models))


@pytest.mark.parametrize(
    ("robot", "words"), [("locobot", "expected manipulator"), ("ur5e_2f85", "a hand each of whose joints")]
)
def test_a_robot_that_the_engine_cannot_move_is_refused(robot, words, dart, models):
    with pytest.raises(ConfigurationError, match=words):
        EngineWorld(dart, load_profile(robot), models, STEP)


def test_a_start_of_another_number_of_joints_is_refused(dart, models):
    with pytest.raises(ConfigurationError, match="7 numbers"):
        EngineWorld(dart, load_profile("franka"), models, STEP, (0.0, 1.0))


def test_a_hand_closes_on_a_thing_lifts_it_and_reports_what_it_touches(dart, hand_models):
    start = (0.45, 0.0, 0.02)
    world = world_of(dart, hand_models, "franka_hand", start)
    for name, thing in (("table", "oak_table"), ("cube", "blue_cube")):
        world.spawn(name, Pose((0.45, 0.0, 0.0)), uri=str(hand_models / f"{thing}.sdf"))
    assert world.category("table") is Category.STATIC_OBJECT
    world.set_entity_state("table", EntityState(Pose((0.45, 0.0, 0.1))))
    assert world.entity_state("table").pose.position == pytest.approx((0.45, 0.0, 0.1))
    world.set_entity_state("table", EntityState(Pose((0.45, 0.0, 0.0))))
    world.step(100)
    names = world.profile.joint_names
    world.apply_command(GripperCommand(0.0))
    world.step(500)
    (contacts,) = (each.value for each in world.sensors() if isinstance(each.value, Contacts))
    assert contacts == Contacts(("cube",)), "what the hand touches, and nothing that touches that and moves"
    fingers = world.joint_state()
    assert fingers.positions[7:] == pytest.approx((0.022, 0.022), abs=2e-4), "it presses from both sides"
    assert fingers.efforts[7:] == pytest.approx((-70.0, -70.0), abs=1.0)
    kinematics = Kinematics(world.profile)
    rest = world.entity_state("cube").pose.position[2]
    for height in (0.05, 0.1, 0.15):
        world.apply_command(JointTrajectoryCommand(names, kinematics.posture((0.45, 0.0, height)), 0.5))
        world.step(250)
    world.step(500)
    assert world.entity_state("cube").pose.position[2] - rest == pytest.approx(0.13, abs=0.005)
    world.apply_command(GripperCommand(world.profile.end_effector.joints[0].open))
    world.step(500)
    assert world.entity_state("cube").pose.position[2] < 0.05, "it falls when the hand opens"


@pytest.mark.parametrize(("around", "high", "smaller"), [(32, 16, 0.02), (12, 6, 0.11)])
def test_an_ellipsoid_becomes_a_closed_mesh_with_its_corners_on_the_surface(around, high, smaller):
    corners, faces = ellipsoid((0.03, 0.02, 0.01), around, high)
    assert len(corners) == around * (high - 1) + 2
    for x, y, z in corners:
        assert (x / 0.03) ** 2 + (y / 0.02) ** 2 + (z / 0.01) ** 2 == pytest.approx(1.0)
    edges = [edge for a, b, c in faces for edge in ((a, b), (b, c), (c, a))]
    assert len(set(edges)) == len(edges) and {(b, a) for a, b in edges} == set(edges), "closed, all faces the same way"
    volume = sum(_det(corners[a], corners[b], corners[c]) for a, b, c in faces) / 6.0
    whole = 4.0 / 3.0 * math.pi * 0.03 * 0.02 * 0.01
    assert (1.0 - smaller) * whole < volume < whole


def _det(a, b, c):
    return sum(a[i] * (b[(i + 1) % 3] * c[(i + 2) % 3] - b[(i + 2) % 3] * c[(i + 1) % 3]) for i in range(3))


def test_a_document_is_read_with_its_numbers(models):
    model = read_sdf(models / "franka.sdf")
    turning = [link for link in model.links if link.axis]
    assert not model.free and [link.axis.name for link in turning] == list(load_profile("franka").joint_names)
    assert turning[0].axis.range == pytest.approx((-2.7437, 2.7437)) and turning[0].mass == pytest.approx(4.97)
    block = read_sdf(models / "green_cube.sdf")
    (link,) = block.links
    assert block.free and {shape.friction for shape in link.collisions} == {0.3, 0.6}
    inside = link.collisions[0]
    assert inside.touches(replace(inside, category=0, collide=inside.category)) and inside.kind == "box"


def test_what_no_exported_file_has_is_refused(models, tmp_path):
    text = (models / "green_cube.sdf").read_text()
    for broken, words in (
        (text.replace("<box>", "<cone>").replace("</box>", "</cone>"), "shape 'cone'"),
        (text.replace("<mu>0.3</mu>", "<mu>much</mu>"), "could not convert"),
        (text.replace("<size>", "<size>nan "), "<size> nan"),
        ((models / "red_moon.sdf").read_text(), "there is no mesh"),
    ):
        with pytest.raises(InvalidModel, match=words):
            parse_sdf(broken, tmp_path)


def test_an_engine_that_is_not_installed_is_refused_with_the_cure(monkeypatch):
    monkeypatch.setitem(sys.modules, "dartpy", None)
    monkeypatch.delitem(sys.modules, "robocontrast_ros.worlds.engines.dart", raising=False)
    with pytest.raises(ConfigurationError, match=r"Install `robocontrast_ros\[dart\]`, or `pip install dartpy`"):
        engine_named("dart", "session.yaml")
