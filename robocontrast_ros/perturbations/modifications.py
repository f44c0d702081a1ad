"""ΔS of seed 003 (sections III, IV-A): the scene changes in what the skill neither needs nor brings about."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from robocontrast_ros.configuration import record
from robocontrast_ros.domain import Expectation, Scene, TestInstance
from robocontrast_ros.perturbations.protocol import NamedPerturbation
from robocontrast_ros.tasks.protocol import Answer, Task


@record
class ModificationParameters:
    """Parameters of modifications in a session."""

    count: int = Field(default=1, ge=1, le=5, description="number of modifications, one after the other")
    edits: tuple[str, ...] = Field(
        default=(),
        description="modifications to make in this order in place of drawn ones, such as `toggle (Open cabinet_top_region)`",
    )


class Modify(NamedPerturbation):
    """Modifications in an instance's own scene: each of a kind that is drawn first, then one of that kind."""

    kind: ClassVar[str] = "modify"
    words: ClassVar[str] = "changes the scene in any of these ways"
    axes = "S"
    expectation = Expectation.KEEPS_SUCCESS
    elsewhere = "a modification is one of the scene of the test instance itself"
    parameters = ModificationParameters
    measures = ("modifications",)

    def __init__(self, parameters: ModificationParameters | None = None) -> None:
        """Take the session's parameters; the defaults without them."""
        self._p = p = parameters or ModificationParameters()
        count = len(p.edits) or p.count
        further = f"_{count}" if count > 1 else ""
        self.name = f"S_{self.kind}{further}"
        self.symbol = f"ΔS{further.replace('_', '')} {self.kind}"
        times = "once" if count == 1 else f"{count} times"
        self.description = f"{self.words}, {times}, where the skill neither needs it nor brings it about"

    def supports(self, task: Task) -> bool:
        """Return whether the task has modifications."""
        return task.modifications is not None

    def changed(self, task: Task, base: TestInstance, scene: Scene, rng: np.random.Generator) -> Answer:
        """Return the instance in the modified scene."""
        if self._p.edits:
            return task.modifications.edit(base, self._p.edits, rng)
        kinds = task.modifications.kinds if self.kind == Modify.kind else (self.kind,)
        return task.modifications.modify(base, kinds, self._p.count, rng)


class Move(Modify):
    """Things that the skill does not concern stand in other places."""

    kind = "move"
    words = "a thing stands elsewhere"


class Add(Modify):
    """Further things are there."""

    kind = "add"
    words = "a thing is added"


class Toggle(Modify):
    """Parts that the skill does not concern are open, shut, on or off."""

    kind = "toggle"
    words = "a drawer, a door or a knob is in another state"


class Contain(Modify):
    """Something small is in or on a container that the instruction names."""

    kind = "contain"
    words = "something small is in or on a container that is named"
