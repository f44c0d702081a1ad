"""Common parts of the networks of learned policies: checkpoints, batches, and one processor core."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from typing_extensions import Self


class Batch:
    """A dataclass of tensors, and of other batches, whose first axis counts the same things."""

    def __len__(self) -> int:
        return len(next(iter(vars(self).values())))

    def __getitem__(self, index: Tensor) -> Self:
        """Return some of the things: those of these indices, or those for which a mask is true."""
        return type(self)(*(value[index] for value in vars(self).values()))

    def to(self, device: torch.device) -> Self:
        """Return the same on a device."""
        return type(self)(*(value.to(device) for value in vars(self).values()))


def joined(parts: Iterable[Sequence[NDArray[Any]]]) -> tuple[Tensor, ...]:
    """Return the first arrays of all parts, concatenated, then the second ones, and so on."""
    return tuple(torch.from_numpy(np.concatenate(column)) for column in zip(*parts, strict=True))


class Network(nn.Module):
    """A network that a checkpoint makes again: a mapping of names, numbers and tensors alone.

    Attributes:
        PARTS: name of each constructor argument, also an attribute -> function that makes it from its stored form.
        HALF: whether weights are stored in half precision; validation is of the network as it is restored.
    """

    PARTS: ClassVar[Mapping[str, Callable[..., Any]]]
    HALF: ClassVar[bool] = False

    def checkpoint(self) -> dict[str, Any]:
        """Return the network's state for ``restored``."""
        weights = self.state_dict()
        if self.HALF:
            weights = {name: value.half() if value.is_floating_point() else value for name, value in weights.items()}
        return {**{key: _stored(getattr(self, key)) for key in self.PARTS}, "weights": weights}

    @classmethod
    def restored(cls, checkpoint: Mapping[str, Any]) -> Self:
        """Return the network of a checkpoint, in single precision; ``.double()`` makes it the same everywhere."""
        network = cls(**{key: _made(kind, checkpoint[key]) for key, kind in cls.PARTS.items()})
        network.load_state_dict(checkpoint["weights"])
        return network


def _stored(value: Any) -> Any:
    if is_dataclass(value):
        return asdict(value)
    return list(value) if isinstance(value, tuple) else value


def _made(kind: Callable[..., Any], stored: Any) -> Any:
    if not isinstance(stored, dict):
        return kind(stored)
    return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in stored.items()})


@contextmanager
def one_thread() -> Iterator[None]:
    """Let PyTorch use one thread; a context manager and a decorator.

    Networks this small gain nothing from more threads; if other processes use the cores, as a simulator does, threads
    that wait for each other take ten times as long. One thread also gives the same sums on every machine.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
