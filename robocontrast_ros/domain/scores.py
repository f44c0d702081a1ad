"""The description of a score: its name, unit, range and meaning, without its computation."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

TAKEN = frozenset(
    {
        *("level", "corrected_by", "problem", "after", "cluster"),
        *("index", "attempt", "counts", "base_id", "instance_id", "perturbation", "repeat", "family", "instruction"),
        *("note", "start", "claim", "proof", "policy", "seed", "outcome", "fault", "detail", "subgoals", "stopped"),
        *(
            "optimal_path_length_m",
            "steps",
            "duration_s",
            "clamped_steps",
            "interventions",
            "setup_moves",
            "setup_metres",
        ),
        *("setup_seconds", "setup_measured", "setup_error_m", "setup_overruled", "setup_cost", "cumulative_cost"),
        *("cost_unit", "wall_time_s"),
        *("policy_answers", "policy_latency_median_s", "policy_latency_p95_s", "policy_latency_max_s"),
        *("late_answers", "late_steps", "period_jitter_p99_s", "overruns", "pose_source", "speed_scaling"),
        *("observed_instruction", "segments_digest", "image_digest", "bag", "messages", "messages_missing"),
        *("twin", "block", "delivered", "filters"),
    }
)
"""Columns of the table of trials that are no scores."""


@dataclass(frozen=True)
class ScoreSpec:
    """A row of the table of scores. Messages, journal, tables, figures and reports follow it.

    Attributes:
        name: its key in ``TrialResult.scores``, in messages and in the journal.
        symbol: its name in tables and figures, for instance "SPL".
        unit: "m", "m/s", …; "count" for whole numbers; "" for a number without dimension.
        low: its least value; minus infinity if there is none.
        high: its greatest value; infinity if there is none.
        better: whether a higher or a lower value is better; empty if neither is.
        live: whether it is also known, and published in ``Progress``, at every control step of a running trial.
        source: input of its computation, for instance "contacts".
        description: its description, in words.
    """

    name: str
    symbol: str
    unit: str
    low: float
    high: float
    better: Literal["higher", "lower", ""]
    live: bool
    source: str
    description: str

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise ValueError(f"name of a score: got '{self.name}', expected letters, digits and underscores")
        if self.column in TAKEN:
            raise ValueError(
                f"name of a score: got '{self.name}', but the table of trials has a column '{self.column}'"
            )
        if not self.low < self.high:
            raise ValueError(f"score '{self.name}': got the range {self.low} to {self.high}, expected low below high")

    @property
    def bounded(self) -> bool:
        """Whether its range has two ends."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def whole(self) -> bool:
        """Whether it is a count."""
        return self.unit == "count"

    @property
    def column(self) -> str:
        """Name of its column in tables: with the unit, if it has a dimension."""
        return self.name if self.unit in ("", "count") else f"{self.name}_{self.unit.replace('/', '_per_')}"

    @property
    def heading(self) -> str:
        """Its name in the head of a table's column: the symbol, with the unit if it has a dimension."""
        return self.symbol if self.unit in ("", "count") else f"{self.symbol} [{self.unit}]"

    @property
    def best(self) -> float:
        """The best possible value; NaN if there is none."""
        ends = {"higher": self.high, "lower": self.low}
        best = ends.get(self.better, math.nan)
        return best if math.isfinite(best) else math.nan

    @property
    def meaning(self) -> str:
        """Its description with its unit or range, in words."""
        if self.unit not in ("", "count"):
            return f"{self.description} [{self.unit}]"
        return f"{self.description}, {self.low:g} to {self.high:g}" if self.bounded else self.description


def find_spec(specs: Iterable[ScoreSpec], name: str) -> ScoreSpec:
    """Return the row of a table of scores that has a name.

    Raises:
        KeyError: there is none; its message names the existing ones.
    """
    known = {spec.name: spec for spec in specs}
    if name not in known:
        raise KeyError(f"no score '{name}', expected one of {', '.join(known)}")
    return known[name]
