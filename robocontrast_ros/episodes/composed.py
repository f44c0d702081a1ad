"""The judgement of a goal of several subtasks (seed 002): conditions in order, with regression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from robocontrast_ros.domain import Judgement, Scene
from robocontrast_ros.tasks.composed import ComposedGoal, Group, Mode, Subtask, Tree, subtasks
from robocontrast_ros.tasks.protocol import Holding


class ComposedProgress:
    """Progress is the weighted share of the conditions that are reached; one that is lost counts no more.

    A group's progress is the mean of its parts, the best of them if any will do, or the mean of the best K. The success
    is latched when the whole tree is done at one time.
    """

    def __init__(self, goal: ComposedGoal, start: Scene, hold_steps: int) -> None:
        """Begin a trial; see ``judging.goal_progress``."""
        self._goal, self._root = goal, _tracker(goal.tree, start, hold_steps)
        self.subgoals = subtasks(goal.tree)
        self.distance = goal.distance(start)
        self._satisfied = goal.satisfied(start)
        self.holds = self.succeeded = False

    @property
    def progress(self) -> float:
        """The weighted share of what has to be done."""
        return 1.0 if self.succeeded else self._root.progress

    @property
    def reached(self) -> int:
        """Number of subtasks that are done now; all from the success on."""
        return self.subgoals if self.succeeded else min(self._root.done, self.subgoals)

    def update(self, scene: Scene) -> None:
        """Update with the scene of one control step."""
        self._root.update(scene)
        self.distance, self._satisfied = self._goal.distance(scene), self._goal.satisfied(scene)
        if not self._goal.stop_required:
            self.holds = self._root.complete and self._satisfied
            self.succeeded = self.succeeded or self.holds

    def tell(self, judgement: Judgement) -> None:
        """Do nothing: scenes decide."""

    def success(self, stopped: bool) -> bool:
        """Return whether all was done at one time and, if required, the policy stopped then."""
        return self.succeeded or (stopped and self._root.complete and self._satisfied)


@dataclass
class _Held:
    """Counts the control steps in a row in which something is true of the scene, or is not."""

    true: Callable[[Scene], bool]
    holding: Holding
    wanted: bool
    least: int
    steps: int = 0

    def update(self, scene: Scene, before: Scene) -> bool:
        """Return whether it has been so for long enough."""
        holds = self.true(scene) is self.wanted and self.holding.at_rest(before, scene)
        self.steps = self.steps + 1 if holds else 0
        return self.steps >= max(self.least, self.holding.steps)


class _OfSubtask:
    def __init__(self, subtask: Subtask, start: Scene, least: int) -> None:
        self._conditions = subtask.conditions(start)
        self._least, self._before = least, start
        self._losing = [_Held(c.kept, c.losing, False, 1) for c in self._conditions]
        self._go_on_from(0)

    @property
    def progress(self) -> float:
        return sum(condition.weight for condition in self._conditions[: self._reached])

    @property
    def complete(self) -> bool:
        return self._reaching is None

    @property
    def done(self) -> int:
        return int(self.complete)

    def update(self, scene: Scene) -> None:
        before, self._before = self._before, scene
        lost = [losing.update(scene, before) for losing in self._losing][: self._reached]
        if True in lost:
            self._go_on_from(lost.index(True))
        while self._reaching is not None and self._reaching.update(scene, before):
            waited = self._reaching.holding.steps > 1
            self._go_on_from(self._reached + 1)
            if waited:
                return

    def _go_on_from(self, reached: int) -> None:
        self._reached, self._reaching = reached, None
        if reached < len(self._conditions):
            condition, is_last = self._conditions[reached], reached == len(self._conditions) - 1
            self._reaching = _Held(condition.holds, condition.holding, True, self._least if is_last else 1)


class _OfGroup:
    """Parts that are done in any order; a choice is complete with exactly its number."""

    def __init__(self, group: Group[Subtask], start: Scene, least: int) -> None:
        self._parts = [_tracker(part, start, least) for part in group.parts]
        self._wanted = {Mode.ANY: 1, Mode.CHOOSE: group.count}.get(group.mode, len(self._parts))
        self._exactly = group.mode is Mode.CHOOSE

    @property
    def progress(self) -> float:
        return sum(sorted((part.progress for part in self._parts), reverse=True)[: self._wanted]) / self._wanted

    @property
    def done(self) -> int:
        return sum(sorted((part.done for part in self._parts), reverse=True)[: self._wanted])

    @property
    def complete(self) -> bool:
        number = sum(part.complete for part in self._parts)
        return number == self._wanted if self._exactly else number >= self._wanted

    def update(self, scene: Scene) -> None:
        for part in self._parts:
            part.update(scene)


class _OfSequence:
    """Parts one after the other; each is begun when the one before is complete, and anew when that is lost."""

    def __init__(self, group: Group[Subtask], start: Scene, least: int) -> None:
        self._waiting, self._least = group.parts, least
        self._begun = [_tracker(group.parts[0], start, least)]

    @property
    def progress(self) -> float:
        return sum(part.progress for part in self._begun) / len(self._waiting)

    @property
    def done(self) -> int:
        return sum(part.done for part in self._begun)

    @property
    def complete(self) -> bool:
        return len(self._begun) == len(self._waiting) and all(part.complete for part in self._begun)

    def update(self, scene: Scene) -> None:
        for part in self._begun:
            part.update(scene)
        undone = next((k for k, part in enumerate(self._begun) if not part.complete), None)
        if undone is not None:
            del self._begun[undone + 1 :]
        elif len(self._begun) < len(self._waiting):
            self._begun.append(_tracker(self._waiting[len(self._begun)], scene, self._least))


_Tracker = _OfSubtask | _OfGroup | _OfSequence


def _tracker(tree: Tree[Subtask], start: Scene, least: int) -> _Tracker:
    if not isinstance(tree, Group):
        return _OfSubtask(tree, start, least)
    return (_OfSequence if tree.mode is Mode.SEQUENCE else _OfGroup)(tree, start, least)
