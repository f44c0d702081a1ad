"""The fast mode: a session's bench in this process, without ROS (docs/fast_mode.md).

Robot, task, policy, limits and scores are the graph's own code, and so are the results, to the last bit.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from robocontrast_ros.bags.trial_recorder import TrialRecorder
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import Progress
from robocontrast_ros.images.rendering import Camera
from robocontrast_ros.policies.serving.ahead import loaded
from robocontrast_ros.policies.serving.runner import PolicyRunner
from robocontrast_ros.sessions.policy_check import check_description, check_policies, loading_of
from robocontrast_ros.sessions.resolving import ResolvedSession
from robocontrast_ros.system.numerics import pin
from robocontrast_ros.worlds.engines.starting import StartedWorld, engine_named
from robocontrast_ros.worlds.in_process import InProcessBench
from robocontrast_ros.worlds.mujoco.world import World


def open_bench(
    session: ResolvedSession,
    policy_file: Path | None = None,
    aborted: Callable[[], bool] = lambda: False,
    recorder: TrialRecorder | None = None,
    runner: PolicyRunner | None = None,
    feedback: Callable[[int, Progress], None] = lambda step, progress: None,
) -> InProcessBench:
    """Return the bench of a session; close it after use.

    Only the cameras that the policy asks for are rendered, unless images are recorded. Numeric libraries use one thread
    while a trial runs.

    Args:
        session: the session: robot, task, cameras and time limits are taken from it.
        policy_file: parameter file of the policy; the session's own if left out.
        aborted: asked before every action; true ends the trial, which is void.
        recorder: records the trials; none are recorded without it.
        runner: the policy that serves in place of that of a parameter file.
        feedback: called with the control steps so far and each new score.

    Raises:
        ConfigurationError: the session's policy is on a policy server elsewhere, the policy cannot be loaded or
            warmed up, or it does not fit the robot.
    """
    file = policy_file or session.policy_file if runner is None else runner.path
    if file is None:
        raise ConfigurationError(
            str(session.source),
            "policy_server.external",
            True,
            "a policy that is loaded here, for a session without ROS",
            "Name the policy's parameter file as `policy`.",
        )
    given = session.parameters.world
    if not session.world.features.started:
        raise ConfigurationError(
            str(session.source),
            "world.backend",
            given.backend,
            "embedded or dart, for a session without ROS",
            "Leave `fast` out, so that the graph is started.",
        )
    if not session.world.lockstep:
        raise ConfigurationError(
            str(session.source),
            "world.pacing",
            given.pacing,
            "lockstep, for a session without ROS",
            "Leave `fast` out, so that the graph is started.",
        )
    if session.world.judge.asks:
        raise ConfigurationError(
            str(session.source),
            "world.judge",
            given.judge,
            "a judge that asks nobody, for a session without ROS",
            "Take `true_scene`, or leave `fast` out.",
        )
    pin(os.environ)
    task, blind = session.task, session.parameters.blind
    # Each policy of a blind session gets the cameras that any of them asks for: drawing then takes the same time.
    others = check_policies(session) if blind is not None else ()
    # Only this loop waits for the policy, and handing a call to another thread takes longer than most answers.
    runner = runner or loaded(loading_of(session, file, own_thread=False))
    try:
        check_description(runner.description, session, str(file))
        runner.warm_up()
        shown = {name for description in (runner.description, *others) for name in description.cameras}
        cameras = tuple(
            Camera(camera.name, camera.width, camera.height)
            for camera in session.parameters.cameras or ()
            if camera.name in shown or (recorder is not None and recorder.images)
        )
        scenes = task.scenes
        if engine := session.world.features.engine:
            source = str(session.source)
            world = StartedWorld(engine_named(engine, source), session.robot, task, source)
        else:
            world = World(session.robot, scenes.world, scenes.start_position, cameras, scenes.physics_step)
        return InProcessBench(
            world,
            task,
            runner,
            stop_on_success=session.parameters.stop_on_success,
            aborted=aborted,
            judge=session.world.judge,
            scores=session.scores,
            recorder=recorder,
            feedback=feedback,
        )
    except BaseException:
        runner.close()
        raise
