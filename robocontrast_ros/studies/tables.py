"""The tables of a study."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from robocontrast_ros.analysis.tables.block import Column, TableBlock
from robocontrast_ros.analysis.tables.block import words as in_words
from robocontrast_ros.statistics.estimate import Estimate
from robocontrast_ros.studies.claims import OURS, Claim, Decided
from robocontrast_ros.studies.results import PerturbationRow, StudyResults

FORM = ".3f"
"""Format of the numbers in all tables."""

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

POLICY = Column("policy")


def errors_block(results: StudyResults) -> TableBlock:
    """Return the table of errors, a row for each policy and estimator."""
    return TableBlock(
        [
            Column("estimator"),
            *(Column("error", form=FORM), Column("standard", form=FORM)),
            _estimate("difference", lambda row: row.difference),
        ],
        results.errors,
        title="error at equal cost",
        note=ERROR_WORDS,
        group=POLICY,
    )


def perturbations_block(results: StudyResults) -> TableBlock:
    """Return the table of perturbations, a row for each policy and perturbation."""

    def policy(row: PerturbationRow) -> str:
        return f"{row.policy} (control)" if row.policy in (results.control, *results.beside) else row.policy

    beyond = [
        _estimate("change minus control", lambda row: row.beyond_control),
        _estimate("of success", lambda row: row.beyond_control_of_success),
    ]
    return TableBlock(
        [
            Column("perturbation", lambda row: row.symbol),
            *(Column("applied"), Column("refused")),
            Column("base of applied", lambda row: row.base_applied, FORM),
            Column("of refused", lambda row: row.base_refused, FORM),
            _estimate("difference", lambda row: row.selection),
            _estimate("change", lambda row: row.change),
            _estimate("change of success", lambda row: row.change_of_success),
            *(beyond if results.control else []),
        ],
        results.perturbations,
        title="perturbations",
        note=PERTURBATION_WORDS,
        group=Column("policy", policy),
    )


def strategies_block(results: StudyResults) -> TableBlock:
    """Return the table of strategies, a row for each policy and strategy."""
    return TableBlock(
        [
            Column("strategy"),
            Column("trials", lambda row: _of_seeds(row.trials), page=True),
            Column(f"cost [{results.unit}]", lambda row: _of_seeds(map(round, row.cost))),
            Column("within", lambda row: _of_seeds(row.within)),
            _estimate("ratio", lambda row: row.ratio),
            _estimate("bias", lambda row: row.bias),
            Column("error", form=FORM),
        ],
        results.strategies,
        title="strategies",
        note=STRATEGY_WORDS,
        group=POLICY,
    )


def claims_block(decided: Sequence[Decided]) -> TableBlock:
    """Return the table of claims, a row for each: words, source, number, region, each policy's estimate and verdict."""
    rows: dict[str, tuple[Claim, dict[str, str]]] = {}
    for one in decided:
        _, of_policies = rows.setdefault(one.claim.id, (one.claim, {}))
        estimate = in_words(_without_equal_ends(one.estimate), FORM)
        of_policies[one.policy] = estimate if one.control else f"{estimate}: {one.verdict}"
    policies = dict.fromkeys(one.policy for one in decided)
    return TableBlock(
        [
            Column("id", lambda row: row[0].id),
            Column("claim", lambda row: _claimed(row[0]), page=True),
            Column("where", lambda row: row[0].source, page=True),
            Column("found there", lambda row: row[0].found or None, page=True),
            Column("decided by", lambda row: f"{row[0].measure.words}: holds {row[0].holds.words}", page=True),
            # A claim about the difference to the control has no value for the control itself.
            *(Column(policy, lambda row, policy=policy: row[1].get(policy)) for policy in policies),
        ],
        list(rows.values()),
        title="claims",
    )


def _estimate(name: str, of: Callable[[Any], Estimate]) -> Column:
    return Column(name, lambda row: _without_equal_ends(of(row)), FORM)


def _without_equal_ends(estimate: Estimate) -> Estimate:
    """Return the estimate, without its interval if that has no width.

    All draws are equal if a strategy is compared with itself.
    """
    return Estimate(estimate.mean) if estimate.low == estimate.high else estimate


def _of_seeds(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


def _claimed(claim: Claim) -> str:
    """Return the words of a claim, in quotation marks unless it is our own, and the way in which they are read."""
    words = claim.says if claim.source == OURS else f"“{claim.says}”"
    return f"{words} (read as: {claim.read_as})" if claim.read_as else words
