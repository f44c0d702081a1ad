"""A disk of a few megabytes, to be filled and to be made read-only."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class NotAllowed(Exception):
    """This machine, or this user, may not mount a disk."""


class SmallDisk:
    """A disk in memory.

    Attributes:
        folder: where it is.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._filler = folder / "filler"

    def fill(self) -> None:
        """Leave no room."""
        with open(self._filler, "ab", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(1 << 12))

    def free(self) -> None:
        """Give the room back."""
        self._filler.unlink()

    def protect(self) -> None:
        """Make it read-only."""
        _run("mount", "-o", "remount,ro", str(self.folder))


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[SmallDisk]:
    """Mount a disk on a folder while it is used.

    Raises:
        NotAllowed: that cannot be done here; the message says why.
    """
    if os.geteuid() != 0 or shutil.which("mount") is None:
        raise NotAllowed("to mount a disk needs root and the command `mount`")
    folder.mkdir()
    _run("mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder))
    try:
        yield SmallDisk(folder)
    finally:
        _run("umount", "--lazy", str(folder))


def _run(*words: str) -> None:
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    if done.returncode:
        raise NotAllowed(f"{' '.join(words)}: {done.stderr.strip()}")
