"""The intervention of a safety filter in a command."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Intervention:
    """One limit that a command would have exceeded.

    Attributes:
        kind: name of the limit, such as ``velocity``.
        where: its joint, axis or side.
        value: the requested value, in the unit.
        limit: the greatest allowed value, in the unit.
        unit: unit of both, such as "rad/s".
        action: ``slow`` if the robot goes less far, ``stop`` if the command was refused.
        person_near: whether a person was near.
    """

    kind: str
    where: str
    value: float
    limit: float
    unit: str
    action: str
    person_near: bool = False

    @property
    def words(self) -> str:
        """The intervention in words, for a person."""
        near = ", while a person is near" if self.person_near else ""
        return f"{self.kind} of {self.where}: {self.value:.4g} {self.unit}, at most {self.limit:.4g}{near}"
