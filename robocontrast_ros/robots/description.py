"""A robot as the tree of links and joints that ROS describes robots by, made from its MJCF.

The physics and the description come from one document, so that RViz shows the shapes that touch things. Names: a link
has the name of its joint, with `link` for `joint` (``fr3_joint1`` turns ``fr3_link1``); the root is the profile's
`base_frame`, the flange ``tool0`` (ROS-Industrial), the tool the profile's `tool_frame`. A frame's prefix up to the
last slash is that of the base frame. Cameras have a ``…camera_link`` (x forward, REP-103) and their optical frame
(REP-105).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import Pose
from robocontrast_ros.domain.geometry import Vector3
from robocontrast_ros.objects.frames import about, compose
from robocontrast_ros.robots.mjcf import TOOL_SITE
from robocontrast_ros.robots.profile_base import RobotProfile

OPTICAL = Pose(orientation=(-0.5, 0.5, -0.5, 0.5))
"""An optical frame (x right, y down, z forward) in one with x forward, y left, z up (REP-103)."""

_FORWARD = Pose(orientation=(0.5, -0.5, 0.5, 0.5))
"""The other way round."""

_LENS = Pose(orientation=(1.0, 0.0, 0.0, 0.0))
"""The optical frame in MuJoCo's frame of a camera, which looks along -z with y up."""

_FAR = 1e3
"""Limit of a joint that slides without limits, because URDF wants a number [m]."""

_HIDDEN = 3
"""MuJoCo shows geoms of groups below this one."""

_GEOMS = mujoco.mjtGeom
_HINGE, _SLIDE = mujoco.mjtJoint.mjJNT_HINGE.value, mujoco.mjtJoint.mjJNT_SLIDE.value


class Transform(NamedTuple):
    """Pose of one frame in another, for tf.

    Attributes:
        frame_id: the other frame.
        child_frame: the frame.
        pose: its pose in the other.
    """

    frame_id: str
    child_frame: str
    pose: Pose


@dataclass(frozen=True)
class Solid:
    """A primitive of a link.

    Attributes:
        type: kind of primitive; the axis of a cylinder or capsule is z.
        pose: pose of its middle in the link's frame.
        size: half sizes of a box; radius of a sphere; radius, and half of the length without the caps [m].
        color: red, green, blue, opacity in [0, 1].
        shown: whether it is drawn.
        touches: whether it collides.
    """

    type: Literal["box", "sphere", "cylinder", "capsule"]
    pose: Pose
    size: tuple[float, ...]
    color: tuple[float, float, float, float]
    shown: bool
    touches: bool


@dataclass(frozen=True)
class Link:
    """A rigid part.

    Attributes:
        name: name of its frame.
        solids: its primitives, for looks and contacts.
        mass: [kg]; 0 for a frame without a body.
        center: pose of the principal axes of inertia in the link's frame.
        inertia: inertia about these axes [kg m^2].
    """

    name: str
    solids: tuple[Solid, ...] = ()
    mass: float = 0.0
    center: Pose = field(default_factory=Pose)
    inertia: Vector3 = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Mimic:
    """A joint's position is ``multiplier`` times that of another joint, plus ``offset`` [rad or m]."""

    joint: str
    multiplier: float
    offset: float


@dataclass(frozen=True)
class Joint:
    """The connection of a link to its parent.

    Attributes:
        name: name of the joint, as in the driver's joint states if it moves.
        parent: name of the parent link.
        child: name of the link.
        type: its type, as URDF names it.
        origin: pose of the link's frame in the parent's with the joint at 0.
        axis: its axis in the link's frame, a unit vector.
        limits: least and greatest position [rad or m].
        velocity: greatest speed [rad/s or m/s]; 0 if unknown.
        effort: greatest torque or force [Nm or N]; 0 if unknown.
        mimic: the joint that it follows, if any.
    """

    name: str
    parent: str
    child: str
    type: Literal["fixed", "revolute", "continuous", "prismatic"]
    origin: Pose
    axis: Vector3 = (0.0, 0.0, 1.0)
    limits: tuple[float, float] = (0.0, 0.0)
    velocity: float = 0.0
    effort: float = 0.0
    mimic: Mimic | None = None

    def moved(self, position: float) -> Pose:
        """Return the pose of the link's frame in the parent's at a position [rad or m]."""
        if self.type == "prismatic":
            return compose(self.origin, Pose(tuple(position * part for part in self.axis)))
        return compose(self.origin, Pose(orientation=about(self.axis, position)))


@dataclass(frozen=True)
class RobotTree:
    """A robot's links and joints; the first link is the root.

    Attributes:
        name: name of the robot.
        links: parents before their children.
        joints: one for each link but the root, in the same order.
    """

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]

    @property
    def root(self) -> str:
        """Frame of the root."""
        return self.links[0].name

    def fixed(self) -> tuple[Transform, ...]:
        """Return the frames that are fixed in their parents', as robot_state_publisher puts them into tf_static."""
        return tuple(Transform(j.parent, j.child, j.origin) for j in self.joints if j.type == "fixed")

    def moving(self, positions: Mapping[str, float]) -> tuple[Transform, ...]:
        """Return the moving frames, as robot_state_publisher puts them into tf.

        Args:
            positions: joint's name -> position [rad or m]; a joint without one is left out, unless it follows a joint
                that has one.
        """
        return tuple(
            Transform(joint.parent, joint.child, joint.moved(position))
            for joint in self.joints
            if joint.type != "fixed" and (position := _position(joint, positions)) is not None
        )


def _position(joint: Joint, positions: Mapping[str, float]) -> float | None:
    if joint.name in positions or joint.mimic is None:
        return positions.get(joint.name)
    leader = positions.get(joint.mimic.joint)
    return None if leader is None else joint.mimic.multiplier * leader + joint.mimic.offset


def robot_tree(mjcf: str, profile: RobotProfile) -> RobotTree:
    """Return the tree of a robot.

    Args:
        mjcf: its document, with one top-level body, as ``worlds.mujoco.embodiment.Embodiment.mjcf`` gives it.
        profile: names of its frames.

    Joints of types that URDF lacks (a ball's) keep their position in the document; solids of types that it lacks (an
    ellipsoid, a mesh) are left out.
    """
    return _Builder(mujoco.MjModel.from_xml_string(mjcf), profile).tree()


def camera_link(optical_frame: str) -> str:
    """Return the name of a camera's body frame: ``camera_link`` for ``camera_color_optical_frame``."""
    bare = optical_frame
    for suffix in ("_frame", "_optical", "_color", "_rgb"):
        bare = bare.removesuffix(suffix)
    return f"{bare}_link"


def camera_transforms(parent: str, optical: Pose, frame_id: str, link: str) -> tuple[Transform, Transform]:
    """Return the transforms of a camera.

    Args:
        parent: the frame that carries it.
        optical: pose of its optical frame there.
        frame_id: name of its optical frame.
        link: name of its body frame.
    """
    return Transform(parent, link, compose(optical, _FORWARD)), Transform(link, frame_id, OPTICAL)


class _Builder:
    """Walks through a model, parents before children, as MuJoCo numbers its bodies."""

    def __init__(self, model: mujoco.MjModel, profile: RobotProfile) -> None:
        self._model, self._profile = model, profile
        # Every kind of this package has a base frame; a plug-in's kind may have none.
        self._root = getattr(profile, "base_frame", "base_link")
        self._prefix = self._root[: self._root.rfind("/") + 1]
        self._links: list[Link] = []
        self._joints: list[Joint] = []
        self._names: set[str] = set()
        self._frames: dict[int, tuple[str, Pose]] = {}
        """Body -> its link, and its pose there."""

    def tree(self) -> RobotTree:
        for body in range(1, self._model.nbody):
            self._add_body(body)
        self._add_tool()
        self._add_cameras()
        return RobotTree(self._profile.name, tuple(self._links), tuple(map(self._coupled, self._joints)))

    def _add_body(self, body: int) -> None:
        model = self._model
        parent = int(model.body_parentid[body])
        link = self._link(body)
        if parent == 0:
            self._add_root(body, link)
            return
        above, place = self._frames[parent]
        origin = compose(place, _pose(model.body_pos[body], model.body_quat[body]))
        joints = [j for j in _range(model.body_jntadr[body], model.body_jntnum[body]) if self._moves(j)]
        if not (joints or link.solids or link.mass or body in model.body_parentid):
            # This body only carries a camera or a site.
            self._frames[body] = (above, origin)
            return
        for joint in joints:
            anchor = Pose(tuple(model.jnt_pos[joint].tolist()))
            name = model.joint(joint).name
            here = self._new_name(name.replace("joint", "link") if "joint" in name else f"{name}_link")
            self._join(Link(here), self._moving(joint, above, here, compose(origin, anchor)))
            above, origin = here, Pose(tuple(-part for part in anchor.position))
        if joints and not any(origin.position):
            # The last joint turns the body's own frame.
            self._links[-1] = replace(link, name=above)
        else:
            name = self._new_name(self._body_name(body, above))
            self._join(replace(link, name=name), _fixed(above, name, origin))
            above = name
        self._frames[body] = (above, Pose())

    def _add_root(self, body: int, link: Link) -> None:
        """Add the root without a mass, because kdl_parser refuses one there; the body follows in a link of its own."""
        name = root = self._new_name(self._root)
        if link.mass:
            self._links.append(Link(root))
            name = self._new_name(f"{self._prefix}base_link")
            self._join(replace(link, name=name), _fixed(root, name, Pose()))
        else:
            self._links.append(replace(link, name=root))
        self._frames[body] = (name, Pose())

    def _add_tool(self) -> None:
        site = mujoco.mj_name2id(self._model, mujoco.mjtObj.mjOBJ_SITE.value, TOOL_SITE)
        frame = getattr(self._profile, "tool_frame", "")
        if site < 0 or not frame:
            return
        above, place = self._frames[int(self._model.site_bodyid[site])]
        name = self._new_name(frame)
        pose = compose(place, _pose(self._model.site_pos[site], self._model.site_quat[site]))
        self._join(Link(name), _fixed(above, name, pose))

    def _add_cameras(self) -> None:
        model = self._model
        for camera in self._profile.cameras:
            index = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA.value, camera.name)
            if index < 0:
                continue
            above, place = self._frames[int(model.cam_bodyid[index])]
            lens = compose(place, _pose(model.cam_pos[index], model.cam_quat[index]))
            link = self._new_name(camera_link(camera.frame_id))
            for frame in camera_transforms(above, compose(lens, _LENS), camera.frame_id, link):
                self._join(Link(frame.child_frame), _fixed(*frame))

    def _join(self, link: Link, joint: Joint) -> None:
        self._links.append(link)
        self._joints.append(joint)

    def _new_name(self, name: str) -> str:
        """Return a name for a link, with the robot's prefix, that no other link has."""
        name = name if name.startswith(self._prefix) else self._prefix + name
        taken, number = name, 2
        while taken in self._names:
            taken, number = f"{name}_{number}", number + 1
        self._names.add(taken)
        return taken

    def _body_name(self, body: int, above: str) -> str:
        name = self._model.body(body).name
        if name:
            return name
        # The bodies without a name are the flange, and those between it and the last joint.
        children = [i for i in range(1, self._model.nbody) if self._model.body_parentid[i] == body]
        return f"{above}_end" if any(not self._model.body(child).name for child in children) else "tool0"

    def _moves(self, joint: int) -> bool:
        return self._model.jnt_type[joint] in (_HINGE, _SLIDE)

    def _moving(self, joint: int, parent: str, child: str, origin: Pose) -> Joint:
        model = self._model
        name, slides = model.joint(joint).name, model.jnt_type[joint] == _SLIDE
        limited = bool(model.jnt_limited[joint])
        made = Joint(
            name=name,
            parent=parent,
            child=child,
            type="prismatic" if slides else "revolute" if limited else "continuous",
            origin=origin,
            axis=tuple(model.jnt_axis[joint].tolist()),
            limits=tuple(model.jnt_range[joint].tolist()) if limited else (-_FAR, _FAR) if slides else (0.0, 0.0),
            velocity=self._profile.joint_speeds.get(name, 0.0),
            effort=self._effort(joint),
        )
        reference = float(model.qpos0[model.jnt_qposadr[joint]])
        return replace(made, origin=made.moved(-reference)) if reference else made

    def _effort(self, joint: int) -> float:
        """Return the greatest effort [Nm or N]: the joint's own limit, or that of the actuator that drives it."""
        model = self._model
        if model.jnt_actfrclimited[joint]:
            return float(model.jnt_actfrcrange[joint, 1])
        for actuator in range(model.nu):
            if not model.actuator_forcelimited[actuator]:
                continue
            kind, driven = model.actuator_trntype[actuator], int(model.actuator_trnid[actuator, 0])
            force = float(model.actuator_forcerange[actuator, 1])
            if kind == mujoco.mjtTrn.mjTRN_JOINT.value and driven == joint:
                return force
            if kind == mujoco.mjtTrn.mjTRN_TENDON.value:
                for wrap in _range(model.tendon_adr[driven], model.tendon_num[driven]):
                    if model.wrap_objid[wrap] == joint:
                        return force * abs(float(model.wrap_prm[wrap]))
        return 0.0

    def _coupled(self, joint: Joint) -> Joint:
        """Return a joint with the one that it follows, if the physics couples them linearly."""
        leader, multiplier, offset = joint.name, 1.0, 0.0
        # A follower's leader may follow another one, which URDF's readers do not resolve.
        while (further := self._leader(leader)) is not None:
            leader, offset = further.joint, offset + multiplier * further.offset
            multiplier *= further.multiplier
        if leader == joint.name:
            return joint
        head = next(each for each in self._joints if each.name == leader)
        return replace(
            joint,
            mimic=Mimic(leader, multiplier, offset),
            velocity=joint.velocity or abs(multiplier) * head.velocity,
            effort=joint.effort or head.effort,
        )

    def _leader(self, name: str) -> Mimic | None:
        model = self._model
        if not any(joint.name == name and joint.type != "fixed" for joint in self._joints):
            return None
        index = model.joint(name).id
        for equality in range(model.neq):
            if (
                model.eq_type[equality] != mujoco.mjtEq.mjEQ_JOINT.value
                or model.eq_obj1id[equality] != index
                or model.eq_obj2id[equality] < 0
                or model.eq_data[equality, 2:5].any()
            ):
                continue
            leader = int(model.eq_obj2id[equality])
            here, there = (float(model.qpos0[model.jnt_qposadr[joint]]) for joint in (index, leader))
            constant, multiplier = model.eq_data[equality, :2].tolist()
            return Mimic(model.joint(leader).name, multiplier, here + constant - multiplier * there)
        return None

    def _link(self, body: int) -> Link:
        model = self._model
        return Link(
            name="",
            solids=tuple(self._solids(body)),
            mass=float(model.body_mass[body]),
            center=_pose(model.body_ipos[body], model.body_iquat[body]),
            inertia=tuple(model.body_inertia[body].tolist()),
        )

    def _solids(self, body: int) -> Iterator[Solid]:
        model = self._model
        sizes = {_GEOMS.mjGEOM_BOX: 3, _GEOMS.mjGEOM_SPHERE: 1, _GEOMS.mjGEOM_CYLINDER: 2, _GEOMS.mjGEOM_CAPSULE: 2}
        for geom in _range(model.body_geomadr[body], model.body_geomnum[body]):
            kind = _GEOMS(int(model.geom_type[geom]))
            if kind not in sizes:
                continue
            yield Solid(
                type=kind.name.removeprefix("mjGEOM_").lower(),
                pose=_pose(model.geom_pos[geom], model.geom_quat[geom]),
                size=tuple(model.geom_size[geom, : sizes[kind]].tolist()),
                color=tuple(model.geom_rgba[geom].tolist()),
                shown=bool(model.geom_group[geom] < _HIDDEN),
                touches=bool(model.geom_contype[geom] or model.geom_conaffinity[geom]),
            )


def _fixed(parent: str, child: str, origin: Pose) -> Joint:
    return Joint(f"{child}_fixed", parent, child, "fixed", origin)


def _range(first: int, count: int) -> range:
    return range(int(first), int(first) + int(count))


def _pose(position: NDArray[np.float64], quaternion: NDArray[np.float64]) -> Pose:
    """Return a pose of MuJoCo's arrays."""
    w, x, y, z = quaternion.tolist()
    return Pose(tuple(position.tolist()), (x, y, z, w))
