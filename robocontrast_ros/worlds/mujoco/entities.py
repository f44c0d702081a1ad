"""Entities of the simulated world, and the errors about them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, IntEnum

from robocontrast_ros.domain import Pose

Triple = tuple[float, float, float]

VALID_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
"""Names that a spawned entity may have."""


class Category(Enum):
    """The kind of an entity."""

    ROBOT = "robot"
    STATIC_OBJECT = "static_object"
    DYNAMIC_OBJECT = "dynamic_object"


class ResetScope(IntEnum):
    """The parts of a world that a reset restores; values can be added. They are those of simulation_interfaces."""

    DEFAULT = 0
    TIME = 1
    STATE = 2
    SPAWNED = 4
    ALL = 255


@dataclass(frozen=True)
class Twist:
    """Velocities in the frame `world`.

    Attributes:
        linear: velocity of the entity's origin [m/s].
        angular: angular velocity [rad/s].
    """

    linear: Triple = (0.0, 0.0, 0.0)
    angular: Triple = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class EntityState:
    """Pose and velocity of an entity in the frame `world`."""

    pose: Pose
    twist: Twist = Twist()


@dataclass(frozen=True)
class Bounds:
    """An axis-aligned box in the entity's own frame.

    Attributes:
        lower: least x, y and z [m].
        upper: greatest x, y and z [m].
    """

    lower: Triple
    upper: Triple


class UnknownEntity(KeyError):
    """There is no entity of that name."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        """Take the name, and the known names."""
        super().__init__(name)
        self.message = f"no entity '{name}'; there are: {', '.join(known)}"

    def __str__(self) -> str:
        return self.message


class InvalidName(ValueError):
    """The name is empty, or has a character that names of entities cannot have."""


class NameNotUnique(ValueError):
    """An entity has that name already."""


class NotMovable(ValueError):
    """The entity is fixed, or part of the world, and cannot be moved or deleted."""


class ResourceNotFound(ValueError):
    """The resource of a model cannot be read."""


class InvalidModel(ValueError):
    """The resource is not an MJCF model with one top-level body."""


class SimulationDiverged(RuntimeError):
    """The physics engine found numbers that are not finite; reset before going on."""
