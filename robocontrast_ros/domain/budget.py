"""The experimenter's budget K (seed 000, section 3, 'Cost and metrics')."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Budget:
    """The limit of the cost of setting up scenes, and the cost so far.

    Attributes:
        limit: K; ``inf`` for no limit.
        spent: sum of the set-up costs so far.
        unit: unit of the cost model, ``m`` or ``s``.
    """

    limit: float = math.inf
    spent: float = 0.0
    unit: str = "m"

    def __post_init__(self) -> None:
        if not self.limit >= 0.0:
            raise ValueError(f"budget: got {self.limit}, expected a number of at least 0 {self.unit}")

    @property
    def remaining(self) -> float:
        """The rest, never negative."""
        return max(self.limit - self.spent, 0.0)

    def allows(self, cost: float) -> bool:
        """Return whether a set-up of this cost keeps the sum within the limit."""
        return self.spent + cost <= self.limit + 1e-9
