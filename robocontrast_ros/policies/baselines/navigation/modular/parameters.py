"""The parameter file of the modular baseline, and the policy's description by it."""

from __future__ import annotations

import math
from dataclasses import replace

from pydantic import Field

from robocontrast_ros.configuration import record
from robocontrast_ros.policies.action_spaces import DISCRETE_NAVIGATION
from robocontrast_ros.policies.baselines.navigation.moves import MoveSizes, Search
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.policies.scripted import PolicyParameters


@record
class LanguageParameters:
    """Parameters of cutting phrases, and of the places that they name."""

    separators: tuple[str, ...] = Field(description="words at which an instruction is cut into phrases")
    template: str = Field(description="sentence that a phrase is compared with; {} stands for the category")
    least_similarity: float = Field(
        ge=-1, le=1, description="cosine of phrase and sentence from which the phrase names the category"
    )

    def __post_init__(self) -> None:
        if "{}" not in self.template:
            raise ValueError("template with the placeholder {}")


@record
class CameraView:
    """Pose and field of view of the camera on the robot."""

    name: str = Field(min_length=1, description="camera whose images are received")
    horizontal_view: float = Field(gt=0, lt=math.pi, description="angle between the image's left and right [rad]")
    position: tuple[float, float, float] = Field(description="of the lens, in the base's frame [m]")
    tilt: float = Field(gt=-math.pi / 2, lt=math.pi / 2, description="downward angle [rad]")


@record
class Colour:
    """A range of colours."""

    hue: tuple[float, float] = Field(description="from and to, 0 to 360; from > to goes through red [degrees]")
    saturation: tuple[float, float] = Field(default=(0.0, 1.0), description="least and greatest, 0 to 1")
    value: tuple[float, float] = Field(default=(0.0, 1.0), description="least and greatest, 0 to 1")


@record
class VisionParameters:
    """Parameters of vision."""

    camera: CameraView
    width: int = Field(ge=16, description="images are scaled to this width [pixels]")
    floor: Colour = Field(description="colour of the floor")
    categories: dict[str, Colour] = Field(min_length=1, description="category -> colour")
    least_area: int = Field(ge=1, description="smaller patches of a colour are ignored [scaled pixels]")
    least_contact: int = Field(ge=1, description="columns in which a patch must meet the floor")
    depth: float = Field(gt=0, description="points this much farther away belong to something else [m]")
    range: float = Field(gt=0, description="furniture and floor that seem farther away are ignored [m]")
    obstacle_range: float = Field(
        gt=0, description="the same for obstacles; what hangs over the floor seems far away [m]"
    )


@record
class MemoryParameters:
    """Parameters of the map."""

    cell: float = Field(gt=0, description="side of a cell [m]")
    span: float = Field(gt=0, description="how far the map reaches from the start, each way [m]")
    blocked_weight: float = Field(gt=0, description="evidence that an observation of an obstacle adds")
    free_weight: float = Field(gt=0, description="evidence that an observation of free floor subtracts")
    evidence: float = Field(gt=0, description="greatest evidence for and against; a cell counts as blocked above 0")
    looks: int = Field(ge=1, description="observations of a category after which a cell counts as holding it")


@record
class ModularParameters(PolicyParameters):
    """The file config/policies/vln_modular.yaml."""

    language: LanguageParameters
    vision: VisionParameters
    memory: MemoryParameters
    moves: MoveSizes
    search: Search
    radius: float = Field(gt=0, description="of the base [m]")
    gaps: tuple[float, ...] = Field(
        min_length=1, description="distances kept to obstacles; the first with a way is used [m]"
    )
    horizon: float = Field(gt=0, description="how far ahead moves are searched [m]")
    unknown_cost: float = Field(ge=1, description="cost of a metre over floor never seen, in metres")
    near: float = Field(gt=0, description="a place is reached when the nearest point seen of it is within this [m]")


def describe(parameters: ModularParameters) -> PolicyDescription:
    """Return the description: it needs one camera and answers with moves."""
    return replace(DISCRETE_NAVIGATION, name=parameters.name, cameras=(parameters.vision.camera.name,))
