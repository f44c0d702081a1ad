"""Write files whole: an error is one line, and an existing file stays as it was."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_CURES = {
    errno.ENOSPC: "The disk is full: free some space",
    errno.EDQUOT: "Your disk quota is used up: free some of it",
    errno.EROFS: "The disk is mounted read-only: mount it so that it can be written",
    errno.EACCES: "Check who owns the folder",
    errno.EPERM: "Check who owns the folder",
    errno.EIO: "The disk has a fault: check it",
    errno.EFBIG: "Raise the limit on the size of files (ulimit -f)",
}


def cure_of(error: OSError) -> str:
    """Return the cure for a refusal of the system, without a full stop."""
    return _CURES.get(error.errno or 0, "Check the path")


class DiskError(Exception):
    """A file or folder could not be written; the message names it, the reason and the cure."""

    def __init__(self, path: Path, error: OSError, then: str = "then do the same again") -> None:
        """Name the file.

        Args:
            path: the file or folder that could not be written.
            error: error of the system.
            then: the next step after the cure, in words.
        """
        what = (error.strerror or str(error)).rstrip(".")
        super().__init__(f"{path}: cannot be written: {what}. {cure_of(error)}, {then}.")
        self.path, self.errno = path, error.errno
        self._given: tuple[object, ...] = path, error, then

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        """Let the error of a worker process reach the waiting process."""
        return type(self), self._given


class GoneError(DiskError):
    """A file that is being written has lost its name: it was moved, deleted or replaced meanwhile."""

    def __init__(self, path: Path, words: str) -> None:
        """Take the reason and the cure."""
        Exception.__init__(self, f"{path}: {words}")
        self.path, self.errno = path, errno.ENOENT
        self._given = path, words


class OpenPath:
    """A file or folder that is held open, to detect when its path does not lead to it any more."""

    def __init__(self, path: Path, descriptor: int | None = None) -> None:
        """Open it.

        Args:
            path: the file or folder.
            descriptor: its descriptor, opened by the caller, who closes it; opened here if left out.

        Raises:
            DiskError: it cannot be opened.
        """
        with writing(path):
            self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC) if descriptor is None else descriptor
        self._path = path

    def in_place(self) -> bool:
        """Return whether its path still leads to it."""
        try:
            return os.path.samestat(self._path.stat(), os.fstat(self._descriptor))
        # It is not there, or cannot be read: its disk was unmounted, or it is another user's.
        except OSError:
            return False

    def present(self) -> Path | None:
        """Return its present path; None if it was deleted, or if the system does not report it (Linux does)."""
        if self.in_place():
            return self._path
        with suppress(OSError):
            found = Path(os.readlink(f"/proc/self/fd/{self._descriptor}"))
            if os.path.samestat(found.stat(), os.fstat(self._descriptor)):
                return found
        return None

    def close(self) -> None:
        """Close it."""
        os.close(self._descriptor)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an ``OSError`` in the block into a ``DiskError`` that names the path.

    Raises:
        DiskError: the system refused an operation.
    """
    try:
        yield
    except OSError as error:
        raise DiskError(path, error) from None


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Yield the path of a new file, which replaces ``path`` when it is whole.

    Its name has the same suffix, and begins with a dot. If writing fails it is removed, and ``path`` stays as it was.

    Raises:
        DiskError: the system refused to write it.
    """
    part = path.with_name(f".{path.stem}.part{path.suffix}")
    try:
        with writing(path):
            yield part
            part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def write_file(path: Path, content: str | bytes) -> None:
    """Write a whole file, or leave the old one as it was; text in UTF-8.

    Raises:
        DiskError: the system refused to write it.
    """
    with new_file(path) as part:
        part.write_bytes(content.encode() if isinstance(content, str) else content)


def make_folder(path: Path) -> None:
    """Make a folder, and those above it, if it does not exist.

    Raises:
        DiskError: the system refused to make it.
    """
    with writing(path):
        path.mkdir(parents=True, exist_ok=True)
