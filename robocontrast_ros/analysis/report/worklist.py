"""Base trials with their perturbed ones: the pairs of a run, and those of them to look at first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robocontrast_ros.analysis.report.trials import Attempt
from robocontrast_ros.analysis.tables.block import Column, Link, TableBlock


@dataclass(frozen=True)
class TwinPair:
    """A perturbed trial and the base trial that it is compared with.

    Attributes:
        first: the base trial.
        second: the perturbed one.
    """

    first: Attempt
    second: Attempt

    @property
    def lost(self) -> bool:
        """Whether the base trial was solved, and the perturbed one failed."""
        return bool(self.first.row["success"] and not self.second.row["success"])


def pairs_of(attempts: Sequence[Attempt]) -> dict[str, list[TwinPair]]:
    """Return perturbation -> its pairs, in the order of the perturbed trials."""
    counting = {attempt.row["index"]: attempt for attempt in attempts if attempt.row["counts"]}
    found: dict[str, list[TwinPair]] = {}
    for attempt in counting.values():
        # A base trial is a twin of none but itself.
        twin = counting.get(attempt.row["twin"])
        if twin is not None and twin is not attempt:
            found.setdefault(attempt.row["perturbation"], []).append(TwinPair(twin, attempt))
    return found


def worklist_of(attempts: Sequence[Attempt], symbols: Sequence[str]) -> list[TwinPair]:
    """Return the pairs whose base trial was solved and whose perturbed trial failed, by perturbation and instance.

    Args:
        attempts: all executions of a run.
        symbols: names of the perturbations, in their order.
    """
    lost = [pair for pairs in pairs_of(attempts).values() for pair in pairs if pair.lost]
    order = {name: number for number, name in enumerate(symbols)}
    return sorted(lost, key=lambda pair: (order[pair.second.row["perturbation"]], pair.second.row["index"]))


def worklist_block(pairs: Sequence[TwinPair]) -> TableBlock:
    """Return the table of such pairs; clips are columns where there are any."""
    clips = [
        Column("clip of base", lambda pair: _clip(pair.first)),
        Column("clip of perturbed", lambda pair: _clip(pair.second)),
    ]
    return TableBlock(
        [
            Column("pair", lambda pair: Link(pair.second.trial_id, f"#pair-{pair.second.trial_id}")),
            Column("perturbation", lambda pair: pair.second.symbol),
            Column("instance", lambda pair: pair.second.row["base_id"]),
            Column("policy", lambda pair: pair.second.row["policy"], roomy=True),
            Column("instruction", lambda pair: pair.second.row["instruction"]),
            Column("base", lambda pair: _outcome(pair.first)),
            Column("perturbed", lambda pair: _outcome(pair.second)),
            *(clips if any(one.video for pair in pairs for one in (pair.first, pair.second)) else ()),
        ],
        pairs,
        note="Pairs whose base trial was solved and whose perturbed trial failed, by perturbation.",
    )


def _outcome(attempt: Attempt) -> str:
    fault = attempt.row["fault"]
    return attempt.row["outcome"].lower().replace("_", " ") + (f": {fault}" if fault != "NONE" else "")


def _clip(attempt: Attempt) -> Link | None:
    return Link(f"clip {attempt.trial_id}", attempt.video) if attempt.video else None
