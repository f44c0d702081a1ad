"""The summary of a run as a table for the terminal."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from robocontrast_ros.analysis.summary import ALL, Estimate, Row, Summary

NONE = "-"


def summary_table(summary: Summary) -> Table:
    """Return the table: a row for the base trials, each perturbation, and all together; 80 columns do."""
    unit = summary.cost_unit
    budget = "no budget" if summary.budget is None else f"budget {summary.budget:g} {unit}"
    # Text, because rich takes the brackets of a plain string for markup.
    table = Table(
        title=Text(f"{summary.session}: {summary.strategy} · {summary.policy} on {summary.robot}"),
        caption=Text(
            f"{'finished' if summary.finished else 'not finished'}: "
            f"{summary.ended or 'the journal has no end'}\n"
            f"seed {summary.seed}, {budget}. n: trials. 95 % intervals: success Wilson, SPL bootstrap "
            "over instances. - base: mean difference of SPL to their own base trials. faults: of the policy. "
            "void: attempts, in no mean. skip: could not be applied."
        ),
        box=None,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    table.add_column("", no_wrap=True)
    for heading in ("n", "SPL", "success", "- base", "faults", "void", "skip", f"cost [{unit}]"):
        table.add_column(Text(heading), justify="right", no_wrap=True)
    for row in summary.rows:
        table.add_row(*map(Text, _cells(row)), style="bold" if row.perturbation == ALL else None)
    return table


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.perturbation,
        str(row.trials),
        in_words(row.spl),
        in_words(row.success),
        NONE if row.difference.mean is None else f"{row.difference.mean:+.2f}",
        str(row.policy_faults),
        str(row.void),
        str(row.skipped),
        f"{row.cost:.2f}",
    )


def in_words(estimate: Estimate) -> str:
    """Return ``0.71 [0.52, 0.88]``, without the interval when there is none; a dash when there is no mean."""
    if estimate.mean is None:
        return NONE
    mean = f"{estimate.mean:.2f}"
    if estimate.low is None or estimate.high is None:
        return mean
    return f"{mean} [{estimate.low:.2f}, {estimate.high:.2f}]"
