"""A hand in the physics: one drive that moves the fingers at a limited speed and presses with a limited force."""

from __future__ import annotations

import math

import mujoco
import numpy as np

from robocontrast_ros.robots.end_effectors.base import DRIVE, EndEffector
from robocontrast_ros.worlds.following import hand_goal, hand_set_point
from robocontrast_ros.worlds.mujoco.sensors import JointState


class SimulatedHand:
    """The fingers of an arm; their drive's set point is that of ``hand_set_point``."""

    def __init__(self, hand: EndEffector) -> None:
        """Take the end effector; its fingers start open."""
        self._hand = hand
        self._driven = hand.joints[0]
        self._goal = self._set_point = self._driven.open
        self._data: mujoco.MjData | None = None

    def bind(self, model: mujoco.MjModel, data: mujoco.MjData, prefix: str) -> None:
        """Connect to a newly composed model and keep the efforts; ``prefix`` is that of the robot's own names."""
        efforts = 0.0 if self._data is None else self._data.qfrc_actuator[self._qvel]
        self._data = data
        joints = [model.joint(prefix + joint.name) for joint in self._hand.joints]
        self._qpos = np.array([joint.qposadr[0] for joint in joints])
        self._qvel = np.array([joint.dofadr[0] for joint in joints])
        self._first = int(self._qpos[0])
        self._actuator = model.actuator(prefix + DRIVE).id
        data.qfrc_actuator[self._qvel] = efforts
        self._farthest = self._hand.drive_speed * float(model.opt.timestep)
        self._ahead = math.inf
        if model.actuator_forcelimited[self._actuator]:
            force, stiffness = model.actuator_forcerange[self._actuator, 1], model.actuator_gainprm[self._actuator, 0]
            self._ahead = float(force / stiffness)

    def go_home(self) -> None:
        """Open the fingers, at rest."""
        self._data.qpos[self._qpos] = [joint.open for joint in self._hand.joints]
        self._data.qvel[self._qvel] = 0.0
        self._goal = self._set_point = self._driven.open

    def go(self, position: float) -> None:
        """Let the driven joint go to a position within its limits [rad or m].

        Raises:
            ValueError: the number is not finite.
        """
        driven = self._driven
        self._goal = hand_goal(position, driven.name, (driven.open, driven.closed))

    def before_step(self) -> None:
        """Move the set point for the coming physics step."""
        now = float(self._data.qpos[self._first])
        self._set_point = hand_set_point(self._set_point, self._goal, now, self._farthest, self._ahead)
        self._data.ctrl[self._actuator] = self._set_point

    def joint_state(self) -> JointState:
        """Return positions, velocities and efforts of the joints, the driven one first."""
        return JointState(
            tuple(joint.name for joint in self._hand.joints),
            tuple(self._data.qpos[self._qpos].tolist()),
            tuple(self._data.qvel[self._qvel].tolist()),
            tuple(self._data.qfrc_actuator[self._qvel].tolist()),
        )
