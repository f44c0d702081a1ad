"""What an observation filter is, and those of one trial in their order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Protocol

import numpy as np

from robocontrast_ros.configuration import ConfigurationError, load_plugin
from robocontrast_ros.domain import Filter
from robocontrast_ros.policies.protocol import Observation


class ObservationFilter(Protocol):
    """Changes what a policy is shown; made anew for each trial, so it may remember what came before.

    One that changes nothing but the list of objects says so in the class attribute ``of_objects``: it is no test of a
    policy that is shown none.

    Attributes:
        levels: what each severity is, the least first, with units; one to five of them.
        description: what it does, in a few words.
        plausible: whether a robot may meet it in use.
        of_images: whether it changes images, so that it may be of one camera.
    """

    levels: ClassVar[tuple[str, ...]]
    description: ClassVar[str]
    plausible: ClassVar[bool]
    of_images: ClassVar[bool]

    def __init__(self, severity: int, camera: str, rng: np.random.Generator) -> None:
        """Begin a trial.

        Args:
            severity: from 1 to the number of levels.
            camera: the one whose images change; empty for all.
            rng: the only source of randomness.
        """

    def apply(self, observation: Observation) -> Observation:
        """Return what the policy is shown in place of an observation; called once for each that it is asked about."""


class Filters:
    """The filters of one trial, one after the other."""

    def __init__(self, filters: Iterable[Filter], seed: int) -> None:
        """Make them; ``seed`` is that of the trial.

        Raises:
            ConfigurationError: one is not known, or has no such severity.
        """
        self._filters = [
            _made(wanted, np.random.default_rng([seed, position])) for position, wanted in enumerate(filters)
        ]

    def __bool__(self) -> bool:
        return bool(self._filters)

    def apply(self, observation: Observation) -> Observation:
        """Return what the policy is shown in place of an observation."""
        for each in self._filters:
            observation = each.apply(observation)
        return observation


def _made(wanted: Filter, rng: np.random.Generator) -> ObservationFilter:
    kind = load_plugin("observation_filters", wanted.name, "trial", "observation.name")
    if not 1 <= wanted.severity <= len(kind.levels):
        raise ConfigurationError("trial", "observation.severity", wanted.severity, f"1 to {len(kind.levels)}")
    return kind(wanted.severity, wanted.camera, rng)
