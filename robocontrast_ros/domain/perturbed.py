"""The answer of a perturbation: a perturbed test instance, or why there is none (seed 000, section 4)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from robocontrast_ros.domain.instance import TestInstance

AXES = "LSBO"
"""What a perturbation may change, in the order in which axes are written: language, scene, expected behaviour (seed
000, section 4), and what the policy is shown of the world (observation)."""


class Expectation(str, Enum):
    """What a sound policy does when a test instance is perturbed."""

    KEEPS_SUCCESS = "keeps_success"
    """What is expected of it stays: it does the same, as well as before."""
    CHANGES_BEHAVIOUR = "changes_behaviour"
    """Something else is expected of it, which it can do as well."""
    SHOULD_FAIL = "should_fail"
    """It cannot know what is expected: to succeed all the same is to act without understanding (seed 004)."""
    UNKNOWN = "unknown"
    """Nobody can say."""


@dataclass(frozen=True)
class PerturbationSpec:
    """What is known of a perturbation before it is applied.

    Attributes:
        axes: some of ``AXES``.
        plausible: whether a robot may meet it in use.
        expectation: what a sound policy does.
    """

    axes: str
    plausible: bool
    expectation: Expectation


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
