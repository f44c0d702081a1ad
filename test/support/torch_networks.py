"""Small networks, and files of them as their authors would make them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from torch import Tensor, nn

CHUNK, SIZE = 4, 2


class Pushing(nn.Module):
    """Image, words and state to a chunk of displacements: what most policies look like."""

    def __init__(self, channels: int = 3) -> None:
        super().__init__()
        self.see = nn.Conv2d(3, channels, 5, stride=4)
        self.decide = nn.Linear(channels + 384 + 2, CHUNK * SIZE)

    def forward(self, image: Tensor, language: Tensor, state: Tensor) -> Tensor:
        seen = self.see(image).mean((2, 3))
        chunk = self.decide(torch.cat([seen, language, state], 1)).reshape(-1, CHUNK, SIZE)
        return 0.01 * torch.tanh(chunk)


class Recurrent(nn.Module):
    """Remembers in a buffer, and in an attribute that its reset() clears."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(0.1))
        self.register_buffer("hidden", torch.zeros(2))
        self.count = 0

    def reset(self) -> None:
        self.count = 0

    def forward(self, state: Tensor) -> Tensor:
        self.hidden = self.hidden * 0.5 + state * self.scale
        self.count += 1
        return self.hidden * self.count


class Drawing(nn.Module):
    """Draws its actions, as a diffusion policy does, from a generator that it is given and from PyTorch's own."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(0.01))

    def forward(self, state: Tensor, generator: torch.Generator) -> Tensor:
        return self.scale * (torch.randn(1, 2, generator=generator) + torch.randn(1, 2))


class Reading(nn.Module):
    """Takes words, or tokens and their mask, in a dictionary."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(0.01))

    def forward(self, batch: dict[str, Any]) -> dict[str, Any]:
        words = batch["words"]
        if isinstance(words, str):
            words = torch.tensor([[float(len(words))]])
        elif "mask" in batch:
            words = torch.stack([words.float().mean(1), batch["mask"].float().sum(1)], 1)
        return {"move": (self.scale * words).expand(1, 2), "said": "nothing"}


class Aside(nn.Module):
    """Answers with a tuple, in the precision of its input; first how many threads it may use."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, state: Tensor) -> tuple[Tensor, Tensor]:
        return torch.full((1, 2), float(torch.get_num_threads())), state * self.scale


class Faulty(nn.Module):
    """Fails in the way that it was made for, from a call on, counted from 1."""

    def __init__(self, kind: str, call: int = 1) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.zeros(()))
        self.kind, self.call, self.calls = kind, call, 0

    def forward(self, state: Tensor) -> Any:
        self.calls += 1
        if self.calls < self.call:
            return torch.zeros(1, 2)
        if self.kind == "raises":
            raise RuntimeError("the weights do not like\nthis")
        if self.kind == "out of memory":
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20 GiB.")
        if self.kind == "complex":
            return torch.full((1, 2), 1j)
        return {"wide": torch.zeros(1, 3), "text": "push", "long": torch.zeros(1, 9, 2)}[self.kind]


IMAGE = {"camera": "board", "width": 64, "height": 48, "layout": "chw", "values": "unit"}
PUSHING = {
    "instruction": {"encode": "minilm"},
    "chunk": {"length": CHUNK},
    "input": {
        "instruction": "language",
        "images": {"image": IMAGE},
        "state": {"state": {"parts": ["tool_xy"]}},
    },
    "output": {"key": ""},
}
STATE_ONLY = {
    "instruction": {"encode": "none"},
    "input": {"state": {"state": {"parts": ["tool_xy"]}}},
    "output": {"key": ""},
}
READING = {
    "call": {"style": "mapping"},
    "instruction": {"encode": "text"},
    "input": {"instruction": "words"},
    "output": {"key": "move"},
}


def pushing(seed: int = 0) -> Pushing:
    """Return a network with the weights of a seed."""
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        return Pushing().eval()


def examples() -> dict[str, Tensor]:
    """Return inputs of Pushing."""
    return {"image": torch.zeros(1, 3, 48, 64), "language": torch.zeros(1, 384), "state": torch.zeros(1, 2)}


def write_exported(path: Path, network: nn.Module, arguments: tuple[Any, ...], **named: Tensor) -> Path:
    """Write the file of torch.export."""
    torch.export.save(torch.export.export(network, arguments, named), path)
    return path


def write_traced(path: Path) -> Path:
    """Write the TorchScript file of Pushing."""
    torch.jit.save(torch.jit.trace(pushing(), tuple(examples().values())), path)
    return path


def write_weights(path: Path, network: nn.Module) -> Path:
    """Write the state dict of a network."""
    torch.save(network.state_dict(), path)
    return path


def write_policy(path: Path, file: str, format: str = "state_dict", **content: Any) -> Path:
    """Write the parameter file of a policy; ``model`` adds to what says where the network is."""
    model = {"format": format, "file": file, **content.pop("model", {})}
    action = {"space": "planar_delta", "size": SIZE}
    whole = {
        "policy": "torch",
        "name": path.stem,
        "device": "cpu",
        "model": model,
        "action": action,
        **content,
    }
    path.write_text(yaml.safe_dump(whole))
    return path


def write_class(path: Path, network: nn.Module, content: dict[str, Any], **arguments: Any) -> Path:
    """Write weights and parameter file of one of the classes above."""
    weights = write_weights(path.with_suffix(".pt"), network)
    model = {"class": f"torch_networks:{type(network).__name__}", "arguments": arguments}
    return write_policy(path, weights.name, **{**content, "model": model})


class RunsCode:
    """What a state dict must not hold: unpickling it calls a function."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.what = function, arguments

    def __reduce__(self) -> Any:
        return self.what


def array(values: Any) -> np.ndarray:
    """Return a tensor as the policy answers with it."""
    return np.asarray(values.detach(), np.float64)
