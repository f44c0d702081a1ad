"""The embedded world: a robot and its objects in MuJoCo, without ROS.

Physics is a function of the calls made: the model is composed anew, in the order of the entities'
names, whenever one comes or goes, and a reset clears the solver's memory, so the same scene moves
alike whatever happened before it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.domain import Pose
from robocontrast_ros.robots.commands import JointTrajectoryCommand
from robocontrast_ros.robots.kinematics import Kinematics
from robocontrast_ros.robots.model import TOOL_SITE
from robocontrast_ros.robots.profile import RobotProfile
from robocontrast_ros.simulators.composition import (
    Spawned,
    check_object,
    compose,
    read_resource,
    robot_prefix,
)
from robocontrast_ros.simulators.entities import (
    Bounds,
    Category,
    EntityState,
    InvalidModel,
    InvalidName,
    JointState,
    NameNotUnique,
    NotMovable,
    ResetScope,
    SimulationDiverged,
    Twist,
    UnknownEntity,
)
from robocontrast_ros.simulators.rendering import Camera, CameraInfo, Renderer

VALID_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
NANOSECONDS = 1_000_000_000

# Numbers that describe the position and the velocity of a joint, by its type: free, ball, slide, hinge.
POSITIONS = {0: 7, 1: 4, 2: 1, 3: 1}
VELOCITIES = {0: 6, 1: 3, 2: 1, 3: 1}

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
            start: where the robot's tool starts, pointing down, in `world` [m]; None for its home posture.
            cameras: cameras of the world model that will be rendered, with their resolutions.
            physics_step: simulated time of one physics step [s]; None for the world model's.

        Raises:
            ResourceNotFound: the world file cannot be read.
            InvalidModel: it is no MJCF model, or has no camera of that name.
            Unreachable: the tool cannot start there.
        """
        self.profile = profile
        self._path = resolve_uri(world)
        read_resource(self._path)
        self._kinematics = Kinematics(profile)
        self._home = tuple(profile.home) if start is None else self._kinematics.posture(start)
        self._cameras = tuple(cameras)
        self._lead = np.asarray(profile.servo.damping) / np.asarray(profile.servo.stiffness)
        self._physics_step = physics_step
        self._spawned: dict[str, Spawned] = {}
        self._renderer: Renderer | None = None
        self._steps = 0
        self._compose()
        self._put_robot(self._home)
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
        """Advance the physics by a number of steps, following the robot's trajectory.

        Raises:
            SimulationDiverged: the physics engine found numbers that are not finite.
        """
        model, data = self._model, self._data
        self._touched[:] = False
        for _ in range(count):
            self._followed += 1
            desired = self._trajectory.position(self._followed)
            # A servo with damping lags behind a moving set point; leading by the velocity cancels that.
            velocity = (desired - self._trajectory.position(self._followed - 1)) / self.step_duration
            data.ctrl[self._actuators] = desired + self._lead * velocity
            mujoco.mj_step(model, data)
            self._steps += 1
            pairs = self._geom_entity[data.contact.geom]
            self._touched[pairs[:, 0], pairs[:, 1]] = True
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
            self._put_robot(self._home)
            self._refresh()

    # -- robot ------------------------------------------------------------------------------------

    def joint_state(self) -> JointState:
        """Return positions, velocities and torques of the robot's joints."""
        data = self._data
        return JointState(
            self.profile.joint_names,
            tuple(data.qpos[self._joint_qpos].tolist()),
            tuple(data.qvel[self._joint_qvel].tolist()),
            tuple(self._efforts().tolist()),
        )

    def tool_pose(self) -> Pose:
        """Return the pose of the robot's tool, z pointing out of it."""
        x, y, z = self._data.site_xpos[self._tool].tolist()
        return Pose((x, y, z), _xyzw(self._data.site_xmat[self._tool]))

    def place_tool(self, x: float, y: float, z: float) -> None:
        """Put the robot, at rest, where its tool points down at (x, y, z) [m]; resets restore that.

        Raises:
            Unreachable: the tool cannot be there.
        """
        self._home = self._kinematics.posture((x, y, z))
        self._put_robot(self._home)
        self._refresh()

    def follow(self, command: JointTrajectoryCommand) -> None:
        """Let the joints go to a position, straight in joint space, and hold it.

        The motion starts from where the previous command has brought the set point, as
        joint_trajectory_controller does when it interpolates from the desired state.

        Raises:
            ValueError: the joints are not the robot's, or a number is not finite or negative.
        """
        if sorted(command.names) != sorted(self.profile.joint_names) or len(command.positions) != len(
            command.names
        ):
            raise ValueError(
                f"joint trajectory: got a position for {', '.join(command.names) or 'no joint'}, expected "
                f"one for each of {', '.join(self.profile.joint_names)}"
            )
        if not (all(map(math.isfinite, command.positions)) and 0.0 <= command.duration < math.inf):
            raise ValueError(
                f"joint trajectory: got {command}, expected finite positions and a duration >= 0 s"
            )
        order = [command.names.index(name) for name in self.profile.joint_names]
        goal = np.asarray(command.positions, dtype=float)[order]
        length = max(round(command.duration / self.step_duration), 1)
        here = self._trajectory.position(self._followed)
        self._trajectory, self._followed = _Trajectory(here, self._kinematics.clamp(goal), length), 0

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
        return Category.DYNAMIC_OBJECT if self._free_joint(body) is not None else Category.STATIC_OBJECT

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
        return _box((self._corners(name) - self._data.xpos[body]) @ rotation)

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
        joint = self._free_joint(body)
        if joint is not None:
            # What was set is read back to the last bit.
            start = self._model.jnt_qposadr[joint]
            x, y, z, qw, qx, qy, qz = self._data.qpos[start : start + 7].tolist()
        else:
            (x, y, z), (qw, qx, qy, qz) = self._data.xpos[body].tolist(), self._data.xquat[body].tolist()
        velocity = np.zeros(6)
        mujoco.mj_objectVelocity(self._model, self._data, mujoco.mjtObj.mjOBJ_XBODY.value, body, velocity, 0)
        angular, linear = velocity[:3].tolist(), velocity[3:].tolist()
        return EntityState(Pose((x, y, z), (qx, qy, qz, qw)), Twist(tuple(linear), tuple(angular)))

    def set_entity_state(self, name: str, state: EntityState) -> None:
        """Put a movable object somewhere, with a velocity.

        Raises:
            UnknownEntity: there is none of that name.
            NotMovable: it is fixed, or the robot.
        """
        self._put(name, state)
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
        """Return the pairs of entities, each in order of names, that touched during the last `step` call."""
        count = len(self._names)
        pairs = ((self._names[a], self._names[b]) for a, b in np.argwhere(self._touched[:count, :count]))
        return frozenset((a, b) if a < b else (b, a) for a, b in pairs if a != b)

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
        if self._renderer is None:
            self._renderer = Renderer(self._cameras)
        return self._renderer.render(self._model, self._data, camera)

    def camera_info(self, camera: str) -> CameraInfo:
        """Return a camera's intrinsics; pixel (0, 0) is the centre of the upper left pixel."""
        chosen = next(c for c in self._cameras if c.name == camera)
        fovy = math.radians(self._model.cam_fovy[self._model.camera(camera).id])
        focal = chosen.height / 2 / math.tan(fovy / 2)
        centre_x, centre_y = (chosen.width - 1) / 2, (chosen.height - 1) / 2
        return CameraInfo(
            chosen.width, chosen.height, (focal, 0.0, centre_x, 0.0, focal, centre_y, 0.0, 0.0, 1.0)
        )

    def camera_pose(self, camera: str) -> Pose:
        """Return the pose of a camera's optical frame (REP-105: z forward, y down)."""
        index = self._model.camera(camera).id
        matrix = self._data.cam_xmat[index].reshape(3, 3) * np.array([1.0, -1.0, -1.0])
        x, y, z = self._data.cam_xpos[index].tolist()
        return Pose((x, y, z), _xyzw(matrix))

    def close(self) -> None:
        """Free the renderer."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    # -- inside -----------------------------------------------------------------------------------

    def _compose(self) -> None:
        """Compile the model from its parts, keeping by name where everything is."""
        composition = compose(self._path, self.profile, self._spawned.values())
        before, efforts = (self._motion(), self._efforts()) if hasattr(self, "_model") else ({}, 0.0)
        model = composition.model
        model.opt.timestep = self._physics_step or model.opt.timestep
        self._model, self._data = model, mujoco.MjData(model)
        self._roots = {name: model.body(body).id for name, body in composition.roots.items()}
        self._names = tuple(self._roots)
        entity_of = {body: index for index, body in enumerate(self._roots.values())}
        roots = model.body_rootid[model.geom_bodyid]
        self._geom_entity = np.array([entity_of.get(root, len(entity_of)) for root in roots], dtype=int)
        self._touched = np.zeros((len(entity_of) + 1, len(entity_of) + 1), dtype=bool)
        prefix = robot_prefix(self.profile)
        joints = [model.joint(prefix + name) for name in self.profile.joint_names]
        self._joint_qpos = np.array([joint.qposadr[0] for joint in joints])
        self._joint_qvel = np.array([joint.dofadr[0] for joint in joints])
        self._actuators = np.array([model.actuator(prefix + name).id for name in self.profile.joint_names])
        self._tool = model.site(prefix + TOOL_SITE).id
        self._data.actuator_force[self._actuators] = efforts
        for camera in self._cameras:
            self._keep_horizontal_view(camera)
        for key, (position, velocity) in before.items():
            if key in (slots := self._slots()):
                qpos, qvel = slots[key]
                self._data.qpos[qpos], self._data.qvel[qvel] = position, velocity
        self._refresh()

    def _efforts(self) -> NDArray[np.float64]:
        return self._data.actuator_force[self._actuators]

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
        index = mujoco.mj_name2id(self._model, mujoco.mjtObj.mjOBJ_CAMERA.value, camera.name)
        if index < 0:
            known = ", ".join(self._model.camera(i).name for i in range(self._model.ncam))
            raise InvalidModel(f"{self._path}: no camera '{camera.name}'; there are: {known}")
        width, height = self._model.cam_resolution[index]
        half = math.tan(math.radians(self._model.cam_fovy[index]) / 2) * width / height
        self._model.cam_fovy[index] = math.degrees(2 * math.atan(half * camera.height / camera.width))

    def _body(self, name: str) -> int:
        if name not in self._roots:
            raise UnknownEntity(name, self._names)
        return self._roots[name]

    def _free_joint(self, body: int) -> int | None:
        """Return the index of a body's free joint, or None when it is fixed."""
        joint = self._model.body_jntadr[body]
        free = joint >= 0 and self._model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE
        return int(joint) if free else None

    def _corners(self, name: str) -> NDArray[np.float64]:
        """Return the corners of the boxes around an entity's geometries in the world, shape (n, 3)."""
        self._body(name)
        model, data = self._model, self._data
        own = self._geom_entity == self._names.index(name)
        finite = model.geom_type != mujoco.mjtGeom.mjGEOM_PLANE.value
        signs = np.array(np.meshgrid((-1, 1), (-1, 1), (-1, 1))).reshape(3, -1).T
        corners = [
            data.geom_xpos[geom]
            + (model.geom_aabb[geom, :3] + signs * model.geom_aabb[geom, 3:])
            @ data.geom_xmat[geom].reshape(3, 3).T
            for geom in np.flatnonzero(own & finite)
        ]
        return np.concatenate(corners) if corners else np.empty((0, 3))

    def _put(self, name: str, state: EntityState) -> None:
        joint = self._free_joint(self._body(name))
        if joint is None:
            raise NotMovable(f"entity '{name}' is fixed and cannot be moved")
        x, y, z, w = state.pose.orientation
        qpos, qvel = self._model.jnt_qposadr[joint], self._model.jnt_dofadr[joint]
        quaternion = np.array([w, x, y, z])
        rotation = np.empty(9)
        mujoco.mju_quat2Mat(rotation, quaternion)
        self._data.qpos[qpos : qpos + 7] = (*state.pose.position, *quaternion)
        self._data.qvel[qvel : qvel + 3] = state.twist.linear
        # A free joint's angular velocity is in the body's own frame.
        self._data.qvel[qvel + 3 : qvel + 6] = rotation.reshape(3, 3).T @ np.asarray(state.twist.angular)
        self._data.qacc_warmstart[:] = 0.0

    def _put_robot(self, positions: Sequence[float]) -> None:
        """Put the joints somewhere, at rest, and let the servos hold them there."""
        self._data.qpos[self._joint_qpos] = positions
        self._data.qvel[self._joint_qvel] = 0.0
        self._data.qacc_warmstart[:] = 0.0
        self._trajectory, self._followed = _Trajectory.hold(np.asarray(positions, dtype=float)), 0

    def _refresh(self) -> None:
        """Bring poses, velocities and cameras up to the joints; it leaves the solver's memory alone."""
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_comPos(self._model, self._data)
        mujoco.mj_camlight(self._model, self._data)
        mujoco.mj_comVel(self._model, self._data)


@dataclass(frozen=True)
class _Trajectory:
    """A straight line in joint space, counted in physics steps.

    Attributes:
        start: joint positions at the first step [rad].
        goal: joint positions from the last step on [rad].
        length: physics steps from the start to the goal, at least 1.
    """

    start: NDArray[np.float64]
    goal: NDArray[np.float64]
    length: int

    @classmethod
    def hold(cls, positions: NDArray[np.float64]) -> _Trajectory:
        return cls(positions, positions, 1)

    def position(self, step: int) -> NDArray[np.float64]:
        """Return the joint positions after a number of steps [rad]."""
        share = min(step / self.length, 1.0)
        return self.start + share * (self.goal - self.start)


def _box(points: NDArray[np.float64]) -> Bounds | None:
    """Return the axis-aligned box around points, shape (n, 3); None for none."""
    if not len(points):
        return None
    return Bounds(tuple(points.min(axis=0).tolist()), tuple(points.max(axis=0).tolist()))


def _xyzw(matrix: NDArray[np.float64]) -> tuple[float, float, float, float]:
    quaternion = np.empty(4)
    mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(matrix).ravel())
    w, x, y, z = quaternion.tolist()
    return x, y, z, w
