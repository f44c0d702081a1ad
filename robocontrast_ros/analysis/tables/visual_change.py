"""The sizes of visual changes as a file, which `robocontrast shift` writes and pages read (seed 003, section V-C)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from robocontrast_ros.analysis.data.trials import Columns
from robocontrast_ros.analysis.tables.block import Column
from robocontrast_ros.analysis.tables.frames import columns_of, frame, write_files
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.images.difference import MEASURES, VisualChange
from robocontrast_ros.statistics.estimate import Estimate

if TYPE_CHECKING:
    # It imports a simulator, which readers of the file do not need.
    from robocontrast_ros.analysis.estimates.visual_change import SeenChange, SizeAndLoss

NAME = "visual_change"

_FILE = (
    Column("trial", kind=str, meaning="trial_id of the trial in the changed scene"),
    Column("base_id", kind=str, meaning="its test instance"),
    Column("problem", kind=str, meaning="problem of the test instance; empty without one"),
    Column("perturbation", kind=str, meaning="name of the perturbation, or `chain`"),
    Column("kind", kind=str, meaning="kind of its modifications; empty for another change"),
    Column("note", kind=str, meaning="the change in words"),
    Column("camera", kind=str, meaning="name of the camera"),
    *(
        Column(name, lambda row, of=name: getattr(row.change, of), kind=float, meaning=words)
        for name, words in (
            ("pixels", "share of pixels of which a channel differs by more than 8 of 255"),
            ("mean", "mean difference of all channels, of 1"),
            ("bodies", "share of pixels that show another thing"),
        )
    ),
    Column("lost", kind=float, meaning="success of the base trial minus that of the other"),
)

COLUMNS: Columns = columns_of(_FILE)

LOSS = "size_and_loss"

_OF_LOSS = (
    Column("camera", kind=str, meaning="name of the camera"),
    Column("measure", kind=str, meaning="measure of the size: a column of visual_change.csv"),
    Column("pairs", lambda row: row.correlation.pairs, kind=int, meaning="pairs of trials"),
    Column(
        "rho",
        lambda row: row.correlation.rho,
        kind=Estimate,
        meaning="Spearman's correlation of size and lost success, within each problem",
    ),
    Column("p", lambda row: row.correlation.p, kind=float, meaning="of a test by permutation within each problem"),
)

LOSS_COLUMNS: Columns = columns_of(_OF_LOSS)


def write_changes(changes: Sequence[SeenChange], losses: Sequence[SizeAndLoss], folder: Path) -> tuple[Path, ...]:
    """Write ``visual_change.csv``, a row a trial and camera, and ``size_and_loss.csv`` into a folder; return both.

    Raises:
        DiskError: it cannot be written.
    """
    return write_files(folder, {NAME: frame(_FILE, changes), LOSS: frame(_OF_LOSS, losses)})


def read_changes(folder: Path) -> dict[str, dict[str, VisualChange]]:
    """Return trial_id -> camera's name -> size of the change; nothing if the folder has no such file.

    Raises:
        ConfigurationError: the file is not one of ``write_changes``.
    """
    file = folder / f"{NAME}.csv"
    if not file.is_file():
        return {}
    try:
        table = pl.read_csv(file, schema_overrides={name: kind for name, (kind, _) in COLUMNS.items()})
        rows = table.select("trial", "camera", *(pl.col(name).cast(pl.Float64) for name in MEASURES)).rows()
    except (pl.exceptions.PolarsError, OSError) as error:
        why, cure = str(error).partition("\n")[0], "Write it again: `robocontrast shift RUN`."
        raise ConfigurationError(str(file), "", why, "the table that `robocontrast shift` writes", cure) from None
    found: dict[str, dict[str, VisualChange]] = {}
    for trial, camera, *sizes in rows:
        found.setdefault(trial, {})[camera] = VisualChange(*sizes)
    return found
