"""The ROS domain of a session: locked on this machine, and probed for other sessions before any node is started.

Two sessions in one domain and one namespace destroy each other: each node receives the messages of both. A lock keeps
the sessions of one machine apart, also those of other users. A session without a visible lock (in a container, with
another /tmp, on another machine) is visible in the ROS graph.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from typing_extensions import Self

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.configuration.environment import ROS_VARIABLES, SOURCE, blamed, check_values
from robocontrast_ros.graph.names import LEADER
from robocontrast_ros.system.forking import ForkServer, Prepared
from robocontrast_ros.system.processes import die_with_parent

VARIABLE = "ROS_DOMAIN_ID"

DOMAINS = range(1, 101)
"""ROS domains that any operating system can use (REP-2000's port mapping leaves 101 for Linux and more)."""

LARGEST_DOMAIN = 232
"""A larger domain would have port numbers that do not exist (DDS-RTPS, port mapping)."""

PROBE_DURATION = 1.2
"""Time for which a probe looks for another session's graph [s].

One participant discovers another within 0.1 s in most cases, and in one of six only with its next announcement, up to
3 s later; so a probe has several (``nodes/graph_probe.py``). At a load of 10 on two cores, eight of them
in 1.2 s missed none of 40 sessions, and none of 55 at less load; four in 2.5 s missed one of 40.
"""

PROBE_DEADLINE = 30.0
"""Time after which a probe is not waited for any more [s]."""

_RAISED = re.compile(r"^(?:\[ERROR\] \[[\d.]+\] \[\w+\]: |[\w.]+(?:Error|Exception): )")
"""Beginning of a line of ROS's log, or of the last line of a traceback."""

_PLACE = re.compile(r"(?:, exiting with \d+\.)?(?:, at \S+:\d+)+$")
"""End of ROS's messages: the place in its own code."""

CURE = (
    f"Unset {VARIABLE} (a free domain is then taken), set another number, or give this session a namespace of its own."
)


class Domain:
    """A ROS domain, and a namespace in it, that no other session uses; held until closed.

    Attributes:
        number: the domain.
        namespace: the namespace, without slashes at its ends; empty for none.
        chosen: whether this class chose the domain, and not the user.
    """

    def __init__(self, namespace: str = "", number: int | None = None) -> None:
        """Take a domain.

        Args:
            namespace: namespace of the session's nodes; sessions in two namespaces of one domain do not meet.
            number: the domain; if None, the user's ROS_DOMAIN_ID, or if that is not set, the first without a session.

        Raises:
            ConfigurationError: ``number`` is no domain, another session of this machine is in it, or all are taken.
        """
        self.namespace = namespace.strip("/")
        self._lock: int | None = None
        self._probe: GraphProbe | None = None
        given = given_domain() if number is None else number
        self.chosen = given is None
        self.number = 0 if given is None else given
        if given is None:
            self._take_free(DOMAINS)
        elif not self._take(given):
            raise _taken(given, self.namespace, _holder(_lock_file(given, self.namespace)))

    @classmethod
    def probed(
        cls,
        namespace: str,
        environment: Mapping[str, str],
        server: ForkServer | None = None,
        number: int | None = None,
    ) -> Self:
        """Take a domain and start to look for another session in it; as the constructor and ``start_probe``."""
        domain = cls(namespace, number)
        try:
            domain.start_probe(environment, server)
        except BaseException:
            domain.close()
            raise
        return domain

    def start_probe(self, environment: Mapping[str, str], server: ForkServer | None = None) -> None:
        """Start to look for another session's graph; ``confirm`` takes the result.

        Args:
            environment: environment of the session's nodes, which decides what they discover. Its ROS_DOMAIN_ID is set
                here.
            server: forks the session's nodes; None if there is none.

        Raises:
            ConfigurationError: a variable of the environment has a value that is wrong on any machine.
        """
        check_values(ROS_VARIABLES, environment)
        wanted = None if self.chosen else self.namespace
        self._environment = {**environment, VARIABLE: str(self.number)}
        self._probe = GraphProbe(self._environment, wanted, server=server)

    def confirm(self) -> None:
        """Wait for the probe; if it finds a session in a domain that was chosen here, take the next domain.

        Raises:
            ConfigurationError: another session's graph is visible in the user's domain, or in all others; or ROS does
                not run in the environment, or nodes do not discover each other.
        """
        while self._probe is not None:
            found, self._probe = self._probe.found(), None
            if not found:
                return
            if not self.chosen:
                others = f"the node '{found[0]}' is visible there, of another user, container or machine"
                raise _taken(self.number, self.namespace, others)
            self._release()
            self._take_free(range(self.number + 1, DOMAINS.stop))
            self.start_probe(self._environment)

    def record_run(self, run: Path) -> None:
        """Write the run folder into the lock, for the message to a refused session."""
        self._write(str(run))

    def _write(self, run: str) -> None:
        # The content only serves a message: a full disk, or a file of another user, must not stop a session.
        if self._lock is not None:
            with contextlib.suppress(OSError):
                os.ftruncate(self._lock, 0)
                os.pwrite(self._lock, json.dumps({"pid": os.getpid(), "run": run}).encode(), 0)

    def close(self) -> None:
        """Release the domain."""
        if self._probe is not None:
            self._probe.stop()
            self._probe = None
        self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _take_free(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            # A session in another namespace would do no harm, but a domain is not shared without need.
            if self._take(number) and not _others(number, self.namespace):
                return
            self._release()
        raise ConfigurationError(
            SOURCE,
            VARIABLE,
            "nothing, and all domains are in use",
            "a free one",
            "End another session.",
        )

    def _take(self, number: int) -> bool:
        """Lock a domain; return whether it was free. The lock ends with the process, however that ends."""
        lock = _open(_lock_file(number, self.namespace))
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return False
        self._lock, self.number = lock, number
        self._write("")
        return True

    def _release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def given_domain() -> int | None:
    """Return the user's ROS_DOMAIN_ID; None if it is not set.

    Raises:
        ConfigurationError: the value is not the number of a domain.
    """
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return None
    if not text.isdecimal() or int(text) > LARGEST_DOMAIN:
        expected = f"a number from 0 to {LARGEST_DOMAIN}"
        raise ConfigurationError(SOURCE, VARIABLE, text, expected, f"Unset {VARIABLE}, or set such a number.")
    return int(text)


class GraphProbe:
    """A process that looks for sessions in the ROS graph (``nodes/graph_probe.py``)."""

    def __init__(
        self,
        environment: Mapping[str, str],
        namespace: str | None,
        duration: float = PROBE_DURATION,
        server: ForkServer | None = None,
    ) -> None:
        """Start the process.

        Args:
            environment: environment of the nodes that will be started, which decides what they discover.
            namespace: namespace of the sessions; None for any.
            duration: time of the search [s].
            server: forks the process; if None or lost, the process is a new interpreter.
        """
        self._environment = dict(environment)
        self._wanted = "" if namespace is None else f"/{namespace.strip('/')}/{LEADER}".replace("//", "/")
        self._duration = duration
        self._fork: Prepared | None = None
        self._interpreter: subprocess.Popen[str] | None = None
        if server is not None:
            function = "robocontrast_ros.nodes.graph_probe:search"
            with contextlib.suppress(OSError):
                self._fork = server.prepare("", function, duration, self._wanted, environment=self._environment)
        if self._fork is None:
            self._begin_interpreter()

    def found(self) -> tuple[str, ...]:
        """Wait for the process, and return the full names of the episode managers.

        Raises:
            ConfigurationError: ROS does not run in the environment, or nodes do not discover each other.
        """
        output, failure = self.ended()
        if failure:
            raise _refused(self._environment, failure)
        return tuple(name for name in output if self._wanted in ("", name))

    def ended(self) -> tuple[list[str], str]:
        """Wait for the process; return the names that it found, and the reason of its failure, empty if it worked."""
        try:
            return self._ended()
        except (subprocess.TimeoutExpired, TimeoutError):
            return [], ""
        finally:
            self.stop()

    def _ended(self) -> tuple[list[str], str]:
        if self._fork is not None:
            try:
                return self._fork.result(PROBE_DEADLINE), ""
            except EOFError:
                # The fault that ends a fork may have ended the server before; a new interpreter reports the fault.
                self._begin_interpreter()
        output, errors = self._interpreter.communicate(timeout=PROBE_DEADLINE)
        if self._interpreter.returncode == 0:
            return output.split(), ""
        lines = [line for line in errors.splitlines() if line.strip() and line[:1] not in (" ", ",")]
        said = lines[-1] if lines else f"it ended with exit code {self._interpreter.returncode}"
        return [], _PLACE.sub("", _RAISED.sub("", said))

    def _begin_interpreter(self) -> None:
        main = "from robocontrast_ros.nodes.graph_probe import main; main()"
        self._interpreter = subprocess.Popen(
            [sys.executable, "-c", main, str(self._duration), self._wanted],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
            preexec_fn=die_with_parent,
        )

    def stop(self) -> None:
        """End the process; a fork ends by itself."""
        process = self._interpreter
        if process is None:
            return
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def check_ros(environment: Mapping[str, str]) -> None:
    """Check that ROS runs in an environment, and that nodes discover each other in it.

    Raises:
        ConfigurationError: one of these fails; the error names the variable that is the cause.
    """
    check_values(ROS_VARIABLES, environment)
    GraphProbe(environment, None, duration=0.0).found()


def _refused(environment: Mapping[str, str], failure: str) -> ConfigurationError:
    """Return the error for an environment in which ROS does not run."""
    if find_spec("rclpy") is None:
        return ConfigurationError(
            SOURCE,
            "rclpy",
            "(not installed)",
            "ROS 2, which nodes need",
            "`robocontrast evaluate SESSION --fast` needs none: the same trials and scores in one process. For the "
            "graph, run `make setup` in a clone, or build the package in a ROS 2 workspace and source it (README.md).",
        )

    def works(other: dict[str, str]) -> bool:
        return not GraphProbe(other, None, duration=0.0).ended()[1]

    error = blamed(ROS_VARIABLES, environment, failure, works)
    if error is not None:
        return error
    present = ", ".join(variable.name for variable in ROS_VARIABLES if environment.get(variable.name))
    return ConfigurationError(
        SOURCE,
        "",
        failure,
        "a ROS 2 that runs, with nodes that discover each other",
        f"Variables of ROS that are set: {present or 'none'}. Without ROS: robocontrast evaluate SESSION --fast.",
    )


def _taken(number: int, namespace: str, who: str) -> ConfigurationError:
    where = f"/{namespace} of domain {number}" if namespace else f"domain {number}"
    return ConfigurationError(
        SOURCE, VARIABLE, number, f"a domain without another session; {where} is taken: {who}", CURE
    )


def running_runs() -> tuple[Path, ...]:
    """Return the run folders of the sessions that hold a domain on this machine, in the order of their names."""
    found = set()
    for file in _lock_file(0, "").parent.glob("robocontrast_domain_*.lock"):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            if _is_held(file) and (run := json.loads(file.read_text(encoding="utf-8"))["run"]):
                found.add(Path(run))
    return tuple(sorted(found))


def _lock_file(number: int, namespace: str) -> Path:
    # TMPDIR may be a user's own folder. No name in ROS has a dot.
    folder = Path("/tmp") if os.access("/tmp", os.W_OK) else Path(tempfile.gettempdir())
    place = f"_{namespace.replace('/', '.')}" if namespace else ""
    return folder / f"robocontrast_domain_{number}{place}.lock"


def _others(number: int, namespace: str) -> bool:
    """Return whether a session is in another namespace of a domain."""
    own = _lock_file(number, namespace)
    files = [*own.parent.glob(f"robocontrast_domain_{number}_*.lock"), _lock_file(number, "")]
    return any(_is_held(file) for file in files if file != own)


def _is_held(file: Path) -> bool:
    try:
        lock = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def _open(file: Path) -> int:
    """Return a descriptor of a lock file that every user of this machine may lock.

    In a sticky folder, Linux lets nobody open another user's file with O_CREAT (fs.protected_regular), so O_CREAT is
    used only if there is no file. A file that may not be written can still be locked.

    Raises:
        ConfigurationError: the file cannot be opened.
    """
    flags = os.O_NOFOLLOW | os.O_CLOEXEC
    failure: OSError | None = None
    for attempt in (os.O_RDWR, os.O_RDWR | os.O_CREAT | os.O_EXCL, os.O_RDWR, os.O_RDONLY):
        try:
            lock = os.open(file, attempt | flags, 0o666)
        except OSError as error:
            failure = error
            continue
        if attempt & os.O_CREAT:
            os.fchmod(lock, 0o666)
        return lock
    raise ConfigurationError(
        str(file), "", str(failure and failure.strerror), "a lock file that can be opened", "Remove the file."
    )


def _holder(file: Path) -> str:
    """Return the holder of a lock, in words, as far as its file names it."""
    try:
        content: Any = json.loads(file.read_text(encoding="utf-8"))
        pid, run = content["pid"], content["run"]
    except (OSError, ValueError, KeyError, TypeError):
        return "a session of this machine holds it"
    return f"process {pid} runs {run}" if run else f"process {pid} begins a session"
