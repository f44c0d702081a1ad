"""The difficulty levels of seed 004, appendix E.1, for every task whose instances can be made harder.

Each acts on the instance's own scene, so the base trial is the twin. The task defines each, and how its claim is
proved: ``Task.difficulty``.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from robocontrast_ros.configuration import record
from robocontrast_ros.domain import Expectation, NotApplicable, Scene, TestInstance
from robocontrast_ros.perturbations.protocol import NamedPerturbation
from robocontrast_ros.tasks.protocol import Answer, Harder, Task
from robocontrast_ros.tasks.proven import proven

OWN_SCENE = "an instance is made harder in the scene of the test instance itself"

AXES = {"places": "SB", "destination": "LSB"}
"""Way to make an instance harder -> the axes that it changes."""

FEWEST = 3
"""Default number of distractors, and the fewest that count as distracting."""


@record
class DistractingParameters:
    """Parameters of ``distracting`` in a session."""

    count: int = Field(default=FEWEST, ge=FEWEST, le=100, description="how many distractors are added")


@record
class ExtremeParameters:
    """Parameters of ``extreme`` in a session."""

    changes: Harder = Field(
        default="places",
        description="places: the named objects are at the hardest places; destination: the destination is of another "
        "kind",
    )


@record
class ExtremelyDistractingParameters:
    """Parameters of ``extremely_distracting`` in a session."""

    count: int = Field(default=FEWEST, ge=FEWEST, le=100, description="how many distractors are added")
    changes: Harder = Field(default="places", description="as for `extreme`")


class _Difficulty(NamedPerturbation):
    """Base: the instance made harder in its own scene, under the perturbation's name.

    Attributes:
        count: number of distractors to add.
        changes: other way in which it is made harder; None without one.
    """

    elsewhere = OWN_SCENE
    count: int = 0
    changes: Harder | None = None

    def supports(self, task: Task) -> bool:
        """Return whether the task's instances can be made harder in this way.

        Raises:
            ValueError: there is no room for so many distractors.
        """
        difficulty = task.difficulty
        if difficulty is None or (self.changes is not None and self.changes not in difficulty.harder):
            return False
        room = difficulty.most(self.count) if self.count else 0
        if 0 < room < self.count:
            raise ValueError(f"at most {room} distractors, for which there is room in the task '{task.name}'")
        return room == self.count


class Distracting(_Difficulty):
    """Added things that look like the named ones."""

    symbol, axes = "ΔS distracting", "S"
    expectation = Expectation.KEEPS_SUCCESS
    parameters = DistractingParameters
    measures = ("distractors", "alike", "path_before_m", "path_after_m")

    def __init__(self, parameters: DistractingParameters | None = None) -> None:
        """Take the session's parameters; the defaults without them."""
        self.count = (parameters or DistractingParameters()).count
        self.name = f"distracting_{self.count}"
        self.description = f"add {self.count} things that share shape, kind or colour with what is named"

    def changed(self, task: Task, base: TestInstance, scene: Scene, rng: np.random.Generator) -> Answer:
        """Return the task's answer."""
        return task.difficulty.distract(base, self.count, rng)


class Extreme(_Difficulty):
    """Another parameter of the task, or another use of a thing."""

    parameters = ExtremeParameters
    measures = ("path_before_m", "path_after_m", "moved_m")

    def __init__(self, parameters: ExtremeParameters | None = None) -> None:
        """Take the session's parameters; the defaults without them."""
        self.changes = (parameters or ExtremeParameters()).changes
        self.axes = AXES[self.changes]
        self.name = "_".join(("extreme", *_said(self.changes)))
        self.symbol = f"Δ{self.axes} {self.name.replace('_', ' ')}"
        self.description = _WORDS[self.changes]

    def changed(self, task: Task, base: TestInstance, scene: Scene, rng: np.random.Generator) -> Answer:
        """Return the task's answer."""
        return task.difficulty.harden(base, self.changes, rng)


class ExtremelyDistracting(_Difficulty):
    """Both: first extreme, then distractors that look like the things named then."""

    parameters = ExtremelyDistractingParameters
    measures = ("path_before_m", "path_after_m", "moved_m", "distractors", "alike")

    def __init__(self, parameters: ExtremelyDistractingParameters | None = None) -> None:
        """Take the session's parameters; the defaults without them."""
        p = parameters or ExtremelyDistractingParameters()
        self.count, self.changes = p.count, p.changes
        self.axes = AXES[p.changes]
        self.name = "_".join(("extremely_distracting", str(p.count), *_said(p.changes)))
        self.symbol = f"Δ{self.axes} {self.name.replace('_', ' ')}"
        self.description = f"{_WORDS[p.changes]}, and add {p.count} things that look like it"

    def changed(self, task: Task, base: TestInstance, scene: Scene, rng: np.random.Generator) -> Answer:
        """Return the task's answer."""
        extreme = task.difficulty.harden(base, self.changes, rng)
        if isinstance(extreme, NotApplicable):
            return extreme
        both = task.difficulty.distract(extreme.instance, self.count, rng)
        if isinstance(both, NotApplicable):
            return both
        first, second = extreme.instance.proof, both.instance.proof
        measures = {**dict(first.measures), **dict(second.measures), "path_before_m": base.optimal_path_length}
        return proven(both.instance, f"{first.claim}; {second.claim}", f"{extreme.note}; {both.note}", measures)


_WORDS = {
    "places": "what is named stands where that is hardest",
    "destination": "the destination is a thing that is not used so",
}


def _said(changes: Harder) -> tuple[str, ...]:
    """Return the way's part of a name; empty for the default."""
    return () if changes == "places" else (changes,)
