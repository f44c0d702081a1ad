"""The oracle of navigation: parses the instruction, given the ground truth, and follows the planner's path."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import Instruction, Scene
from robocontrast_ros.policies.action_spaces import DISCRETE_NAVIGATION
from robocontrast_ros.policies.baselines.navigation.parameters import NavigationOracleParameters
from robocontrast_ros.policies.protocol import Observation
from robocontrast_ros.policies.scripted import OraclePolicy

if TYPE_CHECKING:
    from robocontrast_ros.policies.baselines.navigation.driving import Driver


class NavigationOracle(OraclePolicy):
    """Parses the instruction in the scene of its first observation, plans, and drives.

    It needs the scene with the robot in it. Its actions depend on text and scenes alone.
    """

    parameters = NavigationOracleParameters
    of_task = "vln"
    answers = replace(DISCRETE_NAVIGATION, privileged=True)

    def lacking(self, observation: Observation) -> str:
        """Return the missing part of an observation, and the need for it, in words; empty if nothing is missing."""
        scene = observation.scene
        return "scene with a robot; it needs the ground truth" if scene is None or scene.robot is None else ""

    def skill(self, instruction: Instruction, start: Scene) -> Driver:
        """Return the driver for an instruction given in a starting scene."""
        # A large module, which a policy's description does not need.
        from robocontrast_ros.policies.baselines.navigation.driving import Driver

        return Driver(self._p, self._task, instruction, start)

    def step(self, observation: Observation) -> NDArray[np.float64]:
        """Return the next move, shape (1, 1)."""
        return np.array([[float(self._skill.step(observation.scene.robot))]])
