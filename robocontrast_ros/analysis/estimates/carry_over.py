"""Does what a perturbation does in one world hold in another? The rule that decides it, for two runs of one policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
import polars as pl
from numpy.typing import NDArray

from robocontrast_ros.analysis.estimates.scores import Scale, draws
from robocontrast_ros.domain import ScoreSpec
from robocontrast_ros.statistics.change_agreement import ChangeAgreement, change_agreement
from robocontrast_ros.statistics.estimate import Estimate
from robocontrast_ros.statistics.multiplicity import holm

MARGIN = 0.1
"""The largest difference of two changes that does not matter, if none is named; a share of the score's range."""
ERROR_RATE = 0.05


class Carried(str, Enum):
    """Whether a change carries over."""

    CARRIES = "carries over"
    DIFFERS = "does not"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class CarryOver:
    """Whether the change of a score by a perturbation carries over from the first run's world to the second's.

    Attributes:
        held: whether the interval of the first run's change holds the second's mean change; None without an interval.
        p_equal: p-value of two one-sided tests: that the difference in differences is the margin or more, in either
            direction; None for a score with an open range, and with fewer than two instances.
        p_different: two-sided p-value of the paired bootstrap: that it is 0.
        p_equal_holm: ``p_equal``, adjusted by Holm's procedure; None if it is the only one.
        p_different_holm: the same of ``p_different``.
        word: whether it carries over, by the adjusted p-values. It does if the difference is shown to be smaller than
            the margin, even if it is also shown not to be 0.
    """

    held: bool | None
    p_equal: float | None
    p_different: float | None
    p_equal_holm: float | None = None
    p_different_holm: float | None = None
    word: Carried = Carried.UNDECIDED


def carry_over(
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    clusters: NDArray[np.generic],
    spec: ScoreSpec,
    margin: float,
    ends: Estimate,
) -> CarryOver:
    """Return whether a change carries over, without adjusted p-values and the word.

    Args:
        first: changes of the score in the first run, instance by instance, shape (n,).
        second: changes in the second run, in the same order.
        clusters: the independent unit of each instance, shape (n,).
        spec: the score.
        margin: the largest difference that does not matter, as a share of the score's range, in (0, 1).
        ends: the first run's mean change with its interval.
    """
    # They import scipy.stats, which takes long, and the page of one run compares nothing.
    from robocontrast_ros.statistics.decisions import paired_bootstrap
    from robocontrast_ros.statistics.equivalence import equivalence

    apart = first - second
    # The p-value does not depend on the scale; differences of changes are up to twice as wide as those of scores.
    largest = float(np.max(np.abs(apart), initial=0.0)) or 1.0
    different = paired_bootstrap(apart / largest, np.zeros(len(apart)), clusters, draws()).p_value
    equal = None
    if spec.bounded:
        half = 0.5 * apart / Scale.of(spec).width
        equal = equivalence(half, np.zeros(len(half)), clusters, margin=0.5 * margin).p_value
    held = None if ends.low is None or ends.high is None else bool(ends.low <= np.mean(second) <= ends.high)
    return CarryOver(held, equal, different)


def adjusted(found: Sequence[CarryOver]) -> tuple[CarryOver, ...]:
    """Return the members of a family with adjusted p-values and their words, in the same order."""
    equal, different = holm([one.p_equal for one in found]), holm([one.p_different for one in found])
    return tuple(
        replace(one, p_equal_holm=p, p_different_holm=q, word=_word(_first(p, one.p_equal), _first(q, one.p_different)))
        for one, p, q in zip(found, equal, different, strict=True)
    )


def _first(adjusted_p: float | None, p: float | None) -> float | None:
    """Return the adjusted p-value; that of a test that is the only one is not adjusted."""
    return p if adjusted_p is None else adjusted_p


def _word(p_equal: float | None, p_different: float | None) -> Carried:
    if p_equal is not None and p_equal <= ERROR_RATE:
        return Carried.CARRIES
    return Carried.DIFFERS if p_different is not None and p_different <= ERROR_RATE else Carried.UNDECIDED


def agreement(changes: Mapping[str, pl.DataFrame]) -> ChangeAgreement | None:
    """Return the agreement of two runs' changes over perturbations; None with fewer than three.

    Args:
        changes: perturbation -> its instances: columns ``base_id``, ``cluster``, ``first`` and ``second``, the changes
            in either run.
    """
    rows = pl.concat([table.select("base_id", "cluster").unique() for table in changes.values()]).unique()
    rows = rows.sort("base_id")
    both = [
        np.column_stack(
            [
                rows.join(table, on="base_id", how="left", maintain_order="left")[of].fill_null(np.nan).to_numpy()
                for table in changes.values()
            ]
        )
        for of in ("first", "second")
    ]
    return change_agreement(*both, rows["cluster"].to_numpy(), draws())
