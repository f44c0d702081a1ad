"""The plug-in ``kitchen_bc``: its parameter file, also read where PyTorch is not installed, and its network."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from robocontrast_ros.configuration import record
from robocontrast_ros.policies.action_spaces import TOOL_DELTA
from robocontrast_ros.policies.checkpoints import CheckpointParameters, CheckpointPolicy, restored
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.policies.sentence_encoder import SentenceEncoder, encoder_reads

if TYPE_CHECKING:
    from robocontrast_ros.policies.kitchen_bc.policy import KitchenBc

RATE = 10.0
"""Control rate of the demonstrations [Hz]."""


@record
class KitchenBcParameters(CheckpointParameters):
    """The file config/policies/kitchen_state.yaml."""

    network: str = Field(description="URI of the checkpoint of the network")


class KitchenBcFile(CheckpointPolicy):
    """Makes the policy of a parameter file, or only describes it."""

    PARAMETERS = KitchenBcParameters

    @classmethod
    def described(cls, parameters: KitchenBcParameters) -> PolicyDescription:
        """Return the description in the content of a file."""
        return describe(parameters.name)

    @classmethod
    def made(cls, parameters: KitchenBcParameters, path: Path) -> KitchenBc:
        """Return the policy with its network; see ``from_file``."""
        from robocontrast_ros.policies.kitchen_bc.network import KitchenNetwork
        from robocontrast_ros.policies.kitchen_bc.policy import KitchenBc

        network = restored(KitchenNetwork, parameters, "network", path)
        return KitchenBc(cls.described(parameters), network, SentenceEncoder.shipped())


def describe(name: str) -> PolicyDescription:
    """Return the description of a policy that is shown the ground truth."""
    return replace(
        TOOL_DELTA,
        name=name,
        privileged=True,
        rate=RATE,
        **encoder_reads(),
        observes=("tool_pose", "gripper_width"),
    )
