"""The interface of a physics engine: what `EngineWorld`, and so the node `second_simulator`, needs of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from robocontrast_ros.domain import Pose
from robocontrast_ros.worlds.engines.sdf import SdfModel
from robocontrast_ros.worlds.mujoco.entities import Bounds, EntityState

GRAVITY = 9.81
"""Of every world, downwards [m/s2]."""


@dataclass(frozen=True)
class Servo:
    """A joint's position servo: it presses with ``stiffness`` times what lacks, less ``damping`` times the velocity.

    Attributes:
        stiffness: [N m/rad, N/m].
        damping: [N m s/rad, N s/m].
        effort: greatest force [N m, N].
    """

    stiffness: float
    damping: float
    effort: float


@dataclass(frozen=True)
class Placed:
    """A model in a world.

    Attributes:
        model: the model.
        pose: of its origin.
        servos: joint -> its servo. A model with servos is a robot: gravity does not act on it.
    """

    model: SdfModel
    pose: Pose = field(default_factory=Pose)
    servos: Mapping[str, Servo] | None = None


Part = tuple[str, str]
"""Name of an entity, and of a link of it."""


class Engine(Protocol):
    """A world of one engine, composed once, from models that stay the same.

    The same calls give the same bits. What collides is in the masks of the models' shapes: nothing else touches, and
    the shapes of one entity do not touch each other.

    Attributes:
        friction_rule: how it combines the friction of both sides of a contact, one of
            ``worlds.exported.surfaces.RULES``.
        description: the engine in words, with versions.
    """

    friction_rule: ClassVar[str]
    description: str

    def __init__(self, entities: Mapping[str, Placed], step: float) -> None:
        """Compose a world.

        Args:
            entities: name -> model. All is at rest, with its joints at 0.
            step: time of a step [s].

        Raises:
            InvalidModel: a part cannot be expressed.
        """

    def step(self) -> None:
        """Let one step pass."""

    def state(self, name: str, link: str = "") -> EntityState:
        """Return pose and velocity of a link of an entity, its first one by default, in the frame `world`."""

    def put(self, name: str, state: EntityState) -> None:
        """Put an entity that moves as a whole somewhere, with a velocity."""

    def joints(self, name: str) -> tuple[tuple[str, ...], Sequence[float], Sequence[float]]:
        """Return names, positions [rad, m] and velocities of an entity's joints."""

    def set_joints(self, name: str, positions: Sequence[float], velocities: Sequence[float]) -> None:
        """Put an entity's joints to positions, with velocities, in the order of ``joints``."""

    def aim(self, name: str, positions: Sequence[float]) -> None:
        """Set the positions that an entity's servos strive for, in the order of ``joints``."""

    def touching(self) -> set[tuple[Part, Part]]:
        """Return the pairs of parts that touched in the last step."""

    def bounds(self, name: str) -> Bounds | None:
        """Return the box around what collides of an entity, in its own frame, with joints at 0; None for nothing."""
