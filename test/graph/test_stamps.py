"""A stamp is the same wherever it goes: message, reading, observation, request, answer, scene and pose, score, bag."""

from __future__ import annotations

from contextlib import closing
from types import SimpleNamespace

import numpy as np
import pytest
from examples import examples
from hypothesis import example, given
from hypothesis import strategies as st
from rclpy.serialization import deserialize_message, serialize_message
from robocontrast_ros.srv import Act
from sensor_msgs.msg import JointState

from robocontrast_ros.bags.definitions import find_definition
from robocontrast_ros.bags.messages import Messages
from robocontrast_ros.bags.reader import read_bag
from robocontrast_ros.bags.writer import BagTopic, BagWriter
from robocontrast_ros.domain import ObjectState, Pose, Progress, Scene
from robocontrast_ros.episodes.scoring import StampJoin
from robocontrast_ros.messages.decoding import progress_from_msg, stamp_from_msg, start_scene_from_msg
from robocontrast_ros.messages.encoding import Encoder
from robocontrast_ros.nodes.conversions.domain import progress_to_msg, scene_to_msg, time_to_msg, tool_pose_to_msg
from robocontrast_ros.nodes.conversions.driver import observation_from_msg, observation_to_msg, reading_from_msg
from robocontrast_ros.nodes.rollout.policy_client import PendingActions
from robocontrast_ros.policies.protocol import Observation, PolicyFault

KNOWN = 1_795_705_209_907_401_083
"""A stamp that came back as another one when it was a float of seconds on its way [ns]."""
SCENE = Scene((ObjectState("red_moon", "red_moon", Pose()),))
LAST = 2**31 * 10**9 - 1

stamps = st.one_of(
    st.integers(1_500_000_000 * 10**9, 2_000_000_000 * 10**9),
    st.integers(0, 1_000 * 10**9),
    st.integers(KNOWN - 300, KNOWN + 300),
    st.sampled_from([0, 1, 10**9 - 1, 10**9, LAST - 1, LAST]),
)


def sent(message):
    return deserialize_message(serialize_message(message), type(message))


def state_of(stamp: int) -> JointState:
    """Return what a driver publishes that stamps by its clock."""
    message = JointState(name=["elbow"], position=[0.5])
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
    return sent(message)


def answered(observation: Observation, stamp) -> None:
    """Take a policy server's answer, which has a stamp."""
    answer = sent(Act.Response(stamp=stamp, actions=[0.1], count=1, size=1))
    PendingActions(SimpleNamespace(result=lambda timeout: answer), observation.stamp, 5.0).result()


@examples(1000, quick=200)
@given(stamps)
@example(KNOWN)
def test_an_answer_to_an_observation_of_any_stamp_is_taken_and_one_to_any_other_is_late(stamp):
    reading = reading_from_msg(state_of(stamp))
    observation = Observation(reading.stamp, {}, ("elbow",), (0.5,), Pose())
    request = sent(observation_to_msg(observation, "world", {}))
    assert stamp_from_msg(request.header.stamp) == stamp == observation_from_msg(request).stamp
    answered(observation, request.header.stamp)
    for other in {max(stamp - 1, 0), min(stamp + 1, LAST)} - {stamp}:
        with pytest.raises(PolicyFault, match="late: it answered the observation of"):
            answered(observation, time_to_msg(other))


@examples(300, quick=60)
@given(stamps)
@example(KNOWN)
def test_a_scene_is_paired_with_the_pose_of_its_stamp_alone_and_scored_with_it(stamp):
    stamp = reading_from_msg(state_of(stamp)).stamp
    scene, pose = sent(scene_to_msg(SCENE, stamp)), sent(tool_pose_to_msg(Pose(), "world", stamp))
    assert start_scene_from_msg(SimpleNamespace(start_scene=scene)) == (stamp, SCENE)
    join = StampJoin(stamp - 2)
    assert join.add_scene(stamp_from_msg(scene.header.stamp) - 1, SCENE) is None
    assert join.add_tool_pose(stamp_from_msg(pose.header.stamp), Pose()) is None
    sample = join.add_scene(stamp_from_msg(scene.header.stamp), SCENE)
    assert sample.stamp == stamp
    progress = Progress(sample.stamp, False, {})
    assert progress_from_msg(sent(progress_to_msg(progress, "world"))) == progress


def test_a_bag_has_the_stamps_that_were_written(tmp_path):
    random, messages, topic = (
        np.random.default_rng(1),
        Messages(),
        BagTopic("/joint_states", "sensor_msgs/msg/JointState"),
    )
    wanted = [0, 1, KNOWN, LAST, *random.integers(1_500_000_000 * 10**9, 2_000_000_000 * 10**9, 5000).tolist()]
    encoder, definition = Encoder(messages.make), find_definition(topic.type_name)
    with closing(BagWriter(tmp_path / "bag", [topic], "zstd")) as writer:
        for received, stamp in enumerate(wanted, KNOWN):
            cdr = messages.cdr(messages.make(topic.type_name, header=encoder.header("", stamp)))
            assert definition.stamp_of(cdr) == stamp
            writer.write(topic.name, received, cdr)
    read = read_bag(tmp_path / "bag").messages
    assert [message.timestamp for message in read] == [*range(KNOWN, KNOWN + len(wanted))]
    assert [reading_from_msg(message.decode()).stamp for message in read] == wanted


@pytest.mark.parametrize("stamp", [1.5, 2.0, np.float64(3.0)])
def test_no_message_is_stamped_with_a_float(stamp):
    with pytest.raises(TypeError, match="integer"):
        scene_to_msg(SCENE, stamp)
