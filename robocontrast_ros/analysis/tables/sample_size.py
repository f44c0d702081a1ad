"""Sample size for a target half-width, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from robocontrast_ros.analysis.estimates.sample_size import SampleSize
from robocontrast_ros.analysis.tables.block import Column, TableBlock

CAPTION = (
    "Sample size for a target half-width: further test instances, with all their trials, until the 95 % interval is no "
    "wider than ± target, if they cost and vary as those that were run."
)
UNKNOWN = " Without a number: the estimate needs at least two test instances."


def sample_size_block(sizes: Sequence[SampleSize]) -> TableBlock:
    """Return the sample sizes as a table."""
    several = len({found.policy for found in sizes}) > 1
    rows = [(found, needed) for found in sizes for needed in found.needed]
    unknown = any(needed.instances is None for _, needed in rows)
    return TableBlock(
        [
            Column("interval of", lambda row: row[0].estimator),
            Column("± now", lambda row: row[0].estimate.half_width, ".3f"),
            Column("± target", lambda row: row[1].half_width, "g"),
            Column("more instances", lambda row: row[1].instances),
            Column("more trials", lambda row: row[1].trials),
            Column("[m]", lambda row: row[1].metres, ".1f"),
            Column("[s]", lambda row: row[1].seconds, ".0f", roomy=True),
        ],
        rows,
        note=CAPTION + (UNKNOWN if unknown else ""),
        group=Column("policy", lambda row: row[0].policy) if several else None,
    )
