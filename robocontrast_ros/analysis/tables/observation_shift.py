"""Observation-space shift as tables for a reader, as LaTeX and as CSV (seed 003, tables III and IV, figure 5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from pathlib import Path

import polars as pl
from rich.console import Group

from robocontrast_ros.analysis.data.trials import Columns
from robocontrast_ros.analysis.estimates.comparison import Comparison
from robocontrast_ros.analysis.estimates.observation_shift import ChainRow, Chains, Shift, Shifts, SkillShift
from robocontrast_ros.analysis.tables.block import SIGNED, TOTAL, Column, PValue, TableBlock, Value
from robocontrast_ros.analysis.tables.frames import columns_of, frame, part, write_files
from robocontrast_ros.analysis.tables.latex import tabular
from robocontrast_ros.analysis.tables.terminal import tables
from robocontrast_ros.domain.words import counted
from robocontrast_ros.statistics.estimate import NO_ESTIMATE, Estimate
from robocontrast_ros.statistics.observation_shift import ALPHA, MARGIN

UNDEFINED = "undefined"
"""An RPD or a DUBR that is divided by 0. The paper prints 0.00."""

NUMBERS = (
    "ORI: mean rate of the skills in their own scenes. MOD: in the changed ones, of the same instances. RPD = (ORI - "
    f"MOD)/ORI, positive where the change harms; of a skill with ORI 0 it is {UNDEFINED}. harmed: share of skills with "
    "a positive RPD; RPD of harmed: their mean; by chance: both as expected if no rate differs. pooled RPD: "
    "of the mean rates; 95 % interval over test instances, or chains. worse, better: skills, by Fisher's one-sided "
    f"tests with Holm's procedure at {ALPHA:g}. p same: that the pooled RPD is {MARGIN:g} or more in either direction "
    "(TOST)."
)
NOT_INDEPENDENT = (
    "Repeats of a test instance are not independent: there is no expectation by chance and no test of single skills."
)
DIFFICULTY = (
    "rho: Spearman's correlation of ORI and RPD over the skills with ORI above 0; negative where the harder skills are "
    "harmed more (hypothesis I). ORI is part of RPD, so it is not 0 without that: by chance is its expectation if "
    "each skill loses the same share, and p the probability then of a rho as low or lower. 95 % interval over skills."
)
CHAINED = (
    "Shares of the runs of a chain that did its first skill, its first two, … in turn, the robot alone reset between "
    "them. UB: product of the rates of the skills alone, in their own scenes, with the same step limit and seeds. It "
    "is no bound: outcomes depend on each other, and rates have errors. DUBR = (UB - the last share)/UB; it may be "
    f"negative, and at UB 0 it is {UNDEFINED}. 95 % intervals over chains, whose skills are drawn together."
)
"""Explanations under the tables."""

ALL_KINDS = "all"
"""Name of the row of a perturbation over all kinds of modifications."""

_BY_CHANCE = ("expected_harmed", "expected_rpd_harmed", "found_harmed", "found_helped", "by_chance", "p")
"""Numbers that hold for independent pairs alone."""

_DIFFICULTY = ("by_chance", "p")
"""Those of ``Difficulty``; the others are of ``ObservationShift``."""


def _number(shift: Shift, name: str) -> float | int | None:
    owner = shift.difficulty if name in _DIFFICULTY else shift.numbers
    return getattr(owner, name) if shift.independent or name not in _BY_CHANCE else None


def _of_all(name: str, row: tuple[Shift, object, str]) -> float | int | None:
    return _number(row[0], name) if row[2] == ALL_KINDS else None


_SKILL = (
    part(0, "policy", str, "whose trials"),
    part(0, "perturbation", str, "the perturbation's name, or `chain`"),
)

_FILES: Mapping[str, tuple[Column, ...]] = {
    "observation_shift": (
        *_SKILL,
        Column("kind", lambda row: row[2], meaning="`all`, or the modifications of one kind"),
        part(1, "pairs", int, "pairs of trials", lambda one: one[0]),
        part(
            1, "original", float, "ORI: mean over skills of the rate in their own scenes", lambda one: one[1].original
        ),
        part(1, "modified", float, "MOD: the same in the changed scenes", lambda one: one[1].modified),
        part(1, "pooled_rpd", Estimate, "RPD of these means; null where undefined", lambda one: one[1].rpd),
        part(
            1,
            "p_same",
            float,
            f"two one-sided tests: of a pooled RPD of {MARGIN:g} or more in either direction",
            lambda one: one[1].same and one[1].same.p_value,
        ),
        *(
            Column(name, partial(_of_all, of), kind=kind, meaning=meaning)
            for name, kind, of, meaning in (
                ("skills", int, "skills", "skills; null in rows of one kind, as all that follows"),
                ("harmed", int, "harmed", "skills with a positive RPD"),
                (
                    *("expected_harmed", float, "expected_harmed"),
                    "expected share of these without any effect; null where repeats are not independent",
                ),
                ("mean_rpd_harmed", float, "mean_rpd_harmed", "mean RPD of these"),
                (
                    *("expected_rpd_harmed", float, "expected_rpd_harmed"),
                    "expected mean RPD of these without any effect; null likewise",
                ),
                ("holm_harmed", int, "found_harmed", "skills that are worse by a test; null likewise"),
                ("holm_helped", int, "found_helped", "skills that are better; null likewise"),
                ("expected_rho", float, "by_chance", "expected rho if each loses the same share; null likewise"),
                ("p_rho", float, "p", "probability then of a rho as low or lower; null likewise"),
            )
        ),
        Column(
            "rho",
            lambda row: row[0].difficulty.rho if row[2] == ALL_KINDS else NO_ESTIMATE,
            kind=Estimate,
            meaning="Spearman's correlation of ORI and RPD over skills",
        ),
    ),
    "observation_shift_skills": (
        *_SKILL,
        part(1, "skill", str, "name of its problem"),
        part(1, "trials", int, "pairs of trials", lambda one: one.pair.trials),
        part(1, "original", int, "successes in its own scenes: ORI", lambda one: one.pair.original),
        part(1, "modified", int, "successes in the changed scenes: MOD", lambda one: one.pair.modified),
        part(1, "rpd", float, "(ORI - MOD)/ORI; null, undefined, at ORI 0"),
    ),
    "chains": (
        part(0, "policy", str, "whose trials"),
        part(0, "step_limit", int, "control steps after which a skill ended"),
        Column("chain", lambda row: _chain(row[1]), meaning="its skills in order; `all` for all chains together"),
        part(1, "runs", int, "complete runs of the chain"),
        part(1, "chains", int, "test chains among them"),
        Column("level", itemgetter(2), kind=int, meaning="number of skills from the first on"),
        Column("skill", lambda row: _last(row[1].skills, row[2]), meaning="the last of these; empty for `all`"),
        Column("alone", lambda row: _last(row[1].alone, row[2]), kind=float, meaning="rate of this skill alone"),
        Column("success", lambda row: row[1].levels[row[2] - 1], kind=Estimate, meaning="share that did all of these"),
        part(1, "upper_bound", float, "of the whole chain: product of the rates alone", lambda row: row.shift.bound),
        part(1, "dubr", Estimate, "of the whole chain; null where undefined", lambda row: row.shift.dubr),
    ),
}

COLUMNS: Mapping[str, Columns] = {name: columns_of(columns) for name, columns in _FILES.items()}
"""File -> its columns."""


def shift_tables(found: Shifts) -> dict[str, pl.DataFrame]:
    """Return the content of each file of ``COLUMNS`` that has rows."""
    rows: dict[str, list[tuple[object, ...]]] = {
        "observation_shift": [row for shift in found.shifts for row in _by_kind(shift)],
        "observation_shift_skills": [(shift, one) for shift in found.shifts for one in shift.skills],
        "chains": [
            (chains, row, level)
            for chains in found.chains
            for row in (*chains.rows, chains.all)
            for level in range(1, len(row.levels) + 1)
        ],
    }
    return {name: frame(_FILES[name], own) for name, own in rows.items() if own}


def write_shifts(found: Shifts, folder: Path) -> tuple[Path, ...]:
    """Write the tables into a folder, as CSV, and those of the paper's form as LaTeX; return the files.

    Raises:
        DiskError: a file cannot be written.
    """
    texts = {"observation_shift": tabular(numbers_block(found), "")} if found.shifts else {}
    return write_files(folder, shift_tables(found), **texts)


def shift_report(found: Shifts, mark: str = "") -> Group:
    """Return the tables for the terminal; the arguments are those of ``blocks_of``."""
    return Group(tables(blocks_of(found, mark)))


def blocks_of(found: Shifts, mark: str = "") -> list[TableBlock]:
    """Return all tables: the numbers, by kind of modification, of harder skills, by skill, and the chains.

    Args:
        found: the numbers.
        mark: mark of intervals.
    """
    blocks = [numbers_block(found, mark)] if found.shifts else []
    if any(len(shift.kinds) > 1 for shift in found.shifts):
        blocks.append(kinds_block(found, mark))
    if any(shift.difficulty.rho.mean is not None for shift in found.shifts):
        blocks.append(difficulty_block(found, mark))
    blocks += [skills_block(policy, own) for policy, own in by_policy(found)]
    return [*blocks, *(chains_block(chains, mark) for chains in found.chains)]


def by_policy(found: Shifts) -> Iterator[tuple[str, list[Shift]]]:
    """Yield each policy with its shifts."""
    for policy in dict.fromkeys(shift.policy for shift in found.shifts):
        yield policy, [shift for shift in found.shifts if shift.policy == policy]


def numbers_block(found: Shifts, mark: str = "") -> TableBlock:
    """Return the numbers over skills: a row a perturbation."""
    note = NUMBERS
    if not all(shift.independent for shift in found.shifts):
        note += f" {NOT_INDEPENDENT}"
    if any(not shift.kinds for shift in found.shifts):
        note += " chain: the scene that the skill before has left, where a chain reached it, beside the own scene."
    return TableBlock(
        [
            Column("observation-space shift", lambda shift: shift.symbol),
            Column("skills", lambda shift: shift.numbers.skills),
            Column("ORI", lambda shift: shift.pooled.original),
            Column("MOD", lambda shift: shift.pooled.modified),
            Column("harmed", lambda shift: shift.numbers.harmed / shift.numbers.skills),
            Column("by chance", lambda shift: _number(shift, "expected_harmed"), beside=True),
            Column("RPD of harmed", lambda shift: shift.numbers.mean_rpd_harmed),
            Column("by chance", lambda shift: _number(shift, "expected_rpd_harmed"), beside=True),
            Column("pooled RPD", lambda shift: _or_undefined(shift.pooled.rpd), SIGNED),
            Column("worse", lambda shift: _number(shift, "found_harmed"), roomy=True),
            Column("better", lambda shift: _number(shift, "found_helped"), roomy=True),
            Column("p same", lambda shift: PValue(shift.pooled.same and shift.pooled.same.p_value), roomy=True),
        ],
        found.shifts,
        note=note,
        mark=mark,
        group=_policies(found),
    )


def kinds_block(found: Shifts, mark: str = "") -> TableBlock:
    """Return the pooled RPD by kind of modification."""
    return TableBlock(
        [
            Column("modification", lambda row: f"{row[0].symbol}: {row[1].kind}"),
            Column("n", lambda row: row[1].trials),
            Column("ORI", lambda row: row[1].pooled.original),
            Column("MOD", lambda row: row[1].pooled.modified),
            Column("pooled RPD", lambda row: _or_undefined(row[1].pooled.rpd), SIGNED),
        ],
        [(shift, kind) for shift in found.shifts for kind in shift.kinds],
        note="n: pairs of trials. The kinds were drawn for different skills and scenes, so they are not alone what "
        "differs between the rows.",
        mark=mark,
        group=Column("policy", lambda row: row[0].policy) if _policies(found) else None,
    )


def difficulty_block(found: Shifts, mark: str = "") -> TableBlock:
    """Return whether the harder skills are harmed more (hypothesis I); a row a perturbation where that is defined."""
    return TableBlock(
        [
            Column("are harder skills harmed more?", lambda shift: shift.symbol),
            Column("skills", lambda shift: shift.difficulty.skills),
            Column("rho", lambda shift: shift.difficulty.rho, SIGNED),
            Column("by chance", lambda shift: _number(shift, "by_chance"), SIGNED, beside=True),
            Column("p", lambda shift: PValue(_number(shift, "p"))),
        ],
        [shift for shift in found.shifts if shift.difficulty.rho.mean is not None],
        note=DIFFICULTY,
        mark=mark,
        group=_policies(found),
    )


def skills_block(policy: str, shifts: Sequence[Shift]) -> TableBlock:
    """Return a row a skill, with its successes and its RPD under each perturbation of a policy."""
    own = [{one.skill: one for one in shift.skills} for shift in shifts]
    columns = [Column(f"skill ({policy})", str)]
    for shift, skills in zip(shifts, own, strict=True):
        columns += [
            Column("ORI", partial(_share, skills, "original")),
            Column(f"MOD {shift.symbol}", partial(_share, skills, "modified")),
            Column(f"RPD {shift.symbol}", partial(_rpd, skills), SIGNED),
        ]
    return TableBlock(
        columns,
        sorted({skill for skills in own for skill in skills}),
        note="ORI and MOD: successes of trials in the own and in the changed scenes of the same test instances.",
    )


def chains_block(chains: Chains, mark: str = "") -> TableBlock:
    """Return the chains of a policy: a row a chain of skills, and one of all."""
    levels = range(len(chains.all.levels))
    note = [CHAINED, f"Step limit: {chains.step_limit or 'unknown'}, for each skill; DUBR depends on it."]
    if chains.incomplete:
        note.append(f"Cut off, and in no number: {counted(chains.incomplete, 'run')}.")
    return TableBlock(
        [
            Column(f"chain ({chains.policy})", _chain),
            Column("n", lambda row: row.runs, roomy=True),
            Column(
                "alone",
                lambda row: " · ".join("-" if one is None else f"{one:.2f}" for one in row.alone) or None,
                roomy=True,
            ),
            *(
                Column(
                    "1 skill" if not level else f"{level + 1} skills",
                    lambda row, level=level: row.levels[level] if level < len(row.levels) else None,
                )
                for level in levels
            ),
            Column("UB", lambda row: row.shift.bound),
            Column("DUBR", lambda row: _or_undefined(row.shift.dubr), SIGNED),
        ],
        [*chains.rows, chains.all],
        note=" ".join(note),
        mark=mark,
        style=lambda row: "" if row.skills else TOTAL,
    )


def compared_shifts_block(comparison: Comparison, first: str = "first", second: str = "second") -> TableBlock:
    """Return the pooled RPDs of two runs; without rows if they have neither modifications nor chains.

    Args:
        comparison: the numbers.
        first: label of the first run.
        second: label of the second run.
    """
    return TableBlock(
        [
            Column("pooled RPD", lambda row: row.symbol),
            Column("skills", roomy=True),
            Column("pairs", roomy=True),
            Column(first, lambda row: _or_undefined(row.first), SIGNED),
            Column(second, lambda row: _or_undefined(row.second), SIGNED),
        ],
        comparison.shifts,
        note="Pooled RPD = (ORI - MOD)/ORI of the mean rates over skills, on the trials that both have: positive where "
        "the changed scene harms. 95 % intervals. pairs: a base trial and its partner in the changed scene.",
    )


def _policies(found: Shifts) -> Column | None:
    return Column("policy") if len({shift.policy for shift in found.shifts}) > 1 else None


def _or_undefined(estimate: Estimate) -> Value:
    return UNDEFINED if estimate.mean is None else estimate


def _share(skills: Mapping[str, SkillShift], which: str, skill: str) -> Value:
    if skill not in skills:
        return None
    pair = skills[skill].pair
    return f"{getattr(pair, which)}/{pair.trials}"


def _rpd(skills: Mapping[str, SkillShift], skill: str) -> Value:
    if skill not in skills:
        return None
    found = skills[skill].rpd
    return UNDEFINED if found is None else found


def _chain(row: ChainRow) -> str:
    return " → ".join(row.skills) or "all"


def _last(values: Sequence[object], level: int) -> object:
    return values[level - 1] if len(values) >= level else None


def _by_kind(shift: Shift) -> Iterator[tuple[object, ...]]:
    pairs = sum(one.pair.trials for one in shift.skills)
    yield shift, (pairs, shift.pooled), ALL_KINDS
    for kind in shift.kinds:
        yield shift, (kind.trials, kind.pooled), kind.kind
