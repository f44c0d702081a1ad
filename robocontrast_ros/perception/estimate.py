"""Estimates of a scene from a picture."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from robocontrast_ros.domain import ObjectState, Pose, Scene
from robocontrast_ros.domain.words import name_in_words


@dataclass(frozen=True)
class ObjectEstimate:
    """The estimate of one object.

    Attributes:
        name: name of the object in the scene.
        model: its model.
        pose: its pose in the world frame, as in ``domain.Scene``; None if it is not seen.
        position_std: standard deviation of the position, along each of x and y [m]; NaN without a pose.
        yaw_std: standard deviation of the yaw, up to ``turns`` [rad]; NaN without a pose.
        turns: equally spaced turns about z that look the same: the yaw is one of these.
        unsure: reasons for a person to look, each a sentence without the object's name; empty if nothing but the height
            of an object, or the state of a part, is in doubt.
        hidden: share of the object that something hides, 0 to 1.
        shifts: its shifts along x and y by one standard deviation of each of the calibration's errors [m]: a part of
            ``position_std`` that all objects share. Empty if the calibration does not matter.
        others: its poses at other heights that explain the picture as well.
        ends: of a part on a joint: its poses at the least and the greatest position that the picture allows. Empty for
            what is no part.
        states: of a part: the states of its joint from one of these ends to the other.
    """

    name: str
    model: str
    pose: Pose | None
    position_std: float
    yaw_std: float
    turns: int = 1
    unsure: tuple[str, ...] = ()
    hidden: float = 0.0
    shifts: tuple[tuple[float, float], ...] = ()
    others: tuple[Pose, ...] = ()
    ends: tuple[Pose, ...] = ()
    states: tuple[str, ...] = ()

    @property
    def certain(self) -> bool:
        """Whether the pose is there and nothing is in doubt."""
        return self.pose is not None and not self.reasons

    @property
    def reasons(self) -> tuple[str, ...]:
        """Reasons for a person to look, each a sentence without the object's name."""
        heights = (f"it may stand at a height of {_mm(self.pose)} or of {_mm(other)} mm" for other in self.others[:1])
        states = (f"it may be {' or '.join(self.states)}",) if len(self.states) > 1 else ()
        return (*self.unsure, *heights, *states)

    @property
    def words(self) -> tuple[str, ...]:
        """The same as lines for people."""
        return tuple(f"{name_in_words(self.name)}: {reason}" for reason in self.reasons)


@dataclass(frozen=True)
class SceneEstimate:
    """The estimate of a scene.

    Attributes:
        objects: estimates in the order of the expected scene.
        problems: those of the whole picture, in plain words; with any, nothing is certain.
        frame_id: frame of the poses.
    """

    objects: tuple[ObjectEstimate, ...]
    problems: tuple[str, ...] = ()
    frame_id: str = "world"

    def __getitem__(self, name: str) -> ObjectEstimate:
        for candidate in self.objects:
            if candidate.name == name:
                return candidate
        known = ", ".join(o.name for o in self.objects)
        raise KeyError(f"no object '{name}' was looked for; there are: {known}")

    @property
    def scene(self) -> Scene:
        """The objects whose pose is known, certain or not; objects that are not seen are left out."""
        seen = tuple(ObjectState(o.name, o.model, o.pose) for o in self.objects if o.pose is not None)
        return Scene(seen, self.frame_id)

    def doubts(self, names: Iterable[str] | None = None) -> tuple[str, ...]:
        """Return the doubts as lines for people: those of the whole picture, then those of some objects, or of all.

        Raises:
            KeyError: an object was not looked for.
        """
        chosen = self.objects if names is None else [self[name] for name in names]
        return (*self.problems, *(line for o in chosen for line in o.words))

    def certain(self, names: Iterable[str] | None = None) -> bool:
        """Return whether nothing is in doubt of some objects, or of all.

        Raises:
            KeyError: an object was not looked for.
        """
        return not self.doubts(names)


def _mm(pose: Pose) -> str:
    return f"{1e3 * pose.position[2]:.0f}"
