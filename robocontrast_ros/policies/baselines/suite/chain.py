"""The skill of the suite's oracle: the planned subtasks one after the other, each planned anew where it begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import Instruction, Pose, Scene
from robocontrast_ros.policies.baselines.kitchen.carrying import KitchenHandler
from robocontrast_ros.policies.baselines.kitchen.joints import JointHandler
from robocontrast_ros.policies.baselines.kitchen.moving import MovingHandler
from robocontrast_ros.policies.baselines.suite.uprighting import UprightHandler
from robocontrast_ros.policies.baselines.tabletop import handling
from robocontrast_ros.policies.baselines.tabletop.parameters import HandlingParameters
from robocontrast_ros.tasks.bddl import Atom
from robocontrast_ros.tasks.kitchen.predicates import STATES
from robocontrast_ros.tasks.suite import Suite
from robocontrast_ros.tasks.suite.goals import SuiteGoal
from robocontrast_ros.tasks.suite.planner import SuitePlanner
from robocontrast_ros.tasks.suite.predicates import UP


@dataclass(frozen=True)
class _OneStep:
    """A subtask as the skill of a single thing sees its task."""

    atom: Atom
    suite: Suite

    @property
    def planner(self) -> SuitePlanner:
        return self.suite.planner

    @property
    def goals(self) -> _OneStep:
        return self

    def goal(self, instruction: Instruction, start: Scene) -> SuiteGoal:
        return self.suite.goals.of(self.atom, start)


class Chain:
    """Carries out subtasks in the order of the plan, one step at a time.

    Attributes:
        atoms: what the planned subtasks bring about.
        skill: the skill of the present one.
        finished: whether all are done.
    """

    def __init__(self, instruction: Instruction, start: Scene, task: Suite, parameters: HandlingParameters) -> None:
        """Plan.

        Raises:
            NoPlan: there is no plan; its text has the reason.
            ValueError: the instruction is of no task.
        """
        self._task, self._p = task, parameters
        self.atoms = tuple(step.atom for step in task.planner.steps(task.tree_of(instruction), start))
        self.finished, self._number = False, 0
        self._begin(start)

    @property
    def atom(self) -> Atom:
        """The subtask that is carried out."""
        return self.atoms[self._number]

    def _begin(self, scene: Scene) -> None:
        step = _OneStep(self.atom, self._task)
        said = step.planner.instruction(step.atom, scene)
        self._goal = step.goal(said, scene)
        if step.atom.predicate == UP:
            self.skill = UprightHandler(said, scene, self._task, self._p)
        elif step.atom.predicate in STATES:
            self.skill = JointHandler(said, scene, step.planner, self._p)
        else:
            self.skill = KitchenHandler(said, scene, step, self._p)

    def step(self, tool: Pose, width: float, scene: Scene) -> NDArray[np.float64]:
        """Return the next action: displacement [m], rotation vector [rad], both in `world`, gripper; shape (7,).

        Args:
            tool: pose of the tool.
            width: distance between the fingers [m].
            scene: the scene as it is.

        Raises:
            NoPlan: the next subtask has no plan any more.
        """
        done = self._is_done(tool, scene)
        self.finished = done and self._number + 1 == len(self.atoms)
        if self.finished:
            return self._up(tool)
        if done:
            self._number += 1
            self._begin(scene)
        return self.skill.step(tool, width, scene)

    def executed(self, action: Sequence[float]) -> None:
        """Take an action as carried out, as the skill of a single thing does."""
        self.skill.executed(action)

    def _is_done(self, tool: Pose, scene: Scene) -> bool:
        """Return whether the subtask is fulfilled, and the hand has let go of the thing."""
        intent = self.skill.intent
        if intent is None or not self._goal.satisfied(scene):
            return False
        if isinstance(self.skill, MovingHandler):
            return self.skill.is_done(tool)
        if intent.phase is handling.Phase.RETREAT:
            return intent.above - tool.position[2] <= self._p.funnel
        # What rolled in a basket is not where it was put down, and would be fetched again.
        return intent.phase is handling.Phase.FETCH

    def _up(self, tool: Pose) -> NDArray[np.float64]:
        """Return an action that takes the open hand up to where it travels, and keeps it there."""
        if isinstance(self.skill, MovingHandler):
            return np.zeros(7)
        rise = min(max(self.skill.intent.above - tool.position[2], 0.0), self._p.slow_step)
        return np.array([0.0, 0.0, rise, 0.0, 0.0, 0.0, handling.OPEN])
