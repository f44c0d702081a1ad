"""Sample size for a target half-width, as a table for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group
from rich.text import Text

from robocontrast_ros.analysis.estimates.sample_size import SampleSize
from robocontrast_ros.analysis.tables.summary import NONE, small_table

CAPTION = (
    "Sample size for a target half-width: further test instances, with all their trials, until the 95 % interval is no "
    "wider than ± target, if they cost and vary as those that were run."
)


def sample_size_report(sizes: Sequence[SampleSize]) -> Group:
    """Return the sample sizes as a table."""
    table = small_table("interval of", "± now", "± target", "more instances", "more trials", "[m]", "[s]")
    several = len({found.policy for found in sizes}) > 1
    for found in sizes:
        name = found.estimator + (f" ({found.policy})" if several else "")
        now = found.estimate.half_width
        for needed in found.needed:
            cells = [NONE if now is None else f"{now:.3f}", f"{needed.half_width:g}"]
            if needed.instances is None:
                cells += [NONE] * 4
            else:
                cells += [str(needed.instances), str(needed.trials)]
                cells += [f"{needed.metres:.1f}", f"{needed.seconds:.0f}"]
            table.add_row(name, *cells)
    return Group(table, Text(CAPTION, style="dim italic"))
