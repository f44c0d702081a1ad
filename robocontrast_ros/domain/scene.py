"""The scene s of a test instance: its objects and their places (seed 000, section 3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from robocontrast_ros.domain.geometry import Pose

PART = "/"
"""Between the name of an object and that of a part of it that moves on a joint."""


def whole_of(name: str) -> str:
    """Return the object to which a moving part belongs, by its name or model; empty for what is no part."""
    return name.rpartition(PART)[0]


@dataclass(frozen=True)
class ObjectState:
    """One movable object: its unique name in the scene, its model and its pose.

    A part that moves on a joint, such as a drawer, is an object of its own with the name ``OBJECT/PART``: its pose,
    relative to that of its object, is the state of the joint.

    Attributes:
        name: unique within a scene; the entity's name in the simulator.
        model: name of its model, which the task's configuration resolves to a spawnable resource.
        pose: pose in the scene's frame.
    """

    name: str
    model: str
    pose: Pose


@dataclass(frozen=True)
class Scene:
    """Objects in one frame, in a fixed order.

    Attributes:
        objects: the objects, each name once.
        frame_id: REP-105 frame of every pose.
        robot: pose of a mobile robot's base, which is part of the scene (seed 000, section 6.1); None for a robot that
            is fixed, or if it is unknown.
        contacts: names of things that the robot has touched since the scene before, sorted, without the floor.
        carried: names of movable things that have touched, since the scene before, a movable thing which the robot
            touched in the same control step: it carried or pushed them; sorted. Empty if nobody reports it.

    Raises:
        ValueError: two objects have one name.
    """

    objects: tuple[ObjectState, ...] = ()
    frame_id: str = "world"
    robot: Pose | None = None
    contacts: tuple[str, ...] = ()
    carried: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = self.names
        if len(set(names)) != len(names):
            raise ValueError(f"scene: object names are not unique: {sorted(names)}")

    @property
    def names(self) -> tuple[str, ...]:
        """The object names in order."""
        return tuple(o.name for o in self.objects)

    def __iter__(self) -> Iterator[ObjectState]:
        return iter(self.objects)

    def __contains__(self, name: object) -> bool:
        return name in self._named

    def __getitem__(self, name: str) -> ObjectState:
        if name not in self._named:
            raise KeyError(f"no object '{name}' in the scene; there are: {', '.join(self.names)}")
        return self._named[name]

    @cached_property
    def _named(self) -> dict[str, ObjectState]:
        return {o.name: o for o in self.objects}

    def moved(self, name: str, pose: Pose) -> Scene:
        """Return this scene with one object at another pose.

        Raises:
            KeyError: the scene has no such object.
        """
        moved = replace(self[name], pose=pose)
        return replace(self, objects=tuple(moved if o.name == name else o for o in self.objects))


@dataclass(frozen=True)
class SetupMove:
    """One task of the experimenter between trials: carry an object from one pose to another.

    Attributes:
        name: the object.
        model: its model.
        start: its present pose, or None if it is brought in from outside the scene.
        goal: its new pose, or None if it is taken out of the scene.
    """

    name: str
    model: str
    start: Pose | None
    goal: Pose | None

    @property
    def distance(self) -> float:
        """Distance that the object is carried [m]; 0 if it comes from, or goes to, outside the scene."""
        return self.start.distance_to(self.goal) if self.start and self.goal else 0.0
