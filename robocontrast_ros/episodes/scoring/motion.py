"""How smoothly and how fast the robot moved, and how well it did what it was commanded: RoboLab's metrics (seed 002).

All but the tracking error are of the robot's path, in the plane or in space as the task counts paths, over the control
steps of the whole trial. Positions are taken at equal times, linearly interpolated if control steps were late or are
missing. Failed trials last to their step limit, so compare solved and failed trials apart.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocontrast_ros.domain import ScoreSpec
from robocontrast_ros.domain.products import dot, norm
from robocontrast_ros.episodes.scoring.joining import Sample
from robocontrast_ros.episodes.scoring.score import End, OfTrial, ScoredTrial

PADDING = 4
"""The spectrum of a speed has this many times the next power of two of points (seed 002)."""

CUT_OFF = 10.0
"""Frequency up to which the spectrum counts, at most half of the control rate [Hz] (seed 002)."""

AMPLITUDE = 0.05
"""The spectrum counts up to the last frequency with this share of its greatest amplitude (seed 002)."""

STILL = 1e-3
"""A robot that was never faster did not move [m/s]; our choice: the physics never rests to the last bit."""

NANOSECONDS = 1e9


def spectral_arc_length(speed: ArrayLike, rate: float) -> float:
    """Return SPARC, minus the length of the normalised amplitude spectrum of a speed (Balasubramanian et al. 2015).

    It has no dimension, and depends on neither the size of a motion nor, but for sampling, its duration. One smooth
    motion has about -1.4 to -1.6; the more negative, the rougher.

    Args:
        speed: at equal times, shape (n,) with n at least 1, not all 0; any unit.
        rate: number of times a second [Hz].
    """
    speed = np.asarray(speed, dtype=float)
    points = PADDING * 2 ** math.ceil(math.log2(len(speed)))
    spectrum = np.fft.rfft(speed, points)
    amplitude = norm(np.stack([spectrum.real, spectrum.imag], axis=-1))
    amplitude = amplitude / amplitude.max()
    frequency = np.arange(len(amplitude)) * (rate / points)
    amplitude = amplitude[frequency <= min(CUT_OFF, rate / 2.0)]
    amplitude = amplitude[: np.flatnonzero(amplitude >= AMPLITUDE)[-1] + 1]
    # The frequencies that count are brought to 0 to 1. The amplitude of a speed is greatest at 0 Hz.
    across = np.full(len(amplitude) - 1, 1.0 / (len(amplitude) - 1))
    return -math.fsum(norm(np.stack([across, np.diff(amplitude)], axis=-1)).tolist())


class OfMotion(OfTrial):
    """Base class of the scores of the path: NaN if there are too few control steps."""

    def __init__(self, trial: ScoredTrial) -> None:
        """Begin a trial."""
        super().__init__(trial)
        self._stamps: list[int] = []

    def update(self, sample: Sample) -> None:
        """Take one control step."""
        self._stamps.append(sample.stamp)

    def derivative(self, order: int) -> tuple[NDArray[np.float64], float]:
        """Return a derivative of the position, shape (n, 2 or 3) [m/s^order], and the time between two values [s].

        The position's differences are taken so often; without control steps enough, there is no value.
        """
        if len(self._stamps) <= order:
            return np.empty((0, 3)), math.nan
        # The path begins at the task's start position, whose stamp is not known.
        positions = np.asarray(self.trial.path.points[1:])
        times = (np.asarray(self._stamps) - self._stamps[0]) / NANOSECONDS
        period = float(times[-1]) / (len(times) - 1)
        even = np.arange(len(times)) * period
        positions = np.column_stack([np.interp(even, times, along) for along in positions.T])
        return np.diff(positions, n=order, axis=0) / period**order, period

    def speed(self) -> tuple[NDArray[np.float64], float]:
        """Return the speed, shape (n,) [m/s], and the time between two values [s]."""
        velocity, period = self.derivative(1)
        return norm(velocity), period


class Sparc(OfMotion):
    """SPARC of the speed; NaN if the robot did not move."""

    spec = ScoreSpec(
        name="sparc",
        symbol="SPARC",
        unit="",
        low=-math.inf,
        high=0.0,
        better="higher",
        live=False,
        source="robot path",
        description="spectral arc length of the speed; more negative is rougher",
    )

    def value(self, end: End) -> float:
        """Return SPARC of the path so far."""
        speed, period = self.speed()
        return spectral_arc_length(speed, 1.0 / period) if len(speed) and speed.max() > STILL else math.nan


class MeanSpeed(OfMotion):
    """Mean of the speed over the trial, rests included."""

    spec = ScoreSpec(
        name="mean_speed",
        symbol="mean speed",
        unit="m/s",
        low=0.0,
        high=math.inf,
        better="",
        live=False,
        source="robot path",
        description="mean speed, rests included",
    )

    def value(self, end: End) -> float:
        """Return the mean so far [m/s]."""
        speed, _ = self.speed()
        return math.fsum(speed.tolist()) / len(speed) if len(speed) else math.nan


class PeakSpeed(OfMotion):
    """Greatest speed from one control step to the next."""

    spec = ScoreSpec(
        name="peak_speed",
        symbol="peak speed",
        unit="m/s",
        low=0.0,
        high=math.inf,
        better="",
        live=False,
        source="robot path",
        description="greatest speed from one control step to the next",
    )

    def value(self, end: End) -> float:
        """Return the greatest speed so far [m/s]."""
        speed, _ = self.speed()
        return float(speed.max()) if len(speed) else math.nan


class SquaredJerk(OfMotion):
    """Integral of the squared jerk over the trial, not normalised: it grows with length, speed and control rate."""

    spec = ScoreSpec(
        name="squared_jerk",
        symbol="squared jerk",
        unit="m2/s5",
        low=0.0,
        high=math.inf,
        better="lower",
        live=False,
        source="robot path",
        description="integral of the squared jerk over time, not normalised",
    )

    def value(self, end: End) -> float:
        """Return the integral so far [m2/s5]."""
        jerk, period = self.derivative(3)
        return math.fsum(dot(jerk, jerk).tolist()) * period if len(jerk) else math.nan


class TrackingError(OfTrial):
    """Root mean square of the commanded less the measured joint positions, over an arm's joints and control steps.

    Each measurement is compared with the last command before it, which the robot should have carried out by then. What
    no command has named yet does not count, and neither does a gripper, which is kept from its target by what it holds.
    NaN before the first command, for a robot without joints, and if a number is not finite.
    """

    needs_joints = True
    spec = ScoreSpec(
        name="tracking_error",
        symbol="tracking error",
        unit="rad",
        low=0.0,
        high=math.inf,
        better="lower",
        live=True,
        source="joints, commands",
        description="root mean square of the differences of commanded and measured joint positions",
    )

    def __init__(self, trial: ScoredTrial) -> None:
        """Begin a trial."""
        super().__init__(trial)
        self._sum, self._count = 0.0, 0

    def update(self, sample: Sample) -> None:
        """Take one control step."""
        if sample.joints is None:
            return
        for commanded, measured in zip(sample.joints.commanded, sample.joints.measured, strict=True):
            if not math.isnan(commanded):
                self._sum += (commanded - measured) ** 2
                self._count += 1

    def value(self, end: End) -> float:
        """Return the error so far [rad]."""
        return math.sqrt(self._sum / self._count) if self._count and math.isfinite(self._sum) else math.nan


OF_MOTION = (Sparc, MeanSpeed, PeakSpeed, SquaredJerk, TrackingError)
"""In the order of tables."""
