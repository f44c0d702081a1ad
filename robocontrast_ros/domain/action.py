"""Conventions for the numbers of an action, which robots and policies declare in the same way."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal, get_args, get_type_hints

Reference = Literal["delta", "absolute", "velocity", "discrete"]
Frame = Literal["world", "base", "tool", "joint"]
Rotation = Literal["none", "rotation_vector", "euler_xyz", "quaternion_xyzw", "rotation_6d"]
Gripper = Literal["none", "opens", "closes"]


@dataclass(frozen=True)
class ActionConventions:
    """Reference and form of the numbers of an action. None: as in the action space.

    Attributes:
        reference: ``delta`` adds to the robot's present state, ``absolute`` is the target, ``velocity`` is kept for one
            control step, ``discrete`` names one of a few moves.
        frame: frame of positions and rotations; ``joint`` if they are joint positions.
        rotation: form of rotations; ``none`` if there are none.
        gripper: effect of a greater number: it ``opens`` or ``closes`` the gripper; ``none`` without one.
    """

    reference: Reference | None = None
    frame: Frame | None = None
    rotation: Rotation | None = None
    gripper: Gripper | None = None

    def __post_init__(self) -> None:
        """Refuse an unknown word: a misspelt convention would fit nothing, or anything."""
        for name, hint in get_type_hints(type(self)).items():
            known = [value for choice in get_args(hint) for value in get_args(choice)]
            if getattr(self, name) not in (None, *known):
                raise ValueError(f"{name}: got {getattr(self, name)!r}, expected one of {', '.join(known)}")

    def differences(self, other: ActionConventions) -> tuple[tuple[str, str, str], ...]:
        """Return (name, ours, theirs) for each convention that both declare and that differs."""
        pairs = ((f.name, getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        return tuple((name, ours, theirs) for name, ours, theirs in pairs if ours and theirs and ours != theirs)
