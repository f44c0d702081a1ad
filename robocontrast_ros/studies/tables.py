"""The tables of a study, as frames of text with a sentence on how to read each."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from robocontrast_ros.statistics.estimate import Estimate
from robocontrast_ros.studies.claims import OURS, Claim, Decided
from robocontrast_ros.studies.results import StudyResults

STRATEGY_WORDS = (
    "Trials, cost and trials within the cost of the standard evaluation: of each seed. Ratio: trials for the cost "
    "of one standard trial. Bias: mean of all trials at the end, minus the test-set mean. Error: mean over seeds of "
    "its absolute value."
)

ERROR_WORDS = (
    "Mean absolute error of an estimate of the test-set mean from the contrast set's trials, over random orders of the "
    "test set and over costs up to that of the standard evaluation; beside it that of the standard evaluation's "
    "running mean at the same costs, and the difference: below 0 where the contrast set is nearer."
)

PERTURBATION_WORDS = (
    "Applied, refused: base instances of all seeds that the perturbation could be applied to, or not; then their mean "
    "base score, and the difference: who was selected. Families that a perturbation was never applied to are not "
    "among them. Change: mean score minus that of the instances' own base trials. Minus control: the same minus the "
    "control's change on the same base instances, which is what the perturbation costs by geometry. Each policy's "
    "perturbed trials start in the scenes that its own trials left."
)


def errors_frame(results: StudyResults) -> pd.DataFrame:
    """Return a row for each policy and estimator, as ``ERROR_WORDS`` explains it."""
    return pd.DataFrame(
        [
            {
                "policy": row.policy,
                "estimator": row.estimator,
                "error": _number(row.error),
                "standard": _number(row.standard),
                "difference": in_words(row.difference),
            }
            for row in results.errors
        ]
    )


def perturbations_frame(results: StudyResults) -> pd.DataFrame:
    """Return a row for each policy and perturbation, as ``PERTURBATION_WORDS`` explains it."""
    rows = []
    for row in results.perturbations:
        control = row.policy in (results.control, *results.beside)
        cells = {
            "policy": f"{row.policy} (control)" if control else row.policy,
            "perturbation": row.symbol,
            "applied": str(row.applied),
            "refused": str(row.refused),
            "base of applied": _number(row.base_applied),
            "of refused": _number(row.base_refused),
            "difference": in_words(row.selection),
            "change": in_words(row.change),
            "change of success": in_words(row.change_of_success),
        }
        if results.control:
            cells["change minus control"] = in_words(row.beyond_control)
            cells["of success"] = in_words(row.beyond_control_of_success)
        rows.append(cells)
    return pd.DataFrame(rows)


def strategies_frame(results: StudyResults) -> pd.DataFrame:
    """Return a row for each policy and strategy, as ``STRATEGY_WORDS`` explains it."""
    return pd.DataFrame(
        [
            {
                "policy": row.policy,
                "strategy": row.strategy,
                "trials": _of_seeds(row.trials),
                f"cost [{results.unit}]": _of_seeds(round(cost) for cost in row.cost),
                "within": _of_seeds(row.within),
                "ratio": in_words(row.ratio),
                "bias": in_words(row.bias),
                "error": f"{row.error:.3f}",
            }
            for row in results.strategies
        ]
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _of_seeds(numbers: object) -> str:
    return ", ".join(map(str, numbers))


def claims_frame(decided: Sequence[Decided]) -> pd.DataFrame:
    """Return a row for each claim: its words, the number, where it holds, and each policy's estimate and verdict."""
    rows: dict[str, dict[str, str]] = {}
    for one in decided:
        claim = one.claim
        row = rows.setdefault(
            claim.id,
            {
                "id": claim.id,
                "claim": _claimed(claim),
                "where": claim.source,
                "found there": claim.found or "-",
                "decided by": f"{claim.measure.words}: holds {claim.holds.words}",
            },
        )
        row[one.policy] = in_words(one.estimate) + ("" if one.control else f": {one.verdict}")
    # A claim about the difference to the control has no value for the control itself.
    return pd.DataFrame(list(rows.values())).fillna("-")


def _claimed(claim: Claim) -> str:
    """Return the words of a claim, in quotation marks where they are quoted, and how they are read."""
    words = claim.says if claim.source == OURS else f"“{claim.says}”"
    return f"{words} (read as: {claim.read_as})" if claim.read_as else words


def in_words(estimate: Estimate) -> str:
    """Return an estimate and its interval as ``1.52 [1.44, 1.60]``; a dash where there is none."""
    if estimate.mean is None:
        return "-"
    # All draws are equal where a strategy is compared with itself: no interval.
    if estimate.low is None or estimate.high is None or estimate.low == estimate.high:
        return f"{estimate.mean:.3f}"
    return f"{estimate.mean:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"
