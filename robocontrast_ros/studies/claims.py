"""Claims about a study's outcome, each decided by an interval."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, WrapValidator

from robocontrast_ros.configuration import ConfigurationError, record
from robocontrast_ros.statistics.estimate import Estimate
from robocontrast_ros.studies.evidence import Evidence
from robocontrast_ros.studies.measures import Measure, Offered, read_measure

OURS = "ours"
"""Source of a claim that no paper makes: its words are no quotation."""

Verdict = Literal["holds", "does not hold", "undecided", "same trials"]
"""``same trials``: both sides of a comparison are the same trials, so nothing can be decided."""


@record
class ClaimedRange:
    """The range of the number in which the claim holds."""

    above: float | None = Field(default=None, description="it holds above this")
    below: float | None = Field(default=None, description="it holds below this")
    about_zero: float | None = Field(
        default=None,
        gt=0,
        description="it holds if the interval contains zero and reaches no farther than this to either side",
    )

    def __post_init__(self) -> None:
        bounds = self.above is not None or self.below is not None
        if bounds == (self.about_zero is not None):
            raise ValueError("`above`, `below` or both, or else `about_zero`")
        if self.above is not None and self.below is not None and self.above >= self.below:
            raise ValueError("less for `above` than for `below`")

    @property
    def words(self) -> str:
        """The region, in words."""
        if self.about_zero is not None:
            return f"not significantly off 0, and surely within ±{self.about_zero:g}"
        if self.above is None:
            return f"below {self.below:g}"
        return f"above {self.above:g}" if self.below is None else f"{self.above:g} to {self.below:g}"

    def verdict(self, estimate: Estimate) -> Verdict:
        """Decide by the interval.

        With ``above`` or ``below``, the claim holds if the whole interval is in the region, and does not hold if the
        whole interval is outside. With ``about_zero``, it holds if the interval contains zero and is in the region, and
        does not hold if the interval excludes zero. Otherwise, and without an interval, it is undecided.
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
    measure: Annotated[Measure, WrapValidator(read_measure)] = Field(description="the number that it is about")
    holds: ClaimedRange = Field(description="the region of that number in which the claim holds")

    def decide(self, evidence: Evidence, policy: str, is_control: bool = False) -> Decided:
        """Return the claim, decided by the trials of a policy."""
        measure = self.measure
        return Decided(self, policy, measure.estimate(evidence), measure.same_trials(evidence), is_control)


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
        control: whether no claim is made about the policy: it is the study's control, or named in ``beside``.
    """

    claim: Claim
    policy: str
    estimate: Estimate
    same_trials: bool = False
    control: bool = False

    @property
    def verdict(self) -> Verdict:
        """The verdict with this policy."""
        return "same trials" if self.same_trials else self.claim.holds.verdict(self.estimate)


def check_claims(claims: Collection[Claim], offered: Offered, source: str) -> None:
    """Refuse a claim that names something that the study does not have.

    Args:
        claims: of the file.
        offered: the names that claims may use.
        source: the file, for the error.

    Raises:
        ConfigurationError: the study lacks a strategy, a perturbation, a measure, a score, a family, a policy or the
            control that a claim names, or a score's range is not 0 to 1.
    """
    for claim in claims:
        key, measure = f"claims.{claim.id}.measure", claim.measure
        if measure.needs_control and not offered.control:
            raise ConfigurationError(
                source,
                f"{key}.less_control",
                True,
                "a study that has a `control`",
                "Name one of its policies as `control`, an oracle for example, or leave the claim out.",
            )
        for names, known, kind in measure.names(offered):
            for name in names:
                _check_known(source, key, name, known, kind)
        if measure.score not in ("metric", "success"):
            _check_known(source, f"{key}.score", measure.score, offered.scores, "score of the study")
            if not offered.scores[measure.score]:
                fitting = ", ".join(("metric", *(name for name, fits in offered.scores.items() if fits)))
                raise ConfigurationError(
                    source, f"{key}.score", measure.score, f"a score whose range is 0 to 1: {fitting}"
                )


def _check_known(source: str, key: str, name: str, known: Collection[str], kind: str) -> None:
    """Refuse a name that is not among the known ones."""
    if name not in known:
        raise ConfigurationError.unknown(source, key, name, known, kind)
