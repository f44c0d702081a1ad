"""Requests of every kind to a console and its real server: what comes of them when most are wrong.

    python -m benchmark.fuzz_console --requests 10000

Methods, paths, headers and bodies are drawn at random, valid commands are changed, with the token and without it, and
some connections carry no HTTP at all. Meanwhile the console is asked one question after the
other. Nothing may be printed by the server, no answer may be an error of the server or tell of one, no command may be
carried out without the token, and the server has to answer afterwards.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import select
import socket
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from robocontrast_ros.configuration import load_configured, resolve_uri
from robocontrast_ros.console.commands import Command
from robocontrast_ros.console.console import Console, Reply, SessionFacts
from robocontrast_ros.console.new_instances import NewInstances
from robocontrast_ros.console.operator_view import ConsoleOperatorView
from robocontrast_ros.console.questions import JudgeQuestion, Question, SetUpQuestion, StartQuestion
from robocontrast_ros.console.server import ConsoleServer
from robocontrast_ros.console.table_map import TableMap
from robocontrast_ros.console.web import console_app
from robocontrast_ros.domain import Judgement
from robocontrast_ros.strategies.effort import Tolerance, setup_moves
from robocontrast_ros.tasks.protocol import Task

TASK = "package://robocontrast_ros/config/tasks/language_table.yaml"

TOKEN = "right-token-right-token"
TIME_LIMIT = 20.0
"""How long an answer is waited for [s]."""

WAITING = 0.03
"""How long the server may be silent before it is told that nothing more is sent [s]."""

STOPPED = "stopped by a request to /stop"

NOW = 3
"""In place of the step that the page shows: where a command has it, it names the question that is asked."""

METHODS = ("GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "get", "P\x00ST", "")
PATHS = (
    *("/", "/view", "/command", "/command", "/command", "/stop", "/console.js", "/camera.jpg", "/target.jpg"),
    *("/../view", "//view", "/%2e%2e/etc/passwd", "/view/", "/..\\x", "/%00", "*", "http://x/view", "view", "/a b"),
)
HOSTS = ("127.0.0.1", "localhost:1", "[::1]", "evil.example", "127.0.0.1.evil.example", "a/b", "[", "", "\xff", "@:")
ORIGINS = ("http://evil.example", "null", "http://127.0.0.1:1", "", "://", "\xe9")
KINDS = ("application/json", "application/json; charset=utf-8", "text/plain", "application/x-www-form-urlencoded", "")
OTHERS = (
    *("X-Forwarded-For: 127.0.0.1", "Upgrade: websocket", "Expect: 100-continue", "Transfer-Encoding: chunked"),
    *(
        "Transfer-Encoding: gzip",
        "Content-Length: 5",
        "Content-Length: -1",
        "Content-Length: 99999999999",
        "Cookie: a=b",
    ),
    *(
        "no colon",
        ": no name",
        "X: " + "y" * 3000,
        "X-Ctl: \x01\x02",
        "Range: bytes=0-1",
        " folded: 1",
        "Connection: x",
    ),
)
TOKENS = (f"Bearer {TOKEN}x", "Bearer ", f"Basic {TOKEN}", TOKEN, "Bearer wrong", "\xff", "Bearer " + "z" * 500)
COMMANDS: tuple[dict[str, Any], ...] = (
    {"command": "stop"},
    {"command": "pause"},
    {"command": "start", "step": NOW, "at": 0.0},
    {"command": "resume", "step": NOW, "at": 0.0},
    {"command": "tick", "step": NOW, "name": "", "done": True},
    {"command": "checked", "step": NOW},
    {"command": "ready", "step": NOW},
    {"command": "survey", "step": NOW},
    {"command": "keep", "step": NOW},
    {"command": "next", "step": NOW},
    {"command": "judge", "step": NOW, "success": True, "progress": 0.5, "tags": ["a"], "note": "b", "by": "Ada"},
    {"command": "void", "step": NOW, "reason": "it fell"},
    {"command": "skip", "step": NOW, "reason": "it fell"},
    {"command": "correct", "step": NOW, "trial": "0001", "success": False, "by": "Ada", "reason": "it fell"},
    {"command": "propose", "step": NOW, "instruction": "push it", "path": [[0.0, 1.0], [2.0, 3.0]], "by": "Ada"},
    {"command": "release", "step": NOW, "at": 0.0, "by": "Ada", "note": ""},
)
VALUES = (
    None,
    True,
    -1,
    1e308,
    10**40,
    "",
    "\x00",
    "\u2028",
    "x" * 600,
    [],
    [[]],
    {},
    {"a": {}},
    "judge",
    0.5,
    ["a"] * 30,
)
TELLTALE = re.compile(rb"Traceback|File \"|site-packages|robocontrast_ros|starlette|uvicorn")


class NoSession:
    """What a console steers where there is no session: everything is done at once."""

    def __init__(self) -> None:
        """Begin with a console that is set later."""
        self.console: Console | None = None

    def stop(self, reason: str) -> None:
        """Say that the robot is stopped."""
        self.console.tell_stop(reason or "stopped")

    def release(self, by: str, note: str) -> None:
        """Say that it is not."""
        self.console.tell_stop("")

    def reached(self) -> None:
        """Say that the trial has ended."""
        self.console.trial_ended()

    def pause(self) -> None:
        """Say that the session is paused."""
        self.console.tell(SessionFacts("paused"))

    def resume(self) -> None:
        """Say that it goes on."""
        self.console.tell(SessionFacts("running"))

    def correct(self, trial_id: str, judgement: Judgement, reason: str) -> None:
        """Do nothing."""

    def end(self) -> None:
        """Do nothing: the next question is asked all the same."""


class Recorder(ConsoleOperatorView):
    """A console that is asked one question after the other, which keeps the commands that it was given.

    Attributes:
        given: those commands.
        questions: how many questions were answered.
    """

    def __init__(self, folder: Path) -> None:
        """Begin to ask.

        Args:
            folder: for what is recorded.
        """
        task: Task = load_configured("tasks", resolve_uri(TASK))
        scene, other = (task.sample(np.random.default_rng(seed), "x").scene for seed in (0, 1))
        steering = NoSession()
        recorder = NewInstances(task, folder / "instances.yaml", lambda: scene, "as it is")
        self._own = steering.console = Console(steering, ("lamp",), instances=recorder)
        self._own.remember("0001", Judgement(True, 1.0, "Ada"))
        camera = np.zeros((48, 64, 3), np.uint8)
        tables = TableMap(task)
        super().__init__(self._own, tables, lambda: camera, lambda scene: camera, "run", False)
        self.given: list[Command] = []
        self.questions = 0
        asked = (
            SetUpQuestion(scene, other, setup_moves(other, scene, Tolerance())),
            StartQuestion("0001", "push the red moon"),
            JudgeQuestion("0001", "push the red moon", "the time was over", 2),
        )
        self._thread = threading.Thread(target=self._ask, args=(asked,), daemon=True)
        self._thread.start()

    def _ask(self, questions: tuple[Question, ...]) -> None:
        for question in itertools.cycle(questions):
            self._own.ask(question)
            if self._own.view().phase.value == "finished":
                return
            self.questions += 1
            self._own.trial_ended()

    def carry_out(self, command: Command) -> Reply:
        """Keep it, and have it carried out; one that names a question names the one that is asked."""
        self.given.append(command)
        if len(self.given) % 3 == 0:
            # Most commands can do nothing to a robot that is stopped.
            self._own.tell_stop("")
        if command.step == NOW:
            command = replace(command, step=self._own.view().step)
        if getattr(command, "at", None) == 0.0:
            command = replace(command, at=self._own.view().now)
        return super().carry_out(command)

    def close(self) -> None:
        """Ask no more."""
        self._own.close()
        self._thread.join()


@dataclass
class Outcome:
    """What came of it.

    Attributes:
        requests: how many were sent.
        seconds: that it took [s].
        statuses: status of the first answer -> number; 0 for none.
        carried_out: commands that were given to the console.
        questions: that were answered meanwhile.
        faults: what should not have happened, in words.
        printed: what the process printed as errors meanwhile.
    """

    requests: int
    seconds: float = 0.0
    statuses: Counter[int] = field(default_factory=Counter)
    carried_out: int = 0
    questions: int = 0
    faults: list[str] = field(default_factory=list)
    printed: str = ""


@dataclass(frozen=True)
class Request:
    """What is sent.

    Attributes:
        content: all bytes.
        whole: whether it is HTTP to its end, as far as we know.
        may: id of the command that it may give, for it has the token; empty where it may give none.
        stops: whether it is a stop that is taken without the token.
    """

    content: bytes
    whole: bool = False
    may: str = ""
    stops: bool = False


class Requests:
    """Draws requests."""

    def __init__(self, seed: int) -> None:
        """Begin."""
        self._rng, self._number = np.random.default_rng(seed), 0

    def draw(self) -> Request:
        """Return the next one."""
        self._number += 1
        kind = self._rng.random()
        if kind < 0.08:
            return Request(self._bytes(int(self._rng.integers(0, 400))))
        if kind < 0.12:
            return Request(self._damaged(self._http().content))
        return self._http()

    def _one(self, options: Any) -> Any:
        return options[int(self._rng.integers(len(options)))]

    def _may(self, share: float) -> bool:
        return bool(self._rng.random() < share)

    def _bytes(self, size: int) -> bytes:
        return self._rng.integers(0, 256, size, dtype=np.uint8).tobytes()

    def _damaged(self, content: bytes) -> bytes:
        # The token is taken away, so that whatever is left of it may do nothing.
        damaged = bytearray(content.replace(TOKEN.encode(), b"gone").replace(b"/stop", b"/stpo"))
        for _ in range(int(self._rng.integers(1, 8))):
            damaged[int(self._rng.integers(len(damaged)))] = int(self._rng.integers(256))
        return bytes(damaged[: int(self._rng.integers(1, len(damaged) + 1))])

    def _http(self) -> Request:
        likely = self._may(0.5)
        path = "/command" if likely else self._one(PATHS)
        if not likely and self._may(0.2):
            path = "/" + self._bytes(int(self._rng.integers(1, 30))).decode("latin-1").replace("\n", "").replace(
                "\r", ""
            )
        method = "POST" if likely and self._may(0.9) else self._one(METHODS)
        name, body = self._body(likely)
        token = self._may(0.4)
        host = "127.0.0.1" if likely or self._may(0.3) else self._one(HOSTS)
        origin = None if self._may(0.7) else self._one(ORIGINS)
        lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", f"Content-Length: {len(body)}", "Connection: close"]
        lines.append(f"Content-Type: {KINDS[0] if likely or self._may(0.6) else self._one(KINDS)}")
        if token:
            lines.append(f"Authorization: Bearer {TOKEN}")
        elif self._may(0.6):
            lines.append(f"Authorization: {self._one(TOKENS)}")
        if origin is not None:
            lines.append(f"Origin: {origin}")
        if self._may(0.2):
            lines.insert(int(self._rng.integers(1, len(lines) + 1)), self._one(OTHERS))
        content = "\r\n".join((*lines, "", "")).encode("latin-1") + body
        # No origin is that of the server, whose port is never 80.
        known = host in HOSTS[:3] and origin is None
        may = token and origin is None
        return Request(content, True, name if may else "", path == "/stop" and (may or known))

    def _body(self, likely: bool) -> tuple[str, bytes]:
        if not likely and self._may(0.5):
            return "", self._one((b"", self._bytes(50), b"[" * 5000, b" " * 20_000, b'{"a":' * 900, b"null"))
        name = f"c{self._number}"
        fields = {"id": name, **self._one(COMMANDS)}
        for _ in range(int(self._rng.integers(0, 3)) if self._may(0.5) else 0):
            key = self._one((*fields, "more", "step", "x\ny"))
            fields[key] = self._one(VALUES)
        body = json.dumps(fields).encode()
        if self._may(0.1):
            return "", self._damaged(body).replace(b'"c', b'"d')
        return str(fields["id"]), body


def fuzz(requests: int, seed: int = 0) -> Outcome:
    """Send requests to a server of our own."""
    outcome, drawn = Outcome(requests), Requests(seed)
    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder(Path(folder))
        _send(outcome, drawn, recorder)
    return outcome


def _send(outcome: Outcome, drawn: Requests, recorder: Recorder) -> None:
    """Send the requests, and note what comes of them."""
    server = ConsoleServer(console_app(recorder, TOKEN), "127.0.0.1", 0)
    port = int(server.url.rpartition(":")[2])
    began, known, stops = time.monotonic(), {""}, 0
    with _printed(outcome):
        server.start()
        try:
            for number in range(outcome.requests):
                request = drawn.draw()
                known.add(request.may)
                stops += request.stops
                answer = _sent(port, request.content, request.whole)
                status = _status(answer)
                outcome.statuses[status] += 1
                if status >= 500 or TELLTALE.search(answer):
                    outcome.faults.append(f"request {number}: {request.content[:300]!r} gave {answer[:300]!r}")
            if _status(_sent(port, b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", True)) != 200:
                outcome.faults.append("the server does not answer any more")
        except OSError as error:
            outcome.faults.append(f"the server does not answer any more: {error}")
        finally:
            server.close()
            recorder.close()
    outcome.seconds, outcome.carried_out = time.monotonic() - began, len(recorder.given)
    outcome.questions = recorder.questions
    # A stop of the path /stop gets an id of its own.
    taken = [command for command in recorder.given if getattr(command, "reason", "") == STOPPED]
    outcome.faults += [f"carried out: {c}" for c in recorder.given if c not in taken and c.id not in known]
    if len(taken) > stops:
        outcome.faults.append(f"{len(taken)} stops were carried out, {stops} were allowed")
    if outcome.printed:
        outcome.faults.append(f"printed: {outcome.printed[:2000]}")


def _sent(port: int, content: bytes, whole: bool) -> bytes:
    """Send bytes and return what comes back until the server closes; tell it that there is no more where it waits.

    Raises:
        OSError: nothing comes, and the connection stays open.
    """
    received = bytearray()
    with socket.create_connection(("127.0.0.1", port), TIME_LIMIT) as connection:
        try:
            connection.sendall(content)
            if not whole:
                connection.shutdown(socket.SHUT_WR)
            while True:
                if whole and not select.select([connection], [], [], WAITING)[0]:
                    connection.shutdown(socket.SHUT_WR)
                    whole = False
                part = connection.recv(65536)
                if not part:
                    break
                received += part
        except ConnectionError:
            # It may close before all was sent.
            pass
    return bytes(received)


def _status(answer: bytes) -> int:
    found = re.match(rb"HTTP/1\.1 (\d{3}) ", answer)
    return int(found.group(1)) if found else 0


@contextmanager
def _printed(outcome: Outcome) -> Iterator[None]:
    """Note what this process writes to its standard error."""
    with tempfile.TemporaryFile() as file:
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            outcome.printed = file.read().decode(errors="replace")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=10_000, help="how many")
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn")
    arguments = parser.parse_args()
    outcome = fuzz(arguments.requests, arguments.seed)
    said = f"{outcome.requests} requests in {outcome.seconds:.1f} s, {outcome.carried_out} commands given"
    print(f"{said}, {outcome.questions} questions answered")
    print("answers:", ", ".join(f"{status or 'none'}: {n}" for status, n in sorted(outcome.statuses.items())))
    for fault in outcome.faults[:20]:
        print(fault)
    return 1 if outcome.faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
