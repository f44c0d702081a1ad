"""The topics and the recorder of a session's trials, in the graph and in the fast mode."""

from __future__ import annotations

import hashlib
import itertools
from typing import TYPE_CHECKING

from robocontrast_ros.bags.definitions import find_definition
from robocontrast_ros.bags.errors import BagError
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.messages.encoding import TrialContext
from robocontrast_ros.messages.topics import JOINT_TRACKING, JUDGEMENT, SAFETY, SHOWN, STOP_TOPICS, TRIAL_TOPICS, Topic
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.sessions.blinding import HIDDEN
from robocontrast_ros.sessions.resolving import ResolvedSession

if TYPE_CHECKING:
    from robocontrast_ros.bags.trial_recorder import TrialRecorder


def recorded_topics(session: ResolvedSession) -> tuple[Topic, ...]:
    """Return the topics of the bags; none if nothing is recorded.

    Raises:
        ConfigurationError: the session names a further topic without its type.
    """
    robot, recording = session.robot, session.parameters.recording
    if recording is None:
        return ()
    used = {camera.name for camera in session.parameters.cameras} if recording.images else set()
    images = ((c.images, Topic(c.info_topic, "sensor_msgs/msg/CameraInfo")) for c in robot.cameras if c.name in used)
    world = session.world
    return (
        *((Topic("clock", "rosgraph_msgs/msg/Clock"),) if world.lockstep else STOP_TOPICS),
        *TRIAL_TOPICS,
        SAFETY,
        *((JUDGEMENT,) if world.judge.asks else ()),
        *((JOINT_TRACKING,) if session.tracks_joints else ()),
        *((SHOWN,) if any("O" in perturbation.axes for perturbation in session.perturbations) else ()),
        *robot.driver_topics,
        *_of_real_driver(session),
        *kept_topics(session),
        *robot.command_topics,
        *itertools.chain.from_iterable(images),
        *(Topic.parse(text, str(session.source), "recording.topics") for text in recording.topics),
    )


def _of_real_driver(session: ResolvedSession) -> tuple[Topic, ...]:
    """Return the topics of the force at the tool and of the share of full speed, if a real driver publishes them.

    Modes are left out: they may be published 1000 times a second with all of the robot's state.
    """
    robot = session.robot
    if robot.port == "topics" or session.world.lockstep or robot.driver is None:
        return ()
    wrench = getattr(robot.driver, "wrench", "")
    forces = (Topic(wrench, "geometry_msgs/msg/WrenchStamped"),) if wrench else ()
    return (*forces, *(Topic(limit.topic, limit.type) for limit in robot.driver.limits if limit.full is not None))


def kept_topics(session: ResolvedSession) -> tuple[Topic, ...]:
    """Return the topics that are published once for all trials, and are in each of their bags."""
    embedded = session.world.features.embedded
    return session.robot.simulated_topics if embedded else session.robot.latched_topics


def trial_context(session: ResolvedSession, run: RunFolder) -> TrialContext:
    """Return the parts that every Trial message of a run has besides the trial."""
    return TrialContext(
        session=run.name,
        robot=session.robot.name,
        policy=HIDDEN if session.blind_files else session.policy_file.stem if session.policy_file else "",
        task_digest=hashlib.sha256(session.task_file.read_bytes()).hexdigest(),
        symbols={p.name: (p.symbol, p.axes) for p in session.perturbations},
        judge=session.parameters.world.judge,
        scene_when_asked=not session.world.streams,
    )


def trial_recorder(session: ResolvedSession, run: RunFolder) -> TrialRecorder | None:
    """Return the recorder of a session's trials without ROS; None if nothing is recorded.

    Raises:
        ConfigurationError: a type of a further topic is not installed.
    """
    recording = session.parameters.recording
    if recording is None:
        return None
    topics, source = recorded_topics(session), str(session.source)
    for text in recording.topics:
        try:
            find_definition(Topic.parse(text, source, "recording.topics").type_name)
        except BagError as error:
            expected = "topics of message types that are installed"
            raise ConfigurationError(source, "recording.topics", text, expected, str(error)) from None
    # Only a session of one process writes bags with it.
    from robocontrast_ros.bags.trial_recorder import TrialRecorder

    return TrialRecorder(
        run.path,
        topics,
        session.robot,
        trial_context(session, run),
        session.parameters.camera_images == "every_step",
        recording.compression,
        recording.format,
    )
