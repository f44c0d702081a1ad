"""Sessions in other worlds, on the wall clock: one with a judge and a camera from outside, one whose robot stops."""

from __future__ import annotations

import signal
import threading
from collections import deque
from types import SimpleNamespace

import cv2
import numpy as np
import pytest
import yaml

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from diagnostic_msgs.msg import DiagnosticArray
from emulated_controllers import SPEED_SCALING
from geometry_msgs.msg import WrenchStamped
from robocontrast_ros.msg import Judgement
from robocontrast_ros.srv import JudgeTrial, ResumeSession, SwapPolicy
from rosbags.highlevel import AnyReader
from sensor_msgs.msg import CameraInfo, CompressedImage
from session_runs import Workplace, events_of, finish, finished, wait_until
from spinning import spun_node

from robocontrast_ros.analysis.figures.trial_picture import read_images
from robocontrast_ros.analysis.rescoring.recorded_trials import find_recorded
from robocontrast_ros.analysis.rescoring.scores_from_bags import score_recorded
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import Fault, Outcome
from robocontrast_ros.nodes.runtime.channel import DiscoveryProbe, call, wait_for
from robocontrast_ros.nodes.runtime.qos import RECORDED, recorded
from robocontrast_ros.policies.serving.runner import image_digest
from robocontrast_ros.runs.events import Paused, SetUp, SpeedScalingNoted, TrialVoid
from robocontrast_ros.sessions.resolving import resolve

WORLD = {"backend": "timed_line:TimedHelper", "pacing": "wall_clock", "judge": "outside"}

RATE = 20.0
"""Of the camera [Hz]; the control rate is 10 Hz."""
IMAGE, INFO = "camera/camera/color/image_raw", "camera/camera/color/camera_info"
FRAME = "camera_color_optical_frame"


def picture() -> np.ndarray:
    """Return what the camera sees, shape (48, 64, 3), RGB: reddish, no two rows alike."""
    pixels = np.zeros((48, 64, 3), np.uint8)
    pixels[..., 0] = 200
    pixels[..., 1] = np.arange(48)[:, None]
    pixels[10:20, 10:20, 2] = 90
    return pixels


def encoded() -> bytes:
    """Return the picture as JPEG."""
    done, jpeg = cv2.imencode(".jpg", picture()[..., ::-1])
    assert done
    return jpeg.tobytes()


@pytest.fixture
def place(tmp_path):
    return Workplace(tmp_path)


def write_session(place: Workplace, **changes):
    task = place.folder / "line.yaml"
    task.write_text("task: wall_clock_line:WallClockLine\n")
    keys = {
        "world": WORLD,
        "task": str(task),
        "policy": place.policy("PushOn", "wall_clock_line"),
        "strategy": {"name": "contrast_set", "perturbations": ["line_world:Invert", "line_world:MoveSource"]},
        "cameras": [],
        "stop_on_success": False,
    }
    return place.session(**keys | changes)


def verdict(index: int) -> tuple[bool, float]:
    """Return what the person says of a trial, which no scene tells."""
    return index % 2 == 0, 0.25 + 0.1 * (index % 5)


def topics_of(bag) -> dict[str, list]:
    """Return the decoded messages of a bag by topic, as another reader has them."""
    with AnyReader([bag]) as reader:
        messages: dict[str, list] = {connection.topic.strip("/"): [] for connection in reader.connections}
        for connection, _, raw in reader.messages():
            messages[connection.topic.strip("/")].append(reader.deserialize(raw, connection.msgtype))
    return messages


def seconds(stamp) -> float:
    return stamp.sec + 1e-9 * stamp.nanosec


class Camera:
    """A camera whose driver publishes compressed images, at first in a frame that the robot's file does not name."""

    def __init__(self, node) -> None:
        self.frame, self.jpeg = "elsewhere", encoded()
        self._node = node
        self._images = node.create_publisher(CompressedImage, f"{IMAGE}/compressed", recorded(10_000))
        self._infos = node.create_publisher(CameraInfo, INFO, recorded(1000))
        node.create_timer(1.0 / RATE, self._publish)

    def _publish(self) -> None:
        image = CompressedImage(format="rgb8; jpeg compressed bgr8", data=self.jpeg)
        image.header.stamp = self._node.get_clock().now().to_msg()
        info = CameraInfo(width=64, height=48)
        image.header.frame_id = info.header.frame_id = self.frame
        info.header.stamp = image.header.stamp
        self._infos.publish(info)
        self._images.publish(image)


class Judge:
    """Somebody who looks away at the first trial, judges others, and thinks long of one of them."""

    SWAPPED, LAST = 0, 3
    """Trials: while the first is judged the policy is swapped, while the last is the session is ended."""

    def __init__(self, node) -> None:
        self.asked: list[int] = []
        self.answered: list[int] = []
        self.swapped, self.thinks, self.leave = threading.Event(), threading.Event(), threading.Event()
        node.create_service(JudgeTrial, "judge/judge_trial", self._judge)

    def _judge(self, request: JudgeTrial.Request, response: JudgeTrial.Response) -> JudgeTrial.Response:
        index = request.trial.index
        self.asked.append(index)
        if len(self.asked) == 1:
            # It is void, and tried again.
            response.fault.code, response.fault.detail = int(Fault.JUDGE_LOST), "the person looked away"
            return response
        if index == self.SWAPPED:
            self.swapped.wait(240.0)
        if index == self.LAST:
            self.thinks.set()
            self.leave.wait(240.0)
        success, progress = verdict(index)
        self.answered.append(index)
        response.judgement = Judgement(success=success, progress=progress, by="a person", note="seen")
        return response


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """Run a session that is judged from outside, swap in a policy that sees, and end it while the judge thinks."""
    place = Workplace(tmp_path_factory.mktemp("judged"))
    robot = place.folder / "arm.yaml"
    camera = {"name": "board", "image_topic": IMAGE, "info_topic": INFO, "frame_id": FRAME, "transport": "compressed"}
    robot.write_text(yaml.safe_dump({"extends": "franka", "cameras": [camera]}))
    cameras = [{"name": "board", "width": 64, "height": 48}]
    # The trial is tried again until the camera is mended.
    session = write_session(place, robot=str(robot), cameras=cameras, void_retries=100)
    reports: list[DiagnosticArray] = []
    with spun_node("camera") as node, spun_node("person") as person:
        node.create_subscription(DiagnosticArray, "diagnostics", reports.append, 10)
        camera, judge = Camera(node), Judge(person)
        swap = node.create_client(SwapPolicy, "episode_manager/swap_policy")
        process = place.begin("evaluate", session)
        try:
            run = wait_until(lambda: place.runs and place.runs[0], "a run folder")
            wait_until(lambda: len(judge.asked) == 2, "the first trial that is judged")
            DiscoveryProbe(node, "episode_manager").wait(60.0)
            wait_for(swap, 60.0)
            request = SwapPolicy.Request(policy=place.policy("LookOn", "wall_clock_line"))
            wait_until(lambda: call(swap, request, 120.0).accepted, "a swap that is taken")
            judge.swapped.set()
            wait_until(lambda: voids_of(run, Fault.SENSOR_LOST), "the wrong frame is told")
            camera.frame = FRAME
            wait_until(judge.thinks.is_set, "a trial that is judged long")
            process.send_signal(signal.SIGINT)
            code, output = finish(process)
            answered = list(judge.answered)
        finally:
            judge.swapped.set()
            judge.leave.set()
            process.kill()
    assert code == 130, output
    return SimpleNamespace(run=run, jpeg=camera.jpeg, asked=judge.asked, answered=answered, reports=reports)


def voids_of(run, fault: Fault) -> list[TrialVoid]:
    return [event for event in events_of(run) if isinstance(event, TrialVoid) and event.fault is fault]


def test_a_session_without_simulator_clock_or_streamed_scene_is_judged_from_outside_and_scored_again(judged):
    run = judged.run
    assert "simulator" not in {path.stem for path in (run / "logs").iterdir()}
    trials = finished(run)
    assert judged.asked[:2] == [0, 0] and [event.trial.index for event in trials] == list(range(Judge.LAST))
    (void,) = voids_of(run, Fault.JUDGE_LOST)
    assert (void.trial.index, void.detail) == (0, "the person looked away")
    for event in trials:
        success, progress = verdict(event.trial.index)
        assert event.result.outcome is (Outcome.SUCCESS if success else Outcome.FAILURE)
        scores = event.result.scores
        assert (scores["success"], scores["progress"], event.result.steps) == (float(success), progress, 10)
        # Ten commands of 2 cm each; how far behind the last one the arm is depends on the machine.
        assert 0.0 < scores["path_length"] <= 0.25

    bag = topics_of(run / trials[0].recording.bag)
    assert "clock" not in bag
    assert [(m.success, m.progress, m.by) for m in bag["judgement"]] == [(*verdict(0), "a person")]
    assert len(bag["scene"]) == 1, "it is known at set-up, which the trial says, and at the end"
    assert len(bag["tool_pose"]) == len(bag["progress"]) == 11
    stamps = [seconds(message.header.stamp) for message in bag["tool_pose"]]
    assert stamps[0] > 1e9, "the time of day, and no simulated time"
    assert stamps == sorted(set(stamps))
    assert len(bag["joint_states"]) > len(stamps), "whatever the driver published is in the bag"

    set_ups = {e.trial.index: e for e in events_of(run) if isinstance(e, SetUp)}
    for event in set_ups.values():
        moved = {move.name: move.goal for move in event.moves if move.goal is not None}
        assert {name: event.after[name].pose for name in moved} == moved, "what the moves name was carried there"
        assert event.measured >= 0.0, "the helper is timed"
    pushed = [e for e in trials if e.result.final_scene != set_ups[e.trial.index].after]
    assert pushed, "the scene at the end is the one that was pushed, and the next trial starts from it"

    scored = list(score_recorded(find_recorded([run])))
    assert len(scored) == len(trials)
    for score in scored:
        success, progress = verdict(score.trial.index)
        assert score.equal, (score.differences, score.problem)
        assert (score.offline.scores["success"], score.offline.scores["progress"]) == (float(success), progress)


def test_a_camera_in_another_frame_is_told_when_a_policy_that_needs_it_is_swapped_in(judged):
    voids = voids_of(judged.run, Fault.SENSOR_LOST)
    words = (
        f"camera 'board': images on {IMAGE}/compressed are in the frame 'elsewhere', expected '{FRAME}', the `frame_id`"
    )
    assert all(void.trial.index == Judge.SWAPPED + 1 for void in voids) and words in voids[0].detail


def test_compressed_images_are_decoded_for_the_policy_and_recorded_as_they_came(judged):
    seen = [event for event in finished(judged.run) if event.trial.index > Judge.SWAPPED]
    decoded = cv2.imdecode(np.frombuffer(judged.jpeg, np.uint8), cv2.IMREAD_COLOR)[..., ::-1]
    assert {event.observed.image_digest for event in seen} == {image_digest({"board": decoded})}
    bag = judged.run / seen[0].recording.bag
    with AnyReader([bag]) as reader:
        (connection,) = [c for c in reader.connections if c.topic.endswith("/compressed")]
        assert connection.msgtype == "sensor_msgs/msg/CompressedImage"
        received = [reader.deserialize(raw, connection.msgtype) for _, _, raw in reader.messages([connection])]
        assert not any(c.topic.endswith("image_raw") for c in reader.connections)
    assert received and all(bytes(message.data) == judged.jpeg for message in received)
    assert all(np.array_equal(image.pixels, decoded) for image in read_images(bag))


def test_diagnostics_tell_the_session_and_the_rates_of_robot_and_camera(judged):
    named = [(status, array) for array in judged.reports for status in array.status]
    parts = {status.name for status, _ in named}
    assert parts == {"episode_manager: session", "rollout: robot state", "rollout: camera board"}
    assert {status.hardware_id for status, _ in named} == {"franka"}
    assert all(array.header.stamp.sec > 1e9 for array in judged.reports), "of the wall clock"
    rates = [
        {pair.key: pair.value for pair in status.values}
        for status, _ in named
        if status.name == "rollout: camera board" and status.message != "counting"
    ]
    assert rates and all(values["expected rate [Hz]"] == "10" for values in rates)
    assert max(float(values["rate [Hz]"]) for values in rates) > 0.0
    states = {status.message for status, _ in named if status.name == "episode_manager: session"}
    assert any(message.startswith("running") for message in states)


def test_a_person_who_takes_long_to_judge_does_not_keep_a_session_that_is_to_end(judged):
    assert judged.asked[-1] == Judge.LAST and Judge.LAST not in judged.answered, "it did not wait for the person"
    assert voids_of(judged.run, Fault.ABORTED)[-1].trial.index == Judge.LAST


@pytest.mark.long
def test_a_session_on_a_robot_that_stops_is_slowed_and_meets_a_hand_waits_for_a_person_and_goes_on(place):
    place.results = True
    robot = place.folder / "arm.yaml"
    driver = {"universal_robots": {}, "follow_joint_trajectory": {"controller": "trajectory_controller"}}
    driver |= {"answer_timeout": 60.0, "clock_tolerance": 60.0, "wrench": "force_torque_sensor_broadcaster/wrench"}
    slider = {"topic": SPEED_SCALING, "type": "std_msgs/msg/Float64", "full": 100.0, "cure": "raise the slider"}
    driver |= {"limits": [slider]}
    keys = {"extends": "franka", "port": "follow_joint_trajectory", "driver": driver, "safety": "franka_with_force"}
    robot.write_text(yaml.safe_dump(keys))
    session = write_session(
        place,
        world={"backend": "driven_line:DrivenHelper", "pacing": "wall_clock", "judge": "true_scene"},
        robot=str(robot),
        strategy={"name": "standard"},
        test_set={"size": 2},
    )
    with spun_node("person") as person:
        client = person.create_client(ResumeSession, "episode_manager/resume")
        known = DiscoveryProbe(person, "episode_manager")
        forces = deque(maxlen=1)
        person.create_subscription(
            WrenchStamped,
            "force_torque_sensor_broadcaster/wrench",
            lambda message: forces.append(message.wrench.force.z),
            RECORDED,
        )
        process = place.begin("evaluate", session)
        try:
            run = wait_until(lambda: place.runs and place.runs[0], "a run folder")
            (paused,) = wait_until(lambda: [e for e in events_of(run) if isinstance(e, Paused)], "the pause")
            assert len(finished(run)) == 1, "the trial counts, and no scene is set up under the arm"
            assert "force of the tool: 40 N, at most 30" in paused.detail and "by hand" in paused.detail
            wait_until(lambda: forces and not forces[0], "the hand to be taken away")
            known.wait(60.0)
            wait_for(client, 60.0)
            wait_until(lambda: call(client, ResumeSession.Request(), 60.0).accepted, "it to go on")
        finally:
            code, output = finish(process)
    assert code == 0, output
    assert "the session waits: the robot could not go home" in output
    void, slowed = [event for event in events_of(run) if isinstance(event, TrialVoid)]
    assert void.fault is slowed.fault is Fault.ROBOT_FAULT, (void, slowed)
    assert "PROTECTIVE_STOP (3)" in void.detail or "PATH_TOLERANCE_VIOLATED (-4)" in void.detail
    assert slowed.detail == (
        "the robot was slowed from outside: 40 % of full speed, less than the 90 % at which the session began; "
        f"speed scaling: 40 % of full speed (40 of 100 on {SPEED_SCALING}): raise the slider"
    )
    (said,) = [event.detail for event in events_of(run) if isinstance(event, SpeedScalingNoted)]
    assert said == f"speed scaling: 90 % of full speed (90 of 100 on {SPEED_SCALING}): raise the slider"
    assert said in output and output.count("at 90 % of full speed") == 2, (
        "in the terminal, at the start and at each trial"
    )
    assert "Something outside slowed the robot: 90 % of its full speed in 2 of 2 trials." in output
    trials = finished(run)
    assert [event.speed_scaling for event in trials] == [0.9, 0.9]
    assert len(trials) == 2 and all(event.result.steps == 10 for event in trials)
    # Ten commands of 2 cm each; how far behind the last one the arm is depends on the machine.
    assert all(0.0 < event.result.scores["path_length"] <= 0.25 for event in trials)
    bag = topics_of(run / trials[0].recording.bag)
    assert len(bag["commanded/fr3_arm_controller/joint_trajectory"]) >= 10, "the bag has what was commanded"
    assert len(bag["force_torque_sensor_broadcaster/wrench"]) > 40, "and the force at the tool"
    assert {message.data for message in bag[SPEED_SCALING]} == {90.0}, "and what slowed it"


def test_a_real_robot_is_not_stepped(place):
    with pytest.raises(ConfigurationError, match=r"ur5e_real\.yaml: `port`: got .* set world.pacing to wall_clock"):
        resolve(place.session(robot="ur5e_real"))
