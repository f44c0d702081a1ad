"""Resumable training in epochs, common to all networks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from robocontrast_ros.training.progress import TimeLeft

Network = TypeVar("Network", bound=nn.Module)
"""It has ``checkpoint()``, which returns what its file holds."""


class EpochTrainer(ABC, Generic[Network]):
    """Holds network, optimiser and schedule; ``run`` resumes from the last checkpoint where there is one.

    Attributes:
        CHECKPOINT: name of the file that holds the trained network.
    """

    CHECKPOINT: ClassVar[str]

    def __init__(
        self, network: Network, optimiser: Optimizer, schedule: LRScheduler, epochs: int, device: torch.device
    ) -> None:
        """Take what is trained, on its device, and the number of passes over the data."""
        self.network = network
        self._optimiser, self._schedule, self._epochs, self._device = optimiser, schedule, epochs, device
        self._epoch = 0

    @abstractmethod
    def validate(self) -> dict[str, float]:
        """Return measures over data that were not trained on."""

    @abstractmethod
    def _one_epoch(self) -> float:
        """Train on all data once; return the mean loss."""

    def run(self, folder: Path, say: Callable[[str], None] = print) -> Network:
        """Train; write ``last.pt`` after each epoch, and ``CHECKPOINT`` at the end.

        Args:
            folder: of the checkpoints; training resumes from the last one in it.
            say: receives a line of progress after each epoch.
        """
        folder.mkdir(parents=True, exist_ok=True)
        last = folder / "last.pt"
        if last.exists():
            self._restore(last)
        first, left = self._epoch, TimeLeft(self._epochs - self._epoch)
        while self._epoch < self._epochs:
            loss = self._one_epoch()
            self._epoch += 1
            self._save(last)
            say(
                f"epoch {self._epoch} of {self._epochs}, {left.after(self._epoch - first)}: loss {loss:.4f}, "
                + ", ".join(f"{name} {value:.4g}" for name, value in self.validate().items())
            )
        torch.save(self.network.checkpoint(), folder / self.CHECKPOINT)
        return self.network

    def _save(self, path: Path) -> None:
        part = path.with_suffix(".part")
        state = {
            "epoch": self._epoch,
            "network": self.network.state_dict(),
            "optimiser": self._optimiser.state_dict(),
            "schedule": self._schedule.state_dict(),
        }
        torch.save(state, part)
        part.rename(path)

    def _restore(self, path: Path) -> None:
        state = torch.load(path, map_location=self._device, weights_only=True)
        self._epoch = state["epoch"]
        self.network.load_state_dict(state["network"])
        self._optimiser.load_state_dict(state["optimiser"])
        self._schedule.load_state_dict(state["schedule"])
