"""Small networks on one processor core."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread() -> Iterator[None]:
    """Let PyTorch use one thread; a context manager and a decorator.

    Networks this small gain nothing from more threads; where other processes use the cores, as a simulator does,
    threads that wait for each other take ten times as long. One thread also gives the same sums on every machine.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
