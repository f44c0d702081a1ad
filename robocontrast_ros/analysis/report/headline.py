"""The estimates of a run, and the one that is the headline of its page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from robocontrast_ros.analysis.estimates.summary import ALL, Summary
from robocontrast_ros.analysis.estimates.test_set import ADJUSTED, ALL_TRIALS, BASE_TRIALS
from robocontrast_ros.statistics.estimate import Estimate

THE_DOMAIN = "the mean over the domain that the test set was drawn from"
THE_TEST_SET = "the mean over the instances of the test set"


@dataclass(frozen=True)
class Estimator:
    """One estimate of the test set's mean.

    Attributes:
        policy: name of the policy.
        name: name of the estimator.
        estimate: its value.
        target: the mean that it estimates, in words.
        exact: words in place of the interval if the whole test set was run; else empty.
    """

    policy: str
    name: str
    estimate: Estimate
    target: str
    exact: str = ""


@dataclass(frozen=True)
class Headline:
    """The number at the top of the page.

    Attributes:
        policy: name of the policy.
        estimator: name of the estimator.
        estimate: its value.
        target: the mean that it estimates, in words.
        trials: number of the policy's trials that count.
        instances: test instances among them.
    """

    policy: str
    estimator: str
    estimate: Estimate
    target: str
    trials: int
    instances: int


def estimators_of(summary: Summary) -> Iterable[Estimator]:
    """Return every estimate that has a value; of each policy, the one of its headline first."""
    for policy, found in summary.estimates.items():
        for name, estimate, target in (
            (ADJUSTED, found.adjusted_of_domain, THE_DOMAIN),
            (BASE_TRIALS, found.base, THE_DOMAIN),
            (ALL_TRIALS, found.plain, "the mean over base and perturbed trials"),
            (ADJUSTED, found.adjusted, THE_TEST_SET),
            (BASE_TRIALS, found.base_of_test_set, THE_TEST_SET),
        ):
            if estimate is not None and estimate.mean is not None:
                exact = found.no_sampling_error if target == THE_TEST_SET else ""
                yield Estimator(policy, name, estimate, target, exact)


def headlines_of(summary: Summary) -> Iterable[Headline]:
    """Return the headline of each policy: its first estimate, which is unbiased if it can be, and uses most trials."""
    estimators = tuple(estimators_of(summary))
    for policy in summary.policies:
        first = next((one for one in estimators if one.policy == policy), None)
        if first is not None:
            row = summary.row(ALL, policy)
            yield Headline(policy, first.name, first.estimate, first.target, row.trials, row.instances)
