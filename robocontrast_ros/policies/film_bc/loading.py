"""The plug-in ``film_bc``: its parameter file, also read where PyTorch is not installed, and its networks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from robocontrast_ros.configuration import record
from robocontrast_ros.policies.action_spaces import PLANAR_DELTA
from robocontrast_ros.policies.checkpoints import CheckpointParameters, CheckpointPolicy, restored
from robocontrast_ros.policies.film_bc.observations import CAMERA
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.policies.sentence_encoder import SentenceEncoder, encoder_reads

if TYPE_CHECKING:
    from robocontrast_ros.policies.film_bc.policy import FilmBcPolicy

IMAGE_SIZE = (320, 180)
"""Width and height of the camera's images in the demonstrations [pixel]; the network sees them at half this size."""

RATE = 10.0
"""Control rate of the demonstrations [Hz]."""


@record
class FilmBcParameters(CheckpointParameters):
    """The files config/policies/film_bc*.yaml."""

    network: str = Field(description="URI of the checkpoint of the network that chooses actions")
    keypoints: str = Field(
        default="",
        description="URI of the checkpoint of the network that finds the blocks; empty: ground truth is used",
    )


class FilmBcFile(CheckpointPolicy):
    """Makes the policy of a parameter file, or only describes it."""

    PARAMETERS = FilmBcParameters

    @classmethod
    def described(cls, parameters: FilmBcParameters) -> PolicyDescription:
        """Return the description of a policy that sees through the camera, or is shown the ground truth."""
        sees = bool(parameters.keypoints)
        return replace(
            PLANAR_DELTA,
            name=parameters.name,
            cameras=(CAMERA,) if sees else (),
            image_sizes=(IMAGE_SIZE,) if sees else (),
            privileged=not sees,
            rate=RATE,
            **encoder_reads(),
        )

    @classmethod
    def made(cls, parameters: FilmBcParameters, path: Path) -> FilmBcPolicy:
        """Return the policy with its networks."""
        from robocontrast_ros.policies.film_bc.keypoints import Keypoints
        from robocontrast_ros.policies.film_bc.model import FilmBc
        from robocontrast_ros.policies.film_bc.policy import FilmBcPolicy

        network = restored(FilmBc, parameters, "network", path)
        keypoints = restored(Keypoints, parameters, "keypoints", path) if parameters.keypoints else None
        return FilmBcPolicy(cls.described(parameters), network, SentenceEncoder.shipped(), keypoints)
