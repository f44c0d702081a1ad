"""What a policy can do, by what problems ask of it: as tables for a reader and as CSV."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Group as Renderables

from robocontrast_ros.analysis.data.trials import Columns
from robocontrast_ros.analysis.estimates.profile import (
    ALL,
    KNOWN,
    SUBTASKS,
    VOCABULARY,
    ComparedProfile,
    Group,
    ObjectWords,
    ProfileOfRun,
)
from robocontrast_ros.analysis.tables.block import TOTAL, Column, TableBlock, Value, difference
from robocontrast_ros.analysis.tables.frames import columns_of, frame, write_files
from robocontrast_ros.analysis.tables.terminal import tables
from robocontrast_ros.domain.words import counted
from robocontrast_ros.statistics.estimate import Estimate

WORST = 10
"""Greatest number of problems of a policy in the table of the hardest."""

READ = (
    "Base trials, in the usual words; only the rows of words are of others. to the others: the mean minus that of the "
    "problems without it; of words, the mean paired difference to the usual ones. 95 % intervals take problems as "
    "independent, and are not adjusted for their number. Attributes occur together, and with numbers of subtasks: a "
    "difference shows where a policy is weak, not why."
)
"""Explanation of the table."""

READ_WORDS = (
    " Words known: of the words that name things, each counted once, those that the policy's declared vocabulary has; "
    "all words known: trials whose object words it has, against those with others."
)
"""Explanation of the columns and rows by vocabulary."""

_GROUP = (
    Column("by", lambda row: row.group.by, meaning="`all`, axis, attribute, difficulty, subtasks, vocabulary or words"),
    Column("group", lambda row: row.group.name, meaning="name of the group of problems"),
    Column("axis", lambda row: row.group.axis, meaning="the axis of an attribute; empty for others"),
)


def _of_words(of: Callable[[ObjectWords], Value]) -> Callable[[Any], Value | None]:
    """Return the value of a column of object words, which is null if they are unknown."""
    return lambda row: None if row.object_words is None else of(row.object_words)


_NAMING = "words that name things, each counted once; empty if the policy declares no vocabulary, or there are none"

_OBJECT_WORDS = (
    Column("object_words", _of_words(lambda words: len(words.all)), kind=int, meaning=_NAMING),
    Column("known_object_words", _of_words(lambda words: words.known), kind=int, meaning="of them, in the vocabulary"),
    Column("known_share", _of_words(lambda words: words.share), kind=float, meaning="their share"),
    Column("unknown_object_words", _of_words(lambda words: " ".join(words.unknown)), meaning="the others"),
)

_FILES: Mapping[str, tuple[Column, ...]] = {
    "profile": (
        Column("policy", meaning="whose trials"),
        *_GROUP,
        Column("problems", kind=int, meaning="problems with a trial"),
        Column("trials", kind=int, meaning="trials that count"),
        Column("success", kind=Estimate, meaning="share of them that succeeded"),
        Column("score", kind=Estimate, meaning="mean of the score; of the session's metric if it has no such score"),
        Column(
            "success_difference",
            kind=Estimate,
            meaning="success minus that of the other problems; of words, paired, minus that in the usual words",
        ),
        Column("score_difference", lambda row: row.difference, kind=Estimate, meaning="the same of the score"),
        *_OBJECT_WORDS,
    ),
    "profile_problems": (
        Column("policy", meaning="whose trials"),
        Column("problem", meaning="name of the problem"),
        Column("attributes", lambda row: " ".join(row.profile.attributes), meaning="its attributes"),
        Column("difficulty", lambda row: row.profile.difficulty, meaning="label of its difficulty"),
        Column("difficulty_score", lambda row: row.profile.score, kind=int, meaning="its difficulty as a number"),
        Column("subtasks", lambda row: row.profile.subtasks, kind=int, meaning="number of its subtasks"),
        Column("trials", kind=int, meaning="base trials that count"),
        Column("successes", kind=int, meaning="how many of them succeeded"),
        Column("score", kind=Estimate, meaning="mean of the score over them; the interval is over test instances"),
        Column("words", meaning="the usual words of its instruction"),
        *_OBJECT_WORDS,
    ),
}

COLUMNS: Mapping[str, Columns] = {name: columns_of(columns) for name, columns in _FILES.items()}
"""File -> its columns. Unknown values are null, an empty field."""


def profile_tables(found: ProfileOfRun) -> dict[str, pl.DataFrame]:
    """Return the content of each file of ``COLUMNS``."""
    rows = {"profile": found.rows, "profile_problems": found.problems}
    return {name: frame(columns, rows[name]) for name, columns in _FILES.items()}


def write_profile(found: ProfileOfRun, folder: Path) -> tuple[Path, ...]:
    """Write the tables into a folder as CSV; return the files.

    Raises:
        DiskError: a file cannot be written.
    """
    return write_files(folder, profile_tables(found))


def profile_report(found: ProfileOfRun, mark: str = "") -> Renderables:
    """Return the tables for the terminal; the arguments are those of ``profile_block``."""
    worst = [worst_block(found, policy, mark) for policy in found.policies]
    return Renderables(tables([profile_block(found, mark), *(block for block in worst if block.rows)]))


def profile_block(found: ProfileOfRun, mark: str = "") -> TableBlock:
    """Return success and score by group.

    Args:
        found: the numbers.
        mark: mark of intervals.
    """
    score = found.score.heading
    several = len(found.policies) > 1
    differences = [
        Column(f"{score} to the others", lambda row: difference(row.difference)),
        Column("success to the others", lambda row: difference(row.success_difference), roomy=True, page=True),
    ]
    return TableBlock(
        [
            Column("what is asked", lambda row: label(row.group)),
            *([Column("policy")] if several else []),
            Column("problems", roomy=True),
            Column("trials", roomy=True),
            Column("success"),
            *([] if found.of_success else [Column(score, lambda row: row.score)]),
            *differences[: 1 if found.of_success else 2],
            *_shown_words(found),
        ],
        sorted(found.rows, key=_order(found)) if several else found.rows,
        note=READ + (READ_WORDS if found.has_vocabularies else ""),
        mark=mark,
        group=Column("", lambda row: row.group.heading),
        style=lambda row: TOTAL if row.group.by == ALL else "",
    )


def _shown_words(found: ProfileOfRun, unknown: bool = False) -> list[Column]:
    """Return the columns of object words; none if no policy declares a vocabulary."""
    if not found.has_vocabularies:
        return []
    columns = [Column("words known", lambda row: known_words(row.object_words))]
    if unknown:
        columns.append(Column("not", lambda row: ", ".join(row.object_words.unknown) if row.object_words else ""))
    return columns


def known_words(found: ObjectWords | None) -> str:
    """Return how many object words are known, and their share; empty if that is unknown."""
    return "" if found is None else f"{found.known} of {len(found.all)} ({found.share:.2f})"


def _order(found: ProfileOfRun):
    groups = list(dict.fromkeys(row.group for row in found.rows))
    return lambda row: (groups.index(row.group), found.policies.index(row.policy))


def label(group: Group) -> str:
    """Return the name of a group for a reader."""
    if group.by == ALL:
        return "all problems"
    if group.by == SUBTASKS:
        return counted(int(group.name), "subtask")
    if group.by == VOCABULARY:
        return "all words known" if group.name == KNOWN else "some words unknown"
    return group.name.replace("_", " ")


def worst_block(found: ProfileOfRun, policy: str, mark: str = "", number: int = WORST) -> TableBlock:
    """Return the problems of a policy with the lowest scores; without rows if it always solved all.

    Args:
        found: the numbers.
        policy: its name.
        mark: mark of intervals.
        number: greatest number of rows.
    """
    of = f" of {policy}" if len(found.policies) > 1 else ""
    rows = found.worst(policy, number)
    failed = len(found.worst(policy, len(found.problems)))
    return TableBlock(
        [
            Column(f"hardest problems{of}", lambda row: row.words),
            Column("asks", lambda row: ", ".join(row.profile.attributes)),
            Column("difficulty", lambda row: f"{row.profile.difficulty} ({row.profile.score})"),
            Column("solved", lambda row: f"{row.successes} of {row.trials}"),
            *([] if found.of_success else [Column(found.score.heading, lambda row: row.score, brief=True)]),
            *_shown_words(found, unknown=True),
            Column("problem", lambda row: row.problem, roomy=True),
        ],
        rows,
        note=f"Of {counted(failed, 'problem')} not always solved, the {len(rows)} with the lowest score. "
        "profile_problems.csv has all problems.",
        mark=mark,
    )


def compared_profile_block(found: ComparedProfile, first: str = "first", second: str = "second") -> TableBlock:
    """Return two runs side by side, a row a group.

    Args:
        found: the numbers.
        first: label of the first run.
        second: label of the second run.
    """
    score = found.score.heading
    fields = [("success", ("first_success", "second_success", "success_difference"))]
    if not found.of_success:
        fields.append((score, ("first", "second", "difference")))

    def columns(name: str, of: tuple[str, str, str]) -> list[Column]:
        means = zip((f"{name} {first}", f"{name} {second}"), of, strict=False)
        return [
            *(Column(head, lambda row, of=of: getattr(row, of), brief=True, roomy=True) for head, of in means),
            Column(f"{name} {first} - {second}", lambda row: difference(getattr(row, of[2]))),
        ]

    return TableBlock(
        [
            Column("what is asked", lambda row: label(row.group)),
            Column("problems", roomy=True),
            Column("pairs", roomy=True),
            *(column for name, of in fields for column in columns(name, of)),
        ],
        found.rows,
        note="Base trials that both have, in the usual words; rows of other words are of the trials in these. Mean "
        "paired differences; 95 % intervals take problems as independent, and are not adjusted for their number.",
        group=Column("", lambda row: row.group.heading),
        style=lambda row: TOTAL if row.group.by == ALL else "",
    )
