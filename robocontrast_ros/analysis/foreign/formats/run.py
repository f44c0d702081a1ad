"""Run folders of this package."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from robocontrast_ros.analysis.foreign.outcomes import Outcome, ResultSet
from robocontrast_ros.runs.run_folder import RunFolder

if TYPE_CHECKING:
    from robocontrast_ros.analysis.estimates.results import Results


class Run:
    """Trials pair by test instance, perturbation and repeat; the score is the session's metric if it is in [0, 1]."""

    description = "a run folder, which `robocontrast evaluate` made"

    def matches(self, source: str) -> bool:
        """Return whether it is a run folder."""
        return RunFolder(Path(source)).session_file.is_file()

    def read(self, source: str) -> ResultSet:
        """Return the trials."""
        from robocontrast_ros.analysis.estimates.results import compute_results
        from robocontrast_ros.runs.journal import read_begun

        return outcomes_of(compute_results(read_begun(RunFolder.open(Path(source)).journal)))


def outcomes_of(results: Results) -> ResultSet:
    """Return the trials of a run that count."""
    spec = results.summary.metric_spec
    graded = spec.low == 0.0 and spec.high == 1.0 and spec.better == "higher"
    recorded = results.record.recorded
    # Instances of one name are the same only with the same task, families and seed.
    task = " ".join((recorded.task_name or recorded.task, *(recorded.families or ())))
    trials = results.trials
    return ResultSet(
        tuple(
            Outcome(
                results.summary.policies[0],
                task,
                str(row["cluster"]),
                f"{row['base_id']} {row['perturbation']} {row['repeat']}",
                results.summary.seed,
                success=bool(row["success"]),
                score=row[spec.column] if graded else None,
            )
            for row in trials.filter(trials["counts"]).iter_rows(named=True)
        )
    )
