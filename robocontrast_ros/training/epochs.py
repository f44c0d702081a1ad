"""Resumable training in epochs, common to all networks: AdamW, with one cycle of the learning rate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sized
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

import torch
from pydantic import Field
from torch import Tensor, nn

from robocontrast_ros.configuration import record
from robocontrast_ros.training.progress import TimeLeft

Network = TypeVar("Network", bound=nn.Module)
"""It has ``checkpoint()``, which returns the content of its file, and ``restored(checkpoint)``."""


@record
class Training:
    """Keys of the training of every network."""

    seed: int = Field(ge=0, description="of weights, order and noise")
    epochs: int = Field(gt=0, description="passes over all samples")
    batch: int = Field(gt=0, description="samples in one update")
    rate: float = Field(gt=0, description="learning rate at its peak")
    weight_decay: float = Field(ge=0, description="decay of the weights")


class EpochTrainer(ABC, Generic[Network]):
    """Holds network, optimiser and schedule; ``run`` resumes from the last checkpoint if there is one.

    Attributes:
        CHECKPOINT: name of the file that holds the trained network.
        SAMPLES: name of the samples, in the plural.
        CLIP: greatest norm of the gradient in an update; None without a limit.
        counted: the samples, and those that are held out, in words.
    """

    CHECKPOINT: ClassVar[str]
    SAMPLES: ClassVar[str]
    CLIP: ClassVar[float | None] = None

    def __init__(
        self,
        make: Callable[[], Network],
        training: Training,
        samples: Sized,
        held_out: Sized,
        device: str | torch.device = "cpu",
    ) -> None:
        """Make the network, its optimiser and its schedule.

        Args:
            make: returns the network with random weights.
            training: parameters of its training.
            samples: the samples to train on.
            held_out: the samples to validate with.
            device: of the network and all samples.
        """
        torch.manual_seed(training.seed)
        self._device = torch.device(device)
        self.network = network = make().to(self._device)
        self._training, self._samples = training, len(samples)
        self.counted = f"{len(samples)} {self.SAMPLES}, {len(held_out)} held out"
        self._optimiser = torch.optim.AdamW(network.parameters(), lr=training.rate, weight_decay=training.weight_decay)
        updates = -(-self._samples // training.batch)
        self._schedule = torch.optim.lr_scheduler.OneCycleLR(
            self._optimiser, training.rate, total_steps=updates * training.epochs, pct_start=0.1
        )
        self._epoch = 0

    @abstractmethod
    def validate(self) -> dict[str, float]:
        """Return measures over data that were not trained on."""

    @abstractmethod
    def _loss(self, index: Tensor, generator: torch.Generator) -> Tensor:
        """Return the loss of a batch: of the samples with these indices, with noise from the generator."""

    def _batches(self, generator: torch.Generator) -> Iterable[Tensor]:
        """Return the indices of the samples of each update of an epoch, on the device."""
        return torch.randperm(self._samples, generator=generator).to(self._device).split(self._training.batch)

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
        epochs = self._training.epochs
        first, left = self._epoch, TimeLeft(epochs - self._epoch)
        while self._epoch < epochs:
            loss = self._one_epoch()
            self._epoch += 1
            self._save(last)
            say(
                f"epoch {self._epoch} of {epochs}, {left.after(self._epoch - first)}: loss {loss:.4f}, "
                + ", ".join(f"{name} {value:.4g}" for name, value in self.validate().items())
            )
        checkpoint = self.network.checkpoint()
        torch.save(checkpoint, folder / self.CHECKPOINT)
        # From here on the network is that of the file, whose weights may be rounded.
        self.network.load_state_dict(type(self.network).restored(checkpoint).state_dict())
        return self.network

    def _one_epoch(self) -> float:
        """Train on all samples once; return the mean loss."""
        self.network.train()
        # One generator per epoch, so that a resumed training equals an uninterrupted one.
        generator = torch.Generator().manual_seed(self._training.seed * 100_003 + self._epoch)
        total = 0.0
        for index in self._batches(generator):
            loss = self._loss(index, generator)
            self._optimiser.zero_grad(set_to_none=True)
            loss.backward()
            if self.CLIP is not None:
                nn.utils.clip_grad_norm_(self.network.parameters(), self.CLIP)
            self._optimiser.step()
            self._schedule.step()
            total += float(loss.detach()) * len(index)
        return total / self._samples

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
