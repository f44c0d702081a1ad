"""Whether a session that is resumed is still the one in its journal: parameters, policy, trials."""

from __future__ import annotations

from dataclasses import replace

import yaml
from pydantic_core import to_json

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.configuration.differences import first_difference
from robocontrast_ros.domain import Trial
from robocontrast_ros.episodes.bench import ServingPolicy
from robocontrast_ros.runs.events import PolicyLoaded
from robocontrast_ros.runs.journal import Journal, JournalError
from robocontrast_ros.sessions.evaluation import Evaluation

CURE = "Set it back to resume the session, or start a new one."


def refuse_other_parameters(past: Journal, evaluation: Evaluation) -> None:
    """Raise ConfigurationError, naming the key, when the session was started with other parameters."""
    started = past.started
    if started is None or started.digest == evaluation.digest:
        return
    key, recorded, present = first_difference(started.parameters, evaluation.parameters)
    expected = f"{recorded!r}, with which the session was started"
    raise ConfigurationError(str(past.path), key, present, expected, CURE)


def refuse_other_policy(served: PolicyLoaded, present: ServingPolicy) -> None:
    """Raise ConfigurationError, naming the key, when the policy's file has changed since the policy served."""
    if present.digest == served.digest:
        return
    key, recorded, now = first_difference(yaml.safe_load(served.parameters), yaml.safe_load(present.parameters))
    expected = f"{recorded!r}, with which it served last in this session"
    raise ConfigurationError(served.file, key, now, expected, CURE)


def refuse_other_trial(recorded: Trial, proposed: Trial) -> None:
    """Raise JournalError when the strategy does not propose the trial that the journal has."""
    if recorded.block < 0:
        # The journal was begun by a version that did not write twin and block.
        proposed = replace(proposed, twin=recorded.twin, block=recorded.block)
    if _as_written(recorded) != _as_written(proposed):
        raise JournalError(
            f"trial {recorded.trial_id}: the journal has {_in_words(recorded)}, this evaluation proposes "
            f"{_in_words(proposed)}, or the same from another start: the software has changed since. "
            "Resume with the versions that the journal's first line names, or start a new session."
        )


def _as_written(trial: Trial) -> bytes:
    return to_json(trial, inf_nan_mode="strings", bytes_mode="base64")


def _in_words(trial: Trial) -> str:
    return f"{trial.perturbation} of {trial.base_id} '{trial.instance.instruction.text}'"
