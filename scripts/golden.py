"""Make the golden digests of config/golden again, or print those of the first trials, for a test to compare.

    .venv/bin/python scripts/golden.py make             # two minutes; after a change that may change trials, on purpose
    .venv/bin/python scripts/golden.py first [NAME …]   # JSON: name -> digests, of all files when none is named

Both run in this process, without the pins of ``system.numerics``: the digests have to be the same without them.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

from robocontrast_ros.analysis.data import golden
from robocontrast_ros.analysis.data.run_record import RunRecord
from robocontrast_ros.runs.events import Event, TrialFinished
from robocontrast_ros.runs.journal import EventsInMemory
from robocontrast_ros.sessions import fast_mode as fast
from robocontrast_ros.sessions.control import SessionControl
from robocontrast_ros.sessions.loop import Session
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.studies.job import Job, JobFiles, run_job
from robocontrast_ros.studies.parameters import load_study
from robocontrast_ros.worlds.in_process import InProcessBench

FOLDER = Path(__file__).resolve().parent.parent / "config" / "golden"


@dataclass(frozen=True)
class Run:
    """A session whose trials have golden digests.

    Attributes:
        session: its name.
        policy: in place of the session's own; that one when None.
        trials: how many have one; None for all.
        first: how many a test runs again.
    """

    session: str
    policy: str | None = None
    trials: int | None = None
    first: int = 1

    @property
    def command(self) -> str:
        """What a user would type."""
        words = ["robocontrast evaluate", self.session, "--fast"]
        words += ["--policy", self.policy] if self.policy else []
        return " ".join([*words, *(["--max-trials", str(self.trials)] if self.trials else [])])


RUNS = {
    "language_table_demo": Run("language_table_demo", first=6),
    "language_table_demo_film_bc": Run("language_table_demo", policy="film_bc", trials=10, first=2),
    "locobot_vln": Run("locobot_vln", trials=15, first=1),
    "tabletop_oracle": Run("tabletop_oracle", first=1),
    "tabletop_demo": Run("tabletop_demo", trials=10, first=1),
}

STUDY = "language_table_small"
JOB = Job("film_bc_state", 0)
INSTANCES = 2
LABELS = ("standard", "language", "scene", "both", "limited", "cost_ordered", "adaptive")
"""Strategies of the study whose trials have digests."""

COLUMNS = (
    *(
        "strategy",
        "index",
        "base_id",
        "perturbation",
        "seed",
        "outcome",
        "success",
        "spl",
        "progress",
        "steps",
    ),
    *("distance_to_goal_m", "path_length_m", "optimal_path_length_m", "clamped_steps", "setup_cost"),
)


def unpin() -> None:
    """Take the pins of ``system.numerics`` away from fast sessions of this process."""
    fast.pin = lambda environment: {}
    InProcessBench.execute = InProcessBench.execute.__wrapped__


def main() -> None:
    """Run the command line."""
    # The digests have to hold where nothing is pinned.
    unpin()
    wish = sys.argv[1:]
    if wish == ["make"]:
        make()
    elif wish[:1] == ["first"] and {*wish[1:]} <= {*RUNS, study_name()}:
        print(json.dumps({name: first(name) for name in wish[1:] or (*RUNS, study_name())}))
    else:
        raise SystemExit(__doc__)


def make() -> None:
    """Write every file."""
    FOLDER.mkdir(exist_ok=True)
    for name, run in RUNS.items():
        made = golden.Golden.of(RunRecord.of(events(run, run.trials)), run.command, run.policy)
        made.save(FOLDER / f"{name}.json")
        print(f"{name}: {len(made.trials)} trials")
    session = golden.Golden.load(FOLDER / "language_table_demo.json")
    study = replace(
        session,
        session="",
        command=f"the job {JOB} of robocontrast study {STUDY}, with test_set: {{size: {INSTANCES}}}",
        trials=tuple(of_study()),
    )
    study.save(FOLDER / f"{study_name()}.json")
    print(f"{study_name()}: {len(study.trials)} trials")


def first(name: str) -> list[str]:
    """Return the digests of the first trials of a file."""
    return of_study() if name == study_name() else digests(RUNS[name], RUNS[name].first)


def study_name() -> str:
    """Return the name of the study's file."""
    return f"study_{STUDY}"


def digests(run: Run, trials: int | None) -> list[str]:
    """Return the digests of the first trials of a session."""
    return [golden.trial_digest(e) for e in events(run, trials) if isinstance(e, TrialFinished)]


def events(run: Run, trials: int | None) -> list[Event]:
    """Return the events of the first trials of a session; None for all trials."""
    session = resolve(run.session, Overrides(policy=run.policy, max_trials=trials, fast=True))
    sink = EventsInMemory()
    bench = fast.open_bench(session)
    try:
        Session(session.evaluation(), bench, sink, SessionControl(), lambda status: None, time.time).run()
    finally:
        bench.close()
    return list(sink.kept)


def of_study() -> list[str]:
    """Return a digest of each trial of a job of a study."""
    study = load_study(STUDY)
    parameters = study.parameters
    smaller = replace(
        parameters,
        test_set=replace(parameters.test_set, size=INSTANCES),
        strategies=tuple(strategy for strategy in parameters.strategies if strategy.label in LABELS),
    )
    with tempfile.TemporaryDirectory() as folder:
        run_job(JOB, replace(study, parameters=smaller), Path(folder), lambda progress: None, lambda: False)
        table, _ = JobFiles(Path(folder), JOB).read()
    return [golden.digest(*row) for row in table.select(COLUMNS).iter_rows()]


if __name__ == "__main__":
    main()
