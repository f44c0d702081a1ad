"""Set up and read scenes through the standard simulation interfaces, of any simulator.

Simulators implement different parts of simulation_interfaces 1.x. So their features are queried first, only entities
that exist are moved, and every pose that was set is read back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import PurePosixPath

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import Fault, ObjectState, Pose, Scene, SetupMove, whole_of
from robocontrast_ros.episodes.bench import BenchFault, SetUpOutcome
from robocontrast_ros.strategies.effort import angle_between
from robocontrast_ros.worlds.simulation import FORMATS, REQUIRED, TO_PAUSE, Feature, Simulation, SimulationError
from robocontrast_ros.worlds.simulation_proof import Proof

SAME_PLACE = 1e-6
"""Greatest distance of two positions that differ only by rounding [m]."""

HEADING_TOLERANCE = 0.02
"""Greatest difference of a mobile robot's heading from the heading that was set [rad]."""


TURN_TOLERANCE = 0.05
"""Greatest turn of a moving part from the orientation that it was given [rad]: a knob turns where it is."""

OBJECT_TURN_TOLERANCE = 0.2
"""Greatest turn of an object from the orientation that it was given [rad], in a simulator of others."""


class SimulatedScene:
    """The movable objects of a simulated world, and the robot if it is mobile."""

    def __init__(
        self,
        simulation: Simulation,
        models: Mapping[str, str],
        settle_steps: int,
        tolerance: float,
        frame_id: str = "world",
        robot: str = "",
        plays: bool = False,
        resets_robot: bool = True,
        proof: Proof | None = None,
    ) -> None:
        """Take the simulator and the objects of a task; start a simulator that runs by itself.

        Args:
            simulation: the simulator's services.
            models: model name -> URI of its spawnable resource. An entity of such a name is an object; a moving part,
                ``OBJECT/PART``, comes with its object.
            settle_steps: physics steps between placing the objects and reading them back.
            tolerance: greatest distance of an object, or of the robot, from its place after that [m]; infinite: poses
                and headings are not checked.
            frame_id: the simulator's world frame.
            robot: entity of a mobile robot, whose pose is part of the scene; empty for a fixed robot.
            plays: whether the simulator runs by itself, and is paused only while a scene is set up.
            resets_robot: whether a set-up puts the robot to its start; without it an arm stays in its place.
            proof: checks a simulator of others at the first set-up; None for our own.

        Raises:
            ConfigurationError: the simulator lacks a required feature, or a mobile robot.
        """
        self._simulation, self._models, self._robot = simulation, dict(models), robot
        self._settle_steps, self._tolerance, self._frame_id = settle_steps, tolerance, frame_id
        self._order: tuple[str, ...] = ()
        self._model_of: dict[str, str] = {}
        self._features = simulation.features()
        self._plays, self._resets_robot, self._proof, self._proven = plays, resets_robot, proof, False
        required = (*REQUIRED, *TO_PAUSE) if plays else REQUIRED
        missing = [feature.name for feature in required if feature not in self._features]
        if missing:
            expected = f"also {', '.join(missing)}"
            cure = "Use a simulator, or a version of it, that serves them."
            raise ConfigurationError("simulator", "features", sorted(self._features), expected, cure)
        resets = {Feature.SIMULATION_RESET, Feature.SIMULATION_RESET_STATE} <= self._features
        if proof is not None and resets_robot and not robot and not resets:
            expected = "also SIMULATION_RESET and SIMULATION_RESET_STATE, which bring the arm to its start"
            cure = "Set `world.resets_robot: false` in the session: the arm's own controller then brings it there."
            raise ConfigurationError("simulator", "features", sorted(self._features), expected, cure)
        entities = simulation.poses()[1] if robot else {}
        if robot and robot not in entities:
            expected = f"also '{robot}', the robot"
            cure = "Name its entity in the simulator under `world.entities` in the session."
            raise ConfigurationError("simulator", "entities", sorted(entities), expected, cure)
        if plays:
            simulation.play(True)

    def read(self) -> tuple[int, Scene]:
        """Return the time [ns] and the scene of the present objects, without contacts, which states do not include.

        Raises:
            BenchFault: the simulator does not answer, or refuses, or has lost the robot.
        """
        try:
            stamp, poses = self._simulation.poses()
        except SimulationError as error:
            raise BenchFault(Fault.SIMULATOR_LOST, str(error)) from None
        return stamp, self._scene(poses)

    def request(self, then: Callable[[int, Scene], None], failed: Callable[[BenchFault], None]) -> None:
        """Request the scene without waiting; ``then`` receives time [ns] and scene when they are known."""

        def received(stamp: int, poses: dict[str, Pose]) -> None:
            try:
                scene = self._scene(poses)
            except BenchFault as error:
                failed(error)
            else:
                then(stamp, scene)

        self._simulation.request_poses(received)

    @property
    def description(self) -> str:
        """The simulator and renderer of the scenes, in words."""
        return self._simulation.description

    def _scene(self, poses: Mapping[str, Pose]) -> Scene:
        """Return the scene of the objects among the entities, in the order of the last set-up, then others by name.

        Raises:
            BenchFault: the robot is not among the entities.
        """
        ours = {name: model for name in poses if (model := self._model(name)) is not None}
        rank = {name: index for index, name in enumerate(self._order)}
        order = sorted(ours, key=lambda name: (rank.get(name, len(rank)), name))
        if self._robot and self._robot not in poses:
            raise BenchFault(Fault.SIMULATOR_LOST, f"the simulator has no entity '{self._robot}' any more")
        return Scene(
            tuple(ObjectState(name, ours[name], poses[name]) for name in order),
            self._frame_id,
            poses[self._robot] if self._robot else None,
        )

    def set_up(self, target: Scene, moves: tuple[SetupMove, ...] | None = None) -> SetUpOutcome:
        """Put the robot to its start, if set-ups reset it, and the objects to their poses.

        The pose of an object that did not have to be moved is not checked: jammed blocks slide apart when the robot
        lets go.

        Args:
            target: the wanted scene.
            moves: moves of the objects that have to be moved; if None, all objects that are elsewhere now.

        Raises:
            BenchFault: an object could not be spawned, an object or the robot is not in its place, or the simulator
                does not answer.
        """
        try:
            before = self._simulation.poses()[1]
            with self._paused():
                self._place(target)
                self._prove(target)
                self._simulation.step(self._settle_steps)
        except SimulationError as error:
            raise _failed(str(error)) from None
        stamp, scene = self.read()
        if moves is None:
            moved = {o.name for o in target if not _is_at(before.get(o.name), o.pose)}
        else:
            moved = {move.name for move in moves}
        self._verify(target, scene, moved)
        return SetUpOutcome(stamp, scene)

    @contextmanager
    def _paused(self) -> Iterator[None]:
        """Pause a world that runs by itself, so that nothing touches a half set-up scene."""
        if not self._plays:
            yield
            return
        self._simulation.play(False)
        try:
            yield
        finally:
            self._simulation.play(True)

    def _prove(self, target: Scene) -> None:
        """Check a simulator of others once, and put the objects to their poses again."""
        if self._proof is None or self._proven:
            return
        self._proof.prove(self._simulation, self._features, target)
        self._proven = True
        self._place(target)

    def _place(self, target: Scene) -> None:
        if target.frame_id != self._frame_id:
            raise _failed(f"the scene is in frame '{target.frame_id}', expected '{self._frame_id}'")
        if target.robot is not None and not self._robot:
            raise _failed("the scene has a start pose of the robot, but the robot is fixed")
        if self._resets_robot and {Feature.SIMULATION_RESET, Feature.SIMULATION_RESET_STATE} <= self._features:
            self._simulation.reset_state()
            if self._proof is not None and set(TO_PAUSE) <= self._features:
                # A reset may leave the world playing.
                self._simulation.play(False)
        _, poses = self._simulation.poses()
        present = {name for name in poses if self._model(name) is not None}
        # An object of another model under the same name is another object.
        same = {o.name for o in target if o.name in present and self._model(o.name) == o.model}
        with self._simulation.at_once():
            for name in sorted(name for name in present - same if not whole_of(name)):
                self._require(Feature.DELETING, name)
                self._simulation.delete(name)
                self._model_of.pop(name, None)
            for wanted in target:
                if wanted.name not in same and not whole_of(wanted.name):
                    self._spawn(wanted)
        for wanted in target:
            if wanted.name in present and not whole_of(wanted.name):
                self._simulation.set_pose(wanted.name, wanted.pose)
        # The pose of a part depends on that of its object.
        for wanted in target:
            if whole_of(wanted.name):
                self._simulation.set_pose(wanted.name, wanted.pose)
        self._order = target.names
        if target.robot is not None:
            self._simulation.set_pose(self._robot, target.robot)

    def _spawn(self, wanted: ObjectState) -> None:
        self._require(Feature.SPAWNING, wanted.name)
        if wanted.model not in self._models:
            raise _failed(f"no resource for model '{wanted.model}'; the task has {', '.join(sorted(self._models))}")
        uri = self._models[wanted.model]
        form = FORMATS.get(PurePosixPath(uri.partition("#")[0]).suffix.lower())
        if form and self._simulation.formats and form not in self._simulation.formats:
            raise _failed(
                f"'{uri}' of model '{wanted.model}' is {form}, and the simulator spawns "
                f"{', '.join(sorted(self._simulation.formats))}: name its own files under `world.resources`, or have "
                "the objects in its world from the beginning, under their names"
            )
        self._simulation.spawn(wanted.name, uri, wanted.pose)
        self._model_of[wanted.name] = wanted.model

    def _model(self, entity: str) -> str | None:
        if whole := whole_of(entity):
            entity = (self._model_of.get(whole) or whole) + entity.removeprefix(whole)
        return self._model_of.get(entity, entity if entity in self._models else None)

    def _require(self, feature: Feature, name: str) -> None:
        if feature not in self._features:
            raise _failed(f"'{name}' needs {feature.name}, which the simulator does not offer")

    def _verify(self, target: Scene, scene: Scene, moved: Collection[str]) -> None:
        if set(scene.names) != set(target.names):
            raise _failed(f"the scene holds {', '.join(scene.names) or 'nothing'}, expected {', '.join(target.names)}")
        if math.isinf(self._tolerance):
            return
        placed = [(o.name, scene[o.name].pose, o.pose) for o in target if o.name in moved]
        if target.robot is not None and scene.robot is not None:
            placed.append((self._robot, scene.robot, target.robot))
            turn = math.remainder(scene.robot.yaw - target.robot.yaw, math.tau)
            if abs(turn) > HEADING_TOLERANCE:
                raise _failed(
                    f"'{self._robot}' is {abs(turn):.3f} rad from the heading it was given, "
                    f"more than {HEADING_TOLERANCE:g} rad"
                )
        for name, pose, wanted in placed:
            off = pose.distance_to(wanted)
            if off > self._tolerance:
                raise _failed(f"'{name}' is {off:.3f} m from where it was put, more than {self._tolerance:g} m")
            turn = angle_between(pose, wanted)
            if turn > (allowed := self._turn_tolerance(name)):
                raise _failed(f"'{name}' is turned by {turn:.3f} rad from how it was put, more than {allowed:g} rad")

    def _turn_tolerance(self, name: str) -> float:
        """Return the greatest turn of an object or part from how it was put [rad]."""
        if whole_of(name):
            return TURN_TOLERANCE
        return math.inf if self._proof is None or name == self._robot else OBJECT_TURN_TOLERANCE


def _is_at(pose: Pose | None, wanted: Pose) -> bool:
    return pose is not None and pose.distance_to(wanted) <= SAME_PLACE


def _failed(detail: str) -> BenchFault:
    return BenchFault(Fault.SETUP_FAILED, detail)
