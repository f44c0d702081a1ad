"""The ROS domain of a session: held on this machine by a lock, and looked at before any node is started.

Two sessions in one domain and one namespace destroy each other: each node takes the other's messages. A lock keeps
sessions of one machine apart, whoever's they are. What no lock can tell, a session in a container, with another /tmp or
on another machine of the network, is visible as a graph of ROS.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from typing_extensions import Self

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.graph.description import LEADER

VARIABLE = "ROS_DOMAIN_ID"

DOMAINS = range(1, 101)
"""ROS domains that any operating system can use (REP-2000's port mapping leaves 101 for Linux and more)."""

LARGEST_DOMAIN = 232
"""Port numbers end there (DDS-RTPS, port mapping)."""

LOOK = 2.5
"""How long is looked for another session's graph [s].

One participant discovers another within 0.1 s in most cases, and in one of six only with its next announcement, up to
3 s later; so several look (``nodes/graph_probe.py``). Of 30 sessions on a loaded machine none was missed.
"""

PROBE_DEADLINE = 30.0
"""A process that looks for longer hangs, and is not waited for [s]."""

CURE = (
    f"Unset {VARIABLE} (a free domain is then taken), set another number, "
    "or give this session a namespace of its own."
)

_PR_SET_PDEATHSIG = 1


class Domain:
    """A ROS domain, and a namespace in it, that no other session uses; held until closed.

    Attributes:
        number: the domain.
        namespace: the namespace, without slashes at its ends; empty for none.
        chosen: whether the domain was chosen here, and not by the user.
    """

    def __init__(self, namespace: str = "", number: int | None = None) -> None:
        """Take a domain.

        Args:
            namespace: of the session's nodes; sessions in two namespaces of one domain do not meet.
            number: the domain; where None, the user's ROS_DOMAIN_ID, or where that is not set, the first in which
                no session is.

        Raises:
            ConfigurationError: it is no domain, another session of this machine is there, or all are taken.
        """
        self.namespace = namespace.strip("/")
        self._lock: int | None = None
        self._probe: _Probe | None = None
        given = given_domain() if number is None else number
        self.chosen = given is None
        self.number = 0 if given is None else given
        if given is None:
            self._take_free(DOMAINS)
        elif not self._take(given):
            raise _taken(given, self.namespace, _holder(_lock_file(given, self.namespace)))

    def look(self, environment: Mapping[str, str]) -> None:
        """Begin to look for another session's graph; ``settle`` says what was seen.

        Args:
            environment: of the session's nodes; it decides who is found. Its ROS_DOMAIN_ID is set here.
        """
        wanted = None if self.chosen else self.namespace
        self._environment = {**environment, VARIABLE: str(self.number)}
        self._probe = _Probe(self._environment, wanted)

    def settle(self) -> None:
        """Wait for what ``look`` sees; a domain that was chosen here and is not free gives way to the next.

        Raises:
            ConfigurationError: another session's graph is visible in the user's domain, or in all others.
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
            self.look(self._environment)

    def note(self, run: Path) -> None:
        """Write the run folder into the lock, for whom the domain is refused."""
        self._write(str(run))

    def _write(self, run: str) -> None:
        # It is for a message alone: a full disk, or a file of another user, must not stop a session.
        if self._lock is not None:
            with contextlib.suppress(OSError):
                os.ftruncate(self._lock, 0)
                os.pwrite(self._lock, json.dumps({"pid": os.getpid(), "run": run}).encode(), 0)

    def close(self) -> None:
        """Let another session have it."""
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
            # One of ours would not meet a session in another namespace, but no domain is shared where none has to be.
            if self._take(number) and not _others(number, self.namespace):
                return
            self._release()
        raise ConfigurationError(
            "environment",
            VARIABLE,
            "nothing, and all domains are in use",
            "a free one",
            "End another session.",
        )

    def _take(self, number: int) -> bool:
        """Take the lock of a domain, and tell whether it was free. The lock goes with the process, however it ends."""
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
    """Return the user's ROS_DOMAIN_ID; None where it is not set.

    Raises:
        ConfigurationError: it is not the number of a domain.
    """
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return None
    if not text.isdecimal() or int(text) > LARGEST_DOMAIN:
        raise ConfigurationError("environment", VARIABLE, text, f"a number from 0 to {LARGEST_DOMAIN}")
    return int(text)


def sessions_visible(environment: Mapping[str, str], namespace: str | None = None) -> tuple[str, ...]:
    """Return the full names of the episode managers that are visible; none where ROS cannot be asked.

    It takes ``LOOK`` seconds and the start of a process where there is none.

    Args:
        environment: of the nodes that are going to be started; it decides who is found.
        namespace: of the session that is looked for; None for one in any.
    """
    return _Probe(environment, namespace).found()


class _Probe:
    """A process that looks (``nodes/graph_probe.py``)."""

    def __init__(self, environment: Mapping[str, str], namespace: str | None) -> None:
        self._wanted = "" if namespace is None else f"/{namespace.strip('/')}/{LEADER}".replace("//", "/")
        main = "from robocontrast_ros.nodes.graph_probe import main; main()"
        self._process = subprocess.Popen(
            [sys.executable, "-c", main, str(LOOK), self._wanted],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
            preexec_fn=die_with_parent,
        )

    def found(self) -> tuple[str, ...]:
        """Wait for the end of the process and return the episode managers that are looked for."""
        try:
            output, _ = self._process.communicate(timeout=PROBE_DEADLINE)
        except subprocess.TimeoutExpired:
            output = ""
        finally:
            self.stop()
        return tuple(name for name in output.split() if self._wanted in ("", name))

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


def die_with_parent() -> None:
    """Have the kernel end a child process when its parent is killed and cannot stop it (Linux)."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _taken(number: int, namespace: str, who: str) -> ConfigurationError:
    where = f"/{namespace} of domain {number}" if namespace else f"domain {number}"
    return ConfigurationError(
        "environment", VARIABLE, number, f"a domain without another session; {where} is taken: {who}", CURE
    )


def _lock_file(number: int, namespace: str) -> Path:
    # Not below TMPDIR, which may be a user's own. No name in ROS has a dot.
    folder = Path("/tmp") if os.access("/tmp", os.W_OK) else Path(tempfile.gettempdir())
    place = f"_{namespace.replace('/', '.')}" if namespace else ""
    return folder / f"robocontrast_domain_{number}{place}.lock"


def _others(number: int, namespace: str) -> bool:
    """Tell whether a session is in another namespace of a domain."""
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
    """Return a descriptor of a lock file that each user of this machine may lock.

    In a sticky folder nobody may open another user's file to create it (fs.protected_regular), so that is done only
    where there is none. A file that may not be written can be locked all the same.

    Raises:
        ConfigurationError: the system refuses it.
    """
    flags = os.O_NOFOLLOW | os.O_CLOEXEC
    refusal: OSError | None = None
    for attempt in (os.O_RDWR, os.O_RDWR | os.O_CREAT | os.O_EXCL, os.O_RDWR, os.O_RDONLY):
        try:
            lock = os.open(file, attempt | flags, 0o666)
        except OSError as error:
            refusal = error
            continue
        if attempt & os.O_CREAT:
            os.fchmod(lock, 0o666)
        return lock
    raise ConfigurationError(
        str(file), "", str(refusal and refusal.strerror), "a lock file that can be opened", "Remove the file."
    )


def _holder(file: Path) -> str:
    """Return who holds a lock, in words, as far as the lock says."""
    try:
        told: Any = json.loads(file.read_text(encoding="utf-8"))
        pid, run = told["pid"], told["run"]
    except (OSError, ValueError, KeyError, TypeError):
        return "by a session of this machine"
    return f"process {pid} runs {run}" if run else f"process {pid} begins a session"
