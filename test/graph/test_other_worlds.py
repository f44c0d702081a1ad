"""Sessions in other worlds: on the wall clock with a judge from outside, and in a simulator that runs already."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections import deque

import pytest
import yaml

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from emulated_controllers import SPEED_SCALING
from geometry_msgs.msg import WrenchStamped
from robocontrast_ros.msg import Judgement
from robocontrast_ros.srv import JudgeTrial, ResumeSession
from rosbags.highlevel import AnyReader
from session_runs import Workplace, events_of, finish, finished, scores, wait_until
from spinning import spun_node

from robocontrast_ros.analysis.rescoring.recorded_trials import find_recorded
from robocontrast_ros.analysis.rescoring.scores_from_bags import score_recorded
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import Fault, Outcome
from robocontrast_ros.nodes.runtime.channel import DiscoveryProbe, call
from robocontrast_ros.nodes.runtime.qos import RECORDED
from robocontrast_ros.runs.events import Paused, SetUp, SpeedScalingNoted, TrialVoid
from robocontrast_ros.sessions.fast_mode import open_bench
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.strategies.effort import Tolerance, setup_moves

WORLD = {"backend": "wall_clock_line:Helper", "pacing": "wall_clock", "judge": "outside"}


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


def test_a_session_without_simulator_clock_or_streamed_scene_is_judged_from_outside_and_scored_again(place):
    asked = []

    def judge(request: JudgeTrial.Request, response: JudgeTrial.Response) -> JudgeTrial.Response:
        asked.append(request.trial.index)
        if len(asked) == 1:
            response.fault.code, response.fault.detail = int(Fault.JUDGE_LOST), "the person looked away"
            return response
        success, progress = verdict(request.trial.index)
        response.judgement = Judgement(success=success, progress=progress, by="a person", note="seen")
        return response

    with spun_node("person") as person:
        person.create_service(JudgeTrial, "judge/judge_trial", judge)
        world = WORLD | {"backend": "timed_line:TimedHelper"}
        code, output = place.run("evaluate", write_session(place, world=world))
    assert code == 0, output
    (run,) = place.runs
    assert "simulator" not in {path.stem for path in (run / "logs").iterdir()}
    trials = finished(run)
    assert asked == [0, *range(len(trials))] and len(trials) >= 4
    (void,) = [event for event in events_of(run) if isinstance(event, TrialVoid)]
    assert (void.trial.index, void.fault, void.detail) == (0, Fault.JUDGE_LOST, "the person looked away")
    for event in trials:
        success, progress = verdict(event.trial.index)
        assert event.result.outcome is (Outcome.SUCCESS if success else Outcome.FAILURE)
        scores = event.result.scores
        assert (scores["success"], scores["progress"], event.result.steps) == (float(success), progress, 10)
        # Ten commands of 2 cm each; how far behind the last one the arm is depends on the machine.
        assert 0.0 < scores["path_length"] <= 0.25

    bag = topics_of(run / trials[0].recording.bag)
    assert "clock" not in bag and not any("image" in topic for topic in bag)
    assert [(m.success, m.progress, m.by) for m in bag["judgement"]] == [(*verdict(0), "a person")]
    assert len(bag["scene"]) == 1, "it is known at set-up, which the trial says, and at the end"
    assert len(bag["tool_pose"]) == len(bag["progress"]) == 11
    stamps = [seconds(message.header.stamp) for message in bag["tool_pose"]]
    assert stamps[0] > 1e9, "the time of day, and no simulated time"
    assert stamps[-1] - stamps[0] >= 10 * 0.1 - 0.25, "never faster, but for a state that is stale"
    assert len(bag["joint_states"]) > 40, "whatever the driver published is in the bag"

    set_ups = {e.trial.index: e for e in events_of(run) if isinstance(e, SetUp)}
    for event in set_ups.values():
        assert not setup_moves(event.after, event.target, Tolerance()), "what the moves name was carried there"
        assert 0.0 <= event.measured < 60.0, "the helper is timed"
    pushed = [e for e in trials if e.result.final_scene != set_ups[e.trial.index].after]
    assert pushed, "the scene at the end is the one that was pushed, and the next trial starts from it"

    for score in score_recorded(find_recorded([run])):
        success, progress = verdict(score.trial.index)
        assert score.equal, (score.differences, score.problem)
        assert (score.offline.scores["success"], score.offline.scores["progress"]) == (float(success), progress)


def test_a_session_on_a_robot_that_stops_is_slowed_and_meets_a_hand_waits_for_a_person_and_goes_on(place):
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


def test_a_person_who_takes_long_to_judge_does_not_keep_a_session_that_is_to_end(place):
    asked, leave, answered = threading.Event(), threading.Event(), []

    def think(_: JudgeTrial.Request, response: JudgeTrial.Response) -> JudgeTrial.Response:
        asked.set()
        leave.wait(120.0)
        answered.append(True)
        return response

    with spun_node("person") as person:
        person.create_service(JudgeTrial, "judge/judge_trial", think)
        process = place.begin("evaluate", write_session(place))
        assert asked.wait(240.0)
        process.send_signal(signal.SIGINT)
        code, output = finish(process)
        assert not answered, "it did not wait for the person"
        leave.set()
    assert code == 130, output
    (run,) = place.runs
    assert any(isinstance(e, TrialVoid) and e.fault is Fault.ABORTED for e in events_of(run))


def test_a_simulator_that_runs_already_is_used_by_its_standard_services_and_gives_the_same_trial(place):
    session = place.session(test_set={"size": 1}, task=place.short_task(20), cameras=[])
    resolved = resolve(session)
    parameters = {
        "robot": str(resolved.robot_file),
        "world": resolved.task.scenes.world,
        "start_position": list(resolved.task.scenes.start_position),
        "physics_step": resolved.task.scenes.physics_step,
    }
    path = place.folder / "simulator.yaml"
    path.write_text(yaml.safe_dump({"/**": {"ros__parameters": parameters}}))
    options = ["--ros-args", "-r", "__node:=gz", "--params-file", str(path)]
    simulator = subprocess.Popen([sys.executable, "-m", "robocontrast_ros.nodes.simulator_node", *options])
    try:
        settings = ["--set", "world.backend=simulation_interfaces", "--set", "world.simulator=gz"]
        code, output = place.run("evaluate", session, *settings)
    finally:
        simulator.terminate()
        simulator.communicate(timeout=120)
    assert code == 0, output
    (run,) = place.runs
    assert "simulator" not in {path.stem for path in (run / "logs").iterdir()}
    bench = open_bench(resolved)
    run_session(resolved.evaluation(), bench, place.folder / "journal.jsonl")
    bench.close()
    assert scores(run) == scores(place.folder)
