"""The robot, by its driver's topics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rclpy.node import Node

from robocontrast_ros.domain import Fault, Pose, nanoseconds
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.graph.parameters.rollout import PortParameters
from robocontrast_ros.nodes.conversions.domain import message_class
from robocontrast_ros.nodes.conversions.driver import command_to_msgs, reading_from_msg
from robocontrast_ros.nodes.rollout.inbox import Inbox
from robocontrast_ros.nodes.rollout.publishers import Publishers
from robocontrast_ros.nodes.rollout.recorder_watch import RecorderWatch
from robocontrast_ros.nodes.runtime.intra_process import HandingPublisher
from robocontrast_ros.nodes.runtime.qos import RECORDED
from robocontrast_ros.robots.commands import RobotCommand
from robocontrast_ros.robots.kinds import kind_of, stop_command
from robocontrast_ros.robots.kinematics import Unreachable
from robocontrast_ros.robots.profile_base import RobotProfile
from robocontrast_ros.robots.readings import JointMerger, ReadingCheck
from robocontrast_ros.robots.state_estimation import Reading


class TopicRobot:
    """The ``episodes.ports.DriverPort`` of a driver with a topic for its state and one for commands.

    Attributes:
        stop_answered: whether the driver has answered a ``stop``; always True for a driver that never answers.
    """

    stop_answered = True

    def __init__(
        self, node: Node, profile: RobotProfile, parameters: PortParameters, inbox: Inbox, recorder: RecorderWatch
    ) -> None:
        """Make the publisher and the subscription."""
        self._profile, self._parameters, self._inbox, self._recorder = profile, parameters, inbox, recorder
        self._publishers = {
            topic: HandingPublisher(node, message_class(kind), topic, RECORDED)
            for topic, kind in profile.command_topics
        }
        self.topic = profile.state.topic
        axes = kind_of(profile).axes(profile)
        self._publishers_of_state = Publishers(node, self.topic)
        self._check_of_readings, self._impossible = ReadingCheck(axes), ""
        # In lockstep all messages of a state have one time, whichever comes first.
        apart = 0.5 * parameters.control_period if inbox.lockstep else profile.state.staleness
        self._merger_of_readings = JointMerger(axes, apart)
        self._way = kind_of(profile).way
        self.homes = self._way is not None and not parameters.world_resets_robot
        inbox.subscribe(message_class(profile.state.type), self.topic, self._take)

    def prepare(self) -> None:
        """Check that only one node publishes the robot's state; a driver with two topics allows no more checks.

        Raises:
            BenchFault: ROBOT_FAULT; two nodes publish it.
        """
        self._check_publishers()
        self._impossible = ""

    def stop_sending(self) -> None:
        """Send no more without a new command; this port sends nothing by itself."""

    def check(self) -> None:
        """Check that the robot's state comes, from one source, and that its clock is right.

        Raises:
            BenchFault: one of these is not true.
        """
        self._check_publishers()
        self._impossible = ""
        # A driver that has died since also has a newest state.
        reading = self._inbox.newest(self.topic)
        self.state(reading.stamp if reading is not None else 0)

    def state(self, after: int) -> Reading:
        """Return the first reading that is later than a time [ns] by at least half a control period.

        Raises:
            BenchFault: SENSOR_LOST; or ROBOT_FAULT if the clock of the stamps is wrong, a reading since the last call
                is impossible, or two nodes publish the state.
        """
        due, limit = after + nanoseconds(0.5 * self._parameters.control_period), self._parameters.sensor_timeout
        try:
            found = self._inbox.wait((self.topic,), due, limit, self._staleness, lambda: self._impossible)
        except BenchFault as fault:
            raise self._explained(fault) from None
        if problem := self._clock_problem() or self._publishers_of_state.look(self._merger.groups):
            raise self._unready(problem)
        return found[self.topic]

    @property
    def _merger(self) -> JointMerger:
        """The messages of the state so far, merged."""
        self._inbox.read(self.topic)
        return self._merger_of_readings

    @property
    def _possible(self) -> ReadingCheck:
        """The check of the messages of the state so far."""
        self._inbox.read(self.topic)
        return self._check_of_readings

    def _take(self, message: Any) -> tuple[int, Reading] | None:
        """Return the reading of all joints, once a message completes it; keep the reason if it is impossible."""
        try:
            reading = reading_from_msg(message)
            if self._inbox.lockstep or self._parameters.world_resets_robot:
                # A set-up makes the robot jump, in messages that may arrive late: an episode checks what it uses.
                self._check_of_readings.begin()
            self._check_of_readings.check(reading)
        except ValueError as error:
            self._impossible = self._impossible or f"{self.topic}: {error}"
            return None
        merged = self._merger_of_readings.merge(reading)
        return (merged.stamp, merged) if merged is not None else None

    def _check_publishers(self) -> None:
        """Check that not two nodes publish the robot's state.

        Raises:
            BenchFault: ROBOT_FAULT, which names the nodes.
        """
        if problem := self._publishers_of_state.rivals(lambda: self._merger.groups):
            raise self._unready(problem)

    def _explained(self, fault: BenchFault) -> BenchFault:
        """Return a fault with the reason why no state came, if that is known."""
        if fault.fault is Fault.ROBOT_FAULT:
            self._impossible = ""
            rivals = self._publishers_of_state.look(self._merger.groups, 0.0)
            return self._unready("; ".join(filter(None, (fault.detail, rivals))))
        if fault.fault is not Fault.SENSOR_LOST:
            return fault
        if problem := self._merger.problem:
            return self._unready(f"{self.topic} {problem}")
        if problem := self._clock_problem():
            return self._unready(problem)
        if (delay := self._inbox.delay(self.topic)) > self._staleness:
            words = f"its newest message is {delay:.3f} s older than they usually are, more than `state.staleness`"
            return BenchFault(fault.fault, f"{fault.detail}; {words} ({self._staleness:g} s)")
        return fault

    @property
    def _staleness(self) -> float:
        """Greatest age of the state beyond its least delay [s]; infinite for simulated time, which may pause."""
        in_real_time = self._inbox.in_real_time(self.topic, self._profile.driver)
        return self._profile.state.staleness if in_real_time else math.inf

    def _clock_problem(self) -> str:
        """Return the problem of the driver's clock; empty for none."""
        inbox, driver = self._inbox, self._profile.driver
        return inbox.clock_set(self.topic, driver) or inbox.clock_off(self.topic, driver)

    def _unready(self, problem: str) -> BenchFault:
        """Return the fault of a driver that has a problem."""
        return BenchFault(Fault.ROBOT_FAULT, problem)

    def command(self, command: RobotCommand, stamp: int) -> None:
        """Publish a command, stamped with the observation that it answers."""
        for topic, message in command_to_msgs(self._profile, command, stamp):
            self._publishers[topic].publish(message)
            self._recorder.command(topic)

    hold = command

    def way(self, start: Pose | None, after: int) -> Sequence[RobotCommand]:
        """Return the commands that bring the robot to its start, or to its posture of rest."""
        reading = self.state(after)
        try:
            return self._way(self._profile, reading, start, self._parameters.clear_height)
        except Unreachable as error:
            raise BenchFault(Fault.ROBOT_NOT_READY, str(error)) from None
        except ValueError as error:
            raise BenchFault(Fault.SENSOR_LOST, str(error)) from None

    def stop(self) -> None:
        """Have the robot stay at the place of its newest possible reading.

        Raises:
            BenchFault: ROBOT_FAULT; no node takes commands, or there is no reading.
        """
        reading = self._merger.newest
        if reading is None:
            raise BenchFault(Fault.ROBOT_FAULT, f"nothing was received on {self.topic} yet")
        for topic, publisher in self._publishers.items():
            if not publisher.subscribers():
                raise BenchFault(Fault.ROBOT_FAULT, f"nobody takes commands on {topic}")
        try:
            stop = stop_command(self._profile, reading, self._parameters.control_period)
        except ValueError as error:
            raise BenchFault(Fault.ROBOT_FAULT, str(error)) from None
        self.command(stop, reading.stamp)
