"""The sections of pages about observation-space shift: tables, modifications of scenes, and chains."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from robocontrast_ros.analysis.estimates.observation_shift import (
    ChainRun,
    Modification,
    Step,
    Tried,
    modifications_of,
    shifts_of,
)
from robocontrast_ros.analysis.estimates.results import Results
from robocontrast_ros.analysis.report.pictures import Picture, change_file, change_picture
from robocontrast_ros.analysis.report.trials import Attempt
from robocontrast_ros.analysis.tables.block import TableBlock
from robocontrast_ros.analysis.tables.observation_shift import blocks_of
from robocontrast_ros.analysis.tables.visual_change import read_changes
from robocontrast_ros.images.difference import VisualChange
from robocontrast_ros.runs.run_folder import RunFolder

CHAINS = 20
"""Greatest number of runs of chains of each policy that are shown with pictures."""


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
class ShownModification:
    """A modification of a scene.

    Attributes:
        modification: what it is, and its outcomes.
        symbol: the paper's symbol of its perturbation; else the name.
        instruction: the words of the instruction.
        sizes: camera's name -> size of the change in its pictures; empty if it was not measured.
        pictures: pictures of the own and the modified scene, with their captions.
    """

    modification: Modification
    symbol: str
    instruction: str
    sizes: Mapping[str, VisualChange]
    pictures: tuple[tuple[str, Picture], ...]

    @property
    def became(self) -> str:
        """What became of success: ``lost``, ``gained`` or ``same``."""
        lost = self.modification.lost
        return "lost" if lost > 0.0 else "gained" if lost < 0.0 else "same"

    def of(self, policy: str) -> tuple[Tried, ...]:
        """Return the trials of a policy."""
        return tuple(one for one in self.modification.tried if one.policy == policy)


@dataclass(frozen=True)
class Modifications:
    """Modifications of scenes, those that cost most success first, then those that look largest.

    Attributes:
        rows: the modifications.
        policies: names of the policies, or labels of the runs, whose outcomes stand side by side.
        cameras: names of the cameras in whose pictures sizes were measured; none if nothing was.
        unmeasured: folder of a run that has modifications without a size; empty if all have one.
    """

    rows: tuple[ShownModification, ...]
    policies: tuple[str, ...]
    cameras: tuple[str, ...]
    unmeasured: str

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds among them, in the order of their names."""
        return tuple(sorted({row.modification.kind for row in self.rows}))

    @property
    def symbols(self) -> tuple[str, ...]:
        """Symbols of their perturbations."""
        return tuple(dict.fromkeys(row.symbol for row in self.rows))


@dataclass(frozen=True)
class ShiftSection:
    """The content of the section of a run's page.

    Attributes:
        tables: all tables.
        modifications: of its scenes; without rows if it has none.
        chains: policy -> its runs of chains.
        more_chains: policy -> the number of runs that are not shown.
    """

    tables: tuple[TableBlock, ...]
    modifications: Modifications
    chains: Mapping[str, tuple[ShownChain, ...]]
    more_chains: Mapping[str, int]


def shift_section(results: Results, attempts: Sequence[Attempt]) -> ShiftSection | None:
    """Return the section; None if the run has neither modifications nor chains.

    Args:
        results: the run's results.
        attempts: its executions, with their pictures.

    Raises:
        ConfigurationError: the run's table of visual changes cannot be read.
    """
    found = shifts_of(results)
    if found is None:
        return None
    counting = {attempt.row["index"]: attempt for attempt in attempts if attempt.row["counts"]}
    trials = results.trials.filter("counts")
    folder = RunFolder(results.run)
    runs = {
        policy: ShownRun(folder, trials.filter(pl.col("policy") == policy), counting)
        for policy in results.summary.policies
    }
    return ShiftSection(
        tuple(blocks_of(found, results.summary.mark)),
        shown_modifications(runs),
        {one.policy: tuple(_chain(run, counting) for run in one.runs[:CHAINS]) for one in found.chains},
        {one.policy: max(len(one.runs) - CHAINS, 0) for one in found.chains},
    )


@dataclass(frozen=True)
class ShownRun:
    """The trials of one policy in a run.

    Attributes:
        folder: the run folder.
        trials: those of its trials that count and are the policy's.
        attempts: position in the session -> execution, with its pictures.
    """

    folder: RunFolder
    trials: pl.DataFrame
    attempts: Mapping[int, Attempt]


def shown_modifications(
    runs: Mapping[str, ShownRun], wanted: Callable[[Modification], bool] = lambda _: True, pictures: bool = True
) -> Modifications:
    """Return the modifications of runs with their sizes and pictures.

    Args:
        runs: name of a policy, or label of a run -> its trials. Those of one test set have the same modifications.
        wanted: tells which modifications are shown; all if left out.
        pictures: whether they have pictures.

    Raises:
        ConfigurationError: a run's table of visual changes cannot be read.
    """
    measured = {policy: read_changes(run.folder.shift) for policy, run in runs.items()}
    found = [one for one in modifications_of({name: run.trials for name, run in runs.items()}) if wanted(one)]
    rows = []
    for one in found:
        # What was measured in one run holds for the others: their scenes are the same.
        trials = [(tried.policy, runs[tried.policy].attempts[tried.index]) for tried in one.tried]
        sizes = next((seen for policy, trial in trials if (seen := measured[policy].get(trial.trial_id))), {})
        shown = next((seen for tried in one.tried if (seen := _seen(runs[tried.policy], tried))), ())
        _, first = trials[0]
        instruction = first.row["instruction"]
        rows.append(ShownModification(one, first.symbol, instruction, sizes, shown if pictures else ()))
    rows.sort(key=lambda row: (-row.modification.lost, *(-change.pixels for change in row.sizes.values())))
    policies = {tried.policy for one in found for tried in one.tried}
    return Modifications(
        rows=tuple(rows),
        policies=tuple(name for name in runs if name in policies),
        cameras=tuple(dict.fromkeys(camera for row in rows for camera in row.sizes)),
        unmeasured=next((runs[row.modification.tried[0].policy].folder.name for row in rows if not row.sizes), ""),
    )


def _seen(run: ShownRun, tried: Tried) -> tuple[tuple[str, Picture], ...]:
    """Return the picture that `robocontrast shift` made; else the first recorded images and the last; else nothing."""
    before, after = run.attempts[tried.base_index], run.attempts[tried.index]
    caption = "own scene | modified scene"
    picture = change_picture(change_file(run.folder.shift, after.trial_id), f"{caption}: {after.what}")
    if picture is not None:
        return ((caption, picture),)
    first, last = before.pictures.frames, after.pictures.frames
    if not (first and last):
        return ()
    return (("own scene", first[0]), ("modified scene", last[0]), ("its end", last[-1]))


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
