"""Claims about a study's outcome, each decided by an interval."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from robocontrast_ros.configuration import ConfigurationError, record
from robocontrast_ros.statistics.estimate import Estimate

OURS = "ours"
"""Source of a claim that no paper makes: its words are no quotation."""

Verdict = Literal["holds", "does not hold", "undecided", "same trials"]
"""``same trials``: both sides of a comparison are the same trials, so nothing can be decided."""

Kind = Literal[
    "cost_per_trial",
    "perturbing_cost",
    "trials_ratio",
    "trials_within",
    "cost_ratio",
    "total_cost_ratio",
    "sensitivity",
    "sensitivity_in_set",
    "paired_sensitivity",
    "selection",
    "bias",
    "closer",
    "error_at_equal_cost",
    "expected_error",
]

Estimator = Literal["plain", "base", "adjusted"]

Score = Literal["metric", "success"]

Cost = Literal["budget", "metres", "seconds"]

OF_PERTURBATION: tuple[Kind, ...] = ("sensitivity", "sensitivity_in_set", "paired_sensitivity", "selection")
"""Kinds of measures that need ``perturbation``."""

CONTROLLED: tuple[Kind, ...] = ("sensitivity", "sensitivity_in_set", "paired_sensitivity")
"""Kinds of measures from which the control's may be subtracted."""

COMPARING: tuple[Kind, ...] = (
    *("trials_ratio", "trials_within", "cost_ratio", "total_cost_ratio"),
    *("closer", "error_at_equal_cost", "expected_error"),
)
"""Kinds of measures that need ``against``."""

ONE_AGAINST: tuple[Kind, ...] = ("trials_ratio", "trials_within", "error_at_equal_cost", "expected_error")
"""Kinds of measures that compare with one strategy."""

WITH_ESTIMATOR: tuple[Kind, ...] = ("bias", "expected_error")
"""Kinds of measures that are about an estimator."""


@record
class Measure:
    """A number that a claim is about."""

    kind: Kind = Field(description="what is measured; docs/study.md defines each")
    of: tuple[str, ...] = Field(min_length=1, description="labels of the strategies that are measured")
    against: tuple[str, ...] = Field(default=(), description="labels of the strategies that they are compared with")
    perturbation: str = Field(default="", description="of the sensitivities and of selection: name of the perturbation")
    estimator: Estimator = Field(
        default="plain",
        description="of bias and expected_error: mean of all trials, of the base trials, or the adjusted mean",
    )
    less_control: bool = Field(
        default=False, description="of the sensitivities: whether that of the study's control is subtracted"
    )
    budget: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="of trials_within: limit, as a share of the standard evaluation's cost",
    )
    score: Score = Field(default="metric", description="the task's metric, or success")
    cost: Cost = Field(default="budget", description="the study's own cost, or metres, or seconds")

    def __post_init__(self) -> None:
        """Refuse keys that the kind does not use, and missing ones."""
        needed = (
            ("against", self.kind in COMPARING),
            ("perturbation", self.kind in OF_PERTURBATION),
            ("budget", self.kind == "trials_within"),
        )
        for key, wanted in needed:
            if bool(getattr(self, key)) != wanted:
                raise ValueError(f"{'a value' if wanted else 'no value'} for `{key}` where `kind` is {self.kind}")
        if self.kind != "closer" and len(self.of) != 1:
            raise ValueError(f"one strategy in `of` where `kind` is {self.kind}")
        if self.kind in ONE_AGAINST and len(self.against) != 1:
            raise ValueError(f"one strategy in `against` where `kind` is {self.kind}")
        if self.kind not in WITH_ESTIMATOR and self.estimator != "plain":
            raise ValueError(f"no `estimator` where `kind` is {self.kind}")
        if self.kind not in CONTROLLED and self.less_control:
            raise ValueError(f"no `less_control` where `kind` is {self.kind}")

    @property
    def words(self) -> str:
        """The number, in words."""
        of, against = (" and ".join(f"'{label}'" for label in labels) for labels in (self.of, self.against))
        mean = "success" if self.score == "success" else "mean"
        words = {
            "cost_per_trial": f"cost of a trial of {of}",
            "perturbing_cost": f"cost of all perturbed trials of a test instance in {of}",
            "trials_ratio": f"trials of {of} for the cost of one trial of {against}",
            "trials_within": f"trials of {of} within {self.budget or 0.0:.0%} of what the standard evaluation costs, "
            f"over those of {against}, over random orders of the test set",
            "cost_ratio": f"cost of a trial of {of}, over that of the cheapest of {against}",
            "total_cost_ratio": f"cost of all trials of {of}, over that of the cheapest of {against}",
            "sensitivity": f"{mean} of the {self.perturbation} trials of {of}, minus the test-set mean",
            "sensitivity_in_set": f"{mean} of the {self.perturbation} trials of {of}, minus that of all its trials",
            "paired_sensitivity": f"{mean} of the {self.perturbation} trials of {of}, each minus its own base trial",
            "selection": f"{mean} of the base trials of {of} that {self.perturbation} could be applied to, minus that "
            "of those that refused it",
            "bias": f"{_ESTIMATORS[self.estimator]} of {of} at its end, minus the test-set mean",
            "closer": f"absolute bias at the end: the least of {against}, minus the greatest of {of}",
            "error_at_equal_cost": f"mean error over all costs up to the standard's, of {of} minus that of {against}, "
            "in the order that was run",
            "expected_error": f"mean error over all costs up to the standard's, of the {_ESTIMATORS[self.estimator]} "
            f"of {of} minus that of {against}, over random orders of the test set",
        }[self.kind]
        words += ", minus the control's" if self.less_control else ""
        return words if self.cost == "budget" else f"{words} [{'m' if self.cost == 'metres' else 's'}]"


_ESTIMATORS: dict[Estimator, str] = {
    "plain": "mean of all trials",
    "base": "mean of the base trials",
    "adjusted": "adjusted mean",
}


@record
class Region:
    """Where the number has to be for the claim to hold."""

    above: float | None = Field(default=None, description="it holds above this")
    below: float | None = Field(default=None, description="it holds below this")
    about_zero: float | None = Field(
        default=None,
        gt=0,
        description="it holds where the interval contains zero and reaches no farther than this to either side",
    )

    def __post_init__(self) -> None:
        bounds = self.above is not None or self.below is not None
        if bounds == (self.about_zero is not None):
            raise ValueError("`above`, `below` or both, or else `about_zero`")
        if self.above is not None and self.below is not None and self.above >= self.below:
            raise ValueError("less for `above` than for `below`")

    @property
    def words(self) -> str:
        """Where the claim holds."""
        if self.about_zero is not None:
            return f"not significantly off 0, and surely within ±{self.about_zero:g}"
        if self.above is None:
            return f"below {self.below:g}"
        return f"above {self.above:g}" if self.below is None else f"{self.above:g} to {self.below:g}"

    def verdict(self, estimate: Estimate) -> Verdict:
        """Decide by the interval.

        Bounds: the claim holds if the whole interval is in the region, and does not if it is wholly outside.
        About zero: it does not hold if the interval excludes zero. Without an interval it is undecided.
        """
        low, high = estimate.low, estimate.high
        if low is None or high is None:
            return "undecided"
        if self.about_zero is not None:
            if low > 0.0 or high < 0.0:
                return "does not hold"
            return "holds" if max(-low, high) <= self.about_zero else "undecided"
        inside = (self.above is None or low > self.above) and (self.below is None or high < self.below)
        outside = (self.above is not None and high <= self.above) or (self.below is not None and low >= self.below)
        return "holds" if inside else "does not hold" if outside else "undecided"


@record
class Claim:
    """One claim."""

    id: str = Field(pattern=r"^[a-z0-9_]+$", description="short name, unique in its file")
    source: str = Field(description="section or figure of the paper, or `ours`")
    says: str = Field(min_length=1, description="its words; omissions are an ellipsis")
    read_as: str = Field(default="", description="how its words are read, where they are ambiguous")
    found: str = Field(default="", description="the number that the source reports; empty where it gives none")
    measure: Measure = Field(description="the number that it is about")
    holds: Region = Field(description="where that number has to be")


@record
class Claims:
    """A file of claims."""

    claims: tuple[Claim, ...] = Field(min_length=1, description="in the order of the table")

    def __post_init__(self) -> None:
        ids = [claim.id for claim in self.claims]
        if len(set(ids)) != len(ids):
            raise ValueError("each of the ids once")


@dataclass(frozen=True)
class Decided:
    """A claim, decided for one policy.

    Attributes:
        claim: the claim.
        policy: name of the policy.
        estimate: the number, with its interval.
        same_trials: whether it compares trials with themselves.
        control: whether the policy is the study's control, about which nothing is claimed.
    """

    claim: Claim
    policy: str
    estimate: Estimate
    same_trials: bool = False
    control: bool = False

    @property
    def verdict(self) -> Verdict:
        """Whether the claim holds with this policy."""
        return "same trials" if self.same_trials else self.claim.holds.verdict(self.estimate)


def check_claims(
    claims: Collection[Claim], perturbations: dict[str, tuple[str, ...]], source: str, control: str
) -> None:
    """Refuse claims about strategies, perturbations or a control that the study does not have.

    Args:
        claims: of the file.
        perturbations: label of each strategy -> its perturbations.
        source: the file, for the error.
        control: the study's control; empty where it has none.

    Raises:
        ConfigurationError: a strategy, a perturbation or the control is not there.
    """
    for claim in claims:
        key = f"claims.{claim.id}.measure"
        if claim.measure.less_control and not control:
            raise ConfigurationError(
                source,
                f"{key}.less_control",
                True,
                "a study that has a `control`",
                "Name one of its policies as `control`, an oracle for example, or leave the claim out.",
            )
        for label in (*claim.measure.of, *claim.measure.against):
            if label not in perturbations:
                raise ConfigurationError.unknown(source, key, label, perturbations, "strategy of the study")
        wanted, (label, *_) = claim.measure.perturbation, claim.measure.of
        if wanted and wanted not in perturbations[label]:
            raise ConfigurationError.unknown(source, key, wanted, perturbations[label], f"perturbation of '{label}'")
