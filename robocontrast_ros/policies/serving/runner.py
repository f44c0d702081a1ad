"""Run a policy with checks and time limits, so that each failure has a code: the core of the policy server."""

from __future__ import annotations

import contextlib
import hashlib
import queue
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.configuration import ConfigurationError, load_configured, read_yaml
from robocontrast_ros.configuration.errors import raised
from robocontrast_ros.domain import Fault, Observed, Segment
from robocontrast_ros.policies.loading import checked, failed, named_in
from robocontrast_ros.policies.protocol import Observation, Policy, PolicyDescription, PolicyFault
from robocontrast_ros.policies.segments import Told, one_segment

Result = TypeVar("Result")

LOAD_TIMEOUT = 120.0
"""Default limit of loading a policy, and of warming it up [s]."""

CLOSE_TIMEOUT = 5.0
"""Limit of freeing a policy's resources [s]; then its thread is abandoned."""


@dataclass(frozen=True)
class Answer:
    """A policy's answer.

    Attributes:
        actions: shape (n, action_size), finite.
        latency: time the policy itself took [s].
        observed: record of the policy's input, in the first answer after a reset; else empty.
    """

    actions: NDArray[np.float64]
    latency: float
    observed: Observed


class Loading(NamedTuple):
    """The arguments of ``PolicyRunner``, with which a policy is loaded."""

    path: Path
    timeout: float
    load_timeout: float
    own_thread: bool
    answer_time: float
    located: bool


class PolicyRunner:
    """Holds one policy, makes and calls it on a thread of its own, and checks its answers.

    A call that does not return in time is abandoned with its thread; the next reset loads the policy again, because
    the state of the stuck one is unknown.

    Attributes:
        path: the policy's parameter file.
        text: content of that file when it was loaded.
        description: the policy's inputs and outputs.
        load_time: time that loading it took [s].
        warm_up_time: time that its warm-up took [s]; None without one.
        loading: the arguments to load it again, or another one in the same way.
    """

    def __init__(
        self,
        path: Path,
        timeout: float,
        load_timeout: float = LOAD_TIMEOUT,
        own_thread: bool = True,
        answer_time: float = 0.0,
        located: bool = True,
    ) -> None:
        """Load the policy of a parameter file.

        Args:
            path: the file.
            timeout: limit of every call [s].
            load_timeout: limit of loading, and of warming up [s].
            own_thread: whether the policy has a thread of its own. Without one a call costs less, and the limits are
                checked after it has returned: a call that never returns blocks.
            answer_time: least duration of each ``reset`` and ``act`` [s]: the time that the policy does not need is
                waited for, so that nobody can tell policies apart by it. The wait is no part of an answer's latency.
            located: whether faults name the line of the policy's own file; false if nobody may know which policy runs.

        Raises:
            ConfigurationError: the file does not fit, or the policy cannot be loaded, or not in time.
        """
        self.path, self.timeout, self.load_timeout = path, timeout, load_timeout
        self.own_thread, self.answer_time, self.located = own_thread, answer_time, located
        self.loading = Loading(path, timeout, load_timeout, own_thread, answer_time, located)
        self.warm_up_time: float | None = None
        self._worker = self._new_worker()
        self._stuck = False
        self._told = Told("", None)
        self._first = False
        self._policy: Policy | None = None
        self._load()

    def warm_up(self) -> None:
        """Call the policy's `warm_up`, if it has one.

        Raises:
            ConfigurationError: it failed, or did not return in time.
        """
        function = getattr(self._policy, "warm_up", None)
        if function is None:
            return
        start = time.perf_counter()
        self._prepare(function, "warms up")
        self.warm_up_time = time.perf_counter() - start

    def reset(self, instruction: str, seed: int, segments: tuple[Segment, ...] = ()) -> None:
        """Begin a trial.

        Args:
            instruction: the words.
            seed: of the policy's own randomness.
            segments: the segments for a policy that takes them in place of the words; without any, it gets the words
                as one.

        Raises:
            PolicyFault: the policy raised, or did not return in time; POLICY_SERVER_LOST if it hung before and cannot
                be loaded again.
        """
        with _at_least(self.answer_time):
            self._reset(instruction, seed, segments)

    def _reset(self, instruction: str, seed: int, segments: tuple[Segment, ...]) -> None:
        if self._stuck:
            self._reload()
        self._first = True
        if self.description.takes_segments:
            given = segments or one_segment(instruction)
            self._told = Told(instruction, given)
            self._call(lambda: self._policy.reset_segments(given, seed))
        else:
            self._told = Told(instruction, None)
            self._call(lambda: self._policy.reset(instruction, seed))

    def act(self, observation: Observation) -> Answer:
        """Return the next actions.

        Raises:
            PolicyFault: the policy raised, did not return in time, or its answer is not an array of
                finite numbers of shape (n, action_size) with 1 <= n <= chunk_length, or of one action's shape.
        """
        observed = Observed()
        if self._first:
            observed = replace(self._told.sent, image_digest=image_digest(observation.images), told=True)
        self._first = False
        with _at_least(self.answer_time):
            start = time.perf_counter()
            # Within the call, because reading an answer also runs the answer's own code.
            actions = self._call(lambda: self._check(self._policy.act(observation)))
            return Answer(actions, time.perf_counter() - start, observed)

    def close(self) -> None:
        """Free the policy, on its own thread; one that is stuck, or does not end, is abandoned."""
        if self._policy is not None:
            _close(self._policy, None if self._stuck else self._worker)
        self._policy = None
        self._worker.stop()

    def _new_worker(self) -> _Worker | _Here:
        return _Worker() if self.own_thread else _Here()

    def _load(self) -> None:
        start = time.perf_counter()
        # Read before the policy is made: the recorded text must not be newer than the policy that runs.
        read_yaml(self.path)
        self.text = self.path.read_text(encoding="utf-8")
        policy = self._prepare(lambda: load_configured("policies", self.path), "is loaded")
        self._policy = policy
        self.description: PolicyDescription = self._prepare(
            lambda: checked(policy.describe(), self.path, "describe()"), "describes itself"
        )
        if self.description.takes_segments and not hasattr(policy, "reset_segments"):
            self.close()
            raise ConfigurationError(
                str(self.path),
                "policy",
                named_in(self.path),
                "a policy with reset_segments(segments, seed), because it declares `referents` or `mask`",
            )
        self.load_time = time.perf_counter() - start

    def _reload(self) -> None:
        warm = self.warm_up_time is not None
        self.close()
        self._worker = self._new_worker()
        try:
            self._load()
            if warm:
                self.warm_up()
        except ConfigurationError as error:
            detail = f"it hung before, and cannot be loaded again: {error}"
            raise PolicyFault(Fault.POLICY_SERVER_LOST, detail) from None
        self._stuck = False

    def _prepare(self, function: Callable[[], Result], what: str) -> Result:
        """Return the result of a function that is called on the worker's thread.

        Raises:
            ConfigurationError: it raised, or did not return in time; then the policy is closed.
        """
        future = self._worker.submit(function)
        if not self._worker.done(future, self.load_timeout):
            self._stuck = True
            # Nothing else will free a policy that it returns too late.
            future.add_done_callback(_close_late)
            self.close()
            expected = f"a policy that {what} within {self.load_timeout:g} s"
            raise ConfigurationError(
                str(self.path),
                "policy",
                named_in(self.path),
                expected,
                "Find out what it waits for, or raise the limit (`timeouts.load` of the session, `load_timeout` of "
                "policy_server).",
            )
        try:
            return future.result()
        except (ConfigurationError, KeyboardInterrupt):
            self.close()
            raise
        except BaseException as error:  # a user's policy may raise anything
            self.close()
            raise failed(self.path, what, error, self.located) from error

    def _call(self, function: Callable[[], Result]) -> Result:
        if self._stuck:
            raise PolicyFault(Fault.POLICY_TIMEOUT, "an earlier call has not returned")
        future = self._worker.submit(function)
        if not self._worker.done(future, self.timeout):
            self._stuck = True
            self._worker.stop()
            raise PolicyFault(Fault.POLICY_TIMEOUT, f"no answer within {self.timeout:g} s")
        try:
            return future.result()
        except (PolicyFault, KeyboardInterrupt):
            raise
        except BaseException as error:  # a user's policy may raise anything: its fault
            raise PolicyFault(Fault.POLICY_RAISED, raised(error, self.located)) from error

    def _check(self, answer: Any) -> NDArray[np.float64]:
        wanted = self.description
        actions = _numbers(answer)
        if actions.shape == (wanted.action_size,):
            actions = actions[np.newaxis]
        rows_fit = actions.ndim == 2 and 1 <= actions.shape[0] <= wanted.chunk_length
        if not rows_fit or actions.shape[1] != wanted.action_size:
            raise PolicyFault(
                Fault.POLICY_WRONG_SHAPE,
                f"got shape {actions.shape}, expected (n, {wanted.action_size}) with n from 1 to {wanted.chunk_length}",
            )
        if not np.isfinite(actions).all():
            raise PolicyFault(
                Fault.POLICY_NOT_FINITE, f"got {actions[~np.isfinite(actions).all(axis=1)][0]}, expected finite numbers"
            )
        return actions


def _numbers(answer: Any) -> NDArray[np.float64]:
    """Return an answer as numbers.

    Raises:
        PolicyFault: it has none, or they cannot be read.
    """
    kind = type(answer)
    cure = "; answer with `actions.detach().float().cpu().numpy()`" if kind.__module__.startswith("torch") else ""
    try:
        found = np.asarray(answer)
        if found.dtype == object and all(isinstance(value, Real) for value in found.flat):
            found = found.astype(np.float64)
    except Exception as error:  # reading an answer runs the answer's own code
        fault = Fault.POLICY_WRONG_SHAPE if isinstance(error, TypeError | ValueError) else Fault.POLICY_RAISED
        detail = f"got {kind.__name__}, which cannot be read as numbers: {raised(error, located=False)}{cure}"
        raise PolicyFault(fault, detail) from None
    if found.dtype == object or not np.can_cast(found.dtype, np.float64, "same_kind"):
        others = (value for value in found.flat if not isinstance(value, Real))
        held = "" if found.ndim == 0 or not found.size else f" of {type(next(others, found.flat[0])).__name__}"
        raise PolicyFault(Fault.POLICY_WRONG_SHAPE, f"got {kind.__name__}{held}, not real numbers")
    return found.astype(np.float64, copy=False)


@contextlib.contextmanager
def _at_least(duration: float) -> Iterator[None]:
    """Have the block take a time [s], if it takes less."""
    start = time.perf_counter()
    try:
        yield
    finally:
        left = duration - (time.perf_counter() - start)
        if left > 0.0:
            time.sleep(left)


def image_digest(images: dict[str, NDArray[np.uint8]]) -> str:
    """Return the SHA-256, in hex, of images: camera names, shapes and pixels; empty without images."""
    if not images:
        return ""
    digest = hashlib.sha256()
    for camera in sorted(images):
        digest.update(f"{camera}:{images[camera].shape}:".encode())
        digest.update(np.ascontiguousarray(images[camera]).data)
    return digest.hexdigest()


def _close(policy: Any, worker: _Worker | _Here | None) -> None:
    """Call the policy's ``close()``, if it has one, on its own thread, or on a new one if that is stuck."""
    function = getattr(policy, "close", None)
    if function is None:
        return
    worker, borrowed = worker or _Worker(), worker is not None
    # The policy is not used again: how it ends does not matter.
    with contextlib.suppress(FutureTimeout):
        worker.submit(function).exception(CLOSE_TIMEOUT)
    if not borrowed:
        worker.stop()


def _close_late(loaded: Future[Any]) -> None:
    if loaded.exception() is None:
        _close(loaded.result(), None)


class _Worker:
    """One daemon thread that runs calls in order; a stuck call must not keep the process alive."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="policy", daemon=True).start()

    def submit(self, function: Callable[[], Result]) -> Future[Result]:
        future: Future[Result] = Future()
        self._jobs.put((function, future))
        return future

    @staticmethod
    def done(future: Future[Any], timeout: float) -> bool:
        """Wait, and return whether the call returned in time; the policy itself may also raise a TimeoutError."""
        try:
            future.exception(timeout)
        except FutureTimeout:
            return False
        return True

    def stop(self) -> None:
        self._jobs.put(None)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            function, future = job
            try:
                future.set_result(function())
            except BaseException as error:  # raised again for the caller, even SystemExit
                future.set_exception(error)
            # The last job's objects are freed before the thread waits for the next one.
            del function, future, job


class _Here:
    """Runs calls at once, on the caller's thread; one that returns too late counts as one that did not return."""

    def __init__(self) -> None:
        self._took = 0.0

    def submit(self, function: Callable[[], Result]) -> Future[Result]:
        future: Future[Result] = Future()
        start = time.perf_counter()
        try:
            future.set_result(function())
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # raised again for the caller
            future.set_exception(error)
        self._took = time.perf_counter() - start
        return future

    def done(self, future: Future[Any], timeout: float) -> bool:
        """Return whether the last call returned in time."""
        return self._took <= timeout

    def stop(self) -> None:
        """Do nothing: there is no thread."""
