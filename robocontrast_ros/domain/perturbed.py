"""The answer of a perturbation: a perturbed test instance, or the reason why there is none (seed 000, section 4)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from robocontrast_ros.domain.instance import TestInstance

AXES = "LSBO"
"""Axes that a perturbation may change, in their written order: language, scene, expected behaviour (seed 000, section
4), and the policy's view of the world (observation)."""


class Expectation(str, Enum):
    """The answer of a sound policy to a perturbed test instance."""

    KEEPS_SUCCESS = "keeps_success"
    """The expectation stays: it does the same, as well as before."""
    CHANGES_BEHAVIOUR = "changes_behaviour"
    """The expectation changes: it does something else, as well as before."""
    SHOULD_FAIL = "should_fail"
    """It cannot know the expectation: a success would mean that it acts without understanding (seed 004)."""
    UNKNOWN = "unknown"
    """The expectation is unknown."""


class Aspect(Enum):
    """What a perturbation acts on, in words. What is told is changed in this order."""

    SOURCE = "where the source stands"
    TARGET = "where the target stands"
    DESTINATION = "what the destination is"
    MEANING = "what is asked for"
    WORDS = "the words that refer to nothing"
    REFERENTS = "the words that refer to something"
    LETTERS = "the letters of words"
    CASE = "capital and small letters"
    MARKS = "the full stop"
    IMAGES = "the images"
    EXPOSURE = "the brightness of the images"


@dataclass(frozen=True)
class PerturbationSpec:
    """The facts about a perturbation before it is applied.

    Attributes:
        axes: some of ``AXES``.
        plausible: whether a robot may meet it in use.
        expectation: the answer of a sound policy.
        parts: names of the perturbations that it is composed of; empty for a single one.
    """

    axes: str
    plausible: bool
    expectation: Expectation
    parts: tuple[str, ...] = ()


@dataclass(frozen=True)
class NotApplicable:
    """A perturbation cannot be applied; the reason is in words."""

    reason: str


@dataclass(frozen=True)
class Perturbed:
    """A perturbed test instance.

    Attributes:
        instance: the new initial conditions: feasible, and not solved at its start.
        note: the change in words, for the experimenter's record.
    """

    instance: TestInstance
    note: str
