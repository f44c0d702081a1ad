"""Find recorded trials in run folders and bags, and the task that each was scored with."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from robocontrast_ros.bags.errors import BagError
from robocontrast_ros.bags.reader import TrialRecording
from robocontrast_ros.configuration import load_configured, parse_record, read_yaml
from robocontrast_ros.configuration.files import known_names
from robocontrast_ros.episodes.scoring import Score, load_scores
from robocontrast_ros.runs.events import TrialFinished
from robocontrast_ros.runs.history import History
from robocontrast_ros.runs.journal import read_begun
from robocontrast_ros.runs.recorded_session import RecordedSession
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.tasks.protocol import Task


@dataclass(frozen=True)
class RecordedTrial:
    """A trial to be scored again.

    Attributes:
        trial_id: the trial; the name of its bag where no journal knows it.
        run: its run folder; None for a bag that lies in none.
        bag: its bag; None when it was not recorded.
        finished: what the journal says of it; None where there is no journal, or it does not count.
    """

    trial_id: str
    run: Path | None
    bag: Path | None
    finished: TrialFinished | None = None


def find_recorded(paths: Sequence[Path]) -> tuple[RecordedTrial, ...]:
    """Return the trials that run folders, bags and folders of bags hold, each bag once.

    Of a run folder with a journal these are the trials that count; without one, all its bags.

    Raises:
        BagError: there is nothing at a path, or a file, or a folder that cannot be read, or no bag anywhere.
        JournalError: a run folder's journal cannot be read.
    """
    found: dict[tuple[Path | None, str], RecordedTrial] = {}
    for path in paths:
        for trial in _recorded(path.expanduser()):
            key = (trial.bag, "") if trial.bag else (trial.run, trial.trial_id)
            found.setdefault(key, trial)
    trials = tuple(found.values())
    if trials and not any(trial.run or _is_bag(trial.bag) for trial in trials):
        where = ", ".join(map(str, paths))
        raise BagError(f"{where}: neither a run folder nor a bag, and there is no bag in it. Check the path.")
    return trials


def _recorded(path: Path) -> list[RecordedTrial]:
    if not path.exists():
        raise BagError(f"{path}: no such folder, expected a run folder or a bag. Check the path.")
    if not path.is_dir():
        raise BagError(f"{path}: a file, expected a run folder or a bag. Name the folder that it lies in.")
    run = RunFolder(path.resolve())
    if run.session_file.is_file() or run.journal.is_file():
        if run.journal.is_file():
            return _finished(run)
        return [RecordedTrial(bag.name, run.path, bag) for bag in _bags(run.bags)]
    bags = [path.resolve()] if _is_bag(path) else _bags(path.resolve())
    # An empty folder is a bag that cannot be read; other bags are still scored.
    return [_lying_in_a_run(bag) for bag in bags or [path.resolve()]]


def _finished(run: RunFolder) -> list[RecordedTrial]:
    return [
        RecordedTrial(
            event.trial.trial_id,
            run.path,
            run.path / event.recording.bag if event.recording.bag else None,
            event,
        )
        for event in History.of(read_begun(run.journal).events).finished
    ]


def _lying_in_a_run(bag: Path) -> RecordedTrial:
    run = run_of(bag)
    if not run.journal.is_file():
        return RecordedTrial(bag.name, run.path if run.session_file.is_file() else None, bag)
    known = (trial for trial in _finished(run) if trial.bag == bag)
    return next(known, RecordedTrial(bag.name, run.path, bag))


def _is_bag(folder: Path) -> bool:
    # A folder of somebody else, which cannot be read, holds no bag for us.
    with suppress(OSError):
        return any(
            path.name == "metadata.yaml" or path.suffix in (".mcap", ".db3", ".zstd") for path in folder.iterdir()
        )
    return False


def _bags(folder: Path) -> list[Path]:
    try:
        return sorted(f for f in folder.iterdir() if f.is_dir() and _is_bag(f)) if folder.is_dir() else []
    except OSError as error:
        raise BagError.of_system(folder, error) from None


def find_task(recording: TrialRecording) -> tuple[Task, Path]:
    """Return the task of a recorded trial, with the parameters that it was scored with, and its parameter file.

    The file is looked for in the run folder of the bag (``<run>/parameters/task.yaml``), then among the parameter
    files of this package. It is the one whose SHA-256 is in the bag.

    Raises:
        BagError: there is none, or only others.
        ConfigurationError: a file is not valid any more.
    """
    candidates = [run_of(recording.bag).parameters / "task.yaml", *known_names("tasks").values()]
    name, wanted = recording.trial.instance.task, recording.task_digest
    for path in candidates:
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
        if digest is not None and wanted in ("", digest) and (task := _load_task(path, digest)).name == name:
            return task, path
    raise BagError(
        f"{recording.bag}: found no parameter file of task '{name}'"
        + (f" with SHA-256 {wanted[:12]}…" if wanted else "")
        + f" in {', '.join(dict.fromkeys(str(p.parent) for p in candidates))}. "
        "Put the file that the trial was scored with beside it, as parameters/task.yaml of the run folder."
    )


def find_scores(recording: TrialRecording, task: Task) -> tuple[type[Score], ...]:
    """Return the scores of a recorded trial's session; those of the task where the bag lies in no run folder.

    Raises:
        ConfigurationError: the session has a score that is not installed here.
    """
    session = session_of(recording.bag)
    return load_scores(task, session.scores if session else (), str(run_of(recording.bag).session_file))


@lru_cache(maxsize=16)
def _load_task(path: Path, digest: str) -> Task:
    """Load a task once; a file that has changed has another digest."""
    task: Task = load_configured("tasks", path)
    return task


def session_of(bag: Path) -> RecordedSession | None:
    """Return the session that a bag's run folder has the file of; None where the bag lies in none.

    Raises:
        ConfigurationError: the file cannot be read, or a value is of another type.
    """
    file = run_of(bag).session_file
    return parse_record(RecordedSession, {"session": read_yaml(file)}, str(file)) if file.is_file() else None


def run_of(bag: Path) -> RunFolder:
    """Return the run folder that a bag would lie in."""
    return RunFolder(bag.resolve().parent.parent)
