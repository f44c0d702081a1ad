"""The oracle of the kitchen: moves joints by their handles, and carries things as the tabletop's oracle does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from robocontrast_ros.domain import Instruction, Scene
from robocontrast_ros.policies.baselines.tabletop.oracle import TabletopOracle

if TYPE_CHECKING:
    from robocontrast_ros.policies.baselines.kitchen.joints import JointHandler


class KitchenOracle(TabletopOracle):
    """Understands the instruction in the scene of its first observation, then moves a joint or carries a thing.

    It knows no robot. Its actions depend on text and observations alone.
    """

    of_task = "kitchen"

    def skill(self, instruction: Instruction, start: Scene) -> JointHandler | Any:
        """Return the skill for an instruction given in a starting scene.

        Raises:
            ValueError: there is no plan.
        """
        # Large; a policy's description asks for parameters alone.
        from robocontrast_ros.policies.baselines.kitchen.carrying import KitchenHandler
        from robocontrast_ros.policies.baselines.kitchen.joints import JointHandler
        from robocontrast_ros.tasks.kitchen.goals import atom_of
        from robocontrast_ros.tasks.kitchen.predicates import STATES
        from robocontrast_ros.tasks.plans import NoPlan

        try:
            if atom_of(instruction).predicate in STATES:
                return JointHandler(instruction, start, self._task.planner, self._p.handling)
            return KitchenHandler(instruction, start, self._task, self._p.handling)
        except NoPlan as reason:
            raise ValueError(f"{self.describe().name}: {reason}") from None
