"""A policy that is loaded before the session that it serves is begun, in the process that serves it then."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.policies.protocol import PolicyDescription

if TYPE_CHECKING:
    from robocontrast_ros.policies.serving.runner import PolicyRunner


class Loading(NamedTuple):
    """How a policy is loaded: the arguments of ``PolicyRunner``."""

    path: Path
    timeout: float
    load_timeout: float
    own_thread: bool
    answer_time: float
    located: bool


_loaded: dict[Loading, PolicyRunner] = {}
"""What was loaded ahead in this process, and serves nobody yet."""


def load_ahead(loading: Loading) -> PolicyDescription | ConfigurationError:
    """Load a policy, keep it for ``loaded``, and return what it needs, or why it cannot be loaded."""
    try:
        runner = loaded(loading)
    except ConfigurationError as error:
        return error
    _loaded[loading] = runner
    return runner.description


def loaded(loading: Loading) -> PolicyRunner:
    """Return the policy that was loaded ahead; load it now where none was, or otherwise.

    Raises:
        ConfigurationError: it cannot be loaded.
    """
    from robocontrast_ros.policies.serving.runner import PolicyRunner

    return _loaded.pop(loading, None) or PolicyRunner(*loading)
