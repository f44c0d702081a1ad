"""A console's server, and requests to it as they come from anywhere: whole, broken, or none at all."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.request import Request, urlopen

from recorded_console import TIME_LIMIT, RecordingOperatorView

from robocontrast_ros.console.access import Access
from robocontrast_ros.console.server import ConsoleServer
from robocontrast_ros.console.web import console_app

TOKEN = "t0ken-t0ken-t0ken-t0ken"
JSON = {"Content-Type": "application/json"}
OPENED = {"Authorization": f"Bearer {TOKEN}"}


class Served:
    """A server, and what its operator_view was given."""

    def __init__(self, host: str = "127.0.0.1", **files) -> None:
        self.operator_view = RecordingOperatorView()
        self.server = ConsoleServer(console_app(self.operator_view, TOKEN), host, 0, **files)
        self.port = int(self.server.url.rpartition(":")[2])
        self.server.start()

    def request(self, method: str, path: str, body=None, headers=None, source=None):
        """Return status, headers and body of an answer; the server closes the connection."""
        where = (source, 0) if source else None
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIME_LIMIT, source_address=where)
        try:
            connection.request(method, path, body, {"Connection": "close", **(headers or {})})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def command(self, content, headers=None):
        """Send a command with the token."""
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        return self.request("POST", "/command", body, {**JSON, **OPENED, **(headers or {})})

    def raw(self, content: bytes, whole: bool = True) -> bytes:
        """Send bytes and return all that comes until the server closes the connection."""
        with socket.create_connection(("127.0.0.1", self.port), TIME_LIMIT) as connection:
            received = bytearray()
            try:
                connection.sendall(content)
                if whole:
                    connection.shutdown(socket.SHUT_WR)
                while part := connection.recv(65536):
                    received += part
            except ConnectionError:
                # It may close before all was sent.
                pass
            return bytes(received)


@contextmanager
def served(**more) -> Iterator[Served]:
    """Serve, and close at the end."""
    one = Served(**more)
    try:
        yield one
    finally:
        one.server.close()


def head(method: str, path: str, *lines: str) -> bytes:
    """Return the head of a request as it is on the wire."""
    return "\r\n".join((f"{method} {path} HTTP/1.1", *lines, "", "")).encode("latin-1")


DEADLINE = 240.0
"""Of a session that a person without a browser runs [s]."""

PRIMARY = {"checklist": "checked", "set_up": "ready", "start": "start", "judge": "judge", "confirmed": "next"}
"""State of the page -> the command of its large button."""


class PersonByRequests:
    """A person without a browser, who ticks all, and gives the command of each large button.

    Attributes:
        seen: each state that the page was sent.
    """

    def __init__(self, access: Access) -> None:
        """Take the link."""
        self.seen: list[dict[str, Any]] = []
        self._access, self._received = access, 0.0

    def play(self, look: Callable[[str], None]) -> None:
        """Go on to the end of the session; ``look`` is told each phase before what is asked there is answered."""
        step, deadline = -1, time.monotonic() + DEADLINE
        with urlopen(self._request("events"), timeout=TIME_LIMIT) as stream:
            for line in stream:
                assert time.monotonic() < deadline, f"the session has not ended; the last state is {self.seen[-1:]}"
                if not line.startswith(b"data: "):
                    continue
                state, self._received = json.loads(line[6:]), time.monotonic()
                self.seen.append(state)
                if state["step"] == step:
                    continue
                step = state["step"]
                look(state["phase"])
                if state["phase"] == "finished":
                    return
                self._answer(state)

    def _answer(self, state: dict[str, Any]) -> None:
        phase = state["phase"]
        if phase == "checklist" or (phase == "set_up" and state["set_up"]["moves"]):
            self._send(state, "tick", name="")
        if phase in PRIMARY:
            self._send(state, PRIMARY[phase], **({"success": False} if phase == "judge" else {}))

    def _send(self, state: dict[str, Any], command: str, **more: Any) -> None:
        if command == "start":
            more = {"at": state["now"] + time.monotonic() - self._received, **more}
        content = {"command": command, "id": f"{time.monotonic_ns()}", "step": state["step"], **more}
        with urlopen(self._request("command", json.dumps(content).encode()), timeout=TIME_LIMIT) as reply:
            # The console may have confirmed by itself.
            assert json.load(reply)["accepted"] or command == "next"

    def _request(self, path: str, content: bytes | None = None) -> Request:
        return Request(f"{self._access.url}/{path}", content, {**JSON, "Authorization": f"Bearer {self._access.token}"})
