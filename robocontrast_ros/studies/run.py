"""Run a study's jobs on several processors; an interrupted study can be continued."""

from __future__ import annotations

import fcntl
import json
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.sharedctypes import SynchronizedArray
from pathlib import Path
from typing import ClassVar

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.configuration.differences import first_difference
from robocontrast_ros.studies.job import Job, JobFiles, JobProgress, StudyError, run_job
from robocontrast_ros.studies.parameters import Study, load_study
from robocontrast_ros.system.processes import SPAWN, process_pool, stopping

POLL = 0.25
"""Longest time between two reports of progress [s]."""

FIELDS = 3
"""How many numbers of a job's progress are shared between processes."""


@dataclass(frozen=True)
class StudyProgress:
    """Progress of a study.

    Attributes:
        asked: trials that strategies asked for, in the jobs that this process started.
        simulated: number of them that were simulated.
        jobs_done: number of jobs that are done, including those of earlier runs.
        jobs: number of all jobs.
        elapsed: time since this process started the jobs [s].
        time_left: estimated time until all jobs are done [s]; None before there is an estimate.
    """

    asked: int
    simulated: int
    jobs_done: int
    jobs: int
    elapsed: float
    time_left: float | None


@dataclass(frozen=True)
class StudyFolder:
    """The folder of a study.

    Attributes:
        path: the folder.
    """

    path: Path

    @property
    def study(self) -> Path:
        """Everything on which the trials depend: parameters, digests of files, versions."""
        return self.path / "study.json"

    @property
    def jobs(self) -> Path:
        """The folder of the jobs' files."""
        return self.path / "jobs"

    def files(self, job: Job) -> JobFiles:
        """Return the files of a job."""
        return JobFiles(self.jobs, job)


def jobs_of(study: Study) -> tuple[Job, ...]:
    """Return the jobs of a study, in the order in which they start."""
    return tuple(Job(policy, seed) for policy in study.policies for seed in study.parameters.seeds)


def run_study(study: Study, folder: StudyFolder, processes: int, tell: Callable[[StudyProgress], None]) -> None:
    """Run all jobs of a study that are not done yet.

    Args:
        study: the study.
        folder: the folder of its files; jobs that are done there are not run again.
        processes: jobs at a time.
        tell: called with the progress a few times a second.

    Raises:
        ConfigurationError: the folder belongs to another study or other versions, or is in use; or a policy cannot
            be loaded, or does not fit.
        StudyError: a job failed, or a process died.
        KeyboardInterrupt: the study was interrupted; all processes have ended, and finished work is kept.
    """
    folder.jobs.mkdir(parents=True, exist_ok=True)
    with _alone(folder):
        _claim(folder, study)
        jobs = jobs_of(study)
        missing = [job for job in jobs if not folder.files(job).done]
        if missing:
            _run(study, folder, missing, len(jobs), min(processes, len(missing)), tell)


def _run(
    study: Study,
    folder: StudyFolder,
    missing: Sequence[Job],
    jobs: int,
    processes: int,
    tell: Callable[[StudyProgress], None],
) -> None:
    numbers, began = SPAWN.Array("d", FIELDS * len(missing)), time.monotonic()

    def where(futures: Sequence[Future[None]]) -> StudyProgress:
        asked, simulated, shares = (sum(numbers[i::FIELDS]) for i in range(FIELDS))
        elapsed, share = time.monotonic() - began, shares / len(missing)
        done = sum(future.done() for future in futures)
        left = elapsed * (1.0 - share) / share if share > 0.0 else None
        return StudyProgress(round(asked), round(simulated), jobs - len(missing) + done, jobs, elapsed, left)

    with process_pool(processes, _Worker.begin, str(study.source), folder.jobs, numbers) as submit:
        futures = [submit(_Worker.run, number, job) for number, job in enumerate(missing)]
        waiting = set(futures)
        try:
            while waiting:
                done, waiting = wait(waiting, POLL, FIRST_EXCEPTION)
                tell(where(futures))
                for future in done:
                    future.result()
        except BrokenProcessPool:
            raise StudyError(
                "a process of the study died, perhaps for want of memory. Start the study again, with fewer "
                "--processes if need be; it continues where it stopped."
            ) from None


class _Worker:
    """The state of a process of the pool."""

    study: ClassVar[Study]
    folder: ClassVar[Path]
    numbers: ClassVar[SynchronizedArray[float]]

    @classmethod
    def begin(cls, study_file: str, folder: Path, numbers: SynchronizedArray[float]) -> None:
        """Prepare the process."""
        cls.study = load_study(study_file)
        cls.folder, cls.numbers = folder, numbers

    @classmethod
    def run(cls, number: int, job: Job) -> None:
        """Run a job; it ends after the current trial if the study is stopped."""

        def tell(progress: JobProgress) -> None:
            first = FIELDS * number
            cls.numbers[first : first + FIELDS] = (progress.asked, progress.simulated, progress.share)

        run_job(job, cls.study, cls.folder, tell, stopping)


@contextmanager
def _alone(folder: StudyFolder) -> Iterator[None]:
    """Lock the folder for this process.

    Raises:
        ConfigurationError: another process has locked it.
    """
    with (folder.path / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigurationError(
                str(folder.path),
                "",
                "a study that another process is running",
                "a study that no other process is running",
                "Wait for it, end it first, or name another folder with --output.",
            ) from None
        yield


def _claim(folder: StudyFolder, study: Study) -> None:
    """Record everything on which the trials depend; refuse a folder with another such record."""
    present = study.snapshot()
    if not folder.study.exists():
        folder.study.write_text(json.dumps(present, indent=1), encoding="utf-8")
    recorded = json.loads(folder.study.read_text(encoding="utf-8"))
    if recorded != present:
        key, before, now = first_difference(recorded, present)
        raise ConfigurationError(
            str(folder.study),
            key,
            now,
            f"{before!r}, with which the study was begun in this folder",
            "Name another folder with --output, or remove this one.",
        )
