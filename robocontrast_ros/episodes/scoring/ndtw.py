"""Normalised dynamic time warping between the robot's path and the reference path (Ilharco et al. 2019)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocontrast_ros.domain import ScoreSpec
from robocontrast_ros.domain.products import norm
from robocontrast_ros.episodes.scoring.score import End, OfTrial, ScoredTrial
from robocontrast_ros.tasks.protocol import StagedGoal

SPACING = 0.25
"""Distance between the points of a resampled path [m], the step forward of VLN-CE (Krantz et al. 2020)."""

ROUNDING = 1e-9
"""A path whose length is a whole number of spacings keeps that number in spite of rounding."""


def resampled(path: ArrayLike, spacing: float = SPACING) -> NDArray[np.float64]:
    """Return points at equal distances along a path, its two ends among them.

    Args:
        path: corners, shape (n, d) with n at least 1, in the plane or in space [m].
        spacing: the greatest distance along the path between two points [m].

    Returns:
        Points, shape (m, d) [m]; one if the path has no length.
    """
    corners = np.asarray(path, dtype=float)
    along = np.concatenate([[0.0], np.cumsum(norm(np.diff(corners, axis=0)))])
    pieces = math.ceil(along[-1] / spacing - ROUNDING)
    wanted = along[-1] * np.arange(pieces + 1) / max(pieces, 1)
    return np.column_stack([np.interp(wanted, along, corners[:, axis]) for axis in range(corners.shape[1])])


def dynamic_time_warping(a: ArrayLike, b: ArrayLike) -> float:
    """Return the least sum of distances over all ways to walk both series to their ends, never back [m].

    Args:
        a: points, shape (n, d) with n at least 1 [m].
        b: points, shape (m, d) with m at least 1 [m].
    """
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    distances = norm(a[:, None] - b[None]).tolist()
    before = [0.0] + [math.inf] * len(b)
    for row in distances:
        present = [math.inf]
        for column, distance in enumerate(row):
            present.append(distance + min(before[column], before[column + 1], present[column]))
        before = present
    return before[-1]


def normalised_dtw(
    path: Sequence[tuple[float, ...]], reference: Sequence[tuple[float, ...]], threshold: float
) -> float:
    """Return nDTW = exp(-DTW(R, Q) / (|R| d_th)), in [0, 1].

    Both paths are resampled to ``SPACING`` first, so that neither the control rate nor waiting counts:
    1 for the reference path itself, however finely it was sampled.

    Args:
        path: Q, the robot's positions in order, at least one [m].
        reference: R, the corners of the reference path, at least one [m].
        threshold: d_th, the distance at which a point counts as reached [m].

    Raises:
        ValueError: the threshold is no positive number.
    """
    if not (math.isfinite(threshold) and threshold > 0.0):
        raise ValueError(f"threshold of nDTW: got {threshold}, expected a number above 0 m")
    wanted = resampled(reference)
    return math.exp(-dynamic_time_warping(wanted, resampled(path)) / (len(wanted) * threshold))


class NormalisedDtw(OfTrial):
    """nDTW of the whole path; NaN for plain goals, and without a reference path."""

    spec = ScoreSpec(
        name="ndtw",
        symbol="nDTW",
        unit="",
        low=0.0,
        high=1.0,
        better="higher",
        live=False,
        source="robot path",
        description="nDTW between the robot's path and the reference path",
    )

    def __init__(self, trial: ScoredTrial) -> None:
        """Begin a trial; a reach that is no valid threshold is refused before it."""
        super().__init__(trial)
        self._reference = trial.instance.reference_path
        self._threshold = math.nan
        if self._reference and isinstance(trial.goal, StagedGoal):
            self._threshold = trial.goal.reach
            normalised_dtw(self._reference[:1], self._reference[:1], self._threshold)

    def value(self, end: End) -> float:
        """Return nDTW of the path so far."""
        if math.isnan(self._threshold):
            return math.nan
        return normalised_dtw(self.trial.path.points, self._reference, self._threshold)
