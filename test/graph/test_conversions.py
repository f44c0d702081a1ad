"""Domain values to messages and back: nothing is lost on the way, to the last bit."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from cdr_padding import without_padding
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from rclpy.serialization import deserialize_message, serialize_message
from robocontrast_ros.srv import ResetPolicy
from sensor_msgs.msg import Image
from std_msgs.msg import Float64MultiArray
from two_finger_hand import write_arm_with_a_hand

from robocontrast_ros import msg
from robocontrast_ros.bags.messages import Messages
from robocontrast_ros.domain import (
    Crop,
    Fault,
    Instruction,
    ObjectState,
    Outcome,
    Pose,
    Progress,
    Proof,
    Scene,
    Segment,
    SegmentKind,
    SetupMove,
    Start,
    TestInstance,
    Trial,
    TrialResult,
    plain_text,
    segments_digest,
)
from robocontrast_ros.messages import decoding
from robocontrast_ros.messages.encoding import Encoder, TrialContext
from robocontrast_ros.nodes.conversions import domain as to_msg
from robocontrast_ros.nodes.conversions.commands import command_from_msg
from robocontrast_ros.nodes.conversions.observation import (
    array_to_image,
    image_to_array,
    observation_from_msg,
    observation_to_msg,
)
from robocontrast_ros.nodes.conversions.policy import description_from_msg, description_to_msg
from robocontrast_ros.nodes.conversions.types import make_message
from robocontrast_ros.policies.protocol import Observation, PolicyDescription
from robocontrast_ros.robots.commands import GripperCommand, JointTrajectoryCommand, TwistCommand
from robocontrast_ros.robots.description import Transform
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.worlds.driver_messages import DriverEncoder
from robocontrast_ros.worlds.mujoco.sensors import (
    CameraInfo,
    Contacts,
    Description,
    JointState,
    Odometry,
    Sensor,
    Transforms,
)

numbers = st.floats(-1e3, 1e3)
words = st.text(st.characters(codec="utf-8", exclude_characters="\0", exclude_categories=("Cs",)), max_size=20)
poses = st.builds(Pose.planar, numbers, numbers, st.floats(-3, 3), numbers)
scenes = st.builds(
    Scene,
    st.lists(st.builds(ObjectState, words, words, poses), max_size=4, unique_by=lambda o: o.name).map(tuple),
    st.just("world"),
    st.none() | poses,
    st.lists(words, max_size=3).map(tuple),
    st.lists(words, max_size=3).map(tuple),
)
proofs = st.builds(Proof, words.filter(bool), st.lists(st.tuples(words, numbers), max_size=3).map(tuple))
instructions = st.builds(
    Instruction,
    words,
    words,
    st.dictionaries(words, words, max_size=3).map(lambda d: tuple(d.items())),
)
crops = arrays(np.uint8, st.tuples(st.integers(1, 5), st.integers(1, 5), st.just(3))).map(Crop.of)
segments = st.lists(
    st.builds(Segment, st.sampled_from(SegmentKind), words, words, st.booleans(), words, st.none() | crops), max_size=4
).map(tuple)
instructions = instructions | st.builds(
    lambda said, segments: replace(said, text=plain_text(segments), segments=segments), instructions, segments
)
counts = st.integers(0, 2**32 - 1)
instances = st.builds(
    TestInstance,
    words,
    words,
    instructions,
    scenes,
    numbers,
    st.sampled_from([2, 3]).flatmap(lambda d: st.lists(st.tuples(*[numbers] * d), max_size=4)).map(tuple),
    st.none() | proofs,
)
trials = st.builds(
    Trial,
    st.integers(0, 2**32 - 1),
    words,
    words,
    st.integers(0, 2**16 - 1),
    instances,
    st.integers(0, 2**32 - 1),
    words,
    st.sampled_from(Start),
    words,
    st.integers(-1, 2**31 - 1),
)
results = st.builds(
    TrialResult,
    st.sampled_from(Outcome),
    st.sampled_from(Fault),
    words,
    st.dictionaries(words, numbers | st.just(math.nan), max_size=9),
    numbers,
    st.integers(0, 2**32 - 1),
    numbers,
    st.integers(0, 2**32 - 1),
    scenes,
    st.booleans(),
    st.integers(1, 2**32 - 1),
    st.dictionaries(words, st.integers(1, 2**32 - 1), max_size=3),
)
progresses = st.builds(
    Progress,
    st.integers(0, 2**31 * 10**9 - 1),
    st.booleans(),
    st.dictionaries(words, numbers, max_size=9),
)
CONTEXT = TrialContext("run", "franka", "oracle", "abc", {"LB1": ("ΔLB1", "LB")})


def over_the_wire(message):
    """Return the message as another process receives it."""
    return deserialize_message(serialize_message(message), type(message))


@settings(max_examples=40, deadline=None)
@given(trials, scenes)
def test_a_trial_comes_back_as_it_was(trial, start):
    received = over_the_wire(to_msg.trial_to_msg(trial, CONTEXT, start, 12_300_000_000))
    assert decoding.trial_from_msg(received) == trial
    if start.objects or start.robot:
        assert decoding.start_scene_from_msg(received) == (12_300_000_000, start)
    assert (received.session, received.robot, received.policy, received.task_digest) == (
        "run",
        "franka",
        "oracle",
        "abc",
    )


@settings(max_examples=40, deadline=None)
@given(results)
def test_a_result_comes_back_as_it_was(result):
    back = decoding.result_from_msg(over_the_wire(to_msg.result_to_msg(result, 1_500_000_000)))
    assert repr(back) == repr(result), "as text NaN equals NaN"


@settings(max_examples=20, deadline=None)
@given(progresses)
def test_progress_comes_back_with_its_stamp(progress):
    assert decoding.progress_from_msg(over_the_wire(to_msg.progress_to_msg(progress, "world"))) == progress


@given(st.builds(SetupMove, words, words, st.none() | poses, st.none() | poses))
def test_a_move_keeps_what_is_not_there(move):
    assert decoding.move_from_msg(over_the_wire(to_msg.move_to_msg(move))) == move


@pytest.mark.parametrize("outcome", list(Outcome))
def test_outcomes_are_the_message_constants(outcome):
    assert getattr(msg.TrialResult, outcome.name) == int(outcome)


@pytest.mark.parametrize("start", list(Start))
def test_starts_are_the_message_constants(start):
    assert getattr(msg.Trial, start.name) == int(start)


@pytest.mark.parametrize("fault", list(Fault))
def test_faults_are_the_message_constants(fault):
    assert getattr(msg.Fault, fault.name) == int(fault)


@pytest.mark.parametrize(("encoding", "order"), [("rgb8", [0, 1, 2]), ("bgr8", [2, 1, 0])])
def test_images_become_rgb_whatever_the_camera_sends(encoding, order):
    pixels = np.random.default_rng(1).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    image = array_to_image(np.ascontiguousarray(pixels[:, :, order]), "camera", 2_000_000_000)
    image.encoding = encoding
    assert np.array_equal(image_to_array(over_the_wire(image)), pixels)


def test_an_unknown_encoding_is_refused_by_name():
    with pytest.raises(ValueError, match=r"'yuv422'.*rgb8"):
        image_to_array(Image(encoding="yuv422"))


def test_an_observation_reaches_the_policy_whole():
    pixels = np.random.default_rng(2).integers(0, 256, (6, 4, 3), dtype=np.uint8)
    scene = Scene((ObjectState("red_moon", "red_moon", Pose.planar(0.3, 0.1)),))
    sent = Observation(3_250_000_000, {}, ("a", "b"), (0.5, -0.5), Pose.planar(0.1, 0.2), scene, 0.06, 0.25)
    message = observation_to_msg(sent, "world", {"board": array_to_image(pixels, "camera", 3_250_000_000)})
    received = observation_from_msg(over_the_wire(message))
    assert np.array_equal(received.images.pop("board"), pixels)
    assert received == sent


@pytest.mark.parametrize("scene", [None, Scene(robot=Pose.planar(1.0, 2.0), contacts=("couch",))])
def test_a_base_without_joints_observes_itself_and_only_a_privileged_policy_the_scene(scene):
    sent = Observation(3_250_000_000, {}, (), (), Pose.planar(0.1, 0.2), scene)
    received = observation_from_msg(over_the_wire(observation_to_msg(sent, "world", {})))
    assert received == sent


several = st.lists(numbers, max_size=9).map(tuple)
names = st.lists(words, max_size=4).map(tuple)
sensors = st.one_of(
    st.builds(JointState, names, several, several, several),
    st.builds(Odometry, words, poses, numbers, numbers),
    st.builds(Transforms, st.lists(st.builds(Transform, words, words, poses), max_size=3).map(tuple)),
    st.builds(Description, words),
    st.builds(Contacts, names, names),
)
commands = st.one_of(
    st.builds(JointTrajectoryCommand, names, several, st.floats(0.0, 10.0), st.none() | numbers),
    st.builds(TwistCommand, numbers, numbers),
    st.builds(GripperCommand, numbers),
)
images = st.tuples(st.integers(1, 9), st.integers(1, 9)).map(
    lambda size: np.arange(3 * size[0] * size[1], dtype=np.uint8).reshape(*size, 3)
)
stamps = st.integers(0, 2**31 * 10**9 - 1)


WITHOUT_ROS = Messages()


@settings(max_examples=25, deadline=None)
@given(st.data(), stamps, words)
def test_rclpy_and_rosbags_make_the_same_message_to_the_last_byte_that_means_something(data, stamp, frame):
    domain = {
        "trial": (trials, CONTEXT, data.draw(scenes), stamp),
        "scene": (scenes, stamp),
        "tool_pose": (poses, frame, stamp),
        "progress": (progresses, frame),
        "result": (results, stamp),
    }
    driver = {
        "clock": (st.just(stamp),),
        "sensor": (st.builds(Sensor, words, words, sensors), stamp),
        "image": (images, frame, stamp),
        "camera_info": (st.builds(CameraInfo, counts, counts, st.tuples(*[numbers] * 9)), frame, stamp),
    }
    for encoder, methods in ((Encoder, domain), (DriverEncoder, driver)):
        for method, (values, *others) in methods.items():
            value = data.draw(values)
            live = getattr(encoder(make_message), method)(value, *others)
            check_same(live, getattr(encoder(WITHOUT_ROS.make), method)(value, *others))


def check_same(published, recorded) -> None:
    """Compare a message of rclpy's with one of rosbags'."""
    live, written = serialize_message(published), WITHOUT_ROS.cdr(recorded)
    # rclpy's buffer is as long as the longest message of these contents; what is published is not.
    assert without_padding(live[: len(written)], recorded.__msgtype__) == written, recorded.__msgtype__


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(command=commands, stamp=stamps)
def test_a_command_is_a_message_on_each_topic_that_it_needs(arm, command, stamp):
    published, recorded = (
        dict(DriverEncoder(make).command(arm, command, stamp)) for make in (make_message, WITHOUT_ROS.make)
    )
    received = []
    for topic, message in published.items():
        check_same(message, recorded[topic])
        received.append(command_from_msg(over_the_wire(message)))
    if isinstance(command, JointTrajectoryCommand):
        trajectory, *hand = received
        assert trajectory == replace(command, duration=trajectory.duration, gripper=None)
        assert trajectory.duration == pytest.approx(command.duration, abs=1e-9)
        assert hand == ([] if command.gripper is None else [GripperCommand(command.gripper)])
        assert list(published) == [topic for topic, _ in arm.command_topics][: len(received)]
    else:
        assert received == [command]
    assert published.keys() == recorded.keys()


def test_a_hand_takes_one_position():
    with pytest.raises(ValueError, match="got 2 numbers, expected 1, the position of its driven joint"):
        command_from_msg(Float64MultiArray(data=[0.1, 0.2]))


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    return load_profile(write_arm_with_a_hand(tmp_path_factory.mktemp("robots") / "arm.yaml"))


descriptions = st.builds(
    PolicyDescription,
    words,
    words,
    st.integers(1, 99),
    privileged=st.booleans(),
    max_tokens=st.none() | st.integers(1, 2**32 - 1),
    tokenizer=words,
    case=st.sampled_from(["any", "lower"]),
    accepts_empty=st.booleans(),
    referents=st.sampled_from(["none", "crop"]),
    mask=st.sampled_from(["omit", "native"]),
)


@given(descriptions, st.none() | st.booleans())
def test_how_much_of_the_words_a_policy_reads_survives(described, objects):
    described = replace(described, objects=objects and described.privileged)
    back = description_from_msg(description_to_msg(described, ""))
    for name in ("name", "max_tokens", "tokenizer", "case", "accepts_empty", "shows_objects", "referents", "mask"):
        assert getattr(back, name) == getattr(described, name)


def test_of_a_message_that_says_nothing_of_words_nothing_is_known():
    back = description_from_msg(
        msg.PolicyDescription(name="p", action_space="s", action_size=1, chunk_length=1, execute=1)
    )
    assert (back.max_tokens, back.tokenizer, back.case, back.accepts_empty, back.shows_objects) == (
        *(None, "", "any", True, False),
    )
    assert (back.referents, back.mask, back.takes_segments) == ("none", "omit", False)


@given(trials, st.sampled_from(["push " * 20_000, "push the 🌙", "\u202bادفع\u202c", "", 'a\r\n"b"']))  # noqa: RUF001
def test_a_trial_with_odd_words_survives(trial, text):
    told = replace(trial.instance.instruction, text=text, segments=())
    trial = replace(trial, instance=replace(trial.instance, instruction=told))
    received = over_the_wire(to_msg.trial_to_msg(trial, CONTEXT, Scene(), 12_300_000_000))
    assert decoding.trial_from_msg(received) == trial


@given(segments)
def test_the_segments_that_a_policy_is_reset_with_survive_and_have_the_same_digest(told):
    request = ResetPolicy.Request(instruction="push", segments=to_msg.segments_to_msg(told))
    back = decoding.segments_from_msg(over_the_wire(request).segments)
    assert back == told
    assert segments_digest(back) == segments_digest(told)


def test_a_picture_whose_sizes_do_not_fit_is_refused():
    (told,) = to_msg.segments_to_msg([Segment(SegmentKind.OBJECT, "", crop=Crop(2, 2, bytes(12)))])
    told.image.height = 3
    with pytest.raises(ValueError, match="cannot reshape"):
        decoding.segments_from_msg([told])
