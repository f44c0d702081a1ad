"""The task file: every number of the task, with its unit, as one record."""

from __future__ import annotations

from pydantic import Field

from robocontrast_ros.configuration import record
from robocontrast_ros.tasks.base import TaskParameters
from robocontrast_ros.tasks.tabletop.parameters import (
    Fixtures,
    Hand,
    Perturbing,
    Placing,
    Success,
    TabletopDistractors,
    TabletopRegion,
    Triple,
)

FAMILIES = {
    "open": "Open",
    "close": "Close",
    "turn_on": "Turnon",
    "turn_off": "Turnoff",
    "put_on": "On",
    "put_in": "In",
    "stack": "Stack",
    "put_left": "LeftOf",
    "put_right": "RightOf",
}
"""Family of instructions -> the predicate that it asks for."""


@record
class Moving:
    """Parameters of the planner's ways to move a joint."""

    before: float = Field(gt=0, description="distance along its approach from which the hand goes to a handle [m]")
    corridor: float = Field(gt=0, description="half width of the free way to a handle [m]")
    length: float = Field(gt=0, description="length of the hand and the wrist behind the fingers [m]")
    step: float = Field(gt=0, description="step of the handle between two poses of the hand [m]")
    inside: float = Field(gt=0, le=1, description="share of a state's positions, from its bound, to which a joint goes")
    height: float = Field(gt=0, description="height of the tool on the way to a handle, and from it [m]")


@record
class Drawing:
    """Parameters of drawing scenes; reaching a bound is an error, never a wrong instance."""

    draws: int = Field(gt=0, description="scenes drawn for one problem, at most")
    place_draws: int = Field(gt=0, description="places tried for one thing, at most")
    settled: float = Field(gt=0, description="farthest that a thing may move while a drawn scene settles [m]")


@record
class KitchenSuccess(Success):
    """Thresholds of success: those of the tabletop, and that of joints."""

    leave: float = Field(
        ge=0,
        le=0.005,
        description="a joint leaves the state that is asked for this far beyond its bound, at the handle [m]",
    )


@record
class KitchenPerturbing(Perturbing):
    """Bounds of the perturbations, and thresholds of a wrong way: those of the tabletop, and that of joints."""

    joint_move: float = Field(gt=0, le=0.5, description="ΔS and ΔSB move a joint by at least this share of its range")


@record
class KitchenDistractors(TabletopDistractors):
    """Drawing of distractors: as on the tabletop, and on fixtures."""

    tops: tuple[str, ...] = Field(default=(), description="types of fixtures on whose tops they also stand")
    on_tops: float = Field(default=0.0, ge=0, le=1, description="share of them for which a place there is tried first")
    highest: float = Field(default=0.0, ge=0, description="nothing that is added on a top reaches higher [m]")


@record
class KitchenParameters(TaskParameters):
    """The file config/tasks/kitchen.yaml."""

    start: Triple = Field(description="the tool when a trial starts, world frame [m]")
    store: Triple | None = Field(
        default=None, description="where a person takes objects from that are in no scene, world frame [m]; not known"
    )
    region: TabletopRegion
    fixtures: Fixtures
    hand: Hand
    success: KitchenSuccess
    placing: Placing
    moving: Moving
    drawing: Drawing
    perturbing: KitchenPerturbing
    distracting: KitchenDistractors | None = Field(
        default=None, description="of distractors; without it none can be added"
    )
    things: str = Field(description="URI of the folder of the things")
    problems: str = Field(description="URI of the folder of the problems, one file each")

    @property
    def tool_region(self) -> tuple[tuple[float, float], tuple[float, float], tuple[float, float]]:
        """Least and greatest x, y and z of the tool [m]: above the region, from the table to the ceiling."""
        where = self.region
        return (where.x_min, where.x_max), (where.y_min, where.y_max), (self.hand.tip, self.placing.ceiling)

    def steps(self, seconds: float) -> int:
        """Return the control steps in a time [s], at least 1."""
        return max(round(seconds * self.control_rate), 1)
