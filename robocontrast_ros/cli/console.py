"""`robocontrast console`: how the page of the person at the robot is opened."""

from __future__ import annotations

import time
from pathlib import Path

from rich.console import Console

from robocontrast_ros.cli.running import not_running
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.console.access import FILE, Access, read_access
from robocontrast_ros.runs.journal import is_running
from robocontrast_ros.runs.run_folder import RunFolder


def show_access(run: Path, console: Console) -> None:
    """Print the link to a session's console, and its QR code.

    Raises:
        ConfigurationError: the session has no console, or does not run.
        JournalError: its journal cannot be opened.
    """
    folder = RunFolder.open(run)
    access = read_access(folder.path)
    if access is None:
        raise ConfigurationError(
            "command line",
            "RUN",
            str(folder.path),
            "the folder of a session with a console: one whose `world.backend` asks a person there, or --practice",
        )
    # After a crash the file of the graph is still there; the lock of the journal is not.
    if not is_running(folder.journal):
        raise not_running(folder)
    print_access(access, console)


def print_access(access: Access, console: Console) -> None:
    """Print the link, and the QR code of it, which a phone in the same network reads."""
    console.print(access.qr_code(), highlight=False, markup=False, no_wrap=True)
    console.print(f"console: {access.link}", highlight=False, soft_wrap=True)


class ConsoleNotice:
    """Prints the link once the console of a session is there."""

    def __init__(self, run: RunFolder, console: Console) -> None:
        """Begin before the processes start."""
        self._run, self._console, self._began = run, console, time.time()
        self._shown = False

    def update(self) -> None:
        """Look, and print it the first time."""
        if self._shown or not self._fresh():
            return
        access = read_access(self._run.path)
        if access is not None:
            self._shown = True
            print_access(access, self._console)

    def _fresh(self) -> bool:
        try:
            # That of an earlier process of a resumed session may have had another port.
            return (self._run.path / FILE).stat().st_mtime >= self._began
        except OSError:
            return False
