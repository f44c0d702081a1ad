"""The oracle of the suite: carries out the subtasks of a task one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import Instruction, Scene
from robocontrast_ros.policies.baselines.tabletop.oracle import TabletopOracle
from robocontrast_ros.policies.protocol import Observation

if TYPE_CHECKING:
    from robocontrast_ros.policies.baselines.suite.chain import Chain


class SuiteOracle(TabletopOracle):
    """Understands the instruction in the scene of its first observation, then handles one thing after the other.

    It knows no robot. Its actions depend on text and observations alone.
    """

    of_task = "tabletop_suite"

    def skill(self, instruction: Instruction, start: Scene) -> Chain:
        """Return the skill for an instruction given in a starting scene.

        Raises:
            ValueError: there is no plan.
        """
        # Large; a policy's description asks for parameters alone.
        from robocontrast_ros.policies.baselines.suite.chain import Chain
        from robocontrast_ros.tasks.plans import NoPlan

        try:
            return Chain(instruction, start, self._task, self._p.handling)
        except NoPlan as reason:
            raise ValueError(f"{self.describe().name}: {reason}") from None

    def step(self, observation: Observation) -> NDArray[np.float64]:
        """Return the next displacement, rotation and gripper command, shape (1, 7).

        Raises:
            ValueError: what is left to do has no plan any more.
        """
        from robocontrast_ros.tasks.plans import NoPlan

        try:
            return super().step(observation)
        except NoPlan as reason:
            raise ValueError(f"{self.describe().name}: {reason}") from None
