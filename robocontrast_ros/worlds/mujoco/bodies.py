"""The entities of one compiled model: their poses, velocities, sizes and contacts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import mujoco
import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import Pose
from robocontrast_ros.domain.products import product
from robocontrast_ros.objects.frames import compose, inverse, rotate
from robocontrast_ros.objects.joints import Joint
from robocontrast_ros.worlds.mujoco.entities import Bounds, EntityState, NotMovable, Twist, UnknownEntity

# Numbers that describe the position and the velocity of a joint, by its type: free, ball, slide, hinge.
POSITIONS = {0: 7, 1: 4, 2: 1, 3: 1}
VELOCITIES = {0: 6, 1: 3, 2: 1, 3: 1}

KNOWN = 256
"""How many sets of touching geometries are kept with their pairs of entities: one step mostly has those of another."""


class Bodies:
    """The state of a composed model, by entity. Each method with a name raises UnknownEntity if no entity has it.

    Attributes:
        model: the compiled model.
        data: its state.
        names: names of the entities, in the order of the model.
    """

    def __init__(self, model: mujoco.MjModel, roots: Mapping[str, str]) -> None:
        """Make the initial state of a model; refresh it before use.

        Args:
            model: the model.
            roots: entity -> its body: a top-level one, or below it one with a slide or a hinge for a part of an entity.
        """
        self.model = model
        self.data = mujoco.MjData(model)
        self._roots = {name: model.body(body).id for name, body in roots.items()}
        self.names = tuple(self._roots)
        joints = {body: self._free_joint(body) for body in self._roots.values()}
        self._free = {body: int(model.jnt_qposadr[j]) for body, j in joints.items() if j is not None}
        self._mocaps = {body: int(model.body_mocapid[body]) for body in joints if model.body_mocapid[body] >= 0}
        self._parts = {body: self._part_joint(body) for body in self._roots.values() if model.body_parentid[body]}
        self._geom_entity = self._entities_of(model.geom_bodyid)
        self._known: dict[bytes, frozenset[tuple[str, str]]] = {}

    def restore(self, before: Bodies) -> None:
        """Take over, by name, all positions and velocities in the previous model."""
        slots = self._slots()
        for key, (position, velocity) in before._slots().items():
            if key in slots:
                qpos, qvel = slots[key]
                self.data.qpos[qpos] = before.data.qpos[position]
                self.data.qvel[qvel] = before.data.qvel[velocity]
        for name, body in before._roots.items():
            if before._mocap(body) is not None and name in self._roots:
                self.put(name, EntityState(before._pose(body)))

    def movable(self, name: str) -> bool:
        """Return whether an entity can be put elsewhere."""
        body = self.body(name)
        return self._free_joint(body) is not None or self._mocap(body) is not None or body in self._parts

    def yields(self, name: str) -> bool:
        """Return whether an entity moves if it is pushed: one on a mocap body is put elsewhere, but never yields."""
        body = self.body(name)
        return self._free_joint(body) is not None or body in self._parts

    def poses(self) -> dict[str, Pose]:
        """Return the pose of every entity."""
        # One list of all joints is read faster than a slice for each body.
        qpos = self.data.qpos.tolist()
        return {name: self._pose(body, qpos) for name, body in self._roots.items()}

    def state(self, name: str) -> EntityState:
        """Return pose and twist of an entity."""
        body = self.body(name)
        velocity = np.zeros(6)
        mujoco.mj_objectVelocity(self.model, self.data, mujoco.mjtObj.mjOBJ_XBODY.value, body, velocity, 0)
        angular, linear = velocity[:3].tolist(), velocity[3:].tolist()
        return EntityState(self._pose(body), Twist(tuple(linear), tuple(angular)))

    def put(self, name: str, state: EntityState) -> None:
        """Put an entity somewhere, with a velocity, and wake everything.

        A part of an entity comes as near to the pose as its joint allows, and rests.

        Raises:
            NotMovable: the entity is fixed.
        """
        body = self.body(name)
        joint, mocap = self._free_joint(body), self._mocap(body)
        if not self.movable(name):
            raise NotMovable(f"entity '{name}' is fixed and cannot be moved")
        x, y, z, w = state.pose.orientation
        self.data.qacc_warmstart[:] = 0.0
        self._wake_all()
        if body in self._parts:
            index, joint = self._parts[body]
            whole = self._pose(int(self.model.body_parentid[body]))
            self.data.qpos[self.model.jnt_qposadr[index]] = joint.position(compose(inverse(whole), state.pose))
            self.data.qvel[self.model.jnt_dofadr[index]] = 0.0
            return
        if mocap is not None:
            self.data.mocap_pos[mocap], self.data.mocap_quat[mocap] = state.pose.position, (w, x, y, z)
            return
        qpos, qvel = self.model.jnt_qposadr[joint], self.model.jnt_dofadr[joint]
        quaternion = np.array([w, x, y, z])
        rotation = np.empty(9)
        mujoco.mju_quat2Mat(rotation, quaternion)
        self.data.qpos[qpos : qpos + 7] = (*state.pose.position, *quaternion)
        self.data.qvel[qvel : qvel + 3] = state.twist.linear
        # A free joint's angular velocity is in the body's own frame.
        self.data.qvel[qvel + 3 : qvel + 6] = product([state.twist.angular], rotation.reshape(3, 3))[0]

    def bounds(self, name: str) -> Bounds | None:
        """Return the box around an entity in its present pose, in its own frame; None if it has no extent."""
        body = self.body(name)
        rotation = self.data.xmat[body].reshape(3, 3)
        return _box(product(self._corners(name) - self.data.xpos[body], rotation))

    def world_bounds(self, name: str) -> Bounds | None:
        """Return the box around an entity in its present pose, in the frame `world`; None if it has no extent."""
        return _box(self._corners(name))

    def touching(self, contacts: Iterable[bytes]) -> frozenset[tuple[str, str]]:
        """Return the pairs of entities, each in order of names, whose geometries touch.

        Args:
            contacts: pairs of geometries, as the bytes of ``MjData.contact.geom``.
        """
        return frozenset().union(*map(self._pairs, contacts))

    def _pairs(self, contacts: bytes) -> frozenset[tuple[str, str]]:
        """Return the pairs of entities of one physics step, as ``touching`` does."""
        if (known := self._known.get(contacts)) is not None:
            return known
        geometries = np.frombuffer(contacts, dtype=np.int32).reshape(-1, 2)
        pairs = set(map(tuple, self._geom_entity[geometries].tolist()))
        named = ((self.names[a], self.names[b]) for a, b in pairs if a != b and max(a, b) < len(self.names))
        found = frozenset((a, b) if a < b else (b, a) for a, b in named)
        if len(self._known) >= KNOWN:
            self._known.clear()
        self._known[contacts] = found
        return found

    def refresh(self) -> None:
        """Compute poses, velocities and cameras from the joints; the solver's memory does not change."""
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)
        mujoco.mj_camlight(self.model, self.data)
        mujoco.mj_comVel(self.model, self.data)

    def body(self, name: str) -> int:
        """Return the index of an entity's body in the model."""
        if name not in self._roots:
            raise UnknownEntity(name, self.names)
        return self._roots[name]

    def _free_joint(self, body: int) -> int | None:
        """Return the index of a body's free joint; None if the body is fixed."""
        joint = self.model.body_jntadr[body]
        free = joint >= 0 and self.model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE
        return int(joint) if free else None

    def _part_joint(self, body: int) -> tuple[int, Joint]:
        """Return the index of the joint of an entity's part, and the joint in the frame of the body above it."""
        model = self.model
        index = int(model.body_jntadr[body])
        w, x, y, z = model.body_quat[body].tolist()
        home = Pose(tuple(model.body_pos[body].tolist()), (x, y, z, w))
        slides = model.jnt_type[index] == mujoco.mjtJoint.mjJNT_SLIDE
        axis, through = model.jnt_axis[index].tolist(), model.jnt_pos[index].tolist()
        joint = Joint(
            type="slide" if slides else "hinge",
            axis=rotate(home.orientation, axis),
            home=home,
            through=compose(home, Pose(tuple(through))).position,
            range=tuple(model.jnt_range[index].tolist()) if model.jnt_limited[index] else (-math.inf, math.inf),
        )
        return index, joint

    def _entities_of(self, bodies: NDArray[np.int32]) -> NDArray[np.int_]:
        """Return for each body the index of the entity that it belongs to; the number of entities if to none."""
        parents, entity_of = self.model.body_parentid, {}
        known = {body: index for index, body in enumerate(self._roots.values())}
        for body in range(self.model.nbody):  # a body comes after the one above it
            entity_of[body] = known.get(body, entity_of.get(int(parents[body]), len(known)))
        return np.array([entity_of[int(body)] for body in bodies], dtype=int)

    def _mocap(self, body: int) -> int | None:
        """Return the index of a mocap body, which only `put` moves, among mocap bodies; None for another body."""
        return self._mocaps.get(body)

    def _pose(self, body: int, qpos: Sequence[float] | None = None) -> Pose:
        """Return the pose of an entity; a pose that was set is read back to the last bit.

        Args:
            body: body of the entity.
            qpos: ``MjData.qpos`` as a list, if it was read already.
        """
        data, start = self.data, self._free.get(body)
        if start is not None:
            x, y, z, qw, qx, qy, qz = (data.qpos.tolist() if qpos is None else qpos)[start : start + 7]
        elif (mocap := self._mocap(body)) is not None:
            (x, y, z), (qw, qx, qy, qz) = data.mocap_pos[mocap].tolist(), data.mocap_quat[mocap].tolist()
        else:
            (x, y, z), (qw, qx, qy, qz) = data.xpos[body].tolist(), data.xquat[body].tolist()
        return Pose((x, y, z), (qx, qy, qz, qw))

    def _slots(self) -> dict[tuple[str, int], tuple[slice, slice]]:
        """Return the slices of each joint's position and velocity, by name of the body and index in it."""
        model = self.model
        slots = {}
        for joint in range(model.njnt):
            body = model.jnt_bodyid[joint]
            kind = model.jnt_type[joint]
            qpos, qvel = model.jnt_qposadr[joint], model.jnt_dofadr[joint]
            key = (model.body(body).name, joint - model.body_jntadr[body])
            slots[key] = (slice(qpos, qpos + POSITIONS[kind]), slice(qvel, qvel + VELOCITIES[kind]))
        return slots

    def _corners(self, name: str) -> NDArray[np.float64]:
        """Return the corners of the boxes around an entity's geometries in the world, shape (n, 3)."""
        self.body(name)
        model, data = self.model, self.data
        own = self._geom_entity == self.names.index(name)
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

    def _wake_all(self) -> None:
        """Wake all bodies, and restart the times after which they sleep, from the next `refresh` on."""
        asleep = self.data.tree_asleep
        asleep[asleep < 0] = -(1 + mujoco.mjMINAWAKE)
        self.data.tree_awake[:] = 1


def _box(points: NDArray[np.float64]) -> Bounds | None:
    """Return the axis-aligned box around points, shape (n, 3); None for none."""
    if not len(points):
        return None
    return Bounds(tuple(points.min(axis=0).tolist()), tuple(points.max(axis=0).tolist()))
