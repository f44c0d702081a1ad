"""The start of our processes, whose imports take seconds, and an end that destroys nothing."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from typing import NoReturn

FORK_SERVER = "ROBOCONTRAST_FORK_SERVER"
"""Environment variable: name of the socket of a fork server (``system.forking``), which executables of nodes use;
``none`` for a new interpreter for each process."""

NONE = "none"


def end_quietly() -> None:
    """Let Ctrl-C end this process at once and silently until it has a handler, because nothing has begun yet."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda number, frame: os._exit(0))


def begin(module: str, function: str) -> NoReturn:
    """Run a function and exit with its result: in a fork, if the environment names a fork server.

    Args:
        module: module of the function.
        function: its name; it takes no arguments but those of the process.
    """
    end_quietly()
    server = os.environ.get(FORK_SERVER, NONE)
    if server != NONE and module.startswith("robocontrast_ros.nodes."):
        # The variable is for this process, and for no child.
        del os.environ[FORK_SERVER]
        from robocontrast_ros.system.forking import run_forked

        code = run_forked(server, [sys.executable, "-c", starting(module, function), *sys.argv[1:]])
        if code is not None:
            raise SystemExit(code)
    raise SystemExit(getattr(importlib.import_module(module), function)())


def starting(module: str, function: str) -> str:
    """Return the code with which a new interpreter, or a fork, runs a function of a module."""
    quiet = "from robocontrast_ros.system.starting import end_quietly; end_quietly()"
    return f"{quiet}; from {module} import {function}; {function}()"


def end_at_once(code: int) -> NoReturn:
    """End this process at once with a code, after writing its output.

    A node, whole or half made, has threads and handles. At an ordinary end their rest is destroyed in no certain order,
    and one process in some hundreds ended with a segmentation fault instead of its code.
    """
    sys.stdout.flush()
    os._exit(code)
