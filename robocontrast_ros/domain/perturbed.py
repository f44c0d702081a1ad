"""The answer of a perturbation: a perturbed test instance, or why there is none (seed 000, section 4)."""

from __future__ import annotations

from dataclasses import dataclass

from robocontrast_ros.domain.instance import TestInstance


@dataclass(frozen=True)
class NotApplicable:
    """Says that a perturbation cannot be applied, with the reason in words."""

    reason: str


@dataclass(frozen=True)
class Perturbed:
    """A perturbed test instance.

    Attributes:
        instance: the new initial conditions: feasible, and not solved at its start.
        note: what was changed, in words, for the experimenter's record.
    """

    instance: TestInstance
    note: str
