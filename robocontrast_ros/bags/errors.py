"""The one error for a bag that cannot be written or read."""

from __future__ import annotations

import errno
from pathlib import Path

_CURES = {
    errno.ENOSPC: "Free some disk space, or name another folder.",
    errno.EDQUOT: "Free some of your disk quota, or name another folder.",
    errno.EFBIG: "Raise the limit on the size of files (ulimit -f), or record fewer topics.",
    errno.EACCES: "Check who owns the folder, or name another.",
    errno.EPERM: "Check who owns the folder, or name another.",
    errno.EROFS: "Name a folder on a disk that can be written.",
}


class BagError(Exception):
    """A bag that cannot be written or read; the message names it, says what is wrong, and the cure."""

    @classmethod
    def of_system(cls, bag: Path, error: OSError) -> BagError:
        """Return the error for what the operating system refused."""
        what = error.strerror or str(error)
        return cls(f"{bag}: {what}. {_CURES.get(error.errno or 0, 'Check the path.')}")
