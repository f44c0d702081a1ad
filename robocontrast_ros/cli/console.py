"""`robocontrast console`: the link to the page of the person at the robot."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robocontrast_ros.cli.terminal import Console
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.runs.run_folder import RunFolder

if TYPE_CHECKING:
    from robocontrast_ros.console.access import Access


def console(run: Annotated[Path, typer.Argument(help="Run folder of a session with a console.")]) -> None:
    """Show the link to the page of the person at the robot, and its QR code."""
    from robocontrast_ros.cli.running import not_running
    from robocontrast_ros.console.access import read_access
    from robocontrast_ros.runs.journal import is_running

    folder = RunFolder.open(run)
    access = read_access(folder.path)
    if access is None:
        raise ConfigurationError(
            "command line",
            "RUN",
            str(folder.path),
            "the folder of a session with a console: one whose `world.backend` asks a person there, or --practice",
        )
    # After a crash the file of the graph is still there, but the journal is no longer locked.
    if not is_running(folder.journal):
        raise not_running(folder)
    _print_access(access, Console())


def _print_access(access: Access, console: Console) -> None:
    """Print the link and its QR code, which opens the page on a phone in the same network."""
    console.print(access.qr_code(), no_wrap=True)
    console.path("console", access.link)


class ConsoleNotice:
    """Prints the link once, when the console of a session has written it."""

    def __init__(self, run: RunFolder, console: Console) -> None:
        """Note the time, before the processes start."""
        self._run, self._console, self._began = run, console, time.time()
        self._shown = False

    def update(self) -> None:
        """Print the link if it is there and has not been printed yet."""
        from robocontrast_ros.console.access import FILE, read_access

        try:
            # An older link, of the process before a session was resumed, may have another port.
            fresh = not self._shown and (self._run.path / FILE).stat().st_mtime >= self._began
        except OSError:
            return
        access = read_access(self._run.path) if fresh else None
        if access is not None:
            self._shown = True
            _print_access(access, self._console)
