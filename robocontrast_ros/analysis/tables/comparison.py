"""Comparisons of runs as tables for the terminal, as CSV and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import polars as pl
from rich.console import Group
from rich.table import Table
from rich.text import Text

from robocontrast_ros import __version__
from robocontrast_ros.analysis.data.trials import Columns, make_table
from robocontrast_ros.analysis.estimates.comparison import TESTS, Change, ComparedRow, Comparison
from robocontrast_ros.analysis.estimates.summary import ALL
from robocontrast_ros.analysis.tables.summary import NONE, difference_in_words, in_words
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain.words import counted
from robocontrast_ros.statistics.estimate import Estimate
from robocontrast_ros.system.disk import write_file

FAMILIES = (
    "Holm's procedure adjusts p-values within families of tests. A family is one kind of test for the base trials and "
    "each perturbation, of all runs that the first is compared with. The rows over all pairs use the same trials again "
    "and are a family of their own."
)
"""Which tests are adjusted together."""

BEYOND = (
    "Change from base: the score minus that of the same instances' own base trials. SPL also changes where the "
    "perturbed path is harder for any robot; with an oracle's run as the second, the difference in differences is what "
    "the perturbation costs the policy beyond that."
)
"""What the difference in differences is for."""


SAME_START = (
    "Same start: instruction and planned path are also the same; other pairs start from the scene that each policy's "
    "own previous trial left, and may be told other words."
)
"""Which of the pairs begin alike."""


def _estimates(name: str, meaning: str) -> Columns:
    return {
        f"{name}_mean": (pl.Float64, meaning),
        f"{name}_low": (pl.Float64, "its 95 % interval's lower end"),
        f"{name}_high": (pl.Float64, "its upper end"),
    }


def _changes(name: str, score: str) -> Columns:
    return {
        f"{name}_instances": (
            pl.Int64,
            "test instances with pairs under the perturbation and as base trials",
        ),
        **_estimates(f"{name}_first", f"the first run's mean change of {score} from the instances' base trials"),
        **_estimates(f"{name}_second", "the second run's"),
        **_estimates(f"{name}_difference", "the first run's change minus the second's: difference in differences"),
    }


COLUMNS: Columns = {
    "first_run": (pl.String, "folder of the first run"),
    "second_run": (pl.String, "folder of the run that it is compared with"),
    "first_policy": (pl.String, "the first run's policy"),
    "second_policy": (pl.String, "the second run's"),
    "metric": (pl.String, "name of the score that is compared"),
    "perturbation": (pl.String, "`base`, the perturbation's name, or `all`"),
    "symbol": (pl.String, "the paper's symbol of it"),
    "pairs": (pl.Int64, "trials that both runs have"),
    "instances": (pl.Int64, "test instances among them"),
    "same_start": (pl.Int64, "pairs whose instruction and planned path are the same"),
    **_estimates("first", "the first run's mean of the metric over the pairs"),
    **_estimates("second", "the second run's"),
    **_estimates("difference", "mean paired difference, first minus second"),
    **_estimates("first_success", "the first run's share of successes"),
    **_estimates("second_success", "the second run's"),
    **_estimates("success_difference", "mean paired difference of success, first minus second"),
    "p_bootstrap": (pl.Float64, "paired bootstrap of the metric, two-sided"),
    "p_bootstrap_holm": (pl.Float64, "the same, adjusted; null where it is the only test"),
    "p_success_bootstrap": (pl.Float64, "paired bootstrap of success"),
    "p_success_bootstrap_holm": (pl.Float64, "the same, adjusted"),
    "p_mcnemar": (pl.Float64, "McNemar's exact test of success; null where pairs share test instances"),
    "p_mcnemar_holm": (pl.Float64, "the same, adjusted"),
    "p_boschloo": (pl.Float64, "Boschloo's exact test of success; null where pairs share test instances"),
    "p_boschloo_holm": (pl.Float64, "the same, adjusted"),
    **_changes("change", "the metric"),
    **_changes("success_change", "success"),
}
"""Name of each column of the CSV file -> its type and its meaning. What is unknown is null, an empty field."""


def comparison_table(comparisons: Sequence[Comparison]) -> pl.DataFrame:
    """Return the comparisons with the columns of ``COLUMNS``, a row for each of their rows."""
    return make_table([_fields(one, row) for one in comparisons for row in one.rows], COLUMNS)


def _fields(comparison: Comparison, row: ComparedRow) -> dict[str, object]:
    found: dict[str, object] = {
        "first_run": comparison.first_run,
        "second_run": comparison.second_run,
        "first_policy": comparison.first,
        "second_policy": comparison.second,
        "metric": comparison.metric_spec.name,
    }
    found |= {name: getattr(row, name) for name in ("perturbation", "symbol", "pairs", "instances", "same_start")}
    for name in ("first", "second", "difference", "first_success", "second_success", "success_difference"):
        found |= _ends(name, getattr(row, name))
    for test in TESTS:
        found |= {f"p_{test}": getattr(row, test).p_value, f"p_{test}_holm": getattr(row.adjusted, test)}
    for name in ("change", "success_change"):
        change: Change = getattr(row, name)
        found[f"{name}_instances"] = change.instances
        for which in ("first", "second", "difference"):
            found |= _ends(f"{name}_{which}", getattr(change, which))
    return found


def _ends(name: str, estimate: Estimate) -> dict[str, object]:
    return {f"{name}_{end}": value for end, value in asdict(estimate).items()}


def comparison_json(comparisons: Sequence[Comparison]) -> str:
    """Return the comparisons as standard JSON: their records, by the names of their attributes."""
    content = {
        "robocontrast_ros": __version__,
        "holm": FAMILIES,
        "comparisons": [asdict(comparison) for comparison in comparisons],
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def number_files(page: Path) -> tuple[Path, Path]:
    """Return the CSV and the JSON file beside a page.

    Raises:
        ConfigurationError: the page itself has the name of one of them.
    """
    if page.suffix.lower() in (".csv", ".json"):
        raise ConfigurationError(
            "command line",
            "--to",
            str(page),
            "the name of an HTML file",
            "The numbers are written beside it, with the same name, as .csv and .json.",
        )
    return page.with_suffix(".csv"), page.with_suffix(".json")


def write_numbers(comparisons: Sequence[Comparison], page: Path) -> tuple[Path, Path]:
    """Write the numbers beside a page, as CSV and as JSON, and return the two files.

    Raises:
        ConfigurationError: the page has the name of one of them.
        DiskError: a file cannot be written; what was there stays as it was.
    """
    table, records = number_files(page)
    write_file(table, comparison_table(comparisons).write_csv())
    write_file(records, comparison_json(comparisons))
    return table, records


def comparison_report(comparisons: Sequence[Comparison], labels: Sequence[str], stopped: Sequence[str] = ()) -> Group:
    """Return comparisons for the terminal, at most 80 columns wide.

    Args:
        comparisons: the first run with each of the others.
        labels: what each run is called, the first run first.
        stopped: what the marks of runs that stopped early mean.
    """
    parts: list[Table | Text | str] = []
    for comparison, other in zip(comparisons, labels[1:], strict=True):
        parts += [*_tables(comparison, labels[0], other), ""]
    marks = [Text(words, style="italic") for words in stopped]
    return Group(*parts, *marks, Text(f"{_READ} {FAMILIES}\n{BEYOND}", style="dim italic"))


_READ = (
    f"Pairs: trials of the same test instance, perturbation and repeat. {SAME_START} 95 % intervals. p: paired "
    "bootstrap over test instances. McNemar: exact test; not given where pairs share test instances."
)


def _tables(comparison: Comparison, first: str, second: str) -> list[Table | Text | str]:
    metric = comparison.metric_spec.heading
    parts: list[Table | Text | str] = [
        Text("\n".join(_named(comparison, first, second)), overflow="fold"),
        "",
    ]
    names = ("pairs", "same\nstart", "first", "second", "first - second", "p", "Holm")
    scores, successes = _table(metric, *names), _table("success", *names, "McNemar", "Holm")
    for row in comparison.rows:
        style = "bold" if row.perturbation == ALL else None
        for table, estimates, tests in (
            (scores, (row.first, row.second, row.difference), ("bootstrap",)),
            (
                successes,
                (row.first_success, row.second_success, row.success_difference),
                ("success_bootstrap", "mcnemar"),
            ),
        ):
            first_mean, second_mean, difference = estimates
            p_values = [(getattr(row, test).p_value, getattr(row.adjusted, test)) for test in tests]
            cells = (_mean(first_mean), _mean(second_mean), difference_in_words(difference))
            table.add_row(
                row.symbol,
                str(row.pairs),
                str(row.same_start),
                *cells,
                *(p_value(p) for pair in p_values for p in pair),
                style=style,
            )
    parts += [successes] if comparison.of_success else [scores, "", successes]
    overall = comparison.row(ALL)
    words = f"On the same test instances; {overall.same_start} of {counted(overall.pairs, 'pair')} with the same start."
    parts.append(Text(words))
    changed = [row for row in comparison.rows if row.change.instances]
    if changed:
        parts += [
            "",
            Text("Change from base; n: instances; first - second: difference in differences"),
            _changes_table("success", [(row.symbol, row.success_change) for row in changed]),
        ]
        if not comparison.of_success:
            parts[-1:-1] = [_changes_table(metric, [(row.symbol, row.change) for row in changed]), ""]
    left_out = comparison.only_first, comparison.only_second
    if any(left_out):
        parts.append(Text(f"Trials without a partner: {left_out[0]} of the first, {left_out[1]} of the second."))
    return parts


def _named(comparison: Comparison, first: str, second: str) -> list[str]:
    """Return a line for each run; where policies share their name, the label has the run's folder already."""
    return [
        f"{which}: {label}" if f"({run})" in label else f"{which}: {label}, {run}"
        for which, label, run in (
            ("first", first, comparison.first_run),
            ("second", second, comparison.second_run),
        )
    ]


def _changes_table(score: str, rows: Sequence[tuple[str, Change]]) -> Table:
    table = _table(score, "n", "first", "second", "first - second")
    for symbol, change in rows:
        estimates = (change.first, change.second, change.difference)
        table.add_row(symbol, str(change.instances), *map(difference_in_words, estimates))
    return table


def _table(what: str, *headings: str) -> Table:
    # Text, because rich takes the brackets of a plain string for markup.
    # The name is above the table, whose first column may be narrow then.
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, title=Text(what), title_justify="left")
    table.add_column("", no_wrap=True)
    for heading in headings:
        table.add_column(Text(heading), justify="right", no_wrap=True)
    return table


def _mean(estimate: Estimate) -> str:
    return in_words(Estimate(estimate.mean))


def p_value(value: float | None) -> str:
    """Return a p-value to three digits; a dash where nothing was tested."""
    return NONE if value is None else "<0.001" if value < 0.001 else f"{value:.3f}"
