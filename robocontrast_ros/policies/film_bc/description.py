"""What the policies observe and answer with; read without PyTorch."""

from __future__ import annotations

from dataclasses import replace

from robocontrast_ros.policies.action_spaces import PLANAR_DELTA
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.policies.sentence_encoder import encoder_reads

CAMERA = "board"

IMAGE_SIZE = (320, 180)
"""Width and height of the camera's images in the demonstrations [pixel]; the network sees them at half this size."""

RATE = 10.0
"""Control rate of the demonstrations [Hz]."""


def describe(name: str, sees: bool) -> PolicyDescription:
    """Return the description of a policy that sees through the camera, or is shown the ground truth."""
    return replace(
        PLANAR_DELTA,
        name=name,
        cameras=(CAMERA,) if sees else (),
        image_sizes=(IMAGE_SIZE,) if sees else (),
        privileged=not sees,
        rate=RATE,
        **encoder_reads(),
    )
