"""SIGINT, SIGTERM and SIGHUP to the command: one orderly end, and output that outlives its terminal."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What asks the command to end: Ctrl-C; `docker stop`, systemd; a terminal that is closed."""


class Stopped(KeyboardInterrupt):
    """The command is asked to end; what heeds Ctrl-C heeds it.

    Attributes:
        signal: which signal it was.
    """

    def __init__(self, number: int) -> None:
        """Keep the signal's number."""
        super().__init__(signal.Signals(number).name)
        self.signal = signal.Signals(number)


def exit_code(stop: KeyboardInterrupt) -> int:
    """Return the exit code that shells expect after a signal: 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP."""
    return 128 + (stop.signal if isinstance(stop, Stopped) else signal.SIGINT)


_AT_THE_END = {
    signal.SIGINT: signal.SIG_DFL,
    signal.SIGTERM: signal.SIG_IGN,
    signal.SIGHUP: signal.SIG_IGN,
}
"""What a further signal does while Python ends: who asks twice gets the exit code of the first all the same."""


class _Signals:
    """What the command's handler knows."""

    def __init__(self) -> None:
        self.held = False
        self.first: int | None = None

    def handle(self, number: int, frame: FrameType | None) -> None:
        self.first = self.first or number
        if not self.held:
            raise Stopped(number)


_signals = _Signals()


@contextlib.contextmanager
def signals_raise() -> Iterator[None]:
    """Have each of the signals raise ``Stopped`` meanwhile; one that is ignored (nohup) stays so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _signals.first, _signals.held = None, False
    before = {number: signal.getsignal(number) for number in STOPPING}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, _signals.handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler if _signals.first is None else _AT_THE_END[number])


@contextlib.contextmanager
def signals_held() -> Iterator[Callable[[], None]]:
    """Hold signals meanwhile; yield what raises ``Stopped``, once, where one has come.

    Only the first counts: what is asked for again is under way already. After SIGTERM and SIGHUP nothing is begun any
    more that could be broken off, so what comes later is held for good.
    """
    told = False

    def look() -> None:
        nonlocal told
        if _signals.first is not None and not told:
            told = True
            raise Stopped(_signals.first)

    _signals.first, _signals.held = None, True
    try:
        yield look
    finally:
        _signals.held = _signals.first in (signal.SIGTERM, signal.SIGHUP)


class Outlasting:
    """A text stream whose loss breaks nothing: a terminal that was closed, a pipe that nobody reads, a full disk.

    The first write that the system refuses leads the descriptor to nowhere, for all that write to it.
    """

    def __init__(self, stream: Any) -> None:
        """Take the stream's place."""
        self._stream = stream

    def write(self, text: str) -> int:
        """Write, or lose, a text; return its length."""
        with self._refusals():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Hand on what was written, or lose it."""
        with self._refusals():
            self._stream.flush()

    @contextlib.contextmanager
    def _refusals(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)
            # What could not be written is still kept for the next try: it goes nowhere now.
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        """Everything else is the stream's."""
        return getattr(self._stream, name)


@contextlib.contextmanager
def output_outlasts() -> Iterator[None]:
    """Have what is printed meanwhile outlast the terminal or pipe that it goes to."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = Outlasting(sys.stdout), Outlasting(sys.stderr)
    try:
        yield
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        sys.stdout, sys.stderr = before
