"""Domain values to messages and back: nothing is lost on the way, to the last bit."""

from __future__ import annotations

import math
from dataclasses import replace

import cv2
import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from cdr_padding import without_padding
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from rclpy.serialization import deserialize_message, serialize_message
from robocontrast_ros.action import RunEpisode
from robocontrast_ros.srv import ResetPolicy
from sensor_msgs.msg import CompressedImage, Image
from std_msgs.msg import Float64MultiArray
from two_finger_hand import write_arm_with_a_hand

from robocontrast_ros import msg
from robocontrast_ros.bags.messages import Messages
from robocontrast_ros.domain import (
    Crop,
    Delivery,
    EpisodeRecord,
    Fault,
    Instruction,
    JointTracking,
    ObjectState,
    Observed,
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
from robocontrast_ros.messages import decoding, encoding
from robocontrast_ros.messages.encoding import Encoder, TrialContext
from robocontrast_ros.messages.images import image_to_array
from robocontrast_ros.nodes.conversions import domain as to_msg
from robocontrast_ros.nodes.conversions.domain import description_from_msg, description_to_msg, make_message
from robocontrast_ros.nodes.conversions.driver import (
    array_to_image,
    command_from_msg,
    observation_from_msg,
    observation_to_msg,
)
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


episodes = st.builds(
    EpisodeRecord,
    observed=st.builds(Observed, words, words, st.booleans(), words),
    delivered=st.sampled_from(list(Delivery)),
    policy_latency=st.lists(st.floats(0.0, 9.0), max_size=4).map(tuple),
    period_errors=st.lists(st.floats(0.0, 9.0), max_size=4).map(tuple),
    waits=st.lists(st.integers(0, 1000), max_size=4).map(tuple),
    pose_source=words,
    speed_scaling=st.none() | st.floats(0.0, 1.0),
)


@settings(max_examples=40, deadline=None)
@given(episodes)
def test_the_course_of_an_episode_comes_back_as_it_was(record):
    back = decoding.episode_from_msg(over_the_wire(RunEpisode.Result(**encoding.episode_fields(record))))
    assert repr(back) == repr(record), "with whether the policy was told its words, which does not count when compared"


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


def padded(pixels, encoding, spare=5):
    """Return an image message whose rows end with spare bytes, as drivers with aligned rows publish them."""
    height, width = pixels.shape[:2]
    rows = np.pad(pixels.reshape(height, -1), ((0, 0), (0, spare)), constant_values=9)
    # How 8-bit numbers are written does not depend on the order of bytes.
    return Image(height=height, width=width, encoding=encoding, step=rows.shape[1], data=rows.tobytes(), is_bigendian=1)


@pytest.mark.parametrize(
    ("encoding", "order"),
    [("rgb8", [0, 1, 2]), ("bgr8", [2, 1, 0]), ("rgba8", [0, 1, 2, 0]), ("bgra8", [2, 1, 0, 0]), ("mono8", [0])],
)
def test_images_become_rgb_whatever_the_camera_sends(encoding, order):
    pixels = np.random.default_rng(1).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    expected = pixels[:, :, [0, 0, 0]] if encoding == "mono8" else pixels
    assert np.array_equal(image_to_array(over_the_wire(padded(pixels[:, :, order], encoding))), expected)


@pytest.mark.parametrize("encoding", ["yuv422", "uyvy", "yuv422_yuy2", "yuyv"])
def test_pixels_that_share_their_colour_become_rgb_by_the_formulas_of_bt_601(encoding):
    rng = np.random.default_rng(1)
    y = rng.integers(16, 236, (6, 8, 1), dtype=np.uint8)
    u, v = (rng.integers(90, 166, (6, 4, 1), dtype=np.uint8) for _ in range(2))
    colour = np.stack((u, v), 2).reshape(6, 8, 1)
    luma_first = encoding in ("yuv422_yuy2", "yuyv")
    pixels = np.concatenate((y, colour) if luma_first else (colour, y), 2)
    wide = [np.repeat(part, 2, 1).astype(float) - 128.0 for part in (u, v)]
    light = 1.164 * (y.astype(float) - 16.0)
    shades = (light + 1.596 * wide[1], light - 0.391 * wide[0] - 0.813 * wide[1], light + 2.018 * wide[0])
    expected = np.concatenate(shades, 2).clip(0.0, 255.0)
    assert np.abs(image_to_array(over_the_wire(padded(pixels, encoding))) - expected).max() < 2.0


@pytest.mark.parametrize(
    ("encoding", "cells"), [("rggb", "RGGB"), ("bggr", "BGGR"), ("gbrg", "GBRG"), ("grbg", "GRBG")]
)
def test_a_mosaic_of_colours_is_read_in_the_order_that_its_name_says(encoding, cells):
    shade = {"R": 200, "G": 120, "B": 30}
    mosaic = np.tile(np.reshape([shade[cell] for cell in cells], (2, 2)), (4, 4)).astype(np.uint8)
    found = image_to_array(over_the_wire(padded(mosaic[:, :, None], f"bayer_{encoding}8")))
    assert np.array_equal(found, np.broadcast_to(np.uint8([200, 120, 30]), (8, 8, 3)))


@pytest.mark.parametrize(
    ("encoding", "words"),
    [
        ("16UC1", "depth.*`image_topic`"),
        ("mono16", "depth.*`image_topic`"),
        ("32FC1", "depth.*`image_topic`"),
        ("8UC3", "plain numbers.*`image_topic`"),
        ("nv21", "usb_cam: `pixel_format: yuyv2rgb`.*RGB8"),
        ("rgb16", "rgb8.*usb_cam"),
        ("bayer_rggb16", "rgb8.*usb_cam"),
        ("", "rgb8.*usb_cam"),
    ],
)
def test_an_encoding_that_is_not_decoded_is_refused_by_name_with_the_cure(encoding, words):
    with pytest.raises(ValueError, match=f"image encoding: got '{encoding}', expected one of rgb8, .*{words}"):
        image_to_array(Image(height=1, width=1, step=8, data=bytes(8), encoding=encoding))


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"step": 11}, r"rows of 11 bytes \(`step`\), expected at least 12"),
        ({"data": bytes(35)}, "got 35 bytes, expected 36"),
        ({"data": bytes(37)}, "got 37 bytes, expected 36"),
        ({"height": 0, "data": b""}, "4x0 pixels"),
        ({"width": 3, "encoding": "yuyv"}, "3x3 pixels of 'yuyv', expected an even width"),
    ],
)
def test_an_image_whose_sizes_contradict_each_other_is_refused_with_both(sizes, words):
    fields = {"height": 3, "width": 4, "step": 12, "data": bytes(36), "encoding": "rgb8"}
    with pytest.raises(ValueError, match=words):
        image_to_array(Image(**fields | sizes))


@pytest.mark.parametrize(
    ("form", "words"), [("16UC1; png compressed ", "depth"), ("bayer_rggb8; jpeg compressed ", "no colours")]
)
def test_what_has_no_colours_is_refused_where_it_is_compressed_too(form, words):
    png = cv2.imencode(".png", np.full((4, 4), 1000, np.uint16))[1].tobytes()
    assert image_to_array(CompressedImage(format="png", data=png)).shape == (4, 4, 3)
    with pytest.raises(ValueError, match=f"compressed image: got '{form}'.*{words}"):
        image_to_array(CompressedImage(format=form, data=png))


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
trackings = st.integers(0, 3).flatmap(
    lambda size: st.builds(
        JointTracking,
        st.tuples(*[words] * size),
        st.tuples(*[numbers] * size),
        st.tuples(*[numbers | st.just(math.nan)] * size),
        st.none() | numbers,
    )
)


WITHOUT_ROS = Messages()


@settings(max_examples=25, deadline=None)
@given(st.data(), stamps, words)
def test_rclpy_and_rosbags_make_the_same_message_to_the_last_byte_that_means_something(data, stamp, frame):
    domain = {
        "trial": (trials, CONTEXT, data.draw(scenes), stamp),
        "scene": (scenes, stamp),
        "tool_pose": (poses, frame, stamp),
        "joint_tracking": (trackings, frame, stamp),
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


@settings(max_examples=25, deadline=None)
@given(trackings, stamps)
def test_tracked_joints_come_back_as_they_were(joints, stamp):
    message = over_the_wire(to_msg.joint_tracking_to_msg(joints, "world", stamp))
    assert decoding.stamp_from_msg(message.header.stamp) == stamp
    assert repr(decoding.joint_tracking_from_msg(message)) == repr(joints), "NaN is read as NaN"


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
    vocabulary=st.lists(words, max_size=3).map(tuple),
)


@given(descriptions, st.none() | st.booleans())
def test_how_much_of_the_words_a_policy_reads_survives(described, objects):
    described = replace(described, objects=objects and described.privileged)
    back = description_from_msg(description_to_msg(described, ""))
    names = ("name", "max_tokens", "tokenizer", "case", "accepts_empty", "shows_objects", "referents", "mask")
    for name in (*names, "vocabulary"):
        assert getattr(back, name) == getattr(described, name)


def test_of_a_message_that_says_nothing_of_words_nothing_is_known():
    back = description_from_msg(
        msg.PolicyDescription(name="p", action_space="s", action_size=1, chunk_length=1, execute=1)
    )
    assert (back.max_tokens, back.tokenizer, back.case, back.accepts_empty, back.shows_objects) == (
        *(None, "", "any", True, False),
    )
    assert (back.referents, back.mask, back.takes_segments, back.vocabulary) == ("none", "omit", False, ())


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
    with pytest.raises(ValueError, match="got 12 bytes, expected 18: 3 rows of 6 bytes"):
        decoding.segments_from_msg([told])
