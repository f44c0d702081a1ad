"""The plug-in ``kitchen_bc``: its parameter file, also read where PyTorch is not installed, and its network."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from robocontrast_ros.configuration import ConfigurationError, record
from robocontrast_ros.policies.action_spaces import TOOL_DELTA
from robocontrast_ros.policies.checkpoints import CheckpointParameters, CheckpointPolicy, restored
from robocontrast_ros.policies.kitchen_bc.cameras import AGENT
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.policies.sentence_encoder import SentenceEncoder, encoder_reads
from robocontrast_ros.policies.tabletop_bc.cameras import HEIGHT, WIDTH

if TYPE_CHECKING:
    from robocontrast_ros.policies.kitchen_bc.policy import KitchenBc

RATE = 10.0
"""Control rate of the demonstrations [Hz]."""


@record
class KitchenBcParameters(CheckpointParameters):
    """The files config/policies/kitchen_state.yaml, kitchen_camera.yaml and suite_state.yaml."""

    network: str = Field(description="URI of the checkpoint of the network")
    sight: str = Field(
        default="", description="URI of the checkpoint of the network that sees things; empty: ground truth is used"
    )
    chained: bool = Field(
        default=False, description="an instruction may ask for several things: it is understood anew after each"
    )


class KitchenBcFile(CheckpointPolicy):
    """Makes the policy of a parameter file, or only describes it."""

    PARAMETERS = KitchenBcParameters

    @classmethod
    def described(cls, parameters: KitchenBcParameters) -> PolicyDescription:
        """Return the description in the content of a file."""
        return describe(parameters.name, sees=bool(parameters.sight))

    @classmethod
    def made(cls, parameters: KitchenBcParameters, path: Path) -> KitchenBc:
        """Return the policy with its networks.

        Raises:
            ConfigurationError: the network that sees knows a thing that the other does not; see ``from_file``.
        """
        from robocontrast_ros.policies.kitchen_bc.network import KitchenNetwork
        from robocontrast_ros.policies.kitchen_bc.policy import KitchenBc
        from robocontrast_ros.policies.kitchen_bc.sight import KitchenSight

        network = restored(KitchenNetwork, parameters, "network", path)
        sight = restored(KitchenSight, parameters, "sight", path) if parameters.sight else None
        if sight is not None and not sight.kinds.models <= network.catalogue.index.keys():
            raise ConfigurationError(
                str(path),
                "sight",
                parameters.sight,
                "a network that was trained with the same things as that of `network`",
                "Name checkpoints of one training.",
            )
        return KitchenBc(cls.described(parameters), network, SentenceEncoder.shipped(), sight, parameters.chained)


def describe(name: str, sees: bool = False) -> PolicyDescription:
    """Return the description of a policy that sees through a camera, or is shown the ground truth."""
    return replace(
        TOOL_DELTA,
        name=name,
        cameras=(AGENT.name,) if sees else (),
        image_sizes=((WIDTH, HEIGHT),) if sees else (),
        privileged=not sees,
        rate=RATE,
        **encoder_reads(),
        observes=("tool_pose", "gripper_width"),
    )
