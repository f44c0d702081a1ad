"""The section of a run's page about observation-space shift: tables, chains, and what breaks a success."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from robocontrast_ros.analysis.estimates.observation_shift import Broken, ChainRun, Shifts, Step, shifts_of
from robocontrast_ros.analysis.estimates.results import Results
from robocontrast_ros.analysis.report.pictures import Picture
from robocontrast_ros.analysis.report.trials import Attempt
from robocontrast_ros.analysis.tables.block import TableBlock
from robocontrast_ros.analysis.tables.observation_shift import blocks_of
from robocontrast_ros.strategies.chain import CHAIN

CHAINS = 20
"""Greatest number of runs of chains of each policy that are shown with pictures."""

BROKEN = 8
"""Greatest number of broken successes of each perturbation that are shown with pictures."""


@dataclass(frozen=True)
class ShownStep:
    """A skill of a run of a chain.

    Attributes:
        step: the skill and its outcome.
        attempt: its trial in the chain; None if it was not reached.
        pictures: the first and the last camera image of that trial; without any, its map.
    """

    step: Step
    attempt: Attempt | None
    pictures: tuple[Picture, ...]


@dataclass(frozen=True)
class ShownChain:
    """A run of a chain.

    Attributes:
        run: its outcome.
        steps: its skills.
    """

    run: ChainRun
    steps: tuple[ShownStep, ...]

    @property
    def broke(self) -> Step | None:
        """The skill at which it broke; None if it was done to the end."""
        return self.run.steps[self.run.level] if self.run.level < len(self.run.steps) else None


@dataclass(frozen=True)
class ShownBroken:
    """A success that a modification breaks.

    Attributes:
        broken: the numbers.
        before: the base trial.
        after: the trial in the modified scene.
        pictures: the first image of either, and the last of the second, with their captions.
    """

    broken: Broken
    before: Attempt
    after: Attempt
    pictures: tuple[tuple[str, Picture], ...]


@dataclass(frozen=True)
class ShiftSection:
    """The content of the section.

    Attributes:
        tables: all tables.
        chains: policy -> its runs of chains.
        more_chains: policy -> the number of runs that are not shown.
        broken: policy and perturbation, in words -> broken successes with pictures.
        more_broken: the same -> the others.
    """

    tables: tuple[TableBlock, ...]
    chains: Mapping[str, tuple[ShownChain, ...]]
    more_chains: Mapping[str, int]
    broken: Mapping[str, tuple[ShownBroken, ...]]
    more_broken: Mapping[str, tuple[Broken, ...]]


def shift_section(results: Results, attempts: Sequence[Attempt]) -> ShiftSection | None:
    """Return the section; None if the run has neither modifications nor chains.

    Args:
        results: the run's results.
        attempts: its executions, with their pictures.
    """
    found = shifts_of(results)
    if found is None:
        return None
    counting = {attempt.row["index"]: attempt for attempt in attempts if attempt.row["counts"]}
    names = _names(found)
    modified = {names[shift.policy, shift.symbol]: shift for shift in found.shifts if shift.perturbation != CHAIN}
    return ShiftSection(
        tuple(blocks_of(found, results.summary.mark)),
        {one.policy: tuple(_chain(run, counting) for run in one.runs[:CHAINS]) for one in found.chains},
        {one.policy: max(len(one.runs) - CHAINS, 0) for one in found.chains},
        {
            words: tuple(_broken(one, counting) for one in shift.broken[:BROKEN])
            for words, shift in modified.items()
            if shift.broken
        },
        {words: shift.broken[BROKEN:] for words, shift in modified.items()},
    )


def _names(found: Shifts) -> dict[tuple[str, str], str]:
    """Return the heading of each policy and symbol."""
    several = len({shift.policy for shift in found.shifts}) > 1
    return {
        (shift.policy, shift.symbol): f"{shift.symbol}, {shift.policy}" if several else shift.symbol
        for shift in found.shifts
    }


def _chain(run: ChainRun, attempts: Mapping[int, Attempt]) -> ShownChain:
    steps = []
    for step in run.steps:
        attempt = attempts[step.index] if step.index is not None else None
        steps.append(ShownStep(step, attempt, _ends(attempt) if attempt is not None else ()))
    return ShownChain(run, tuple(steps))


def _ends(attempt: Attempt) -> tuple[Picture, ...]:
    frames, above = attempt.pictures.frames, attempt.pictures.map
    if frames:
        return (frames[0], frames[-1])
    return (above,) if above is not None else ()


def _broken(broken: Broken, attempts: Mapping[int, Attempt]) -> ShownBroken:
    before, after = attempts[broken.base_index], attempts[broken.index]
    first, last = (_ends(one) for one in (before, after))
    captions = ("own scene", "modified scene", "its end")
    shown = zip(captions, (*first[:1], *last), strict=False) if first and last else ()
    return ShownBroken(broken, before, after, tuple(shown))
