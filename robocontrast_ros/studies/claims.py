"""Claims about a study's outcome, each decided by an interval."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
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
    "change",
    "family_difference",
    "slope",
    "policy_difference",
    "agreement",
]

Estimator = Literal["plain", "base", "adjusted"]

Cost = Literal["budget", "metres", "seconds"]

OF_PERTURBATION: tuple[Kind, ...] = ("sensitivity", "sensitivity_in_set", "paired_sensitivity", "selection")
"""Kinds of measures that need ``perturbation``."""

CONTROLLED: tuple[Kind, ...] = ("sensitivity", "sensitivity_in_set", "paired_sensitivity", "change", "slope")
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

OF_TWO_POLICIES: tuple[Kind, ...] = ("policy_difference", "agreement")
"""Kinds of measures that are decided for one policy and compare it with another."""

NEEDED: Mapping[str, tuple[Kind, ...]] = {
    "against": COMPARING,
    "perturbation": OF_PERTURBATION,
    "budget": ("trials_within",),
    "by": ("slope",),
    "other_families": ("family_difference",),
    "policy": OF_TWO_POLICIES,
    "than": OF_TWO_POLICIES,
}
"""Key -> the kinds of measures that need it; the others do not have it."""

ALLOWED: Mapping[str, tuple[Kind, ...]] = {
    "estimator": WITH_ESTIMATOR,
    "less_control": CONTROLLED,
    "range": ("slope",),
    "within": ("slope",),
    "base": ("slope",),
    "families": ("change", "family_difference"),
}
"""Key -> the kinds of measures that may have it."""


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
        default=False,
        description="of the sensitivities, change and slope: whether that of the study's control is subtracted",
    )
    budget: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="of trials_within: limit, as a share of the standard evaluation's cost",
    )
    score: str = Field(
        default="metric",
        min_length=1,
        description="metric, the task's; success; or one of the study's scores from 0 to 1",
    )
    cost: Cost = Field(default="budget", description="the study's own cost, or metres, or seconds")
    by: str = Field(default="", description="of slope: a measure of the perturbed scenes, for example distractors")
    range: tuple[float, float] | None = Field(
        default=None, description="of slope: only trials whose measure is from the first of these to the second"
    )
    within: str = Field(
        default="",
        description="of slope: a measure; scores and `by` are centred among the trials of one value of it",
    )
    base: float | None = Field(
        default=None, description="of slope: the measure `by` of base trials; they are left out without it"
    )
    families: tuple[str, ...] = Field(
        default=(), description="of change and family_difference: families of instructions; all when left out of change"
    )
    other_families: tuple[str, ...] = Field(
        default=(), description="of family_difference: families whose change is subtracted"
    )
    policy: str = Field(
        default="", description="of two policies: the one whose trials these are, and that is decided for"
    )
    than: str = Field(default="", description="of two policies: the one that it is compared with")

    def __post_init__(self) -> None:
        """Refuse keys that the kind does not use, and missing ones."""
        for key, kinds in NEEDED.items():
            wanted = self.kind in kinds
            if bool(getattr(self, key)) != wanted:
                raise ValueError(f"{'a value' if wanted else 'no value'} for `{key}` where `kind` is {self.kind}")
        if self.kind != "closer" and len(self.of) != 1:
            raise ValueError(f"one strategy in `of` where `kind` is {self.kind}")
        if self.kind in ONE_AGAINST and len(self.against) != 1:
            raise ValueError(f"one strategy in `against` where `kind` is {self.kind}")
        usual = {each.name: each.default.default for each in fields(self)}
        for key, kinds in ALLOWED.items():
            if self.kind not in kinds and getattr(self, key) != usual[key]:
                raise ValueError(f"no `{key}` where `kind` is {self.kind}")
        if self.kind == "family_difference" and (not self.families or set(self.families) & set(self.other_families)):
            raise ValueError("values for `families` and `other_families` that have none in common")
        if self.range is not None and self.range[0] >= self.range[1]:
            raise ValueError("less for the first number of `range` than for the second")
        if self.within and (self.within == self.by or self.base is not None):
            raise ValueError("for `within` another measure than `by`, and no `base` beside it")
        if self.than and self.than == self.policy:
            raise ValueError("another policy for `than` than for `policy`")

    @property
    def words(self) -> str:
        """The number, in words."""
        of, against = (" and ".join(f"'{label}'" for label in labels) for labels in (self.of, self.against))
        mean, score = ("mean", "the metric") if self.score == "metric" else (self.score, self.score)
        families, others = (" and ".join(names) for names in (self.families, self.other_families))
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
            "change": f"{mean} of all perturbed trials of {of}{families and f' of {families}'}, minus that of the "
            "instances' own base trials",
            "family_difference": f"{mean} of all perturbed trials of {of}, minus that of the instances' own base "
            f"trials: of {families}, minus the same of {others}",
            "slope": f"change of {score} per unit of {self.by} over the {self._trials} of {of}"
            f"{self.within and f', among those of equal {self.within}'}",
            "policy_difference": f"{mean} of the perturbed trials of {of}, minus that of '{self.than}' in the same "
            "trials",
            "agreement": f"share of the perturbed trials of {of} with {score} 1 in which '{self.than}' has 1 too",
        }[self.kind]
        words += ", minus the control's" if self.less_control else ""
        return words if self.cost == "budget" else f"{words} [{'m' if self.cost == 'metres' else 's'}]"

    @property
    def _trials(self) -> str:
        """The trials of a slope, in words."""
        words = "perturbed trials" if self.base is None else f"perturbed and base trials (which count as {self.base:g})"
        return words if self.range is None else f"{words} from {self.range[0]:g} to {self.range[1]:g}"


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


@dataclass(frozen=True)
class Offered:
    """What the claims about a study may name.

    Attributes:
        perturbations: label of each strategy -> its perturbations.
        measures: label of each strategy -> the measures that scenes of its perturbations have.
        control: the study's control; empty where it has none.
        policies: names.
        families: of the test instances.
        scores: each score of the sessions -> whether its range is 0 to 1.
    """

    perturbations: Mapping[str, tuple[str, ...]]
    measures: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    control: str = ""
    policies: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    scores: Mapping[str, bool] = field(default_factory=dict)


def check_claims(claims: Collection[Claim], offered: Offered, source: str) -> None:
    """Refuse claims about what the study does not have.

    Args:
        claims: of the file.
        offered: what they may name.
        source: the file, for the error.

    Raises:
        ConfigurationError: a strategy, a perturbation, a measure, a score, a family, a policy or the control is not
            there, or a score's range is not 0 to 1.
    """
    for claim in claims:
        key, measure = f"claims.{claim.id}.measure", claim.measure
        if measure.less_control and not offered.control:
            raise ConfigurationError(
                source,
                f"{key}.less_control",
                True,
                "a study that has a `control`",
                "Name one of its policies as `control`, an oracle for example, or leave the claim out.",
            )
        for label in (*measure.of, *measure.against):
            if label not in offered.perturbations:
                raise ConfigurationError.unknown(source, key, label, offered.perturbations, "strategy of the study")
        label, further = measure.of[0], (measure.by, measure.within)
        _check_known(source, key, measure.perturbation, offered.perturbations[label], f"perturbation of '{label}'")
        for name in further:
            _check_known(source, key, name, offered.measures.get(label, ()), f"measure of the scenes of '{label}'")
        for name in (measure.policy, measure.than):
            _check_known(source, key, name, offered.policies, "policy of the study")
        for name in (*measure.families, *measure.other_families):
            _check_known(source, key, name, offered.families, "family of the study's test set")
        if measure.score not in ("metric", "success"):
            _check_known(source, f"{key}.score", measure.score, offered.scores, "score of the study")
            if not offered.scores[measure.score]:
                fitting = ", ".join(("metric", *(name for name, fits in offered.scores.items() if fits)))
                raise ConfigurationError(
                    source, f"{key}.score", measure.score, f"a score between 0 and 1, which it is not: {fitting}"
                )


def _check_known(source: str, key: str, name: str, known: Collection[str], kind: str) -> None:
    """Refuse a name, where one is given, that is not among the known ones."""
    if name and name not in known:
        raise ConfigurationError.unknown(source, key, name, known, kind)
