"""The plug-in ``vln_modular``: reads the parameter file, and imports the policy's modules only to make it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from robocontrast_ros.configuration import load_record
from robocontrast_ros.configuration.minilm import PACKAGES
from robocontrast_ros.policies.baselines.navigation.modular.parameters import ModularParameters, describe
from robocontrast_ros.policies.catalogue import package_need
from robocontrast_ros.policies.protocol import PolicyDescription

if TYPE_CHECKING:
    from robocontrast_ros.policies.baselines.navigation.modular.policy import ModularNavigation


class ModularFile:
    """Makes the policy of a parameter file, or only describes it."""

    @classmethod
    def describe_file(cls, path: Path) -> PolicyDescription:
        """Return the description of the policy of a parameter file, without the encoder's weights.

        Raises:
            ConfigurationError: the file does not fit.
        """
        return describe(load_record(ModularParameters, path))

    @classmethod
    def needs(cls, path: Path) -> tuple[str, ...]:
        """Name the package of the encoder."""
        return (package_need("sentence encoder", *PACKAGES),)

    @classmethod
    def from_file(cls, path: Path) -> ModularNavigation:
        """Return the policy that a parameter file describes.

        Raises:
            ConfigurationError: the file does not fit, or the encoder's weights are not installed.
        """
        from robocontrast_ros.policies.baselines.navigation.modular.policy import ModularNavigation
        from robocontrast_ros.policies.sentence_encoder import SentenceEncoder

        return ModularNavigation(load_record(ModularParameters, path), SentenceEncoder.shipped())
