"""The YAML file of an object. Lengths in metres, angles in degrees, masses in kilograms, colours 0 to 1."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from robocontrast_ros.configuration import record

Share = Annotated[float, Field(ge=0.0, le=1.0)]
Rgb = tuple[Share, Share, Share]
Triple = tuple[float, float, float]
Pair = tuple[float, float]
Length = Annotated[float, Field(gt=0.0, le=10.0)]
Word = Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(?:[ -][a-z0-9]+)*$")]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$")]

Texture = Literal[
    "plain", "bricks", "cloth", "label", "marble", "planks", "seam", "speckle", "stripes", "tiles", "wood"
]

PLAIN = "plain"
"""The variant of an object whose colour is not part of its name."""

LENGTHS = {"box": 3, "cylinder": 2, "capsule": 2, "sphere": 1, "ellipsoid": 3, "ring": 3}
"""Shape of a part -> number of its lengths."""


@record
class Paint:
    """Colour and texture of a part.

    Attributes:
        colour: its colour, the ground of a texture.
        second: the texture's other colour.
        texture: its pattern; ``plain`` has one colour.
        text: text of a label, in capital letters.
        shine: 0 dull to 1 polished.
        opacity: 1 opaque, less for glass.
        grain: length after which the texture repeats, or of its details [m].
    """

    colour: Rgb = Field(default=(0.7, 0.7, 0.7), description="red, green, blue")
    second: Rgb = Field(default=(1.0, 1.0, 1.0), description="of the texture's pattern")
    texture: Texture = Field(default=PLAIN, description="kind of texture")
    text: str = Field(default="", pattern=r"^[A-Z0-9 .&!-]{0,12}$", description="what a label says")
    shine: Share = Field(default=0.2, description="0 dull to 1 polished")
    opacity: float = Field(default=1.0, gt=0.0, le=1.0, description="less than 1 for glass")
    grain: Length = Field(default=0.05, description="length of the texture's details")


@record
class PaintChange:
    """Changes of a variant to a paint; see ``Paint``."""

    colour: Rgb | None = Field(default=None, description="red, green, blue")
    second: Rgb | None = Field(default=None, description="of the texture's pattern")
    text: str | None = Field(default=None, pattern=r"^[A-Z0-9 .&!-]{0,12}$", description="what a label says")
    texture: Texture | None = Field(default=None, description="kind of texture")
    shine: Share | None = Field(default=None, description="0 dull to 1 polished")
    grain: Length | None = Field(default=None, description="length of the texture's details")


@record
class Part:
    """One shape of which an object is made, in any frame; z is up.

    ``size`` has full lengths: box and ellipsoid x, y, z; cylinder diameter and height; capsule diameter and length with
    its caps; sphere diameter; ring outer diameter, height and thickness of its wall. A ring is made of ``count`` boxes;
    ``flare`` leans its wall outwards, the diameter is then that at half its height.
    """

    type: Literal["box", "cylinder", "capsule", "sphere", "ellipsoid", "ring"] = Field(description="shape")
    size: tuple[Length, ...] = Field(min_length=1, max_length=3, description="full lengths")
    at: Triple = Field(default=(0.0, 0.0, 0.0), description="centre")
    turn: Triple = Field(default=(0.0, 0.0, 0.0), description="roll, pitch, yaw [deg]")
    paint: str = Field(default="body", description="name of its paint")
    weight: float = Field(default=1.0, ge=0.0, le=100.0, description="density compared with other parts")
    collides: bool = Field(default=True, description="false if it is only visible")
    count: int = Field(default=16, ge=6, le=32, description="boxes of a ring")
    flare: float = Field(default=0.0, ge=-60.0, le=60.0, description="lean of a ring's wall [deg]")

    def __post_init__(self) -> None:
        if len(self.size) != LENGTHS[self.type]:
            raise ValueError(f"{LENGTHS[self.type]} lengths as the size of a {self.type}, not {len(self.size)}")
        if self.type == "capsule" and self.size[1] < self.size[0]:
            raise ValueError("a capsule at least as long as thick")
        if self.type == "ring" and self.size[2] >= self.size[0] / 2:
            raise ValueError("a ring whose wall is thinner than its radius")


@record
class ObjectRegion:
    """A flat region, in the frame of the parts: a disc (``diameter``) or a rectangle (``size``)."""

    at: Pair = Field(default=(0.0, 0.0), description="centre, x and y")
    diameter: Length | None = Field(default=None, description="of a disc")
    size: tuple[Length, Length] | None = Field(default=None, description="of a rectangle along x and y")

    def __post_init__(self) -> None:
        if (self.diameter is None) == (self.size is None):
            raise ValueError("one of diameter and size")


@record
class CavityRegion(ObjectRegion):
    """A cavity for other objects."""

    floor: float = Field(ge=0.0, description="height of its floor")
    rim: float = Field(gt=0.0, description="height of its rim")

    def __post_init__(self) -> None:
        ObjectRegion.__post_init__(self)
        if self.rim <= self.floor:
            raise ValueError("a rim above the floor")


@record
class TopRegion(ObjectRegion):
    """A surface for other objects."""

    z: float = Field(ge=0.0, description="its height")


@record
class GraspEntry:
    """One grasp, or several around the z axis, in the frame of the parts."""

    at: Triple = Field(description="centre between the finger tips")
    width: float = Field(gt=0.0, le=0.2, description="of the object there")
    closing: Triple = Field(default=(0.0, 1.0, 0.0), description="direction in which the fingers close")
    approach: Triple = Field(default=(0.0, 0.0, -1.0), description="direction in which the hand comes")
    turns: Literal[1, 2, 4, 12] = Field(default=2, description="turns about the approach that are the same grasp")
    around: int = Field(default=1, ge=1, le=12, description="copies of it around the z axis")

    def __post_init__(self) -> None:
        for what, vector in (("closing", self.closing), ("approach", self.approach)):
            if sum(part * part for part in vector) < 1e-6:
                raise ValueError(f"a direction as {what}, not zero")
        along = sum(a * b for a, b in zip(self.closing, self.approach, strict=True))
        if abs(along) > 1e-6:
            raise ValueError("a closing direction at a right angle to the approach")


@record
class StateEntry:
    """Positions of a joint that have a name; without a bound there is none."""

    least: float | None = Field(default=None, description="least position [m, or deg]")
    greatest: float | None = Field(default=None, description="greatest position [m, or deg]")

    def __post_init__(self) -> None:
        if self.least is None and self.greatest is None:
            raise ValueError("least, greatest or both")
        if self.least is not None and self.greatest is not None and self.greatest < self.least:
            raise ValueError("least <= greatest")


@record
class JointEntry:
    """A part that moves on a joint, such as a drawer, a door or a knob.

    All places are in the frame of the parts, with the joint at 0. A slide moves along ``axis``, a hinge turns about it,
    as a right-handed screw.
    """

    type: Literal["slide", "hinge"] = Field(description="kind of joint")
    axis: Triple = Field(description="direction of its motion, or of its axis")
    at: Triple = Field(description="place where people take it, such as its handle; the origin of its frame")
    through: Triple | None = Field(default=None, description="a point of a hinge's axis")
    range: Pair = Field(description="least and greatest position [m, or deg]; 0 is one of its positions")
    mass: float = Field(gt=0.0, le=100.0, description="[kg]")
    damping: float = Field(default=0.0, ge=0.0, description="force at 1 m/s [N s/m], or torque at 1 rad/s [N m s/rad]")
    friction: float = Field(default=0.0, ge=0.0, description="force, or torque, that starts it [N, or N m]")
    armature: float = Field(default=0.0, ge=0.0, description="inertia added for the solver [kg, or kg m2]")
    parts: tuple[Part, ...] = Field(min_length=1, description="its shape")
    cavity: CavityRegion | None = Field(default=None, description="where something can be put in")
    top: TopRegion | None = Field(default=None, description="where something can be put on")
    grasps: tuple[GraspEntry, ...] = Field(default=(), description="ways to take it, preferred ones first")
    nouns: tuple[Word, ...] = Field(default=(), description="what people call it; by its name, if none is given")
    states: dict[Word, StateEntry] = Field(min_length=1, description="word, such as `open` -> its positions")

    def __post_init__(self) -> None:
        if sum(part * part for part in self.axis) < 1e-6:
            raise ValueError("a direction as axis, not zero")
        if (self.through is None) != (self.type == "slide"):
            raise ValueError("`through` for a hinge, and for nothing else")
        low, high = self.range
        if not low <= 0.0 <= high or low == high:
            raise ValueError("two numbers as range, the smaller one first, with 0 between them")


@record
class Light:
    """A lamp; ``towards`` is a point that it shines at. A lamp without a place is as far away as the sun."""

    at: Triple = Field(description="where it is, or where it shines from")
    towards: Triple = Field(default=(0.4, 0.0, 0.0), description="point that it shines at")
    colour: Rgb = Field(default=(0.6, 0.6, 0.6), description="red, green, blue")
    ambient: Rgb = Field(default=(0.0, 0.0, 0.0), description="light that it adds everywhere")
    far: bool = Field(default=True, description="whether its rays are parallel")
    shadow: bool = Field(default=True, description="whether it casts shadows in pictures of fine quality")


@record
class Variant:
    """One look of an object."""

    paints: dict[str, PaintChange] = Field(default_factory=dict, description="name of a paint -> its changes")
    nouns: tuple[Word, ...] = Field(default=(), description="names of this variant, before those of all")
    lights: tuple[Light, ...] | None = Field(default=None, description="in place of the object's")


@record
class ObjectFile:
    """An object in one or more colours."""

    nouns: tuple[Word, ...] = Field(min_length=1, description="its names, the usual one first")
    category: Word = Field(description="its kind")
    mass: float = Field(default=0.0, ge=0.0, le=100.0, description="[kg]; 0 for a fixed object")
    paints: dict[str, Paint] = Field(default_factory=dict, description="name -> colour and texture")
    parts: tuple[Part, ...] = Field(default=(), description="its shape")
    mesh: str | None = Field(default=None, description="an OBJ or MJCF file in place of parts")
    size: tuple[Length, Length, Length] | None = Field(default=None, description="of a mesh along x, y, z, to check it")
    cavity: CavityRegion | None = Field(default=None, description="where something can be put in")
    top: TopRegion | None = Field(default=None, description="where something can be put on")
    stackable: bool = Field(default=False, description="whether such things are stacked")
    grasps: tuple[GraspEntry, ...] = Field(default=(), description="ways to grasp it, preferred ones first")
    fixed: bool = Field(default=False, description="whether it never moves: tables, backgrounds, lights")
    joints: dict[Name, JointEntry] = Field(default_factory=dict, description="name -> moving part of what is fixed")
    lights: tuple[Light, ...] = Field(default=(), description="its lamps")
    variants: dict[Name, Variant] = Field(min_length=1, description="colour, or `plain` -> its changes")
