"""The plug-in ``film_bc``: reads the parameter file, also where PyTorch is not installed, and loads the networks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from robocontrast_ros.configuration import load_record, record
from robocontrast_ros.policies.checkpoints import needs, pytorch_needed, restored
from robocontrast_ros.policies.film_bc.description import describe
from robocontrast_ros.policies.protocol import PolicyDescription

if TYPE_CHECKING:
    from robocontrast_ros.policies.film_bc.policy import FilmBcPolicy


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
        return needs()

    @classmethod
    def from_file(cls, path: Path) -> FilmBcPolicy:
        """Return the policy that a parameter file describes.

        Raises:
            ConfigurationError: the file does not fit, a checkpoint that it names cannot be read, or PyTorch is
                not installed.
        """
        parameters = load_record(FilmBcParameters, path)
        with pytorch_needed(path, parameters.policy):
            from robocontrast_ros.policies.film_bc.keypoints import Keypoints
            from robocontrast_ros.policies.film_bc.model import FilmBc
            from robocontrast_ros.policies.film_bc.policy import FilmBcPolicy
            from robocontrast_ros.policies.sentence_encoder import SentenceEncoder
        network = restored(FilmBc, parameters.network, path, "network")
        keypoints = restored(Keypoints, parameters.keypoints, path, "keypoints") if parameters.keypoints else None
        return FilmBcPolicy(parameters.name, network, SentenceEncoder.shipped(), keypoints)
