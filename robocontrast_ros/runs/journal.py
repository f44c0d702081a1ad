"""The journal: every step of a session, on disk before the next step is taken.

A trial that was run is never lost: each event is one line, flushed and synced before ``append``
returns. A crash can leave an incomplete last line: the reader reports it, and the writer removes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shlex
import tempfile
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Protocol

from typing_extensions import Self

from robocontrast_ros.domain.words import counted
from robocontrast_ros.runs.errors import JournalError
from robocontrast_ros.runs.events import (
    BlindingOpened,
    Event,
    ProcessDied,
    SessionFinished,
    SessionInterrupted,
    SessionStarted,
    TrialCorrected,
    TrialFinished,
    from_line,
    to_line,
)
from robocontrast_ros.system.disk import DiskError, GoneError, OpenPath, write_file, writing


class EventSink(Protocol):
    """Receiver of a session's events."""

    def append(self, event: Event) -> None:
        """Keep the event; when this returns, it is safe."""


class EventsInMemory:
    """An ``EventSink`` for sessions that leave nothing on the disk.

    Attributes:
        kept: the events, in order.
    """

    def __init__(self) -> None:
        """Begin without an event."""
        self.kept: list[Event] = []

    def append(self, event: Event) -> None:
        """Keep the event."""
        self.kept.append(event)


@dataclass(frozen=True)
class Journal:
    """Content of a journal.

    Attributes:
        path: the file.
        events: its events in order; empty if it was cut off within its first line.
        torn: bytes of an unfinished last line, which a crash left; 0 if there is none.
    """

    path: Path
    events: tuple[Event, ...]
    torn: int = 0

    @property
    def started(self) -> SessionStarted | None:
        """The first event; None in a journal without events."""
        first = self.events[0] if self.events else None
        return first if isinstance(first, SessionStarted) else None

    @property
    def end(self) -> SessionFinished | SessionInterrupted | ProcessDied | None:
        """How the process that wrote it last ended; None while it runs, or if unknown."""
        # A blind session may be opened after its end, and a judgement corrected.
        later = BlindingOpened, TrialCorrected
        last = next((event for event in reversed(self.events) if not isinstance(event, later)), None)
        return last if isinstance(last, (SessionFinished, SessionInterrupted, ProcessDied)) else None

    @property
    def ended(self) -> bool:
        """Whether it has the end of the process that wrote it last."""
        return self.end is not None

    @property
    def corrections(self) -> dict[str, TrialCorrected]:
        """Trial -> the last correction of its judgement."""
        return corrections_of(self.events)

    @property
    def corrected(self) -> Journal:
        """The same journal, in which each trial has the result and the judgement of its last correction."""
        if not (known := self.corrections):
            return self
        return replace(self, events=tuple(corrected_event(event, known) for event in self.events))

    @property
    def warning(self) -> str:
        """One sentence on an unfinished last line; empty if there is none."""
        if not self.torn:
            return ""
        return (
            f"{self.path}: the last line was cut off after {self.torn} bytes (a crash); "
            f"{counted(len(self.events), 'event before it is', 'events before it are')} whole."
        )


def corrections_of(events: Iterable[Event]) -> dict[str, TrialCorrected]:
    """Return trial -> the last correction of its judgement."""
    return {event.trial_id: event for event in events if isinstance(event, TrialCorrected)}


def corrected_event(event: Event, known: Mapping[str, TrialCorrected]) -> Event:
    """Return the event, with the result and the judgement of its correction if it is a trial with one."""
    if not isinstance(event, TrialFinished) or event.trial.trial_id not in known:
        return event
    correction = known[event.trial.trial_id]
    return replace(event, result=correction.result, judgement=correction.judgement)


def read_journal(path: Path) -> Journal:
    """Return the content of a journal.

    Raises:
        JournalError: it cannot be read, a line other than the last is damaged, or it is not one session.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise JournalError(f"{path}: {error.strerror}; expected the journal of a run folder.") from None
    *lines, tail = content.split(b"\n")
    events = []
    for number, line in enumerate(lines, start=1):
        try:
            events.append(from_line(line))
        except ValueError as error:
            raise JournalError(
                f"{path}, line {number}: not an event of a journal of this version: {error}. "
                "Restore the file from a copy."
            ) from None
    _check_order(path, events)
    return Journal(path, tuple(events), len(tail))


def read_begun(path: Path) -> Journal:
    """Return the content of the journal of a session that has begun.

    Raises:
        JournalError: as ``read_journal``, or there is no event in it.
    """
    journal = read_journal(path)
    if not journal.events:
        raise JournalError(
            f"{path}: no event in it, expected those of a session: none was begun here, or they were lost. "
            f"Begin it with: robocontrast evaluate {shlex.quote(str(path.parent / 'parameters' / 'session.yaml'))}"
        )
    return journal


def _check_order(path: Path, events: list[Event]) -> None:
    starts = [number for number, event in enumerate(events, start=1) if isinstance(event, SessionStarted)]
    if events and starts != [1]:
        found = f"it starts in lines {starts}" if starts else "none starts it"
        raise JournalError(
            f"{path}: expected one session, started in line 1; {found}. Keep each session in its own run folder."
        )


class JournalWriter:
    """Appends events to a journal; only one process at a time may.

    Attributes:
        past: content of the journal when it was opened.
    """

    past: Journal

    def __init__(self, path: Path) -> None:
        """Open the journal, new or old, and remove an incomplete last line.

        Raises:
            JournalError: another process is writing it, or it cannot be opened or read.
        """
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise JournalError(f"{path}: {error.strerror}; expected a folder that can be written.") from None
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.past = read_journal(path)
        except BlockingIOError:
            self.close()
            raise _running(path) from None
        except JournalError:
            self.close()
            raise
        self._path, self._place, self._copy = path, OpenPath(path, self._descriptor), None
        self._appending = threading.Lock()
        end = os.lseek(self._descriptor, -self.past.torn, os.SEEK_END)
        os.ftruncate(self._descriptor, end)
        os.fsync(self._descriptor)
        _sync_folder(path.parent)

    def append(self, event: Event) -> None:
        """Write the event and wait until it is on the disk; any thread may.

        Raises:
            DiskError: it could not be written, for instance because the disk is full; nothing of it is in the journal.
            GoneError: the journal was moved, deleted or replaced; the event is in it, or in a copy, which is named.
        """
        with self._appending:
            self._append(event)
            if not self._place.in_place():
                raise GoneError(self._path.parent, self._what_happened())

    def _what_happened(self) -> str:
        journal = self._place.present()
        if journal is not None:
            if not (journal.parent / "parameters").is_dir():
                return (
                    f"its journal was moved while the session ran, to {journal}. Move it back, and resume the session."
                )
            return f"the run folder was moved while its session ran, to {journal.parent}. Resume the session there."
        if self._copy is None:
            with writing(Path(tempfile.gettempdir())):
                self._copy = Path(tempfile.mkdtemp(prefix=f"{self._path.parent.name}_")) / self._path.name
        write_file(self._copy, os.pread(self._descriptor, os.fstat(self._descriptor).st_size, 0))
        return (
            "the run folder was deleted or replaced while its session ran, or moved to another disk. "
            f"A copy of its journal, with all results, is {self._copy}. Where there is a copy of the folder, put it "
            "there, and resume the session."
        )

    def _append(self, event: Event) -> None:
        end = os.lseek(self._descriptor, 0, os.SEEK_END)
        remaining = memoryview(to_line(event))
        try:
            while remaining:
                remaining = remaining[os.write(self._descriptor, remaining) :]
            os.fsync(self._descriptor)
        except OSError as error:
            # The next event must not be appended to half a line.
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, end)
            then = f"then go on with: robocontrast evaluate --resume {shlex.quote(str(self._path.parent))}"
            raise DiskError(self._path, error, then) from None

    def close(self) -> None:
        """Close the file and let another process have it."""
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def check_not_running(path: Path) -> None:
    """Refuse a journal that another process is writing, or that cannot be written; one that does not exist is accepted.

    Raises:
        JournalError: it is being written, or cannot be opened.
    """
    if is_running(path):
        raise _running(path)


def is_running(path: Path) -> bool:
    """Return whether another process is writing a journal, which may not exist.

    Raises:
        JournalError: it cannot be opened for writing.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise JournalError(f"{path}: {error.strerror}; expected a folder that can be written.") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _running(path: Path) -> JournalError:
    pid = _writer_of(path)
    who = f"process {pid}" if pid else "another process"
    return JournalError(f"{path.parent}: {who} is running this session. Wait for it, or end it first.")


def _writer_of(path: Path) -> int | None:
    """Return the process that holds a journal's lock; None if unknown (Linux shows it)."""
    locks = Path("/proc/locks")
    with contextlib.suppress(OSError):
        inode = path.stat().st_ino
        for line in locks.read_text().splitlines():
            # "1: FLOCK  ADVISORY  WRITE 4242 08:01:123456 0 EOF"; 0 or -1 for a process of another container.
            found = re.search(rf"FLOCK +ADVISORY +WRITE +(\d+) +[0-9a-f]+:[0-9a-f]+:{inode} ", line)
            if found and int(found[1]) > 0:
                return int(found[1])
    return None


def _sync_folder(folder: Path) -> None:
    """Sync the folder's entry of a new file: without it, a crash may lose the whole file."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
