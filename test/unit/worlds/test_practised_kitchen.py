"""A person practises set-ups of the kitchen: what they are asked, and what their ticks do in the simulated world."""

from __future__ import annotations

import math

import numpy as np
import pytest

from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.console.questions import OperatorAnswer
from robocontrast_ros.console.table_map import TableMap
from robocontrast_ros.console.tolerances import PERSON, tolerances_of
from robocontrast_ros.objects.joints import part_pose
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.strategies.effort import handled, setup_moves
from robocontrast_ros.tasks.kitchen import Kitchen
from robocontrast_ros.worlds.by_hand import ByHand, PractisedTable
from robocontrast_ros.worlds.in_process import WorldSimulation
from robocontrast_ros.worlds.mujoco.world import World
from robocontrast_ros.worlds.simulated_scene import SimulatedScene

DRAWER = "cabinet/top_drawer"


class Person:
    """Ticks off what they are asked, but at first not what they forget; keeps the questions and the page's words."""

    def __init__(self, task, tolerances):
        self.questions, self.forgets = [], ()
        self._map = TableMap(task, tolerances)

    def ask_moves(self, question):
        self.questions.append(question)
        assert len(self.questions) < 4, question.problems
        done = tuple(name for name in question.things if name not in self.forgets)
        self.forgets = ()
        return OperatorAnswer("done", moved=done)

    @property
    def words(self):
        """What the page says of the moves of the last question."""
        return {move["id"]: move["words"] for move in self._map.of(self.questions[-1])["moves"]}


class Bench:
    """The kitchen in the embedded world, and a person who sets it up."""

    def __init__(self):
        self.task = Kitchen.from_file(resolve_uri("package://robocontrast_ros/config/tasks/kitchen.yaml"))
        self.tolerances = tolerances_of(self.task, PERSON, {})
        scenes = self.task.scenes
        world = World(load_profile("franka_hand"), scenes.world, scenes.start_position, (), scenes.physics_step)
        simulated = SimulatedScene(WorldSimulation(world), scenes.models, 10, math.inf, resets_robot=False)
        self.person = Person(self.task, self.tolerances)
        self._by_hand = ByHand(PractisedTable(simulated), self.person, self.tolerances, self.task.store)

    def scene(self, problem, seed=0, **positions):
        """Return a drawn scene of a problem, with some of its cabinet's drawers pulled out so far [m]."""
        scene = self.task.sample_of(problem, np.random.default_rng(seed), "x").scene
        for part, position in positions.items():
            joint = self.task.things.joint(scene, f"cabinet/{part}")
            scene = scene.moved(f"cabinet/{part}", part_pose(scene["cabinet"].pose, joint, position))
        return scene

    def moves(self, target):
        return setup_moves(self._by_hand.read()[1], target, self.tolerances)

    def set_up(self, target):
        """Have the person set a scene up; return it as it is then."""
        self.person.questions.clear()
        return self._by_hand.set_up(target, self.moves(target)).scene


@pytest.fixture(scope="module")
def bench():
    return Bench()


@pytest.fixture
def shut(bench):
    """The scene of a problem, set up: a cabinet whose drawers are shut."""
    scene = bench.scene("kitchen_1_open_top_drawer")
    bench.set_up(scene)
    return scene


def position(bench, scene, name=DRAWER):
    return bench.task.things.position(scene, name)


def test_who_is_asked_to_open_a_drawer_and_ticks_it_off_has_opened_it(bench, shut):
    target = bench.scene("kitchen_1_open_top_drawer", top_drawer=0.15)
    assert [move.name for move in bench.moves(target)] == [DRAWER]
    assert handled(bench.moves(target), bench.task.store).objects == 1
    found = bench.set_up(target)
    assert bench.person.words == {DRAWER: "make it open"} and len(bench.person.questions) == 1
    assert position(bench, found) == pytest.approx(0.15, abs=1e-3)
    found = bench.set_up(shut)
    assert bench.person.words == {DRAWER: "make it closed"}
    assert position(bench, found) == pytest.approx(position(bench, shut), abs=1e-3)


def test_a_drawer_that_was_forgotten_stays_shut_and_is_asked_for_again(bench, shut):
    target = bench.scene("kitchen_1_open_top_drawer", top_drawer=0.15)
    bench.person.forgets = (DRAWER,)
    found = bench.set_up(target)
    _, second = bench.person.questions
    assert len(second.problems) == 1 and " off, allowed is 1.0 cm" in second.problems[0]
    assert [move.name for move in second.moves] == [DRAWER]
    assert position(bench, found) == pytest.approx(0.15, abs=1e-3)


def test_a_cabinet_that_is_moved_takes_its_drawers_along(bench, shut):
    pose = shut["cabinet"].pose
    (x, y), turned = pose.xy, pose.yaw
    moved = type(pose).planar(x - 0.03, y + 0.02, turned + 0.2)
    parts = (f"cabinet/{part}" for part in ("bottom_drawer", "middle_drawer", "top_drawer"))
    target = shut.moved("cabinet", moved)
    for name in parts:
        target = target.moved(name, part_pose(moved, bench.task.things.joint(shut, name), position(bench, shut, name)))
    assert [move.name for move in bench.moves(target)] == ["cabinet"]
    found = bench.set_up(target)
    assert len(bench.person.questions) == 1
    assert found["cabinet"].pose.distance_to(moved) < 1e-3
    assert position(bench, found) == pytest.approx(position(bench, shut), abs=1e-3)
    assert found[DRAWER].pose.distance_to(target[DRAWER].pose) < 2e-3


def test_a_cabinet_is_taken_out_and_brought_in_with_its_drawers_as_one_thing(bench, shut):
    mugs = bench.scene("living_room_5_red_mug_on_left_plate")
    moves = bench.moves(mugs)
    assert [move.name for move in moves if move.name.startswith("cabinet")] == ["cabinet"]
    found = bench.set_up(mugs)
    assert set(found.names) == set(mugs.names) and len(bench.person.questions) == 1
    target = bench.scene("kitchen_4_close_bottom_drawer")
    found = bench.set_up(target)
    assert set(found.names) == set(target.names) and len(bench.person.questions) == 1
    assert "cabinet" in bench.person.words and "cabinet/bottom_drawer" not in bench.person.words
    opened = position(bench, target, "cabinet/bottom_drawer")
    assert opened > 0.14 and position(bench, found, "cabinet/bottom_drawer") == pytest.approx(opened, abs=1e-3)


def test_a_drawer_of_a_cabinet_that_stands_a_little_off_is_opened_where_the_cabinet_stands(bench, shut):
    pose = shut["cabinet"].pose
    off = type(pose).planar(pose.xy[0] + 0.006, pose.xy[1], pose.yaw + 0.1)
    target = bench.scene("kitchen_1_open_top_drawer", top_drawer=0.15)
    near = target.moved("cabinet", off)
    for name in ("cabinet/bottom_drawer", "cabinet/middle_drawer", DRAWER):
        joint = bench.task.things.joint(target, name)
        near = near.moved(name, part_pose(off, joint, position(bench, target, name)))
    assert bench.moves(near)[0].name == DRAWER and len(bench.moves(near)) == 1
    found = bench.set_up(near)
    assert found["cabinet"].pose.distance_to(pose) < 1e-3, "it may stay"
    assert position(bench, found) == pytest.approx(0.15, abs=1e-3) and len(bench.person.questions) == 1
