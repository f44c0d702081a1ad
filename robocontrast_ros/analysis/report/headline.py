"""The estimates of a run, and which of them stands on top of its page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from robocontrast_ros.analysis.estimates.summary import ALL, Summary
from robocontrast_ros.analysis.estimates.test_set import (
    ADJUSTED,
    ADJUSTED_BIAS,
    ALL_TRIALS,
    BASE_BIAS,
    BASE_TRIALS,
    PLAIN_BIAS,
)
from robocontrast_ros.statistics.estimate import Estimate

THE_DOMAIN = "the mean over all that the test set was drawn from"
THE_TEST_SET = "the mean over the instances of the test set alone"


@dataclass(frozen=True)
class Estimator:
    """One way to the test set's mean.

    Attributes:
        policy: whose.
        name: of the estimator.
        estimate: what it says.
        target: of what, in words.
        words: what it is biased by.
        exact: what stands in the place of the interval where the whole test set was run; else empty.
    """

    policy: str
    name: str
    estimate: Estimate
    target: str
    words: str
    exact: str = ""


@dataclass(frozen=True)
class Headline:
    """The number that stands on top.

    Attributes:
        policy: whose.
        estimator: name of the estimator.
        estimate: what it says.
        target: of what, in words.
        trials: that count.
        instances: test instances among them.
    """

    policy: str
    estimator: str
    estimate: Estimate
    target: str
    trials: int
    instances: int


def estimators_of(summary: Summary) -> Iterable[Estimator]:
    """Return every estimate that there is; of each policy, the one that its headline shows first."""
    for policy, found in summary.estimates.items():
        for name, estimate, target, words in (
            (ADJUSTED, found.adjusted_of_domain, THE_DOMAIN, ADJUSTED_BIAS),
            (BASE_TRIALS, found.base, THE_DOMAIN, BASE_BIAS),
            (ALL_TRIALS, found.plain, "the mean over such trials", PLAIN_BIAS),
            (ADJUSTED, found.adjusted, THE_TEST_SET, ADJUSTED_BIAS),
            (BASE_TRIALS, found.base_of_test_set, THE_TEST_SET, BASE_BIAS),
        ):
            if estimate is not None and estimate.mean is not None:
                exact = found.no_sampling_error if target == THE_TEST_SET else ""
                yield Estimator(policy, name, estimate, target, words, exact)


def headlines_of(summary: Summary) -> Iterable[Headline]:
    """Return, for each policy, the estimator that is unbiased and takes most from the trials: the first there is."""
    estimators = tuple(estimators_of(summary))
    for policy in summary.policies:
        first = next((one for one in estimators if one.policy == policy), None)
        if first is not None:
            row = summary.row(ALL, policy)
            yield Headline(policy, first.name, first.estimate, first.target, row.trials, row.instances)
