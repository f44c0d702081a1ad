"""One job of a study: all strategies with one policy and one seed, in one process."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import polars as pl

from robocontrast_ros.analysis.data.run_record import RunRecord
from robocontrast_ros.analysis.data.trials import trials_table
from robocontrast_ros.domain import TestInstance
from robocontrast_ros.episodes.bench import PolicyBench
from robocontrast_ros.runs.events import SessionInterrupted
from robocontrast_ros.runs.journal import EventsInMemory
from robocontrast_ros.sessions.control import SessionControl, SessionStatus
from robocontrast_ros.sessions.evaluation import Evaluation
from robocontrast_ros.sessions.fast_mode import open_bench
from robocontrast_ros.sessions.loop import Session
from robocontrast_ros.sessions.reading import AsRead
from robocontrast_ros.sessions.resolving import ResolvedSession
from robocontrast_ros.studies.memo import Memory, RememberingBench, RememberingPerturbation
from robocontrast_ros.studies.parameters import Study
from robocontrast_ros.system.processes import Stopped

INTERRUPTED = "interrupted"
"""Reason of a session that was interrupted; any other reason is one of ``SessionFinished``."""


class StudyError(RuntimeError):
    """The study cannot continue; the message has the cause, and a cure if there is one."""


@dataclass(frozen=True)
class Job:
    """The unit of work of one process.

    Attributes:
        policy: name of the policy.
        seed: of the test set.
    """

    policy: str
    seed: int

    def __str__(self) -> str:
        return f"{self.policy}_seed{self.seed}"


@dataclass(frozen=True)
class JobProgress:
    """Progress of a job.

    Attributes:
        asked: trials that strategies asked for so far.
        simulated: number of them that were simulated; the others were known already.
        share: estimated share of the job that is done, 0 to 1.
    """

    asked: int = 0
    simulated: int = 0
    share: float = 0.0


@dataclass(frozen=True)
class SessionOfStudy:
    """One session of a study, after its end.

    Attributes:
        policy: name of the policy.
        seed: of the test set.
        strategy: label of the strategy.
        reason: why it ended: a reason of ``SessionFinished``, or ``interrupted``.
        detail: the reason in words.
        budget: limit of the cost; None without one.
        cost: of all set-ups.
        trials: trials that count.
        simulated: trials that were simulated for it; the others were known already.
        void: void attempts.
        skipped: number of its ``TrialSkipped`` events: a perturbation could not be applied to a base instance.
    """

    policy: str
    seed: int
    strategy: str
    reason: str
    detail: str
    budget: float | None
    cost: float
    trials: int
    simulated: int
    void: int
    skipped: int


@dataclass(frozen=True)
class JobFiles:
    """The files of a job, in the folder ``jobs`` of a study's folder."""

    folder: Path
    job: Job

    @property
    def trials(self) -> Path:
        """The file of the trials of all sessions of the job."""
        return self.folder / f"{self.job}.parquet"

    @property
    def sessions(self) -> Path:
        """The file of the ends of its sessions; it exists once the job is done."""
        return self.folder / f"{self.job}.json"

    @property
    def memory(self) -> Path:
        """The file of the executions that were simulated."""
        return self.folder / f"{self.job}.executions.jsonl"

    @property
    def done(self) -> bool:
        """Whether the job is done."""
        return self.sessions.exists()

    def read(self) -> tuple[pl.DataFrame, tuple[SessionOfStudy, ...]]:
        """Return the trials and the sessions of a job that is done."""
        sessions = json.loads(self.sessions.read_text(encoding="utf-8"))
        return pl.read_parquet(self.trials), tuple(SessionOfStudy(**session) for session in sessions)


def run_job(
    job: Job, study: Study, folder: Path, tell: Callable[[JobProgress], None], stopped: Callable[[], bool]
) -> None:
    """Run all strategies with one policy and one seed, and write trials and sessions to files.

    The standard evaluation comes first: the budget of the others is a multiple of its cost.

    Args:
        job: the policy and the seed.
        study: the study.
        folder: of the files of jobs.
        tell: called with the job's progress after every trial.
        stopped: called after every trial; True ends the job.

    Raises:
        Stopped: ``stopped`` returned True; executions that were simulated are kept.
        StudyError: the standard evaluation was interrupted or has no trial.
        ConfigurationError: the policy cannot be loaded, or does not fit.
    """
    parameters, files = study.parameters, JobFiles(folder, job)
    standard = study.session(job.policy, parameters.standard, job.seed, None)
    test_set = standard.evaluation().test_set()
    tables, sessions = [], []
    bench = open_bench(standard)
    try:
        with Memory(files.memory) as memory:
            sessions_in_all = len(parameters.strategies)
            runner = _SessionRunner(bench, memory, test_set, sessions_in_all, tell, stopped)
            budget: float | None = None
            for strategy in (parameters.labelled(parameters.standard), *parameters.others):
                session = study.session(job.policy, strategy.label, job.seed, budget)
                table, ended = runner.run(session, job, strategy.label)
                if budget is None:
                    if ended.reason == INTERRUPTED or not ended.trials:
                        raise StudyError(
                            f"{job}: the standard evaluation, which the other budgets depend on, ended early or has "
                            f"no trial: {ended.detail}"
                        )
                    budget = parameters.cap * ended.cost
                tables.append(table)
                sessions.append(ended)
    finally:
        bench.close()
    _write(files.trials, pl.concat(tables).write_parquet)
    content = json.dumps([asdict(session) for session in sessions], indent=1)
    _write(files.sessions, lambda path: path.write_text(content, encoding="utf-8"))


class _SessionRunner:
    """The sessions of a job, one after another on one bench."""

    def __init__(
        self,
        bench: PolicyBench,
        memory: Memory,
        test_set: tuple[TestInstance, ...],
        sessions: int,
        tell: Callable[[JobProgress], None],
        stopped: Callable[[], bool],
    ) -> None:
        self._bench, self._policy = RememberingBench(bench, memory, self._after), bench.policy().description
        self._test_set, self._sessions, self._tell, self._stopped = test_set, sessions, tell, stopped
        self._perturbations: dict[str, RememberingPerturbation] = {}
        self._control = SessionControl()
        self._progress = JobProgress()
        self._simulated: list[bool] = []
        self._ended = 0

    def run(self, session: ResolvedSession, job: Job, label: str) -> tuple[pl.DataFrame, SessionOfStudy]:
        """Run a session; return its trials, and the record of its end.

        Raises:
            Stopped: the study is ending.
        """
        self._bench.begin()
        self._simulated = []
        evaluation = _drawn(session.evaluation(), self._test_set)
        remembering = tuple(
            self._perturbations.setdefault(p.name, RememberingPerturbation(p)) for p in session.perturbations
        )
        as_read = tuple(AsRead(perturbation, lambda: self._policy) for perturbation in remembering)
        evaluation = replace(evaluation, perturbations=as_read)
        events = EventsInMemory()
        end = Session(evaluation, self._bench, events, self._control, self._observe, time.time).run()
        if self._control.abort_reason:
            raise Stopped
        self._ended += 1
        record = RunRecord.of(events.kept)
        table = trials_table(record)
        simulated = iter(self._simulated)
        table = table.with_columns(
            pl.lit(label).alias("strategy"),
            pl.lit(job.policy).alias("policy"),
            pl.lit(job.seed).alias("study_seed"),
            pl.Series("simulated", [next(simulated) if counts else True for counts in table["counts"]], pl.Boolean),
        )
        ended = SessionOfStudy(
            policy=job.policy,
            seed=job.seed,
            strategy=label,
            reason=INTERRUPTED if isinstance(end, SessionInterrupted) else end.reason,
            detail=end.detail,
            budget=session.parameters.budget,
            cost=float(table["setup_cost"].sum()),
            trials=int(table["counts"].sum()),
            simulated=sum(self._simulated),
            void=int((~table["counts"]).sum()),
            skipped=len(record.skips),
        )
        return table, ended

    def _after(self, simulated: bool) -> None:
        self._simulated.append(simulated)
        self._progress = replace(
            self._progress, asked=self._progress.asked + 1, simulated=self._progress.simulated + simulated
        )

    def _observe(self, status: SessionStatus) -> None:
        of_trials = status.trials_done / max(status.trials_expected, 1)
        of_budget = status.budget.spent / status.budget.limit if status.budget.limit > 0.0 else 1.0
        share = min(max(of_trials, of_budget), 1.0)
        self._progress = replace(self._progress, share=(self._ended + share) / self._sessions)
        self._tell(self._progress)
        if self._stopped():
            self._control.abort("the study is ending")


@dataclass(frozen=True)
class _Drawn(Evaluation):
    """An evaluation whose test set has been drawn before, because drawing it takes as long as many trials."""

    drawn: tuple[TestInstance, ...] = ()

    def test_set(self) -> tuple[TestInstance, ...]:
        """Return the test set."""
        return self.drawn


def _drawn(evaluation: Evaluation, test_set: tuple[TestInstance, ...]) -> _Drawn:
    return _Drawn(**{f.name: getattr(evaluation, f.name) for f in fields(evaluation)}, drawn=test_set)


def _write(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file atomically."""
    half = path.with_suffix(".part")
    write(half)
    half.replace(path)
