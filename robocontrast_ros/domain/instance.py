"""A test instance x = (l, s) with the behaviour it expects (seed 000, section 3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from robocontrast_ros.domain.instruction import Instruction
from robocontrast_ros.domain.scene import Scene


@dataclass(frozen=True)
class Proof:
    """A perturbation's claim about the expected behaviour, with the planner's numbers that show it.

    Attributes:
        claim: the claim in words, for instance ``the expected path stays``.
        measures: (name, value) pairs, in SI units; a length's name ends in ``_m``, an angle's in ``_rad``. What was
            drawn among names is a measure, too (``choice``).
    """

    claim: str
    measures: tuple[tuple[str, float], ...] = ()


def choice(kind: str, value: str) -> tuple[str, float]:
    """Return the measure of a name that was drawn among others of its kind, such as ``light=dim_lamp``: it is 1."""
    return f"{kind}={value}", 1.0


def choices(measures: Iterable[str]) -> dict[str, str]:
    """Return kind -> the name that was drawn, from the names of measures."""
    return dict(name.split("=", 1) for name in measures if "=" in name)


@dataclass(frozen=True)
class Filter:
    """A filter between the sensors and the policy.

    Attributes:
        name: name of an observation filter (``observations``).
        severity: severity, 1 (least) to 5; 0 if it has drawn numbers in its place.
        camera: the camera whose images it changes; empty for all of them.
        drawn: numbers that its perturbation drew, with the meaning that the filter gives them; else empty.
    """

    name: str
    severity: int
    camera: str = ""
    drawn: tuple[float, ...] = ()


@dataclass(frozen=True)
class TestInstance:
    """The initial conditions of a trial (l, s, o); the task derives the expected behaviour b from l and s.

    Attributes:
        instance_id: unique within a session.
        task: name of the task.
        instruction: the instruction l.
        scene: the starting scene s.
        optimal_path_length: length of the planner's robot path [m], the l_i of SPL; NaN if unknown.
        reference_path: the planner's robot path in the scene's frame, shape (n, 2), or (n, 3) if the task's paths count
            in space [m]; empty unless the path itself is part of the expected behaviour (nDTW).
        proof: claim and proof of the perturbation that made it; None for an unperturbed instance, or without a claim.
        observation: o: the filters between the sensors and the policy, in the order in which they are applied.
        problem: the problem of the task that it was drawn from; empty if it was drawn otherwise.
        after: instance_id of the test instance whose skill comes before its own in a chain; empty without one.
    """

    __test__ = False  # not a pytest class

    instance_id: str
    task: str
    instruction: Instruction
    scene: Scene
    optimal_path_length: float = float("nan")
    reference_path: tuple[tuple[float, ...], ...] = ()
    proof: Proof | None = None
    observation: tuple[Filter, ...] = ()
    problem: str = ""
    after: str = ""
