"""The contract of scene backends."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from robocontrast_ros.configuration import load_configured, resolve_uri
from robocontrast_ros.contracts.checking import has_all, once, promise
from robocontrast_ros.domain import Scene, whole_of
from robocontrast_ros.episodes.bench import SetUpOutcome
from robocontrast_ros.objects import MovingPart, moving_parts
from robocontrast_ros.objects.joints import part_pose, position_in
from robocontrast_ros.robots.profile import RobotProfile, load_profile
from robocontrast_ros.strategies.effort import Tolerance, setup_moves, with_whole_in_place
from robocontrast_ros.tasks.protocol import Task
from robocontrast_ros.worlds.backends import (
    BackendContext,
    BackendFeatures,
    ClosingBackend,
    SceneBackend,
    StreamingBackend,
    reset_robot,
)
from robocontrast_ros.worlds.in_process import WorldSimulation
from robocontrast_ros.worlds.mujoco.world import World
from robocontrast_ros.worlds.simulated_scene import TURN_TOLERANCE
from robocontrast_ros.worlds.simulation import Simulation

STIRRED = 1e-3
"""Greatest distance of an object without a move from where it was [m]."""
JOINT_MOVE = 0.15
"""Share of a joint's range by which it is moved; the shipped drawers go farther than the tolerance then."""


class BackendContract:
    """Inherit, and return a backend from ``make``.

    By default the tests use Language-Table and the embedded simulator, which a backend need not use.

    Attributes:
        robot: name in config/robots/, or path of a file.
        draws: number of scenes that are set up.
    """

    robot = "franka"
    draws = 3

    def make(self, context: BackendContext) -> SceneBackend:
        """Return a backend, made afresh from a context as a session makes it."""
        raise NotImplementedError

    def task(self) -> Task:
        """Return the task whose scenes are set up."""
        return load_configured("tasks", resolve_uri("package://robocontrast_ros/config/tasks/language_table.yaml"))

    def simulation(self) -> Simulation:
        """Return the simulation for ``BackendContext.simulation``."""
        scenes = self.used_task().scenes
        return WorldSimulation(
            World(self.profile(), scenes.world, scenes.start_position, physics_step=scenes.physics_step)
        )

    @once
    def used_task(self) -> Task:
        """Return the task of all checks."""
        return self.task()

    @once
    def profile(self) -> RobotProfile:
        """Return the robot."""
        return load_profile(self.robot)

    @once
    def parts(self) -> dict[str, MovingPart]:
        """Return the moving parts of the task's things, by their models; none for most tasks."""
        return moving_parts(self.used_task().scenes.models.values())

    @once
    def wanted(self) -> tuple[Scene, ...]:
        """Return the scenes that are set up."""
        return tuple(self.used_task().sample(np.random.default_rng([4, k]), "x").scene for k in range(self.draws))

    def context(self) -> BackendContext:
        """Return the context of a backend; its clock advances by a nanosecond at each reading."""
        ticks = iter(range(1, 1_000_000))
        return BackendContext(self.used_task(), self.profile(), lambda: next(ticks), self.simulation)

    def opened(self) -> SceneBackend:
        """Return a backend, made afresh, that is closed at the end of the test."""
        backend = self.make(self.context())
        vars(self).setdefault("_opened", []).append(backend)
        return backend

    def teardown_method(self) -> None:
        """Close all opened backends."""
        for backend in vars(self).pop("_opened", ()):
            if isinstance(backend, ClosingBackend):
                backend.close()

    def set_up(self, backend: SceneBackend, target: Scene) -> Scene:
        """Let a scene be set up by the moves of a session; return it as read back."""
        before, present = backend.read()
        after, scene, _ = SetUpOutcome(*backend.set_up(target, setup_moves(present, target, Tolerance())))
        promise(after >= before, f"time does not go back; the scene is of {before} s and, set up, of {after} s")
        self.check_is(scene, target, "`set_up` returns")
        self.check_is(backend.read()[1], target, "after `set_up`, `read` returns")
        return scene

    def check_is(self, scene: Scene, target: Scene, words: str) -> None:
        """Compare a scene with the wanted one."""
        tolerance = self.context().tolerance
        promise(
            set(scene.names) == set(target.names),
            f"{words} the objects that were wanted, {', '.join(target.names) or 'none'}; got "
            f"{', '.join(scene.names) or 'none'}",
        )
        for wanted in target:
            found = scene[wanted.name]
            promise(
                found.model == wanted.model, f"{words} each object's model; that of '{wanted.name}' is '{found.model}'"
            )
            if wanted.model in self.parts():
                joint = self.parts()[wanted.model].joint
                off = abs(position_in(scene, wanted.name, joint) - position_in(target, wanted.name, joint))
                allowed, unit = (tolerance, "m") if joint.type == "slide" else (TURN_TOLERANCE, "rad")
                promise(
                    off <= allowed,
                    f"{words} each joint at its position; that of '{wanted.name}' is {off:.3f} {unit} away from it",
                )
            off = found.pose.distance_to(wanted.pose)
            promise(
                off <= tolerance, f"{words} the scene that was wanted; '{wanted.name}' is {off:.3f} m from its place"
            )
        promise(
            scene.frame_id == self.profile().world_frame,
            f"{words} poses in '{self.profile().world_frame}'; got '{scene.frame_id}'",
        )
        if target.robot is not None:
            promise(scene.robot is not None, f"{words} the pose of a mobile robot; got none")
            off = scene.robot.distance_to(target.robot)
            turned = abs(math.remainder(scene.robot.yaw - target.robot.yaw, math.tau))
            promise(
                off <= tolerance and turned <= TURN_TOLERANCE,
                f"{words} the robot where it was wanted; it is {off:.3f} m and {turned:.3f} rad away",
            )

    def test_it_says_what_it_can_do(self) -> None:
        """Its class has its features, and a made backend its description."""
        backend = self.opened()
        has_all("scene_backends", type(backend))
        has_all("scene_backends", backend)
        features = type(backend).features
        promise(isinstance(features, BackendFeatures), f"the class has `features`, a BackendFeatures; got {features!r}")
        promise(
            isinstance(backend.description, str),
            f"`description` is a text, empty where nothing is known; got {backend.description!r}",
        )
        promise(
            not features.streams or isinstance(backend, StreamingBackend),
            "a backend whose features say `streams` has `request`; it has not",
        )

    def test_the_scene_is_known_before_one_was_set_up(self) -> None:
        """The first moves start from it."""
        stamp, scene = self.opened().read()
        promise(isinstance(stamp, int), f"`read` returns the time of the scene as an int [ns]; got {stamp!r}")
        promise(isinstance(scene, Scene), f"`read` returns a Scene; got {scene!r}")

    def test_a_scene_that_is_set_up_is_the_one_that_was_wanted(self) -> None:
        """So is the next one."""
        backend = self.opened()
        for target in (*self.wanted(), self.wanted()[0]):
            self.set_up(backend, target)

    def test_moves_are_carried_out_and_everything_else_stays(self) -> None:
        """One object is moved, taken out, and brought in again."""
        backend = self.opened()
        present = self.set_up(backend, self.wanted()[0])
        name = next(name for name in reversed(present.names) if not whole_of(name))
        here = self.set_up(backend, self.shifted(present, name))
        self.check_moved(present, here, self.shifted(present, name), name)
        self.check_others(present, here, name)
        without = replace(here, objects=tuple(o for o in here if name not in (o.name, whole_of(o.name))))
        self.set_up(backend, without)
        self.set_up(backend, here)

    def test_a_part_is_moved_alone_and_keeps_its_state_with_its_object(self) -> None:
        """Only scenes with drawers, doors or knobs are checked: one is moved, and then its object.

        At last everything is taken out and brought in again.
        """
        for target in self.wanted():
            name = next((o.name for o in target if o.model in self.parts()), None)
            if name is None:
                continue
            backend = self.opened()
            present = self.set_up(backend, target)
            joint = self.parts()[present[name].model].joint
            now, (low, high) = position_in(present, name, joint), joint.range
            way = math.copysign(JOINT_MOVE * (high - low), low + high - 2.0 * now)
            moved = present.moved(name, part_pose(present[whole_of(name)].pose, joint, now + way))
            here = self.set_up(backend, moved)
            self.check_others(present, here, name)
            here = self.set_up(backend, self.shifted(here, whole_of(name)))
            self.set_up(backend, replace(here, objects=()))
            self.set_up(backend, here)

    def test_everything_stays_when_the_robot_alone_is_reset(self) -> None:
        """As between the skills of a chain: drawers that are open stay open, and nobody is asked."""
        for target in self.wanted()[:2]:
            backend = self.opened()
            present = self.set_up(backend, target)
            here = reset_robot(backend).scene
            self.check_is(here, present, "`reset_robot` leaves")
            for item in present:
                off = here[item.name].pose.distance_to(item.pose)
                promise(
                    off <= STIRRED, f"everything stays when the robot alone is reset; '{item.name}' is {off:.4f} m away"
                )

    def shifted(self, scene: Scene, name: str) -> Scene:
        """Return a scene in which an object stands a little aside; it takes its parts along."""
        x, y, z = scene[name].pose.position
        moved = scene.moved(name, replace(scene[name].pose, position=(x + 0.005, y + 0.005, z)))
        for part in (other for other in scene.names if whole_of(other) == name):
            moved = moved.moved(part, with_whole_in_place(scene, moved, part))
        return moved

    def check_moved(self, before: Scene, scene: Scene, target: Scene, name: str) -> None:
        """Check that an object is nearer to its new place than to the one before, however little it was to be moved."""
        near, far = (scene[name].pose.distance_to(other[name].pose) for other in (target, before))
        promise(near < far, f"an object with a move is moved; '{name}' is {far:.4f} m from where it was before")

    def check_others(self, before: Scene, scene: Scene, name: str) -> None:
        """Check that everything but one object, and its parts, stayed where it was."""
        for other in before:
            off = scene[other.name].pose.distance_to(other.pose)
            promise(
                name in (other.name, whole_of(other.name)) or off <= STIRRED,
                f"an object without a move stays where it is; '{other.name}' is {off:.4f} m away",
            )

    def test_a_streamed_scene_is_the_one_that_is_read(self) -> None:
        """Only a backend that streams is checked."""
        backend = self.opened()
        if not backend.features.streams:
            return
        self.set_up(backend, self.wanted()[0])
        answers: list[tuple[int, Scene]] = []
        faults: list[Exception] = []
        backend.request(lambda stamp, scene: answers.append((stamp, scene)), faults.append)
        promise(answers and not faults, f"`request` answers with the scene; got {faults or 'nothing'}")
        promise(answers[0] == backend.read(), "`request` answers with what `read` returns; got something else")
