"""A simulator of others that does not do what it answers is named before the first trial, in words with numbers.

Each lie is that of a server that was read or run: Gazebo, Isaac Sim, O3DE, PyBulletFleet, roqsim.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from language_table_instances import EIGHT

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import Fault, Pose
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.worlds.backends import BackendContext, SimulatorBackend
from robocontrast_ros.worlds.in_process import WorldSimulation
from robocontrast_ros.worlds.mujoco.world import World
from robocontrast_ros.worlds.simulation import Feature

FRANKA = load_profile("franka")
SCENE = EIGHT.sample(np.random.default_rng(5), "x").scene
FIRST = SCENE.names[0]


class Server(WorldSimulation):
    """Our own world, as a simulator of others."""

    def __init__(self, step=EIGHT.scenes.physics_step, **keys):
        super().__init__(World(FRANKA, EIGHT.scenes.world, EIGHT.scenes.start_position, physics_step=step, **keys))


class Late(Server):
    """Gazebo: poses act at the next update, some milliseconds later."""

    asked = 0
    waiting: ClassVar[dict[str, Pose]] = {}

    def set_pose(self, entity, pose):
        self.waiting = {**self.waiting, entity: pose}
        self.asked = 3

    def poses(self):
        self.asked -= 1
        if self.asked <= 0:
            self._act()
        return super().poses()

    def step(self, steps):
        self._act()
        super().step(steps)

    def _act(self):
        for entity, pose in self.waiting.items():
            super().set_pose(entity, pose)
        self.waiting = {}


class DoesNothing(Server):
    """OK without effect."""

    def set_pose(self, entity, pose):
        pass


class DropsTheOrientation(Server):
    def set_pose(self, entity, pose):
        super().set_pose(entity, Pose(pose.position))


class Floats(Server):
    """PyBulletFleet: what was moved stays where it is put."""

    held: ClassVar[dict[str, Pose]] = {}

    def set_pose(self, entity, pose):
        self.held = {**self.held, entity: pose}
        super().set_pose(entity, pose)

    def step(self, steps):
        super().step(steps)
        for entity, pose in self.held.items():
            super().set_pose(entity, pose)


class OneIsFixed(Floats):
    """One of the objects is static."""

    def set_pose(self, entity, pose):
        if entity == FIRST:
            super().set_pose(entity, pose)
        else:
            Server.set_pose(self, entity, pose)


class OneStepMore(Server):
    """Isaac Sim 5.0: one step is two."""

    def step(self, steps):
        super().step(steps + 1)


class StepsFrames(Server):
    """Isaac Sim: a step is a frame of 1/60 s."""

    def step(self, steps):
        super().step(8 * steps)


class HalfTheSteps(Server):
    """Gazebo: the answer comes before they are done."""

    def step(self, steps):
        super().step(steps // 2)


class Plays(Server):
    """A world that goes on by itself."""

    def poses(self):
        super().step(20)
        return super().poses()


class MakesCubes(Server):
    """PyBulletFleet: a file that is not found becomes a cube."""

    def bounds(self, entity):
        return 0.1, 0.1


class PassesThrough(Server):
    """Objects without collision shapes among each other."""

    def step(self, steps):
        model = self._world._bodies.model
        free = np.isin(model.geom_bodyid, model.jnt_bodyid[model.jnt_type == 0])
        model.geom_contype[free], model.geom_conaffinity[free] = 2, 1
        model.geom_contype[~free], model.geom_conaffinity[~free] = 1, 2
        super().step(steps)


class LosesOne(Server):
    """A state that cannot be read has no pose."""

    stepped = False

    def step(self, steps):
        super().step(steps)
        self.stepped = True

    def poses(self):
        stamp, poses = super().poses()
        return stamp, {name: pose for name, pose in poses.items() if not (self.stepped and name == FIRST)}


class WithoutTheRobot(Server):
    def poses(self):
        stamp, poses = super().poses()
        return stamp, {name: pose for name, pose in poses.items() if name != "franka"}


class CannotReset(Server):
    def features(self):
        return super().features() - {Feature.SIMULATION_RESET_STATE}


class SpawnsSdf(Server):
    formats = frozenset({"sdf", "urdf"})


class Renames(Server):
    """What it spawned has another name."""

    def spawn(self, entity, uri, pose):
        super().spawn(entity + "_0", uri, pose)


LIES = [
    (DoesNothing, f"'{FIRST}' was moved, which was answered with OK, and is 0.021 m from where it was put"),
    (DropsTheOrientation, "was turned, which was answered with OK, and is"),
    (Floats, "stays in the air for a request for 20 steps: it cannot fall, so nothing can push it"),
    (OneIsFixed, f"'{FIRST}' stays in the air"),
    (OneStepMore, "10 requests for one step let objects fall by"),
    (StepsFrames, "a request for 20 steps let objects fall by"),
    (HalfTheSteps, "they took 20 ms, expected 20 times 2 ms"),
    (Plays, "while nothing was stepped: pause the simulator"),
    (MakesCubes, f"'{FIRST}' is 100 x 100 mm large, expected"),
    (PassesThrough, "and fell through it: what touches does not push"),
    (LosesOne, f"'{FIRST}' has no pose any more"),
    (WithoutTheRobot, "the robot 'franka' is none of its entities"),
    (SpawnsSdf, "is mjcf, and the simulator spawns sdf, urdf: name its own files under `world.resources`"),
    (Renames, "was spawned, which was answered with OK, and there is no such entity"),
]


def backend_of(server, **changes):
    return SimulatorBackend(BackendContext(EIGHT, FRANKA, lambda: 0, lambda: server, **changes))


@pytest.mark.parametrize(("lie", "words"), LIES, ids=[lie.__name__ for lie, _ in LIES])
def test_a_lie_is_named_at_the_first_set_up_and_again(lie, words):
    backend = backend_of(lie())
    with pytest.raises(BenchFault) as fault:
        backend.set_up(SCENE)
    assert fault.value.fault is Fault.SETUP_FAILED
    assert words in fault.value.detail, fault.value.detail
    with pytest.raises(BenchFault):
        backend.set_up(SCENE)


@pytest.mark.parametrize("server", [Server, Late])
def test_an_honest_simulator_passes_once_and_the_scene_is_as_without(server):
    ours = SimulatorBackend(BackendContext(EIGHT, FRANKA, lambda: 0, Server))
    theirs = backend_of(server())
    scenes = [EIGHT.sample(np.random.default_rng(5), "x").scene, EIGHT.sample(np.random.default_rng(6), "x").scene]
    for scene in scenes:
        found = [backend.set_up(scene).scene for backend in (ours, theirs)]
        assert found[0] == found[1]


def test_without_a_reset_an_arm_s_own_controller_has_to_bring_it_to_its_start():
    with pytest.raises(ConfigurationError, match=r"world\.resets_robot: false"):
        backend_of(CannotReset())
    backend_of(CannotReset(), resets_robot=False).set_up(SCENE)


def test_a_model_has_the_file_of_the_simulator():
    asked = {}

    class Sdf(SpawnsSdf):
        def spawn(self, entity, uri, pose):
            asked[entity] = uri
            super().spawn(entity, EIGHT.scenes.models[entity], pose)

    resources = {"*": "file:///models/{name}.sdf", FIRST: "file:///mine.urdf"}
    backend_of(Sdf(), resources=resources).set_up(SCENE)
    assert asked.pop(FIRST) == "file:///mine.urdf"
    assert asked == {name: f"file:///models/{name}.sdf" for name in SCENE.names[1:]}
