"""Limit of the time without a request on a connection: each one holds a descriptor of the node that stops the robot."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

SILENCE = 10.0
"""Time within which a whole request has to arrive [s]."""

MOST = 200
"""Greatest number of connections at one time; a page has up to six."""


class IdleTimeoutProtocol(H11Protocol):
    """HTTP on one connection, which is closed if no whole request comes in time.

    uvicorn limits only the time between two requests, and only until the second begins.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Begin to wait; if there are too many connections, the one that has waited longest is closed."""
        super().connection_made(transport)
        self._begin_to_wait()
        if len(self.connections) > MOST:
            waiting = [c for c in self.connections if isinstance(c, IdleTimeoutProtocol) and c.waits]
            min(waiting, key=lambda connection: connection.since).transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        """Stop the wait."""
        self._limit.cancel()
        super().connection_lost(error)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._limit.cancel()
        self._begin_to_wait()
        super().on_response_complete()

    @property
    def waits(self) -> bool:
        """Whether a request, or the rest of one, must come before the next answer."""
        cycle: Any = self.cycle
        return cycle is None or cycle.response_complete or cycle.more_body

    def _begin_to_wait(self) -> None:
        self.since = self.loop.time()
        self._limit = self.loop.call_later(SILENCE, self._on_timeout)

    def _on_timeout(self) -> None:
        if self.waits and not self.transport.is_closing():
            self.transport.abort()
