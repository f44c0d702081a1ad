"""Where the tool is, and how the joints bring it elsewhere, within position and velocity limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import daqp
import mink
import mujoco
import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import Pose
from robocontrast_ros.robots.arm_model import TOOL_SITE, arm_mjcf
from robocontrast_ros.robots.manipulator import ManipulatorProfile

TOOL_DOWN = np.array([0.0, 1.0, 0.0, 0.0])
"""Orientation (w, x, y, z) of a tool whose z axis points down; its turn about that axis is free."""

STEP_ITERATIONS = 3
"""Linearisations of one control step: the tool ends within 0.5 mm of a target 3 cm away."""

POSTURE_ITERATIONS = 400
POSTURE_PERIOD = 0.05
REACHED_POSITION = 5e-4
REACHED_TILT = 2e-3


class Unreachable(ValueError):
    """The tool cannot get there within the joint limits."""


@dataclass(frozen=True)
class Motion:
    """What the joints can do towards a target.

    Attributes:
        positions: joint positions at the end [rad].
        position_error: how far the tool then is from the target [m].
        tilt: how far its axis then is from the vertical [rad].
        tool: where the tool then is, in the world [m].
    """

    positions: tuple[float, ...]
    position_error: float
    tilt: float
    tool: tuple[float, float, float]


class Kinematics:
    """Forward and differential inverse kinematics of one robot, with its tool pointing down.

    A task-space quadratic programme (mink, daqp) with hard limits; a faint pull to the home posture
    makes the solution of a redundant arm unique, so that it does not drift with the path.
    """

    def __init__(self, profile: ManipulatorProfile) -> None:
        """Compile the model of a profile."""
        self.profile = profile
        self._model = mujoco.MjModel.from_xml_string(arm_mjcf(profile))
        self._configuration = mink.Configuration(self._model)
        self._site = self._model.site(TOOL_SITE).id
        self._tool = mink.FrameTask(
            TOOL_SITE, "site", position_cost=1.0, orientation_cost=[0.3, 0.3, 0.0], lm_damping=1e-6
        )
        self._posture = mink.PostureTask(self._model, cost=1e-3)
        self._posture.set_target(np.asarray(profile.home))
        self._limits = _Limits(self._model, [joint.velocity for joint in profile.joints])

    def tool_pose(self, positions: Sequence[float] | NDArray[np.float64]) -> Pose:
        """Return the pose of the pusher's tip in the world.

        Args:
            positions: joint positions in the profile's order [rad].
        """
        self._configuration.update(np.asarray(positions, dtype=float))
        data = self._configuration.data
        w, x, y, z = _quaternion(data.site_xmat[self._site])
        px, py, pz = data.site_xpos[self._site]
        return Pose((float(px), float(py), float(pz)), (x, y, z, w))

    def step(
        self,
        positions: Sequence[float],
        target: Sequence[float],
        period: float,
        iterations: int = STEP_ITERATIONS,
    ) -> Motion:
        """Move the joints towards a tool position for one period.

        Args:
            positions: joint positions now [rad]; outside the limits they are brought inside first.
            target: position of the tool's tip in the world [m].
            period: time for the motion [s]; no joint is asked for more than its velocity times this.
            iterations: linearisations within the period.
        """
        start = self.clamp(positions)
        self._configuration.update(start)
        self._tool.set_target(
            mink.SE3.from_rotation_and_translation(mink.SO3(TOOL_DOWN), np.asarray(target, dtype=float))
        )
        dt = period / iterations
        for _ in range(iterations):
            self._configuration.integrate_inplace(self._velocity(dt), dt)
        end = self.clamp(self._configuration.q)
        self._configuration.update(end)
        data = self._configuration.data
        tool = data.site_xpos[self._site]
        error = float(np.linalg.norm(tool - np.asarray(target)))
        tilt = float(np.arccos(min(max(-float(data.site_xmat[self._site][8]), -1.0), 1.0)))
        return Motion(tuple(end.tolist()), error, tilt, tuple(tool.tolist()))

    def _velocity(self, dt: float) -> NDArray[np.float64]:
        """Return the joint velocities [rad/s] that bring the tool nearest to its target within ``dt`` [s].

        ``mink.solve_ik`` without what it does anew each time though it never changes, which was half of it.

        Raises:
            mink.NoSolutionFound: the limits leave no room.
        """
        problem = mink.build_ik(
            self._configuration, [self._tool, self._posture], dt, damping=1e-9, limits=[self._limits]
        )
        solution, _, exit_flag, _ = daqp.solve(
            problem.P,
            problem.q,
            problem.G,
            problem.h,
            self._limits.unbounded.copy(),
            self._limits.inequalities.copy(),
        )
        if exit_flag <= 0:
            raise mink.NoSolutionFound("daqp")
        return solution / dt

    def posture(self, target: Sequence[float]) -> tuple[float, ...]:
        """Return joint positions [rad] with the tool pointing down at a position [m], near the home posture.

        Raises:
            Unreachable: there are none within the joint limits.
        """
        positions: Sequence[float] = self.profile.home
        motion = Motion(tuple(positions), np.inf, np.inf, (np.nan, np.nan, np.nan))
        for _ in range(POSTURE_ITERATIONS // STEP_ITERATIONS):
            motion = self.step(positions, target, POSTURE_PERIOD * STEP_ITERATIONS)
            if np.allclose(motion.positions, positions, atol=1e-7):
                break
            positions = motion.positions
        if motion.position_error > REACHED_POSITION or motion.tilt > REACHED_TILT:
            where = ", ".join(f"{value:.3f}" for value in target)
            raise Unreachable(
                f"robot '{self.profile.name}': the tool cannot point down at ({where}) m; the nearest "
                f"posture is {motion.position_error:.3f} m away and {motion.tilt:.3f} rad tilted"
            )
        return motion.positions

    @cached_property
    def levers(self) -> NDArray[np.float64]:
        """For each joint, how far the tool can be from its axis at most [m]."""
        lengths = np.linalg.norm(self._model.body_pos, axis=1)
        bodies = self._model.jnt_bodyid
        beyond = np.array([lengths[body + 1 :].sum() for body in bodies])
        return beyond + float(np.linalg.norm(self._model.site_pos[self._site]))

    def lowest(self, positions: Sequence[float] | NDArray[np.float64]) -> float:
        """Return the height of the lowest point of all that the joints move, links and tool [m].

        Args:
            positions: joint positions in the profile's order [rad].
        """
        self._configuration.update(np.asarray(positions, dtype=float))
        model, data = self._model, self._configuration.data
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
        """Return the joint positions brought inside their limits [rad]."""
        lower, upper = self._model.jnt_range.T
        return np.clip(np.asarray(positions, dtype=float), lower, upper)


class _Limits(mink.Limit):
    """Limits of position, then of velocity, of joints that turn or slide, as rows of one matrix.

    Attributes:
        unbounded: the rows' lower bounds for the solver: none.
        inequalities: what the rows are for the solver.
    """

    def __init__(self, model: mujoco.MjModel, velocities: Sequence[float]) -> None:
        """Take the model's limits of position, and those of velocity [rad/s]."""
        self._lower, self._upper = model.jnt_range.T
        self._velocities = np.asarray(velocities, dtype=float)
        one = np.eye(model.nv)
        self._rows = np.vstack([one, -one, one, -one])
        self.unbounded = np.full(len(self._rows), -1e30)
        self.inequalities = np.zeros(len(self._rows), dtype=np.intc)

    def compute_qp_inequalities(self, configuration: mink.Configuration, dt: float) -> mink.Constraint:
        """Return the rows G and the bounds h of the joints' displacements [rad]: G dq <= h."""
        q, farthest = configuration.q, dt * self._velocities
        return mink.Constraint(
            self._rows, np.concatenate([self._upper - q, q - self._lower, farthest, farthest])
        )


def _quaternion(matrix: NDArray[np.float64]) -> tuple[float, float, float, float]:
    """Return (w, x, y, z) of a rotation matrix given as 9 numbers."""
    quaternion = np.empty(4)
    mujoco.mju_mat2Quat(quaternion, matrix)
    w, x, y, z = (float(value) for value in quaternion)
    return w, x, y, z
