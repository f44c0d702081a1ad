"""The start of a process of ours, whose imports take seconds."""

from __future__ import annotations

import os
import signal


def end_quietly() -> None:
    """Let Ctrl-C end this process at once, without words, until it has a handler of its own: nothing has begun yet."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda number, frame: os._exit(0))
