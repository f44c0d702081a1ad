"""What the session asks the person at the robot, and what is answered."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from robocontrast_ros.domain import Fault, Judgement, Scene, SetupMove

Decision = Literal["done", "void", "skip"]
"""Whether what was asked for is done, the attempt is void and is made again, or the trial is left out."""


ROBOT = "(robot)"
"""In place of an object's name where the robot's base is meant; no object may be called so."""


@dataclass(frozen=True)
class SetUpQuestion:
    """Whether a scene is set up.

    Attributes:
        target: the wanted scene.
        present: the scene as it is, as far as it is known.
        moves: what is still to be moved, in the order in which a person walks least.
        problems: what stands wrong after it was said to be done; empty when asked for the first time.
        doubts: whether these are doubts alone: the camera could not see well.
        expected: how long the handling model says that it takes [s].
        unseen: whether nothing tells what the robot has moved, so that the person has to put that back unasked.
        bring_robot: whether the robot's base has to be brought to its start, too; not for a robot that is fixed.
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
        """What the person ticks off: the names of the objects, and ``ROBOT``."""
        return (*(move.name for move in self.moves), *([ROBOT] if self.bring_robot else []))


@dataclass(frozen=True)
class StartQuestion:
    """Whether a trial may start.

    Attributes:
        trial_id: of the trial.
        instruction: what the policy is told.
    """

    trial_id: str
    instruction: str


@dataclass(frozen=True)
class JudgeQuestion:
    """How a trial went.

    Attributes:
        trial_id: of the trial.
        instruction: what the policy was told.
        ended: why the trial ended, in words.
        subgoals: number of subgoals of the trial, at least 1.
        counts: what counts as success, as a sentence.
        detail: why it ended, for an engineer; empty where there is no more to say.
    """

    trial_id: str
    instruction: str
    ended: str
    subgoals: int = 1
    counts: str = ""
    detail: str = ""


Question = SetUpQuestion | StartQuestion | JudgeQuestion


def why_ended(fault: Fault, stopped: bool, blind: bool) -> str:
    """Return why a trial ended, in words for the person who judges it.

    Args:
        fault: that ended it, or ``NONE``.
        stopped: whether the policy said that it is done.
        blind: whether nobody is to know which policy ran, so that its faults are all told alike.
    """
    words = Fault.POLICY_RAISED.words if blind and fault.of_policy else fault.words
    return words or ("The policy stopped." if stopped else "The time was over.")


@dataclass(frozen=True)
class OperatorAnswer:
    """What the person answers.

    Attributes:
        decision: see ``Decision``.
        reason: why an attempt is void, or a trial is left out, in words.
        moved: names of the objects that the person says were moved, also where the set-up was broken off; ``ROBOT``
            among them for the robot's base.
        overruled: whether the doubts of the camera were overruled.
        seconds: how long a set-up has taken since it was asked for the first time, without pauses [s].
        judgement: of a trial; None for other questions, and where the attempt is void.
    """

    decision: Decision
    reason: str = ""
    moved: tuple[str, ...] = ()
    overruled: bool = False
    seconds: float = 0.0
    judgement: Judgement | None = field(default=None)

    @property
    def fault(self) -> Fault:
        """Whose fault it is that the attempt does not count; ``NONE`` if what was asked for is done."""
        return {"void": Fault.VOIDED, "skip": Fault.SKIPPED}.get(self.decision, Fault.NONE)
