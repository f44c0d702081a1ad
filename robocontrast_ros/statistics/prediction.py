"""The test set's mean from base and perturbed trials together, without the perturbed trials' bias.

A prediction-powered estimate (Angelopoulos et al. 2023), power-tuned (Angelopoulos, Duchi and Zrnic 2023, PPI++) and
cross-fitted (Zrnic and Candès 2024); survey statisticians call it the difference estimator. A regression g of the score
on the known properties of a trial is fitted to base and perturbed trials, and corrected by base trials:

    mean = mean of y over R + w (1 - n/N) (mean of g over the rest of X - mean of g over R)

with R the n base instances that were run, X the test set of N and w a weight from 0 to 1. As R is a random sample of X,
both means of g agree in expectation for any g, so a wrong g makes the estimate wider, not wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocontrast_ros.statistics.clusters import UNIT, relative_spread, wilson_ends
from robocontrast_ros.statistics.estimate import CONFIDENCE, NO_ESTIMATE, Estimate

FEWEST = 8
"""With fewer base instances nothing is predicted: the estimate is the mean of the base trials."""

RIDGE = 3.0
"""Penalty on standardised slopes, in trials."""


@dataclass(frozen=True, eq=False)
class _Sample:
    """The base instances that were run, and predictions for them and for the rest.

    Attributes:
        scores: mean score of each instance's base trials, shape (n,).
        predictions: prediction for each, by a regression fitted without it, shape (n,).
        rest: mean prediction for the instances that were not run.
    """

    scores: NDArray[np.float64]
    predictions: NDArray[np.float64]
    rest: float


def adjusted_mean(
    outcomes: ArrayLike,
    covariates: ArrayLike,
    clusters: ArrayLike,
    is_base: ArrayLike,
    covariates_of_all: ArrayLike,
    *,
    finite: bool,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Return the mean over the test set, estimated from its base trials and a prediction from all trials.

    The base instances that were run have to be a random sample of the test set, as the first ones of a shuffled
    order are.

    Args:
        outcomes: scores in [0, 1] of base and perturbed trials, shape (n,).
        covariates: known properties of each trial before it is run, shape (n, p).
        clusters: the base instance of each trial, shape (n,).
        is_base: whether the trial is unperturbed, shape (n,).
        covariates_of_all: those of each runnable instance of the test set X as a base trial, also of those that were
            run, shape (N, p).
        finite: whether the target is the mean over X itself, whose score is known once all of X was run; else it is
            that over the domain of X.
        confidence: confidence level of the interval.

    Returns:
        The mean of the base trials if nothing can be predicted (fewer than 8 instances, or all of X were run), or if
        the prediction is of no use. Without interval if one instance was run of more.

    Raises:
        ValueError: more base instances were run than X has.
    """
    y, base = np.asarray(outcomes, dtype=float), np.asarray(is_base, dtype=bool)
    x, every = np.asarray(covariates, dtype=float), np.asarray(covariates_of_all, dtype=float)
    if not base.any():
        return NO_ESTIMATE
    _, group = np.unique(np.asarray(clusters), return_inverse=True)
    n, total = len(np.unique(group[base])), len(every)
    if n > total:
        raise ValueError(f"covariates_of_all: got {total} instances, expected at least the {n} that were run")
    unseen = 1.0 - n / total
    sample = _predict(y, x, group, base, every)
    known = float(np.clip(np.mean(sample.scores), *UNIT))
    weight = _weight(sample)
    # A score for the unseen instances from each run instance; their mean is the estimate for the unseen.
    implied = sample.scores + weight * (sample.rest - sample.predictions)
    rest = float(np.clip(np.mean(implied), *UNIT))
    mean = (1.0 - unseen) * known + unseen * rest
    if finite and n == total:
        return Estimate(mean, mean, mean)
    if n < 2:
        return Estimate(mean)
    spread, size = np.var(implied, ddof=2 if weight else 1), float(n)
    least, most = UNIT
    if finite:
        # Finite-population correction: the run part of X is known, so that only the rest is uncertain.
        size /= unseen
        least, most = (1.0 - unseen) * known, (1.0 - unseen) * known + unseen
    else:
        spread = unseen * spread + (1.0 - unseen) * np.var(sample.scores, ddof=1)
    # As in `clusters.effective_size`, with one value an instance.
    size = size / relative_spread(mean, spread, spread / n, 1.0 / n)
    low, high = map(float, wilson_ends(mean, size, confidence))
    return Estimate(mean, min(mean, max(least, low)), max(mean, min(most, high)))


def _predict(
    y: NDArray[np.float64],
    x: NDArray[np.float64],
    group: NDArray[np.int64],
    base: NDArray[np.bool_],
    every: NDArray[np.float64],
) -> _Sample:
    """Fit a ridge regression without each base instance in turn, and predict that instance and the rest."""
    run, position = np.unique(group[base], return_inverse=True)
    times = np.bincount(position)
    scores = np.bincount(position, y[base]) / times
    if len(run) < FEWEST or len(run) == len(every):
        return _Sample(scores, np.zeros(len(run)), 0.0)
    scale = np.std(x, axis=0)
    used = scale > 1e-9
    x, every = (np.column_stack([np.ones(len(a)), a[:, used] / scale[used]]) for a in (x, every))
    # Sums over each cluster; a fit without one is made from the sums of all minus its own.
    products = _grouped(x[:, :, None] * x[:, None, :], group)
    moments = _grouped(x * y[:, None], group)
    penalty = RIDGE * np.eye(x.shape[1])
    penalty[0, 0] = 0.0
    models = np.linalg.solve(
        products.sum(axis=0) - products[run] + penalty, (moments.sum(axis=0) - moments[run])[:, :, None]
    )[:, :, 0]
    own = _grouped(x[base], position) / times[:, None]
    predictions = np.sum(models * own, axis=1)
    model = models.mean(axis=0)
    rest = (every.sum(axis=0) - own.sum(axis=0)) @ model / (len(every) - len(run))
    return _Sample(scores, predictions, float(rest))


def _grouped(values: NDArray[np.float64], group: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the sums over each group, shape (groups, ...), of values, shape (n, ...); no group is empty."""
    order = np.argsort(group, kind="stable")
    return np.add.reduceat(values[order], np.searchsorted(group[order], np.arange(group.max() + 1)), axis=0)


def _weight(sample: _Sample) -> float:
    """Return the weight of the predictions that makes the estimate's variance least, in [0, 1]."""
    spread = np.var(sample.predictions)
    if spread <= 1e-12:
        return 0.0
    covariance = np.mean((sample.scores - sample.scores.mean()) * sample.predictions)
    weight = float(np.clip(covariance / spread, 0.0, 1.0))
    # The weight is one more fitted number; it is dropped if the variance does not become less.
    left = np.var(sample.scores - weight * sample.predictions, ddof=2)
    return weight if left < np.var(sample.scores, ddof=1) else 0.0
