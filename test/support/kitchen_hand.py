"""Things of the kitchen and a hand without an arm, which position-controlled slides move.

The hand is the boxes of ``config/tasks/tabletop.yaml``: fingers, palm and flange, so that where it has no room is seen.
"""

from __future__ import annotations

import math

import mujoco
import numpy as np

from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.domain import Pose
from robocontrast_ros.objects import SHIPPED, load_library
from robocontrast_ros.objects.mjcf import FREE, SOLIMP, SOLREF, object_spec
from robocontrast_ros.objects.model import Grasp, tool_pose
from robocontrast_ros.objects.settling import WORLD
from robocontrast_ros.objects.validation import FORCE, PAD_FRICTION

LIBRARY = load_library([f"{SHIPPED}/kitchen", f"{SHIPPED}/table.yaml", f"{SHIPPED}/lemon.yaml"])
DOWN, FORWARD = (0.0, 0.0, -1.0), (-1.0, 0.0, 0.0)
"""The hand points down, or at the front of a thing whose front is towards +x."""

OPEN, CLOSED = 0.04, -0.02
"""Commands to a finger [m]; the second one presses."""

SPEED = 0.12
"""Speed of the hand [m/s]; that of the arms is 0.1 to 0.24."""


class Kitchen:
    """Things on a table, and a hand."""

    def __init__(self, things, step=0.002, approach=DOWN, closing=(0.0, 1.0, 0.0), at=(0.0, 0.0, 0.6), **positions):
        """Put things to their places.

        Args:
            things: name -> (model's name, pose).
            step: time of a physics step [s].
            approach: direction in which the hand points.
            closing: direction in which its fingers close.
            at: where its tool is at first [m].
            positions: position of joints, ``THING__PART`` [m, or rad].
        """
        self.models = {name: LIBRARY[model] for name, (model, _) in things.items()} | {"table": LIBRARY["oak_table"]}
        poses = {name: pose for name, (_, pose) in things.items()} | {"table": Pose()}
        spec = mujoco.MjSpec.from_file(str(resolve_uri(WORLD)))
        spec.option.timestep = step
        parts = []  # a part must outlive the compilation of its parent
        for name, model in self.models.items():
            part = object_spec(model, looks=False)
            parts.append(part)
            body = part.worldbody.first_body()
            x, y, z, w = poses[name].orientation
            if model.fixed:
                body.pos, body.quat = poses[name].position, (w, x, y, z)
            spec.worldbody.add_frame().attach_body(body, f"{name}/", "")
        self._orientation = tool_pose(Pose(), Grasp((0, 0, 0), approach, closing, 0.0, 2)).orientation
        _add_hand(spec, self._orientation)
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        for name, model in self.models.items():
            if not model.fixed:
                x, y, z, w = poses[name].orientation
                self.data.joint(f"{name}/{FREE}").qpos = (*poses[name].position, w, x, y, z)
        for joint, position in positions.items():
            self.data.joint(joint.replace("__", "/")).qpos = position
        for axis, where in zip("xyz", at, strict=True):
            self.data.joint(axis).qpos = self.data.actuator(axis).ctrl = where
        self.hold(OPEN)
        for finger in ("left", "right"):
            self.data.joint(finger).qpos = OPEN
        self._body = {self.model.geom(name).id for name in ("palm", "flange")}
        self.bumped = False
        self.most: dict[str, float] = {}
        mujoco.mj_forward(self.model, self.data)

    def run(self, duration):
        """Let time pass [s]."""
        for _ in range(max(1, round(duration / (5 * self.model.opt.timestep)))):
            mujoco.mj_step(self.model, self.data, nstep=5)
            self.bumped |= bool(self._body & set(self.data.contact.geom.ravel().tolist()))
            for index in range(self.model.njnt):
                if self.model.jnt_type[index] != mujoco.mjtJoint.mjJNT_FREE:
                    name = self.model.joint(index).name
                    self.most[name] = max(self.most.get(name, 0.0), abs(float(self.data.joint(name).qpos[0])))

    def to(self, *point, turn=None, speed=SPEED):
        """Move the tool in a line to a point, with a turn about its approach [rad]."""
        start = np.array([self.data.actuator(axis).ctrl[0] for axis in ("x", "y", "z", "turn")])
        end = np.array([*point, start[3] if turn is None else turn])
        way = math.dist(start[:3], end[:3]) + 0.05 * abs(end[3] - start[3])
        duration = max(0.1, 1.5 * way / speed)
        for share in np.linspace(0.0, 1.0, max(2, round(duration / 0.02))):
            for axis, value in zip(
                ("x", "y", "z", "turn"), start + (end - start) * share**2 * (3 - 2 * share), strict=True
            ):
                self.data.actuator(axis).ctrl = value
            self.run(0.02)
        self.run(0.2)

    def hold(self, opening, seconds=0.0):
        """Open the fingers to a distance of each from the middle, or press."""
        for finger in ("left", "right"):
            self.data.actuator(finger).ctrl = opening
        if seconds:
            self.run(seconds)

    def position(self, joint):
        """Return the position of a joint, ``THING/PART`` [m, or rad]."""
        return float(self.data.joint(joint).qpos[0])

    def pose(self, name):
        """Return the pose of a thing."""
        body = self.data.body(f"{name}/{self.models[name].model}")
        w, x, y, z = body.xquat.tolist()
        return Pose(tuple(body.xpos.tolist()), (x, y, z, w))

    def centre(self, name):
        """Return the centre of the box around a thing [m]."""
        body = self.data.body(f"{name}/{self.models[name].model}")
        up = body.xmat.reshape(3, 3)[:, 2]
        return tuple((body.xpos + up * self.models[name].size[2] / 2).tolist())

    def upright(self, name):
        """Return the angle between the z axis of a thing and the vertical [rad]."""
        return math.acos(min(1.0, float(self.data.body(f"{name}/{self.models[name].model}").xmat[8])))

    def tool(self):
        """Return where the tool is [m]."""
        return tuple(self.data.body("hand").xpos.tolist())


def _add_hand(spec, orientation):
    x, y, z, w = orientation
    carriage = spec.worldbody.add_body(name="carriage", gravcomp=1.0)
    carriage.mass, carriage.inertia, carriage.explicitinertial = 1.0, (0.01, 0.01, 0.01), True
    for name, axis in (("x", (1, 0, 0)), ("y", (0, 1, 0)), ("z", (0, 0, 1))):
        carriage.add_joint(name=name, type=mujoco.mjtJoint.mjJNT_SLIDE, axis=axis)
    hand = carriage.add_body(name="hand", quat=(w, x, y, z), gravcomp=1.0)
    hand.add_joint(name="turn", type=mujoco.mjtJoint.mjJNT_HINGE, axis=(0, 0, 1), armature=0.01)
    for name, low, high in (
        ("palm", (-0.033, -0.104, -0.105), (0.033, 0.104, -0.037)),
        ("flange", (-0.045, -0.045, -0.30), (0.045, 0.045, -0.07)),
    ):
        size = [(b - a) / 2 for a, b in zip(low, high, strict=True)]
        centre = [(b + a) / 2 for a, b in zip(low, high, strict=True)]
        hand.add_geom(name=name, type=mujoco.mjtGeom.mjGEOM_BOX, size=size, pos=centre, mass=0.3)
    for name, side in (("left", 1.0), ("right", -1.0)):
        finger = hand.add_body(name=name, gravcomp=1.0)
        finger.add_joint(
            name=name,
            type=mujoco.mjtJoint.mjJNT_SLIDE,
            axis=(0.0, side, 0.0),
            range=(0.0, OPEN),
            limited=True,
            damping=100.0,
            armature=0.1,
        )
        pad = finger.add_geom(
            type=mujoco.mjtGeom.mjGEOM_BOX, size=(0.010, 0.006, 0.0225), pos=(0.0, side * 0.006, -0.0135), mass=0.05
        )
        pad.friction, pad.priority, pad.condim = PAD_FRICTION, 1, 4
        pad.solref, pad.solimp = SOLREF, SOLIMP
        actuator = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        actuator.forcerange = (-FORCE / 2, FORCE / 2)
        actuator.set_to_position(kp=5000.0)
    for name in ("left", "right"):
        for other in ("hand", "left", "right"):
            if name != other:
                spec.add_exclude(bodyname1=name, bodyname2=other)
    for axis in ("x", "y", "z"):
        spec.add_actuator(name=axis, target=axis, trntype=mujoco.mjtTrn.mjTRN_JOINT).set_to_position(
            kp=20000.0, kv=280.0
        )
    spec.add_actuator(name="turn", target="turn", trntype=mujoco.mjtTrn.mjTRN_JOINT).set_to_position(kp=200.0, kv=6.0)
