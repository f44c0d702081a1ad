"""Run a policy so that whatever it does is answered in time and named: the core of the policy server."""

from __future__ import annotations

import hashlib
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.configuration import load_configured
from robocontrast_ros.domain import Fault, Observed
from robocontrast_ros.policies.protocol import Observation, PolicyDescription, PolicyFault

Result = TypeVar("Result")


@dataclass(frozen=True)
class Answer:
    """What a policy answered.

    Attributes:
        actions: shape (n, action_size), finite.
        latency: time the policy itself took [s].
        observed: what it received, in the first answer after a reset; else empty.
    """

    actions: NDArray[np.float64]
    latency: float
    observed: Observed


class PolicyRunner:
    """Holds one policy, calls it on a thread of its own, and checks what it answers.

    A call that does not come back in time leaves its thread behind; the next reset loads the policy
    afresh, since the stuck one can be trusted with nothing.
    """

    def __init__(self, path: Path, timeout: float) -> None:
        """Load the policy of a parameter file; ``timeout`` [s] is the limit of every call.

        Raises:
            ConfigurationError: the file does not fit.
        """
        self._path = path
        self._timeout = timeout
        self._policy = load_configured("policies", path)
        self.description: PolicyDescription = self._policy.describe()
        self._worker = _Worker()
        self._stuck = False
        self._instruction = ""
        self._first = False

    def reset(self, instruction: str, seed: int) -> None:
        """Begin a trial.

        Raises:
            PolicyFault: the policy raised, or did not come back in time.
        """
        if self._stuck:
            self._policy = load_configured("policies", self._path)
            self._worker = _Worker()
            self._stuck = False
        self._instruction, self._first = instruction, True
        self._call(lambda: self._policy.reset(instruction, seed))

    def act(self, observation: Observation) -> Answer:
        """Return the next actions.

        Raises:
            PolicyFault: the policy raised, did not come back in time, or answered something else than
                finite numbers of shape (n, action_size) with 1 <= n <= chunk_length.
        """
        observed = (
            Observed(self._instruction, image_digest(observation.images)) if self._first else Observed()
        )
        self._first = False
        start = time.perf_counter()
        actions = self._check(self._call(lambda: self._policy.act(observation)))
        return Answer(actions, time.perf_counter() - start, observed)

    def close(self) -> None:
        """Let the thread end."""
        self._worker.stop()

    def _call(self, function: Callable[[], Result]) -> Result:
        if self._stuck:
            raise PolicyFault(Fault.POLICY_TIMEOUT, "an earlier call has not come back")
        try:
            return self._worker.submit(function).result(self._timeout)
        except FutureTimeout:
            self._stuck = True
            self._worker.stop()
            raise PolicyFault(Fault.POLICY_TIMEOUT, f"no answer within {self._timeout:g} s") from None
        except PolicyFault:
            raise
        except Exception as error:  # whatever a user's policy raises is its fault, not ours
            raise PolicyFault(Fault.POLICY_RAISED, f"{type(error).__name__}: {error}") from error

    def _check(self, answer: Any) -> NDArray[np.float64]:
        wanted = self.description
        try:
            actions = np.asarray(answer, dtype=np.float64)
        except (TypeError, ValueError):
            raise PolicyFault(Fault.POLICY_WRONG_SHAPE, f"got {type(answer).__name__}, not numbers") from None
        rows_fit = actions.ndim == 2 and 1 <= actions.shape[0] <= wanted.chunk_length
        if not rows_fit or actions.shape[1] != wanted.action_size:
            raise PolicyFault(
                Fault.POLICY_WRONG_SHAPE,
                f"got shape {actions.shape}, expected (n, {wanted.action_size}) with n from 1 to "
                f"{wanted.chunk_length}",
            )
        if not np.isfinite(actions).all():
            raise PolicyFault(Fault.POLICY_NOT_FINITE, f"got {actions[~np.isfinite(actions).all(axis=1)][0]}")
        return actions


def image_digest(images: dict[str, NDArray[np.uint8]]) -> str:
    """Return the SHA-256, in hex, of images: camera names, shapes and pixels; empty without images."""
    if not images:
        return ""
    digest = hashlib.sha256()
    for camera in sorted(images):
        digest.update(f"{camera}:{images[camera].shape}:".encode())
        digest.update(np.ascontiguousarray(images[camera]).data)
    return digest.hexdigest()


class _Worker:
    """One daemon thread that runs calls in order; a stuck one must not keep the process alive."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="policy", daemon=True).start()

    def submit(self, function: Callable[[], Result]) -> Future[Result]:
        future: Future[Result] = Future()
        self._jobs.put((function, future))
        return future

    def stop(self) -> None:
        self._jobs.put(None)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            function, future = job
            try:
                future.set_result(function())
            except Exception as error:  # handed to the caller, who names it
                future.set_exception(error)
