"""Values of results about observation-space shift (seed 003), as docs/findings_observation_shift.md shows them."""

from __future__ import annotations

import gzip
import io
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from robocontrast_ros.analysis.estimates.observation_shift import Shift, Shifts, pairs_of, shift_of
from robocontrast_ros.analysis.tables.block import PValue, plain
from robocontrast_ros.analysis.tables.markdown import markdown
from robocontrast_ros.analysis.tables.observation_shift import (
    UNDEFINED,
    difficulty_block,
    kinds_block,
    numbers_block,
)
from robocontrast_ros.domain import BASE
from robocontrast_ros.statistics.estimate import Estimate
from scripts.documents import tables
from scripts.documents.tables import between

STUDY = "observation_shift"
"""The study."""


def shifted_table() -> str:
    """Return ORI, MOD and RPD of each policy of the study under each perturbation, in the form of table IV."""
    return markdown(numbers_block(_shifts(tables.Source.folder)))


def shifted_kinds_table(policy: str) -> str:
    """Return the pooled RPD of a policy of the study by kind of modification."""
    found = _shifts(tables.Source.folder)
    return markdown(kinds_block(Shifts(tuple(shift for shift in found.shifts if shift.policy == policy), ())))


def harder_table() -> str:
    """Return whether the harder skills are harmed more, of each policy of the study of which that is defined."""
    return markdown(difficulty_block(_shifts(tables.Source.folder)))


def pooled(policy: str, perturbation: str) -> str:
    """Return the pooled RPD of a policy of the study, with its interval."""
    return between(_shift(policy, perturbation).pooled.rpd)


def same(policy: str, perturbation: str) -> str:
    """Return the p-value of the test that the pooled RPD of a policy of the study is 0.05 or more, either way."""
    found = _shift(policy, perturbation).pooled.same
    return "-" if found is None else f"{found.p_value:.3f}"


def pairs(policy: str, perturbation: str) -> int:
    """Return the number of pairs of trials of a policy of the study."""
    return sum(one.pair.trials for one in _shift(policy, perturbation).skills)


def chains_table(*names: str) -> str:
    """Return all chains of some results together: a row a result."""
    return _chains([row for name in names for row in _rows(name) if row["chain"] == "all"])


def each_chain_table(name: str) -> str:
    """Return the chains of a result, a row a chain of skills."""
    return _chains([row for row in _rows(name) if row["chain"] != "all"])


def of_sessions_table(*names: str) -> str:
    """Return ORI, MOD and pooled RPD of results of sessions: a row a result and perturbation."""
    lines = [
        (
            f"`{row['policy']}`",
            row["perturbation"],
            row["pairs"],
            f"{row['original']:.2f}",
            f"{row['modified']:.2f}",
            between(_estimate(row, "pooled_rpd")),
        )
        for name in names
        for row in _of_all_kinds(name)
    ]
    return markdown(plain(["policy", "perturbation", "pairs", "ORI", "MOD", "pooled RPD"], lines))


def sizes_table(name: str) -> str:
    """Return how large changes look, by kind and camera: means over trials [%]."""
    changes = _kept(name, "visual_change")
    means = changes.group_by("kind", "camera").agg(pl.len(), pl.col("pixels", "mean", "bodies").mean() * 100)
    lines = [
        (kind, camera, number, *(f"{value:.1f}" for value in values))
        for kind, camera, number, *values in means.sort("kind", "camera").iter_rows()
    ]
    return markdown(plain(["modification", "camera", "n", "pixels [%]", "mean [%]", "bodies [%]"], lines))


def size_and_loss_table(name: str) -> str:
    """Return the correlation of size and lost success, a row a camera and measure."""
    lines = [
        (row["camera"], row["measure"], row["pairs"], between(_estimate(row, "rho")), PValue(row["p"]))
        for row in _kept(name, "size_and_loss").iter_rows(named=True)
    ]
    return markdown(plain(["camera", "size", "pairs", "rho", "p"], lines))


def _chains(rows: list[dict[str, Any]]) -> str:
    """Return a table of chains; their rows are those of chains.csv, a row a level."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault((row["policy"], row["chain"]), []).append(row)
    lines = []
    for (policy, chain), own in found.items():
        first, alone = own[0], [row["alone"] for row in own if row["alone"] is not None]
        dubr = _estimate(first, "dubr")
        lines.append(
            (
                f"`{policy}`" if chain == "all" else chain,
                first["runs"],
                " · ".join(f"{rate:.2f}" for rate in alone) or "-",
                *(tables.estimate(_estimate(row, "success")) for row in own),
                "-" if first["upper_bound"] is None else f"{first['upper_bound']:.2f}",
                UNDEFINED if dubr.mean is None else between(dubr),
            )
        )
    head = ["chain" if any(line[2] != "-" for line in lines) else "policy", "n", "alone"]
    return markdown(plain([*head, "1 skill", "2 skills", "3 skills", "UB", "DUBR"], lines))


def _of_all_kinds(name: str) -> list[dict[str, Any]]:
    return _kept(name, "observation_shift").filter(pl.col("kind") == "all").to_dicts()


def _rows(name: str) -> list[dict[str, Any]]:
    return _kept(name, "chains").to_dicts()


def _estimate(row: dict[str, Any], name: str) -> Estimate:
    return Estimate(*(row[f"{name}_{end}"] for end in ("mean", "low", "high")))


def _kept(name: str, table: str) -> pl.DataFrame:
    found = tables.result(name).values[table]
    return pl.DataFrame(found["rows"], schema=found["columns"], orient="row", infer_schema_length=None)


def _shift(policy: str, perturbation: str) -> Shift:
    found = _shifts(tables.Source.folder).shifts
    return next(shift for shift in found if (shift.policy, shift.perturbation) == (policy, perturbation))


@lru_cache
def _shifts(folder: Path) -> Shifts:
    """Return the shifts of the study, its seeds pooled."""
    packed = (folder / f"study_{STUDY}_trials.csv.gz").read_bytes()
    trials = pl.read_csv(io.BytesIO(gzip.decompress(packed)), schema_overrides={"success": pl.Float64})
    study = tables.study_of(STUDY)
    instance = pl.concat_str("study_seed", "base_id", separator=" ")
    trials = trials.filter(pl.col("strategy") == study.parameters.contrast, pl.col("counts")).with_columns(
        base_id=instance,
        cluster=instance,
        note=pl.lit(""),
        index=pl.int_range(pl.len()),
        proof=pl.col("proof").fill_null(""),
    )
    names = [name for name in trials["perturbation"].unique(maintain_order=True).sort() if name != BASE]
    found = []
    for policy in study.policies:
        own = trials.filter(pl.col("policy") == policy)
        found += (shift_of(policy, name, name, pairs_of(own, name)) for name in names)
    return Shifts(tuple(found), ())
