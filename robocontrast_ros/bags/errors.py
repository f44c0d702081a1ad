"""The one error for a bag that cannot be written or read."""

from __future__ import annotations

from pathlib import Path

from robocontrast_ros.system.disk import cure_of


class BagError(Exception):
    """A bag that cannot be written or read; the message names it, the problem and the cure."""

    @classmethod
    def of_system(cls, bag: Path, error: OSError) -> BagError:
        """Return the error for a refusal of the operating system."""
        return cls(f"{bag}: {error.strerror or error}. {cure_of(error)}.")
