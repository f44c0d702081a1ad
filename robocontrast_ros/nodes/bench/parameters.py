"""Names of the nodes that the bench asks, and its timeouts."""

from __future__ import annotations

from pydantic import Field

from robocontrast_ros.configuration import record
from robocontrast_ros.policies.serving.runner import LOAD_TIMEOUT


@record
class BenchParameters:
    """Parameters of the bench: names of the other nodes, and how long they may be silent."""

    sim_bridge: str = Field(default="sim_bridge", description="Name of the bridge's node.")
    policy_server: str = Field(default="policy_server", description="Name of the policy server's node.")
    rollout: str = Field(default="rollout", description="Name of the rollout's node.")
    scorer: str = Field(default="scorer", description="Name of the scorer's node.")
    recorder: str = Field(default="recorder", description="Name of the recorder's node; empty for no bags.")
    watchdog: str = Field(
        default="", description="Name of the watchdog's node, whose stop is waited out; empty in lockstep."
    )
    setup_timeout: float = Field(
        default=60.0, gt=0.0, description="Wait for a scene to be set up; a person needs longer [s]."
    )
    load_timeout: float = Field(
        default=2.0 * LOAD_TIMEOUT,
        gt=0.0,
        description="Wait for a policy to be loaded and warmed up; longer than the server's own limits [s].",
    )
    judge: str = Field(default="judge/judge_trial", description="JudgeTrial service, where the judge is outside.")
    operator: str = Field(
        default="",
        description="Name of the console of the person at the robot, who starts each trial; empty where there is none.",
    )
    camera_reads: bool = Field(
        default=False,
        description="Whether a camera reads the scene, for which the robot goes to rest before, and may judge alone.",
    )
    judge_timeout: float = Field(default=600.0, gt=0.0, description="Wait for whoever judges from outside [s].")
    answer_timeout: float = Field(default=20.0, gt=0.0, description="Wait for the scorer [s].")
    recording_timeout: float = Field(
        default=40.0, gt=0.0, description="Wait for the recorder; longer than its own limits [s]."
    )
    silence_timeout: float = Field(
        default=60.0,
        gt=0.0,
        description="Silence of a running episode after which rollout counts as lost [s].",
    )
    rest: bool = Field(
        default=False,
        description="Whether the robot goes to its posture of rest after each trial; else the world brings it to its "
        "start, or a person.",
    )
    startup_timeout: float = Field(default=120.0, gt=0.0, description="Time for the other nodes to come up [s].")
