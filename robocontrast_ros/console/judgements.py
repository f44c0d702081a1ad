"""Judgements of trials that have ended: by the camera if it is certain, else by the person at the console."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from robocontrast_ros.console.console import Console
from robocontrast_ros.console.questions import JudgeQuestion, OperatorAnswer, why_ended
from robocontrast_ros.domain import Fault, Instruction, Judgement, Scene, Trial
from robocontrast_ros.perception import Verdict
from robocontrast_ros.tasks.protocol import Goal, StagedGoal, Task


@dataclass(frozen=True)
class EndedTrial:
    """A trial that has just ended.

    Attributes:
        trial: the trial that was run.
        start: its first scene.
        fault: the fault that ended it, or ``NONE``.
        detail: the fault in words, for an engineer.
        stopped: whether the policy reported that it is done.
        may_have_dropped: whether the robot may have dropped something on its way to rest.
    """

    trial: Trial
    start: Scene
    fault: Fault = Fault.NONE
    detail: str = ""
    stopped: bool = False
    may_have_dropped: bool = False


class TrialJudgements:
    """Judges the trials of a session, and has the console offer to correct each of them."""

    def __init__(
        self,
        console: Console,
        task: Task,
        counts: Callable[[Goal], str],
        verdict: Callable[[Goal, Instruction], Verdict] | None,
        ask_always: bool = False,
        blind: bool = False,
    ) -> None:
        """Take the parts.

        Args:
            console: asks the person.
            task: the task of the trials.
            counts: returns the condition of success, as a sentence.
            verdict: returns the camera's verdict; None if no camera reads the table.
            ask_always: whether the person also judges the trials that the camera decides.
            blind: whether nobody is to know which policy ran.
        """
        self._console, self._task, self._counts, self._verdict = console, task, counts, verdict
        self._ask_always, self._blind = ask_always, blind

    def remember(self, trial: Trial, start: Scene, judgement: Judgement | None) -> None:
        """Offer to correct a trial; ``judgement`` is None if the person was not asked."""
        goal = self._task.goals.goal(trial.instance.instruction, start)
        self._console.remember(trial.trial_id, judgement, _subgoals(goal))

    def judge(self, ended: EndedTrial) -> OperatorAnswer:
        """Return the person's answer, however long it takes; without a judgement if the camera decides alone.

        Their judgement ``advises`` if the camera is certain. It is not certain of a success that may be
        due to something that the robot dropped on its way to rest.
        """
        trial, words, fault = ended.trial, ended.trial.instance.instruction, ended.fault
        goal = self._task.goals.goal(words, ended.start)
        seen = self._verdict and self._verdict(goal, words)
        certain = seen is not None and seen.certain and not (seen.success and ended.may_have_dropped)
        if certain and not self._ask_always:
            answer = OperatorAnswer("done")
        else:
            why = why_ended(fault, ended.stopped, self._blind)
            detail = "" if self._blind and fault.of_policy else ended.detail
            counts = self._counts(goal)
            answer = self._console.ask(JudgeQuestion(trial.trial_id, words.text, why, _subgoals(goal), counts, detail))
        if answer.decision == "done":
            self._console.remember(trial.trial_id, answer.judgement, _subgoals(goal))
        if answer.judgement is None:
            return answer
        return replace(answer, judgement=replace(answer.judgement, advises=certain))


def _subgoals(goal: Goal) -> int:
    return len(goal.subgoals) if isinstance(goal, StagedGoal) else 1
