"""SIGINT, SIGTERM and SIGHUP to the command: one orderly end, even if the terminal is closed."""

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
"""Signals that stop the command. They come from Ctrl-C; from `docker stop` or systemd; from a closed terminal."""


class Stopped(KeyboardInterrupt):
    """A signal asked the command to end; it is handled like Ctrl-C.

    Attributes:
        signal: the signal.
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
"""Signal -> its handler while Python ends, so that a further signal does not change the first one's exit code."""


class _Signals:
    """State of the command's signal handler."""

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
    """Let each of the signals raise ``Stopped`` in this context; a signal that is ignored (nohup) stays ignored."""
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
    """Hold signals in this context; yield a function that raises ``Stopped`` once, after the first signal.

    If the first signal is SIGTERM or SIGHUP, later signals stay held after the context, because the command then starts
    nothing that a further signal should interrupt.
    """
    raised = False

    def look() -> None:
        nonlocal raised
        if _signals.first is not None and not raised:
            raised = True
            raise Stopped(_signals.first)

    _signals.first, _signals.held = None, True
    try:
        yield look
    finally:
        _signals.held = _signals.first in (signal.SIGTERM, signal.SIGHUP)


class Outlasting:
    """A text stream whose loss is harmless: a closed terminal, a pipe without a reader, a full disk.

    The first write that fails redirects the descriptor to the null device, for all that write to it.
    """

    def __init__(self, stream: Any) -> None:
        """Replace a stream."""
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text, or lose it if writing fails; return its length."""
        with self._refusals():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush the stream; its text is lost if that fails."""
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
            # The buffer still has the text that could not be written; it now goes to the null device.
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the stream."""
        return getattr(self._stream, name)


@contextlib.contextmanager
def output_outlasts() -> Iterator[None]:
    """Let output in this context survive the loss of its terminal or pipe."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = Outlasting(sys.stdout), Outlasting(sys.stderr)
    try:
        yield
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        sys.stdout, sys.stderr = before
