"""The section of a run's page about the check "Does it understand?"."""

from __future__ import annotations

from dataclasses import dataclass, replace

from robocontrast_ros.analysis.estimates.results import Results
from robocontrast_ros.analysis.estimates.understanding import MARGIN, Check, understanding_of
from robocontrast_ros.analysis.figures.understanding import drawings_of
from robocontrast_ros.analysis.report.svg import Chart, charts_of
from robocontrast_ros.analysis.tables.block import TableBlock
from robocontrast_ros.analysis.tables.understanding import facts_of, policy_block, read


@dataclass(frozen=True)
class ShownCheck:
    """The check of one policy.

    Attributes:
        check: the numbers.
        facts: base success, chance and test-retest in words.
        table: a row a perturbation.
    """

    check: Check
    facts: str
    table: TableBlock


@dataclass(frozen=True)
class UnderstandingSection:
    """The content of the section.

    Attributes:
        checks: one a policy.
        charts: name -> chart of a check's table.
    """

    checks: tuple[ShownCheck, ...]
    charts: dict[str, Chart]


def understanding_section(results: Results, margin: float = MARGIN) -> UnderstandingSection | None:
    """Return the section; None if no perturbation of the run changes the policy's input alone."""
    found = understanding_of([results], margin)
    if found is None:
        return None
    note = (
        f"{read(found)} Same: p-value of a difference of the margin or more in either direction (TOST). Intervals of "
        "differences are wider here than under Sensitivity where outcomes hardly change."
    )
    charts = charts_of(drawings_of(found))
    shown = tuple(
        ShownCheck(check, facts_of(check), replace(policy_block(check, results.summary.mark, note), chart=name))
        for check, name in zip(found.checks, charts, strict=True)
    )
    return UnderstandingSection(shown, charts)
