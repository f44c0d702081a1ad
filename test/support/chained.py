"""A strategy that chains two skills, between which the robot alone is reset."""

from __future__ import annotations

from dataclasses import replace

from robocontrast_ros.domain import BASE, Start
from robocontrast_ros.strategies.protocol import PerturbationUse, Proposal, Strategy


class Twice(Strategy):
    """Each instance, then the same in the scene that it left, or `close` after `open`, whatever the first achieved."""

    name = "twice"
    description = "chains of two skills, for tests"
    uses_perturbations = PerturbationUse.NONE
    base_trials_iid = False

    def run(self, context):
        """Return the trials."""
        for first in context.test_set:
            done = yield Proposal(first.instance_id, first, start=Start.FULL_RESET)
            scene = replace(done.result.final_scene, contacts=(), carried=())
            then = first.instruction
            if then.family == "open":
                then = replace(then, family="close", text=then.text.replace("open", "close"))
            instance = replace(first, instance_id=f"{first.instance_id}_2", instruction=then, scene=scene)
            yield Proposal(instance.instance_id, instance, BASE, start=Start.ROBOT_ALONE)

    def trials_expected(self, context):
        """Return the number of trials."""
        return 2 * len(context.test_set)
