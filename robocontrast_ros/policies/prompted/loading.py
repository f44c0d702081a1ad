"""The plug-in ``prompted``: its parameter file, also read where PyTorch is not installed, and its network."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from robocontrast_ros.configuration import record, resolve_uri
from robocontrast_ros.policies.action_spaces import PLANAR_DELTA
from robocontrast_ros.policies.baselines.language_table.oracle import Oracle
from robocontrast_ros.policies.checkpoints import CheckpointParameters, CheckpointPolicy, restored
from robocontrast_ros.policies.prompted import LONGEST
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.policies.sentence_encoder import SentenceEncoder, encoder_reads

if TYPE_CHECKING:
    from robocontrast_ros.policies.prompted.policy import PromptedPolicy

MARKS = 2
"""Tokens that the tokenizer adds to a text; they are left out of the prompt."""

PICTURES = 2
"""Places of pictures in a prompt about two blocks; ``max_tokens`` counts none of them."""


@record
class PromptedParameters(CheckpointParameters):
    """The files config/policies/prompted_*.yaml."""

    network: str = Field(description="URI of the checkpoint of the network that understands the prompt")
    oracle: str = Field(description="URI of the parameter file of the oracle that carries out what was understood")


class PromptedFile(CheckpointPolicy):
    """Makes the policy of a parameter file, or only describes it."""

    PARAMETERS = PromptedParameters

    @classmethod
    def described(cls, parameters: CheckpointParameters) -> PolicyDescription:
        """Return the description: it is shown the list of objects, and given segments, with pictures and masks.

        Raises:
            ConfigurationError: the package of the sentence encoder is not installed.
        """
        return replace(
            PLANAR_DELTA,
            name=parameters.name,
            privileged=True,
            objects=True,
            referents="crop",
            mask="native",
            **{**encoder_reads(), "max_tokens": LONGEST + MARKS - PICTURES},
        )

    @classmethod
    def made(cls, parameters: PromptedParameters, path: Path) -> PromptedPolicy:
        """Return the policy with its network and oracle."""
        from robocontrast_ros.policies.prompted.network import Prompted
        from robocontrast_ros.policies.prompted.policy import PromptedPolicy

        network = restored(Prompted, parameters, "network", path)
        oracle = Oracle.from_file(resolve_uri(parameters.oracle, path.parent))
        return PromptedPolicy(cls.described(parameters), network, SentenceEncoder.shipped(), oracle)
