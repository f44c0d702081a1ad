"""A run in the local store of Trackio, the logger of LeRobot: the scores of each trial, and the means at the end."""

from __future__ import annotations

import os
from pathlib import Path

from robocontrast_ros.analysis.estimates.results import Results
from robocontrast_ros.configuration import ConfigurationError

FOLDER = "TRACKIO_DIR"
"""Trackio's variable for its store; it reads it when it is imported."""


def write_trackio(results: Results, to: Path | None) -> str:
    """Write a run into a project with the session's name; return that name.

    A step is a trial that counts, in order; `success/SB1` … are those of one perturbation. The last step has the mean
    of each score and perturbation with the ends of its 95 % interval.

    Args:
        results: the run's results.
        to: folder of Trackio's store; None for Trackio's own.

    Raises:
        ConfigurationError: the package is not installed.
    """
    if to is not None:
        os.environ[FOLDER] = str(to)
    try:
        import trackio
    except ImportError as error:
        raise ConfigurationError.not_installed("--format", "trackio", "trackio", "trackio", error) from None
    summary = results.summary
    config = {name: getattr(summary, name) for name in ("policy", "robot", "strategy", "seed", "metric")}
    trackio.init(summary.session, name=results.run.name, config=config, embed=False)
    trials = results.trials.filter(results.trials["counts"])
    for step, trial in enumerate(trials.iter_rows(named=True)):
        scores = {spec.name: trial[spec.column] for spec in summary.scores if trial[spec.column] is not None}
        of_perturbation = {f"{name}/{trial['perturbation']}": value for name, value in scores.items()}
        trackio.log({key: float(value) for key, value in {**scores, **of_perturbation}.items()}, step=step)
    means = {
        f"{end}/{name}/{row.perturbation}": value
        for row in summary.rows
        for name, estimate in row.scores.items()
        for end, value in (("mean", estimate.mean), ("low", estimate.low), ("high", estimate.high))
        if value is not None
    }
    trackio.log(means, step=len(trials))
    trackio.finish()
    return summary.session
