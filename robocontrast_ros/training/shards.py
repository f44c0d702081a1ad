"""Files of demonstrations, made by several processes; existing files are not made again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
from typing_extensions import Self

from robocontrast_ros.system.processes import process_pool

HELD_OUT = 0.05
"""Share of the shards that is kept for validation, at least one."""


class Stored:
    """A dataclass of arrays in a file."""

    def save(self, path: Path) -> None:
        """Write the file atomically."""
        part = path.with_suffix(".part")
        with part.open("wb") as stream:
            np.savez(stream, **vars(self))
        part.rename(path)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file that ``save`` wrote."""
        with np.load(path) as stored:
            return cls(**stored)


class Demonstrations(Protocol):
    """Parameters of demonstrations.

    Attributes:
        shards: number of files.
    """

    shards: int


Parameters = TypeVar("Parameters", bound=Demonstrations)


def make_shards(
    make: Callable[[Parameters, int], Stored], parameters: Parameters, folder: Path, processes: int
) -> Iterator[Path]:
    """Make the shards that are not there yet; yield the path of each as it is done.

    Args:
        make: returns the shard of a number, which depends on the parameters and the number alone; it can be pickled.
        parameters: its first argument.
        folder: of the shards.
        processes: number of processes that make shards at a time.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"shard{index:04d}.npz" for index in range(parameters.shards)]
    jobs = [(make, parameters, index, path) for index, path in enumerate(paths) if not path.exists()]
    if not jobs:
        return
    with process_pool(min(processes, len(jobs))) as submit:
        for made in as_completed([submit(_make_shard, *job) for job in jobs]):
            yield made.result()


def _make_shard(make: Callable[[Parameters, int], Stored], parameters: Parameters, index: int, path: Path) -> Path:
    make(parameters, index).save(path)
    return path


def split(shards: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Return the shards to train on, and those to validate with, which are the first ones."""
    cut = max(1, int(HELD_OUT * len(shards)))
    return list(shards[cut:]), list(shards[:cut])
