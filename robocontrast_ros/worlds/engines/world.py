"""The world of another physics engine: a robot, fixed furniture, and objects that are spawned and deleted.

It does for any ``Engine`` what ``worlds.mujoco.world.World`` does for MuJoCo, without MuJoCo. Physics is a function of
the calls: the engine is composed anew whenever an object is spawned or deleted, and at a reset.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robocontrast_ros.configuration import ConfigurationError, resolve_uri
from robocontrast_ros.domain import Pose, nanoseconds, stamp_text
from robocontrast_ros.objects.frames import compose
from robocontrast_ros.robots.commands import GripperCommand, JointTrajectoryCommand, RobotCommand
from robocontrast_ros.robots.manipulator import ManipulatorProfile
from robocontrast_ros.robots.profile_base import RobotProfile
from robocontrast_ros.robots.state_estimation import JointReading
from robocontrast_ros.worlds.engines.engine import Engine, Placed, Servo
from robocontrast_ros.worlds.engines.sdf import SdfModel, parse_sdf, read_sdf
from robocontrast_ros.worlds.following import TrajectoryFollower, hand_goal, hand_set_point
from robocontrast_ros.worlds.mujoco.entities import (
    VALID_NAME,
    Bounds,
    Category,
    EntityState,
    InvalidName,
    NameNotUnique,
    NotMovable,
    ResetScope,
    SimulationDiverged,
    UnknownEntity,
)
from robocontrast_ros.worlds.mujoco.sensors import Contacts, JointState, Sensor

if TYPE_CHECKING:
    from robocontrast_ros.images.rendering import Camera

FURNITURE = "world_model"
"""Model of the fixed furniture; its links are entities."""
UNNAMED = "surroundings"
"""Its link without a name of its own, which is no entity."""


@dataclass(frozen=True)
class _Spawned:
    """An object: its model, where that is from, and where it was spawned."""

    model: SdfModel
    source: str
    initial: Pose


class EngineWorld:
    """An arm and things in an engine. All poses are in the frame `world`; not thread-safe.

    A name that no entity has raises UnknownEntity.

    Attributes:
        profile: the robot.
        step_duration: simulated time of one physics step [s].
        cameras: none: no images are drawn.
    """

    cameras: tuple[Camera, ...] = ()

    def __init__(
        self, engine: type[Engine], profile: RobotProfile, models: Path, step: float, start: tuple[float, ...] = ()
    ) -> None:
        """Compose the world.

        Args:
            engine: the engine.
            profile: the robot.
            models: folder of the exported models: `world_model.sdf`, and the robot's, under its name.
            step: simulated time of a physics step [s].
            start: joint positions of the arm after a reset [rad]; empty for its home posture.

        Raises:
            ConfigurationError: the robot is no arm that can be moved here.
            ResourceNotFound: a file cannot be read.
            InvalidModel: a file is none of `robocontrast export`.
        """
        _check(profile, start)
        self.profile, self.step_duration = profile, step
        self._engine_of, self._models = engine, models
        self._furniture = Placed(read_sdf(models / f"{FURNITURE}.sdf"))
        self._robot = Placed(read_sdf(models / f"{profile.name}.sdf"), servos=_servos(profile))
        self._home = np.asarray(start or profile.home, dtype=float)
        self._follower = TrajectoryFollower(profile, self._home)
        self._follower.bind(step)
        self._spawned: dict[str, _Spawned] = {}
        # States that were set since the last step: read back from an engine, they would differ by their rounding.
        self._set: dict[str, EntityState] = {}
        self._steps = 0
        self._touched: frozenset[tuple[str, str]] = frozenset()
        self._engine = self._composed()
        self._own = (profile.name, *(link.name for link in self._furniture.model.links if link.name != UNNAMED))
        self._go_home()

    # -- time and physics -------------------------------------------------------------------------

    @property
    def time_ns(self) -> int:
        """Simulated time [ns]: steps times their duration, so it has no rounding error."""
        return self._steps * nanoseconds(self.step_duration)

    @property
    def description(self) -> str:
        """The engine, in words."""
        return self._engine.description

    def step(self, count: int = 1) -> None:
        """Advance the physics by a number of steps, with the robot's last command.

        Raises:
            SimulationDiverged: the engine found numbers that are not finite.
        """
        engine, touching = self._engine, set()
        self._set.clear()
        for _ in range(count):
            self._aim()
            engine.step()
            if self.profile.reports_contacts:
                touching |= engine.touching()
        self._touched = self._between_entities(touching)
        self._steps += count
        values = [*engine.joints(self.profile.name)[1]]
        for name in self._spawned:
            values += engine.state(name).pose.position
        if not np.isfinite(values).all():
            raise SimulationDiverged(f"the physics diverged at {stamp_text(self.time_ns)}; reset the simulation")

    def reset(self, scope: ResetScope | int = ResetScope.STATE) -> None:
        """Restore the parts of the scope; DEFAULT is ALL. Time goes on unless the scope includes TIME."""
        scope = int(scope) or ResetScope.ALL
        if scope & ResetScope.TIME:
            self._steps = 0
        if scope & ResetScope.SPAWNED and self._spawned:
            self._change({})
        if scope & ResetScope.STATE:
            self._touched = frozenset()
            self._set.clear()
            self._engine = self._composed()
            self._go_home()

    # -- robot ------------------------------------------------------------------------------------

    def apply_command(self, command: RobotCommand) -> None:
        """Let the arm, or its hand, carry out a command.

        Raises:
            ValueError: the command is not for this robot.
        """
        if isinstance(command, GripperCommand):
            self._grip(command.position)
        elif isinstance(command, JointTrajectoryCommand):
            self._follower.apply(command)
            if command.gripper is not None:
                self._grip(command.gripper)
        else:
            raise ValueError(f"'{self.profile.name}' follows joint trajectories, not {command}")

    def sensors(self) -> tuple[Sensor, ...]:
        """Return the data that the robot's driver publishes, after the last `step` call."""
        profile = self.profile
        joints = Sensor(profile.state.topic, profile.base_frame, self.joint_state())
        if not profile.reports_contacts:
            return (joints,)
        contacts = Contacts(self.touched(), self.carried())
        return (joints, Sensor(profile.contacts_topic, profile.base_frame, contacts))

    def latched_sensors(self) -> tuple[Sensor, ...]:
        """Return nothing: the robot's description and its fixed frames are not published here."""
        return ()

    def reading(self) -> JointReading:
        """Return the state that the robot's driver publishes, for a state estimator."""
        joints = self.joint_state()
        return JointReading(self.time_ns, joints.names, joints.positions)

    def touched(self) -> tuple[str, ...]:
        """Return the names of the entities that the robot touched during the last `step` call, sorted."""
        own = self.profile.name
        return tuple(sorted({b for pair in self._touched for a, b in (pair, pair[::-1]) if a == own}))

    def carried(self) -> tuple[str, ...]:
        """Return the names of the pushable entities that touched an entity carried or pushed by the robot, sorted."""
        touched = set(self.touched())
        things = [pair for pair in self._touched if all(map(self._yields, pair))]
        return tuple(sorted({b for pair in things for a, b in (pair, pair[::-1]) if a in touched}))

    def joint_state(self) -> JointState:
        """Return positions, velocities and efforts of the arm's joints, then of the hand's."""
        names, positions, velocities = self._engine.joints(self.profile.name)
        at = [names.index(name) for name in (*self.profile.joint_names, *self.profile.hand_joint_names)]
        efforts = [
            self._servo(names[i]).stiffness * (self._aimed[i] - positions[i])
            - self._servo(names[i]).damping * velocities[i]
            for i in at
        ]
        return JointState(
            tuple(names[i] for i in at),
            tuple(positions[i] for i in at),
            tuple(velocities[i] for i in at),
            tuple(efforts),
        )

    # -- entities ---------------------------------------------------------------------------------

    def entities(self) -> tuple[str, ...]:
        """Return the names of the robot, of the furniture's links, and of the spawned objects, in that order."""
        return (*self._own, *self._spawned)

    def category(self, name: str) -> Category:
        """Return the kind of an entity."""
        self._known(name)
        if name == self.profile.name:
            return Category.ROBOT
        return Category.DYNAMIC_OBJECT if self._yields(name) else Category.STATIC_OBJECT

    def source(self, name: str) -> str:
        """Return the source of an entity's model: a URI or path, or nothing for a model given as a string."""
        self._known(name)
        if name in self._spawned:
            return self._spawned[name].source
        return str(self._models / f"{name if name == self.profile.name else FURNITURE}.sdf")

    def entity_state(self, name: str) -> EntityState:
        """Return pose and twist of an entity."""
        self._known(name)
        inside = name in self._own and name != self.profile.name
        return self._engine.state(FURNITURE, name) if inside else self._engine.state(name)

    def poses(self) -> dict[str, Pose]:
        """Return the pose of every entity."""
        return {name: self.entity_state(name).pose for name in self.entities()}

    def bounds(self, name: str) -> Bounds | None:
        """Return the box around an entity in its own frame; None for furniture, and for what has no extent."""
        self._known(name)
        return self._engine.bounds(name) if name in self._spawned or name == self.profile.name else None

    def world_bounds(self, name: str) -> Bounds | None:
        """Return a box around an entity in its present pose, in the frame `world`; None if it has no extent."""
        box, pose = self.bounds(name), self.entity_state(name).pose
        if box is None:
            return None
        ends = zip(box.lower, box.upper, strict=True)
        corners = np.array([compose(pose, Pose(corner)).position for corner in product(*ends)])
        return Bounds(tuple(corners.min(axis=0).tolist()), tuple(corners.max(axis=0).tolist()))

    def set_entity_state(self, name: str, state: EntityState) -> None:
        """Put an object somewhere, with a velocity if it moves freely.

        Raises:
            NotMovable: the entity is the robot, or belongs to the world.
        """
        self._known(name)
        if name in self._own:
            raise NotMovable(f"entity '{name}' is fixed and cannot be moved")
        if self._yields(name):
            self._set[name] = state
            self._engine.put(name, state)
        elif state.pose != self._spawned[name].initial:
            # What stands fast has its place in the engine's world from the beginning.
            self._change(self._spawned | {name: replace(self._spawned[name], initial=state.pose)})

    def spawn(self, name: str, pose: Pose, *, uri: str = "", resource: str = "") -> None:
        """Spawn an object.

        Args:
            name: letters, digits and underscores, beginning with a letter.
            pose: pose of its origin.
            uri: URI or path of its SDF file, as `robocontrast export` writes it.
            resource: the SDF document itself, instead of a URI; its meshes are those of the exported folder.

        Raises:
            InvalidName: the name cannot be used.
            NameNotUnique: the world has an entity of that name.
            ResourceNotFound: the file cannot be read.
            InvalidModel: the resource is none that `robocontrast export` writes.
        """
        if not VALID_NAME.fullmatch(name):
            raise InvalidName(f"entity name: got '{name}', expected a letter, then letters, digits or underscores")
        if name in (taken := (*self.entities(), FURNITURE)):
            raise NameNotUnique(f"entity name: '{name}' is taken; there are: {', '.join(taken)}")
        model = parse_sdf(resource, self._models) if resource else read_sdf(resolve_uri(uri))
        self._change(self._spawned | {name: _Spawned(model, uri, pose)})

    def delete(self, name: str) -> None:
        """Delete a spawned object.

        Raises:
            NotMovable: the entity was not spawned.
        """
        self._known(name)
        if name in self._own:
            raise NotMovable(f"entity '{name}' belongs to the world and cannot be deleted")
        self._change({other: entity for other, entity in self._spawned.items() if other != name})

    def at_once(self) -> AbstractContextManager[None]:
        """Return an empty context: spawning and deleting take effect at once."""
        return nullcontext()

    def resources(self, models: Iterable[str]) -> dict[str, str]:
        """Return name of each model -> the file to spawn."""
        return {name: str(self._models / f"{name}.sdf") for name in models}

    def close(self) -> None:
        """Free nothing: there is no renderer."""

    def _known(self, name: str) -> None:
        if name not in self._own and name not in self._spawned:
            raise UnknownEntity(name, self.entities())

    def _yields(self, name: str) -> bool:
        """Return whether an entity moves if it is pushed."""
        return name in self._spawned and self._spawned[name].model.free

    def _change(self, spawned: Mapping[str, _Spawned]) -> None:
        """Change the spawned objects to these; the others keep their poses and velocities."""
        before, engine, robot = self._spawned, self._engine, self.profile.name
        self._spawned = dict(sorted(spawned.items()))
        try:
            self._engine = self._composed()
        except Exception:
            self._spawned = before
            raise
        for name, entity in self._spawned.items():
            if before.get(name) is not entity:
                self._set[name] = EntityState(entity.initial)
            elif entity.model.free:
                self._engine.put(name, self._set.get(name) or engine.state(name))
        self._engine.set_joints(robot, *engine.joints(robot)[1:])
        self._touched = frozenset()

    def _composed(self) -> Engine:
        things = {name: Placed(each.model, each.initial) for name, each in self._spawned.items()}
        return self._engine_of(
            {self.profile.name: self._robot, FURNITURE: self._furniture, **things}, self.step_duration
        )

    def _go_home(self) -> None:
        """Put the arm to its start, at rest, with an open hand, and let the servos hold it."""
        self._follower.go_home()
        hand = self.profile.end_effector.joints
        at = dict(zip(self.profile.joint_names, self._home.tolist(), strict=True))
        at |= {joint.name: joint.open for joint in hand}
        if hand:
            self._goal = self._hand_point = hand[0].open
        names = self._engine.joints(self.profile.name)[0]
        self._aimed = [at[name] for name in names]
        self._engine.set_joints(self.profile.name, self._aimed, [0.0] * len(names))

    def _grip(self, position: float) -> None:
        if not self.profile.has_hand:
            raise ValueError(f"'{self.profile.name}' has no hand that could go to {position}")
        driven = self.profile.end_effector.joints[0]
        self._goal = hand_goal(position, driven.name, (driven.open, driven.closed))

    def _servo(self, joint: str) -> Servo:
        return self._robot.servos[joint]

    def _aim(self) -> None:
        """Set the servos for the coming physics step, none farther ahead than where it presses with its whole force."""
        robot, hand = self.profile.name, self.profile.end_effector
        names, positions, velocities = self._engine.joints(robot)
        wanted = dict(zip(self.profile.joint_names, self._follower.next_set_points().tolist(), strict=True))
        if hand.joints:
            servo, now = self._servo(hand.joints[0].name), positions[names.index(hand.joints[0].name)]
            farthest, ahead = hand.drive_speed * self.step_duration, servo.effort / servo.stiffness
            self._hand_point = hand_set_point(self._hand_point, self._goal, now, farthest, ahead)
            wanted |= dict.fromkeys(self.profile.hand_joint_names, self._hand_point)
        self._aimed = []
        for name, position, velocity in zip(names, positions, velocities, strict=True):
            servo = self._servo(name)
            slows = servo.damping * velocity
            effort = servo.stiffness * (wanted[name] - position) - slows
            effort = min(max(effort, -servo.effort), servo.effort)
            self._aimed.append(position + (effort + slows) / servo.stiffness)
        self._engine.aim(robot, self._aimed)

    def _between_entities(self, touching: set[Any]) -> frozenset[tuple[str, str]]:
        """Return the pairs of entities, each in order of names; the floor is none."""
        found = set()
        for pair in touching:
            names = sorted(link if entity == FURNITURE else entity for entity, link in pair)
            if UNNAMED not in names and names[0] != names[1]:
                found.add((names[0], names[1]))
        return frozenset(found)


def _check(profile: RobotProfile, start: tuple[float, ...]) -> None:
    """Refuse a robot that cannot be moved here, and a start of another number of joints."""
    source = f"config of robot '{profile.name}'"
    if not isinstance(profile, ManipulatorProfile):
        expected = "manipulator, the one kind that moves in other engines than MuJoCo"
        raise ConfigurationError(source, "type", profile.type, expected)
    hand = profile.end_effector
    if hand.joints and hand.servo is None:
        expected = "a rod, or a hand each of whose joints has a servo of its own, such as sliding_jaw"
        raise ConfigurationError(source, "end_effector.type", hand.type, expected)
    if start and len(start) != len(profile.joints):
        raise ConfigurationError("parameters", "start_joints", list(start), f"{len(profile.joints)} numbers, or none")


def _servos(profile: ManipulatorProfile) -> dict[str, Servo]:
    gains = zip(profile.joints, profile.servo.stiffness, profile.servo.damping, strict=True)
    arm = {joint.name: Servo(stiffness, damping, joint.effort) for joint, stiffness, damping in gains}
    return arm | {joint.name: Servo(*profile.end_effector.servo) for joint in profile.end_effector.joints}
