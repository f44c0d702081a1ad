"""Processes that fork from one with their common imports, so that these take their seconds only once.

A fork server is a process that imports modules and starts nothing else: no threads, no ROS, no graphics. Asked for a
command of the form ``python -c CODE …``, it forks, and the fork runs that code with its own arguments, environment and
outputs, as a new interpreter would, and under that name. It works on Linux alone: its socket has a name and no file,
and processes of other users are refused.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import inspect
import os
import resource
import secrets
import selectors
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe
from typing import Any

import setproctitle

from robocontrast_ros.system.garbage import YOUNG
from robocontrast_ros.system.processes import die_with_parent

UNFORKED = ("robocontrast_ros.nodes.second_simulator_node",)
"""Modules whose processes are new interpreters: a fork has MuJoCo imported already."""

ROOM = 1000
"""Least characters for the name of a fork; Linux keeps it in the place of the server's own arguments."""

_PREFIX = "robocontrast-fork-"
_CREDENTIALS = struct.Struct("3i")


@dataclass(frozen=True)
class _Request:
    """The command of a fork; the descriptors of its input, output and errors follow.

    Attributes:
        command: ``[python, "-c", code, *arguments]``.
        environment: environment of the fork.
        folder: its working directory.
        new_session: whether signals of the terminal do not reach it.
        orphaned: the signal that it gets when the process that asked for it is gone.
        function: ``module:function`` that the fork calls first, whose result is the answer; that of a ``Future`` when
            it is done. The next request with this code is for this fork; without code it ends. Empty for a fork that
            runs at once.
        arguments: arguments of that function.
    """

    command: list[str]
    environment: dict[str, str]
    folder: str
    new_session: bool
    orphaned: int
    function: str = ""
    arguments: tuple[Any, ...] = ()

    @property
    def code(self) -> str:
        """The code to run; empty for a function alone."""
        return self.command[2]


def forkable(command: Sequence[str]) -> bool:
    """Return whether a fork server can run a command."""
    return list(command[:2]) == [sys.executable, "-c"] and not any(name in command[2] for name in UNFORKED)


class ForkServer:
    """A fork server that ends with this process, or when it is closed."""

    def __init__(self, modules: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start it; it takes requests at once, and answers when it has imported the modules.

        Args:
            modules: modules to import. One that cannot be imported is left out, and its processes report the reason.
            environment: environment during the imports.
        """
        self.name = _PREFIX + secrets.token_hex(16)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
            listening.bind(f"\0{self.name}")
            listening.listen(64)
            code = "from robocontrast_ros.system.forking import main; main()"
            words = [str(listening.fileno()), ",".join(modules), " " * ROOM]
            self._process = subprocess.Popen(
                [sys.executable, "-c", code, *words],
                # MuJoCo's import would open the graphics that this variable names, and a fork of that may hang.
                env={**environment, "MUJOCO_GL": "disabled"},
                stdin=subprocess.DEVNULL,
                pass_fds=[listening.fileno()],
                start_new_session=True,
                preexec_fn=die_with_parent,
            )

    def start(self, command: Sequence[str], environment: Mapping[str, str], output: int) -> Forked:
        """Run a command in a fork; see ``Forked``.

        Args:
            command: as ``forkable`` demands.
            environment: environment of the fork.
            output: descriptor for its output and errors; its input is empty.
        """
        with open(os.devnull, "rb") as nothing:
            files = nothing.fileno(), output, output
            return Forked(self.name, command, environment, files, new_session=True, orphaned=signal.SIGTERM)

    def prepare(self, code: str, function: str, *arguments: Any, environment: Mapping[str, str]) -> Prepared:
        """Begin a fork before its command is known, as soon as its function's module is imported; see ``Prepared``.

        Args:
            code: the code that it will run; empty for a fork that ends with the function.
            function: ``module:function``, which it calls now.
            arguments: arguments of that function.
            environment: environment of the fork until its request.
        """
        return Prepared(self.name, code, function, arguments, environment)

    def close(self) -> None:
        """End the server; forks that still run are orphans then."""
        self._process.terminate()
        self._process.wait()


class Forked:
    """A fork, for its caller: the part of ``subprocess.Popen`` that is needed here.

    Attributes:
        returncode: as that of ``Popen``; None until ``poll`` or ``wait`` has seen its end.
    """

    def __init__(
        self,
        server: str,
        command: Sequence[str],
        environment: Mapping[str, str],
        files: Sequence[int],
        new_session: bool = False,
        orphaned: int = signal.SIGKILL,
    ) -> None:
        """Ask a fork server, by the name of its socket, for a process; see ``_Request``.

        Raises:
            OSError: the server is gone.
        """
        self.returncode: int | None = None
        request = _Request(list(command), dict(environment), os.getcwd(), new_session, orphaned)
        self._line = _asked(server, request, files)

    def poll(self) -> int | None:
        """Return the exit code, negative for the number of a signal; None while it runs."""
        return self.wait(0.0)

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait up to a time [s] for its end, without limit if None; return as ``poll``."""
        if self.returncode is None and self._line.poll(timeout):
            try:
                self.returncode = self._line.recv()
            except (EOFError, OSError):
                # The server is gone, and the kernel has sent this signal to its forks.
                self.returncode = -signal.SIGTERM
            self._line.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended; any thread may."""
        with contextlib.suppress(OSError):
            self._line.send(int(number))


class Prepared:
    """A fork that calls a function, and waits for the request with its code; it prints its output then.

    Without code, it ends with the function.
    """

    def __init__(
        self, server: str, code: str, function: str, arguments: tuple[Any, ...], environment: Mapping[str, str]
    ) -> None:
        """Begin it; see ``ForkServer.prepare``.

        Raises:
            OSError: the server is gone.
        """
        command, ends = [sys.executable, "-c", code], signal.SIGTERM
        request = _Request(command, dict(environment), os.getcwd(), True, ends, function, arguments)
        with open(os.devnull, "rb") as nothing:
            # The file has no name: no other process writes there, and it ends with the last process that has it open.
            self._said = tempfile.TemporaryFile()  # noqa: SIM115
            files = nothing.fileno(), self._said.fileno(), self._said.fileno()
            self._line = _asked(server, request, files)

    def result(self, timeout: float | None = None) -> Any:
        """Wait for the function, and return its result; call this once.

        Args:
            timeout: longest wait [s]; no limit if None.

        Raises:
            EOFError: the fork ended before.
            TimeoutError: the time has passed.
        """
        with self._line:
            if not self._line.poll(timeout):
                raise TimeoutError
            try:
                return self._line.recv()
            except OSError:
                raise EOFError from None

    def said(self) -> str:
        """Return its output so far."""
        # The fork writes at the last user's position in this file.
        size = os.fstat(self._said.fileno()).st_size
        return os.pread(self._said.fileno(), size, 0).decode(errors="replace")


def _asked(server: str, request: _Request, files: Sequence[int]) -> Connection:
    """Send a request, and return the connection over which the answer comes.

    Raises:
        OSError: the server is gone.
    """
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        line.connect(f"\0{server}")
        return _sent(Connection(line.detach()), request, files)
    except BaseException:
        line.close()
        raise


def _sent(line: Connection, request: _Request, files: Sequence[int]) -> Connection:
    with socket.socket(fileno=os.dup(line.fileno())) as end:
        socket.send_fds(end, [b"f"], list(files))
    line.send(request)
    return line


def _received(line: Connection) -> tuple[_Request, list[int]]:
    """Receive a request with its descriptors.

    Raises:
        OSError: it is not whole.
        EOFError: there is no request.
    """
    with socket.socket(fileno=os.dup(line.fileno())) as end:
        _, files, _, _ = socket.recv_fds(end, 1, 3)
    try:
        return line.recv(), files
    except BaseException:
        for file in files:
            os.close(file)
        raise


def run_forked(server: str, command: Sequence[str]) -> int | None:
    """Run a command in a fork in place of this process, which passes signals on; return its exit code.

    This is for a launcher that watches its own processes. The fork is killed with this process.

    Returns:
        None if the server is gone, or cannot run it, and nothing was started.
    """
    if not forkable(command):
        return None
    passed_on = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT}
    # Blocked to the end: a signal at the end of this process must not change its exit code.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, passed_on)
    try:
        forked = Forked(server, command, os.environ, (0, 1, 2))
    except OSError:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        return None

    def pass_on() -> None:
        while True:
            forked.send_signal(signal.sigwait(passed_on))

    threading.Thread(target=pass_on, daemon=True).start()
    die_with_parent()
    code = forked.wait()
    if code < 0:
        # Only a core dump of the fork, not of this process, is of use.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with contextlib.suppress(OSError):
            signal.signal(-code, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {-code})
        os.kill(os.getpid(), -code)
    return code


def main() -> None:
    """Serve forks until the end; in a fork, return when its code has run. The arguments are those of ``ForkServer``."""
    descriptor, modules, _ = sys.argv[1:]
    end = _End()
    # It is called after all others, which are registered later.
    atexit.register(end)
    # This call records the place of the arguments.
    setproctitle.getproctitle()
    gc.disable()
    request = _Server(socket.socket(fileno=int(descriptor))).serve(modules.split(","))
    # Imports stay in memory that all forks share, because no collection of garbage touches them.
    gc.freeze()
    gc.enable()
    gc.set_threshold(YOUNG)
    setproctitle.setproctitle(" ".join(request.command))
    sys.argv = ["-c", *request.command[3:]]
    try:
        exec(compile(request.code, "<string>", "exec"), {"__name__": "__main__"})
    except SystemExit as ends:
        end.code = ends.code
        raise
    end.code = None


class _End:
    """Ends a fork when Python has ended in order, before the libraries do.

    LTTng, which ROS may be built with, then ends threads of the server that a fork does not have, and crashes.

    Attributes:
        code: argument of ``sys.exit``.
    """

    def __init__(self) -> None:
        """Begin with the exit code of an unhandled exception."""
        self.code: object = 1

    def __call__(self) -> None:
        """End the process."""
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(0 if self.code is None else self.code if isinstance(self.code, int) else 1)


class _Server:
    """Forks for each request, and reports each fork's exit code to its caller."""

    def __init__(self, listening: socket.socket) -> None:
        """Take the socket of the requests."""
        self._listening = listening
        self._woken, self._wake = socket.socketpair()
        for end in (self._woken, self._wake):
            end.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(self._wake.fileno())
        # Connections of running forks, and of forks that wait for a request; forks that end with their functions.
        self._running: dict[int, Connection] = {}
        self._waiting: dict[str, tuple[int, Connection]] = {}
        self._calls: set[int] = set()
        # Requests without an answer yet.
        self._requests: list[tuple[Connection, _Request, list[int]]] = []
        self._imported = False
        self._selector = selectors.DefaultSelector()
        self._selector.register(listening, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)

    def serve(self, modules: Sequence[str]) -> _Request:
        """Import modules and serve until the end; return only in a fork, with its request."""
        for name in modules:
            # Its processes meet the same error and report it in their logs.
            with contextlib.suppress(Exception):
                importlib.import_module(name)
            if (request := self._served(0.0)) is not None:
                return request
        # Rclpy's logger looks for the module of its caller: at first among all that are imported.
        inspect.getmodule(sys._getframe())
        self._imported, timeout = True, 0.0
        while (request := self._served(timeout)) is None:
            timeout = None
        return request

    def _served(self, timeout: float | None) -> _Request | None:
        """Serve requests within a time [s], without limit if None; return a request only in its fork."""
        for key, _ in self._selector.select(timeout):
            if key.fileobj is self._woken:
                with contextlib.suppress(BlockingIOError):
                    self._woken.recv(1 << 12)
            elif key.fileobj is not self._listening:
                self._pass_on(key.fileobj, *key.data)
            elif (asked := _accepted(self._listening)) is not None:
                self._requests.append(asked)
        self._tell_ended()
        for asked in [asked for asked in self._requests if self._can_answer(asked[1])]:
            self._requests.remove(asked)
            if (request := self._answer(*asked)) is not None:
                return request
        return None

    def _can_answer(self, request: _Request) -> bool:
        """Return whether all imports of a fork for this request are done."""
        return self._imported or request.function.partition(":")[0] in sys.modules

    def _answer(self, line: Connection, request: _Request, files: list[int]) -> _Request | None:
        """Fork for a request, unless a fork waits for it; return the request only in the fork."""
        server, pid, ends = os.getpid(), None, None
        if not request.function:
            pid = self._taken(request, files)
        elif request.code:
            ends = Pipe()
        if pid is None and (pid := os.fork()) == 0:
            self._leave()
            if ends is None:
                return _forked(request, files, server, line, None)
            ends[0].close()
            return _forked(request, files, server, line, ends[1])
        for file in files:
            os.close(file)
        if not request.function:
            self._running[pid] = line
            self._selector.register(line, selectors.EVENT_READ, (pid, request.orphaned))
            return None
        line.close()
        if ends is None:
            self._calls.add(pid)
        else:
            ends[1].close()
            self._waiting[request.code] = pid, ends[0]
        return None

    def _taken(self, request: _Request, files: Sequence[int]) -> int | None:
        """Give a request to the fork that waits for it, and return its process id; None if there is none."""
        pid, held = self._waiting.pop(request.code, (0, None))
        if held is None:
            return None
        with held:
            try:
                _sent(held, request, files)
            except OSError:
                return None
        return pid

    def _leave(self) -> None:
        """Close, in a fork, the server's descriptors."""
        signal.set_wakeup_fd(-1)
        self._selector.close()
        held = (end for _, end in self._waiting.values())
        for end in (self._listening, self._woken, self._wake, *self._running.values(), *held):
            end.close()
        for line, _, files in self._requests:
            line.close()
            for file in files:
                os.close(file)

    def _pass_on(self, line: Connection, pid: int, orphaned: int) -> None:
        """Send a fork the requested signal, or the one for a fork whose caller is gone."""
        try:
            number = line.recv()
        except (EOFError, OSError):
            number = orphaned
            self._selector.unregister(line)
        if pid in self._running:
            os.kill(pid, number)

    def _tell_ended(self) -> None:
        """Report the exit codes of the forks that have ended."""
        self._calls = {pid for pid in self._calls if not os.waitpid(pid, os.WNOHANG)[0]}
        for code, (pid, held) in tuple(self._waiting.items()):
            if os.waitpid(pid, os.WNOHANG)[0]:
                del self._waiting[code]
                held.close()
        for pid, line in tuple(self._running.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if not ended:
                continue
            del self._running[pid]
            # The caller may be gone.
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(line)
            with contextlib.suppress(OSError):
                line.send(os.waitstatus_to_exitcode(status))
            line.close()


def _forked(
    request: _Request, files: Sequence[int], server: int, line: Connection, asked: Connection | None
) -> _Request:
    """Set this fork up for its request; if it has a function, call that and wait for the next request."""
    if request.new_session:
        os.setsid()
    _become(request, server)
    _redirect(files)
    if not request.function:
        line.close()
        return request
    module, _, function = request.function.partition(":")
    result = getattr(importlib.import_module(module), function)(*request.arguments)
    _answer_when_done(line, result)
    if asked is None:
        raise SystemExit
    try:
        request, files = _received(asked)
    except (OSError, EOFError):
        os._exit(0)
    asked.close()
    said = os.dup(1)
    _redirect(files)
    with contextlib.suppress(OSError):
        os.write(2, os.pread(said, os.fstat(said).st_size, 0))
    os.close(said)
    _become(request, server)
    return request


def _answer_when_done(line: Connection, result: Any) -> None:
    """Send the result of a function, or of its ``Future`` when it is done; close the line if it failed."""
    if not isinstance(result, Future):
        done: Future[Any] = Future()
        done.set_result(result)
        result = done

    def send(found: Future[Any]) -> None:
        with line, contextlib.suppress(OSError):
            if found.exception() is None:
                line.send(found.result())

    result.add_done_callback(send)


def _accepted(listening: socket.socket) -> tuple[Connection, _Request, list[int]] | None:
    """Take a request with its descriptors; None if it is not whole, or another user's."""
    end, _ = listening.accept()
    size = _CREDENTIALS.size
    _, user, _ = _CREDENTIALS.unpack(end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    line = Connection(end.detach())
    try:
        if user == os.getuid():
            return line, *_received(line)
    except (OSError, EOFError):
        pass
    line.close()
    return None


def _become(request: _Request, server: int) -> None:
    """Give this fork the environment and the folder of a request, and the signals of a new process."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGCHLD):
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    die_with_parent()
    if os.getppid() != server:
        os._exit(1)
    # Change no more than needed, because the fork's running work may read it meanwhile.
    for name in os.environ.keys() - request.environment.keys():
        del os.environ[name]
    os.environ.update({name: value for name, value in request.environment.items() if os.environ.get(name) != value})
    with contextlib.suppress(OSError):
        os.chdir(request.folder)


def _redirect(files: Sequence[int]) -> None:
    """Make these descriptors, which are closed, this process's input, output and errors."""
    for standard, file in enumerate(files):
        os.dup2(file, standard)
    for file in files:
        if file > 2:
            os.close(file)
