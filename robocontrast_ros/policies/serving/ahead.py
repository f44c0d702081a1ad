"""A policy that is loaded before its session begins, in the process that will serve it."""

from __future__ import annotations

import threading
from concurrent.futures import Future

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.policies.serving.runner import Loading, PolicyRunner

Answer = Future[PolicyDescription | ConfigurationError]

_loaded: dict[Loading, Future[PolicyRunner]] = {}
"""The policies that are, or were, loaded ahead in this process and serve nobody yet."""


def load_ahead(loading: Loading) -> Answer:
    """Begin to load a policy for ``loaded``; the answer is its description, or the error if it cannot be loaded.

    One that has a thread of its own is loaded while this process goes on.
    """
    runner: Future[PolicyRunner] = Future()
    answer: Answer = Future()
    _loaded[loading] = runner
    if loading.own_thread:
        threading.Thread(target=_load, args=(loading, runner, answer), daemon=True).start()
    else:
        _load(loading, runner, answer)
    return answer


def _load(loading: Loading, runner: Future[PolicyRunner], answer: Answer) -> None:
    try:
        found = PolicyRunner(*loading)
    except BaseException as error:
        runner.set_exception(error)
        if not isinstance(error, ConfigurationError):
            answer.set_exception(error)
            raise
        answer.set_result(error)
    else:
        runner.set_result(found)
        answer.set_result(found.description)


def loaded(loading: Loading) -> PolicyRunner:
    """Return the policy that was loaded ahead with these arguments, once it is loaded; without one, load it now.

    Raises:
        ConfigurationError: it cannot be loaded.
    """
    ahead = _loaded.pop(loading, None)
    return PolicyRunner(*loading) if ahead is None else ahead.result()
