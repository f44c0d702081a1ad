"""ΔS of seed 001: other things are added; the words, and the expected behaviour, stay."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from pydantic import Field

from robocontrast_ros.configuration import record
from robocontrast_ros.domain import Expectation, NotApplicable, Perturbed, Scene, TestInstance
from robocontrast_ros.tasks.protocol import DistractorRequest, Task

USUAL = 4
"""Default number of distractors."""


@record
class DistractorParameters:
    """Parameters of distractors in a session."""

    count: int = Field(default=USUAL, ge=0, le=100, description="how many are added")
    similar: Literal["any", "alike", "unlike"] = Field(
        default="any",
        description="alike: each has the kind, the category or the colour of something that the instruction names; "
        "unlike: none has",
    )
    occluder: bool = Field(default=False, description="whether one of them hides a part of the target")
    looks: bool = Field(default=False, description="whether table, background and light are drawn anew")


class Distractors:
    """Distractors in an instance's own scene; the base trial is the twin without them."""

    axes = "S"
    plausible = True
    expectation = Expectation.KEEPS_SUCCESS
    parameters = DistractorParameters
    measures = ("distractors", "alike", "occlusion", "congestion_robot", "congestion_top", "dvfc")

    def __init__(self, parameters: DistractorParameters | None = None) -> None:
        """Take the session's parameters; the defaults without them."""
        p = parameters or DistractorParameters()
        self._request = DistractorRequest(p.count, p.similar, p.occluder, p.looks)
        further = (("alike", p.similar == "alike"), ("unlike", p.similar == "unlike"))
        further = [word for word, said in (*further, ("occluder", p.occluder), ("looks", p.looks)) if said]
        self.name = "_".join(("distractors", str(p.count), *further))
        self.symbol = " ".join((f"ΔS{p.count}", *further))
        self.description = f"add {p.count} things that the instruction does not name"

    def supports(self, task: Task) -> bool:
        """Return whether the task has distractors.

        Raises:
            ValueError: so many have no room.
        """
        if task.clutter is None:
            return False
        room = task.clutter.most(self._request.count)
        if room < self._request.count:
            raise ValueError(f"at most {room} distractors, for which there is room in the task '{task.name}'")
        return True

    def apply(
        self, task: Task, base: TestInstance, scene: Scene, rng: np.random.Generator
    ) -> Perturbed | NotApplicable:
        """Add the distractors."""
        if scene.objects != base.scene.objects:
            return NotApplicable("distractors are added to the scene of the test instance itself")
        answer = task.clutter.add(base, self._request, rng)
        if isinstance(answer, NotApplicable):
            return answer
        return replace(answer, instance=replace(answer.instance, instance_id=f"{base.instance_id}-{self.name}"))
