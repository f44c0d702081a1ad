"""Several perturbations of one test instance at a time (seed 004, tables 7 d to f, 8 and F.12)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import permutations

import numpy as np

from robocontrast_ros.domain import AXES, Aspect, Expectation, NotApplicable, Perturbed, Proof, Scene, TestInstance
from robocontrast_ros.perturbations.protocol import NamedPerturbation, Perturbation
from robocontrast_ros.tasks.protocol import Answer, Task

DOMINANT = (
    Expectation.SHOULD_FAIL,
    Expectation.UNKNOWN,
    Expectation.CHANGES_BEHAVIOUR,
    Expectation.KEEPS_SUCCESS,
)
"""A sound policy does what the first of these says that a part has."""

OWN_SCENE = "it does not say whether it applies in another scene than that of the test instance itself"


class Composition(NamedPerturbation):
    """Perturbations, one after the other: where things stand, what is told, what is shown.

    Each part is given the instance that those before it made, in that instance's scene.

    Attributes:
        parts: the perturbations, in the order in which they are applied.
        measures: those that its proofs have by the same names as those of its parts.
    """

    def __init__(self, parts: Iterable[Perturbation]) -> None:
        """Take the parts, in any order.

        Raises:
            ValueError: they exclude each other; the text names the expected parts.
        """
        self.parts = tuple(sorted(parts, key=_place))
        _check(self.parts)
        self.name = "+".join(part.name for part in self.parts)
        self.symbol = " + ".join(part.symbol for part in self.parts)
        self.axes = "".join(axis for axis in AXES if any(axis in part.axes for part in self.parts))
        self.description = "; ".join(part.description for part in self.parts)
        self.plausible = all(part.plausible for part in self.parts)
        self.expectation = min((part.expectation for part in self.parts), key=DOMINANT.index)
        reasons = ((part.name, getattr(part, "elsewhere", OWN_SCENE)) for part in self.parts)
        self.elsewhere = next((f"{name}: {reason}" for name, reason in reasons if reason), "")
        proving = [part for part in self.parts if {*part.axes} & {*"SB"} or not hasattr(part, "acts_on")]
        self.measures: tuple[str, ...] = getattr(proving[0], "measures", ()) if len(proving) == 1 else ()

    def supports(self, task: Task) -> bool:
        """Return whether the task has what each part changes."""
        return all(part.supports(task) for part in self.parts)

    def changed(self, task: Task, base: TestInstance, scene: Scene, rng: np.random.Generator) -> Answer:
        """Return the instance that all parts make, with the proof of each."""
        made, notes, proofs = replace(base, proof=None), [], {}
        for part in self.parts:
            answer = part.apply(task, made, scene, rng)
            if isinstance(answer, NotApplicable):
                return NotApplicable(f"{part.name}: {answer.reason}")
            notes.append(answer.note)
            if answer.instance.proof is not None:
                proofs[part.name] = answer.instance.proof
            made, scene = replace(answer.instance, proof=None), answer.instance.scene
        return Perturbed(replace(made, proof=_joined(proofs)), "; ".join(notes))


def _joined(proofs: Mapping[str, Proof]) -> Proof | None:
    """Return the proofs of some parts as one; ``part.`` is before a measure that two of them have."""
    if not proofs:
        return None
    number = Counter(name for proof in proofs.values() for name, _ in proof.measures)
    measures = [
        (name if number[name] == 1 else f"{part}.{name}", value)
        for part, proof in proofs.items()
        for name, value in proof.measures
    ]
    return Proof("; ".join(proof.claim for proof in proofs.values()), tuple(measures))


def _place(part: Perturbation) -> tuple[int, int, bool, str]:
    """Return what the order of application is by.

    The scene comes before the words, and the words before what is shown. In the scene, what changes the expected
    behaviour comes first, so that what is added suits it; words are changed in the order of ``Aspect``.
    """
    told = "L" in part.axes and "S" not in part.axes
    stage = 1 if told else 2 if part.axes == "O" else 0
    first = min(map([*Aspect].index, _acts_on(part)), default=0) if told else 0
    return stage, first, "B" not in part.axes, part.name


def _check(parts: tuple[Perturbation, ...]) -> None:
    """Refuse parts that exclude each other.

    Raises:
        ValueError: with the expected parts, and why these are others.
    """
    names = [part.name for part in parts]
    if len(names) < 2:
        raise ValueError(f"two parts or more; there {'is one' if names else 'are none'}")
    if twice := next((name for name, number in Counter(names).items() if number > 1), ""):
        raise ValueError(f"each part once; '{twice}' is there twice")
    for one, other in sorted(permutations(parts, 2), key=lambda pair: -len(_erases(pair[1]))):
        cameras = {getattr(part, "camera", "") for part in (one, other)}
        erased = [aspect for aspect in _erases(other) if aspect in _acts_on(one)]
        if erased and (len(cameras) < 2 or "" in cameras):
            reason = f"'{other.name}' leaves nothing of what '{one.name}' changes: {erased[0].value}"
            raise ValueError(f"parts that do not contradict each other; {reason}")


def _acts_on(part: Perturbation) -> tuple[Aspect, ...]:
    if hasattr(part, "acts_on"):
        return part.acts_on
    if "S" in part.axes:
        places = (Aspect.SOURCE, Aspect.TARGET) if "B" in part.axes else ()
        return (*places, Aspect.DESTINATION) if {*"LB"} <= {*part.axes} else places
    if "L" in part.axes:
        return (Aspect.MEANING,) if "B" in part.axes else (Aspect.WORDS, Aspect.REFERENTS)
    return ()


def _erases(part: Perturbation) -> tuple[Aspect, ...]:
    if hasattr(part, "erases"):
        return part.erases
    changed = _acts_on(part)
    if Aspect.MEANING in changed:
        return (*changed, Aspect.DESTINATION)
    # What was asked for cannot be known from words that mean nothing.
    meaningless = "L" in part.axes and "S" not in part.axes and part.expectation is Expectation.SHOULD_FAIL
    return (*changed, Aspect.MEANING) if meaningless else changed
