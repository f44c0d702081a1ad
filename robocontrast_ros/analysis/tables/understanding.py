"""The check "Does it understand?" as tables for the terminal, as CSV and as LaTeX."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import polars as pl
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from robocontrast_ros.analysis.data.trials import Columns, make_table
from robocontrast_ros.analysis.estimates.understanding import (
    MEANINGS,
    Cell,
    Chance,
    ChanceBy,
    Check,
    Retest,
    Row,
    Understanding,
    Verdict,
    level_place,
)
from robocontrast_ros.analysis.tables.latex import booktabs
from robocontrast_ros.analysis.tables.summary import NONE, difference_in_words, in_words, small_table
from robocontrast_ros.domain import BASE, Expectation
from robocontrast_ros.domain.words import counted
from robocontrast_ros.statistics.estimate import NO_ESTIMATE, Estimate
from robocontrast_ros.system.disk import write_file
from robocontrast_ros.tasks.levels import Level

NO_MISTAKES = "no mistakes"
"""What is added to a condition's symbol where mistakes are not allowed."""

BESIDE = 4
"""Policies beside each other in a table for the terminal."""

GROUPS = {
    Expectation.KEEPS_SUCCESS: "plausible: it should succeed",
    Expectation.CHANGES_BEHAVIOUR: "plausible: it should succeed",
    Expectation.SHOULD_FAIL: "implausible: it should fail",
    Expectation.UNKNOWN: "without expectation",
}
"""What a sound policy does -> heading of its rows in tables and figures."""

_ESTIMATE: Columns = {
    "mean": (pl.Float64, "mean"),
    "low": (pl.Float64, "its 95 % interval's lower end"),
    "high": (pl.Float64, "its upper end"),
}


def _estimates(name: str, meaning: str) -> Columns:
    return {f"{name}_{end}": (kind, f"{meaning}: {words}") for end, (kind, words) in _ESTIMATE.items()}


COLUMNS: dict[str, Columns] = {
    "understanding": {
        "policy": (pl.String, "whose trials"),
        "level": (pl.String, "L1 to L4 of the test instances, joined by commas; the task where it is not known"),
        "perturbation": (pl.String, "its name; several, joined by ` = `, where the policy received the same under all"),
        "axes": (pl.String, "what it changes: some of L, S, B, O"),
        "plausible": (pl.Boolean, "whether a robot may meet it in use"),
        "expectation": (pl.String, "what a sound policy does"),
        "trials": (pl.Int64, "perturbed trials"),
        "instances": (pl.Int64, "test instances with perturbed and base trials"),
        **_estimates("base", "success of the base trials of these instances"),
        **_estimates("perturbed", "success of the perturbed trials"),
        **_estimates("difference", "perturbed minus base"),
        "difference_low_90": (pl.Float64, "lower end of the 90 % interval of the difference"),
        "difference_high_90": (pl.Float64, "its upper end"),
        "margin": (pl.Float64, "the largest loss that does not matter"),
        "p_harm": (pl.Float64, "of the hypothesis that the difference is 0 or more"),
        "p_harm_holm": (pl.Float64, "the same, adjusted; null where it is the only test"),
        "p_harmless": (pl.Float64, "of the hypothesis that the loss is the margin or more"),
        "p_harmless_holm": (pl.Float64, "the same, adjusted; null where it is the only test"),
        "p_equivalence": (
            pl.Float64,
            "two one-sided tests: of a difference of the margin or more",
        ),
        "p_equivalence_holm": (pl.Float64, "the same, adjusted; null where it is the only test"),
        "verdict": (pl.String, "what follows"),
    },
    "understanding_policies": {
        "policy": (pl.String, "whose trials"),
        "level": (pl.String, "L1 to L4 of the test instances, joined by commas; the task where it is not known"),
        "trials": (pl.Int64, "base trials"),
        "instances": (pl.Int64, "test instances among them"),
        **_estimates("base", "success of the base trials"),
        "chance_by": (pl.String, "how chance was measured"),
        **_estimates("chance", "success without understanding, as measured"),
        **_estimates("skill", "base success minus the chance that counts"),
        "retest_pairs": (pl.Int64, "repeats of base trials that are compared; 0 where none were run"),
        **_estimates("retest_changed", "share of these pairs with different outcomes"),
        **_estimates("retest_difference", "later repeat minus earlier"),
    },
    "understanding_levels": {
        "policy": (pl.String, "whose trials"),
        "level": (pl.String, "L1 to L4; the task where it is not known"),
        "condition": (pl.String, "`base`, or name of the perturbation"),
        "trials": (pl.Int64, "that count"),
        "instances": (pl.Int64, "test instances among them"),
        **_estimates("success", "share that succeeded"),
        **_estimates("no_mistakes", "share that succeeded without a mistake before; null where that is not known"),
    },
}
"""File -> its columns."""


def understanding_tables(found: Understanding) -> dict[str, pl.DataFrame]:
    """Return the content of each file of ``COLUMNS``."""
    rows: dict[str, list[dict[str, object]]] = {name: [] for name in COLUMNS}
    for check in found.checks:
        of = {"policy": check.policy, "level": check.level}
        rows["understanding"] += [of | _cells(row) for row in check.rows]
        rows["understanding_levels"] += [{"policy": check.policy} | _level_cells(cell) for cell in check.cells]
        retest = check.retest
        rows["understanding_policies"].append(
            of
            | {"trials": check.base_trials, "instances": check.instances, "chance_by": check.chance.by.value}
            | _columns("base", check.base)
            | _columns("chance", check.chance.measured)
            | _columns("skill", check.skill)
            | {"retest_pairs": retest.pairs if retest else 0}
            | (_columns("retest_changed", retest.changed) if retest else {})
            | (_columns("retest_difference", retest.difference) if retest else {})
        )
    return {name: make_table(content, COLUMNS[name]) for name, content in rows.items()}


def _cells(row: Row) -> dict[str, object]:
    change = row.change
    return {
        "perturbation": row.name,
        "axes": row.spec.axes,
        "plausible": row.spec.plausible,
        "expectation": row.spec.expectation.value,
        "trials": row.trials,
        "instances": change.instances,
        **_columns("base", row.base),
        **_columns("perturbed", row.perturbed),
        **_columns("difference", change.difference),
        "difference_low_90": change.inner.low,
        "difference_high_90": change.inner.high,
        "margin": change.margin,
        "p_harm": row.p_harm,
        "p_harm_holm": row.p_harm_adjusted,
        "p_harmless": change.p_not_worse,
        "p_harmless_holm": row.p_harmless_adjusted,
        "p_equivalence": change.p_value,
        "p_equivalence_holm": row.p_same_adjusted,
        "verdict": row.verdict.value,
    }


def _level_cells(cell: Cell) -> dict[str, object]:
    return {
        "level": cell.level,
        "condition": cell.name,
        "trials": cell.trials,
        "instances": cell.instances,
        **_columns("success", cell.success),
        **_columns("no_mistakes", cell.without_mistakes),
    }


def _columns(name: str, estimate: Estimate) -> dict[str, object]:
    return {f"{name}_{end}": value for end, value in asdict(estimate).items()}


def write_understanding(found: Understanding, folder: Path) -> tuple[Path, ...]:
    """Write the tables into a folder, as CSV, and success by condition and policy as LaTeX; return the files.

    Raises:
        DiskError: a file cannot be written.
    """
    content = {f"{name}.csv": table.write_csv() for name, table in understanding_tables(found).items()}
    content["understanding.tex"] = understanding_tex(found)
    for name, text in content.items():
        write_file(folder / name, text)
    return tuple(folder / name for name in content)


def understanding_tex(found: Understanding) -> str:
    """Return success by level and condition (rows) and policy (columns) as a tabular, as seed 004 has it."""
    policies = policies_of(found)
    columns = {"level": "l", "condition": "l", "n": "r"} | dict.fromkeys(policies, "l")
    rows = [
        (one.level, one.symbol, one.n, *(_percent_tex(one.cells.get(policy, NO_ESTIMATE)) for policy in policies))
        for one in conditions_of(found)
    ]
    note = (
        "Success in percent with 95 % intervals over test instances. n: instances of each policy. level: L1 to L4; "
        "the task where nothing says what was trained on."
    )
    if found.no_mistakes:
        note += f" {NO_MISTAKES}: success to which no mistake led."
    return booktabs(columns, rows, ("level", "condition"), (note,))


def understanding_report(found: Understanding) -> Group:
    """Return the check for the terminal: what is flagged, a table a policy, and success by condition and policy."""
    parts: list[RenderableType] = []
    for check in found.checks:
        parts += [*flags(check), policy_table(check), Text(facts_of(check), style="dim italic"), ""]
    for table in conditions_tables(found):
        parts += [table, ""]
    parts.append(Text(read(found), style="dim italic"))
    return Group(*parts)


def flags(check: Check) -> list[RenderableType]:
    """Return a line for each perturbation that the policy should fail under and does not."""
    lines: list[RenderableType] = [
        Text(
            f"{check.policy} {row.verdict.value}: with {row.symbol} its success changes by "
            f"{difference_in_words(row.change.difference)}",
            style="bold red",
        )
        for row in check.flagged
    ]
    return [*lines, ""] if lines else []


def policy_table(check: Check) -> Table:
    """Return the table of a policy: a row a perturbation, grouped by what a sound policy does."""
    levels = check.level.split(", ")
    of = check.level if len(levels) < 2 or level_place(levels[-1]) < len(Level) else f"{len(levels)} tasks"
    title = f"{check.policy}, {of}" if of else check.policy
    table = small_table(title, "n", "base", "here", "difference", "harm", "harmless")
    table.add_column(Text("verdict"))
    for heading, rows in grouped(check):
        table.add_row(Text(heading.partition(":")[0]), style="italic")
        for row in rows:
            style = "bold red" if row.verdict is Verdict.WITHOUT_UNDERSTANDING else None
            table.add_row(
                Text(row.symbol),
                str(row.change.instances),
                _mean(row.base),
                _mean(row.perturbed),
                difference_in_words(row.change.difference),
                p_in_words(row.p_harm, row.p_harm_adjusted),
                p_in_words(row.change.p_not_worse, row.p_harmless_adjusted),
                Text(row.verdict.value),
                style=style,
            )
    return table


def grouped(check: Check) -> Iterator[tuple[str, list[Row]]]:
    """Return the rows of each group of ``GROUPS`` that there are, in order."""
    for heading in dict.fromkeys(GROUPS.values()):
        rows = [row for row in check.rows if GROUPS[row.spec.expectation] == heading]
        if rows:
            yield heading, rows


def conditions_tables(found: Understanding) -> list[Table]:
    """Return success in percent: a row a level and condition, a column a policy (the form of seed 004's tables).

    A table has at most ``BESIDE`` policies, so that a terminal is wide enough.
    """
    policies, conditions = policies_of(found), conditions_of(found)
    return [
        _conditions_table(conditions, policies[first : first + BESIDE]) for first in range(0, len(policies), BESIDE)
    ]


def _conditions_table(conditions: Sequence[Condition], policies: Sequence[str]) -> Table:
    table = small_table("success [%]", "n", *policies)
    for column in table.columns[2:]:
        # Long names are broken, not cut off.
        column.no_wrap, column.overflow = False, "fold"
    before = None
    for one in conditions:
        if one.level != before:
            table.add_row(Text(one.level or "all"), style="italic")
            before = one.level
        cells = (percent(one.cells.get(policy, NO_ESTIMATE)) for policy in policies)
        table.add_row(Text(one.symbol), one.n, *cells)
    return table


def facts_of(check: Check) -> str:
    """Return base success, chance, and the differences of base trials that were run again, in words."""
    of = f"{counted(check.base_trials, 'trial')} of {counted(check.instances, 'instance')}"
    words = [
        f"Base success {in_words(check.base)} of {of}.",
        f"Chance: {chance_in_words(check.chance)}.",
        f"Test-retest: {retest_in_words(check.retest)}.",
    ]
    if check.left_out:
        words.append(f"Not known what to expect of: {', '.join(check.left_out)}.")
    return " ".join(words)


def chance_in_words(chance: Chance) -> str:
    """Return how chance was measured, and what it is."""
    if chance.by is ChanceBy.NOTHING:
        return "not measured, taken as 0"
    words = f"{in_words(chance.measured)} by {chance.by.value}"
    return words if chance.counted == chance.measured else f"{words}, of which {_mean(chance.counted)} counts"


def retest_in_words(retest: Retest | None) -> str:
    """Return how much the outcomes of base trials differ that were run again."""
    if retest is None:
        return "not measured, as no base trial was repeated"
    return (
        f"{in_words(retest.changed)} of {counted(retest.pairs, 'pair')} of repeats differ, "
        f"mean difference {difference_in_words(retest.difference)}"
    )


def read(found: Understanding) -> str:
    """Return what the columns and verdicts are."""
    used = {row.verdict for check in found.checks for row in check.rows}
    verdicts = "; ".join(f"{one.value}: {meaning}" for one, meaning in MEANINGS.items() if one in used)
    return (
        "95 % intervals; test instances are independent, not their trials. n: instances. harm: p-value of no loss. "
        f"harmless: p-value of a loss of {found.margin:g} or more. Both are Holm's, over a policy's perturbations. "
        f"{verdicts[:1].upper()}{verdicts[1:]}."
    )


def p_in_words(p_value: float | None, adjusted: float | None) -> str:
    """Return the adjusted p-value, or the only one of its family; a dash where there is none."""
    p = p_value if adjusted is None else adjusted
    return NONE if p is None else "<.001" if p < 0.001 else f"{p:.3f}"


def percent(estimate: Estimate) -> str:
    """Return ``71 [52, 88]``, in percent."""
    if estimate.mean is None:
        return NONE
    mean = f"{100.0 * estimate.mean:.0f}"
    if estimate.low is None or estimate.high is None:
        return mean
    return f"{mean} [{100.0 * estimate.low:.0f}, {100.0 * estimate.high:.0f}]"


def _percent_tex(estimate: Estimate) -> str:
    if estimate.mean is None:
        return "--"
    mean, _, interval = percent(estimate).partition(" ")
    return f"${mean}\\;{interval}$" if interval else f"${mean}$"


def _mean(estimate: Estimate) -> str:
    return NONE if estimate.mean is None else f"{estimate.mean:.2f}"


def policies_of(found: Understanding) -> tuple[str, ...]:
    """Return the columns of the last table."""
    return tuple(dict.fromkeys(check.policy for check in found.checks))


@dataclass(frozen=True)
class Condition:
    """A row of the last table.

    Attributes:
        level: of generalisation; the task where it is not known.
        name: of the condition, ``base`` or the perturbation, with a word where mistakes are not allowed.
        symbol: the same with the paper's symbol.
        cells: policy -> success with its interval, of the policies that have trials there.
        instances: their numbers of test instances, the least and the greatest.
    """

    level: str
    name: str
    symbol: str
    cells: Mapping[str, Estimate]
    instances: tuple[int, int]

    @property
    def n(self) -> str:
        """The number of test instances, or the least and the greatest."""
        least, most = self.instances
        return str(most) if least == most else f"{least}-{most}"


def conditions_of(found: Understanding) -> tuple[Condition, ...]:
    """Return the rows of the last table: level by level, base trials first, each without mistakes where asked for."""
    cells = [(check.policy, cell) for check in found.checks for cell in check.cells]
    levels = sorted(dict.fromkeys(cell.level for _, cell in cells), key=level_place)
    conditions = []
    for level in levels:
        names = {cell.name: cell.symbol for _, cell in cells if cell.level == level}
        for name in sorted(names, key=lambda name: name != BASE):
            own = {policy: cell for policy, cell in cells if (cell.level, cell.name) == (level, name)}
            numbers = [cell.instances for cell in own.values()]
            n = min(numbers), max(numbers)
            success = {policy: cell.success for policy, cell in own.items()}
            conditions.append(Condition(level, name, names[name], success, n))
            if found.no_mistakes:
                without = {policy: cell.without_mistakes for policy, cell in own.items()}
                words = (f"{said}, {NO_MISTAKES}" for said in (name, names[name]))
                conditions.append(Condition(level, *words, without, n))
    return tuple(conditions)
