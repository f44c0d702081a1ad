"""The deviations of a run from its locked plan, as a table."""

from __future__ import annotations

from robocontrast_ros.analysis.data.deviations import Deviation, Deviations, deviations_of
from robocontrast_ros.analysis.estimates.results import Results
from robocontrast_ros.analysis.tables.block import Column, TableBlock
from robocontrast_ros.domain.words import counted
from robocontrast_ros.runs.run_folder import RunFolder

TITLE = "Deviations from the locked plan"


def deviations_block(results: Results) -> TableBlock | None:
    """Return the deviations of a run as a table, with one row ``none`` if there are none; None without a locked plan.

    Raises:
        ConfigurationError: as ``deviations_of``.
    """
    found = deviations_of(RunFolder(results.run), results.record)
    return None if found is None else _block(found)


def _block(found: Deviations) -> TableBlock:
    note = (
        f"The plan has {counted(found.trials, 'trial')}, each of which is expected to succeed. It was locked before "
        f"them: SHA-256 {found.sha256}. A scene that another trial leaves is in no plan."
    )
    columns = [
        Column("deviation", lambda row: row.what),
        Column("trials or key", lambda row: row.trials or None),
        Column("planned", lambda row: row.planned or None),
        Column("run", lambda row: row.run or None, beside=True),
    ]
    return TableBlock(columns, found.found or (Deviation("none", "", "", ""),), title=TITLE, note=note)
