"""Scores from bags as tables: one row per trial, and means with the number of trials left out."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import polars as pl

from robocontrast_ros.analysis.data.trials import (
    ALL,
    COLUMNS,
    Columns,
    conditions_of,
    make_table,
    result_columns,
    scores_of,
    write_table,
)
from robocontrast_ros.analysis.rescoring.scores_from_bags import OfflineScore
from robocontrast_ros.analysis.rescoring.thresholds import UNKNOWN, Scores
from robocontrast_ros.episodes.scoring import STANDARD_SPECS
from robocontrast_ros.system.disk import make_folder

SCORES = ("success", "spl", "progress")

_WHICH: Columns = {
    "run": (pl.String, "name of the run folder; empty for a bag that lies in none"),
    "trial": (pl.String, "the trial; the name of its bag where no journal knows it"),
    "bag": (pl.String, "folder of its bag; empty when there is none"),
    "policy": (pl.String, "name of the policy, as the bag says"),
}

_CONDITIONS: Columns = {
    name: COLUMNS[name]
    for name in (
        "index",
        "base_id",
        "instance_id",
        "perturbation",
        "repeat",
        "family",
        "instruction",
        "note",
        "claim",
        "proof",
        "seed",
    )
}

_SCORED: Columns = {
    "complete": (pl.Boolean, "whether the bag holds the trial to its end; else the scores are of what there is"),
    "scored_until_s": (pl.Float64, "stamp of the last control step that was scored [s]"),
    "differences": (pl.String, "what differs from the journal; empty when nothing does"),
    "problem": (pl.String, "why the bag cannot be scored or relied on; empty when it can"),
}


def score_columns(scores: Sequence[OfflineScore]) -> Columns:
    """Return the columns of ``scores_table``. NaN never occurs: what is unknown is null."""
    specs = tuple(dict.fromkeys(spec for score in scores for spec in score.specs)) or STANDARD_SPECS
    return {**_WHICH, **_CONDITIONS, **result_columns(specs), **_SCORED}


RESCORED_COLUMNS: Columns = {
    **_WHICH,
    **_CONDITIONS,
    "status": (pl.String, "known, censored (the recording ends before the trial would have), not_run or void"),
    "censored": (pl.Boolean, "whether the status is censored: there are bounds instead of scores"),
    "reason": (pl.String, "why it is not known; empty when it is"),
    **{f"{s}_before": (pl.Float64, f"{s} under the trial's own thresholds") for s in SCORES},
    **{s: (pl.Float64, f"{s} under the other thresholds; null unless the status is known") for s in SCORES},
    **{
        f"{s}_{bound}": (pl.Float64, f"{s} under the other thresholds, at {words}; {s} where that is known")
        for s in SCORES
        for bound, words in (("low", "least"), ("high", "most"))
    },
    "optimal_path_length_m": (pl.Float64, "the planner's path under the other thresholds [m]"),
    "steps": (pl.Int64, "control steps that count; fewer than recorded where the trial would have ended earlier"),
    "thresholds": (pl.String, "what differs from the trial's own, as JSON: key -> [before, after]"),
}
"""Columns of ``rescored_table``. NaN never occurs: what is unknown is null."""


def scores_table(scores: Sequence[OfflineScore]) -> pl.DataFrame:
    """Return the scores from bags, with ``score_columns``; a trial that cannot be scored has no scores."""
    return make_table([_row(score) for score in scores], score_columns(scores))


def rescored_table(scores: Sequence[OfflineScore]) -> pl.DataFrame:
    """Return the scores under other thresholds, with ``RESCORED_COLUMNS``, of the trials that could be scored."""
    return make_table([_rescored_row(score) for score in scores if score.rescored], RESCORED_COLUMNS)


@dataclass(frozen=True)
class Mean:
    """Means over the trials of one perturbation, of one policy in one run.

    Attributes:
        run: name of the run folder.
        policy: name of the policy.
        perturbation: its name, ``base`` or ``all``.
        trials: trials in the means.
        left_out: those that are not: void ones, and in ``score_means`` those that are not complete, in
            ``rescored_means`` those that would not have been run.
        before: in ``rescored_means``: under the trials' own thresholds.
        low: means, with censored trials at their least.
        high: means, with censored trials at their most; those of ``low`` where there is none.
        censored: how many of the trials are censored.
    """

    run: str
    policy: str
    perturbation: str
    trials: int
    left_out: int
    low: Scores
    high: Scores
    before: Scores = UNKNOWN
    censored: int = 0


def score_means(table: pl.DataFrame) -> list[Mean]:
    """Return the means of a ``scores_table``, by run, policy and perturbation; ``all`` comes last."""
    means = []
    for (run, policy, perturbation), group in _groups(table.filter(pl.col("outcome").is_not_null())):
        counts = group.filter(pl.col("complete") & (pl.col("outcome") != "VOID"))
        scores = _mean(counts, "{}")
        means.append(Mean(run, policy, perturbation, len(counts), len(group) - len(counts), low=scores, high=scores))
    return means


def rescored_means(table: pl.DataFrame) -> list[Mean]:
    """Return the means of a ``rescored_table``, with bounds where trials are censored."""
    means = []
    for (run, policy, perturbation), group in _groups(table):
        counts = group.filter(pl.col("status").is_in(["known", "censored"]))
        means.append(
            Mean(
                run,
                policy,
                perturbation,
                len(counts),
                len(group) - len(counts),
                low=_mean(counts, "{}_low"),
                high=_mean(counts, "{}_high"),
                before=_mean(counts, "{}_before"),
                censored=int(counts["censored"].sum()),
            )
        )
    return means


def write_scores(scores: Sequence[OfflineScore], folder: Path) -> tuple[Path, ...]:
    """Write scores.parquet and scores.csv; where there are other thresholds, rescored.parquet and .csv too.

    Returns:
        The files.

    Raises:
        DiskError: the folder cannot be written.
    """
    make_folder(folder)
    tables = {"scores": (scores_table(scores), score_columns(scores))}
    if any(score.rescored for score in scores):
        tables["rescored"] = (rescored_table(scores), RESCORED_COLUMNS)
    files = []
    for name, (table, columns) in tables.items():
        pair = folder / f"{name}.parquet", folder / f"{name}.csv"
        write_table(table, columns, *pair)
        files += pair
    return tuple(files)


def _row(score: OfflineScore) -> dict[str, object]:
    row = _which(score) | {
        "complete": score.complete,
        "scored_until_s": score.scored_until,
        "differences": "; ".join(score.differences),
        "problem": score.problem,
    }
    if score.offline is None:
        return row
    row |= scores_of(score.offline, score.specs)
    # These are known only at the end of a trial.
    return (
        row if score.complete else row | dict.fromkeys(("fault", "steps", "clamped_steps", "interventions", "stopped"))
    )


def _rescored_row(score: OfflineScore) -> dict[str, object]:
    rescored = score.rescored
    assert rescored is not None
    known = rescored.low if rescored.status == "known" else UNKNOWN
    return {
        **_which(score),
        "status": rescored.status,
        "censored": rescored.status == "censored",
        "reason": rescored.reason,
        **{f"{name}_before": value for name, value in asdict(rescored.before).items()},
        **asdict(known),
        **{f"{name}_low": value for name, value in asdict(rescored.low).items()},
        **{f"{name}_high": value for name, value in asdict(rescored.high).items()},
        "optimal_path_length_m": rescored.optimal_path_length,
        "steps": rescored.steps if rescored.status in ("known", "censored") else None,
        "thresholds": json.dumps({c.key: [c.before, c.after] for c in rescored.changes}),
    }


def _which(score: OfflineScore) -> dict[str, object]:
    return {
        "run": score.run.name if score.run else "",
        "trial": score.trial_id,
        "bag": str(score.bag or ""),
        "policy": score.policy,
        **(conditions_of(score.trial) if score.trial else {}),
    }


def _groups(table: pl.DataFrame) -> list[tuple[tuple[str, str, str], pl.DataFrame]]:
    """Return the trials of each run, policy and perturbation, and of all its perturbations, in their order."""
    groups = []
    for (run, policy), own in table.group_by("run", "policy", maintain_order=True):
        for (name,), group in own.group_by("perturbation", maintain_order=True):
            groups.append(((str(run), str(policy), str(name)), group))
        groups.append(((str(run), str(policy), ALL), own))
    return groups


def _mean(table: pl.DataFrame, column: str) -> Scores:
    means = (table[column.format(name)].mean() for name in SCORES)
    return Scores(*(math.nan if mean is None else float(mean) for mean in means))
