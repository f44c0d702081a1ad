"""The parameter file of the oracle of navigation, read without the planner."""

from __future__ import annotations

from pydantic import Field

from robocontrast_ros.configuration import record
from robocontrast_ros.policies.baselines.navigation.moves import MoveSizes, Search
from robocontrast_ros.policies.scripted import OracleParameters


@record
class NavigationOracleParameters(OracleParameters):
    """The file config/policies/vln_oracle.yaml."""

    moves: MoveSizes
    search: Search
    gaps: tuple[float, ...] = Field(
        min_length=1,
        description="distances kept to furniture and walls; the first with a way is used [m]",
    )
    leaving: float = Field(ge=0, description="cost that each metre away from the planner's path adds to a metre driven")
    inset: float = Field(ge=0, description="distance that the robot goes inside a region [m]")
    strayed: float = Field(
        gt=0,
        description="sum of the errors in place [m] and heading [rad] beyond which moves are searched anew",
    )
