"""A test of an object: it stays at its place, and a free-standing pair of jaws holds it.

The jaws are the common part of all parallel grippers: two box pads on slides that close with the force of a small
gripper, on a carriage that lifts, holds and shakes. Pads, force and friction are the weaker of Franka's hand and
Robotiq's 2F-85 (docs/tabletop.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import mujoco
import numpy as np

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain.geometry import Pose
from robocontrast_ros.objects.mjcf import SOLIMP, SOLREF, object_spec
from robocontrast_ros.objects.model import FINGER_BEYOND, Grasp, ObjectModel, tool_pose

FORCE = 70.0
"""Force of the drive that closes both fingers; each presses with half of the force [N]."""

PAD_FRICTION = (0.7, 0.01, 0.0001)
PAD = (0.010, 0.004, 0.012)
"""Half width, thickness and length of a pad [m]."""

LIFT, LIFTING = 0.10, 0.4
"""Height by which the jaws lift [m], and time for it [s]."""

SHAKE, SHAKING, TIMES = 0.03, 0.8, 2
"""Distance [m], time [s] and number of the shakes after that: twice the speed of the arms, 0.24 m/s."""

SLIPPED = 0.02
"""Greatest motion of an object in the jaws after they closed on it [m]."""

STANDING = math.radians(3.0)
"""Greatest turn of an object that counts as stable [rad]."""

SHIFTED = 0.005
"""Greatest motion of such an object [m]."""

SIZES = (0.005, 0.4)
"""Bounds of an object's least and greatest side [m]."""

MASSES = (0.003, 3.0)
"""Least and greatest mass [kg]."""

DENSITIES = (5.0, 20000.0)
"""Least and greatest mass over the volume of the box around an object [kg/m³]."""

STEP = 0.002


@dataclass(frozen=True)
class Findings:
    """The findings about an object.

    Attributes:
        stands: whether it stays at its place.
        held: whether each of its grasps holds, in their order.
        widths: distances between the closed fingers, in the same order [m].
    """

    stands: bool
    held: tuple[bool, ...]
    widths: tuple[float, ...]


def check_object(model: ObjectModel, source: str) -> ObjectModel:
    """Return an object with those of its grasps that hold.

    Raises:
        ConfigurationError: it is too large, too small, too heavy or too light, is not stable, or no grasp holds.
    """
    if model.fixed:
        return model
    size = ", ".join(f"{side:.3f}" for side in model.size)
    if not (SIZES[0] <= min(model.size) and max(model.size) <= SIZES[1]):
        raise ConfigurationError(
            source, "size", f"({size}) m", f"sides of {SIZES[0]:g} to {SIZES[1]:g} m", "Check the unit of the mesh."
        )
    if not MASSES[0] <= model.mass <= MASSES[1]:
        raise ConfigurationError(source, "mass", model.mass, f"{MASSES[0]:g} to {MASSES[1]:g} kg")
    density = model.mass / math.prod(model.size)
    if not DENSITIES[0] <= density <= DENSITIES[1]:
        low, high = (bound * math.prod(model.size) for bound in DENSITIES)
        raise ConfigurationError(
            source, "mass", model.mass, f"{low:.3g} to {high:.3g} kg for a box of ({size}) m", "Check unit and size."
        )
    findings = examine(model)
    if not findings.stands:
        raise ConfigurationError(
            source,
            "",
            "an object that tips over, rolls or slides",
            "one that stays in its place, upright, on a flat table",
            "Give it a flat base, or turn it so that it lies.",
        )
    if not any(findings.held):
        raise ConfigurationError(
            source,
            "grasps",
            f"{len(findings.held)} that do not hold",
            f"one or more by which jaws of {FORCE:g} N lift it {LIFT:g} m and shake it",
            "Check point, closing direction and width.",
        )
    kept = tuple(grasp for grasp, holds in zip(model.grasps, findings.held, strict=True) if holds)
    return replace(model, grasps=kept)


def examine(model: ObjectModel) -> Findings:
    """Put an object on a plane, and try all of its grasps."""
    jaws = _Jaws(model)
    stands = jaws.stands()
    tried = [jaws.try_grasp(grasp) for grasp in model.grasps]
    return Findings(stands, tuple(holds for holds, _ in tried), tuple(width for _, width in tried))


class _Jaws:
    """An object on a plane, and a pair of jaws."""

    def __init__(self, model: ObjectModel) -> None:
        spec = mujoco.MjSpec.from_string(_WORLD.format(step=STEP))
        part = object_spec(model, looks=False)
        spec.worldbody.add_frame().attach_body(part.worldbody.first_body(), "object/", "")
        hand = spec.body("hand")
        for name, side in (("left", 1.0), ("right", -1.0)):
            finger = hand.add_body(name=name)
            finger.add_joint(
                name=name,
                type=mujoco.mjtJoint.mjJNT_SLIDE,
                axis=(0.0, side, 0.0),
                range=(0.0, 0.12),
                limited=True,
                damping=100.0,
                armature=0.1,
            )
            pad = finger.add_geom(
                type=mujoco.mjtGeom.mjGEOM_BOX,
                size=PAD,
                pos=(0.0, side * PAD[1], FINGER_BEYOND - PAD[2]),
                mass=0.05,
            )
            pad.friction, pad.priority, pad.condim = PAD_FRICTION, 1, 4
            pad.solref, pad.solimp = SOLREF, SOLIMP
            pad.contype, pad.conaffinity = 2, 1
        drive = spec.add_tendon(name="drive")
        for name in ("left", "right"):
            drive.wrap_joint(name, 0.5)
        same = spec.add_equality(name="same", type=mujoco.mjtEq.mjEQ_JOINT, name1="left", name2="right")
        same.objtype = mujoco.mjtObj.mjOBJ_JOINT
        same.data[:2] = (0.0, 1.0)
        same.solref, same.solimp = (0.005, 1.0), SOLIMP
        actuator = spec.add_actuator(
            name="drive", target="drive", trntype=mujoco.mjtTrn.mjTRN_TENDON, forcerange=(-FORCE, FORCE)
        )
        actuator.set_to_position(kp=5000.0)
        self._model = spec.compile()
        self._data = mujoco.MjData(self._model)
        self._object = self._model.body(f"object/{model.model}").id
        self._carriage, self._hand = self._model.body("carriage").id, self._model.body("hand").id
        self._tallest = model.size[2]

    def stands(self) -> bool:
        """Return whether the object stays at its place for one second."""
        self._put(Pose((0.0, 0.0, 1.0 + self._tallest)), 0.0)
        self._run(1.0)
        x, y, _ = self._data.xpos[self._object].tolist()
        up = self._data.xmat[self._object][8]
        return bool(math.hypot(x, y) < SHIFTED and up > math.cos(STANDING))

    def try_grasp(self, grasp: Grasp) -> tuple[bool, float]:
        """Return whether the object stays in the jaws while they lift and shake it, and their opening [m]."""
        self._put(tool_pose(Pose(), grasp), grasp.width / 2 + 0.008)
        self._run(0.1)
        self._data.ctrl[3] = -0.02
        self._run(0.4)
        width = float(self._data.joint("left").qpos[0] + self._data.joint("right").qpos[0])
        start = self._in_hand()
        for share in np.linspace(0.0, 1.0, round(LIFTING / STEP)):
            self._data.ctrl[2] = LIFT * (1.0 - math.cos(math.pi * share)) / 2.0
            self._run(STEP)
        for share in np.linspace(0.0, 1.0, round(SHAKING / STEP)):
            side = SHAKE * (1.0 - math.cos(math.tau * TIMES * share)) / 2.0
            self._data.ctrl[:2] = side, side
            self._run(STEP)
        lifted = self._data.xpos[self._object][2]
        return bool(lifted > LIFT / 2 and math.dist(start, self._in_hand()) < SLIPPED), width

    def _put(self, pose: Pose, opening: float) -> None:
        """Begin anew with the jaws at a pose, each finger open by a distance."""
        x, y, z, w = pose.orientation
        model, data = self._model, self._data
        model.body_pos[self._carriage] = pose.position
        model.body_quat[self._hand] = w, x, y, z
        mujoco.mj_resetData(model, data)
        for name in ("left", "right"):
            data.joint(name).qpos = opening
        data.ctrl[3] = opening
        mujoco.mj_forward(model, data)

    def _run(self, duration: float) -> None:
        mujoco.mj_step(self._model, self._data, nstep=round(duration / STEP))

    def _in_hand(self) -> tuple[float, float, float]:
        """Return the position of the object's centre of mass relative to the carriage [m]."""
        x, y, z = (self._data.xipos[self._object] - self._data.xpos[self._hand]).tolist()
        return x, y, z


_WORLD = """
<mujoco>
  <option timestep="{step}" integrator="implicitfast" cone="elliptic" impratio="10" iterations="20" ls_iterations="20"/>
  <worldbody>
    <geom type="plane" size="2 2 0.1" friction="1 0.005 0.0001" condim="4" solref="0.004 1" solimp="0.95 0.99 0.001"/>
    <body name="carriage">
      <inertial pos="0 0 0" mass="1" diaginertia="0.01 0.01 0.01"/>
      <joint name="x" type="slide" axis="1 0 0"/>
      <joint name="y" type="slide" axis="0 1 0"/>
      <joint name="z" type="slide" axis="0 0 1"/>
      <body name="hand"/>
    </body>
  </worldbody>
  <actuator>
    <position joint="x" kp="20000" kv="280"/>
    <position joint="y" kp="20000" kv="280"/>
    <position joint="z" kp="20000" kv="280"/>
  </actuator>
</mujoco>
"""
