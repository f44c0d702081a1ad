"""Parameters that each node of a session has."""

from __future__ import annotations

from pydantic import Field

from robocontrast_ros.configuration import record


@record
class LedParameters:
    """Parameters of every node of a session but the one that runs it."""

    leader: str = Field(
        default="",
        description="Node that runs the session; after an interruption, this node runs until that node has ended. "
        "Empty: it ends at once.",
    )
