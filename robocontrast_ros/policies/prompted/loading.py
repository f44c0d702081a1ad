"""The plug-in ``prompted``: reads the parameter file, also without PyTorch, and loads the network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from robocontrast_ros.configuration import load_record, record, resolve_uri
from robocontrast_ros.policies.baselines.language_table.oracle import Oracle
from robocontrast_ros.policies.checkpoints import needs, pytorch_needed, restored
from robocontrast_ros.policies.prompted.description import describe
from robocontrast_ros.policies.protocol import PolicyDescription

if TYPE_CHECKING:
    from robocontrast_ros.policies.prompted.policy import PromptedPolicy


@record
class PromptedParameters:
    """The files config/policies/prompted_*.yaml."""

    policy: str = Field(description="plug-in that reads this file")
    name: str = Field(min_length=1, description="name of the policy in results")
    network: str = Field(description="URI of the checkpoint of the network that understands the prompt")
    oracle: str = Field(description="URI of the parameter file of the oracle that carries out what was understood")


class PromptedFile:
    """Makes the policy of a parameter file, or only describes it."""

    @classmethod
    def describe_file(cls, path: Path) -> PolicyDescription:
        """Describe the policy of a parameter file without loading its checkpoint.

        Raises:
            ConfigurationError: the file does not fit.
        """
        return describe(load_record(PromptedParameters, path).name)

    @classmethod
    def needs(cls, path: Path) -> tuple[str, ...]:
        """Name the packages that it needs."""
        return needs()

    @classmethod
    def from_file(cls, path: Path) -> PromptedPolicy:
        """Return the policy that a parameter file describes.

        Raises:
            ConfigurationError: the file does not fit, a file that it names cannot be read, or PyTorch is not installed.
        """
        parameters = load_record(PromptedParameters, path)
        with pytorch_needed(path, parameters.policy):
            from robocontrast_ros.policies.prompted.network import Prompted
            from robocontrast_ros.policies.prompted.policy import PromptedPolicy
            from robocontrast_ros.policies.sentence_encoder import SentenceEncoder
        network = restored(Prompted, parameters.network, path, "network")
        oracle = Oracle.from_file(resolve_uri(parameters.oracle, path.parent))
        return PromptedPolicy(parameters.name, network, SentenceEncoder.shipped(), oracle)
