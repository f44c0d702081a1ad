"""What the policies observe and answer with; read without PyTorch."""

from __future__ import annotations

from dataclasses import replace

from robocontrast_ros.policies.action_spaces import TOOL_DELTA
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.policies.sentence_encoder import encoder_reads
from robocontrast_ros.policies.tabletop_bc.cameras import FRONT, HEIGHT, TOP, WIDTH

RATE = 10.0
"""Control rate of the demonstrations [Hz]."""


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
