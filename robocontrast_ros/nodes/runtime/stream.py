"""Topics of drivers, whose messages come faster than they are needed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from rclpy.exceptions import InvalidHandle
from rclpy.subscription import Subscription

TOGETHER = 0.02
"""How long messages may wait to be taken together, where nothing else wakes the thread and nobody asks for them [s]:
from one heartbeat to the next."""

DEPTH = 100
"""How many may: a driver of 1000 Hz must not push out the few messages of another one on its topic."""


class Stream:
    """Hands on the newest message alone, serialised, of those that came together.

    Those of several publishers, and of different lengths, are of different joints: the newest of each is handed on. The
    first one after a silence is not kept waiting.

    Attributes:
        subscription: to the topic, of serialised messages for ``put``.
        due: when its messages are worth waking up for, on the steady clock [s].
    """

    def __init__(self, callback: Callable[[bytes, int], None]) -> None:
        """Take what is called with a message, and with how many there were since the last; never in two threads."""
        self._callback = callback
        # The executor takes, and whoever needs the newest now.
        self._lock = threading.Lock()
        self.subscription: Subscription | None = None
        self.due = 0.0

    @staticmethod
    def of(callback: Callable[..., Any]) -> Stream | None:
        """Return the stream that a subscription's callback is of; None for none."""
        owner = getattr(callback, "__self__", None)
        return owner if isinstance(owner, Stream) else None

    def put(self, raw: bytes, info: Any) -> None:
        """Take one message, from an executor that knows no streams."""
        with self._lock:
            self._callback(raw, 1)

    def take(self) -> None:
        """Take what has come in; in any thread."""
        with self._lock:
            newest, count = self._arrived()
            if newest:
                self.due = time.monotonic() + TOGETHER
            left_out = count - len(newest)
            for raw in newest:
                self._callback(raw, 1 + left_out)
                left_out = 0

    def _arrived(self) -> tuple[list[bytes], int]:
        """Return the newest message of each kind that came in, serialised, and how many there were of all."""
        newest: dict[tuple[bytes, int], bytes] = {}
        count = 0
        if (subscription := self.subscription) is None:
            return [], 0
        try:
            with subscription.handle:
                while (taken := subscription.handle.take_message(subscription.msg_type, True)) is not None:
                    raw, info = taken
                    kind = info.get("publisher_gid", {}).get("data", b""), len(raw)
                    # In the order of their arrival.
                    newest.pop(kind, None)
                    newest[kind] = raw
                    count += 1
        except InvalidHandle:
            # Another one takes its place.
            pass
        return list(newest.values()), count
