"""The oracle: understands the instruction, given the ground truth, and handles the target in closed loop."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from robocontrast_ros.configuration import ConfigurationError, load_record, record, resolve_uri
from robocontrast_ros.configuration.loading import read_mapping
from robocontrast_ros.domain import Instruction, Scene
from robocontrast_ros.policies.action_spaces import TOOL_DELTA
from robocontrast_ros.policies.baselines.tabletop.parameters import HandlingParameters
from robocontrast_ros.policies.protocol import Observation, PolicyDescription

if TYPE_CHECKING:
    from robocontrast_ros.policies.baselines.tabletop.handling import Handler
    from robocontrast_ros.tasks.tabletop import Tabletop


@record
class TabletopOracleParameters:
    """The file config/policies/tabletop_oracle.yaml."""

    policy: str = Field(description="plug-in that reads this file")
    name: str = Field(min_length=1, description="name of the policy in results")
    task: str = Field(description="URI of the tabletop task's file")
    handling: HandlingParameters


class TabletopOracle:
    """Understands the instruction in the scene of its first observation, then handles its target.

    It is privileged: it needs the ground-truth scene. It knows no robot. Its actions depend on text and observations
    alone.
    """

    def __init__(self, parameters: TabletopOracleParameters, task: Tabletop) -> None:
        self._parameters, self._task = parameters, task
        self._text: str | None = None
        self._handler: Handler | None = None

    @classmethod
    def from_file(cls, path: Path) -> TabletopOracle:
        """Return the oracle that a parameter file describes.

        Raises:
            ConfigurationError: the file, or the task file that it names, does not fit.
        """
        return cls(*read_oracle(path))

    @classmethod
    def describe_file(cls, path: Path) -> PolicyDescription:
        """Return the description of the oracle of a parameter file; of the task's file only its rate is read.

        Raises:
            ConfigurationError: the file does not fit, or the task's has no rate.
        """
        parameters = load_record(TabletopOracleParameters, path)
        return describe(parameters.name, _rate(resolve_uri(parameters.task, path.parent)))

    def describe(self) -> PolicyDescription:
        """Return that it needs the ground truth and the fingers' width, and answers with displacements of the tool."""
        return describe(self._parameters.name, self._task.control_rate)

    def reset(self, instruction: str, seed: int) -> None:
        """Begin a trial; the seed has no effect."""
        self._text, self._handler = instruction, None

    def act(self, observation: Observation) -> NDArray[np.float64]:
        """Return the next displacement, rotation and gripper command, shape (1, 7).

        Raises:
            ValueError: the text is not of the task's grammar, there is no plan, the observation has no scene or no
                gripper, or reset was not called.
        """
        scene, width = observation.scene, observation.gripper_width
        if self._text is None:
            raise ValueError("tabletop_oracle: act before reset; call reset(instruction, seed) first")
        if scene is None:
            raise ValueError("tabletop_oracle: the observation has no scene; it needs the ground truth")
        if width is None:
            raise ValueError("tabletop_oracle: the observation has no gripper width; it needs a robot with a hand")
        if self._handler is None:
            self._handler = self.handler(self._text, scene)
        return self._handler.step(observation.tool_pose, width, scene)[None]

    def handler(self, text: str, start: Scene) -> Handler:
        """Return the skill for the words of an instruction given in a starting scene."""
        return self.made(self._task.language.parse(text, start), start)

    def made(self, instruction: Instruction, start: Scene) -> Handler:
        """Return the skill for an instruction given in a starting scene.

        Raises:
            ValueError: there is no plan.
        """
        # Large; a policy's description asks for parameters alone.
        from robocontrast_ros.policies.baselines.tabletop.handling import Handler
        from robocontrast_ros.tasks.tabletop.planner import NoPlan

        try:
            return Handler(instruction, start, self._task, self._parameters.handling)
        except NoPlan as reason:
            raise ValueError(f"tabletop_oracle: {reason}") from None


def read_oracle(path: Path) -> tuple[TabletopOracleParameters, Tabletop]:
    """Return the parameters of an oracle's file, and the task that it names.

    Raises:
        ConfigurationError: a file does not fit.
    """
    from robocontrast_ros.tasks.tabletop import Tabletop

    parameters = load_record(TabletopOracleParameters, path)
    return parameters, Tabletop.from_file(resolve_uri(parameters.task, path.parent))


def describe(name: str, rate: float) -> PolicyDescription:
    """Return the description of an oracle of that name, blind or not, for a task with that control rate [Hz]."""
    return replace(TOOL_DELTA, name=name, privileged=True, rate=rate, observes=("tool_pose", "gripper_width"))


def _rate(task: Path) -> float:
    """Return the control rate in a task's file [Hz], which is all that a description needs of it."""
    rate = read_mapping(task).get("control_rate")
    if not isinstance(rate, int | float):
        raise ConfigurationError(str(task), "control_rate", rate, "a number [Hz]")
    return float(rate)
