"""The summary of a run as a table for the terminal."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from robocontrast_ros.analysis.summary import ALL, Estimate, Row, Summary

NONE = "-"


def summary_table(summary: Summary) -> Table:
    """Return the table: a row for the base trials, each perturbation, and all together."""
    unit = summary.cost_unit
    budget = "no budget" if summary.budget is None else f"budget {summary.budget:g} {unit}"
    # Text, because rich takes the brackets of a plain string for markup.
    table = Table(
        title=Text(f"{summary.session}: {summary.strategy} · {summary.policy} on {summary.robot}"),
        caption=Text(
            f"{'finished' if summary.finished else 'not finished'}: "
            f"{summary.ended or 'the journal has no end'}\n"
            f"seed {summary.seed}, {budget}; 95 % intervals: success Wilson, SPL bootstrap over instances; "
            "SPL - base: perturbed instances against their own base trials; void attempts are in no mean"
        ),
    )
    table.add_column("perturbation")
    for heading in ("trials", "instances", "skipped", "SPL", "success", "SPL - base"):
        table.add_column(heading, justify="right")
    for heading in ("policy faults", "void", Text(f"cost [{unit}]")):
        table.add_column(heading, justify="right")
    for row in summary.rows:
        if row.perturbation == ALL:
            table.add_section()
        table.add_row(*map(Text, _cells(row)), style="bold" if row.perturbation == ALL else None)
    return table


def _cells(row: Row) -> tuple[str, ...]:
    difference = in_words(row.difference, signed=True)
    return (
        row.perturbation,
        str(row.trials),
        str(row.instances),
        str(row.skipped),
        in_words(row.spl),
        in_words(row.success),
        f"{difference} (n={row.pairs})" if row.pairs else NONE,
        str(row.policy_faults),
        str(row.void),
        f"{row.cost:.2f}",
    )


def in_words(estimate: Estimate, signed: bool = False) -> str:
    """Return ``0.71 [0.52, 0.88]``, without the interval when there is none; a dash when there is no mean."""
    sign = "+" if signed else ""
    if estimate.mean is None:
        return NONE
    mean = f"{estimate.mean:{sign}.2f}"
    if estimate.low is None or estimate.high is None:
        return mean
    return f"{mean} [{estimate.low:{sign}.2f}, {estimate.high:{sign}.2f}]"
