"""The control that ignores the instruction: it draws a task of the scene, and carries it out as the oracle does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robocontrast_ros.domain import Scene
from robocontrast_ros.policies.baselines.suite.oracle import SuiteOracle
from robocontrast_ros.policies.scripted import ByOracle, ByOracleParameters

if TYPE_CHECKING:
    from robocontrast_ros.policies.baselines.suite.chain import Chain


class SuiteBlind(ByOracle, SuiteOracle):
    """Draws one of the tasks that are given in its first scene, from the trial's seed and whatever the words are."""

    parameters, oracle = ByOracleParameters, SuiteOracle

    def first_skill(self, text: str, start: Scene) -> Chain:
        """Return the skill for a drawn task.

        Raises:
            ValueError: none of the tasks of the scene can be carried out.
        """
        there = {(o.name, o.model) for o in start}
        tasks = [t for t in self._task.suite.values() if there.issuperset((o.name, o.model) for o in t.scene)]
        for index in self._rng.permutation(len(tasks)):
            try:
                return self.skill(tasks[index].instruction(), start)
            except ValueError:
                continue
        raise ValueError(f"{self._own.name}: no task of the suite can be carried out in this scene")
