"""Tables as CSV: one trial a row, named columns."""

from __future__ import annotations

from pathlib import Path

from robocontrast_ros.analysis.foreign.files import number_of, read_table, success_of
from robocontrast_ros.analysis.foreign.outcomes import Outcome, ResultSet, outcome
from robocontrast_ros.configuration import ConfigurationError

COLUMNS = {
    "policy": ("policy", "policy_id", "arm"),
    "task": ("task", "task_id"),
    "instance": ("instance", "scenario_id", "pair_id", "condition"),
    "replicate": ("replicate",),
    "seed": ("seed",),
    "success": ("success",),
    "score": ("score", "progress"),
    "void": ("void_reason", "void"),
    "status": ("status",),
}
"""Part of the record -> the names that its column may have; other columns are left out."""


class Table:
    """Trials pair by task, instance and replicate, where there are such columns."""

    description = "a .csv file with a row a trial and a column `success` or `score`"

    def matches(self, source: str) -> bool:
        """Return whether it is a CSV file."""
        return source.lower().endswith(".csv") and Path(source).is_file()

    def read(self, source: str) -> ResultSet:
        """Return the trials."""
        head, rows = read_table(source)
        if {"base_id", "perturbation", "repeat"} <= {*head}:
            cure = "Name the run folder that it is in, which also says task and seed."
            raise ConfigurationError(source, "", "the table of trials of a run folder", "another table", cure)
        of = {part: next((name for name in names if name in head), "") for part, names in COLUMNS.items()}
        if not (of["success"] or of["score"]):
            raise ConfigurationError(source, "", ", ".join(head), "a header with a column `success` or `score`")
        notes = () if of["instance"] else (f"{source} has no column `instance`: its trials have no pairs.",)
        return ResultSet(tuple(_row(f"{source}, line {line}", row, of) for line, row in rows), notes)


def _row(place: str, row: dict[str, str], of: dict[str, str]) -> Outcome:
    cells = {part: row[name].strip() if name else "" for part, name in of.items()}
    success, score, seed = (number_of(place, of[part], cells[part]) for part in ("success", "score", "seed"))
    if not (score is None or 0.0 <= score <= 1.0) or not (seed is None or seed == int(seed)):
        raise ConfigurationError(place, "", row, "a score from 0 to 1, and a whole number as seed")
    names = {part: cells[part] or None for part in ("task", "instance")}
    counts = {"success": success_of(place, of["success"], success), "score": score}
    void = cells["void"] or ("invalid" if cells["status"] == "invalid" else "")  # fieldtrial's word, without a reason
    seed = None if seed is None else int(seed)
    return outcome(void, policy=cells["policy"], replicate=cells["replicate"], seed=seed, **names, **counts)
