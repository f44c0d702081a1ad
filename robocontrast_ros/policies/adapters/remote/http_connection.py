"""Connections to one web server, whose requests end in time and whose faults have codes."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import requests
from requests.adapters import HTTPAdapter

from robocontrast_ros.domain import Fault
from robocontrast_ros.policies.adapters.remote.openpi_wire import LARGEST_ANSWER
from robocontrast_ros.policies.protocol import PolicyFault

_PART = 2**16
"""Bytes of an answer that are read at a time."""


class HttpClient:
    """Connections to one server; every request ends in time, whatever the server does."""

    def __init__(self, key: str | None, connect_timeout: float) -> None:
        self._connect_timeout = connect_timeout
        self._session = requests.Session()
        # Neither proxies nor a .netrc of the environment: the file has the address and the key.
        self._session.trust_env = False
        self._session.headers["Content-Type"] = "application/json"
        # A few compressed bytes may become any number of others.
        self._session.headers["Accept-Encoding"] = "identity"
        if key:
            self._session.headers["Authorization"] = f"Bearer {key}"
        self._transport = _CuttableTransport()
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, self._transport)

    def request(self, method: str, url: str, body: bytes | None, timeout: float) -> tuple[int, bytes]:
        """Return the status of the response, and its whole body.

        Raises:
            PolicyFault: POLICY_SERVER_LOST, POLICY_TIMEOUT or POLICY_UNREADABLE.
        """
        late = PolicyFault(Fault.POLICY_TIMEOUT, f"no answer from {url} within {timeout:.3g} s")
        with self._transport.cut_after(timeout) as cut:
            try:
                with self._session.request(
                    method,
                    url,
                    data=body,
                    timeout=(min(self._connect_timeout, timeout), timeout),
                    allow_redirects=False,
                    stream=True,
                ) as response:
                    answer = response.status_code, _body(url, response)
            except requests.ConnectTimeout:
                raise PolicyFault(Fault.POLICY_SERVER_LOST, f"{url} cannot be reached") from None
            except requests.Timeout:
                raise late from None
            except requests.RequestException as error:
                if cut.is_set():
                    raise late from None
                raise _failed(url, error) from None
            if cut.is_set():
                raise late
        return answer

    def close(self) -> None:
        """Close all connections, so that late answers are never read."""
        self._session.close()


def _body(url: str, response: requests.Response) -> bytes:
    """Return the bytes of a response.

    Raises:
        PolicyFault: POLICY_UNREADABLE if they are more than `LARGEST_ANSWER`, or compressed.
    """
    encoding = response.headers.get("Content-Encoding", "").lower()
    # The answer to HEAD has the headers of one to GET, and no bytes.
    if encoding not in ("", "identity") and response.request.method != "HEAD":
        detail = f"got bytes from {url} that are compressed ({encoding}), which the request did not allow"
        raise PolicyFault(Fault.POLICY_UNREADABLE, detail)
    body = bytearray()
    for part in response.iter_content(_PART):
        body += part
        if len(body) > LARGEST_ANSWER:
            detail = f"got more than {LARGEST_ANSWER} bytes from {url}, the limit of an answer"
            raise PolicyFault(Fault.POLICY_UNREADABLE, detail)
    return bytes(body)


def _failed(url: str, error: BaseException) -> PolicyFault:
    """Return the fault for a failed request, by its innermost cause."""
    causes = list(_causes(error))
    if any(isinstance(cause, ConnectionError | socket.gaierror | http.client.IncompleteRead) for cause in causes):
        return PolicyFault(Fault.POLICY_SERVER_LOST, f"{url} cannot be reached or closed the connection: {causes[-1]}")
    if any(isinstance(cause, http.client.HTTPException) for cause in causes):
        return PolicyFault(Fault.POLICY_UNREADABLE, f"got bytes from {url} that are not HTTP: {causes[-1]}")
    return PolicyFault(Fault.POLICY_SERVER_LOST, f"{url}: {causes[-1]}")


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and its causes, outermost first."""
    seen: set[int] = set()
    pending = [error]
    while pending:
        current = pending.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        inside = (*current.args, current.__cause__, current.__context__, getattr(current, "reason", None))
        pending += [part for part in inside if isinstance(part, BaseException)]


class _CuttableTransport(HTTPAdapter):
    """Shuts the sockets of requests that take too long.

    The timeout of `requests` is per read, so it never ends a server that sends single bytes slowly.
    """

    def __init__(self) -> None:
        super().__init__()
        self._sockets: set[socket.socket] = set()

    @contextmanager
    def cut_after(self, limit: float) -> Iterator[threading.Event]:
        """Shut all sockets after the limit [s]; the event is set if that happened."""
        cut = threading.Event()

        def shut() -> None:
            cut.set()
            for stream in list(self._sockets):
                try:
                    stream.shutdown(socket.SHUT_RDWR)
                except OSError:  # it was closed already
                    continue

        timer = threading.Timer(limit, shut)
        timer.daemon = True
        timer.start()
        try:
            yield cut
        finally:
            timer.cancel()

    def get_connection_with_tls_context(self, *arguments: Any, **named: Any) -> Any:
        """Return a pool whose connections record their sockets."""
        pool = super().get_connection_with_tls_context(*arguments, **named)
        if not issubclass(pool.ConnectionCls, _Tracked):
            bases = (_Tracked, pool.ConnectionCls)
            pool.ConnectionCls = type("TrackedConnection", bases, {"sockets": self._sockets})
        return pool


class _Tracked:
    """A connection that records its socket."""

    sockets: set[socket.socket]

    def connect(self) -> None:
        super().connect()  # type: ignore[misc]
        self.sockets.add(self.sock)  # type: ignore[attr-defined]
