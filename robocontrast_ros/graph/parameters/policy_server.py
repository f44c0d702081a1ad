"""Parameters of the policy_server node."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field
from typing_extensions import Self

from robocontrast_ros.configuration import record
from robocontrast_ros.graph.names import LEADER
from robocontrast_ros.graph.parameters.led import LedParameters
from robocontrast_ros.policies.serving.runner import LOAD_TIMEOUT, Loading

if TYPE_CHECKING:
    from robocontrast_ros.sessions.resolving import ResolvedSession


@record
class PolicyServerParameters(LedParameters):
    """Parameters of the policy server."""

    policy: Path = Field(description="Parameter file of the policy.")
    timeout: float = Field(default=10.0, gt=0.0, le=3600.0, description="Limit of each call of the policy [s].")
    load_timeout: float = Field(
        default=LOAD_TIMEOUT,
        gt=0.0,
        le=86400.0,
        description="Limit of loading a policy, and of warming it up [s].",
    )
    answer_time: float = Field(
        default=0.0,
        ge=0.0,
        le=3600.0,
        description="Least duration of each call of the policy, so that nobody can tell policies apart by it [s].",
    )
    blind: bool = Field(default=False, description="Whether the log names no policy.")
    autostart: bool = Field(default=True, description="Whether to configure and activate at start-up.")

    @property
    def loading(self) -> Loading:
        """Settings for loading the policy."""
        return Loading(self.policy, self.timeout, self.load_timeout, True, self.answer_time, not self.blind)

    @classmethod
    def of(cls, session: ResolvedSession) -> Self:
        """Return the parameters of the policy server of a session, which has the policy's file."""
        given = session.parameters
        return cls(
            policy=session.policy_file,
            timeout=given.timeouts.policy,
            load_timeout=given.timeouts.load,
            answer_time=given.least_answer_time,
            blind=given.blind is not None,
            leader=LEADER,
        )
