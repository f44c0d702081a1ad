"""The oracle: understands the instruction, given the ground truth, and handles the target in closed loop."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from robocontrast_ros.configuration import load_record, record, resolve_uri
from robocontrast_ros.domain import Instruction, Scene
from robocontrast_ros.policies.action_spaces import TOOL_DELTA
from robocontrast_ros.policies.baselines.tabletop.handling import Handler, HandlingParameters
from robocontrast_ros.policies.protocol import Observation, PolicyDescription
from robocontrast_ros.tasks.tabletop import Tabletop
from robocontrast_ros.tasks.tabletop.planner import NoPlan


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
        parameters = load_record(TabletopOracleParameters, path)
        return cls(parameters, Tabletop.from_file(resolve_uri(parameters.task, path.parent)))

    def describe(self) -> PolicyDescription:
        """Return that it needs the ground truth and the fingers' width, and answers with displacements of the tool."""
        return replace(
            TOOL_DELTA,
            name=self._parameters.name,
            privileged=True,
            rate=self._task.control_rate,
            observes=("tool_pose", "gripper_width"),
        )

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
        try:
            return Handler(instruction, start, self._task, self._parameters.handling)
        except NoPlan as reason:
            raise ValueError(f"tabletop_oracle: {reason}") from None
