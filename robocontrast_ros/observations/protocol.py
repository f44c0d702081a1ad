"""The interface of an observation filter, and the filters of one trial in their order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import ClassVar, Protocol

import numpy as np

from robocontrast_ros.configuration import ConfigurationError, load_plugin
from robocontrast_ros.domain import Aspect, Filter, Pose
from robocontrast_ros.objects.frames import compose
from robocontrast_ros.policies.protocol import Observation


class ObservationFilter(Protocol):
    """Changes a policy's observations; made anew for each trial, so it may remember earlier ones.

    Optional parts are in ``ErasingFilter`` and ``DrawnFilter``, and in ``ObjectsFilter``, ``CameraFilter`` and
    ``DelayFilter``, each of which has a class attribute that is true.

    Attributes:
        levels: text of each severity, the least first, with units; one to five of them.
        description: its effect, in a few words.
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
            camera: the camera whose images change; empty for all.
            rng: the only source of randomness.
        """

    def apply(self, observation: Observation) -> Observation:
        """Return the policy's observation in place of the given one; called once for each request to the policy."""


class ErasingFilter(ObservationFilter, Protocol):
    """Leaves nothing of what another filter does, so that they are refused together.

    Attributes:
        erases: that of which it leaves nothing, for each severity.
    """

    erases: ClassVar[tuple[tuple[Aspect, ...], ...]]


class ObjectsFilter(ObservationFilter, Protocol):
    """Changes nothing but the list of objects: it does not test a policy that gets none."""

    of_objects: ClassVar[bool]


class CameraFilter(ObservationFilter, Protocol):
    """Moves cameras for a trial; images are then those of the moved ones, and ``apply`` is not called.

    It is not run if the world moves no cameras.
    """

    displaces_cameras: ClassVar[bool]

    def offset(self, camera: str) -> Pose | None:
        """Return a camera's pose in the optical frame of its own place [m]; None if it stays there.

        It is always the same for a camera in a trial, whichever other cameras are asked for.
        """


class DrawnFilter(ObservationFilter, Protocol):
    """Takes numbers that a perturbation drew and recorded (``Filter.drawn``), in place of a severity."""

    @classmethod
    def from_drawn(cls, numbers: Sequence[float], camera: str) -> ObservationFilter:
        """Return the filter of these numbers.

        Raises:
            ValueError: it takes no such numbers; the text says which it takes.
        """


class DelayFilter(ObservationFilter, Protocol):
    """Lets the world continue while the policy computes; observations stay as they are, and ``apply`` is not called."""

    delays_answers: ClassVar[bool]

    def delay(self, latency: float) -> float:
        """Return the time that an answer counts for [s], given its measured time [s]."""


class TimedDelayFilter(DelayFilter, Protocol):
    """Knows the time of an answer in advance, or its median: results then show success by latency.

    Attributes:
        seconds: the time at each severity [s].
    """

    seconds: ClassVar[tuple[float, ...]]


class Filters:
    """The filters of one trial, one after the other."""

    def __init__(self, filters: Iterable[Filter], seed: int) -> None:
        """Make the filters; ``seed`` is that of the trial.

        Raises:
            ConfigurationError: one is unknown, or has no such severity.
        """
        made = [_made(wanted, np.random.default_rng([seed, position])) for position, wanted in enumerate(filters)]
        self._cameras = [each for each in made if displaces_cameras(type(each))]
        self._delays = [each for each in made if delays_answers(type(each))]
        special = (*self._cameras, *self._delays)
        self._filters = [each for each in made if not any(each is other for other in special)]

    def __bool__(self) -> bool:
        """Whether the policy's observations may differ from the sensors'."""
        return bool(self._filters)

    def offsets(self, cameras: Iterable[str]) -> dict[str, Pose]:
        """Return the poses of the cameras that are moved in this trial, by their names.

        Returns:
            Each one's pose in the optical frame of its own place (REP-103: z forward, y down) [m].
        """
        found = {}
        for name in cameras:
            offsets = [offset for each in self._cameras if (offset := each.offset(name)) is not None]
            if offsets:
                found[name] = reduce(compose, offsets)
        return found

    @property
    def delays(self) -> bool:
        """Whether answers of the policy count for another time than the measured one."""
        return bool(self._delays)

    def delay(self, latency: float) -> float:
        """Return the time that an answer counts for [s], given its measured time [s]; called once for each."""
        return sum(each.delay(latency) for each in self._delays)

    def apply(self, observation: Observation) -> Observation:
        """Return the policy's observation in place of the given one."""
        for each in self._filters:
            observation = each.apply(observation)
        return observation


def displaces_cameras(kind: type[ObservationFilter]) -> bool:
    """Return whether a filter is a ``CameraFilter``."""
    return getattr(kind, "displaces_cameras", False)


def delays_answers(kind: type[ObservationFilter]) -> bool:
    """Return whether a filter is a ``DelayFilter``."""
    return getattr(kind, "delays_answers", False)


def _made(wanted: Filter, rng: np.random.Generator) -> ObservationFilter:
    kind = load_plugin("observation_filters", wanted.name, "trial", "observation.name")
    if wanted.drawn:
        try:
            if not hasattr(kind, "from_drawn"):
                raise ValueError(f"no numbers, because '{wanted.name}' takes a severity")
            return kind.from_drawn(wanted.drawn, wanted.camera)
        except ValueError as error:
            raise ConfigurationError("trial", "observation.drawn", list(wanted.drawn), str(error)) from None
    if not 1 <= wanted.severity <= len(kind.levels):
        raise ConfigurationError("trial", "observation.severity", wanted.severity, f"1 to {len(kind.levels)}")
    return kind(wanted.severity, wanted.camera, rng)
