"""Score trials again from their bags alone, and compare with what the journal says.

The scorer, the join of scenes with tool poses and the conversion of messages are those of the live
graph, so the numbers are equal to the last bit. docs/scoring.md says what a bag has to hold for it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path

from robocontrast_ros.analysis.rescoring.thresholds import Rescored, Thresholds, load_other, rescore
from robocontrast_ros.bags.errors import BagError
from robocontrast_ros.bags.reader import TrialRecording, read_trial
from robocontrast_ros.configuration import ConfigurationError, load_configured, read_yaml
from robocontrast_ros.configuration.files import known_names
from robocontrast_ros.domain import Outcome, Trial, TrialResult
from robocontrast_ros.episodes.scoring import EpisodeScorer, Sample
from robocontrast_ros.runs.events import TrialFinished
from robocontrast_ros.runs.journal import read_begun
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.system.processes import ProcessLost, processors, run_in_processes
from robocontrast_ros.tasks.protocol import Task

ROUNDING = 1000
"""Stamps that went through seconds in floating point are off by up to this at the present date [ns]."""

WORTH_A_PROCESS = 50
"""Bags that take as long as starting a process does."""

NANOSECONDS = 1_000_000_000


@dataclass(frozen=True)
class RecordedTrial:
    """A trial that is to be scored again.

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


@dataclass(frozen=True)
class OfflineScore:
    """One trial, scored again.

    Attributes:
        trial_id: the trial.
        run: its run folder; None for a bag that lies in none.
        bag: its bag; None when it was not recorded.
        journal: the scores in the journal; None without one.
        offline: the scores from the bag; None when it cannot be scored. Of a trial that is not complete it
            holds how far it came, with the outcome UNKNOWN, and NaN for success and SPL.
        trial: what was run, as the bag says; None when it cannot be read.
        policy: the policy's name in the bag.
        complete: whether the bag holds the trial to its end.
        scored_until: stamp of the last control step that was scored [s]; None without one.
        differences: what differs from the journal, as sentences.
        problem: why the bag cannot be scored or relied on, in words; empty when it can.
        rescored: the scores under other thresholds, where those were asked for.
    """

    trial_id: str
    run: Path | None
    bag: Path | None
    journal: TrialResult | None
    offline: TrialResult | None
    trial: Trial | None = None
    policy: str = ""
    complete: bool = False
    scored_until: float | None = None
    differences: tuple[str, ...] = ()
    problem: str = ""
    rescored: Rescored | None = None

    @property
    def equal(self) -> bool:
        """Whether the bag is whole, and every number from it the journal's, where there is one."""
        return not self.differences and not self.problem


def score_trial(recording: TrialRecording, task: Task) -> TrialResult:
    """Return the scores of a recorded trial, computed anew from its scenes and tool poses.

    What only the robot's side knows comes from the recorded result: the fault, the number of control
    steps and of clamped ones, and which control step was the last. Without it, because the bag breaks off,
    the scores are those of what there is: the outcome is UNKNOWN, success and SPL are NaN, and the control
    steps are counted from the scenes.

    Args:
        recording: the trial.
        task: its task, with the parameters that it was scored with (``find_task``).

    Raises:
        BagError: its scenes do not fit the task.
    """
    try:
        return _score(recording, _samples(recording), task).result
    except (KeyError, ValueError) as error:
        raise _misfit(recording, error) from None


@dataclass(frozen=True)
class _Scored:
    """The scores, the stamp of the last control step [s], and whether the trial went on after a success."""

    result: TrialResult
    until: float | None
    went_on: bool


def _samples(recording: TrialRecording) -> tuple[Sample, ...]:
    """Return the control steps that belong to the trial."""
    last = math.inf if recording.result_stamp is None else recording.result_stamp + ROUNDING
    return tuple(sample for sample in recording.samples if sample.stamp <= last)


def _score(recording: TrialRecording, samples: Sequence[Sample], task: Task) -> _Scored:
    scorer = EpisodeScorer.for_instance(task, recording.trial.instance, recording.start_scene)
    states = [scorer.update(s.stamp, s.scene, s.robot_pose.position) for s in samples]
    went_on = any(state.success for state in states[:-1])
    until = None if scorer.last_stamp is None else scorer.last_stamp / NANOSECONDS
    told = recording.result
    if told is not None:
        result = scorer.result(told.fault, told.detail, told.steps, told.clamped_steps, told.stopped)
        return _Scored(result, until, went_on)
    so_far = scorer.result(steps=max(len(samples) - 1, 0))
    unknown = replace(so_far, outcome=Outcome.UNKNOWN, success=math.nan, spl=math.nan)
    return _Scored(unknown, until, went_on)


def _misfit(recording: TrialRecording, error: KeyError | ValueError) -> BagError:
    return BagError(f"{recording.bag}: cannot be scored: {error.args[0]}.")


def find_task(recording: TrialRecording) -> Task:
    """Return the task of a recorded trial, with the parameters that it was scored with.

    Raises:
        BagError: its file is gone (``find_task_file``).
        ConfigurationError: the file is not valid any more.
    """
    return _load_task(*find_task_file(recording))


def find_task_file(recording: TrialRecording) -> tuple[Path, str]:
    """Return the parameter file that a recorded trial was scored with, and its SHA-256 in hex.

    It is looked for in the run folder that the bag lies in (``<run>/parameters/task.yaml``), then
    among the parameter files that come with this package. The digest in the bag tells the right one.

    Raises:
        BagError: there is none, or only others.
        ConfigurationError: a file is not valid any more.
    """
    candidates = [_run_of(recording.bag).parameters / "task.yaml"]
    candidates += known_names("tasks").values()
    for path in candidates:
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
        if digest is None or recording.task_digest not in ("", digest):
            continue
        if _load_task(path, digest).name == recording.trial.instance.task:
            return path, digest
    name, wanted = recording.trial.instance.task, recording.task_digest
    raise BagError(
        f"{recording.bag}: found no parameter file of task '{name}'"
        + (f" with SHA-256 {wanted[:12]}…" if wanted else "")
        + f" in {', '.join(dict.fromkeys(str(p.parent) for p in candidates))}. "
        "Put the file that the trial was scored with beside it, as parameters/task.yaml of the run folder."
    )


@lru_cache(maxsize=16)
def _load_task(path: Path, digest: str) -> Task:
    """Load a task once; the digest tells a file from what it was before."""
    task: Task = load_configured("tasks", path)
    return task


def _run_of(bag: Path) -> RunFolder:
    """Return the run folder that a bag would lie in."""
    return RunFolder(bag.resolve().parent.parent)


def find_recorded(paths: Iterable[Path]) -> tuple[RecordedTrial, ...]:
    """Return the trials that run folders, bags and folders of bags hold, each bag once.

    Of a run folder with a journal these are the trials that count; without one, all its bags.

    Raises:
        BagError: there is nothing at a path, or a file.
        JournalError: a run folder's journal cannot be read.
    """
    found: dict[tuple[Path | None, str], RecordedTrial] = {}
    for path in paths:
        for trial in _recorded(path.expanduser()):
            key = (trial.bag, "") if trial.bag else (trial.run, trial.trial_id)
            found.setdefault(key, trial)
    return tuple(found.values())


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
    # A folder with nothing in it is a bag that cannot be read; the others can be all the same.
    return [_lying_in_a_run(bag) for bag in bags or [path.resolve()]]


def _finished(run: RunFolder) -> list[RecordedTrial]:
    return [
        RecordedTrial(
            event.trial.trial_id,
            run.path,
            run.path / event.recording.bag if event.recording.bag else None,
            event,
        )
        for event in read_begun(run.journal).events
        if isinstance(event, TrialFinished)
    ]


def _lying_in_a_run(bag: Path) -> RecordedTrial:
    run = _run_of(bag)
    if not run.journal.is_file():
        return RecordedTrial(bag.name, run.path if run.session_file.is_file() else None, bag)
    known = (trial for trial in _finished(run) if trial.bag == bag)
    return next(known, RecordedTrial(bag.name, run.path, bag))


def _is_bag(folder: Path) -> bool:
    return any(path.name == "metadata.yaml" or path.suffix in (".mcap", ".db3") for path in folder.iterdir())


def _bags(folder: Path) -> list[Path]:
    return sorted(f for f in folder.iterdir() if f.is_dir() and _is_bag(f)) if folder.is_dir() else []


def score_run(run: Path) -> tuple[OfflineScore, ...]:
    """Score every trial that counts in a run folder again, and compare with its journal.

    A bag that is missing, broken or not to be scored is a ``problem`` of its trial, not an error.

    Raises:
        ConfigurationError: the path is not a run folder.
        JournalError: its journal cannot be read.
    """
    return score_recorded(find_recorded([RunFolder.open(run).path]), processes=1)


def score_recorded(
    trials: Sequence[RecordedTrial],
    *,
    thresholds: Thresholds | None = None,
    processes: int | None = None,
    done: Callable[[], None] = lambda: None,
) -> tuple[OfflineScore, ...]:
    """Score trials again, in their order, whatever the number of processes.

    Args:
        trials: which (``find_recorded``).
        thresholds: other ones to score with as well.
        processes: that score at a time; one a processor when None, as far as they are worth their start.
        done: called whenever a trial is done.

    Raises:
        ConfigurationError: a task's file is not valid any more, or the thresholds do not fit the task.
    """
    if processes is None:
        processes = min(processors(), max(len(trials) // WORTH_A_PROCESS, 1))
    scores: dict[int, OfflineScore] = {}
    for index, score in run_in_processes(_score_job, [(trial, thresholds) for trial in trials], processes):
        trial = trials[index]
        scores[index] = _lost(trial) if isinstance(score, ProcessLost) else score
        done()
    return tuple(scores[index] for index in range(len(trials)))


def _lost(trial: RecordedTrial) -> OfflineScore:
    return _unscored(
        trial,
        f"{trial.bag}: the process that scored it died, twice. The bag may take more memory than there is.",
    )


def _unscored(trial: RecordedTrial, problem: str) -> OfflineScore:
    journal = trial.finished.result if trial.finished else None
    of = trial.finished.trial if trial.finished else None
    return OfflineScore(trial.trial_id, trial.run, trial.bag, journal, None, of, problem=problem)


def _score_job(job: tuple[RecordedTrial, Thresholds | None]) -> OfflineScore:
    trial, thresholds = job
    if trial.bag is None:
        return _unscored(trial, "the trial was not recorded")
    try:
        recording = read_trial(trial.bag)
        return _compared(trial, recording, thresholds)
    except BagError as error:
        return _unscored(trial, str(error))


def _compared(trial: RecordedTrial, recording: TrialRecording, thresholds: Thresholds | None) -> OfflineScore:
    file, digest = find_task_file(recording)
    task, samples = _load_task(file, digest), _samples(recording)
    try:
        scored = _score(recording, samples, task)
        rescored = None
        if thresholds is not None:
            other, stops = load_other(thresholds, file), _stops_on_success(recording, scored.went_on)
            rescored = rescore(recording, samples, task, other, scored.result, stops)
    except (KeyError, ValueError) as error:
        # A mistake in the thresholds is the user's; any other is the bag's.
        if isinstance(error, ConfigurationError):
            raise
        raise _misfit(recording, error) from None
    complete = recording.result is not None
    unknown = "" if complete else "it holds no trial_result, so outcome and fault are unknown"
    differences: tuple[str, ...] = ()
    if trial.finished is not None:
        differences = (
            *_differences("trial", trial.finished.trial, recording.trial),
            *(_differences("result", trial.finished.result, scored.result) if complete else ()),
        )
    return OfflineScore(
        trial_id=trial.trial_id,
        run=trial.run,
        bag=trial.bag,
        journal=trial.finished.result if trial.finished else None,
        offline=scored.result,
        trial=recording.trial,
        policy=recording.policy,
        complete=complete,
        scored_until=scored.until,
        differences=differences,
        problem="; ".join(filter(None, (recording.broken, unknown))),
        rescored=rescored,
    )


def _stops_on_success(recording: TrialRecording, went_on: bool) -> bool:
    """Tell whether the trial's session ends trials at success; without a session's file, whether this one may."""
    session = _run_of(recording.bag).session_file
    return bool(read_yaml(session).get("stop_on_success", True)) if session.is_file() else not went_on


def _differences(of: str, journal: object, bag: object) -> list[str]:
    """Compare field by field; the text of a float is exact, and NaN reads as NaN."""
    pairs = [(f.name, getattr(journal, f.name), getattr(bag, f.name)) for f in fields(journal)]
    return [f"{of}.{name}: journal {a!r}, bag {b!r}" for name, a, b in pairs if repr(a) != repr(b)]
