"""A node's connections to other nodes, served by a thread of their own.

A callback that waits for other nodes (a service that calls services, an episode) would block the
executor that must deliver the answers. So such a node keeps its clients and inputs in a second,
hidden node with its own executor: the callback may block, and the answers still arrive.
"""

from __future__ import annotations

import atexit
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any, TypeVar

from rcl_interfaces.srv import GetParameters
from rclpy.client import Client
from rclpy.exceptions import InvalidHandle
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node

from robocontrast_ros.domain import Fault
from robocontrast_ros.episodes.bench import BenchFault, too_late
from robocontrast_ros.nodes.runtime.executor import lockstep_executor
from robocontrast_ros.nodes.runtime.intra_process import limited, served_here

Result = TypeVar("Result")

Call = Callable[[Client, Any, float], Any]
"""``call``, or ``first_call``."""

FIRST_CALL_PERIOD = 1.0
"""Longest wait of a first call for an answer before it is repeated [s]."""

POLL = 0.2
"""Period at which a wait for a response checks whether its own channel was closed, or the service is lost [s]."""


LOOK = 0.02
"""Period of the checks in a wait for a service [s]: sessions begin with ten such waits."""


class NoAnswer(Exception):
    """A service did not answer in time, or does not exist.

    Attributes:
        late: whether it may still answer, as on a busy machine; else it is lost.
    """

    def __init__(self, words: str, late: bool = True) -> None:
        """Take the message, which names the service."""
        super().__init__(words)
        self.late = late


@contextlib.contextmanager
def fault_without_answer(fault: Fault) -> Iterator[None]:
    """Raise BenchFault with this fault if a service does not answer."""
    try:
        yield
    except NoAnswer as error:
        raise (too_late(fault, str(error)) if error.late else BenchFault(fault, str(error))) from None


class Channel:
    """A hidden node that spins on its own thread."""

    def __init__(self, owner: Node) -> None:
        """Make the hidden node ``_<owner>_io`` in the owner's namespace; call ``start`` when it is complete."""
        self.node = Node(
            f"_{owner.get_name()}_io",
            namespace=owner.get_namespace(),
            start_parameter_services=False,
            enable_rosout=False,
            use_global_arguments=False,
        )
        self._executor = lockstep_executor()
        self._executor.add_node(self.node)
        self._thread = threading.Thread(target=self._spin, name="io", daemon=True)

    def start(self) -> None:
        """Start to serve the hidden node's inputs."""
        # A node whose constructor fails has no orderly end, and Python must not end before this thread.
        atexit.register(self.close)
        self._thread.start()

    def do(self, work: Callable[[], Result], timeout: float) -> Result:
        """Call a function on the thread that takes the answers, and return its result.

        Raises:
            NoAnswer: the function did not return within the time [s].
            Exception: any error of the function.
        """
        outcome: Future[Result] = Future()

        def task() -> None:
            try:
                outcome.set_result(work())
            except Exception as error:  # raised again for the caller
                outcome.set_exception(error)

        self._executor.create_task(task)
        try:
            return outcome.result(timeout)
        except FutureTimeout:
            raise NoAnswer(f"'{self.node.get_name()}' is busy for more than {timeout:g} s") from None

    def close(self) -> None:
        """Stop serving and free the hidden node."""
        atexit.unregister(self.close)
        self._executor.shutdown(timeout_sec=1.0)
        if self._thread.is_alive():
            self._thread.join(timeout=1.0)
        for waitable in list(self.node.waitables):
            waitable.destroy()
        self.node.destroy_node()

    def _spin(self) -> None:
        with contextlib.suppress(ExternalShutdownException):
            self._executor.spin()


class PendingResponse:
    """A response that has not been taken yet."""

    def __init__(self, client: Client, request: Any) -> None:
        """Send the request."""
        self._client = client
        self._answer: Future[Any] = Future()
        self._request = client.call_async(request)
        self._request.add_done_callback(lambda done: self._answer.set_result(done.result()))

    def arrived(self, timeout: float) -> bool:
        """Wait up to a time [s], and return whether the response has arrived."""
        return bool(wait([self._answer], timeout).done)

    def result(self, timeout: float, while_there: bool = False) -> Any:
        """Wait for the response on a thread that does not serve the client.

        Args:
            timeout: limit of the wait [s].
            while_there: whether to stop the wait if the service is lost: for a service that may need long.

        Raises:
            NoAnswer: the response did not come within the time, the client was destroyed, or the service is lost.
        """
        deadline = time.monotonic() + timeout
        while not self.arrived(min(POLL, left := max(deadline - time.monotonic(), 0.0))):
            gone = self._closed or (while_there and not self._client.service_is_ready())
            if gone or left == 0.0:
                self.give_up()
                what = "is gone" if gone else f"did not answer within {timeout:g} s"
                raise NoAnswer(f"'{self._client.srv_name}' {what}", late=not gone)
        return self._answer.result()

    @property
    def _closed(self) -> bool:
        """Whether the client was destroyed, so that no response can come."""
        try:
            with self._client.handle:
                return False
        except InvalidHandle:
            return True

    def give_up(self) -> None:
        """Forget the request; a later answer is dropped."""
        self._client.remove_pending_request(self._request)


def call(client: Client, request: Any, timeout: float) -> Any:
    """Return a service's response, waiting for it on a thread that does not serve the client.

    A service of this process is called at once, by reference. This call cannot be given up: if it takes longer, the
    process ends (``main``).

    Raises:
        NoAnswer: the response did not come within the time [s], or the service failed in this process.
    """
    if (answer := served_here(client)) is not None:
        try:
            with limited(client.srv_name, timeout):
                return answer(request)
        except Exception as error:
            raise NoAnswer(f"'{client.srv_name}' failed: {error}", late=False) from error
    return PendingResponse(client, request).result(timeout)


def first_call(client: Client, request: Any, timeout: float) -> Any:
    """Return the response of a service that was never called before, to a request that may be repeated.

    A server that has not discovered the client's reader drops its answer after 0.1 s and reports that only in its own
    log; on a busy machine that happens to first calls. So the request is sent again, soon at first.

    Raises:
        NoAnswer: no response came within the time [s].
    """
    deadline, period = time.monotonic() + timeout, FIRST_CALL_PERIOD / 8
    while True:
        try:
            return call(client, request, min(period, max(deadline - time.monotonic(), 0.0)))
        except NoAnswer:
            if time.monotonic() >= deadline:
                raise
            period = min(2 * period, FIRST_CALL_PERIOD)


def call_while_there(client: Client, request: Any, timeout: float) -> Any:
    """Return the response of a slow service, as ``call`` does; stop the wait if the service is lost.

    Raises:
        NoAnswer: the response did not come within the time [s], or the service is lost.
    """
    return PendingResponse(client, request).result(timeout, while_there=True)


class DiscoveryProbe:
    """Checks that another node has discovered the clients whose requests must not be repeated."""

    def __init__(self, node: Node, other: str) -> None:
        """Make a client of a service that every node of ours has, after the clients that matter.

        Readers are discovered in the order in which they were made: a node that answers this client has discovered
        those before it.
        """
        self._client = node.create_client(GetParameters, f"{other}/get_parameters")

    def wait(self, timeout: float) -> None:
        """Wait until the other node answers.

        Raises:
            NoAnswer: the node did not answer within the time [s].
        """
        deadline = time.monotonic() + timeout
        wait_for(self._client, timeout)
        first_call(self._client, GetParameters.Request(), max(deadline - time.monotonic(), 0.0))


def wait_for(client: Client, timeout: float) -> None:
    """Wait until a service exists.

    Raises:
        NoAnswer: the service did not come up within the time [s].
    """
    if not becomes_true(client.service_is_ready, timeout):
        raise NoAnswer(f"'{client.srv_name}' is not there after {timeout:g} s")


def becomes_true(ready: Callable[[], bool], timeout: float) -> bool:
    """Wait up to a time [s] until ``ready`` returns True; return whether it did.

    rclpy's own wait for a service checks only four times a second.
    """
    deadline = time.monotonic() + timeout
    while not ready():
        if time.monotonic() >= deadline:
            return False
        time.sleep(LOOK)
    return True
