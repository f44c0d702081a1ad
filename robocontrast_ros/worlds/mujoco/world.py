"""The embedded world: a robot and its objects in MuJoCo, without ROS.

Physics is a function of the calls made: the model is composed anew, in the order of the entities'
names, whenever one comes or goes, and a reset clears the solver's memory, so the same scene moves
alike whatever happened before it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

import mujoco
import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.domain import Pose
from robocontrast_ros.domain.products import product
from robocontrast_ros.robots.commands import RobotCommand
from robocontrast_ros.robots.profile import DifferentialDriveProfile, ManipulatorProfile, RobotProfile
from robocontrast_ros.robots.state_estimation import Reading
from robocontrast_ros.worlds.mujoco.arm import Arm
from robocontrast_ros.worlds.mujoco.base import Base
from robocontrast_ros.worlds.mujoco.composition import (
    Spawned,
    check_object,
    compose,
    read_resource,
    robot_prefix,
)
from robocontrast_ros.worlds.mujoco.embodiment import Embodiment, xyzw
from robocontrast_ros.worlds.mujoco.entities import (
    Bounds,
    Category,
    EntityState,
    InvalidModel,
    InvalidName,
    NameNotUnique,
    NotMovable,
    ResetScope,
    SimulationDiverged,
    Twist,
    UnknownEntity,
)
from robocontrast_ros.worlds.mujoco.rendering import Camera, CameraInfo, Renderer, RenderingUnavailable
from robocontrast_ros.worlds.mujoco.sensors import JointState, Sensor

VALID_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
NANOSECONDS = 1_000_000_000

# Numbers that describe the position and the velocity of a joint, by its type: free, ball, slide, hinge.
POSITIONS = {0: 7, 1: 4, 2: 1, 3: 1}
VELOCITIES = {0: 6, 1: 3, 2: 1, 3: 1}

EMBODIMENTS: dict[type[RobotProfile], Callable[..., Embodiment]] = {
    DifferentialDriveProfile: Base,
    ManipulatorProfile: Arm,
}

DIVERGED = tuple(
    kind.value
    for kind in (
        mujoco.mjtWarning.mjWARN_BADQPOS,
        mujoco.mjtWarning.mjWARN_BADQVEL,
        mujoco.mjtWarning.mjWARN_BADQACC,
    )
)


class World:
    """A robot, the fixed furniture of a world model, and objects that come and go.

    Frame: `world`, z up. All poses are of an entity's own origin in that frame. Not thread-safe; render
    from the thread that first rendered.
    """

    def __init__(
        self,
        profile: RobotProfile,
        world: str,
        start: tuple[float, float, float] | None = None,
        cameras: Sequence[Camera] = (),
        physics_step: float | None = None,
    ) -> None:
        """Compose the world.

        Args:
            profile: the robot.
            world: URI or path of the world's MJCF file.
            start: where the robot starts, in `world` [m]: an arm's tool, pointing down, or a base. None for an
                arm's home posture, or where the world model says that a base stands.
            cameras: cameras of the world model or of the robot that will be rendered, with their resolutions.
            physics_step: simulated time of one physics step [s]; None for the world model's.

        Raises:
            ResourceNotFound: the world file cannot be read.
            InvalidModel: it is no MJCF model, or has no camera of that name.
            Unreachable: the tool cannot start there.
        """
        self.profile = profile
        self._path = resolve_uri(world)
        read_resource(self._path)
        self._robot = EMBODIMENTS[type(profile)](profile, start)
        self._cameras = tuple(cameras)
        self._physics_step = physics_step
        self._spawned: dict[str, Spawned] = {}
        self._renderer: Renderer | None = None
        self._steps = 0
        self._compose()
        self._robot.go_home()
        self._refresh()

    # -- time and physics -------------------------------------------------------------------------

    @property
    def step_duration(self) -> float:
        """Simulated time of one physics step [s]."""
        return float(self._model.opt.timestep)

    @property
    def time_ns(self) -> int:
        """Simulated time [ns]; steps times their duration, so it holds no rounding error."""
        return self._steps * round(self.step_duration * NANOSECONDS)

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self.time_ns / NANOSECONDS

    def step(self, count: int = 1) -> None:
        """Advance the physics by a number of steps, the robot following its command.

        Raises:
            SimulationDiverged: the physics engine found numbers that are not finite.
        """
        model, data = self._model, self._data
        self._touched.clear()
        for _ in range(count):
            self._robot.before_step()
            mujoco.mj_step(model, data)
            self._robot.after_step()
            # From one step to the next it is mostly the same geometries that touch.
            self._touched.add(data.contact.geom.tobytes())
        self._steps += count
        if any(data.warning[kind].number for kind in DIVERGED):
            raise SimulationDiverged(f"the physics diverged at {self.time:.3f} s; reset the simulation")
        self._refresh()

    def reset(self, scope: ResetScope | int = ResetScope.STATE) -> None:
        """Restore what the scope names; DEFAULT is ALL. Time goes on unless TIME is among it."""
        scope = int(scope) or ResetScope.ALL
        if scope & ResetScope.TIME:
            self._steps = 0
        if scope & ResetScope.SPAWNED and self._spawned:
            self._spawned.clear()
            self._compose()
        if scope & ResetScope.STATE:
            mujoco.mj_resetData(self._model, self._data)
            for name, entity in self._spawned.items():
                if self.category(name) is Category.DYNAMIC_OBJECT:
                    self._put(name, EntityState(entity.initial))
            self._robot.go_home()
            self._refresh()

    # -- robot ------------------------------------------------------------------------------------

    def apply_command(self, command: RobotCommand) -> None:
        """Let the robot carry out a command.

        Raises:
            ValueError: it is no command for this robot.
        """
        self._robot.apply_command(command)

    def sensors(self) -> tuple[Sensor, ...]:
        """Return what the robot's driver publishes besides images, as of the last `step` call."""
        return self._robot.sensors(self.touched())

    def latched_sensors(self) -> tuple[Sensor, ...]:
        """Return what the robot's driver publishes once."""
        return self._robot.latched_sensors()

    def reading(self) -> Reading:
        """Return what the state interface of the robot's driver says, for a state estimator."""
        return self._robot.reading(self.time)

    def touched(self) -> tuple[str, ...]:
        """Return the names of the entities that the robot touched during the last `step` call, sorted."""
        own = self.profile.name
        others = ((a if b == own else b) for a, b in self.contacts() if own in (a, b))
        return tuple(sorted(others))

    def joint_state(self) -> JointState:
        """Return positions, velocities and torques of the robot's joints."""
        return self._robot.joint_state()

    def tool_pose(self) -> Pose:
        """Return where the robot acts: the pose of an arm's tool, z pointing out of it, or of a base."""
        return self._robot.pose()

    # -- entities ---------------------------------------------------------------------------------

    def entities(self) -> tuple[str, ...]:
        """Return the names of the robot, of the world's bodies, and of what was spawned, in that order."""
        return self._names

    def category(self, name: str) -> Category:
        """Return what kind of thing an entity is.

        Raises:
            UnknownEntity: there is none of that name.
        """
        body = self._body(name)
        if name == self.profile.name:
            return Category.ROBOT
        movable = self._free_joint(body) is not None or self._mocap(body) is not None
        return Category.DYNAMIC_OBJECT if movable else Category.STATIC_OBJECT

    def source(self, name: str) -> str:
        """Return where an entity's model came from: a URI or path, or nothing for one given as a string.

        Raises:
            UnknownEntity: there is none of that name.
        """
        self._body(name)
        return self._spawned[name].source if name in self._spawned else str(self._path)

    def bounds(self, name: str) -> Bounds | None:
        """Return the box around an entity as it is now, in its own frame; None when it has no extent.

        Raises:
            UnknownEntity: there is none of that name.
        """
        body = self._body(name)
        rotation = self._data.xmat[body].reshape(3, 3)
        return _box(product(self._corners(name) - self._data.xpos[body], rotation))

    def world_bounds(self, name: str) -> Bounds | None:
        """Return the box around an entity as it is now, in the frame `world`; None when it has no extent.

        Raises:
            UnknownEntity: there is none of that name.
        """
        return _box(self._corners(name))

    def entity_state(self, name: str) -> EntityState:
        """Return pose and twist of an entity.

        Raises:
            UnknownEntity: there is none of that name.
        """
        body = self._body(name)
        velocity = np.zeros(6)
        mujoco.mj_objectVelocity(self._model, self._data, mujoco.mjtObj.mjOBJ_XBODY.value, body, velocity, 0)
        angular, linear = velocity[:3].tolist(), velocity[3:].tolist()
        return EntityState(self._pose(body), Twist(tuple(linear), tuple(angular)))

    def poses(self) -> dict[str, Pose]:
        """Return the pose of every entity."""
        return {name: self._pose(body) for name, body in self._roots.items()}

    def set_entity_state(self, name: str, state: EntityState) -> None:
        """Put a movable object, or a mobile robot, somewhere, with a velocity.

        What is moved by hand alone (a mocap body) has no velocity; a robot that is put somewhere has its
        driver start anew.

        Raises:
            UnknownEntity: there is none of that name.
            NotMovable: it is fixed.
        """
        self._put(name, state)
        if name == self.profile.name:
            self._robot.teleported()
        self._refresh()

    def spawn(self, name: str, pose: Pose, *, uri: str = "", resource: str = "") -> None:
        """Bring an object in.

        Args:
            name: letters, digits and underscores, beginning with a letter.
            pose: where its origin is.
            uri: URI or path of its MJCF file: one top-level body, with a free joint if it can move.
            resource: the MJCF document itself, instead of a URI.

        Raises:
            InvalidName: the name cannot be used.
            NameNotUnique: the world has an entity of that name.
            ResourceNotFound: the file cannot be read.
            InvalidModel: it is no MJCF model with one top-level body.
        """
        if not VALID_NAME.fullmatch(name):
            raise InvalidName(
                f"entity name: got '{name}', expected a letter, then letters, digits or underscores"
            )
        if name in self._names:
            raise NameNotUnique(f"entity name: '{name}' is taken; there are: {', '.join(self._names)}")
        path = None if resource else resolve_uri(uri)
        entity = Spawned(
            name=name,
            source="" if resource else uri,
            xml=resource if path is None else read_resource(path),
            folder=None if path is None else path.parent,
            initial=pose,
        )
        check_object(entity)
        before = self._spawned
        self._spawned = dict(sorted((before | {name: entity}).items()))
        try:
            self._compose()
        except InvalidModel:
            self._spawned = before
            raise
        if self.category(name) is Category.DYNAMIC_OBJECT:
            self.set_entity_state(name, EntityState(pose))

    def delete(self, name: str) -> None:
        """Take out an object that was spawned.

        Raises:
            UnknownEntity: there is none of that name.
            NotMovable: it was not spawned.
        """
        self._body(name)
        if name not in self._spawned:
            raise NotMovable(f"entity '{name}' belongs to the world and cannot be deleted")
        del self._spawned[name]
        self._compose()

    def contacts(self) -> frozenset[tuple[str, str]]:
        """Return the pairs of entities, each in order of names, that touched during the last `step` call.

        What two entities that both rest have of each other is not among them: a block that sleeps lies on the board
        without being asked.
        """
        geometries = np.frombuffer(b"".join(self._touched), dtype=np.int32).reshape(-1, 2)
        pairs = np.unique(self._geom_entity[geometries], axis=0).tolist()
        named = (
            (self._names[a], self._names[b]) for a, b in pairs if a != b and max(a, b) < len(self._names)
        )
        return frozenset((a, b) if a < b else (b, a) for a, b in named)

    # -- cameras ----------------------------------------------------------------------------------

    @property
    def cameras(self) -> tuple[Camera, ...]:
        """The cameras that can be rendered."""
        return self._cameras

    def render(self, camera: str) -> NDArray[np.uint8]:
        """Return a camera's image, shape (height, width, 3), RGB.

        Raises:
            RenderingUnavailable: OpenGL does not work on this machine.
        """
        return self._opened().render(self._model, self._data, camera, self._camera_index(camera))

    @property
    def description(self) -> str:
        """What simulates and draws this world, in words: images of another renderer are other images."""
        simulated = f"MuJoCo {mujoco.__version__}, one step is {self.step_duration} s; "
        if not self._cameras:
            return simulated + "nothing is drawn"
        try:
            return simulated + f"drawn by {self._opened().description}"
        except RenderingUnavailable:
            return simulated + "nothing can be drawn here"

    def _opened(self) -> Renderer:
        if self._renderer is None:
            self._renderer = Renderer(self._cameras)
        return self._renderer

    def camera_info(self, camera: str) -> CameraInfo:
        """Return a camera's intrinsics; pixel (0, 0) is the centre of the upper left pixel."""
        chosen = next(c for c in self._cameras if c.name == camera)
        fovy = math.radians(self._model.cam_fovy[self._camera_index(camera)])
        focal = chosen.height / 2 / math.tan(fovy / 2)
        centre_x, centre_y = (chosen.width - 1) / 2, (chosen.height - 1) / 2
        return CameraInfo(
            chosen.width, chosen.height, (focal, 0.0, centre_x, 0.0, focal, centre_y, 0.0, 0.0, 1.0)
        )

    def camera_pose(self, camera: str) -> Pose:
        """Return the pose of a camera's optical frame (REP-105: z forward, y down)."""
        index = self._camera_index(camera)
        matrix = self._data.cam_xmat[index].reshape(3, 3) * np.array([1.0, -1.0, -1.0])
        x, y, z = self._data.cam_xpos[index].tolist()
        return Pose((x, y, z), xyzw(matrix))

    def close(self) -> None:
        """Free the renderer."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    # -- inside -----------------------------------------------------------------------------------

    def _compose(self) -> None:
        """Compile the model from its parts, keeping by name where everything is."""
        composition = compose(self._path, self.profile.name, self._robot.mjcf(), self._spawned.values())
        before, placed = (self._motion(), self._placed()) if hasattr(self, "_model") else ({}, {})
        model = composition.model
        model.opt.timestep = self._physics_step or model.opt.timestep
        self._model, self._data = model, mujoco.MjData(model)
        self._roots = {name: model.body(body).id for name, body in composition.roots.items()}
        self._names = tuple(self._roots)
        joints = {body: self._free_joint(body) for body in self._roots.values()}
        self._free = {body: int(model.jnt_qposadr[j]) for body, j in joints.items() if j is not None}
        entity_of = {body: index for index, body in enumerate(self._roots.values())}
        roots = model.body_rootid[model.geom_bodyid]
        self._geom_entity = np.array([entity_of.get(root, len(entity_of)) for root in roots], dtype=int)
        self._touched: set[bytes] = set()
        self._robot.bind(model, self._data, robot_prefix(self.profile.name))
        for camera in self._cameras:
            self._keep_horizontal_view(camera)
        for key, (position, velocity) in before.items():
            if key in (slots := self._slots()):
                qpos, qvel = slots[key]
                self._data.qpos[qpos], self._data.qvel[qvel] = position, velocity
        for name, pose in placed.items():
            if name in self._roots:
                self._put(name, EntityState(pose))
        self._refresh()

    def _placed(self) -> dict[str, Pose]:
        """Return where every entity is that is moved by hand alone."""
        held = (name for name, body in self._roots.items() if self._mocap(body) is not None)
        return {name: self.entity_state(name).pose for name in held}

    def _slots(self) -> dict[tuple[str, int], tuple[slice, slice]]:
        """Return where each joint's position and velocity are, by name of body and place in it."""
        model = self._model
        slots = {}
        for joint in range(model.njnt):
            body = model.jnt_bodyid[joint]
            kind = model.jnt_type[joint]
            qpos, qvel = model.jnt_qposadr[joint], model.jnt_dofadr[joint]
            key = (model.body(body).name, joint - model.body_jntadr[body])
            slots[key] = (slice(qpos, qpos + POSITIONS[kind]), slice(qvel, qvel + VELOCITIES[kind]))
        return slots

    def _motion(self) -> dict[tuple[str, int], tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Return position and velocity of every joint."""
        data = self._data
        return {
            key: (data.qpos[qpos].copy(), data.qvel[qvel].copy())
            for key, (qpos, qvel) in self._slots().items()
        }

    def _keep_horizontal_view(self, camera: Camera) -> None:
        """Give a camera the vertical field of view that keeps the horizontal one at its resolution."""
        index = self._camera_index(camera.name)
        width, height = self._model.cam_resolution[index]
        half = math.tan(math.radians(self._model.cam_fovy[index]) / 2) * width / height
        self._model.cam_fovy[index] = math.degrees(2 * math.atan(half * camera.height / camera.width))

    def _camera_index(self, name: str) -> int:
        """Return the index of a camera of the robot, or else of the world model."""
        own = robot_prefix(self.profile.name)
        for candidate in (own + name, name):
            index = mujoco.mj_name2id(self._model, mujoco.mjtObj.mjOBJ_CAMERA.value, candidate)
            if index >= 0:
                return index
        known = ", ".join(self._model.camera(i).name.removeprefix(own) for i in range(self._model.ncam))
        raise InvalidModel(f"{self._path}: no camera '{name}'; there are: {known}")

    def _body(self, name: str) -> int:
        if name not in self._roots:
            raise UnknownEntity(name, self._names)
        return self._roots[name]

    def _free_joint(self, body: int) -> int | None:
        """Return the index of a body's free joint, or None when it is fixed."""
        joint = self._model.body_jntadr[body]
        free = joint >= 0 and self._model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE
        return int(joint) if free else None

    def _mocap(self, body: int) -> int | None:
        """Return the index of a body that is moved by hand alone among those, or None for another."""
        index = int(self._model.body_mocapid[body])
        return index if index >= 0 else None

    def _pose(self, body: int) -> Pose:
        """Return where an entity is; what was set is read back to the last bit."""
        data, start = self._data, self._free.get(body)
        if start is not None:
            x, y, z, qw, qx, qy, qz = data.qpos[start : start + 7].tolist()
        elif (mocap := self._mocap(body)) is not None:
            (x, y, z), (qw, qx, qy, qz) = data.mocap_pos[mocap].tolist(), data.mocap_quat[mocap].tolist()
        else:
            (x, y, z), (qw, qx, qy, qz) = data.xpos[body].tolist(), data.xquat[body].tolist()
        return Pose((x, y, z), (qx, qy, qz, qw))

    def _corners(self, name: str) -> NDArray[np.float64]:
        """Return the corners of the boxes around an entity's geometries in the world, shape (n, 3)."""
        self._body(name)
        model, data = self._model, self._data
        own = self._geom_entity == self._names.index(name)
        finite = model.geom_type != mujoco.mjtGeom.mjGEOM_PLANE.value
        signs = np.array(np.meshgrid((-1, 1), (-1, 1), (-1, 1))).reshape(3, -1).T
        corners = [
            data.geom_xpos[geom]
            + product(
                model.geom_aabb[geom, :3] + signs * model.geom_aabb[geom, 3:],
                data.geom_xmat[geom].reshape(3, 3).T,
            )
            for geom in np.flatnonzero(own & finite)
        ]
        return np.concatenate(corners) if corners else np.empty((0, 3))

    def _put(self, name: str, state: EntityState) -> None:
        body = self._body(name)
        joint, mocap = self._free_joint(body), self._mocap(body)
        if joint is None and mocap is None:
            raise NotMovable(f"entity '{name}' is fixed and cannot be moved")
        x, y, z, w = state.pose.orientation
        self._data.qacc_warmstart[:] = 0.0
        self._wake_all()
        if mocap is not None:
            self._data.mocap_pos[mocap], self._data.mocap_quat[mocap] = state.pose.position, (w, x, y, z)
            return
        qpos, qvel = self._model.jnt_qposadr[joint], self._model.jnt_dofadr[joint]
        quaternion = np.array([w, x, y, z])
        rotation = np.empty(9)
        mujoco.mju_quat2Mat(rotation, quaternion)
        self._data.qpos[qpos : qpos + 7] = (*state.pose.position, *quaternion)
        self._data.qvel[qvel : qvel + 3] = state.twist.linear
        # A free joint's angular velocity is in the body's own frame.
        self._data.qvel[qvel + 3 : qvel + 6] = product([state.twist.angular], rotation.reshape(3, 3))[0]

    def _wake_all(self) -> None:
        """Have nothing sleep from the next `_refresh` on, nor be about to, however long it has rested."""
        asleep = self._data.tree_asleep
        asleep[asleep < 0] = -(1 + mujoco.mjMINAWAKE)
        self._data.tree_awake[:] = 1

    def _refresh(self) -> None:
        """Bring poses, velocities and cameras up to the joints; it leaves the solver's memory alone."""
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_comPos(self._model, self._data)
        mujoco.mj_camlight(self._model, self._data)
        mujoco.mj_comVel(self._model, self._data)


def _box(points: NDArray[np.float64]) -> Bounds | None:
    """Return the axis-aligned box around points, shape (n, 3); None for none."""
    if not len(points):
        return None
    return Bounds(tuple(points.min(axis=0).tolist()), tuple(points.max(axis=0).tolist()))
