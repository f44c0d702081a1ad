"""The parameters of pushing, read without the planner."""

from __future__ import annotations

from pydantic import Field

from robocontrast_ros.configuration import record


@record
class PushingParameters:
    """Steps, distances and gains of pushing."""

    free_step: float = Field(gt=0, le=0.1, description="longest step in free space [m]")
    push_step: float = Field(gt=0, le=0.1, description="longest step while pushing [m]")
    inset: float = Field(ge=0, description="distance of the target point inside the goal's region [m]")
    clearance: float = Field(ge=0, description="kept between the source and other blocks, where possible [m]")
    lateral_gain: float = Field(ge=0, description="sideways correction for each metre off the push line")
    lateral_limit: float = Field(
        gt=0, description="distance from the push line beyond which the tool goes behind the block again [m]"
    )
    behind_gap: float = Field(ge=0, description="free space kept between tool and block when going behind [m]")
    replan_after: float = Field(gt=0, description="a source farther than this from its route gets a new one [m]")
