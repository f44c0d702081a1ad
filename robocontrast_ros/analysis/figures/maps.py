"""The maps of a run: one picture from above for every trial that counts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from robocontrast_ros.analysis.data.run_record import RunRecord, TrialRecord
from robocontrast_ros.bags.errors import BagError
from robocontrast_ros.configuration import load_configured
from robocontrast_ros.domain import SetupMove
from robocontrast_ros.episodes.scoring import Sample
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.system.disk import make_folder
from robocontrast_ros.tasks.protocol import Task

if TYPE_CHECKING:
    from robocontrast_ros.analysis.figures.trial_map import TrialMap
    from robocontrast_ros.bags.reader import TrialRecording


Missing = tuple[TrialRecord, Path]
"""A trial, and the file of the map that it lacks."""


def write_maps(
    run: RunFolder,
    record: RunRecord,
    track: Callable[[Sequence[Missing]], Iterable[Missing]] = iter,
    wanted: Collection[int] | None = None,
) -> int:
    """Write ``maps/<trial>.png`` for every trial that counts and has none yet, and return how many.

    A trial that counts never changes, so existing maps are kept; delete the folder to draw all again. A trial without a
    readable bag has a map without the robot's path. A run folder without the task's file has no maps.

    Args:
        run: the run folder.
        record: what its journal says.
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
    symbols = _symbols(record)
    missing = [
        (each, path)
        for each in record.trials
        if each.counts
        and each.start is not None
        and (wanted is None or each.trial.index in wanted)
        and not (path := run.map(each.trial.trial_id)).exists()
    ]
    make_folder(run.maps)
    if not missing:
        return 0
    # Matplotlib takes long to import.
    from robocontrast_ros.analysis.figures.trial_map import TrialMap, write_map

    for each, path in track(missing):
        trial, ended = each.trial, each.ended
        symbol = symbols.get(trial.perturbation, "")
        samples = _samples(run, ended.recording.bag)
        write_map(TrialMap.of(task, trial, each.start, samples, ended.result, each.moves, symbol), path)
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
        record = RunRecord.of(read_journal(run.journal).events)
        symbol = _symbols(record).get(recording.trial.perturbation, "")
        moves = next((each.moves for each in record.trials if each.counts and each.trial == recording.trial), ())
    trial, start, result = recording.trial, recording.start_scene, recording.result
    return TrialMap.of(task, trial, start, recording.samples, result, moves, symbol)


def _symbols(record: RunRecord) -> dict[str, str]:
    return record.started.symbols if record.started else {}


def _samples(run: RunFolder, bag: str) -> tuple[Sample, ...]:
    """Return the control steps in a trial's bag; none where there is no bag to be read."""
    if not bag:
        return ()
    from robocontrast_ros.bags.reader import read_trial

    try:
        return read_trial(run.path / bag).samples
    except BagError:
        return ()
