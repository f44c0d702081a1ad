"""Parameters of the episode_manager node, and the settings of its bench, which it reads from its session."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field
from typing_extensions import Self

from robocontrast_ros.configuration import record
from robocontrast_ros.graph.names import OPERATOR, WATCHDOG
from robocontrast_ros.robots.kinds import kind_of

if TYPE_CHECKING:
    from robocontrast_ros.sessions.resolving import ResolvedSession

A_MONTH = 30 * 86400.0
"""Time limit of an answer of the person at the console [s]."""


@record
class EpisodeManagerParameters:
    """Parameters of the node that runs the session."""

    run: Path = Field(description="The run folder, which holds the session's parameters.")
    resume: bool = Field(default=False, description="Whether to go on with the session in the run folder.")
    autostart: bool = Field(default=True, description="Whether to start at once, or when `~/start` is called.")


@dataclass(frozen=True, kw_only=True)
class BenchSettings:
    """Names of the nodes that a bench asks, and the times that it waits for them.

    Attributes:
        sim_bridge: name of the bridge's node.
        rollout: name of the rollout's node.
        scorer: name of the scorer's node.
        judge: name of the JudgeTrial service, if the judge is outside.
        policy_server: name of the policy server's node.
        recorder: name of the recorder's node; empty for no bags.
        watchdog: name of the watchdog's node; the bench waits while it stops the robot; empty in lockstep.
        operator: name of the console of the person at the robot, who starts each trial; empty if there is none.
        camera_reads: whether a camera reads the scene, after the robot has gone to rest, and may judge alone.
        rest: whether the robot goes to its posture of rest after each trial; else the world or a person brings it to
            its start.
        setup_timeout: wait for a scene to be set up; longer for a person [s].
        load_timeout: wait for a policy to be loaded and warmed up; longer than the server's own limits [s].
        judge_timeout: wait for a judge outside [s].
        answer_timeout: wait for the scorer [s].
        recording_timeout: wait for the recorder; longer than its own limits [s].
        silence_timeout: silence of a running episode after which rollout counts as lost [s].
        startup_timeout: time for the other nodes to come up [s].
    """

    sim_bridge: str = "sim_bridge"
    rollout: str = "rollout"
    scorer: str = "scorer"
    judge: str = "judge/judge_trial"
    policy_server: str = "policy_server"
    recorder: str = "recorder"
    watchdog: str = ""
    operator: str = ""
    camera_reads: bool = False
    rest: bool = False
    setup_timeout: float
    load_timeout: float
    judge_timeout: float
    answer_timeout: float
    recording_timeout: float
    silence_timeout: float
    startup_timeout: float

    @classmethod
    def of(cls, session: ResolvedSession) -> Self:
        """Return the settings of a session's bench."""
        features, timeouts = session.world.features, session.parameters.timeouts
        loading = 2.0 * timeouts.load
        return cls(
            policy_server=session.parameters.policy_server.node,
            recorder="" if session.parameters.recording is None else "recorder",
            watchdog="" if session.world.lockstep else WATCHDOG,
            operator=OPERATOR if features.console else "",
            camera_reads=features.camera,
            rest=not features.resets_robot and kind_of(session.robot).way is not None,
            # A person who carries objects may have lunch meanwhile; an abort is noticed at once.
            setup_timeout=A_MONTH if features.console else timeouts.set_up + 5.0,
            load_timeout=loading,
            judge_timeout=A_MONTH if features.console else timeouts.judge,
            answer_timeout=timeouts.scoring,
            # The recorder answers when it has the last messages, or after its own limit.
            recording_timeout=timeouts.recording + 5.0,
            # A policy that did not answer is loaded again and warmed up before the next episode's first step.
            silence_timeout=loading + timeouts.policy + timeouts.sensors + timeouts.recording + 10.0,
            # The policy server answers when its policy is loaded and warmed up.
            startup_timeout=timeouts.start_up + loading + 5.0,
        )
