"""The rollout's part in stopping the robot, between a watchdog's messages and a driver's topics."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from domains import own_domain
from robocontrast_ros.msg import Stopped
from sensor_msgs.msg import JointState
from session_runs import wait_until
from spinning import spun_node
from trajectory_msgs.msg import JointTrajectory

from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.domain import Fault
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.graph.parameters.rollout import RolloutParameters
from robocontrast_ros.nodes.conversions.domain import time_to_msg
from robocontrast_ros.nodes.rollout import guard
from robocontrast_ros.nodes.rollout.guard import Guard, GuardedRobot
from robocontrast_ros.nodes.rollout.inbox import Inbox
from robocontrast_ros.nodes.rollout.recorder_watch import RecorderWatch
from robocontrast_ros.nodes.rollout.robot import TopicRobot
from robocontrast_ros.nodes.rollout.surroundings import TopicSurroundings
from robocontrast_ros.nodes.runtime.executor import LOOK
from robocontrast_ros.nodes.runtime.qos import LATCHED, LOCKSTEP, RECORDED
from robocontrast_ros.robots.commands import JointTrajectoryCommand
from robocontrast_ros.robots.profile import load_profile

ROBOT = resolve_uri("package://robocontrast_ros/config/robots/ur5e.yaml")
LONG = 60.0


class Rig:
    """A guard with its port; a driver that takes commands; a watchdog that says what the test wants."""

    def __init__(self, others, client) -> None:
        self.profile = load_profile(ROBOT)
        self.commands: list[tuple[float, ...]] = []
        self.changed = threading.Condition()
        self.stopped = False
        self._said = others.create_publisher(Stopped, "stopped", LATCHED)
        self._state = others.create_publisher(JointState, self.profile.state.topic, RECORDED)
        others.create_subscription(JointTrajectory, self.profile.command.topic, self._take, LOCKSTEP)
        others.create_timer(0.02, self._speak)
        self.node = client
        self.parameters = parameters = RolloutParameters(
            robot=ROBOT, steps_per_control=1, control_period=0.1, watchdog="watchdog", heartbeat_limit=LONG
        )
        self.inbox = Inbox(client)
        watch = RecorderWatch(client, self.profile, parameters, False)
        self.port = TopicRobot(client, self.profile, parameters, self.inbox, watch)
        self.sending_stopped = 0
        self.port.stop_sending = self._stop_sending
        self.guard = Guard(client, parameters, self.inbox, self.port)
        self.robot = GuardedRobot(self.port, self.guard)
        self.guard.start(LONG)
        self.stamp = self.robot.state(0).stamp

    def _stop_sending(self) -> None:
        self.sending_stopped += 1

    def _speak(self) -> None:
        now = time_to_msg(time.time_ns())
        self._said.publish(Stopped(stamp=now, stopped=self.stopped, proven=True, by="a person", reason="a test"))
        message = JointState(name=list(self.profile.joint_names), position=list(self.profile.home))
        message.header.stamp = now
        self._state.publish(message)

    def _take(self, message: JointTrajectory) -> None:
        with self.changed:
            self.commands.append(tuple(message.points[-1].positions))
            self.changed.notify_all()

    def wait(self, condition) -> None:
        with self.changed:
            assert self.changed.wait_for(condition, LONG)

    def say(self, stopped: bool) -> None:
        """Have the watchdog say it, until the guard has heard it."""
        self.stopped = stopped
        wait_until(lambda: bool(self.guard.monitor.reason) is stopped, "the guard hears it")

    def command(self, shift: float = 0.1) -> JointTrajectoryCommand:
        goal = tuple(position + shift for position in self.profile.home)
        return JointTrajectoryCommand(self.profile.joint_names, goal, 0.1)


@pytest.fixture
def rig() -> Iterator[Rig]:
    with own_domain(), spun_node("others") as others, spun_node("client") as client:
        made = Rig(others, client)
        yield made
        made.guard.close()


def refused(action) -> str:
    with pytest.raises(BenchFault) as raised:
        action()
    assert raised.value.fault is Fault.ROBOT_STOPPED
    return raised.value.detail


def test_an_episode_that_was_stopped_moves_nothing_after_the_release_and_the_next_one_does(rig):
    with rig.guard.episode():
        rig.robot.command(rig.command(), rig.stamp)
        rig.wait(lambda: len(rig.commands) == 1)
        rig.guard.running(1)
        rig.say(stopped=True)
        # The monitor says so before it has told the port.
        wait_until(lambda: rig.sending_stopped, "it is told")
        assert rig.sending_stopped == 1, "a port that goes on by itself is told to end that"
        assert "a test" in refused(lambda: rig.robot.command(rig.command(), rig.stamp))
        rig.say(stopped=False)
        for action in (
            lambda: rig.robot.command(rig.command(), rig.stamp),
            lambda: rig.robot.way(None, rig.stamp),
            rig.robot.prepare,
        ):
            assert "a test" in refused(action)
    with rig.guard.episode():
        rig.robot.command(rig.command(0.2), rig.stamp)
        rig.wait(lambda: len(rig.commands) == 2)
    assert rig.commands[1] == pytest.approx(rig.command(0.2).positions)


def test_messages_that_come_while_the_guard_is_made_are_taken(monkeypatch):
    class Slow(guard.StopMonitor):
        def __init__(self, *args) -> None:
            super().__init__(*args)
            wait_until(lambda: not self.silent, "the watchdog is heard")
            time.sleep(2 * LOOK)

    monkeypatch.setattr(guard, "StopMonitor", Slow)
    with own_domain(), spun_node("others") as others, spun_node("client") as client:
        rig = Rig(others, client)
        rig.say(stopped=True)
        rig.guard.close()


def test_a_stop_between_two_episodes_is_over_when_it_is_released(rig):
    rig.say(stopped=True)
    with rig.guard.episode():
        assert "a test" in refused(rig.guard.require_free)
    rig.say(stopped=False)
    with rig.guard.episode():
        rig.guard.require_free()


def test_a_stop_while_a_score_is_waited_for_is_no_fault_of_the_scorers(rig):
    parameters = replace(rig.parameters, sensor_timeout=0.5)
    watch = RecorderWatch(rig.node, rig.profile, parameters, False)
    seen = TopicSurroundings(rig.node, rig.profile, parameters, rig.inbox, watch, lambda: None, lambda offsets: None)
    with rig.guard.episode():
        with pytest.raises(BenchFault) as raised:
            seen.progress(rig.stamp)
        assert raised.value.fault is Fault.SCORER_LOST
        rig.guard.running(1)
        rig.say(stopped=True)
        assert "a test" in refused(lambda: seen.progress(rig.stamp))


@pytest.mark.parametrize("moves", [True, False])
def test_a_rollout_that_ends_while_the_robot_moves_stops_it(rig, moves):
    with rig.guard.episode():
        rig.guard.running(1)
        rig.robot.command(rig.command(), rig.stamp)
        rig.wait(lambda: len(rig.commands) == 1)
        if moves:
            rig.guard.close()
            rig.wait(lambda: len(rig.commands) == 2)
            assert rig.commands[1] == pytest.approx(rig.profile.home), "it stays where its state had it"
    rig.guard.close()
    rig.robot.command(rig.command(), rig.stamp)
    # Messages of one publisher come in their order: nothing else came before this one.
    rig.wait(lambda: rig.commands[-1] == pytest.approx(rig.command().positions) and len(rig.commands) == 2 + moves)
