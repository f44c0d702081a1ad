"""Topics of drivers, whose messages come faster than they are needed."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from rclpy.exceptions import InvalidHandle
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

WAITING = QoSProfile(depth=400)
"""Quality of a stream's subscription: its depth is twice the messages between two checks of the executor at 1000 Hz."""

SELDOM = 1.0
"""Period at which a stream is read if not every message is needed [s]."""


class Stream:
    """Reads the messages of a topic together, in their order: no thread wakes up for each.

    Its subscription takes serialised messages, with ``put`` as callback. An executor that knows streams does not wait
    for it, and looks five times a second; code that needs the present messages calls ``read``.

    Attributes:
        subscription: the subscription to the topic; None before there is one.
        received: number of messages up to the last look, read or not.
    """

    def __init__(self, read: Callable[[bytes, int], None], needed: Callable[[], bool] = lambda: True) -> None:
        """Begin without messages.

        Args:
            read: called with each message and its arrival time on the steady clock [ns]; never in two threads at once.
            needed: returns whether every message is needed; else looks read only the newest, once a second.
        """
        self._read, self._needed = read, needed
        self._lock = threading.RLock()
        self._unread: deque[tuple[bytes, int]] = deque(maxlen=WAITING.depth)
        self._due = 0.0
        self.received = 0
        self.subscription: Subscription | None = None

    @staticmethod
    def of(callback: Callable[..., Any]) -> Stream | None:
        """Return the stream of a subscription's callback; None for none."""
        owner = getattr(callback, "__self__", None)
        return owner if isinstance(owner, Stream) else None

    def put(self, raw: bytes, info: Any) -> None:
        """Read a message, from an executor that knows no streams."""
        with self._lock:
            self._keep(raw, info)
            self.read()

    def look(self) -> None:
        """Take the messages that have come; read them if they are needed or were not read for long; in any thread."""
        with self._lock:
            self._take()
            if self._needed() or time.monotonic() >= self._due:
                self.read()

    def read(self) -> None:
        """Read the messages since the last call; in any thread."""
        with self._lock:
            self._due = time.monotonic() + SELDOM
            self._take()
            while self._unread:
                self._read(*self._unread.popleft())

    def _take(self) -> None:
        subscription = self.subscription
        if subscription is None:
            return
        with contextlib.suppress(InvalidHandle), subscription.handle:  # another subscription may replace it
            while (taken := subscription.handle.take_message(subscription.msg_type, True)) is not None:
                self._keep(*taken)

    def _keep(self, raw: bytes, info: Any) -> None:
        now = time.monotonic_ns()
        # Not every middleware reports the arrival time of a message: without one it is now.
        arrival = info["received_timestamp"] and info["received_timestamp"] - time.time_ns() + now
        self._unread.append((raw, min(arrival or now, now)))
        self.received += 1
