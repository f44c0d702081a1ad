"""A contrast session over a real ROS graph: what the policy is told and shown, and what is written down of it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

import polars
from attentive_policies import Attentive
from foxglove_layouts import layout, missing
from here import command_here
from odd_words import ODD, said
from pydantic import TypeAdapter
from pydantic_core import to_json
from session_runs import Workplace, events_of, finished, scores
from twice import recorded_fast, unequal

from robocontrast_ros.analysis.figures.trial_picture import read_images
from robocontrast_ros.bags.reader import read_bag
from robocontrast_ros.domain import BASE, Delivery, Filter, Segment, plain_text, segments_digest
from robocontrast_ros.messages.decoding import instance_from_msg, stamp_from_msg, trial_from_msg
from robocontrast_ros.observations.protocol import Filters
from robocontrast_ros.policies.protocol import Observation
from robocontrast_ros.policies.segments import as_told
from robocontrast_ros.policies.serving.runner import image_digest
from robocontrast_ros.runs.events import SessionFinished

PERTURBATIONS = [
    "mask_all",
    "gobbledygook_words",
    "pictures",
    "mask_words",
    *("LB2", "SB2"),
    {"name": "moved_camera", "severity": 5},
    {"name": "camera_pose", "distance": 0.2, "angle": 20},
    {"name": "blur", "severity": 5, "camera": "board"},
    {"name": "latency", "severity": 1},
    "proprioception",
    *(said(*odd) for odd in ODD.items()),
]


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """Run a session once for all tests; return the workplace and the run."""
    place = Workplace(tmp_path_factory.mktemp("told"), results=True)
    file = place.session(
        task=place.short_task(5),
        policy=place.policy("Reading", "attentive_policies"),
        strategy={"name": "contrast_set", "perturbations": PERTURBATIONS},
        test_set={"size": 1, "families": ["block_to_block_relative_location"]},
    )
    code, output = place.run("evaluate", file)
    assert code == 0, output
    (run,) = place.runs
    assert str(run) in output.replace("\n", "")
    return place, run


def of(run, name):
    """Return the trial of a perturbation."""
    return next(event for event in finished(run) if event.trial.perturbation == name)


def messages(run, event, topic):
    wanted = read_bag(run / event.recording.bag, lambda name, type_name: name.endswith(f"/{topic}")).messages
    return [message.decode() for message in wanted]


def pixels(image):
    return np.frombuffer(bytes(image.data), np.uint8).reshape(image.height, image.width, 3)


def test_the_policy_receives_the_words_that_are_told_and_that_is_confirmed_even_of_none(session):
    _, run = session
    trials = finished(run)
    names = [BASE, "mask_all", "gobbledygook_words", "pictures", "mask_words", "LB2", "SB2"]
    names += ["moved_camera_5", "camera_pose_20cm_20deg", "blur_5_board", "latency_1", "proprioception_3", *ODD]
    assert [event.trial.perturbation for event in trials] == names
    assert {event.delivered for event in trials} == {Delivery.CONFIRMED}
    asked = trials[0].trial.instance.instruction
    assert of(run, "mask_all").observed.instruction == "" and of(run, "mask_all").observed.known
    nonsense = of(run, "gobbledygook_words")
    assert nonsense.observed.instruction == nonsense.trial.instance.instruction.text != asked.text
    assert nonsense.trial.instance.instruction.meant == asked.text
    assert all(event.observed.instruction == asked.text for event in trials if event.trial.instance.observation)


def given_to_the_policy(place):
    """Return the segments that the policy was given, by their digest, and each line as it wrote it down."""
    lines = (place.folder / "Reading.jsonl").read_bytes().splitlines()
    adapter = TypeAdapter(tuple[Segment, ...])
    return {segments_digest(segments): segments for segments in map(adapter.validate_json, lines)}, lines


def test_the_policy_is_given_segments_with_pictures_and_masks_and_never_what_they_are_about(session):
    place, run = session
    told, _ = given_to_the_policy(place)
    given = {event.trial.perturbation: told[event.observed.segments_digest] for event in finished(run)}
    description = replace(Attentive().describe(), referents="crop", mask="native")
    for event in finished(run):
        segments, told = given[event.trial.perturbation], event.trial.instance.instruction
        assert all(segment.entity == "" for segment in segments)
        if told.segments:
            assert segments == as_told(told.text, [replace(s, entity="") for s in told.segments], description).segments
    base, nothing, shown, masked = (given[name] for name in (BASE, "mask_all", "pictures", "mask_words"))
    assert all(segment.visible for segment in base) and any(segment.refers for segment in base)
    assert [replace(s, visible=True) for s in nothing] == [replace(s, visible=True) for s in masked] == list(base)
    assert not any(segment.visible for segment in nothing)
    assert [segment.visible for segment in masked] == [segment.refers for segment in base]
    assert [(s.text, s.crop is not None) for s in shown] == [("" if s.refers else s.text, s.refers) for s in base]
    assert of(run, "pictures").observed.instruction == plain_text(s for s in base if not s.refers)


def test_the_bag_has_the_pictures(session):
    _, run = session
    event = of(run, "pictures")
    (message,) = messages(run, event, "trial")
    assert trial_from_msg(message) == event.trial
    crops = [s.crop for s in event.trial.instance.instruction.segments if s.refers]
    images = [pixels(part.image) for part in message.instance.instruction.segments if part.image.width]
    assert len(crops) == len(images) > 0
    assert all(np.array_equal(crop.pixels, image) for crop, image in zip(crops, images, strict=True))


def test_the_bag_has_what_the_camera_gave_and_what_the_policy_was_shown(session):
    _, run = session
    event = of(run, "blur_5_board")
    given, shown = messages(run, event, "image_raw"), messages(run, event, "shown")
    assert len(shown) == len(event.policy_latency)
    made = Filters((Filter("blur", 5, "board"),), event.trial.seed)
    for message in shown:
        (image,) = message.images
        stamp = stamp_from_msg(image.header.stamp)
        camera = next(pixels(each) for each in given if stamp_from_msg(each.header.stamp) == stamp)
        expected = made.apply(Observation(0, {"board": camera}, (), (), None)).images["board"]
        assert np.array_equal(pixels(image), expected)
        assert not np.array_equal(pixels(image), camera)
    assert messages(run, of(run, BASE), "shown") == [], "nothing was changed"


def test_the_images_of_a_moved_camera_are_those_of_its_trial_and_the_next_has_it_back_at_its_place(session):
    _, run = session
    first = {
        event.trial.perturbation: pixels(messages(run, event, "image_raw")[0])
        for event in finished(run)
        if event.trial.perturbation not in ("gobbledygook_words", "SB2")
    }
    moved, drawn = first.pop("moved_camera_5"), first.pop("camera_pose_20cm_20deg")
    assert all(np.array_equal(image, first[BASE]) for image in first.values())
    assert (moved != first[BASE]).any(axis=2).mean() > 0.3
    event = of(run, "moved_camera_5")
    assert messages(run, event, "shown") == [], "the policy was shown what the camera gave"
    assert event.observed.image_digest == image_digest({"board": moved})
    infos = [messages(run, each, "camera_info")[0] for each in (event, of(run, BASE))]
    assert np.array_equal(infos[0].k, infos[1].k)
    (trial,) = messages(run, event, "trial")
    assert [(f.name, f.severity) for f in trial.instance.observation] == [("moved_camera", 5)]
    event = of(run, "camera_pose_20cm_20deg")
    assert event.observed.image_digest == image_digest({"board": drawn}) and (drawn != first[BASE]).any()
    (trial,) = messages(run, event, "trial")
    assert instance_from_msg(trial.instance).observation == event.trial.instance.observation
    assert math.hypot(*trial.instance.observation[0].drawn[:3]) == pytest.approx(
        dict(event.trial.instance.proof.measures)["camera_moved_m"]
    )


def test_latency_and_noise_reach_what_the_policy_is_shown_of_the_robot(session):
    _, run = session
    late = messages(run, of(run, "latency_1"), "shown")
    assert late[0].tool_pose == late[1].tool_pose != late[2].tool_pose
    noisy = of(run, "proprioception_3")
    positions = [m.joints.position[0] for m in messages(run, noisy, "shown")]
    measured = [m.position[0] for m in messages(run, noisy, "joint_states")]
    assert len(set(positions)) == len(positions)
    assert not set(positions) & set(measured) and np.abs(np.mean(positions) - np.mean(measured)) < 0.05


def test_one_process_and_the_bags_give_the_same_to_the_last_bit(session):
    place, run = session
    _, before = given_to_the_policy(place)
    fast = recorded_fast(run)
    assert scores(run) == scores(fast)
    assert unequal(run, fast) == []
    _, lines = given_to_the_policy(place)
    assert set(lines[len(before) :]) == set(before), "the policy was given the same"
    for folder in (run, fast):
        code, output = command_here("score", folder, "--processes", 1)
        assert code == 0, output
        assert f"{len(finished(run))} of {len(finished(run))} trials" in output
        assert missing(layout("manipulator"), folder / finished(folder)[0].recording.bag) == []


def test_each_trial_is_in_the_journal_in_a_bag_and_in_the_tables(session):
    _, run = session
    trials = finished(run)
    assert isinstance(events_of(run)[-1], SessionFinished)
    bases = {event.trial.base_id for event in trials if event.trial.is_base}
    assert {event.trial.base_id for event in trials} == bases, "every perturbed trial has its base trial"
    for event in trials:
        assert (run / event.recording.bag / "metadata.yaml").exists()
        assert event.recording.missing == ()
        assert len(event.policy_latency) >= event.result.steps and min(event.policy_latency) > 0.0
    for table in (polars.read_parquet(run / "trials.parquet"), polars.read_csv(run / "trials.csv")):
        assert table.height == len(trials)
        assert table["spl"].to_list() == pytest.approx([event.result.scores["spl"] for event in trials])
    assert (run / "summary.json").exists() and list((run / "figures").glob("*.png"))
    bag = run / trials[0].recording.bag
    code, output = command_here("picture", bag, "--to", run / "trial.png")
    assert code == 0, output
    assert (run / "trial.png").read_bytes().startswith(b"\x89PNG")
    assert len(read_images(bag)) >= trials[0].result.steps


def test_nothing_that_the_policy_can_see_names_the_perturbation(session):
    place, run = session
    given, _ = given_to_the_policy(place)
    for event in finished(run):
        seen = event.observed.instruction + to_json(given[event.observed.segments_digest], bytes_mode="base64").decode()
        entities = [value for _, value in event.trial.instance.instruction.arguments if "_" in value]
        assert entities and not any(entity in seen for entity in entities)
        instance = event.trial.instance
        named = {event.trial.perturbation, "ΔL", "ΔO", instance.instance_id} - {BASE}
        assert not any(name in seen for name in named)
        assert all(segment.name in ("", "referent_1", "referent_2") for segment in instance.instruction.segments)
        topics = dict(event.recording.messages)
        assert set(topics) == set(dict(finished(run)[0].recording.messages)), "the same topics in every trial"
    assert len({event.trial.seed for event in finished(run)}) == 1, "the seed of the pair"
