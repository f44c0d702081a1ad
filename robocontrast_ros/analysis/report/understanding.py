"""The section of a run's page about what the policy understands."""

from __future__ import annotations

from dataclasses import dataclass

from robocontrast_ros.analysis.estimates.results import Results
from robocontrast_ros.analysis.estimates.understanding import MARGIN, Check, Row, understanding_of
from robocontrast_ros.analysis.figures.understanding import drawings_of
from robocontrast_ros.analysis.report.svg import Chart, make_chart
from robocontrast_ros.analysis.tables.understanding import facts_of, grouped, p_in_words, read


@dataclass(frozen=True)
class ShownRow:
    """A perturbation of the table.

    Attributes:
        row: the numbers.
        p_harm: adjusted, in words.
        p_harmless: the same.
        p_same: the same.
    """

    row: Row
    p_harm: str
    p_harmless: str
    p_same: str


@dataclass(frozen=True)
class ShownCheck:
    """The check of one policy.

    Attributes:
        check: the numbers.
        facts: base success, chance and test-retest in words.
        groups: heading -> perturbations.
        chart: the picture.
    """

    check: Check
    facts: str
    groups: dict[str, tuple[ShownRow, ...]]
    chart: Chart


@dataclass(frozen=True)
class UnderstandingSection:
    """What the section shows.

    Attributes:
        margin: what does not matter.
        words: what the columns and verdicts are.
        checks: one a policy.
    """

    margin: float
    words: str
    checks: tuple[ShownCheck, ...]


def understanding_section(results: Results, margin: float = MARGIN) -> UnderstandingSection | None:
    """Return the section; None where nothing in the run changes only what a policy is told or shown."""
    found = understanding_of([results], margin)
    if found is None:
        return None
    shown = tuple(
        ShownCheck(
            check,
            facts_of(check),
            {heading: tuple(map(_shown, rows)) for heading, rows in grouped(check)},
            make_chart(name, drawing.title, drawing.words, drawing.draw, drawing.height),
        )
        for check, (name, drawing) in zip(found.checks, drawings_of(found).items(), strict=True)
    )
    return UnderstandingSection(margin, read(found), shown)


def _shown(row: Row) -> ShownRow:
    return ShownRow(
        row,
        p_in_words(row.p_harm, row.p_harm_adjusted),
        p_in_words(row.change.p_not_worse, row.p_harmless_adjusted),
        p_in_words(row.change.p_value, row.p_same_adjusted),
    )
