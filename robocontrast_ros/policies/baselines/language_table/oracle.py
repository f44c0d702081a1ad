"""The oracle: parses the instruction, given the ground truth, and pushes in closed loop."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.configuration import record
from robocontrast_ros.domain import Instruction, Scene
from robocontrast_ros.policies import scripted
from robocontrast_ros.policies.action_spaces import PLANAR_DELTA
from robocontrast_ros.policies.baselines.language_table.parameters import PushingParameters
from robocontrast_ros.policies.protocol import Observation

if TYPE_CHECKING:
    from robocontrast_ros.policies.baselines.language_table.pushing import Pusher


@record
class OracleParameters(scripted.OracleParameters):
    """The file config/policies/oracle.yaml."""

    pushing: PushingParameters


class Oracle(scripted.OraclePolicy):
    """Parses the instruction in the scene of its first observation, then pushes.

    Its actions depend on text and scenes alone.
    """

    parameters = OracleParameters
    of_task = "language_table"
    answers = replace(PLANAR_DELTA, privileged=True)

    def skill(self, instruction: Instruction, start: Scene) -> Pusher:
        """Return the skill for an instruction given in a starting scene."""
        # A large module, which a policy's description does not need.
        from robocontrast_ros.policies.baselines.language_table.pushing import Pusher

        return Pusher(self._task.goals.goal(instruction, start), self._task.parameters, self._p.pushing)

    def step(self, observation: Observation) -> NDArray[np.float64]:
        """Return the next displacement, shape (1, 2) [m]."""
        return self._skill.step(np.asarray(observation.tool_pose.xy), observation.scene)[None]
