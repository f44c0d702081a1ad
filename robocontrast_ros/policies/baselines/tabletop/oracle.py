"""The oracle: understands the instruction, given the ground truth, and handles the target in closed loop."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.configuration import ConfigurationError, load_record, record, resolve_uri
from robocontrast_ros.configuration.loading import read_mapping
from robocontrast_ros.domain import Instruction, Scene
from robocontrast_ros.policies import scripted
from robocontrast_ros.policies.action_spaces import TOOL_DELTA
from robocontrast_ros.policies.baselines.tabletop.parameters import HandlingParameters
from robocontrast_ros.policies.protocol import Observation, PolicyDescription

if TYPE_CHECKING:
    from robocontrast_ros.policies.baselines.tabletop.handling import Handler


@record
class TabletopOracleParameters(scripted.OracleParameters):
    """The file config/policies/tabletop_oracle.yaml."""

    handling: HandlingParameters


class TabletopOracle(scripted.OraclePolicy):
    """Understands the instruction in the scene of its first observation, then handles its target.

    It knows no robot. Its actions depend on text and observations alone.
    """

    parameters = TabletopOracleParameters
    of_task = "tabletop"
    answers = replace(TOOL_DELTA, privileged=True, observes=("tool_pose", "gripper_width"))

    @classmethod
    def describe_file(cls, path: Path) -> PolicyDescription:
        """Return the description of the oracle of a parameter file; of the task's file only its rate is read.

        Raises:
            ConfigurationError: the file does not fit, or the task's has no rate.
        """
        parameters = load_record(TabletopOracleParameters, path)
        return replace(cls.answers, name=parameters.name, rate=_rate(resolve_uri(parameters.task, path.parent)))

    def describe(self) -> PolicyDescription:
        """Return the description: ground truth and fingers' width in, displacements of the tool out."""
        return replace(super().describe(), rate=self._task.control_rate)

    def lacking(self, observation: Observation) -> str:
        """Return the missing part of an observation, and the need for it, in words; empty if nothing is missing."""
        hand = "" if observation.gripper_width is not None else "gripper width; it needs a robot with a hand"
        return super().lacking(observation) or hand

    def skill(self, instruction: Instruction, start: Scene) -> Handler:
        """Return the skill for an instruction given in a starting scene.

        Raises:
            ValueError: there is no plan.
        """
        # Large modules, which a policy's description does not need.
        from robocontrast_ros.policies.baselines.tabletop.handling import Handler
        from robocontrast_ros.tasks.plans import NoPlan

        try:
            return Handler(instruction, start, self._task, self._p.handling)
        except NoPlan as reason:
            raise ValueError(f"{self.describe().name}: {reason}") from None

    def step(self, observation: Observation) -> NDArray[np.float64]:
        """Return the next displacement, rotation and gripper command, shape (1, 7)."""
        return self._skill.step(observation.tool_pose, observation.gripper_width, observation.scene)[None]


def _rate(task: Path) -> float:
    """Return the control rate in a task's file [Hz]; a description needs nothing else of it."""
    rate = read_mapping(task).get("control_rate")
    if not isinstance(rate, int | float):
        raise ConfigurationError(str(task), "control_rate", rate, "a number [Hz]")
    return float(rate)
