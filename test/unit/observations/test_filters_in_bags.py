"""Each observation filter in trials of real bags: what the sensors gave, what the policy was shown and did."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from session_runs import Workplace, finished

from robocontrast_ros.bags.reader import read_bag
from robocontrast_ros.configuration import load_plugin, plugin_names
from robocontrast_ros.domain import BASE, Delivery, Fault, Filter, Pose
from robocontrast_ros.episodes.bench import Bench, BenchFault
from robocontrast_ros.messages.decoding import pose_from_msg, stamp_from_msg
from robocontrast_ros.observations.protocol import Filters, displaces_cameras
from robocontrast_ros.perturbations.loading import load_perturbation
from robocontrast_ros.policies.protocol import Observation
from robocontrast_ros.policies.serving.runner import image_digest
from robocontrast_ros.runs.events import SessionFinished, SessionInterrupted, TrialFinished
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.sessions.fast_mode import open_bench
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.sessions.recording import trial_recorder
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.worlds.in_process import InProcessBench

KINDS = {name: load_plugin("observation_filters", name, "test", "") for name in plugin_names("observation_filters")}
MOST = [{"name": name, "severity": len(kind.levels)} for name, kind in KINDS.items()]
"""Each filter at its greatest severity."""
STEPS = 12
IMAGES = [name for name, kind in KINDS.items() if kind.of_images]
SHOWN = [name for name in IMAGES if not displaces_cameras(KINDS[name])]


def recorded(folder, **changes):
    """Run a session of one test instance without ROS; return its run folder and its trials by the filter's name."""
    place = Workplace(folder)
    task = place.short_task(STEPS)
    strategy = {"name": "contrast_set", "perturbations": MOST}
    session = resolve(place.session(task=task, strategy=strategy, test_set={"size": 1}, **changes))
    run = session.new_run(0.0)
    bench = open_bench(session, recorder=trial_recorder(session, run))
    run_session(session.evaluation(), bench, run.journal)
    bench.close()
    names = {load_perturbation(entry, "test", "").name: entry["name"] for entry in MOST} | {BASE: BASE}
    return run.path, {names[event.trial.perturbation]: event for event in finished(run.path)}


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """Return what a policy did that acts on all that it is shown."""
    folder = tmp_path_factory.mktemp("watched")
    return recorded(folder, policy=Workplace(folder).policy("AllSeeing", "attentive_policies"))


@pytest.fixture(scope="module")
def unseeing(tmp_path_factory):
    """Return what the oracle did, which looks at no image."""
    return recorded(tmp_path_factory.mktemp("oracle"), policy="oracle")


def messages(run, event, topic):
    wanted = read_bag(run / event.recording.bag, lambda name, type_name: name.endswith(f"/{topic}")).messages
    return [message.decode() for message in wanted]


def pixels(image):
    return np.frombuffer(bytes(image.data), np.uint8).reshape(image.height, image.width, 3)


def of_the_same_time(run, event, topic, shown, stamp=lambda message: message.header.stamp):
    """Return the messages of a topic of the times at which the policy was shown something."""
    found = {stamp_from_msg(stamp(message)): message for message in messages(run, event, topic)}
    return [found[stamp_from_msg(message.header.stamp)] for message in shown]


def images_of(run, event):
    """Return the images that the camera gave, and those that the policy was shown."""
    shown = messages(run, event, "shown")
    return [pixels(i) for i in of_the_same_time(run, event, "image_raw", shown)], [pixels(m.images[0]) for m in shown]


def commands(run, event):
    return [list(m.points[0].positions) for m in messages(run, event, "joint_trajectory")]


def test_every_filter_had_its_trial(watched, unseeing):
    tested = {*SHOWN, "moved_camera", "latency", "proprioception", "permuted"}
    tested |= {"thinking", "thinking_drawn", "thinking_measured"}
    assert tested == set(KINDS), "another filter needs a test here"
    for _, trials in (watched, unseeing):
        assert trials.keys() == {BASE, *KINDS}
        assert {event.delivered for event in trials.values()} == {Delivery.CONFIRMED}


def test_the_robot_holds_while_a_policy_thinks_and_journal_and_bag_say_so(unseeing):
    run, trials = unseeing
    assert trials[BASE].waits == ()
    thinking = trials["thinking"]
    assert thinking.waits == (STEPS,), "its first answer takes longer than the trial"
    assert thinking.result.steps == STEPS and len(thinking.policy_latency) == 1
    held = commands(run, thinking)
    assert len(held) == STEPS + 1, "one a control period, and one at the end"
    assert np.ptp(held, axis=0).max() < 1e-3 < np.ptp(commands(run, trials[BASE]), axis=0).max()
    assert sum(trials["thinking_drawn"].waits) > 0
    measured = trials["thinking_measured"]
    assert len(measured.waits) == len(measured.policy_latency)
    for wait, took in list(zip(measured.waits, measured.policy_latency, strict=True))[:-1]:
        assert wait == math.ceil(took / 0.1 - 1e-5), "whole control steps"


@pytest.mark.parametrize("name", SHOWN)
def test_the_bag_has_the_camera_s_images_and_what_the_filter_made_of_them(watched, name):
    run, trials = watched
    event = trials[name]
    given, shown = images_of(run, event)
    assert len(shown) == len(event.policy_latency) == STEPS
    made = Filters((Filter(name, len(KINDS[name].levels)),), event.trial.seed)
    for camera, image in zip(given, shown, strict=True):
        assert np.array_equal(made.apply(Observation(0, {"board": camera}, (), (), Pose())).images["board"], image)
    assert any(not np.array_equal(camera, image) for camera, image in zip(given, shown, strict=True))
    assert event.observed.image_digest == image_digest({"board": shown[0]})
    assert np.array_equal(given[0], pixels(messages(run, trials[BASE], "image_raw")[0])), "the camera knows no filter"
    messages_shown = messages(run, event, "shown")
    poses = [m.pose for m in of_the_same_time(run, event, "tool_pose", messages_shown)]
    assert [pose_from_msg(m.tool_pose) for m in messages_shown] == list(map(pose_from_msg, poses))


def test_the_bag_has_the_images_of_a_moved_camera(watched):
    run, trials = watched
    event, base = trials["moved_camera"], trials[BASE]
    moved, placed = (pixels(messages(run, each, "image_raw")[0]) for each in (event, base))
    assert (moved != placed).any(axis=2).mean() > 0.3
    assert event.observed.image_digest == image_digest({"board": moved}) != base.observed.image_digest
    assert messages(run, event, "shown") == messages(run, base, "shown") == []


def test_the_bag_shows_latency_noise_of_the_robot_and_another_order_of_objects(watched):
    run, trials = watched
    given, shown = images_of(run, trials["latency"])
    assert all(np.array_equal(image, given[max(0, k - 8)]) for k, image in enumerate(shown))
    assert not np.array_equal(shown[-1], given[-1])

    noisy = messages(run, trials["proprioception"], "shown")
    measured = of_the_same_time(run, trials["proprioception"], "joint_states", noisy)
    off = np.subtract([m.joints.position for m in noisy], [m.position for m in measured])
    assert np.std(off) == pytest.approx(0.1, rel=0.3) and np.all(off != 0.0)
    assert all(map(np.array_equal, *images_of(run, trials["proprioception"])))

    listed = messages(run, trials["permuted"], "shown")
    true = of_the_same_time(run, trials["permuted"], "scene", listed)
    orders = [[o.name for o in m.scene.objects] for m in listed]
    names = [[o.name for o in m.objects] for m in true]
    assert [sorted(order) for order in orders] == [sorted(order) for order in names]
    assert orders != names


@dataclass
class Interrupted(Bench):
    """A bench that is lost in the middle of the trials of some attempts."""

    bench: InProcessBench
    faults: list[Fault]
    poses: list[Pose]

    def scene(self):
        return self.bench.scene()

    def set_up(self, target, moves):
        return self.bench.set_up(target, moves)

    def execute(self, trial, attempt):
        execution = self.bench.execute(trial, attempt)
        self.poses.append(self.bench._world.cameras.pose("board"))
        if trial.perturbation.startswith("moved_camera") and self.faults:
            raise BenchFault(self.faults.pop(), "while the camera stands elsewhere")
        return execution


def test_after_a_void_trial_and_after_an_interruption_cameras_stand_as_in_a_session_without(tmp_path):
    place = Workplace(tmp_path)
    session = resolve(
        place.session(
            task=place.short_task(3),
            policy=place.policy("Attentive", "attentive_policies"),
            strategy={"name": "contrast_set", "perturbations": ["moved_camera", "colour_cast"]},
            test_set={"size": 2},
        )
    )
    whole, broken, journal = [], [], tmp_path / "broken.jsonl"
    bench = open_bench(session)
    run_session(session.evaluation(), Interrupted(bench, [], whole), tmp_path / "whole.jsonl")
    ends = Interrupted(bench, [Fault.SIMULATOR_LOST, Fault.SENSOR_LOST], broken)
    assert isinstance(run_session(session.evaluation(), ends, journal), SessionInterrupted)
    assert isinstance(run_session(session.evaluation(), ends, journal, resume=True), SessionFinished)
    bench.close()
    digests = [
        [event.observed.image_digest for event in read_journal(path).events if isinstance(event, TrialFinished)]
        for path in (tmp_path / "whole.jsonl", journal)
    ]
    assert digests[0] == digests[1] and len(set(digests[0])) == 6
    home, moved = whole[0], whole[1]
    assert home.distance_to(moved) == pytest.approx(0.03)
    assert whole == [home, moved, home, home, whole[4], home] and home.distance_to(whole[4]) == pytest.approx(0.03)
    assert broken == [home, moved, moved, moved, *whole[2:]], "the same trial, the same place"


def test_a_policy_that_acts_on_what_it_is_shown_acts_otherwise_under_every_filter(watched):
    run, trials = watched
    base = commands(run, trials[BASE])
    assert [name for name in KINDS if commands(run, trials[name]) == base] == []


def test_an_oracle_acts_to_the_last_bit_as_without_a_filter_of_images(unseeing):
    run, trials = unseeing
    base = trials[BASE]
    done = commands(run, base)
    assert len(done) > STEPS / 2
    for name in IMAGES:
        assert commands(run, trials[name]) == done, name
        assert repr(trials[name].result.scores) == repr(base.result.scores), name
        assert trials[name].result.final_scene == base.result.final_scene, name
    assert commands(run, trials["proprioception"]) != done, "of the robot it does use what it is shown"
    moved = messages(run, trials["moved_camera"], "image_raw")
    assert not np.array_equal(pixels(moved[0]), pixels(messages(run, base, "image_raw")[0])), "the camera was moved"
