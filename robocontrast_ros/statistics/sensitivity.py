"""Which conditions successes have: the posterior of a drawn condition given success (seed 002, sensitivity).

The posterior over the prior is p(condition | success) / p(condition) = p(success | condition) / p(success): where it is
above 1, the condition is more frequent among successes than it was drawn. The prior is the distribution of the trials,
uniform or not. Three estimators: ``binned`` and ``splines`` have intervals in which whole clusters are independent;
``neural`` is the paper's, from the package sbi, and has none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from scipy.interpolate import CubicSpline

from robocontrast_ros.statistics.clusters import cluster_mean, student_quantile
from robocontrast_ros.statistics.estimate import CONFIDENCE, NO_ESTIMATE, Estimate

KNOTS = 4
"""Knots of the spline, at equally spaced quantiles of the condition, the first and the last at its ends."""

RIDGE = 0.1
"""Weight by which the logits at the knots are pulled to their mean: a normal prior of standard deviation 3.2 about it.

It keeps them finite where all trials at one end succeed, or none.
"""

STEPS, LONGEST, CONVERGED = 100, 5.0, 1e-10
"""Most steps of Newton's method, the greatest change of a logit in one, and the change that ends it."""

SAMPLES = 10_000
"""Draws from the neural posterior."""


@dataclass(frozen=True)
class Curve:
    """A fit over the whole range of a condition.

    Attributes:
        at: values of the condition.
        success: probability of success at each.
        ratio: posterior over prior at each; empty estimates if no trial succeeded.
    """

    at: tuple[float, ...]
    success: tuple[Estimate, ...]
    ratio: tuple[Estimate, ...]


def quantile_bins(condition: ArrayLike, bins: int) -> NDArray[np.float64]:
    """Return the edges of at most so many bins with about equally many values each, shape (bins + 1 or less,).

    Args:
        condition: shape (n,), with at least one value.
        bins: their number.
    """
    return np.unique(np.quantile(np.asarray(condition, dtype=float), np.linspace(0.0, 1.0, bins + 1)))


def bin_of(condition: ArrayLike, edges: ArrayLike) -> NDArray[np.int64]:
    """Return the bin of each value, from 0; what equals an inner edge belongs to the bin above it."""
    inner = np.asarray(edges, dtype=float)[1:-1]
    return np.searchsorted(inner, np.asarray(condition, dtype=float), side="right")


def binned(group: ArrayLike, successes: ArrayLike, clusters: ArrayLike) -> dict[int | str, tuple[Estimate, Estimate]]:
    """Return group of trials, such as a bin -> its share of successes, and its posterior over its prior.

    With p the share in the group, q that in all other trials, and w the group's share of the trials, the ratio is
    k / (w k + 1 - w), where k = p / q. The interval is that of k (MOVER: Donner and Zou 2012) from those of p and q
    (``clusters.cluster_mean``), which are taken as independent: it is conservative where clusters are in both. A
    bootstrap has no width in a group without successes.

    Args:
        group: label of each trial, shape (n,).
        successes: 0 or 1, shape (n,).
        clusters: the base instance of each trial, shape (n,).
    """
    labels, y, cluster = np.asarray(group), np.asarray(successes, dtype=float), np.asarray(clusters)
    found = {}
    for label in np.unique(labels).tolist():
        inside = labels == label
        p, q = (cluster_mean(y[which], cluster[which]) for which in (inside, ~inside))
        found[label] = p, _ratio(p, q, float(inside.mean()), float(y.mean()))
    return found


def _ratio(p: Estimate, q: Estimate, share: float, mean: float) -> Estimate:
    """Return the ratio p / (w p + (1 - w) q); it is 1 / w where q is 0."""
    if mean == 0.0 or p.mean is None:
        return NO_ESTIMATE
    if q.mean is None or None in (p.low, p.high, q.low, q.high):
        return Estimate(p.mean / mean)
    product, found = p.mean * q.mean, [p.mean / mean]
    for this, other, upper in ((p.low, q.high, False), (p.high, q.low, True)):
        own, opposite = this * (2.0 * p.mean - this), other * (2.0 * q.mean - other)
        root = product + math.sqrt(max(product**2 - own * opposite, 0.0))
        above, below = (root, opposite) if upper else (own, root)
        # Without a success at an end of p or q, the ratio is at one of its own ends.
        found.append(above / (share * above + (1.0 - share) * below) if above > 0.0 else 0.0)
    return Estimate(found[0], min(found[:2]), max(found[0], found[2]))


def splines(
    condition: ArrayLike,
    successes: ArrayLike,
    clusters: ArrayLike,
    at: ArrayLike,
    confidence: float = CONFIDENCE,
) -> Curve:
    """Return success and posterior over prior along a condition: a logistic regression on a natural cubic spline.

    Its parameters are the logits at ``KNOTS`` knots, with ``RIDGE``. The interval is Student's, on the scales of the
    logit and of the ratio's logarithm, with the variance of leaving out one cluster at a time (one step of Newton's
    method each), and one degree of freedom less than clusters.

    Args:
        condition: shape (n,).
        successes: 0 or 1, shape (n,).
        clusters: the base instance of each trial, shape (n,).
        at: where the curve is wanted, within the range of the condition, shape (m,).
        confidence: confidence level of the intervals, each for one place.

    Raises:
        ValueError: the condition has one value alone.
    """
    x, y, where = (np.asarray(each, dtype=float) for each in (condition, successes, at))
    knots = quantile_bins(x, KNOTS - 1)
    if len(knots) < 2:
        raise ValueError("condition: got one value alone, expected two or more")
    places, mean = tuple(where.tolist()), float(y.mean())
    if not 0.0 < mean < 1.0:
        ratio = Estimate(1.0) if mean else NO_ESTIMATE
        return Curve(places, (Estimate(mean),) * len(where), (ratio,) * len(where))
    basis = CubicSpline(knots, np.eye(len(knots)), bc_type="natural")
    rows, wanted = basis(x), basis(where)
    pull = RIDGE * (np.eye(len(knots)) - 1.0 / len(knots))
    logits = np.full(len(knots), special.logit(mean))
    for _ in range(STEPS):
        p = special.expit(rows @ logits)
        hessian = rows.T @ ((p * (1.0 - p))[:, None] * rows) + pull
        step = np.linalg.solve(hessian, rows.T @ (y - p) - pull @ logits)
        logits = logits + step * min(1.0, LONGEST / np.abs(step).max(initial=LONGEST))
        if np.abs(step).max() < CONVERGED:
            break
    _, group = np.unique(np.asarray(clusters), return_inverse=True)
    sizes, sums = np.bincount(group), np.bincount(group, y)
    scores, hessians = np.zeros((len(sizes), len(knots))), np.zeros((len(sizes), len(knots), len(knots)))
    np.add.at(scores, group, (y - p)[:, None] * rows)
    np.add.at(hessians, group, (p * (1.0 - p))[:, None, None] * rows[:, :, None] * rows[:, None, :])
    left = logits - np.linalg.solve(hessian - hessians, scores[:, :, None])[:, :, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        means = (sums.sum() - sums) / (sizes.sum() - sizes)
        ratios = np.log(special.expit(wanted @ left.T) / means)
    centre = wanted @ logits
    return Curve(
        places,
        _estimates(centre, wanted @ left.T, special.expit, confidence),
        _estimates(np.log(special.expit(centre) / mean), ratios, np.exp, confidence),
    )


def _estimates(
    centre: NDArray[np.float64],
    left: NDArray[np.float64],
    back: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    confidence: float,
) -> tuple[Estimate, ...]:
    """Return estimates with Student's intervals.

    Args:
        centre: the estimates on the scale of the interval, shape (m,).
        left: the same without each cluster, shape (m, clusters).
        back: brings both to the scale of the estimates.
        confidence: confidence level.
    """
    number = left.shape[1]
    with np.errstate(invalid="ignore"):
        error = np.sqrt((number - 1.0) / number * np.sum((left - centre[:, None]) ** 2, axis=1))
    if number < 2 or not np.isfinite(error).all():
        return tuple(Estimate(mean) for mean in back(centre).tolist())
    reach = student_quantile(0.5 + confidence / 2.0, number - 1.0) * error
    ends = (back(each).tolist() for each in (centre, centre - reach, centre + reach))
    return tuple(Estimate(*each) for each in zip(*ends, strict=True))


def neural(condition: ArrayLike, successes: ArrayLike, edges: ArrayLike, seed: int) -> NDArray[np.float64]:
    """Return posterior over prior in each bin by neural posterior estimation (package sbi: NPE, a spline flow).

    One condition is estimated at a time. Of one that is drawn among names, the share of each name is the posterior
    already (``binned``), so that the paper's mixed estimator (MNPE) has nothing to add.

    Args:
        condition: shape (n,).
        successes: 0 or 1, shape (n,), with at least one success.
        edges: of the bins, shape (bins + 1,); the range of the condition.
        seed: of training and draws.

    Returns:
        Shape (bins,).

    Raises:
        ImportError: sbi is not installed.
    """
    import torch
    from sbi.inference import NPE
    from sbi.utils import BoxUniform
    from sbi.utils.tracking import TensorBoardTracker
    from torch.utils.tensorboard import SummaryWriter

    x, ends = np.asarray(condition, dtype=float), np.asarray(edges, dtype=float)
    # A scale of 1, whatever the unit, which the flow and its prior are made for.
    drawn, seen = (
        torch.as_tensor(each[:, None], dtype=torch.float32)
        for each in ((x - ends[0]) / (ends[-1] - ends[0]), np.asarray(successes, dtype=float))
    )
    # It would write its progress into the working directory.
    with torch.random.fork_rng(), redirect_stdout(StringIO()), TemporaryDirectory() as log:
        torch.manual_seed(seed)
        prior = BoxUniform(torch.zeros(1), torch.ones(1))
        progress = SummaryWriter(log)
        inference = NPE(prior, density_estimator="nsf", tracker=TensorBoardTracker(progress), show_progress_bars=False)
        inference.append_simulations(drawn, seen).train()
        progress.close()
        posterior = inference.build_posterior()
        samples = posterior.sample((SAMPLES,), x=torch.ones(1), show_progress_bars=False).numpy()[:, 0]
    bins = len(ends) - 1
    values = (bin_of(ends[0] + samples * (ends[-1] - ends[0]), ends), bin_of(x, ends))
    after, before = (np.bincount(each, minlength=bins) / len(each) for each in values)
    return after / before
