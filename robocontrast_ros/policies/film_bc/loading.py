"""The plug-in ``film_bc``: reads the parameter file, also where PyTorch is not installed, and loads the networks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import Field

from robocontrast_ros.configuration import ConfigurationError, load_record, record, resolve_uri
from robocontrast_ros.policies.catalogue import package_need
from robocontrast_ros.policies.film_bc.description import describe
from robocontrast_ros.policies.protocol import PolicyDescription

if TYPE_CHECKING:
    from robocontrast_ros.policies.film_bc.keypoints import Keypoints
    from robocontrast_ros.policies.film_bc.model import FilmBc
    from robocontrast_ros.policies.film_bc.policy import FilmBcPolicy

    Network = TypeVar("Network", FilmBc, Keypoints)


@record
class FilmBcParameters:
    """The files config/policies/film_bc*.yaml."""

    policy: str = Field(description="plug-in that reads this file")
    name: str = Field(min_length=1, description="name of the policy in results")
    network: str = Field(description="URI of the checkpoint of the network that chooses actions")
    keypoints: str = Field(
        default="",
        description="URI of the checkpoint of the network that finds the blocks; empty: ground truth is used",
    )


class FilmBcFile:
    """Makes the policy of a parameter file, or only describes it."""

    @classmethod
    def describe_file(cls, path: Path) -> PolicyDescription:
        """Describe the policy of a parameter file without loading its checkpoints.

        Raises:
            ConfigurationError: the file does not fit.
        """
        parameters = load_record(FilmBcParameters, path)
        return describe(parameters.name, sees=bool(parameters.keypoints))

    @classmethod
    def needs(cls, path: Path) -> tuple[str, ...]:
        """Name the packages that it needs."""
        from robocontrast_ros.policies.sentence_encoder import PACKAGE

        return package_need("torch", "PyTorch (extra `learned`)"), package_need(PACKAGE, "sentence encoder")

    @classmethod
    def from_file(cls, path: Path) -> FilmBcPolicy:
        """Return the policy that a parameter file describes.

        Raises:
            ConfigurationError: the file does not fit, a checkpoint that it names cannot be read, or PyTorch is
                not installed.
        """
        parameters = load_record(FilmBcParameters, path)
        try:
            from robocontrast_ros.policies.film_bc.keypoints import Keypoints
            from robocontrast_ros.policies.film_bc.model import FilmBc
            from robocontrast_ros.policies.film_bc.policy import FilmBcPolicy
            from robocontrast_ros.policies.sentence_encoder import SentenceEncoder
        except ImportError as error:
            raise ConfigurationError(
                str(path),
                "policy",
                parameters.policy,
                "PyTorch, which this policy needs",
                f"Install the extra `learned` (docs/film_bc.md). Python says: {error}.",
            ) from None
        network = restored(FilmBc, parameters.network, path, "network")
        keypoints = restored(Keypoints, parameters.keypoints, path, "keypoints") if parameters.keypoints else None
        return FilmBcPolicy(parameters.name, network, SentenceEncoder.shipped(), keypoints)


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
        raise ConfigurationError(str(path), key, uri, expected, f"PyTorch says: {reason}") from None
