"""The embedded world: a robot and its objects in MuJoCo, without ROS.

Physics is a function of the calls: the model is composed anew, in the order of the entities' names,
whenever one is spawned or deleted, and a reset clears the solver's memory, so the same scene moves
in the same way whatever happened before.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import mujoco

from robocontrast_ros.configuration import ConfigurationError, resolve_uri
from robocontrast_ros.configuration.plugins import import_object
from robocontrast_ros.domain import Pose, nanoseconds, stamp_text, whole_of
from robocontrast_ros.images.rendering import Camera, RenderingUnavailable
from robocontrast_ros.messages.topics import ROBOT_DESCRIPTION
from robocontrast_ros.perception import ObjectTag
from robocontrast_ros.robots.commands import RobotCommand
from robocontrast_ros.robots.description import Transform, camera_link, camera_transforms
from robocontrast_ros.robots.kinds import kind_of
from robocontrast_ros.robots.kinematics import Unreachable
from robocontrast_ros.robots.profile_base import RobotProfile
from robocontrast_ros.robots.state_estimation import Reading
from robocontrast_ros.robots.urdf import urdf_of
from robocontrast_ros.worlds.mujoco.bodies import Bodies
from robocontrast_ros.worlds.mujoco.cameras import Cameras
from robocontrast_ros.worlds.mujoco.composition import (
    Spawned,
    check_object,
    compose,
    read_object,
    read_resource,
    robot_prefix,
)
from robocontrast_ros.worlds.mujoco.embodiment import Embodiment
from robocontrast_ros.worlds.mujoco.entities import (
    VALID_NAME,
    Bounds,
    Category,
    EntityState,
    InvalidModel,
    InvalidName,
    NameNotUnique,
    NotMovable,
    ResetScope,
    ResourceNotFound,
    SimulationDiverged,
    Triple,
    UnknownEntity,
)
from robocontrast_ros.worlds.mujoco.sensors import Contacts, Description, JointState, Sensor, Transforms

_WARNING = mujoco.mjtWarning
DIVERGED = [w.value for w in (_WARNING.mjWARN_BADQPOS, _WARNING.mjWARN_BADQVEL, _WARNING.mjWARN_BADQACC)]


def _take_no_times() -> None:
    """Stop MuJoCo from measuring the time of its functions: nobody reads it, and it takes a twelfth of a step.

    Its Python package sets the clock when it is imported; ``set_mjcb_time(None)`` does not remove it.
    """
    library = ctypes.CDLL(sys.modules[mujoco.mj_step.__module__].__file__)
    ctypes.c_void_p.in_dll(library, "mjcb_time").value = None


_take_no_times()


class World:
    """A robot, the fixed furniture of a world model, and objects that are spawned and deleted.

    Frame: `world`, z up. All poses are of an entity's own origin in that frame. A name that no entity has raises
    UnknownEntity. Not thread-safe; `cameras` must be used from one thread.
    """

    def __init__(
        self,
        profile: RobotProfile,
        world: str,
        start: Triple | None = None,
        cameras: Sequence[Camera] = (),
        physics_step: float | None = None,
        tags: Mapping[str, Sequence[ObjectTag]] | None = None,
    ) -> None:
        """Compose the world.

        Args:
            profile: the robot.
            world: URI or path of the world's MJCF file.
            start: start of the robot, in `world` [m]: of an arm's tool, pointing down, or of a base. None for an arm's
                home posture, or the world model's start of a base.
            cameras: cameras of the world model or of the robot that will be rendered, with their resolutions.
            physics_step: simulated time of one physics step [s]; None for the world model's step.
            tags: name or model of an object, or ``OBJECT/PART`` -> tags that cameras see on it once it is spawned; None
                for no tags.

        Raises:
            ResourceNotFound: the world file cannot be read.
            InvalidModel: the file is no MJCF model, or has no camera of that name.
            Unreachable: the tool cannot start there.
        """
        self.profile = profile
        self._path = resolve_uri(world)
        read_resource(self._path)
        embodiment = import_object(kind_of(profile).embodiment, f"kind of robot '{profile.type}'", "embodiment")
        self._robot: Embodiment = embodiment(profile, start)
        self._mjcf = self._robot.mjcf()
        # Without cameras objects need no looks, whose textures take longest to draw.
        self._looks = bool(cameras)
        self.cameras = Cameras(cameras, robot_prefix(profile.name), str(self._path))
        self._physics_step = physics_step
        self._tags = dict(tags or {})
        self._spawned: dict[str, Spawned] = {}
        self._waiting = False
        self._bodies: Bodies | None = None
        self._steps = 0
        self._compose()
        self._own = self._bodies.names
        self._robot.go_home()
        self._bodies.refresh()

    # -- time and physics -------------------------------------------------------------------------

    @property
    def step_duration(self) -> float:
        """Simulated time of one physics step [s]."""
        return float(self._bodies.model.opt.timestep)

    @property
    def time_ns(self) -> int:
        """Simulated time [ns]: steps times their duration, so it has no rounding error."""
        return self._steps * nanoseconds(self.step_duration)

    def step(self, count: int = 1) -> None:
        """Advance the physics by a number of steps, with the robot's last command.

        Raises:
            SimulationDiverged: the physics engine found numbers that are not finite.
        """
        model, data = self._bodies.model, self._bodies.data
        self._touched.clear()
        self._pairs = None
        before_step, after_step, touched = self._robot.before_step, self._robot.after_step, self._touched
        mj_step = mujoco.mj_step
        for _ in range(count):
            before_step()
            mj_step(model, data)
            after_step()
            # From one step to the next mostly the same geometries touch, and mostly none.
            if data.ncon:
                touched.add(data.contact.geom.tobytes())
        self._steps += count
        if data.warning.number[DIVERGED].any():
            raise SimulationDiverged(f"the physics diverged at {stamp_text(self.time_ns)}; reset the simulation")
        self._bodies.refresh()

    def reset(self, scope: ResetScope | int = ResetScope.STATE) -> None:
        """Restore the parts of the scope; DEFAULT is ALL. Time goes on unless the scope includes TIME."""
        scope = int(scope) or ResetScope.ALL
        if scope & ResetScope.TIME:
            self._steps = 0
        if scope & ResetScope.SPAWNED and self._spawned:
            self._change({})
        if scope & ResetScope.STATE:
            self.cameras.move({})
            mujoco.mj_resetData(self._bodies.model, self._bodies.data)
            for name, entity in self._spawned.items():
                if self.category(name) is Category.DYNAMIC_OBJECT:
                    self._bodies.put(name, EntityState(entity.initial))
            self._robot.go_home()
            self._bodies.refresh()

    # -- robot ------------------------------------------------------------------------------------

    def apply_command(self, command: RobotCommand) -> None:
        """Let the robot carry out a command.

        Raises:
            ValueError: the command is not for this kind of robot.
        """
        self._robot.apply_command(command)

    def sensors(self) -> tuple[Sensor, ...]:
        """Return the data that the robot's driver publishes besides images, after the last `step` call."""
        return self._robot.sensors(Contacts(self.touched(), self.carried()))

    def latched_sensors(self) -> tuple[Sensor, ...]:
        """Return the data that are published once: the robot's description, and the frames that never move.

        These are an arm's base, frames fixed to a link, and the world's own cameras at their places.
        """
        profile, tree = self.profile, self._robot.tree
        standing = () if self._bodies.movable(profile.name) else (self._standing_base(),)
        cameras = (frame for name in self.cameras.standing() for frame in self._standing_camera(name))
        return (
            Sensor(ROBOT_DESCRIPTION.name, "", Description(urdf_of(tree))),
            Sensor(profile.static_transforms_topic, "", Transforms((*standing, *tree.fixed(), *cameras))),
        )

    def moving_frames(self) -> tuple[Transform, ...]:
        """Return the frames of the robot's links that joints move, in their parents' frames."""
        return self._robot.moving_frames()

    def _standing_base(self) -> Transform:
        return Transform(self.profile.world_frame, self._robot.tree.root, self._bodies.poses()[self.profile.name])

    def _standing_camera(self, name: str) -> tuple[Transform, ...]:
        optical = next(camera.frame_id for camera in self.profile.cameras if camera.name == name)
        return camera_transforms(self.profile.world_frame, self.cameras.pose(name), optical, camera_link(optical))

    def reading(self) -> Reading:
        """Return the state that the robot's driver publishes, for a state estimator."""
        return self._robot.reading(self.time_ns)

    def touched(self) -> tuple[str, ...]:
        """Return the names of the entities that the robot touched during the last `step` call, sorted."""
        own = self.profile.name
        others = ((a if b == own else b) for a, b in self.contacts() if own in (a, b))
        return tuple(sorted(others))

    def carried(self) -> tuple[str, ...]:
        """Return the names of the pushable entities that touched an entity carried or pushed by the robot, sorted.

        Each touched, during the last `step` call, a pushable entity that the robot also touched then.
        """
        own, yields = self.profile.name, self._bodies.yields
        things = [pair for pair in self.contacts() if own not in pair and all(map(yields, pair))]
        touched = set(self.touched())
        return tuple(sorted({b for pair in things for a, b in (pair, pair[::-1]) if a in touched}))

    def joint_state(self) -> JointState:
        """Return positions, velocities and torques of the robot's joints."""
        return self._robot.joint_state()

    def tool_pose(self) -> Pose:
        """Return the pose of an arm's tool, z pointing out of it, or of a base."""
        return self._robot.pose()

    # -- entities ---------------------------------------------------------------------------------

    def entities(self) -> tuple[str, ...]:
        """Return the names of the robot, of the world's bodies, and of the spawned objects, in that order."""
        return self._bodies.names

    def category(self, name: str) -> Category:
        """Return the kind of an entity."""
        movable = self._bodies.movable(name)
        if name == self.profile.name:
            return Category.ROBOT
        return Category.DYNAMIC_OBJECT if movable else Category.STATIC_OBJECT

    def source(self, name: str) -> str:
        """Return the source of an entity's model: a URI or path, or nothing for a model given as a string."""
        self._bodies.body(name)
        spawned = self._spawned.get(whole_of(name) or name)
        return spawned.source if spawned is not None else str(self._path)

    def bounds(self, name: str) -> Bounds | None:
        """Return the box around an entity in its present pose, in its own frame; None if it has no extent."""
        return self._bodies.bounds(name)

    def world_bounds(self, name: str) -> Bounds | None:
        """Return the box around an entity in its present pose, in the frame `world`; None if it has no extent."""
        return self._bodies.world_bounds(name)

    def entity_state(self, name: str) -> EntityState:
        """Return pose and twist of an entity."""
        return self._bodies.state(name)

    def poses(self) -> dict[str, Pose]:
        """Return the pose of every entity."""
        return self._bodies.poses()

    def set_entity_state(self, name: str, state: EntityState) -> None:
        """Put a movable object, or a mobile robot, somewhere, with a velocity.

        A mocap body has no velocity. A part of an object, ``OBJECT/PART``, comes as near to the pose as its joint
        allows, and rests. The driver of a robot that is put elsewhere restarts.

        Raises:
            NotMovable: the entity is fixed.
        """
        self._bodies.put(name, state)
        if name == self.profile.name:
            self._robot.teleported()
        self._bodies.refresh()

    def spawn(self, name: str, pose: Pose, *, uri: str = "", resource: str = "") -> None:
        """Spawn an object.

        Args:
            name: letters, digits and underscores, beginning with a letter.
            pose: pose of its origin.
            uri: URI or path of its MJCF file: one top-level body, with a free joint if it can move; or
                ``FILE.yaml#VARIANT`` for an object of a library.
            resource: the MJCF document itself, instead of a URI.

        Raises:
            InvalidName: the name cannot be used.
            NameNotUnique: the world has an entity of that name.
            ResourceNotFound: the file cannot be read.
            InvalidModel: the resource is no MJCF model with one top-level body.
        """
        if not VALID_NAME.fullmatch(name):
            raise InvalidName(f"entity name: got '{name}', expected a letter, then letters, digits or underscores")
        names = (*self._own, *self._spawned)
        if name in names:
            raise NameNotUnique(f"entity name: '{name}' is taken; there are: {', '.join(names)}")
        entity = read_object(name, uri, resource, pose)
        check_object(entity)
        self._change(self._spawned | {name: entity})

    def delete(self, name: str) -> None:
        """Delete a spawned object.

        Raises:
            NotMovable: the entity was not spawned.
        """
        if name in self._own:
            raise NotMovable(f"entity '{name}' belongs to the world and cannot be deleted")
        if whole_of(name) in self._spawned and name in self._bodies.names:
            raise NotMovable(f"entity '{name}' is a part of '{whole_of(name)}' and cannot be deleted alone")
        if name not in self._spawned:
            raise UnknownEntity(name, (*self._own, *self._spawned))
        self._change({other: entity for other, entity in self._spawned.items() if other != name})

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Let all spawning and deleting in this context take effect at its end, with one composition.

        Raises:
            InvalidModel: the parts do not fit together; then none of it takes effect.
        """
        before, self._waiting = self._spawned, True
        try:
            yield
        finally:
            wanted, self._spawned, self._waiting = self._spawned, before, False
            if wanted is not before:
                self._change(wanted)

    def resources(self, models: Mapping[str, str]) -> Mapping[str, str]:
        """Return name of each model of a task -> the resource to spawn: that of the task."""
        return models

    def contacts(self) -> frozenset[tuple[str, str]]:
        """Return the pairs of entities, each in order of names, that touched during the last `step` call.

        They do not include pairs that both sleep in the physics engine, as resting blocks on the board do.
        """
        if self._pairs is None:
            self._pairs = self._bodies.touching(self._touched)
        return self._pairs

    @property
    def description(self) -> str:
        """The simulator and renderer of this world, in words: another renderer draws other images."""
        physics = f"MuJoCo {mujoco.__version__}, one step is {self.step_duration} s"
        return f"{physics}; {self.cameras.renderer}"

    def close(self) -> None:
        """Free the renderer."""
        self.cameras.close()

    def _change(self, spawned: Mapping[str, Spawned]) -> None:
        """Change the spawned objects to these, and put new ones to the poses at which they were spawned.

        Raises:
            InvalidModel: the parts do not fit together; then nothing changes.
        """
        before, self._spawned = self._spawned, dict(sorted(spawned.items()))
        if self._waiting:
            return
        try:
            self._compose()
        except InvalidModel:
            self._spawned = before
            raise
        for name, entity in self._spawned.items():
            if before.get(name) is not entity and self.category(name) is Category.DYNAMIC_OBJECT:
                self.set_entity_state(name, EntityState(entity.initial))

    def _compose(self) -> None:
        """Compile the model from its parts; entities keep their poses and velocities by name."""
        model, roots = compose(
            self._path, self.profile.name, self._mjcf, self._spawned.values(), self._looks, self._tags
        )
        model.opt.timestep = self._physics_step or model.opt.timestep
        before, self._bodies = self._bodies, Bodies(model, roots)
        self._touched: set[bytes] = set()
        self._pairs: frozenset[tuple[str, str]] | None = None
        self._robot.bind(model, self._bodies.data, robot_prefix(self.profile.name))
        self.cameras.bind(self._bodies)
        if before is not None:
            self._bodies.restore(before)
        self._bodies.refresh()


def start_world(
    profile: RobotProfile,
    uri: str,
    start: Triple | None,
    cameras: Sequence[Camera],
    physics_step: float,
    source: str,
    tags: Mapping[str, Sequence[ObjectTag]] | None = None,
) -> World:
    """Return a world in which each camera has drawn a first image, which takes seconds.

    The arguments are those of ``World``; ``source`` holds them, for the error.

    Raises:
        ConfigurationError: the parameter `world`, `start_position` or `cameras` does not fit.
    """
    offered = [camera.name for camera in profile.cameras]
    names = tuple(camera.name for camera in cameras)
    for name in names:
        if name not in offered:
            raise ConfigurationError.unknown(source, "cameras", name, offered, f"camera of '{profile.name}'")
    try:
        world = World(profile, uri, start, cameras, physics_step, tags)
        for name in names:
            world.cameras.render(name)
    except (ResourceNotFound, InvalidModel) as error:
        raise ConfigurationError(source, "world", uri, f"a world model ({error})") from None
    except Unreachable as error:
        expected = f"a place that the tool reaches ({error})"
        raise ConfigurationError(source, "start_position", start, expected) from None
    except RenderingUnavailable as error:
        expected = f"a machine that can draw images ({error})"
        raise ConfigurationError(source, "cameras", names, expected) from None
    return world
