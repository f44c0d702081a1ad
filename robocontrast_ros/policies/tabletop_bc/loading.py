"""The plug-in ``tabletop_bc``: its parameter file, also read where PyTorch is not installed, and its networks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from robocontrast_ros.configuration import ConfigurationError, record
from robocontrast_ros.policies.action_spaces import TOOL_DELTA
from robocontrast_ros.policies.checkpoints import CheckpointParameters, CheckpointPolicy, restored
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.policies.sentence_encoder import SentenceEncoder, encoder_reads
from robocontrast_ros.policies.tabletop_bc.cameras import FRONT, HEIGHT, TOP, WIDTH

if TYPE_CHECKING:
    from robocontrast_ros.policies.tabletop_bc.policy import TabletopBc

RATE = 10.0
"""Control rate of the demonstrations [Hz]."""


@record
class TabletopBcParameters(CheckpointParameters):
    """The files config/policies/tabletop_state.yaml and tabletop_camera.yaml."""

    grounding: str = Field(description="URI of the checkpoint of the network that understands the instruction")
    motion: str = Field(description="URI of the checkpoint of the network that moves the hand")
    sight: str = Field(
        default="", description="URI of the checkpoint of the network that sees things; empty: ground truth is used"
    )


class TabletopBcFile(CheckpointPolicy):
    """Makes the policy of a parameter file, or only describes it."""

    PARAMETERS = TabletopBcParameters

    @classmethod
    def described(cls, parameters: TabletopBcParameters) -> PolicyDescription:
        """Return the description in the content of a file."""
        return describe(parameters.name, sees=bool(parameters.sight))

    @classmethod
    def made(cls, parameters: TabletopBcParameters, path: Path) -> TabletopBc:
        """Return the policy with its networks.

        Raises:
            ConfigurationError: the networks are of different trainings; see ``from_file``.
        """
        from robocontrast_ros.policies.tabletop_bc.grounding import Grounding
        from robocontrast_ros.policies.tabletop_bc.motion import Motion
        from robocontrast_ros.policies.tabletop_bc.policy import TabletopBc
        from robocontrast_ros.policies.tabletop_bc.sight import Sight

        grounding = restored(Grounding, parameters, "grounding", path)
        motion = restored(Motion, parameters, "motion", path)
        sight = restored(Sight, parameters, "sight", path) if parameters.sight else None
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
        return TabletopBc(cls.described(parameters), grounding, motion, SentenceEncoder.shipped(), sight)


def describe(name: str, sees: bool) -> PolicyDescription:
    """Return the description of a policy that sees through cameras, or is shown the ground truth."""
    return replace(
        TOOL_DELTA,
        name=name,
        cameras=(TOP.name, FRONT.name) if sees else (),
        image_sizes=((WIDTH, HEIGHT), (WIDTH, HEIGHT)) if sees else (),
        privileged=not sees,
        rate=RATE,
        **encoder_reads(),
        observes=("tool_pose", "gripper_width"),
    )
