"""The parameters of handling, read without the planner."""

from __future__ import annotations

from pydantic import Field

from robocontrast_ros.configuration import record


@record
class HandlingParameters:
    """Steps and tolerances of handling."""

    step: float = Field(gt=0, le=0.1, description="longest step [m]")
    slow_step: float = Field(gt=0, le=0.1, description="longest step close to where the hand closes or opens [m]")
    slow_within: float = Field(ge=0, description="height above that from which steps are slow [m]")
    turn: float = Field(gt=0, description="largest turn of the hand in one step [rad]")
    leash: float = Field(gt=0, description="greatest distance of the commanded pose from the tool [m]")
    aligned: float = Field(gt=0, description="sideways error up to which the hand goes all the way down [m]")
    funnel: float = Field(gt=0, description="sideways error from which the hand stays above [m]")
    turn_weight: float = Field(ge=0, description="sideways error that an error of the turn counts as [m/rad]")
    reached: float = Field(gt=0, description="height error up to which the hand is down [m]")
    stalled: float = Field(ge=0, description="a hand that goes down less than this in a step is stopped [m]")
    stalled_within: float = Field(ge=0, description="height error up to which a stopped hand counts as down [m]")
    still: float = Field(ge=0, description="a tool that goes less than this in a step rests [m]")
    still_turn: float = Field(ge=0, description="the same for its turn [rad]")
    settled: float = Field(gt=0, description="fingers that move less than this in a step have settled [m]")
    in_hand: float = Field(
        gt=0, description="distance of a target from its place in the hand beyond which it is lost [m]"
    )
    at_place: float = Field(gt=0, description="distance of a target from its goal within which it has arrived [m]")

    def __post_init__(self) -> None:
        if self.funnel <= self.aligned:
            raise ValueError(f"funnel above aligned ({self.aligned}), got {self.funnel}")
