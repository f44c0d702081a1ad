"""The oracle of navigation: parses the instruction, given the ground truth, and follows the planner's path."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.configuration import load_record, resolve_uri
from robocontrast_ros.policies.action_spaces import DISCRETE_NAVIGATION
from robocontrast_ros.policies.baselines.navigation.parameters import NavigationOracleParameters
from robocontrast_ros.policies.protocol import Observation, PolicyDescription

if TYPE_CHECKING:
    from robocontrast_ros.policies.baselines.navigation.driving import Driver
    from robocontrast_ros.tasks.navigation import VisionLanguageNavigation


class NavigationOracle:
    """Parses the instruction in the scene of its first observation, plans, and drives.

    It is privileged: it needs the ground-truth scene with the robot in it. Its actions depend on text and scenes
    alone.
    """

    def __init__(self, parameters: NavigationOracleParameters, task: VisionLanguageNavigation) -> None:
        self._parameters, self._task = parameters, task
        self._text: str | None = None
        self._driver: Driver | None = None

    @classmethod
    def from_file(cls, path: Path) -> NavigationOracle:
        """Return the oracle that a parameter file describes.

        Raises:
            ConfigurationError: the file, or the task file that it names, does not fit.
        """
        from robocontrast_ros.tasks.navigation import VisionLanguageNavigation

        parameters = load_record(NavigationOracleParameters, path)
        return cls(parameters, VisionLanguageNavigation.from_file(resolve_uri(parameters.task, path.parent)))

    @classmethod
    def describe_file(cls, path: Path) -> PolicyDescription:
        """Return the description of the oracle of a parameter file, without its task.

        Raises:
            ConfigurationError: the file does not fit.
        """
        return _described(load_record(NavigationOracleParameters, path).name)

    def describe(self) -> PolicyDescription:
        """Return that it needs the ground truth and answers with moves."""
        return _described(self._parameters.name)

    def reset(self, instruction: str, seed: int) -> None:
        """Begin a trial; the seed has no effect."""
        self._text, self._driver = instruction, None

    def act(self, observation: Observation) -> NDArray[np.float64]:
        """Return the next move, shape (1, 1).

        Raises:
            ValueError: the text is not of the task's grammar, the observation's scene lacks the robot, or reset
                was not called.
        """
        scene = observation.scene
        if self._text is None:
            raise ValueError("vln_oracle: act before reset; call reset(instruction, seed) first")
        if scene is None or scene.robot is None:
            raise ValueError("vln_oracle: the observation has no scene with a robot; it needs the ground truth")
        if self._driver is None:
            # Large; a policy's description asks for parameters alone.
            from robocontrast_ros.policies.baselines.navigation.driving import Driver

            self._driver = Driver(self._parameters, self._task, self._text, scene)
        return np.array([[float(self._driver.step(scene.robot))]])


def _described(name: str) -> PolicyDescription:
    return replace(DISCRETE_NAVIGATION, name=name, privileged=True)
