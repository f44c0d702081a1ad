"""Score trials again from their bags alone, and compare with what the journal says.

The scorer, the join of scenes with tool poses and the conversion of messages are those of the live
graph, so the numbers are equal to the last bit. docs/scoring.md says what a bag has to hold for it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from pathlib import Path

from robocontrast_ros.bags.errors import BagError
from robocontrast_ros.bags.reader import TrialRecording, read_trial
from robocontrast_ros.configuration import load_configured
from robocontrast_ros.configuration.loading import share_directory
from robocontrast_ros.domain import TrialResult
from robocontrast_ros.scoring import EpisodeScorer
from robocontrast_ros.sessions.events import TrialFinished
from robocontrast_ros.sessions.journal import read_journal
from robocontrast_ros.sessions.run_folder import RunFolder
from robocontrast_ros.tasks.protocol import Task

ROUNDING = 1000
"""Stamps that went through seconds in floating point are off by up to this at the present date [ns]."""


@dataclass(frozen=True)
class OfflineScore:
    """One trial of a journal, scored again.

    Attributes:
        trial_id: the trial.
        bag: its bag; None when it was not recorded.
        journal: the scores in the journal.
        offline: the scores from the bag; None when it cannot be scored.
        differences: what differs, as sentences.
        problem: why the bag cannot be scored or relied on, in words; empty when it can.
    """

    trial_id: str
    bag: Path | None
    journal: TrialResult
    offline: TrialResult | None
    differences: tuple[str, ...] = ()
    problem: str = ""

    @property
    def equal(self) -> bool:
        """Whether every number from the bag is the journal's."""
        return not self.differences and not self.problem


def score_trial(recording: TrialRecording, task: Task) -> TrialResult:
    """Return the scores of a recorded trial, computed anew from its scenes and tool poses.

    What only the robot's side knows comes from the recorded result: the fault, the number of control
    steps and of clamped ones, and which control step was the last.

    Args:
        recording: the trial.
        task: its task, with the parameters that it was scored with (``find_task``).

    Raises:
        BagError: the bag ends before the trial does, or its scenes do not fit the task.
    """
    if recording.result is None or recording.result_stamp is None:
        why = f" It is broken: {recording.broken}." if recording.broken else ""
        raise BagError(f"{recording.bag}: ends before the trial does: it holds no trial_result.{why}")
    told = recording.result
    try:
        instance = recording.trial.instance
        scorer = EpisodeScorer.for_instance(task, instance, recording.start_scene)
        for sample in recording.samples:
            if sample.stamp <= recording.result_stamp + ROUNDING:
                scorer.update(sample.stamp, sample.scene, sample.robot_pose.position)
    except (KeyError, ValueError) as error:
        raise BagError(f"{recording.bag}: cannot be scored: {error.args[0]}.") from None
    return scorer.result(told.fault, told.detail, told.steps, told.clamped_steps, told.stopped)


def find_task(recording: TrialRecording) -> Task:
    """Return the task of a recorded trial, with the parameters that it was scored with.

    They are looked for in the run folder that the bag lies in (``<run>/parameters/task.yaml``), then
    among the parameter files that come with this package. The digest in the bag tells the right one.

    Raises:
        BagError: there is none, or only others.
        ConfigurationError: the file is not valid any more.
    """
    candidates = [recording.bag.resolve().parents[1] / "parameters" / "task.yaml"]
    candidates += sorted((share_directory() / "config" / "tasks").glob("*.yaml"))
    for path in candidates:
        if path.is_file() and recording.task_digest in ("", hashlib.sha256(path.read_bytes()).hexdigest()):
            task: Task = load_configured("tasks", path)
            if task.name == recording.trial.instance.task:
                return task
    name, digest = recording.trial.instance.task, recording.task_digest
    raise BagError(
        f"{recording.bag}: found no parameter file of task '{name}'"
        + (f" with SHA-256 {digest[:12]}…" if digest else "")
        + f" in {', '.join(dict.fromkeys(str(p.parent) for p in candidates))}. "
        "Put the file that the trial was scored with beside it, as parameters/task.yaml of the run folder."
    )


def score_run(run: Path) -> tuple[OfflineScore, ...]:
    """Score every trial that counts in a run folder again, and compare with its journal.

    A bag that is missing, broken or not to be scored is a ``problem`` of its trial, not an error.

    Raises:
        ConfigurationError: the path is not a run folder.
        JournalError: its journal cannot be read.
    """
    folder = RunFolder.open(run)
    journal = read_journal(folder.journal)
    finished = [event for event in journal.events if isinstance(event, TrialFinished)]
    tasks: dict[tuple[str, str], Task] = {}
    return tuple(_score(folder.path, event, tasks) for event in finished)


def _score(run: Path, event: TrialFinished, tasks: dict[tuple[str, str], Task]) -> OfflineScore:
    name, told = event.trial.trial_id, event.result
    if not event.recording.bag:
        return OfflineScore(name, None, told, None, problem="the trial was not recorded")
    bag = run / event.recording.bag
    try:
        recording = read_trial(bag)
        parameters = recording.trial.instance.task, recording.task_digest
        if parameters not in tasks:
            tasks[parameters] = find_task(recording)
        offline = score_trial(recording, tasks[parameters])
    except BagError as error:
        return OfflineScore(name, bag, told, None, problem=str(error))
    differences = (
        *_differences("trial", event.trial, recording.trial),
        *_differences("result", told, offline),
    )
    return OfflineScore(name, bag, told, offline, differences, recording.broken)


def _differences(of: str, journal: object, bag: object) -> list[str]:
    """Compare field by field; the text of a float is exact, and NaN reads as NaN."""
    pairs = [(f.name, getattr(journal, f.name), getattr(bag, f.name)) for f in fields(journal)]
    return [f"{of}.{name}: journal {a!r}, bag {b!r}" for name, a, b in pairs if repr(a) != repr(b)]
