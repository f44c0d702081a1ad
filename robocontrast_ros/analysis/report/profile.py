"""The section of a run's page about what its problems ask of a policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robocontrast_ros.analysis.estimates.profile import ProblemRow, profile_of
from robocontrast_ros.analysis.estimates.results import Results
from robocontrast_ros.analysis.figures.profile import drawings_of
from robocontrast_ros.analysis.report.svg import Chart, charts_of
from robocontrast_ros.analysis.report.trials import Attempt
from robocontrast_ros.analysis.tables.block import TableBlock
from robocontrast_ros.analysis.tables.profile import profile_block, worst_block

SHOWN = 5
"""Greatest number of problems of each policy that are shown with pictures."""


@dataclass(frozen=True)
class ShownProblem:
    """A problem that was not always solved.

    Attributes:
        row: its results.
        attempt: its trial with the lowest score.
    """

    row: ProblemRow
    attempt: Attempt


@dataclass(frozen=True)
class ProfileSection:
    """The content of the section.

    Attributes:
        charts: the score by group, and the differences.
        groups: the table by group.
        worst: the tables of the hardest problems, one a policy that failed.
        problems: the hardest of them, with a trial.
    """

    charts: tuple[Chart, ...]
    groups: TableBlock
    worst: tuple[TableBlock, ...]
    problems: tuple[ShownProblem, ...]


def profile_section(results: Results, attempts: Sequence[Attempt]) -> ProfileSection | None:
    """Return the section; None if the run's problems have no profiles, or no trial of one counts.

    Args:
        results: the run's results.
        attempts: its executions, with their pictures.

    Raises:
        ConfigurationError: the run's file of profiles cannot be read.
    """
    found = profile_of(results)
    if found is None:
        return None
    counting = {attempt.row["index"]: attempt for attempt in attempts if attempt.row["counts"]}
    mark = results.summary.mark
    tables = (worst_block(found, policy, mark) for policy in found.policies)
    return ProfileSection(
        tuple(charts_of(drawings_of(found)).values()),
        profile_block(found, mark),
        tuple(table for table in tables if table.rows),
        tuple(
            ShownProblem(row, counting[row.index])
            for policy in found.policies
            for row in found.worst(policy, SHOWN)
            if counting[row.index].pictures.frames
        ),
    )
