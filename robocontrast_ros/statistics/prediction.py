"""The test set's mean from base and perturbed trials together, without the perturbed trials' bias."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from robocontrast_ros.statistics.clusters import UNIT, cluster_mean
from robocontrast_ros.statistics.estimate import CONFIDENCE, NO_ESTIMATE, Estimate

FEWEST = 8
"""Base instances below which nothing is fitted: the mean of the base trials is taken as it is."""

RIDGE = 1.0


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
    """Return the mean over the test set as its base trials and a prediction from all trials give it.

    Args:
        outcomes: scores in [0, 1] of base and perturbed trials, shape (n,).
        covariates: what is known of each trial before it is run, shape (n, p).
        clusters: the base instance of each trial, shape (n,).
        is_base: whether the trial is unperturbed, shape (n,).
        covariates_of_all: of each runnable instance of the test set X as a base trial, those that were run
            among them, shape (N, p).
        finite: whether the target is the mean over X itself; else it is that over the domain X was drawn from.
        confidence: of the interval.
    """
    y, x = np.asarray(outcomes, dtype=float), np.asarray(covariates, dtype=float)
    every, base = np.asarray(covariates_of_all, dtype=float), np.asarray(is_base, dtype=bool)
    if not base.any():
        return NO_ESTIMATE
    _, group = np.unique(np.asarray(clusters), return_inverse=True)
    run = np.unique(group[base])
    of_base = np.bincount(group[base])[run]
    scores = np.bincount(group[base], y[base])[run] / of_base
    n, total = len(run), len(every)
    unseen = max(0.0, 1.0 - n / total)
    weight, reach, difference = 0.0, 1.0, 0.0
    prediction = np.zeros(n)
    if n >= FEWEST and unseen:
        own = np.array([x[base & (group == g)].mean(axis=0) for g in run])
        models = [_fit(x[group != g], y[group != g]) for g in run]
        prediction = np.array([_predict(m, o) for m, o in zip(models, own, strict=True)])
        mean_model = np.mean(models, axis=0)
        rest = (_predict(mean_model, every).sum() - _predict(mean_model, own).sum()) / (total - n)
        spread = np.var(prediction)
        if spread > 0.0:
            weight = float(np.clip(np.cov(scores, prediction, bias=True)[0, 1] / spread, 0.0, 1.0))
        difference = unseen * (rest - prediction.mean())
    if weight == 0.0 and not finite:
        return cluster_mean(scores, np.arange(n), confidence)
    mean = scores.mean() + weight * difference
    if n < 2:
        return Estimate(float(mean))
    left = np.var(scores - weight * prediction, ddof=2 if weight else 1)
    variance = unseen * left / n + (0.0 if finite else (1.0 - unseen) * np.var(scores, ddof=1) / n)
    reach = stats.t.ppf(0.5 + confidence / 2, n - (2 if weight else 1)) * np.sqrt(variance)
    return Estimate(
        float(np.clip(mean, *UNIT)), float(max(UNIT[0], mean - reach)), float(min(UNIT[1], mean + reach))
    )


def _fit(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    centre, level = x.mean(axis=0), y.mean()
    gram = (x - centre).T @ (x - centre) + RIDGE * np.eye(x.shape[1])
    slope = np.linalg.solve(gram, (x - centre).T @ (y - level))
    return np.append(level - centre @ slope, slope)


def _predict(model: NDArray[np.float64], x: NDArray[np.float64]) -> NDArray[np.float64]:
    return model[0] + x @ model[1:]
