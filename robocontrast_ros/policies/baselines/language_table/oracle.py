"""The oracle: parses the instruction, given the ground truth, and pushes in closed loop."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from robocontrast_ros.configuration import load_record, record, resolve_uri
from robocontrast_ros.domain import Instruction, Scene
from robocontrast_ros.policies.action_spaces import PLANAR_DELTA
from robocontrast_ros.policies.baselines.language_table.parameters import PushingParameters
from robocontrast_ros.policies.protocol import Observation, PolicyDescription

if TYPE_CHECKING:
    from robocontrast_ros.policies.baselines.language_table.pushing import Pusher
    from robocontrast_ros.tasks.language_table import LanguageTable


@record
class OracleParameters:
    """The file config/policies/oracle.yaml."""

    policy: str = Field(description="plug-in that reads this file")
    name: str = Field(min_length=1, description="name of the policy in results")
    task: str = Field(description="URI of the Language-Table task file")
    pushing: PushingParameters


class Oracle:
    """Parses the instruction in the scene of its first observation, then pushes.

    It is privileged: it needs the ground-truth scene. Its actions depend on text and scenes alone.
    """

    def __init__(self, parameters: OracleParameters, task: LanguageTable) -> None:
        self._parameters, self._task = parameters, task
        self._text: str | None = None
        self._pusher: Pusher | None = None

    @classmethod
    def from_file(cls, path: Path) -> Oracle:
        """Return the oracle that a parameter file describes.

        Raises:
            ConfigurationError: the file, or the task file that it names, does not fit.
        """
        return cls(*read_oracle(path))

    @classmethod
    def describe_file(cls, path: Path) -> PolicyDescription:
        """Return the description of the oracle of a parameter file, without its task.

        Raises:
            ConfigurationError: the file does not fit.
        """
        return describe(load_record(OracleParameters, path).name)

    def describe(self) -> PolicyDescription:
        """Return that it needs the ground truth and answers with planar displacements."""
        return describe(self._parameters.name)

    def reset(self, instruction: str, seed: int) -> None:
        """Begin a trial; the seed has no effect."""
        self._text, self._pusher = instruction, None

    def act(self, observation: Observation) -> NDArray[np.float64]:
        """Return the next displacement, shape (1, 2) [m].

        Raises:
            ValueError: the text is not of the task's grammar, the observation has no scene, or reset
                was not called.
        """
        scene = observation.scene
        if self._text is None:
            raise ValueError("oracle: act before reset; call reset(instruction, seed) first")
        if scene is None:
            raise ValueError("oracle: the observation has no scene; it needs the ground truth")
        if self._pusher is None:
            self._pusher = self.pusher(self._task.language.parse(self._text, scene), scene)
        tool = np.asarray(observation.tool_pose.xy)
        return self._pusher.step(tool, scene)[None]

    def pusher(self, instruction: Instruction, start: Scene) -> Pusher:
        """Return the skill for an instruction given in a starting scene."""
        # Large; a policy's description asks for parameters alone.
        from robocontrast_ros.policies.baselines.language_table.pushing import Pusher

        return Pusher(self._task.goals.goal(instruction, start), self._task.parameters, self._parameters.pushing)


def read_oracle(path: Path) -> tuple[OracleParameters, LanguageTable]:
    """Return the parameters of an oracle's file, and the task that it names.

    Raises:
        ConfigurationError: a file does not fit.
    """
    from robocontrast_ros.tasks.language_table import LanguageTable

    parameters = load_record(OracleParameters, path)
    return parameters, LanguageTable.from_file(resolve_uri(parameters.task, path.parent))


def describe(name: str) -> PolicyDescription:
    """Return the description of an oracle of that name, noisy or blind or neither."""
    return replace(PLANAR_DELTA, name=name, privileged=True)
