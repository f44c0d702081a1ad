"""The check "Does it understand?" as tables, for a reader and as files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass
from pathlib import Path

import polars as pl
from rich.console import Group, RenderableType
from rich.text import Text

from robocontrast_ros.analysis.data.trials import Columns
from robocontrast_ros.analysis.estimates.understanding import (
    MEANINGS,
    Chance,
    ChanceBy,
    Check,
    Retest,
    Understanding,
    UnderstandingRow,
    level_place,
)
from robocontrast_ros.analysis.tables.block import ALARM, SIGNED, Column, PValue, TableBlock, words
from robocontrast_ros.analysis.tables.frames import columns_of, frame, part, write_files
from robocontrast_ros.analysis.tables.latex import tabular
from robocontrast_ros.analysis.tables.terminal import Table
from robocontrast_ros.domain import BASE, Expectation
from robocontrast_ros.domain.words import counted
from robocontrast_ros.statistics.estimate import NO_ESTIMATE, Estimate
from robocontrast_ros.tasks.levels import Level

NO_MISTAKES = "no mistakes"
"""Addition to a condition's name and symbol if mistakes are not allowed."""

GROUPS = {
    Expectation.KEEPS_SUCCESS: "plausible: it should succeed",
    Expectation.CHANGES_BEHAVIOUR: "plausible: it should succeed",
    Expectation.SHOULD_FAIL: "implausible: it should fail",
    Expectation.UNKNOWN: "without expectation",
}
"""Answer of a sound policy -> heading of its rows in tables and figures."""

_POLICY = part(0, "policy", str, "whose trials")
_LEVELS = part(0, "level", str, "L1 to L4 of the test instances, joined by commas; the task where it is not known")
_HOLM = "the same, adjusted; null where it is the only test"


_FILES: Mapping[str, tuple[Column, ...]] = {
    "understanding": (
        *(_POLICY, _LEVELS),
        part(
            1,
            "perturbation",
            str,
            "its name; several, joined by ` = `, where the policy received the same under all",
            lambda row: row.name,
        ),
        part(1, "axes", str, "what it changes: some of L, S, B, O", lambda row: row.spec.axes),
        part(1, "plausible", bool, "whether a robot may meet it in use", lambda row: row.spec.plausible),
        part(1, "expectation", str, "what a sound policy does", lambda row: row.spec.expectation.value),
        part(1, "trials", int, "perturbed trials"),
        part(1, "instances", int, "test instances with perturbed and base trials", lambda row: row.change.instances),
        part(1, "base", Estimate, "success of the base trials of these instances"),
        part(1, "perturbed", Estimate, "success of the perturbed trials"),
        part(1, "difference", Estimate, "perturbed minus base", lambda row: row.change.difference),
        part(
            1,
            "difference_low_90",
            float,
            "lower end of the 90 % interval of the difference",
            lambda row: row.change.inner.low,
        ),
        part(1, "difference_high_90", float, "its upper end", lambda row: row.change.inner.high),
        part(1, "margin", float, "the largest loss that does not matter", lambda row: row.change.margin),
        part(1, "p_harm", float, "of the hypothesis that the difference is 0 or more"),
        part(1, "p_harm_holm", float, _HOLM, lambda row: row.p_harm_adjusted),
        part(
            1,
            "p_harmless",
            float,
            "of the hypothesis that the loss is the margin or more",
            lambda row: row.change.p_not_worse,
        ),
        part(1, "p_harmless_holm", float, _HOLM, lambda row: row.p_harmless_adjusted),
        part(
            1,
            "p_equivalence",
            float,
            "two one-sided tests: of a difference of the margin or more",
            lambda row: row.change.p_value,
        ),
        part(1, "p_equivalence_holm", float, _HOLM, lambda row: row.p_same_adjusted),
        part(1, "verdict", str, "what follows", lambda row: row.verdict.value),
    ),
    "understanding_policies": (
        *(_POLICY, _LEVELS),
        part(0, "trials", int, "base trials", lambda check: check.base_trials),
        part(0, "instances", int, "test instances among them"),
        part(0, "base", Estimate, "success of the base trials"),
        part(0, "chance_by", str, "how chance was measured", lambda check: check.chance.by.value),
        part(0, "chance", Estimate, "success without understanding, as measured", lambda check: check.chance.measured),
        part(0, "skill", Estimate, "base success minus the chance that counts"),
        part(
            1,
            "retest_pairs",
            int,
            "repeats of base trials that are compared; 0 where none were run",
            lambda retest: retest.pairs,
        ),
        part(
            1, "retest_changed", Estimate, "share of these pairs with different outcomes", lambda retest: retest.changed
        ),
        part(1, "retest_difference", Estimate, "later repeat minus earlier", lambda retest: retest.difference),
    ),
    "understanding_levels": (
        _POLICY,
        part(1, "level", str, "L1 to L4; the task where it is not known"),
        part(1, "condition", str, "`base`, or name of the perturbation", lambda cell: cell.name),
        part(1, "trials", int, "that count"),
        part(1, "instances", int, "test instances among them"),
        part(1, "success", Estimate, "share that succeeded"),
        part(
            1,
            "no_mistakes",
            Estimate,
            "share that succeeded without a mistake before; null where that is not known",
            lambda cell: cell.without_mistakes,
        ),
    ),
}

COLUMNS: Mapping[str, Columns] = {name: columns_of(columns) for name, columns in _FILES.items()}
"""File -> its columns."""

_NO_RETEST = Retest(0, 0, NO_ESTIMATE, NO_ESTIMATE)


def understanding_tables(found: Understanding) -> dict[str, pl.DataFrame]:
    """Return the content of each file of ``COLUMNS``."""
    rows = {
        "understanding": [(check, row) for check in found.checks for row in check.rows],
        "understanding_policies": [(check, check.retest or _NO_RETEST) for check in found.checks],
        "understanding_levels": [(check, cell) for check in found.checks for cell in check.cells],
    }
    return {name: frame(columns, rows[name]) for name, columns in _FILES.items()}


def write_understanding(found: Understanding, folder: Path) -> tuple[Path, ...]:
    """Write the tables into a folder, as CSV, and success by condition and policy as LaTeX; return the files.

    Raises:
        DiskError: a file cannot be written.
    """
    return write_files(folder, understanding_tables(found), understanding=understanding_tex(found))


def understanding_tex(found: Understanding) -> str:
    """Return success by level and condition (rows) and policy (columns) as a tabular, in the form of seed 004."""
    note = (
        "Success in percent with 95 % intervals over test instances. n: instances of each policy. level: L1 to L4; "
        "the task where nothing says what was trained on."
    )
    if found.no_mistakes:
        note += f" {NO_MISTAKES}: success to which no mistake led."
    return tabular(conditions_block(found, "condition"), note)


def understanding_report(found: Understanding) -> Group:
    """Return the check for the terminal: flagged rows, a table a policy, and success by condition and policy."""
    parts: list[RenderableType] = []
    for check in found.checks:
        parts += [*flags(check), Table(policy_block(check)), Text(facts_of(check), style="dim italic"), ""]
    return Group(*parts, Table(conditions_block(found)), "", Text(read(found), style="dim italic"))


def flags(check: Check) -> list[RenderableType]:
    """Return a line for each perturbation under which the policy should fail and does not, and an empty one last."""
    lines: list[RenderableType] = [
        Text(
            f"{check.policy} {row.verdict.value}: with {row.symbol} its success changes by "
            f"{words(row.change.difference, SIGNED)}",
            style="bold red",
        )
        for row in check.flagged
    ]
    return [*lines, ""] if lines else []


def policy_block(check: Check, mark: str = "", note: str = "") -> TableBlock:
    """Return the table of a policy: a row a perturbation, grouped by the answer of a sound policy.

    Args:
        check: the policy's check.
        mark: mark of intervals.
        note: explanation below the table.
    """
    levels = check.level.split(", ")
    of = check.level if len(levels) < 2 or level_place(levels[-1]) < len(Level) else f"{len(levels)} tasks"
    return TableBlock(
        [
            Column(", ".join(filter(None, (check.policy, of))), lambda row: row.symbol),
            Column("n", lambda row: row.change.instances, roomy=True),
            Column("base", lambda row: row.base, brief=True, roomy=True),
            Column("here", lambda row: row.perturbed, brief=True),
            Column("difference", lambda row: row.change.difference, SIGNED),
            Column("harm", lambda row: _p(row.p_harm, row.p_harm_adjusted), roomy=True),
            Column("harmless", lambda row: _p(row.change.p_not_worse, row.p_harmless_adjusted), roomy=True),
            Column("same", lambda row: _p(row.change.p_value, row.p_same_adjusted), roomy=True, page=True),
            Column("verdict", lambda row: row.verdict.value),
        ],
        [row for _, rows in grouped(check) for row in rows],
        note=note,
        mark=mark,
        group=Column("expectation", lambda row: GROUPS[row.spec.expectation]),
        style=lambda row: ALARM if row in check.flagged else "",
    )


def _p(p_value: float | None, adjusted: float | None) -> PValue:
    """Return the adjusted p-value, or the p-value itself if it is the only one of its family."""
    return PValue(p_value if adjusted is None else adjusted)


def grouped(check: Check) -> Iterator[tuple[str, list[UnderstandingRow]]]:
    """Return heading and rows of each group of ``GROUPS`` that has rows, in order."""
    for heading in dict.fromkeys(GROUPS.values()):
        rows = [row for row in check.rows if GROUPS[row.spec.expectation] == heading]
        if rows:
            yield heading, rows


def conditions_block(found: Understanding, name: str = "success [%]") -> TableBlock:
    """Return success in percent: a row a level and condition, a column a policy (the form of seed 004's tables).

    Args:
        found: the check.
        name: name of the column of conditions.
    """
    return TableBlock(
        [
            *(Column(name, lambda one: one.symbol), Column("n")),
            *(Column(policy, lambda one, policy=policy: one.percent(policy), ".0f") for policy in policies_of(found)),
        ],
        conditions_of(found),
        group=Column("level", lambda one: one.level or "all"),
    )


def facts_of(check: Check) -> str:
    """Return base success, chance, test-retest and the perturbations without a description, in words."""
    of = f"{counted(check.base_trials, 'trial')} of {counted(check.instances, 'instance')}"
    said = [
        f"Base success {words(check.base)} of {of}.",
        f"Chance: {chance_in_words(check.chance)}.",
        f"Test-retest: {retest_in_words(check.retest)}.",
    ]
    if check.left_out:
        said.append(f"Not known what to expect of: {', '.join(check.left_out)}.")
    return " ".join(said)


def chance_in_words(chance: Chance) -> str:
    """Return the value of chance and its measurement, in words."""
    if chance.by is ChanceBy.NOTHING:
        return "not measured, taken as 0"
    said = f"{words(chance.measured)} by {chance.by.value}"
    return said if chance.counted == chance.measured else f"{said}, of which {words(chance.counted.mean)} counts"


def retest_in_words(retest: Retest | None) -> str:
    """Return the differences of the outcomes of repeated base trials, in words."""
    if retest is None:
        return "not measured, as no base trial was repeated"
    return (
        f"{words(retest.changed)} of {counted(retest.pairs, 'pair')} of repeats differ, "
        f"mean difference {words(retest.difference, SIGNED)}"
    )


def read(found: Understanding) -> str:
    """Return the explanation of the columns and of the verdicts that occur."""
    used = {row.verdict for check in found.checks for row in check.rows}
    verdicts = "; ".join(f"{one.value}: {meaning}" for one, meaning in MEANINGS.items() if one in used)
    return (
        "95 % intervals; test instances are independent, not their trials. n: instances. harm: p-value of no loss. "
        f"harmless: p-value of a loss of {found.margin:g} or more. Both are Holm's, over a policy's perturbations. "
        f"{verdicts[:1].upper()}{verdicts[1:]}."
    )


def percent(estimate: Estimate) -> str:
    """Return an estimate in percent, such as ``71 [52, 88]``."""
    return words(_times_100(estimate), ".0f")


def _times_100(estimate: Estimate) -> Estimate:
    return Estimate(*(None if end is None else 100.0 * end for end in astuple(estimate)))


def policies_of(found: Understanding) -> tuple[str, ...]:
    """Return the policies, which are the columns of the table of conditions."""
    return tuple(dict.fromkeys(check.policy for check in found.checks))


@dataclass(frozen=True)
class Condition:
    """A row of the table of conditions.

    Attributes:
        level: level of generalisation; the task if it is unknown.
        name: name of the condition, ``base`` or the perturbation, with ``NO_MISTAKES`` if mistakes are not allowed.
        symbol: the same with the paper's symbol.
        cells: policy -> success with its interval, of the policies that have trials in it.
        instances: least and greatest number of test instances of a policy.
    """

    level: str
    name: str
    symbol: str
    cells: Mapping[str, Estimate]
    instances: tuple[int, int]

    @property
    def n(self) -> str | int:
        """The number of test instances, or the least and the greatest."""
        least, most = self.instances
        return most if least == most else f"{least}-{most}"

    def percent(self, policy: str) -> Estimate:
        """Return the success of a policy [%]; an empty estimate if it has no trials."""
        return _times_100(self.cells.get(policy, NO_ESTIMATE))


def conditions_of(found: Understanding) -> tuple[Condition, ...]:
    """Return the rows of the table of conditions, level by level, base trials first.

    Each is followed by the same without mistakes if that is asked for.
    """
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
                called = (f"{words}, {NO_MISTAKES}" for words in (name, names[name]))
                conditions.append(Condition(level, *called, without, n))
    return tuple(conditions)
