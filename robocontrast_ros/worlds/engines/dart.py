"""DART, the physics of Gazebo's default engine, through its Python package dartpy.

What was measured of it, and so is done here: contacts by ODE's detector, since Bullet's lets convex meshes tip over and
FCL's has no capsules; nothing sleeps; models are built by calls, since its own reader of SDF ends the process at a
capsule. A filter tells bodies apart, not shapes: the copies of a shape with other friction and masks are in bodies of
their own, welded to that of the link. Servos are springs and dampers of the joints, which DART integrates implicitly.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar
from xml.sax.saxutils import quoteattr

import numpy as np

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import Pose
from robocontrast_ros.domain.rotations import from_vector, to_vector
from robocontrast_ros.objects.frames import compose
from robocontrast_ros.worlds.ellipsoids import ellipsoid
from robocontrast_ros.worlds.engines import sdf
from robocontrast_ros.worlds.engines.engine import GRAVITY, Part, Placed
from robocontrast_ros.worlds.mujoco.entities import Bounds, EntityState, InvalidModel, NotMovable, Twist

try:
    import dartpy
except ImportError as missing:
    raise ConfigurationError.not_installed("engine", "dart", "dartpy", "dart", missing) from None

CORNERS = (32, 16)
"""Of the mesh of an ellipsoid: about the vertical, and from pole to pole."""

LIGHT = 1e-9
"""Mass of a body without one in the file, and of the bodies of copies [kg], since DART knows no massless ones."""


class Dart:
    """A world of DART: an ``Engine``."""

    friction_rule: ClassVar[str] = "minimum"

    def __init__(self, entities: Mapping[str, Placed], step: float) -> None:
        """Compose a world.

        Args:
            entities: name -> model. All is at rest, with its joints at 0.
            step: time of a step [s].

        Raises:
            InvalidModel: a mesh cannot be read.
        """
        self.description = f"DART {dartpy.__version__}, contacts by ODE, one step is {step} s"
        self._world = world = dartpy.simulation.World()
        world.setTimeStep(step)
        world.setGravity([0.0, 0.0, -GRAVITY])
        options = world.getDeactivationOptions()
        options.mEnabled = False
        world.setDeactivationOptions(options)
        solver = world.getConstraintSolver()
        solver.setCollisionDetector(dartpy.collision.OdeCollisionDetector())
        self._parts: dict[str, Part] = {}
        self._copies: list[tuple[str, Any, sdf.Collision]] = []
        self._entities = {name: _Entity(self, name, placed) for name, placed in entities.items()}
        for each in self._entities.values():
            world.addSkeleton(each.skeleton)
        ignored = solver.getCollisionOption().collisionFilter
        for (one, first, a), (two, second, b) in itertools.combinations(self._copies, 2):
            if one != two and not a.touches(b):
                ignored.addBodyNodePairToBlackList(first, second)

    def step(self) -> None:
        """Let one step pass."""
        self._world.step()

    def state(self, name: str, link: str = "") -> EntityState:
        """Return pose and velocity of a link of an entity, its first one by default, in the frame `world`."""
        return self._entities[name].state(link)

    def put(self, name: str, state: EntityState) -> None:
        """Put an entity that moves as a whole somewhere, with a velocity.

        Raises:
            NotMovable: it does not.
        """
        entity = self._entities[name]
        if not entity.free:
            raise NotMovable(f"entity '{name}' is fixed and cannot be moved")
        joint = entity.skeleton.getRootJoint()
        joint.setPositions(np.array([*to_vector(state.pose.orientation), *state.pose.position]))
        joint.setVelocities(np.array([*state.twist.angular, *state.twist.linear]))

    def joints(self, name: str) -> tuple[tuple[str, ...], Sequence[float], Sequence[float]]:
        """Return names, positions [rad, m] and velocities of an entity's joints."""
        entity = self._entities[name]
        first, skeleton = 6 * entity.free, entity.skeleton
        return (
            tuple(entity.joints),
            skeleton.getPositions()[first:].tolist(),
            skeleton.getVelocities()[first:].tolist(),
        )

    def set_joints(self, name: str, positions: Sequence[float], velocities: Sequence[float]) -> None:
        """Put an entity's joints to positions, with velocities, in the order of ``joints``."""
        for joint, position, velocity in zip(self._entities[name].joints.values(), positions, velocities, strict=True):
            joint.setPosition(0, position)
            joint.setVelocity(0, velocity)

    def aim(self, name: str, positions: Sequence[float]) -> None:
        """Set the positions that an entity's servos strive for, in the order of ``joints``."""
        for joint, position in zip(self._entities[name].joints.values(), positions, strict=True):
            joint.setRestPosition(0, position)

    def touching(self) -> set[tuple[Part, Part]]:
        """Return the pairs of parts that touched in the last step."""
        return {
            (
                self._parts[contact.collisionObject1.getShapeFrame().getName()],
                self._parts[contact.collisionObject2.getShapeFrame().getName()],
            )
            for contact in self._world.getLastCollisionResult().getContacts()
        }

    def bounds(self, name: str) -> Bounds | None:
        """Return the box around what collides of an entity, in its own frame, with joints at 0; None for nothing."""
        return self._entities[name].bounds

    def shape_node(self, entity: str, link: str, body: Any, collision: sdf.Collision) -> Any:
        """Add a shape to a body; return its node in DART."""
        node = body.createShapeNode(_shape(collision), f"shape {len(self._parts)}")
        node.createCollisionAspect()
        node.createDynamicsAspect()
        node.getDynamicsAspect().setFrictionCoeff(collision.friction)
        node.setRelativeTransform(_isometry(collision.pose))
        self._parts[node.getName()] = entity, link
        return node

    def add_copy(self, entity: str, body: Any, collision: sdf.Collision) -> None:
        """Take a body of DART whose shapes all have the friction and the masks of a shape."""
        self._copies.append((entity, body, collision))


class _Entity:
    """A model as a skeleton of DART.

    Attributes:
        skeleton: the skeleton.
        free: whether it moves as a whole.
        joints: name -> joint, in the order of the links.
        bounds: box around what collides, with joints at 0.
    """

    def __init__(self, world: Dart, name: str, placed: Placed) -> None:
        """Build it."""
        model = placed.model
        self.skeleton = dartpy.dynamics.Skeleton(name)
        self.free, self.joints, self._links = model.free, {}, {}
        self._corners: list[np.ndarray] = []
        places: dict[str, Pose] = {"": Pose()}
        for link in model.links:
            places[link.name] = compose(places[link.parent], link.pose)
            self._add_link(world, name, placed, link, places[link.name])
        if not (model.free or self.joints):
            self.skeleton.setMobile(False)
        self._first = model.links[0].name
        corners = np.array(self._corners).reshape(-1, 3)
        self.bounds = (
            Bounds(*(tuple(end(corners, axis=0).tolist()) for end in (np.min, np.max))) if len(corners) else None
        )
        if model.free:
            at = np.array([*to_vector(placed.pose.orientation), *placed.pose.position])
            self.skeleton.getRootJoint().setPositions(at)

    def _add_link(self, world: Dart, name: str, placed: Placed, link: sdf.Link, at_home: Pose) -> None:
        joint, body = self._pair(placed, link)
        joint.setName(link.axis.name if link.axis else f"{link.name}_joint")
        body.setName(link.name)
        self._links[link.name] = body
        mass = link.mass or LIGHT
        moments = link.moments if any(link.moments) else (mass * 1e-4,) * 3 + (0.0,) * 3
        xx, yy, zz, xy, xz, yz = moments
        body.setInertia(
            dartpy.dynamics.Inertia(mass, link.centre, np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
        )
        body.setGravityMode(placed.servos is None)
        copies: dict[tuple[float, int, int], Any] = {}
        for shape in link.collisions:
            kind = shape.friction, shape.category, shape.collide
            if kind not in copies:
                copies[kind] = self._copy(body) if copies else body
                world.add_copy(name, copies[kind], shape)
            node = world.shape_node(name, link.name, copies[kind], shape)
            if shape.kind != sdf.PLANE:
                self._corners += _corners(node.getShape(), compose(at_home, shape.pose))

    def _pair(self, placed: Placed, link: sdf.Link) -> tuple[Any, Any]:
        """Return a new joint of DART, and the body of a link."""
        parent = [self._links[link.parent]] if link.parent else []
        place = link.pose if link.parent or placed.model.free else compose(placed.pose, link.pose)
        axis = link.axis
        if axis is None:
            if placed.model.free and not link.parent:
                return self.skeleton.createFreeJointAndBodyNodePair()
            joint, body = self.skeleton.createWeldJointAndBodyNodePair(*parent)
            joint.setTransformFromParentBodyNode(_isometry(place))
            return joint, body
        make = "createPrismaticJointAndBodyNodePair" if axis.slides else "createRevoluteJointAndBodyNodePair"
        joint, body = getattr(self.skeleton, make)(*parent)
        joint.setAxis(axis.direction)
        joint.setTransformFromParentBodyNode(_isometry(compose(place, Pose(axis.anchor))))
        joint.setTransformFromChildBodyNode(_isometry(Pose(axis.anchor)))
        low, high = axis.range
        joint.setPositionLowerLimit(0, low)
        joint.setPositionUpperLimit(0, high)
        joint.setLimitEnforcement(True)
        joint.setCoulombFriction(0, axis.friction)
        joint.setDampingCoefficient(0, axis.damping)
        if servo := (placed.servos or {}).get(axis.name):
            joint.setSpringStiffness(0, servo.stiffness)
            joint.setDampingCoefficient(0, axis.damping + servo.damping)
        self.joints[axis.name] = joint
        return joint, body

    def _copy(self, body: Any) -> Any:
        """Return a further body, welded to the body of a link."""
        _, copy = self.skeleton.createWeldJointAndBodyNodePair(body)
        copy.setInertia(dartpy.dynamics.Inertia(LIGHT, np.zeros(3), np.eye(3) * LIGHT * 1e-4))
        copy.setGravityMode(False)
        return copy

    def state(self, link: str) -> EntityState:
        """Return pose and velocity of a link, the first one by default."""
        body = self._links[link or self._first]
        if self.free and body.getParentBodyNode() is None:
            values = self.skeleton.getPositions()[:6].tolist()
            pose = Pose(tuple(values[3:]), from_vector(values[:3]))
        else:
            place = body.getWorldTransform()
            quaternion = place.quaternion()
            turn = (quaternion.x(), quaternion.y(), quaternion.z(), quaternion.w())
            pose = Pose(tuple(place.translation().tolist()), turn)
        return EntityState(
            pose, Twist(tuple(body.getLinearVelocity().tolist()), tuple(body.getAngularVelocity().tolist()))
        )


def _shape(collision: sdf.Collision) -> Any:
    first, second, third = collision.size
    shapes = dartpy.dynamics
    if collision.kind == sdf.PLANE:
        return shapes.PlaneShape([0.0, 0.0, 1.0], 0.0)
    if collision.kind == sdf.BOX:
        return shapes.BoxShape([first, second, third])
    if collision.kind == sdf.SPHERE:
        return shapes.SphereShape(first)
    if collision.kind == sdf.CYLINDER:
        return shapes.CylinderShape(first, second)
    if collision.kind == sdf.CAPSULE:
        return shapes.CapsuleShape(first, second)
    if collision.kind == sdf.ELLIPSOID:
        return _ellipsoid(collision.size)
    return _mesh(str(collision.mesh.resolve()), collision.mesh.stat().st_mtime_ns)


@lru_cache(maxsize=256)
def _mesh(file: str, _: int) -> Any:
    """Return the mesh of an OBJ file; Python cannot make one of numbers, and the reader of URDF takes any text."""
    shape = f"<geometry><mesh filename={quoteattr(file)}/></geometry>"
    urdf = f'<robot name="mesh"><link name="mesh"><collision>{shape}</collision></link></robot>'
    skeleton = dartpy.utils.DartLoader().parseSkeletonString(urdf, dartpy.common.Uri.createFromPath("/"))
    if skeleton is None or not skeleton.getBodyNode(0).getNumShapeNodes():
        raise InvalidModel(f"DART cannot read the mesh '{file}'")
    return skeleton.getBodyNode(0).getShapeNode(0).getShape()


@lru_cache(maxsize=256)
def _ellipsoid(semi_axes: sdf.Triple) -> Any:
    """Return an ellipsoid as a mesh, since ODE takes one for a sphere of 1 cm."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ellipsoid.obj"
        points, faces = ellipsoid(semi_axes, *CORNERS)
        lines = [f"v {x:.12g} {y:.12g} {z:.12g}" for x, y, z in points]
        lines += [f"f {i + 1} {j + 1} {k + 1}" for i, j, k in faces]
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return _mesh(str(file), 0)


def _corners(shape: Any, place: Pose) -> list[tuple[float, float, float]]:
    box = shape.getBoundingBox()
    ends = zip(box.getMin().tolist(), box.getMax().tolist(), strict=True)
    return [compose(place, Pose(corner)).position for corner in itertools.product(*ends)]


def _isometry(pose: Pose) -> Any:
    x, y, z, w = pose.orientation
    place = dartpy.math.Isometry3()
    place.set_quaternion(dartpy.math.Quaternion(w, x, y, z))
    place.set_translation(pose.position)
    return place
