"""Scores from bags as tables: one row per trial, and means with the number of trials left out."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
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
from robocontrast_ros.analysis.tables.block import Column
from robocontrast_ros.analysis.tables.frames import cells, columns_of
from robocontrast_ros.episodes.scoring import STANDARD_SPECS
from robocontrast_ros.system.disk import make_folder

SCORES = ("success", "spl", "progress")


_WHICH = (
    Column(
        "run",
        lambda score: score.run.name if score.run else "",
        meaning="name of the run folder; empty for a bag that lies in none",
    ),
    Column("trial", lambda score: score.trial_id, meaning="the trial; the name of its bag where no journal knows it"),
    Column("bag", lambda score: str(score.bag or ""), meaning="folder of its bag; empty when there is none"),
    Column("policy", meaning="name of the policy, as the bag says"),
)

_CONDITIONS = (
    *("index", "base_id", "instance_id", "perturbation", "repeat", "family", "instruction"),
    *("note", "claim", "proof", "seed"),
)

_TRIAL: Columns = {**columns_of(_WHICH), **{name: COLUMNS[name] for name in _CONDITIONS}}

_SCORED = (
    Column(
        "complete",
        kind=bool,
        meaning="whether the bag holds the trial to its end; else the scores are of what there is",
    ),
    Column(
        "scored_until_s",
        lambda score: score.scored_until,
        kind=float,
        meaning="stamp of the last control step that was scored [s]",
    ),
    Column(
        "differences",
        lambda score: "; ".join(score.differences),
        meaning="what differs from the journal; empty when nothing does",
    ),
    Column("problem", meaning="why the bag cannot be scored or relied on; empty when it can"),
)


def score_columns(scores: Sequence[OfflineScore]) -> Columns:
    """Return the columns of ``scores_table``. NaN never occurs: what is unknown is null."""
    specs = tuple(dict.fromkeys(spec for score in scores for spec in score.specs)) or STANDARD_SPECS
    return {**_TRIAL, **result_columns(specs), **columns_of(_SCORED)}


def _at(score: str, end: str, meaning: str) -> Column:
    return Column(f"{score}_{end}", attrgetter(f"{end}.{score}"), kind=float, meaning=f"{score} under {meaning}")


_RESCORED = (
    Column("status", meaning="known, censored (the recording ends before the trial would have), not_run or void"),
    Column(
        "censored",
        lambda found: found.status == "censored",
        kind=bool,
        meaning="whether the status is censored: there are bounds instead of scores",
    ),
    Column("reason", meaning="why it is not known; empty when it is"),
    *(_at(s, "before", "the trial's own thresholds") for s in SCORES),
    *(
        Column(
            s,
            lambda found, s=s: getattr(found.low, s) if found.status == "known" else None,
            kind=float,
            meaning=f"{s} under the other thresholds; null unless the status is known",
        )
        for s in SCORES
    ),
    *(
        _at(s, end, f"the other thresholds, at {words}; {s} where that is known")
        for s in SCORES
        for end, words in (("low", "least"), ("high", "most"))
    ),
    Column(
        "optimal_path_length_m",
        lambda found: found.optimal_path_length,
        kind=float,
        meaning="the planner's path under the other thresholds [m]",
    ),
    Column(
        "steps",
        lambda found: found.steps if found.status in ("known", "censored") else None,
        kind=int,
        meaning="control steps that count; fewer than recorded where the trial would have ended earlier",
    ),
    Column(
        "thresholds",
        lambda found: json.dumps({c.key: [c.before, c.after] for c in found.changes}),
        meaning="what differs from the trial's own, as JSON: key -> [before, after]",
    ),
)

RESCORED_COLUMNS: Columns = {**_TRIAL, **columns_of(_RESCORED)}
"""Columns of ``rescored_table``. NaN never occurs: what is unknown is null."""


def scores_table(scores: Sequence[OfflineScore]) -> pl.DataFrame:
    """Return the scores from bags, with ``score_columns``; a trial that cannot be scored has no scores."""
    rows = [_trial(score) | _result(score) | cells(_SCORED, score) for score in scores]
    return make_table(rows, score_columns(scores))


def rescored_table(scores: Sequence[OfflineScore]) -> pl.DataFrame:
    """Return the scores under other thresholds, with ``RESCORED_COLUMNS``, of the trials that could be scored."""
    rows = [_trial(score) | cells(_RESCORED, score.rescored) for score in scores if score.rescored]
    return make_table(rows, RESCORED_COLUMNS)


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


def _trial(score: OfflineScore) -> dict[str, object]:
    return cells(_WHICH, score) | (conditions_of(score.trial) if score.trial else {})


def _result(score: OfflineScore) -> dict[str, object]:
    if score.offline is None:
        return {}
    found = scores_of(score.offline, score.specs)
    # These are known only at the end of a trial.
    late = () if score.complete else ("fault", "steps", "clamped_steps", "interventions", "stopped")
    return found | dict.fromkeys(late)


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
