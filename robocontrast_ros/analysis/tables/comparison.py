"""Comparisons of runs as tables for a reader, as CSV and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import polars as pl
from rich.console import Group, RenderableType
from rich.text import Text

from robocontrast_ros import __version__
from robocontrast_ros.analysis.data.trials import Columns
from robocontrast_ros.analysis.estimates.carry_over import CarryOver
from robocontrast_ros.analysis.estimates.comparison import ComparedRow, Comparison
from robocontrast_ros.analysis.estimates.summary import ALL
from robocontrast_ros.analysis.tables.block import SIGNED, TOTAL, Column, PValue, TableBlock, words
from robocontrast_ros.analysis.tables.frames import columns_of, frame, part
from robocontrast_ros.analysis.tables.observation_shift import compared_shifts_block
from robocontrast_ros.analysis.tables.profile import compared_profile_block
from robocontrast_ros.analysis.tables.terminal import tables
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import BASE
from robocontrast_ros.domain.words import counted
from robocontrast_ros.statistics.change_agreement import LEAST, Agreed, ChangeAgreement
from robocontrast_ros.statistics.estimate import Estimate
from robocontrast_ros.system.disk import write_file

FAMILIES = (
    "Holm's procedure adjusts p-values within families of tests. A family is one kind of test for the base trials and "
    "each perturbation, of all runs that the first is compared with. The rows over all pairs use the same trials again "
    "and are a family of their own."
)
"""Explanation of the families of tests that are adjusted together."""

BEYOND = (
    "Change from base: the score minus that of the same instances' own base trials. SPL also changes where the "
    "perturbed path is harder for any robot; with an oracle's run as the second, the difference in differences is what "
    "the perturbation costs the policy beyond that."
)
"""Explanation of the difference in differences."""


CARRY_OVER = (
    "Carries over: the difference in differences is shown to be nearer to 0 than the margin (two one-sided tests: p "
    "equal). Does not: that is not shown, and the difference is shown not to be 0 (paired bootstrap: p differ). Both "
    "at 5 %, adjusted by Holm's procedure for all perturbations and runs. Held: whether the interval of the first's "
    "change holds the second's mean change; the wider it is, the more it holds. Gap of the score: of the base trials."
)
"""Explanation of the words about changes that carry over."""


SAME_START = (
    "Same start: instruction and planned path are also the same; other pairs start from the scene that each policy's "
    "own previous trial left, and may be told other words."
)
"""Explanation of pairs with the same start."""


def _tested(test: str, meaning: str, alone: str = "the same, adjusted") -> tuple[Column, Column]:
    return (
        part(1, f"p_{test}", float, meaning, lambda row: getattr(row, test).p_value),
        part(1, f"p_{test}_holm", float, alone, lambda row: getattr(row.adjusted, test)),
    )


def _carried(change: str, name: str, kind: type, meaning: str) -> Column:
    def value(row: ComparedRow) -> object:
        found = getattr(row, change).carry_over
        return None if found is None else getattr(found, name)

    return part(1, f"{change}_{'carry_over' if name == 'word' else name}", kind, meaning, value)


def _changed(name: str, score: str) -> tuple[Column, ...]:
    instances = "test instances with pairs under the perturbation and as base trials"
    means = {
        "first": f"the first run's mean change of {score} from the instances' base trials",
        "second": "the second run's",
        "difference": "the first run's change minus the second's: difference in differences",
    }
    return (
        part(1, f"{name}_instances", int, instances, lambda row: getattr(row, name).instances),
        *(
            part(1, f"{name}_{of}", Estimate, meaning, lambda row, of=of: getattr(getattr(row, name), of))
            for of, meaning in means.items()
        ),
        _carried(name, "word", str, "`carries over`, `does not` or `undecided`; null without --carry-over"),
        _carried(name, "held", bool, "whether the interval of the first run's change holds the second's mean change"),
        _carried(name, "p_equal", float, "two one-sided tests: the difference in differences is the margin or more"),
        _carried(name, "p_equal_holm", float, "the same, adjusted"),
        _carried(name, "p_different", float, "paired bootstrap: the difference in differences is 0"),
        _carried(name, "p_different_holm", float, "the same, adjusted"),
    )


_UNSHARED = "null where pairs share test instances"

_FILE = (
    part(0, "first_run", str, "folder of the first run"),
    part(0, "second_run", str, "folder of the run that it is compared with"),
    part(0, "first_policy", str, "the first run's policy", lambda comparison: comparison.first),
    part(0, "second_policy", str, "the second run's", lambda comparison: comparison.second),
    part(0, "metric", str, "name of the score that is compared", lambda comparison: comparison.metric_spec.name),
    part(1, "perturbation", str, "`base`, the perturbation's name, or `all`"),
    part(1, "symbol", str, "the paper's symbol of it"),
    part(1, "pairs", int, "trials that both runs have"),
    part(1, "instances", int, "test instances among them"),
    part(1, "same_start", int, "pairs whose instruction and planned path are the same"),
    part(1, "first", Estimate, "the first run's mean of the metric over the pairs"),
    part(1, "second", Estimate, "the second run's"),
    part(1, "difference", Estimate, "mean paired difference, first minus second"),
    part(1, "first_success", Estimate, "the first run's share of successes"),
    part(1, "second_success", Estimate, "the second run's"),
    part(1, "success_difference", Estimate, "mean paired difference of success, first minus second"),
    *_tested(
        "bootstrap", "paired bootstrap of the metric, two-sided", "the same, adjusted; null where it is the only test"
    ),
    *_tested("success_bootstrap", "paired bootstrap of success"),
    *_tested("mcnemar", f"McNemar's exact test of success; {_UNSHARED}"),
    *_tested("boschloo", f"Boschloo's exact test of success; {_UNSHARED}"),
    *_changed("change", "the metric"),
    *_changed("success_change", "success"),
)

COLUMNS: Columns = columns_of(_FILE)
"""Name of each column of the CSV file -> its type and its meaning. Unknown values are null, an empty field."""


def comparison_table(comparisons: Sequence[Comparison]) -> pl.DataFrame:
    """Return the comparisons with the columns of ``COLUMNS``, a row for each of their rows."""
    return frame(_FILE, [(one, row) for one in comparisons for row in one.rows])


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
        DiskError: a file cannot be written; an existing one stays as it was.
    """
    table, records = number_files(page)
    write_file(table, comparison_table(comparisons).write_csv())
    write_file(records, comparison_json(comparisons))
    return table, records


def comparison_report(comparisons: Sequence[Comparison], labels: Sequence[str], stopped: Sequence[str] = ()) -> Group:
    """Return comparisons for the terminal.

    Args:
        comparisons: the first run with each of the others.
        labels: label of each run, the first run first.
        stopped: meanings of the marks of runs that stopped early.
    """
    parts: list[RenderableType] = []
    for comparison, other in zip(comparisons, labels[1:], strict=True):
        overall = comparison.row(ALL)
        pairs = f"{overall.same_start} of {counted(overall.pairs, 'pair')}"
        parts += [
            Text("\n".join(_named(comparison, labels[0], other)), overflow="fold"),
            "",
            tables(compared_blocks(comparison)),
            Text(f"On the same test instances; {pairs} with the same start."),
            *(["", tables(changed)] if (changed := change_blocks(comparison)) else []),
            *(["", *_carry_over_report(comparison)] if comparison.margin is not None else []),
            *(["", tables([compared_shifts_block(comparison)])] if comparison.shifts else []),
            *(["", tables([compared_profile_block(comparison.profile)])] if comparison.profile else []),
        ]
        left_out = comparison.only_first, comparison.only_second
        if any(left_out):
            parts.append(Text(f"Trials without a partner: {left_out[0]} of the first, {left_out[1]} of the second."))
        parts.append("")
    marks = [Text(words, style="italic") for words in stopped]
    asked = f"\n{CARRY_OVER}" if any(one.margin is not None for one in comparisons) else ""
    return Group(*parts, *marks, Text(f"{READ} {FAMILIES}\n{BEYOND}{asked}", style="dim italic"))


def _carry_over_report(comparison: Comparison) -> list[RenderableType]:
    blocks = carry_over_blocks(comparison)
    return [tables(blocks), *map(Text, carry_over_notes(comparison))]


READ = (
    f"Pairs: trials of the same test instance, perturbation and repeat. {SAME_START} 95 % intervals. p: paired "
    "bootstrap over test instances. McNemar and Boschloo: exact tests of success for independent pairs; not given "
    "where pairs share test instances."
)
"""Explanation of the tables."""


def _named(comparison: Comparison, first: str, second: str) -> list[str]:
    """Return a line for each run: its label, and its folder unless the label has it already."""
    return [
        f"{which}: {label}" if f"({run})" in label else f"{which}: {label}, {run}"
        for which, label, run in (("first", first, comparison.first_run), ("second", second, comparison.second_run))
    ]


def compared_blocks(comparison: Comparison, first: str = "first", second: str = "second") -> list[TableBlock]:
    """Return the means and differences of the metric, and of success, with their tests.

    Args:
        comparison: the numbers.
        first: label of the first run.
        second: label of the second run.
    """
    success = _compared(
        "success",
        comparison,
        first,
        second,
        ("first_success", "second_success", "success_difference"),
        "success_bootstrap",
    )
    exact = (*_p_values("McNemar p", "mcnemar"), *_p_values("Boschloo p", "boschloo", page=True))
    success = replace(success, columns=(*success.columns, *exact))
    if comparison.of_success:
        return [success]
    metric = comparison.metric_spec.heading
    return [_compared(metric, comparison, first, second, ("first", "second", "difference"), "bootstrap"), success]


def _compared(
    score: str, comparison: Comparison, first: str, second: str, fields: tuple[str, str, str], test: str
) -> TableBlock:
    means = zip((first, second), fields, strict=False)
    return TableBlock(
        [
            Column("", lambda row: row.symbol),
            Column("pairs"),
            Column("same start", lambda row: row.same_start, roomy=True),
            *(Column(name, lambda row, of=of: getattr(row, of), brief=True, roomy=True) for name, of in means),
            Column(f"{first} - {second}", lambda row: getattr(row, fields[2]), SIGNED),
            *_p_values("p", test),
        ],
        comparison.rows,
        title=score,
        style=lambda row: TOTAL if row.perturbation == ALL else "",
    )


def _p_values(name: str, test: str, page: bool = False) -> tuple[Column, Column]:
    """Return the p-values of a test as they are, and adjusted."""
    return (
        Column(name, lambda row: PValue(getattr(row, test).p_value), roomy=page, page=page),
        Column(f"{name[:-1]}Holm p", lambda row: PValue(getattr(row.adjusted, test)), roomy=True, page=page),
    )


def change_blocks(comparison: Comparison, first: str = "first", second: str = "second") -> list[TableBlock]:
    """Return the changes from base of the metric, and of success; the arguments are those of ``compared_blocks``."""
    rows = [row for row in comparison.rows if row.change.instances]
    scores = {comparison.metric_spec.heading: "change", "success": "success_change"}
    if comparison.of_success:
        scores = {"success": "success_change"}
    fields = {first: "first", second: "second", f"{first} - {second}": "difference"}
    return [
        TableBlock(
            [
                Column("change from base", lambda row: row.symbol),
                Column("n", lambda row: row.change.instances, roomy=True),
                *(
                    Column(
                        name,
                        lambda row, change=change, of=of: getattr(getattr(row, change), of),
                        SIGNED,
                        roomy=of != "difference",
                    )
                    for name, of in fields.items()
                ),
            ],
            rows,
            title=score,
            note=f"n: instances. {first} - {second}: difference in differences.",
        )
        for score, change in scores.items()
        if rows
    ]


def _scores(comparison: Comparison) -> dict[str, tuple[str, str, ChangeAgreement | None]]:
    """Return, for each score that is shown, its heading, the names of its change and gap, and its agreement."""
    success = {"success": ("success_change", "success_difference", comparison.success_agreement)}
    if comparison.of_success:
        return success
    return {comparison.metric_spec.heading: ("change", "difference", comparison.agreement), **success}


def carry_over_blocks(comparison: Comparison) -> list[TableBlock]:
    """Return which changes from base carry over, and how changes agree, of the metric and of success."""
    blocks = []
    for score, (change, _, agreed) in _scores(comparison).items():
        rows = [row for row in comparison.rows if getattr(row, change).carry_over]
        blocks.append(TableBlock(_carry_over_columns(change), rows, title=score))
        if agreed:
            blocks.append(_agreement_block(agreed, score))
    return [block for block in blocks if block.rows]


def _carry_over_columns(change: str) -> list[Column]:
    def found(row: ComparedRow) -> CarryOver:
        of: CarryOver = getattr(row, change).carry_over
        return of

    return [
        Column("carry-over", lambda row: row.symbol),
        Column("n", lambda row: getattr(row, change).instances, roomy=True),
        Column("first - second", lambda row: getattr(row, change).difference, SIGNED),
        Column("held", lambda row: {None: None, True: "yes", False: "no"}[found(row).held], roomy=True),
        Column("p equal", lambda row: PValue(found(row).p_equal), roomy=True),
        Column("Holm p equal", lambda row: PValue(found(row).p_equal_holm), roomy=True),
        Column("p differ", lambda row: PValue(found(row).p_different), roomy=True),
        Column("Holm p differ", lambda row: PValue(found(row).p_different_holm), roomy=True),
        Column("word", lambda row: found(row).word.value),
    ]


def _agreement_block(agreed: ChangeAgreement, score: str) -> TableBlock:
    rows: list[tuple[str, Agreed]] = [
        ("Pearson's r", agreed.pearson),
        ("Spearman's rho", agreed.spearman),
        ("MMRV, second for first", agreed.mmrv_second),
        ("MMRV, first for second", agreed.mmrv_first),
    ]
    return TableBlock(
        [
            Column("agreement of changes", lambda row: row[0]),
            Column(score, lambda row: row[1].value),
            Column("by chance", lambda row: row[1].by_chance),
            Column("p", lambda row: PValue(row[1].p)),
        ],
        rows,
        note=(
            f"Of {agreed.perturbations} perturbations: no p is below {agreed.least_p:.2g}, and r says nothing of the "
            "size of changes. By chance: labels of perturbations exchanged in one run."
        ),
    )


def carry_over_notes(comparison: Comparison) -> list[str]:
    """Return lines about the margin, the gap of the score, too few perturbations, and policies that differ."""
    base = next((row for row in comparison.rows if row.perturbation == BASE), None)
    gaps = [
        f"{score} {words(getattr(base, gap), SIGNED)}" for score, (_, gap, _) in _scores(comparison).items() if base
    ]
    lines = [
        f"Worlds: first {comparison.first_world}; second {comparison.second_world}.",
        f"Margin: {comparison.margin:g}. Gap of the score, first - second: {', '.join(gaps) or 'no base trial'}.",
    ]
    perturbations = sum(row.change.instances > 0 for row in comparison.rows)
    if perturbations < LEAST:
        lines.append(
            f"No agreement: it takes {LEAST} perturbations that both runs have, and there are {perturbations}."
        )
    if comparison.first != comparison.second:
        lines.append(f"The policies differ ({comparison.first}, {comparison.second}): so may what a perturbation does.")
    return lines
