"""A policy of networks from checkpoints: its parameter file is read without PyTorch, its networks when it is made."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from robocontrast_ros.configuration import ConfigurationError, load_record, record, resolve_uri
from robocontrast_ros.configuration.minilm import PACKAGES
from robocontrast_ros.policies.catalogue import package_need
from robocontrast_ros.policies.protocol import Policy, PolicyDescription
from robocontrast_ros.policies.scripted import PolicyParameters

if TYPE_CHECKING:
    from robocontrast_ros.policies.networks import Network


@record
class CheckpointParameters(PolicyParameters):
    """Keys of the file of every policy of networks from checkpoints."""


class CheckpointPolicy(ABC):
    """The plug-in of a policy of networks: makes the policy of a parameter file, or only describes it.

    Attributes:
        PARAMETERS: the record of the file; its keys of checkpoints are URIs.
    """

    PARAMETERS: ClassVar[type[CheckpointParameters]]

    @classmethod
    def describe_file(cls, path: Path) -> PolicyDescription:
        """Describe the policy of a parameter file without loading its checkpoints.

        Raises:
            ConfigurationError: the file does not fit.
        """
        return cls.described(load_record(cls.PARAMETERS, path))

    @classmethod
    def needs(cls, path: Path) -> tuple[str, ...]:
        """Name the packages that it needs."""
        return package_need("PyTorch (extra `torch`)", "torch"), package_need("sentence encoder", *PACKAGES)

    @classmethod
    def from_file(cls, path: Path) -> Policy:
        """Return the policy that a parameter file describes.

        Raises:
            ConfigurationError: the file does not fit, a file that it names cannot be read, or PyTorch is not installed.
        """
        parameters = load_record(cls.PARAMETERS, path)
        with pytorch_needed(path, parameters.policy):
            import torch  # noqa: F401
        return cls.made(parameters, path)

    @classmethod
    @abstractmethod
    def described(cls, parameters: Any) -> PolicyDescription:
        """Return the description in the content of a file."""

    @classmethod
    @abstractmethod
    def made(cls, parameters: Any, path: Path) -> Policy:
        """Return the policy with its networks, which are imported here; see ``from_file``."""


Restored = TypeVar("Restored", bound="Network")


@contextmanager
def pytorch_needed(path: Path, policy: str) -> Iterator[None]:
    """Context for imports that need PyTorch.

    Raises:
        ConfigurationError: it is not installed; the error names the parameter file and its key ``policy``.
    """
    try:
        yield
    except ImportError as error:
        raise ConfigurationError(
            str(path),
            "policy",
            policy,
            "PyTorch, which this policy needs",
            f"Install `robocontrast_ros[torch]`, as `make setup` does (docs/film_bc.md). Python says: {error}.",
        ) from None


def restored(kind: type[Restored], parameters: Any, key: str, path: Path) -> Restored:
    """Return the network of a checkpoint's file, which holds names, numbers and tensors, no code.

    Args:
        kind: class of the network.
        parameters: content of the parameter file that names the checkpoint.
        key: key of the checkpoint's URI there.
        path: the parameter file.

    Raises:
        ConfigurationError: the file cannot be read, or holds no such network.
    """
    import torch

    uri = getattr(parameters, key)
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
