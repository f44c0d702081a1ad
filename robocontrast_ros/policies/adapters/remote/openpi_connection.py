"""One connection to a server that speaks openpi's websocket protocol."""

from __future__ import annotations

import socket
import struct
import time
from typing import Any
from urllib.parse import urlsplit

from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidMessage, InvalidStatus
from websockets.frames import CloseCode
from websockets.sync.client import ClientConnection, connect

from robocontrast_ros.domain import Fault
from robocontrast_ros.policies.adapters.remote.openpi_wire import LARGEST_ANSWER, Packer, unpack
from robocontrast_ros.policies.adapters.remote.server_policy import last_line
from robocontrast_ros.policies.protocol import PolicyFault

_CLOSE_TIMEOUT = 0.5
_PORTS = {"ws": 80, "wss": 443}
# Codes with which our side closes a connection because of the server's bytes.
_UNREADABLE = (CloseCode.PROTOCOL_ERROR, CloseCode.INVALID_DATA, CloseCode.MESSAGE_TOO_BIG)


class OpenpiConnection:
    """Sends observations and receives one answer for each; any fault closes it for good.

    Attributes:
        metadata: the server's metadata, which it sent on connecting.
    """

    def __init__(self, url: str, api_key: str | None, connect_timeout: float, timeout: float) -> None:
        """Connect, directly (no proxy), and wait for the server's metadata.

        Args:
            url: ``ws://host:port`` or ``wss://…``.
            api_key: sent as ``Authorization: Api-Key …``; None without one.
            connect_timeout: limit until the metadata are there [s].
            timeout: limit of sending [s].

        Raises:
            PolicyFault: POLICY_SERVER_LOST if there is no server or it refuses, POLICY_TIMEOUT if it accepts and then
                hangs, POLICY_RAISED if it reports an error, POLICY_UNREADABLE if it is no such server.
        """
        self._url = url
        self._packer = Packer()
        deadline = time.monotonic() + connect_timeout
        stream = self._reach(url, connect_timeout, timeout)
        self._socket = self._shake_hands(stream, url, api_key, max(deadline - time.monotonic(), 1e-3))
        metadata = self._receive(max(deadline - time.monotonic(), 1e-3))
        if not isinstance(metadata, dict):
            raise self._closing(
                Fault.POLICY_UNREADABLE,
                f"got {type(metadata).__name__}, expected the server's metadata, a mapping",
            )
        self.metadata: dict[str, Any] = metadata

    @property
    def open(self) -> bool:
        """Whether the connection is open, as far as known."""
        return self._socket.protocol.state.name == "OPEN"

    def exchange(self, message: dict[str, Any], timeout: float) -> Any:
        """Send a message and return its answer, both within ``timeout`` [s].

        Raises:
            PolicyFault: by the table in docs/remote_policies.md; the connection is then closed, so that no answer
                can be taken for another message's.
        """
        deadline = time.monotonic() + timeout
        try:
            self._socket.recv(timeout=0)
        except (TimeoutError, ConnectionClosed):
            pass
        else:
            raise self._closing(Fault.POLICY_UNREADABLE, "got an answer without a request")
        try:
            self._socket.send(self._packer.pack(message))
        except ConnectionClosed as error:
            raise self._lost(error) from None
        return self._receive(max(deadline - time.monotonic(), 0.0), timeout)

    def close(self) -> None:
        """Close it; later answers are dropped."""
        self._socket.close()

    def _reach(self, url: str, connect_timeout: float, timeout: float) -> socket.socket:
        parts = urlsplit(url)
        address = (parts.hostname or "", parts.port or _PORTS[parts.scheme])
        try:
            stream = socket.create_connection(address, connect_timeout)
        except OSError as error:
            detail = f"{url} cannot be reached: {error.strerror or error}"
            raise PolicyFault(Fault.POLICY_SERVER_LOST, detail) from None
        stream.settimeout(None)
        # websockets has no limit for sending, and a server that does not read would block it for good.
        seconds, rest = divmod(timeout, 1.0)
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", int(seconds), int(rest * 1e6)))
        return stream

    def _shake_hands(self, stream: socket.socket, url: str, api_key: str | None, limit: float) -> ClientConnection:
        try:
            return connect(
                url,
                sock=stream,
                compression=None,
                additional_headers={"Authorization": f"Api-Key {api_key}"} if api_key else None,
                open_timeout=limit,
                # An openpi server answers no ping while it computes, and its first answer takes minutes.
                ping_interval=None,
                close_timeout=_CLOSE_TIMEOUT,
                max_size=LARGEST_ANSWER,
            ).__enter__()
        except TimeoutError:
            fault, detail = Fault.POLICY_TIMEOUT, f"{url} accepted, and sent nothing within {limit:.3g} s"
        except InvalidStatus as error:
            status = error.response.status_code
            fault, detail = Fault.POLICY_SERVER_LOST, f"{url} refused the connection: HTTP {status}"
        except InvalidMessage as error:
            # The cause distinguishes a server that ended from one with another protocol.
            if isinstance(error.__cause__, EOFError | OSError):
                fault, detail = (
                    Fault.POLICY_SERVER_LOST,
                    f"{url} closed the connection before it sent anything",
                )
            else:
                detail = f"{url} is no websocket server: {error.__cause__ or error}"
                fault = Fault.POLICY_UNREADABLE
        except (ConnectionClosed, InvalidHandshake, OSError) as error:
            fault, detail = Fault.POLICY_SERVER_LOST, f"{url} refused the connection: {error}"
        stream.close()
        raise PolicyFault(fault, detail)

    def _receive(self, limit: float, timeout: float | None = None) -> Any:
        try:
            data = self._socket.recv(timeout=limit)
        except TimeoutError:
            detail = f"no answer from {self._url} within {timeout or limit:.3g} s"
            raise self._closing(Fault.POLICY_TIMEOUT, detail) from None
        except ConnectionClosed as error:
            raise self._lost(error) from None
        if isinstance(data, str):
            raise self._closing(Fault.POLICY_RAISED, f"the server says: {last_line(data)}")
        try:
            return unpack(data)
        except ValueError as error:
            raise self._closing(Fault.POLICY_UNREADABLE, f"got {error}") from None

    def _closing(self, fault: Fault, detail: str) -> PolicyFault:
        self.close()
        return PolicyFault(fault, detail)

    def _lost(self, error: ConnectionClosed) -> PolicyFault:
        if isinstance(error.__cause__, BlockingIOError | TimeoutError):
            return PolicyFault(Fault.POLICY_TIMEOUT, f"{self._url} does not read what it is sent")
        if error.sent and not error.rcvd and error.sent.code in _UNREADABLE:
            detail = f"got bytes from {self._url} that are no websocket message: {error.sent.reason}"
            return PolicyFault(Fault.POLICY_UNREADABLE, detail)
        said = f": {error.rcvd.reason}" if error.rcvd and error.rcvd.reason else ""
        return PolicyFault(
            Fault.POLICY_SERVER_LOST,
            f"{self._url} closed the connection{said}; start the policy's server again",
        )
