"""The navigation policies: contract, words, eyes, moves, and what they reach in the apartment."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from examples import examples
from hypothesis import example, given
from hypothesis import strategies as st
from vln_scenes import APARTMENT as TASK

from robocontrast_ros.configuration import ConfigurationError, load_configured, load_record, resolve_uri
from robocontrast_ros.contracts.policy import PolicyContract
from robocontrast_ros.domain import BASE, Perturbed, Pose, Scene, TestInstance, Trial
from robocontrast_ros.images.rendering import Camera
from robocontrast_ros.perturbations.neighbours import MoveBystander, MoveOrBlock, Redirect, Reword
from robocontrast_ros.policies.baselines.navigation.modular.memory import FloorMemory
from robocontrast_ros.policies.baselines.navigation.modular.policy import ModularNavigation, ModularParameters
from robocontrast_ros.policies.baselines.navigation.modular.vision import Eye, Sighting, View
from robocontrast_ros.policies.baselines.navigation.moves import Move, MoveSizes, Search, find_moves
from robocontrast_ros.policies.baselines.navigation.oracle import NavigationOracle, NavigationOracleParameters
from robocontrast_ros.policies.baselines.navigation.random_policy import RandomMoves
from robocontrast_ros.policies.protocol import Observation, Policy
from robocontrast_ros.policies.sentence_encoder import SentenceEncoder
from robocontrast_ros.policies.serving.runner import PolicyRunner
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.worlds.in_process import InProcessBench
from robocontrast_ros.worlds.mujoco.world import World

CONFIG = "package://robocontrast_ros/config"
ARRANGEMENTS = TASK.families[:-1]
LOCOBOT = load_profile("locobot")
ORACLE, MODULAR, RANDOM = (resolve_uri(f"{CONFIG}/policies/vln_{n}.yaml") for n in ("oracle", "modular", "random"))
SIZES = MoveSizes(distance=0.25, angle=math.pi / 6)
SEARCH = Search(cell=0.05, turn_cost=0.05, limit=50_000)


def arranged(family: str) -> TestInstance:
    return TASK.sample(np.random.default_rng(0), family, family)


class NavigationContract(PolicyContract):
    """What a policy of a mobile base is shown."""

    task = "studio_apartment"
    joints = 0

    def instance(self, trial: int) -> TestInstance:
        return arranged(ARRANGEMENTS[trial])

    def test_it_drives_the_locobot(self):
        description = self.make().describe()
        assert description.action_space in LOCOBOT.action_spaces.offered
        assert description.action_size == 1
        assert set(description.cameras) <= {camera.name for camera in LOCOBOT.cameras}

    def test_every_answer_is_a_move(self):
        for answer in self.acted(self.make(), 1, 7):
            assert answer.item() in list(Move)


class TestNavigationOracle(NavigationContract):
    def make(self) -> NavigationOracle:
        return NavigationOracle(load_record(NavigationOracleParameters, ORACLE), TASK)

    def test_it_says_what_it_needs(self):
        oracle, shown = self.make(), self.observations(self.make(), 1)[0]
        with pytest.raises(ValueError, match="call reset"):
            oracle.act(shown)
        oracle.reset(self.instruction(1), 0)
        with pytest.raises(ValueError, match="needs the ground truth"):
            oracle.act(replace(shown, scene=None))
        with pytest.raises(ValueError, match="needs the ground truth"):
            oracle.act(replace(shown, scene=replace(shown.scene, robot=None)))


@cache
def encoder() -> SentenceEncoder:
    """The one thing in the baseline that takes long to load, and is the same for all."""
    return SentenceEncoder.shipped()


def make_modular() -> ModularNavigation:
    return ModularNavigation(load_record(ModularParameters, MODULAR), encoder())


class TestModularNavigation(NavigationContract):
    def make(self) -> ModularNavigation:
        return make_modular()

    def parameter_file(self) -> Path:
        return MODULAR

    def test_it_is_shown_no_ground_truth(self):
        assert not self.make().describe().privileged

    def test_the_seed_says_to_which_side_it_looks_around(self):
        policy, (shown, *_) = self.make(), self.observations(self.make(), 1)
        nothing = replace(shown, images={"camera": np.full((48, 64, 3), 200, np.uint8)})
        first = set()
        for seed in range(8):
            policy.reset(self.instruction(1), seed)
            first.add(Move(int(policy.act(nothing).item())))
        assert first == {Move.LEFT, Move.RIGHT}

    def test_it_stops_when_it_is_told_nothing(self):
        policy = self.make()
        policy.reset("", 0)
        assert policy.act(self.observations(policy, 1)[0]).item() == Move.STOP


class TestRandomMoves(NavigationContract):
    def make(self) -> RandomMoves:
        return RandomMoves.from_file(RANDOM)

    def test_chances_of_more_than_one_are_refused(self, tmp_path):
        path = tmp_path / "random.yaml"
        path.write_text("policy: vln_random\nname: r\nforward: 0.9\nstop: 0.2\n")
        with pytest.raises(ConfigurationError, match="at most 1 together"):
            RandomMoves.from_file(path)


@pytest.mark.parametrize("path", [ORACLE, MODULAR])
def test_the_moves_of_the_parameter_files_are_those_of_the_robot(path):
    moves = load_record(NavigationOracleParameters if path is ORACLE else ModularParameters, path).moves
    space = LOCOBOT.action_spaces.discrete_navigation
    assert (moves.distance, moves.angle) == pytest.approx((space.distance, space.angle))


# Moves


@examples(40)
@given(x=st.floats(-2, 2), y=st.floats(-2, 2), yaw=st.floats(-math.pi, math.pi), wall=st.floats(-0.5, 1.5))
@example(x=0.0, y=-2.0, yaw=0.0, wall=1.5)
def test_moves_lead_to_the_goal_and_never_through_what_is_in_the_way(x, y, yaw, wall):
    """A wall along x = 1 leaves a gap above a height; the goal lies behind it."""
    goal = np.array([2.5, 0.0])

    def cost(a, b):
        crossed = min(a[0], b[0]) < 1.0 <= max(a[0], b[0])
        return None if crossed and min(a[1], b[1]) < wall else math.dist(a, b)

    start = Pose.planar(x, y, yaw)
    # What is said to remain knows of no wall, so that a high one is searched all along before the way around it.
    search = replace(SEARCH, limit=4 * SEARCH.limit)
    moves = find_moves(start.xy, start.yaw, SIZES, search, cost, lambda p: max(math.dist(p, goal) - 0.3, 0.0))
    assert moves is not None
    pose = start
    for move in moves:
        ahead = SIZES.carried_out(move, pose)
        if move is Move.FORWARD:
            assert cost(pose.xy, ahead.xy) is not None
        pose = ahead
    assert math.dist(pose.xy, goal) <= 0.3 + 1e-6


def test_no_moves_are_found_where_there_is_no_way():
    assert find_moves((0.0, 0.0), 0.0, SIZES, SEARCH, lambda a, b: None, lambda p: 1.0) is None


def test_nothing_is_to_be_done_where_nothing_remains():
    assert find_moves((0.0, 0.0), 0.0, SIZES, SEARCH, math.dist, lambda p: 0.0) == []


# Words


@pytest.fixture(scope="module")
def grounder():
    return make_modular().grounder


@pytest.mark.parametrize("category", list(load_record(ModularParameters, MODULAR).vision.categories))
def test_a_category_is_understood_by_its_plain_name(grounder, category):
    assert grounder.places(f"Walk past the {category}") == (category,)


def test_places_come_in_the_order_in_which_they_are_named(grounder):
    told = "Go past the couch, then stop at the bookshelf"
    assert grounder.places(told) == ("couch", "bookshelf")


def test_a_synonym_is_understood_by_its_meaning(grounder):
    assert grounder.places("go to the sofa and then walk to the dining table") == ("couch", "table")


def test_a_phrase_that_names_nothing_sends_the_robot_nowhere(grounder):
    told = "Go pass by the plants, keep going and stop when you reach the bookshelf"
    assert grounder.places(told) == ("plant", "bookshelf")


def test_words_without_any_place_are_taken_for_the_likeliest_one(grounder):
    (phrase,) = grounder.phrases("keep going")
    assert grounder.places("keep going") == (phrase.category,)


# Eyes


class Studio:
    """The apartment with the robot and its camera, for looking about."""

    def __init__(self) -> None:
        self.world = World(
            LOCOBOT, TASK.scenes.world, cameras=(Camera("camera", 320, 240),), physics_step=TASK.scenes.physics_step
        )

        self._bench = InProcessBench(self.world, TASK, PolicyRunner(RANDOM, timeout=5.0))

    def look(self, eye: Eye, scene: Scene) -> View:
        self._bench.bring(scene)
        return eye.look(self.world.cameras.render("camera"))


@pytest.fixture(scope="module")
def studio():
    studio = Studio()
    yield studio
    studio.world.close()


@pytest.fixture(scope="module")
def eye() -> Eye:
    return Eye(load_record(ModularParameters, MODULAR).vision)


def test_the_camera_of_the_parameter_file_is_that_of_the_robot(studio):
    view = load_record(ModularParameters, MODULAR).vision.camera
    info = studio.world.cameras.info("camera")
    assert 2 * math.atan(info.width / 2 / info.k[0]) == pytest.approx(view.horizontal_view, abs=1e-3)
    robot, lens = studio.world.entity_state("locobot").pose, studio.world.cameras.pose("camera")
    assert lens.position[2] == pytest.approx(view.position[2], abs=0.005)
    assert math.dist(lens.xy, robot.xy) == pytest.approx(math.hypot(*view.position[:2]), abs=0.005)


@pytest.mark.parametrize("model", list(TASK.parameters.furniture))
def test_furniture_is_seen_as_what_it_is_and_where_it_is(studio, eye, model):
    name = next(o for o, m in TASK.parameters.objects.items() if m == model)
    scene = arranged("arrangement_1").scene
    alone = replace(scene[name], pose=Pose.planar(4.0, 2.5, math.pi))
    view = studio.look(eye, Scene((alone,), robot=Pose.planar(1.5, 2.5, 0.0)))
    assert {sighting.category for sighting in view.sightings} == {model}
    largest = view.sightings[0]
    assert abs(largest.bearing) < 0.1
    contact = np.concatenate([sighting.contact for sighting in view.sightings])
    edge = 2.5 - max(x for x, _ in TASK.scenes.outline(model))
    # What stands on feet, or hangs over its foot, seems to be a little farther away.
    assert edge - 0.15 < contact[:, 0].min() < edge + 0.4
    assert np.abs(contact[:, 1]).max() < 1.2


def test_free_floor_ends_before_what_stands_on_it(studio, eye):
    scene = arranged("arrangement_1").scene
    couch = replace(scene["couch"], pose=Pose.planar(3.5, 2.5, math.pi))
    view = studio.look(eye, Scene((couch,), robot=Pose.planar(1.5, 2.5, 0.0)))
    ahead = view.free[np.abs(view.free[:, 1]) < 0.3]
    assert 1.3 < ahead[:, 0].max() < 2.0
    assert np.abs(view.blocked[np.abs(view.blocked[:, 1]) < 0.3][:, 0] - 1.58).max() < 0.35


def test_a_wall_in_front_is_no_furniture(studio, eye):
    view = studio.look(eye, Scene((), robot=Pose.planar(4.5, 2.5, 0.0)))
    assert view.sightings == ()
    assert view.blocked[:, 0] == pytest.approx(np.full(len(view.blocked), 1.5), abs=0.25)


# Memory


def test_what_was_seen_is_remembered_where_it_is_in_the_world():
    parameters = load_record(ModularParameters, MODULAR).memory
    memory = FloorMemory(parameters, (1.0, 1.0), ("bed", "couch"))
    here = np.array([[1.0, 0.0]])
    view = View((Sighting("bed", 0.0, 50, here),), free=np.zeros((0, 2)), blocked=here)
    for _ in range(parameters.looks):
        memory.add(view, Pose.planar(1.0, 1.0, math.pi / 2))
    assert memory.where("bed") == pytest.approx(np.array([[1.0, 2.0]]), abs=parameters.cell)
    assert len(memory.where("couch")) == 0
    gap_at = memory.reader(memory.gaps())
    assert gap_at((1.0, 2.0)) == 0.0
    assert gap_at((1.0, 1.0)) == pytest.approx(1.0, abs=parameters.cell)


def test_a_place_is_held_by_what_is_seen_there_oftenest():
    parameters = load_record(ModularParameters, MODULAR).memory
    memory = FloorMemory(parameters, (0.0, 0.0), ("plant", "lamp"))
    for k in range(4):
        seen = [Sighting("plant", 0.0, 50, np.array([[1.0, 0.0]]))]
        if k % 2:
            seen.append(Sighting("lamp", 0.0, 20, np.array([[1.0, 0.0]])))
        memory.add(View(tuple(seen), np.zeros((0, 2)), np.zeros((0, 2))), Pose())
    assert len(memory.where("plant")) == 1
    assert len(memory.where("lamp")) == 0


# What they reach


def driven(oracle: Policy, instance: TestInstance) -> tuple[float, bool, float]:
    """Return progress, whether it stopped at the goal, and the least gap, with moves that are exact."""
    scene, reached, least = instance.scene, 0, math.inf
    goal = TASK.goals.goal(instance.instruction, scene)
    oracle.reset(instance.instruction.text, 0)
    for _ in range(150):
        reached += reached < 2 and goal.subgoals[reached].satisfied(scene)
        move = Move(int(oracle.act(Observation(0, {}, (), (), scene.robot, scene)).item()))
        if move is Move.STOP:
            return reached / 2, goal.satisfied(scene), least
        ahead = SIZES.carried_out(move, scene.robot)
        least = min(least, TASK.planner.floor_plan(scene).gap([scene.robot.xy, ahead.xy]))
        scene = replace(scene, robot=ahead)
    return reached / 2, False, least


@pytest.mark.parametrize("seed", range(4))
def test_the_oracle_reaches_both_places_of_drawn_instances_and_of_their_perturbations(seed):
    oracle = NavigationOracle(load_record(NavigationOracleParameters, ORACLE), TASK)
    base = TASK.sample(np.random.default_rng([5, seed]), "drawn")
    found = [base]
    for perturbation in (Reword(), Redirect(), MoveBystander(), MoveOrBlock()):
        answer = perturbation.apply(TASK, base, base.scene, np.random.default_rng(seed))
        if isinstance(answer, Perturbed):
            found.append(answer.instance)
    assert len(found) >= 3
    for instance in found:
        progress, stopped_there, least = driven(oracle, instance)
        assert (progress, stopped_there) == (1.0, True), instance.instruction.text
        assert least > TASK.parameters.base.radius


def run_in_apartment(policy, families):
    runner = PolicyRunner(policy, timeout=60.0)
    cameras = [Camera(name, 320, 240) for name in runner.description.cameras]
    world = World(LOCOBOT, TASK.scenes.world, cameras=cameras, physics_step=TASK.scenes.physics_step)
    bench = InProcessBench(world, TASK, runner)
    try:
        for index, family in enumerate(families):
            instance = arranged(family)
            bench.bring(instance.scene)
            yield bench.execute(Trial(index, family, BASE, 0, instance, seed=index), attempt=0).result
    finally:
        world.close()
        runner.close()


def test_the_oracle_solves_all_arrangements_on_the_robot_without_a_collision():
    for result in run_in_apartment(ORACLE, ARRANGEMENTS):
        assert (result.scores["progress"], result.success, result.stopped) == (1.0, 1.0, True), result
        assert result.scores["collisions"] == 0
        assert result.scores["spl"] > 0.8


def test_the_baseline_finds_its_way_by_camera_and_words_alone():
    (result,) = run_in_apartment(MODULAR, ("arrangement_2",))
    assert result.scores["progress"] >= 0.5


@pytest.mark.parametrize("path", [ORACLE, MODULAR, RANDOM])
def test_a_misspelt_parameter_is_named(path, tmp_path):
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(path.read_text() + "gasp: 1\n")
    with pytest.raises(ConfigurationError, match="gasp"):
        load_configured("policies", wrong)
