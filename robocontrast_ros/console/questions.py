"""Questions of the session to the person at the robot, and the answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from robocontrast_ros.domain import Fault, Judgement, Scene, SetupMove

Decision = Literal["done", "void", "skip"]
"""Whether the request is done, the attempt is void and is made again, or the trial is left out."""


ROBOT = "(robot)"
"""Name of the robot's base among the names of objects; no object may have it."""


@dataclass(frozen=True)
class SetUpQuestion:
    """The question whether a scene is set up.

    Attributes:
        target: the wanted scene.
        present: the scene as it is, as far as it is known.
        moves: objects still to be moved, in the order in which a person walks least.
        problems: errors that remain after the person said that all is done, in words; empty the first time.
        doubts: whether the problems are only doubts, because the camera could not see well.
        expected: time that the handling model expects for the set-up [s].
        unseen: whether it is unknown what the robot has moved, so that the person has to put that back unasked.
        bring_robot: whether the robot's base also has to be brought to its start; False for a fixed robot.
    """

    target: Scene
    present: Scene
    moves: tuple[SetupMove, ...]
    problems: tuple[str, ...] = ()
    doubts: bool = False
    expected: float = 0.0
    unseen: bool = False
    bring_robot: bool = False

    @property
    def things(self) -> tuple[str, ...]:
        """The items that the person ticks off: the names of the objects, and ``ROBOT``."""
        return (*(move.name for move in self.moves), *([ROBOT] if self.bring_robot else []))


@dataclass(frozen=True)
class StartQuestion:
    """The question whether a trial may start.

    Attributes:
        trial_id: id of the trial.
        instruction: the instruction for the policy.
    """

    trial_id: str
    instruction: str


@dataclass(frozen=True)
class JudgeQuestion:
    """The question how a trial went.

    Attributes:
        trial_id: id of the trial.
        instruction: the instruction that the policy had.
        ended: the reason of the trial's end, in words.
        subgoals: number of subgoals of the trial, at least 1.
        counts: the condition of success, as a sentence.
        detail: the same for an engineer; empty if there is no more.
    """

    trial_id: str
    instruction: str
    ended: str
    subgoals: int = 1
    counts: str = ""
    detail: str = ""


Question = SetUpQuestion | StartQuestion | JudgeQuestion


def why_ended(fault: Fault, stopped: bool, blind: bool) -> str:
    """Return the reason of a trial's end, in words for the person who judges it.

    Args:
        fault: the fault that ended it, or ``NONE``.
        stopped: whether the policy reported that it is done.
        blind: whether nobody is to know which policy ran, so that all faults of policies have the same words.
    """
    words = Fault.POLICY_RAISED.words if blind and fault.of_policy else fault.words
    return words or ("The policy stopped." if stopped else "The time was over.")


@dataclass(frozen=True)
class OperatorAnswer:
    """An answer of the person.

    Attributes:
        decision: see ``Decision``.
        reason: the reason why an attempt is void, or a trial is left out, in words.
        moved: names of the objects that were moved, as the person says, also if the set-up was broken off; ``ROBOT``
            means the robot's base.
        overruled: whether the doubts of the camera were overruled.
        seconds: time of a set-up since it was asked for the first time, without pauses [s].
        judgement: judgement of a trial; None for other questions, and if the attempt is void.
    """

    decision: Decision
    reason: str = ""
    moved: tuple[str, ...] = ()
    overruled: bool = False
    seconds: float = 0.0
    judgement: Judgement | None = field(default=None)

    @property
    def fault(self) -> Fault:
        """The fault for which the attempt does not count; ``NONE`` if the request is done."""
        return {"void": Fault.VOIDED, "skip": Fault.SKIPPED}.get(self.decision, Fault.NONE)
