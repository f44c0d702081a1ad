"""Small networks on one processor core."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread() -> Iterator[None]:
    """Let PyTorch use one thread meanwhile; also a decorator.

    Networks this small gain nothing by more, and where other processes want the cores (a simulator does), threads
    that wait for each other take ten times as long. Sums are then the same on every number of cores, too.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
