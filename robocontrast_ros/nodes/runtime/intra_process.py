"""Messages and calls between nodes of one process: handed over at once, by reference, and also published.

rclpy has no intra-process communication: between two nodes of one process a message is serialised, sent, waited for
and deserialised. If the publisher of a topic is in this process, its subscribers here get the message itself, in the
thread that publishes it, before it is published to all others. They must not change it, and their callbacks must not
block. A service that is also served for this process is called in the thread of the caller.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from rclpy.client import Client
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

from robocontrast_ros.nodes.runtime.offered import subscribe_as_offered

Callback = Callable[[Any], None]

_hands_over = False
"""Whether the nodes of this process hand messages over."""

LATE = 0.01
"""A message that was handed over waits once to twice this time to be published with others, then a thread publishes
it [s]."""

_subscribers: dict[str, list[Callback]] = {}
"""Topic that is handed over in this process -> the callbacks of its subscribers here."""

_services: dict[str, Callable[[Any], Any]] = {}
"""Full name of a service of this process -> function from request to response."""

_readings: dict[str, Callable[[], Any]] = {}
"""Full name of a service of this process -> function that returns the content of its response without a message."""

_calls: dict[int, tuple[str, float]] = {}
"""Thread that calls a service by reference -> the service's name, and the deadline of its return [s]."""


def hand_over(later: Iterable[str] = (), together: bool = False) -> None:
    """Let the nodes of this process hand messages over; call this before they are made.

    Args:
        later: topics whose publisher is made after a subscriber. Any other is handed over once its publisher is made.
        together: whether messages that are handed over within ``published_together`` are published together afterwards.
    """
    global _hands_over, _outbox
    stop_handing_over()
    _hands_over, _outbox = True, _Outbox() if together else None
    for topic in later:
        offer(topic)


def stop_handing_over() -> None:
    """Hand no messages over, as at first."""
    global _hands_over, _outbox
    _hands_over, _outbox = False, None
    _subscribers.clear()
    _services.clear()
    _readings.clear()


def hands_over() -> bool:
    """Return whether the nodes of this process hand messages over."""
    return _hands_over


def offer(topic: str) -> None:
    """Hand over a topic whose publisher is in this process: later subscribers need no other source."""
    if _hands_over:
        _subscribers.setdefault(topic, [])


def subscribe(node: Node, kind: type, topic: str, callback: Callback, quality: QoSProfile) -> None:
    """Call a callback with each message of a topic, from this process or from elsewhere.

    Args:
        node: the subscriber, if the topic comes from elsewhere.
        kind: type of its messages.
        topic: its name, relative to the namespace.
        callback: called with each message.
        quality: quality of the subscription.
    """
    if topic in _subscribers:
        _subscribers[topic].append(callback)
    else:
        subscribe_as_offered(node, kind, topic, callback, quality)


def subscribe_openly(node: Node, kind: type, topic: str, callback: Callback, quality: QoSProfile) -> Subscription:
    """Call a callback with the messages that this process hands over, and with those of others on the same topic.

    Return the subscription to the messages of others. If this process hands over, ``take_arrived`` alone can deliver
    them: a node that no executor serves wakes no thread for each message that comes back to it.

    Args:
        node: the subscriber to the messages of others; served by no executor, or by the thread that delivers.
        kind: type of the messages.
        topic: its name, relative to the namespace.
        callback: called with each message, in any thread.
        quality: quality of the subscription.
    """
    if not _hands_over:
        return node.create_subscription(kind, topic, callback, quality)
    copies = _Copies()

    def handed_over(message: Any) -> None:
        copies.expect(message)
        callback(message)

    def received(message: Any) -> None:
        if not copies.came(message):
            callback(message)

    offer(topic)
    _subscribers[topic].append(handed_over)
    return node.create_subscription(kind, topic, received, quality)


def take_arrived(subscription: Subscription) -> None:
    """Deliver messages that have arrived; in the thread that serves the subscription, if one does."""
    with subscription.handle:
        while (taken := subscription.handle.take_message(subscription.msg_type, False)) is not None:
            subscription.callback(taken[0])


class _Copies:
    """Handed-over messages that come back through the middleware, recognised by their content."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._expected: deque[Any] = deque()

    def expect(self, message: Any) -> None:
        """Expect a message to come back."""
        with self._lock:
            self._expected.append(message)

    def came(self, message: Any) -> bool:
        """Return whether a message is an expected one that comes back."""
        with self._lock:
            if message not in self._expected:
                return False
            # Expected messages before it are lost: messages of one publisher come in their order.
            while self._expected.popleft() != message:
                pass
            return True


class _Outbox:
    """Handed-over messages that are still to be published for all others, in their order."""

    def __init__(self) -> None:
        self._lock, self._publishing = threading.Lock(), threading.Lock()
        self._waiting: deque[tuple[Publisher, Any]] = deque()
        self._open = False

    def publish(self, publisher: Publisher, message: Any) -> None:
        """Publish a message; later within ``together``."""
        with self._lock:
            self._waiting.append((publisher, message))
            later = self._open
        if not later:
            self.empty()

    def empty(self) -> None:
        """Publish all waiting messages."""
        with self._publishing:
            while self._waiting:
                publisher, message = self._waiting.popleft()
                publisher.publish(message)

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Keep messages of this context until ``empty``, called at its end, or earlier if one waits too long."""
        over = threading.Event()
        watch = threading.Thread(target=self._watch, args=(over,), name="publishing", daemon=True)
        self._open = True
        watch.start()
        try:
            yield
        finally:
            with self._lock:
                self._open = False
            over.set()
            watch.join()
            self.empty()

    def _watch(self, over: threading.Event) -> None:
        last = None
        while not over.wait(LATE):
            first = next(iter(tuple(self._waiting)), None)
            if first is not None and first is last:
                self.empty()
            last = first


_outbox: _Outbox | None = None
"""Messages that wait to be published together; None if each is published at once."""


def published_together() -> AbstractContextManager[None]:
    """Let messages of this context wait for ``publish_waiting``, or a little longer, if ``hand_over`` wants it.

    A control step lasts as long as drawing and the work before and after it: messages of that work wait until OpenGL
    draws again.
    """
    return contextlib.nullcontext() if _outbox is None else _outbox.together()


def publish_waiting() -> None:
    """Publish the messages that were handed over and wait."""
    if _outbox is not None:
        _outbox.empty()


class HandingPublisher:
    """A publisher whose messages are handed over to the subscribers in this process first."""

    def __init__(self, node: Node, kind: type, topic: str, quality: QoSProfile) -> None:
        """Make the publisher of a node."""
        self._publisher: Publisher = node.create_publisher(kind, topic, quality)
        self._topic = topic
        offer(topic)

    def publish(self, message: Any) -> None:
        """Hand the message over, then publish it."""
        for callback in tuple(_subscribers.get(self._topic, ())):
            callback(message)
        if _outbox is None:
            self._publisher.publish(message)
        else:
            _outbox.publish(self._publisher, message)

    def subscribers(self) -> int:
        """Return the number of subscribers, in this process and elsewhere, as far as they have been discovered."""
        return len(_subscribers.get(self._topic, ())) + self._publisher.get_subscription_count()


def serve(node: Node, kind: type, name: str, callback: Callable[[Any, Any], Any]) -> None:
    """Serve a service; for this process, in the thread of the caller.

    Args:
        node: the node of the service.
        kind: its type.
        name: its name for ``create_service``.
        callback: takes a request and an empty response, and returns the response; any thread may call it.
    """
    node.create_service(kind, name, callback)
    if _hands_over:
        _services[node.resolve_service_name(name)] = lambda request: callback(request, kind.Response())


def serve_reading(node: Node, name: str, read: Callable[[], Any]) -> None:
    """Offer the content of a service's response in this process, without request and response.

    Args:
        node: the node of the service.
        name: its name for ``create_service``.
        read: returns the content; any thread may call it.
    """
    if _hands_over:
        _readings[node.resolve_service_name(name)] = read


def read_here(client: Client) -> Callable[[], Any] | None:
    """Return the function that reads the content of a client's response in this process; None to send a request."""
    return _readings.get(client.service_name)


def served_here(client: Client) -> Callable[[Any], Any] | None:
    """Return the function that answers a client's requests in this process; None to send a request."""
    return _services.get(client.service_name)


@contextlib.contextmanager
def limited(name: str, timeout: float) -> Iterator[None]:
    """Count a call of a service by reference as overdue after a time [s]; it cannot be given up."""
    thread = threading.get_ident()
    _calls[thread] = name, time.monotonic() + timeout
    try:
        yield
    finally:
        del _calls[thread]


def overdue() -> str:
    """Return the name of a service whose call by reference is overdue; empty for none."""
    now = time.monotonic()
    return next((name for name, deadline in tuple(_calls.values()) if now > deadline), "")
