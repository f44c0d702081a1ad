"""The maps of a run: one picture from above for every trial that counts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from robocontrast_ros.bags.errors import BagError
from robocontrast_ros.configuration import load_configured
from robocontrast_ros.domain import Scene, SetupMove, Trial
from robocontrast_ros.episodes.scoring import Sample
from robocontrast_ros.runs.events import Event, SetUp, TrialFinished
from robocontrast_ros.runs.journal import Journal, read_journal
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.system.disk import make_folder
from robocontrast_ros.tasks.protocol import Task

if TYPE_CHECKING:
    from robocontrast_ros.analysis.figures.trial_map import TrialMap
    from robocontrast_ros.bags.reader import TrialRecording


@dataclass(frozen=True)
class SetUpTrial:
    """A trial that counts, with what its map needs from the journal.

    Attributes:
        event: the trial.
        start: the scene as it was read back after set-up.
        moves: what was moved to set it up; of a repeat that needed no move, to set its instance up.
    """

    event: TrialFinished
    start: Scene
    moves: tuple[SetupMove, ...]


def set_up_trials(events: Iterable[Event]) -> Iterator[SetUpTrial]:
    """Return the trials of a journal that count, in order, each with what was set up for it."""
    instance: tuple[str, str] | None = None
    moves: tuple[SetupMove, ...] = ()
    start: Scene | None = None
    for event in events:
        if isinstance(event, SetUp) and not event.restore:
            start = event.after
            if event.moves or _instance(event.trial) != instance:
                moves = event.moves
            instance = _instance(event.trial)
        elif isinstance(event, TrialFinished) and start is not None:
            yield SetUpTrial(event, start, moves)


def _instance(trial: Trial) -> tuple[str, str]:
    return trial.base_id, trial.perturbation


Missing = tuple[SetUpTrial, Path]
"""A trial, and the file of the map that it lacks."""


def write_maps(
    run: RunFolder,
    journal: Journal,
    track: Callable[[Sequence[Missing]], Iterable[Missing]] = iter,
    wanted: Collection[int] | None = None,
) -> int:
    """Write ``maps/<trial>.png`` for every trial that counts and has none yet, and return how many.

    A trial that counts never changes, so existing maps are kept; delete the folder to draw all again. A trial without a
    readable bag has a map without the robot's path. A run folder without the task's file has no maps.

    Args:
        run: the run folder.
        journal: its journal.
        track: iterates over its input, and may show progress.
        wanted: indices of the trials whose maps are wanted; all when left out.

    Raises:
        ConfigurationError: the task's file does not fit any more.
        DiskError: a map cannot be written.
    """
    task_file = run.parameters / "task.yaml"
    if not task_file.is_file():
        return 0
    task: Task = load_configured("tasks", task_file)
    symbols = _symbols(journal)
    missing = [
        (trial, path)
        for trial in set_up_trials(journal.events)
        if (wanted is None or trial.event.trial.index in wanted)
        and not (path := run.map(trial.event.trial.trial_id)).exists()
    ]
    make_folder(run.maps)
    if not missing:
        return 0
    # Matplotlib takes long to import.
    from robocontrast_ros.analysis.figures.trial_map import TrialMap, write_map

    for found, path in track(missing):
        trial, result = found.event.trial, found.event.result
        symbol = symbols.get(trial.perturbation, "")
        samples = _samples(run, found.event.recording.bag)
        write_map(TrialMap.of(task, trial, found.start, samples, result, found.moves, symbol), path)
    return len(missing)


def map_of_recording(task: Task, recording: TrialRecording) -> TrialMap:
    """Return the map of a recorded trial, with the moves of its set-up if its run folder has a journal.

    Raises:
        JournalError: there is a journal and it cannot be read.
    """
    from robocontrast_ros.analysis.figures.trial_map import TrialMap

    run = RunFolder(recording.bag.resolve().parents[1])
    moves: tuple[SetupMove, ...] = ()
    symbol = ""
    if run.journal.is_file():
        journal = read_journal(run.journal)
        symbol = _symbols(journal).get(recording.trial.perturbation, "")
        moves = next((t.moves for t in set_up_trials(journal.events) if t.event.trial == recording.trial), ())
    trial, start, result = recording.trial, recording.start_scene, recording.result
    return TrialMap.of(task, trial, start, recording.samples, result, moves, symbol)


def _symbols(journal: Journal) -> dict[str, str]:
    return journal.started.symbols if journal.started else {}


def _samples(run: RunFolder, bag: str) -> tuple[Sample, ...]:
    """Return the control steps in a trial's bag; none where there is no bag to be read."""
    if not bag:
        return ()
    from robocontrast_ros.bags.reader import read_trial

    try:
        return read_trial(run.path / bag).samples
    except BagError:
        return ()
