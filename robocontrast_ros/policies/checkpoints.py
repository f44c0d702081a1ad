"""What loading the shipped networks has in common: the packages that they need, and their checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from robocontrast_ros.configuration import ConfigurationError, resolve_uri
from robocontrast_ros.policies.catalogue import package_need

if TYPE_CHECKING:
    from typing_extensions import Self


class Restorable(Protocol):
    """A network that a checkpoint's content, only names, numbers and tensors, makes again."""

    @classmethod
    def restored(cls, checkpoint: dict[str, Any]) -> Self:
        """Return the network."""
        ...


Network = TypeVar("Network", bound=Restorable)


def needs() -> tuple[str, ...]:
    """Name the packages that a shipped learned policy needs."""
    from robocontrast_ros.configuration.minilm import PACKAGE

    return package_need("torch", "PyTorch (extra `learned`)"), package_need(PACKAGE, "sentence encoder")


@contextmanager
def pytorch_needed(path: Path, policy: str) -> Iterator[None]:
    """Import within what needs PyTorch.

    Raises:
        ConfigurationError: it is not installed; names the parameter file and its key ``policy``.
    """
    try:
        yield
    except ImportError as error:
        raise ConfigurationError(
            str(path),
            "policy",
            policy,
            "PyTorch, which this policy needs",
            f"Install the extra `learned`, as `make setup` does (docs/film_bc.md). Python says: {error}.",
        ) from None


def restored(kind: type[Network], uri: str, path: Path, key: str) -> Network:
    """Return the network of a checkpoint's file, which holds names, numbers and tensors, no code."""
    import torch

    file = resolve_uri(uri, path.parent)
    expected = f"a checkpoint of a {kind.__name__} network"
    try:
        content = torch.load(file, map_location="cpu", weights_only=True)
    except OSError as error:
        raise ConfigurationError(str(path), key, uri, expected, f"{error.strerror or error}.") from None
    except Exception:  # any other file fails in many ways, and PyTorch's advice is to load it unsafely
        raise ConfigurationError(
            str(path),
            key,
            uri,
            expected,
            "It is not a PyTorch file, or it holds more than names, numbers and tensors and might run code.",
        ) from None
    try:
        return kind.restored(content)
    except (RuntimeError, KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        reason = str(error).partition("\n")[0]
        cure = f"The file holds another network, or one of another version ({type(error).__name__}: {reason})."
        raise ConfigurationError(str(path), key, uri, expected, cure) from None
