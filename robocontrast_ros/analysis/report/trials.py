"""The trials of a run as a page shows them: scores, texts and pictures, one by one and by test instance."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from robocontrast_ros.analysis.data.run_record import RunRecord
from robocontrast_ros.analysis.estimates.results import Results
from robocontrast_ros.analysis.figures.maps import write_maps
from robocontrast_ros.analysis.report.pictures import NO_PICTURES, TrialPictures, trial_pictures
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import ScoreSpec, SetupMove, whole_of
from robocontrast_ros.domain.words import name_in_words
from robocontrast_ros.runs.run_folder import RunFolder

READERS = 4
"""Bags that are read at a time; each holds all images of its trial in memory."""

Track = Callable[[Sequence[Any], str], Iterable[Any]]
"""Iterates over its input, and may show progress under a label."""


def no_progress(things: Sequence[Any], what: str) -> Iterable[Any]:
    """Iterate without showing progress."""
    return things


@dataclass(frozen=True)
class Attempt:
    """One execution of a trial: a row of the table of trials, with what the journal and the bag add.

    Attributes:
        row: the table's row; what is unknown is None.
        symbol: the paper's symbol of its perturbation, or ``base``.
        moves: what was moved to set it up, in words.
        measures: the perturbation's proof, name -> number.
        pictures: what was recorded of it.
        scores: what the scores of the row are.
        video: its video, as a link from the page; empty if there is none beside it.
    """

    row: dict[str, Any]
    symbol: str
    moves: tuple[str, ...] = ()
    measures: tuple[tuple[str, float], ...] = ()
    pictures: TrialPictures = NO_PICTURES
    scores: tuple[ScoreSpec, ...] = ()
    video: str = ""

    @property
    def trial_id(self) -> str:
        """Name of the trial, unique in its run."""
        return f"{self.row['index']:04d}"

    @property
    def what(self) -> str:
        """The trial in words."""
        repeat = f", repeat {self.row['repeat']}" if self.row["repeat"] else ""
        return f"trial {self.trial_id}: {self.symbol} of {self.row['base_id']}{repeat}"


@dataclass(frozen=True)
class Cell:
    """The trials of one test instance and one perturbation.

    Attributes:
        trials: those that count, in the order of their repeats.
        void: attempts that do not count.
        skipped: why the perturbation could not be applied; empty where it could.
    """

    trials: tuple[Attempt, ...] = ()
    void: int = 0
    skipped: str = ""


@dataclass(frozen=True)
class Instance:
    """A test instance with its contrast set.

    Attributes:
        base_id: its name.
        instruction: of its base trial; empty where none was run.
        level: of generalisation, with the policy's name where policies have different ones; empty where unknown.
        cells: one a perturbation, ``base`` first, in the order of the summary.
    """

    base_id: str
    instruction: str
    level: str
    cells: tuple[Cell, ...]


def draw_maps(
    run: RunFolder, record: RunRecord, track: Track = no_progress, wanted: Collection[int] | None = None
) -> str:
    """Draw the maps that a run folder lacks; return why there are none, in words.

    Args:
        run: the run folder.
        record: what its journal says.
        track: iterates over the trials whose maps are drawn, and may show progress.
        wanted: indices of the trials whose maps are wanted; all when left out.
    """
    try:
        write_maps(run, record, lambda missing: track(missing, "maps"), wanted)
    except ConfigurationError as error:
        return f"There are no new maps: {error}"
    return ""


def attempts_of(
    run: RunFolder,
    results: Results,
    track: Track = no_progress,
    wanted: Collection[int] | None = None,
    page: Path | None = None,
) -> tuple[Attempt, ...]:
    """Return every execution of a run, in order; those that count have pictures.

    Args:
        run: the run folder.
        results: its results.
        track: iterates over the trials whose pictures are read, and may show progress.
        wanted: indices of the trials whose pictures are wanted; all when left out.
        page: folder of the page, from which videos are linked; None without links.
    """
    symbols = symbols_of(results)
    rows = results.trials.to_dicts()
    counting = {row["index"]: row for row in rows if row["counts"]}
    shown = [index for index in counting if wanted is None or index in wanted]

    def read(index: int) -> TrialPictures:
        found = Attempt(counting[index], symbols[counting[index]["perturbation"]])
        bag, map_file = found.row["bag"] or "", run.map(found.trial_id)
        return trial_pictures(run.path, bag, map_file, found.what.capitalize())

    # Pictures are packed outside Python's lock, which is most of the work.
    with ThreadPoolExecutor(READERS) as pool:
        pictures = dict(zip(track(shown, "pictures"), pool.map(read, shown), strict=True))
    return tuple(
        Attempt(
            row,
            symbols[row["perturbation"]],
            _in_words(each.moves) if row["counts"] else (),
            tuple(json.loads(row["proof"]).items()) if row["proof"] else (),
            pictures.get(row["index"], NO_PICTURES) if row["counts"] else NO_PICTURES,
            results.summary.scores,
            video_link(run.videos / f"{each.trial.trial_id}.mp4", page) if row["counts"] else "",
        )
        for row, each in zip(rows, results.record.trials, strict=True)
    )


def video_link(video: Path, page: Path | None) -> str:
    """Return a video as a link from a page in a folder; empty if it is not there, or the folder is None."""
    if page is None or not video.is_file():
        return ""
    return quote(Path(os.path.relpath(video, page)).as_posix())


def symbols_of(results: Results) -> dict[str, str]:
    """Return the name of each perturbation -> its symbol, ``base`` first, without ``all``."""
    return {row.perturbation: row.symbol for row in results.summary.rows if row.perturbation != "all"}


def instances_of(attempts: Sequence[Attempt], record: RunRecord, names: Sequence[str]) -> tuple[Instance, ...]:
    """Return the test instances in the order in which they were begun.

    Args:
        attempts: all executions.
        record: what the run's journal says; it has what was skipped.
        names: of the perturbations, ``base`` first.
    """
    skips = {(skip.base_id, skip.perturbation): skip.reason for _, skip in record.skips}
    order = dict.fromkeys([a.row["base_id"] for a in attempts] + [base_id for base_id, _ in skips])
    found = []
    for base_id in order:
        own = [a for a in attempts if a.row["base_id"] == base_id]
        words = next((a.row["instruction"] for a in own if a.row["perturbation"] == names[0]), "")
        cells = []
        for name in names:
            here = [a for a in own if a.row["perturbation"] == name]
            trials = tuple(a for a in here if a.row["counts"])
            cells.append(Cell(trials, len(here) - len(trials), skips.get((base_id, name), "")))
        found.append(Instance(base_id, words, _level(own), tuple(cells)))
    return tuple(found)


def _level(attempts: Sequence[Attempt]) -> str:
    levels = {a.row["policy"]: a.row["level"] for a in attempts if a.row["level"]}
    if len(set(levels.values())) < 2:
        return next(iter(levels.values()), "")
    return ", ".join(f"{level} for {policy}" for policy, level in levels.items())


def _in_words(moves: Iterable[SetupMove]) -> tuple[str, ...]:
    return tuple(_move_in_words(move) for move in moves)


def _move_in_words(move: SetupMove) -> str:
    name = name_in_words(move.name)
    if move.start is None or move.goal is None:
        return f"{name} {'brought in' if move.start is None else 'taken out'}"
    (x, y), (u, v) = move.start.xy, move.goal.xy
    carried = f"{math.dist(move.start.xy, move.goal.xy):.2f} m"
    verb = "moved" if whole_of(move.name) else "carried"
    return f"{name} {verb} {carried}, from ({x:.2f}, {y:.2f}) to ({u:.2f}, {v:.2f})"
