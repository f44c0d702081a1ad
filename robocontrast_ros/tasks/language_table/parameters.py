"""The task file: every number of the task, with its unit, as one record."""

from __future__ import annotations

import math

from pydantic import Field

from robocontrast_ros.configuration import record
from robocontrast_ros.tasks.base import TaskParameters
from robocontrast_ros.tasks.language_table.blocks import ALL_BLOCKS

FAMILIES = (
    "block_to_block",
    "block_to_absolute_location",
    "block_to_relative_location",
    "block_to_block_relative_location",
    "separate_blocks",
)


@record
class Board:
    """Area of the tool and of the blocks, in the world frame; z = 0 is the surface."""

    x_min: float = Field(description="top edge, the robot's side [m]")
    x_max: float = Field(description="bottom edge [m]")
    y_min: float = Field(description="left edge [m]")
    y_max: float = Field(description="right edge [m]")
    margin: float = Field(ge=0, description="blocks are put, and goal points lie, at least this far inside [m]")

    def __post_init__(self) -> None:
        if min(self.x_max - self.x_min, self.y_max - self.y_min) <= 2 * self.margin:
            raise ValueError("a board wider than twice its margin in x and in y")

    @property
    def low(self) -> tuple[float, float]:
        """Corner of least x and y [m]."""
        return self.x_min, self.y_min

    @property
    def high(self) -> tuple[float, float]:
        """Corner of greatest x and y [m]."""
        return self.x_max, self.y_max

    def contains(self, x: float, y: float, margin: float = 0.0) -> bool:
        """Return whether a point is at least ``margin`` [m] inside the edges."""
        return self.x_min + margin <= x <= self.x_max - margin and self.y_min + margin <= y <= self.y_max - margin


@record
class Tool:
    """The pushing tool: a vertical cylinder."""

    radius: float = Field(gt=0, description="radius [m]")
    start: tuple[float, float, float] = Field(description="its tip when a trial starts, world frame [m]")


@record
class BlockSize:
    """A block as planner and sampler see it."""

    radius: float = Field(gt=0, description="half width: two blocks touch when their centres are twice this apart [m]")
    circumradius: float = Field(gt=0, description="no part of a block is farther from its centre [m]")
    resting_z: float = Field(description="z of a block's pose when it stands on the board [m]")

    def __post_init__(self) -> None:
        if self.circumradius < self.radius:
            raise ValueError(f"circumradius: got {self.circumradius}, expected at least radius {self.radius}")


@record
class BlockToBlock:
    """Push the source to the target."""

    within: float = Field(gt=0, description="success: distance of the two centres [m]")
    start_beyond: float = Field(gt=0, description="they start at least this far apart [m]")


@record
class AbsoluteLocation:
    """Push the source to a place on the board."""

    within: float = Field(gt=0, description="success: distance of its centre from the place [m]")
    within_centre: float = Field(gt=0, description="the same for the board's centre [m]")
    x_offset: float = Field(description="the nine places lie on the board shifted by this in x [m]")


@record
class RelativeLocation:
    """Push the source in a direction from its start."""

    within: float = Field(gt=0, description="success: distance of its centre from the offset point [m]")
    near: float = Field(gt=0, description="offset when the instruction says slightly [m]")
    far: float = Field(gt=0, description="offset when it does not [m]")


@record
class BlockRelativeLocation:
    """Push the source to a side of the target."""

    within: float = Field(gt=0, description="success: distance of its centre from the line of good offsets [m]")
    offset: float = Field(gt=0, description="offset along x or y for up, down, left, right [m]")
    offset_diagonal: float = Field(gt=0, description="offset along x and along y for diagonals [m]")
    line_from: float = Field(ge=0, description="the line starts at this share of the offset")
    line_to: float = Field(gt=0, description="the line ends at this share of the offset")
    drag_limit: float = Field(gt=0, description="the target may be moved this far, at most [m]")


@record
class SeparateBlocks:
    """Push the source away from the target."""

    joined_within: float = Field(gt=0, description="blocks farther apart need no separating [m]")
    distance: float = Field(gt=0, description="the goal's distance from the target [m]")
    within: float = Field(gt=0, description="success: at least the distance less this [m]")

    def __post_init__(self) -> None:
        """Refuse a family that has no unsolved start."""
        if not 0 < self.apart <= self.joined_within:
            raise ValueError("0 < distance - within <= joined_within")

    @property
    def apart(self) -> float:
        """Least distance of the centres of a separated pair [m]."""
        return self.distance - self.within


@record
class Sampling:
    """Bounds of rejection sampling; reaching one is an error or a NotApplicable, never a wrong instance."""

    scene_draws: int = Field(gt=0, description="scenes drawn for one condition, at most")
    relocation_draws: int = Field(gt=0, description="new places tried for one block, at most")
    relocation_distance: float = Field(ge=0, description="a block is moved at least this far [m]")


@record
class BoardDistractors:
    """Blocks that are on the board only as distractors (seed 004, appendix E.1)."""

    blocks: tuple[str, ...] = Field(min_length=1, description="blocks that are in no drawn scene")
    block_model: str = Field(description="URI of such a block's model; {block} stands for its name")
    margin: float = Field(ge=0, description="they are put at least this far inside the board's edges [m]")
    clearance: float = Field(ge=0, description="kept between them and what the plan moves, tool and source [m]")
    draws: int = Field(gt=0, description="places tried for one of them, at most")


@record
class LanguageTableParameters(TaskParameters):
    """The file config/tasks/language_table.yaml."""

    block_model: str = Field(description="URI of a block's model; {block} stands for its name, e.g. red_moon")
    blocks: tuple[str, ...] = Field(min_length=2, description="the blocks on the table")
    block_models: dict[str, str] = Field(
        default_factory=dict, description="URI of the model of a block that has another than `block_model`"
    )
    families: tuple[str, ...] = Field(default=(), description="families of instructions; none named: all five")
    board: Board
    tool: Tool
    block_size: BlockSize
    block_to_block: BlockToBlock
    block_to_absolute_location: AbsoluteLocation
    block_to_relative_location: RelativeLocation
    block_to_block_relative_location: BlockRelativeLocation
    separate_blocks: SeparateBlocks
    sampling: Sampling
    distracting: BoardDistractors | None = Field(
        default=None, description="of distractors; without it none can be added"
    )

    def __post_init__(self) -> None:
        """Refuse blocks and families that are unknown or named twice, and a start off the board."""
        unknown = sorted({*self.blocks, *self.further} - set(ALL_BLOCKS))
        if unknown:
            raise ValueError(f"`blocks` among {', '.join(ALL_BLOCKS)}; unknown: {', '.join(unknown)}")
        if len({*self.blocks, *self.further}) != len(self.blocks) + len(self.further):
            raise ValueError("each of the blocks once")
        elsewhere = sorted(set(self.block_models) - {*self.blocks, *self.further})
        if elsewhere:
            raise ValueError(f"block_models of the task's blocks; not among them: {', '.join(elsewhere)}")
        unheard = [family for family in self.families if family not in FAMILIES]
        if unheard or len(set(self.families)) != len(self.families):
            raise ValueError(f"each of some families once, among {', '.join(FAMILIES)}, not {', '.join(self.families)}")
        if "{block}" not in self.block_model or (self.distracting and "{block}" not in self.distracting.block_model):
            raise ValueError("block_model with the placeholder {block}")
        if not self.board.contains(*self.tool.start[:2]) or not all(map(math.isfinite, self.tool.start)):
            raise ValueError("tool.start on the board")

    @property
    def further(self) -> tuple[str, ...]:
        """The blocks that are on the board only as distractors."""
        return self.distracting.blocks if self.distracting else ()
