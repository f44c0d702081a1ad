"""Loading of a session's scores: those of its task, and those that the session adds."""

from __future__ import annotations

from collections.abc import Sequence

from robocontrast_ros.configuration import ConfigurationError, load_plugin
from robocontrast_ros.domain import ScoreSpec
from robocontrast_ros.episodes.scoring.score import Score
from robocontrast_ros.episodes.scoring.standard import STANDARD, Success
from robocontrast_ros.tasks.protocol import Task


def load_scores(task: Task, further: Sequence[str], source: str, key: str = "scores") -> tuple[type[Score], ...]:
    """Return the scores of a session, in the order of tables: the task's, success among them, and further ones.

    Args:
        task: the task; one that names no ``scores`` has the standard ones.
        further: registered names, or ``module:Class``.
        source: the file that named those, for errors.
        key: the key in that file, for errors.

    Raises:
        ConfigurationError: a score is unknown, is no score, or has the name of another.
    """
    names = task.scores
    of_task = STANDARD if names is None else tuple(_load(name, f"task '{task.name}'", "scores") for name in names)
    scores = {score.spec.name: score for score in (*((Success,) if Success not in of_task else ()), *of_task)}
    for name in further:
        score = _load(name, source, key)
        if score.spec.name in scores:
            raise ConfigurationError(
                source, key, name, f"scores that the task does not have; it has {', '.join(scores)}", "Leave it out."
            )
        scores[score.spec.name] = score
    return tuple(scores.values())


def _load(name: str, source: str, key: str) -> type[Score]:
    score = load_plugin("scores", name, source, key)
    if not isinstance(getattr(score, "spec", None), ScoreSpec):
        raise ConfigurationError(
            source, key, name, "a score, whose `spec` is a `robocontrast_ros.domain.ScoreSpec`", "Give its class one."
        )
    return score
