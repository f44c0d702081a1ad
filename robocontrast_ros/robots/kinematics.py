"""Forward and inverse kinematics of an arm, within position and velocity limits."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import Pose
from robocontrast_ros.domain.geometry import Quaternion, Vector3
from robocontrast_ros.domain.products import dot, norm, product
from robocontrast_ros.domain.rotations import between, unit
from robocontrast_ros.robots.manipulator import ManipulatorProfile
from robocontrast_ros.robots.manipulator_mjcf import arm_mjcf
from robocontrast_ros.robots.mjcf import TOOL_SITE

DOWN = np.array([0.0, 0.0, -1.0])
"""Direction of the tool's z axis, in the world, if the target is a position; rotation about that axis is free."""

TILT_WEIGHT = 0.3
"""Weight of a tilt of the tool's axis, or of its turn from the target [1/rad], relative to its distance from the
target, of weight 1 [1/m]."""

POSTURE_WEIGHT = 1e-3
"""Weight of a joint's distance from the home posture [1/rad]."""

DAMPING, ERROR_DAMPING = 1e-9, 1e-6
"""Weight of the joints' motion: constant, and (Levenberg-Marquardt) per unit of the tool's squared error."""

STEP_ITERATIONS = 3
"""Linearisations of one control step: the tool ends within 0.5 mm of a target 3 cm away."""

RESTS = 1.0, 0.75, 0.5
"""Shares of the workspace's greatest height at which an arm may rest, best first."""

POSTURE_ITERATIONS = 400
POSTURE_PERIOD = 0.05
REACHED_POSITION = 5e-4
REACHED_TILT = 2e-3


class Unreachable(ValueError):
    """The tool cannot reach a position within the joint limits."""


@dataclass(frozen=True)
class JointMotion:
    """A motion of the joints towards a target.

    Attributes:
        positions: joint positions at the end [rad].
        position_error: distance of the tool from the target at the end [m].
        tilt: angle of its axis from the vertical at the end, or of its turn from the target's orientation [rad].
        tool: position of the tool at the end, in the world [m].
    """

    positions: tuple[float, ...]
    position_error: float
    tilt: float
    tool: tuple[float, float, float]


class Kinematics:
    """Forward and differential inverse kinematics of one robot.

    A target is a pose, or a position: then the tool has to point down and may turn about its axis. A quadratic
    programme (daqp) over joint displacements with hard limits: weighted least squares of the tool's place and tilt or
    turn. A small weight of the home posture makes the solution of a redundant arm unique, so that it does not drift
    with the path.
    """

    def __init__(self, profile: ManipulatorProfile) -> None:
        import mujoco  # as daqp: large, and the meaning of a controller's numbers needs neither

        self.profile = profile
        self._model = mujoco.MjModel.from_xml_string(arm_mjcf(profile, moving_hand=False))
        self._data = mujoco.MjData(self._model)
        self._site = self._model.site(TOOL_SITE).id
        # These views are kept because MuJoCo makes new ones at each access.
        self._place, self._matrix = self._data.site_xpos[self._site], self._data.site_xmat[self._site]
        self._axes, self._qpos = self._matrix.reshape(3, 3), self._data.qpos
        self._home = np.asarray(profile.home, dtype=float)
        self._lower, self._upper = self._model.jnt_range.T
        self._velocities = np.array([joint.velocity for joint in profile.joints])
        joints = self._model.nv
        # Least squares of the tool's place, of its tilt about two axes or turn about three, and of the posture.
        posture = POSTURE_WEIGHT * np.eye(joints)
        self._rows = {turns: np.vstack([np.empty((3 + turns, joints)), posture]) for turns in (2, 3)}
        self._turn = np.empty((3, joints))
        self._no_rows, self._two_sided = np.empty((0, joints)), np.zeros(joints, dtype=np.intc)

    def tool_pose(self, positions: Sequence[float] | NDArray[np.float64]) -> Pose:
        """Return the pose of the tool in the world.

        Args:
            positions: joint positions in the profile's order [rad].
        """
        self._update(positions)
        w, x, y, z = _quaternion(self._matrix)
        px, py, pz = self._place.tolist()
        return Pose((px, py, pz), (x, y, z, w))

    def step(
        self,
        positions: Sequence[float],
        target: Sequence[float] | Pose,
        period: float,
        iterations: int = STEP_ITERATIONS,
        tilt_weight: float = TILT_WEIGHT,
    ) -> JointMotion:
        """Move the joints towards a place of the tool for one period.

        Args:
            positions: joint positions now [rad]; first clipped to the limits.
            target: position of the tool in the world, pointing down [m], or its pose.
            period: time for the motion [s], which bounds each joint by its velocity.
            iterations: linearisations within the period.
            tilt_weight: as ``TILT_WEIGHT``: less if the tool's place counts more than its direction [1/rad].
        """
        turn = unit(target.orientation) if isinstance(target, Pose) else None
        wanted = np.asarray(target.position if isinstance(target, Pose) else target, dtype=float)
        end = self.clamp(positions)
        farthest = self._velocities * (period / iterations)
        for _ in range(iterations):
            self._update(end)
            end = self.clamp(end + self._displacement(end, wanted, turn, farthest, tilt_weight))
        self._update(end)
        tool = self._place
        error = float(norm(tool - wanted))
        if turn is None:
            tilt = math.acos(min(max(-float(self._matrix[8]), -1.0), 1.0))
        else:
            tilt = math.hypot(*self._turn_to(turn))
        return JointMotion(tuple(end.tolist()), error, tilt, tuple(tool.tolist()))

    def _displacement(
        self,
        positions: NDArray[np.float64],
        target: NDArray[np.float64],
        orientation: Quaternion | None,
        farthest: NDArray[np.float64],
        tilt_weight: float,
    ) -> NDArray[np.float64]:
        """Return the joint displacements [rad] that bring the tool nearest to its target, from its pose by `_update`.

        Args:
            positions: joint positions [rad], inside their limits.
            target: position of the tool in the world [m].
            orientation: that of the tool there, (x, y, z, w); None for pointing down.
            farthest: greatest turn of each joint [rad].
            tilt_weight: weight of a tilt or a turn [1/rad].
        """
        import daqp
        import mujoco

        turns = 2 if orientation is None else 3
        rows, turn, last = self._rows[turns], self._turn, 3 + turns
        mujoco.mj_jacSite(self._model, self._data, rows[:3], turn, self._site)
        if orientation is None:
            # The rotation that brings the axis down is about the tool's x and y; rotation about its z is free.
            across = self._axes[:, :2].T
            turning, tilt = product(across, turn), dot(across, _cross(self._axes[:, 2], DOWN))
        else:
            turning, tilt = turn, np.array(self._turn_to(orientation))
        np.multiply(tilt_weight, turning, out=rows[3:last])
        errors = np.empty(len(rows))
        np.subtract(target, self._place, out=errors[:3])
        np.multiply(tilt_weight, tilt, out=errors[3:last])
        np.multiply(POSTURE_WEIGHT, self._home - positions, out=errors[last:])
        hessian = product(rows.T, rows)
        tool_error = errors[:last]
        hessian.flat[:: len(positions) + 1] += DAMPING + ERROR_DAMPING * dot(tool_error, tool_error)
        solution, _, exit_flag, _ = daqp.solve(
            hessian,
            -product(errors[None], rows)[0],
            self._no_rows,
            np.minimum(self._upper - positions, farthest),
            np.maximum(self._lower - positions, -farthest),
            self._two_sided,
        )
        if exit_flag <= 0:
            raise ArithmeticError(f"inverse kinematics: daqp ended with {exit_flag} at {positions.tolist()}")
        return solution

    def _turn_to(self, orientation: Quaternion) -> Vector3:
        """Return the rotation vector in the world from the tool's orientation by `_update` to its target [rad]."""
        w, x, y, z = _quaternion(self._matrix)
        return between((x, y, z, w), orientation)

    def posture(self, target: Sequence[float] | Pose) -> tuple[float, ...]:
        """Return joint positions [rad] with the tool at a pose, or pointing down at a position [m], near home.

        Raises:
            Unreachable: there are none within the joint limits.
        """
        positions: Sequence[float] = self.profile.home
        motion = JointMotion(tuple(positions), np.inf, np.inf, (np.nan, np.nan, np.nan))
        for _ in range(POSTURE_ITERATIONS // STEP_ITERATIONS):
            motion = self.step(positions, target, POSTURE_PERIOD * STEP_ITERATIONS)
            if np.allclose(motion.positions, positions, atol=1e-7):
                break
            positions = motion.positions
        if motion.position_error > REACHED_POSITION or motion.tilt > REACHED_TILT:
            place = target.position if isinstance(target, Pose) else target
            where = f"({', '.join(f'{value:.3f}' for value in place)}) m"
            what, turned = f"point down at {where}", "tilted"
            if isinstance(target, Pose):
                orientation = ", ".join(f"{value:.3f}" for value in target.orientation)
                what, turned = f"be at {where} with the orientation ({orientation})", "turned away"
            raise Unreachable(
                f"robot '{self.profile.name}': the tool cannot {what}; the nearest "
                f"posture is {motion.position_error:.3f} m away and {motion.tilt:.3f} rad {turned}"
            )
        return motion.positions

    @cached_property
    def rest(self) -> tuple[float, ...]:
        """Joint positions at rest [rad]: ``home`` if that is high, else high above it, with a tool that points down.

        So no part of the arm is in the way of a person who sets a scene up.
        """
        (x, y, z), top = self.tool_pose(self.profile.home).position, self.profile.workspace.z[1]
        for share in RESTS if z < RESTS[-1] * top else ():
            with contextlib.suppress(Unreachable):
                return self.posture((x, y, share * top))
        return tuple(self.profile.home)

    @cached_property
    def levers(self) -> NDArray[np.float64]:
        """Greatest possible distance of the tool from each joint's axis [m]."""
        lengths = norm(self._model.body_pos)
        bodies = self._model.jnt_bodyid
        beyond = np.array([lengths[body + 1 :].sum() for body in bodies])
        return beyond + float(norm(self._model.site_pos[self._site]))

    def lowest(self, positions: Sequence[float] | NDArray[np.float64]) -> float:
        """Return the height of the lowest point of the moving links and the tool [m].

        Args:
            positions: joint positions in the profile's order [rad].
        """
        import mujoco

        self._update(positions)
        model, data = self._model, self._data
        moving = model.body_weldid[model.geom_bodyid] != 0
        size, kind = model.geom_size[moving], model.geom_type[moving]
        down = np.abs(data.geom_xmat[moving, 6:9])
        radius, half = size[:, 0], size[:, 1] * down[:, 2]
        below = np.select(
            [kind == mujoco.mjtGeom.mjGEOM_CAPSULE, kind == mujoco.mjtGeom.mjGEOM_CYLINDER],
            [half + radius, half + radius * np.sqrt(np.maximum(1.0 - down[:, 2] ** 2, 0.0))],
            (down * size).sum(axis=1),
        )
        return float((data.geom_xpos[moving, 2] - below).min())

    def clamp(self, positions: Sequence[float]) -> NDArray[np.float64]:
        """Return the joint positions clipped to their limits [rad]."""
        return np.asarray(positions, dtype=float).clip(self._lower, self._upper)

    def _update(self, positions: Sequence[float] | NDArray[np.float64]) -> None:
        """Compute positions, and the input of the Jacobian, at joint positions [rad]."""
        import mujoco

        self._qpos[:] = positions
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_comPos(self._model, self._data)


def _cross(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cross product of two vectors; ``numpy.cross`` takes ten times as long."""
    (ax, ay, az), (bx, by, bz) = a.tolist(), b.tolist()
    return np.array([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx])


def _quaternion(matrix: NDArray[np.float64]) -> tuple[float, float, float, float]:
    """Return (w, x, y, z) of a rotation matrix given as 9 numbers."""
    import mujoco

    quaternion = np.empty(4)
    mujoco.mju_mat2Quat(quaternion, matrix)
    w, x, y, z = quaternion.tolist()
    return w, x, y, z
