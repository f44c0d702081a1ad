"""The plug-in ``tabletop_bc``: reads the parameter file, also without PyTorch, and loads the networks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from robocontrast_ros.configuration import ConfigurationError, load_record, record
from robocontrast_ros.policies.checkpoints import needs, pytorch_needed, restored
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.policies.tabletop_bc.description import describe

if TYPE_CHECKING:
    from robocontrast_ros.policies.tabletop_bc.policy import TabletopBc


@record
class TabletopBcParameters:
    """The files config/policies/tabletop_state.yaml and tabletop_camera.yaml."""

    policy: str = Field(description="plug-in that reads this file")
    name: str = Field(min_length=1, description="name of the policy in results")
    grounding: str = Field(description="URI of the checkpoint of the network that understands the instruction")
    motion: str = Field(description="URI of the checkpoint of the network that moves the hand")
    sight: str = Field(
        default="", description="URI of the checkpoint of the network that sees things; empty: ground truth is used"
    )


class TabletopBcFile:
    """Makes the policy of a parameter file, or only describes it."""

    @classmethod
    def describe_file(cls, path: Path) -> PolicyDescription:
        """Describe the policy of a parameter file without loading its checkpoints.

        Raises:
            ConfigurationError: the file does not fit.
        """
        parameters = load_record(TabletopBcParameters, path)
        return describe(parameters.name, sees=bool(parameters.sight))

    @classmethod
    def needs(cls, path: Path) -> tuple[str, ...]:
        """Name the packages that it needs."""
        return needs()

    @classmethod
    def from_file(cls, path: Path) -> TabletopBc:
        """Return the policy that a parameter file describes.

        Raises:
            ConfigurationError: the file does not fit, a checkpoint that it names cannot be read, or PyTorch is
                not installed.
        """
        parameters = load_record(TabletopBcParameters, path)
        with pytorch_needed(path, parameters.policy):
            from robocontrast_ros.policies.sentence_encoder import SentenceEncoder
            from robocontrast_ros.policies.tabletop_bc.grounding import Grounding
            from robocontrast_ros.policies.tabletop_bc.motion import Motion
            from robocontrast_ros.policies.tabletop_bc.policy import TabletopBc
            from robocontrast_ros.policies.tabletop_bc.sight import Sight
        grounding = restored(Grounding, parameters.grounding, path, "grounding")
        motion = restored(Motion, parameters.motion, path, "motion")
        sight = restored(Sight, parameters.sight, path, "sight") if parameters.sight else None
        known = {"grounding": grounding.catalogue.names} | ({} if sight is None else {"sight": sight.kinds.names})
        for key, names in known.items():
            if tuple(names) != tuple(motion.catalogue.names):
                raise ConfigurationError(
                    str(path),
                    key,
                    getattr(parameters, key),
                    "a network that was trained with the same things as that of `motion`",
                    "Name checkpoints of one training.",
                )
        return TabletopBc(parameters.name, grounding, motion, SentenceEncoder.shipped(), sight)
