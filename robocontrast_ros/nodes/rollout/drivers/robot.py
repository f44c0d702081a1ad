"""What the ports of real drivers have in common: they check before the first motion, and watch from then on."""

from __future__ import annotations

from rclpy.node import Node

from robocontrast_ros.domain import Fault
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.graph.parameters.rollout import PortParameters
from robocontrast_ros.nodes.rollout.drivers.faults import Kind, Trouble, absence, robot_fault
from robocontrast_ros.nodes.rollout.drivers.outside_limits import OutsideLimits
from robocontrast_ros.nodes.rollout.inbox import Inbox
from robocontrast_ros.nodes.rollout.recorder_watch import RecorderWatch
from robocontrast_ros.nodes.rollout.robot import TopicRobot
from robocontrast_ros.robots.commands import RobotCommand
from robocontrast_ros.robots.kinds import stop_command
from robocontrast_ros.robots.profile_base import RobotProfile
from robocontrast_ros.robots.state_estimation import Reading


class DriverRobot(TopicRobot):
    """A robot whose driver may refuse. Its state is a topic; its commands are published for the record.

    A derived class checks its driver in ``_check``, has it ready in ``_prepare``, sends commands in ``_send``, and
    stops in ``_halt``.

    Attributes:
        limits: what slows or holds the robot from outside.
    """

    _recovers = False
    """Whether ``_prepare`` can bring a robot that is held back to motion."""

    def __init__(
        self, node: Node, profile: RobotProfile, parameters: PortParameters, inbox: Inbox, recorder: RecorderWatch
    ) -> None:
        """Subscribe to the state."""
        super().__init__(node, profile, parameters, inbox, recorder)
        self._node, self._driver = node, profile.driver
        self._timeout = profile.driver.answer_timeout
        self._trouble = Trouble()
        self._ready = self._moved = False
        self.limits = OutsideLimits(node, profile.driver.limits)
        self._connect()

    def _connect(self) -> None:
        """Make what talks to the driver, once the state is subscribed to."""

    def check(self) -> None:
        """Check the driver, and move and switch nothing.

        Raises:
            BenchFault: ROBOT_FAULT, with the cure; or it is silent.
        """
        self._trouble.clear()
        super().check()
        self._check()
        self.limits.hear(self._timeout)
        if not self._recovers:
            self.limits.require_free(self._timeout)

    def prepare(self) -> None:
        """Check the driver, and have it ready.

        Raises:
            BenchFault: ROBOT_FAULT, with the cure; or it is silent.
        """
        self._ready = self._moved = False
        self.check()
        self._prepare()
        if self._recovers:
            self.limits.require_free(self._timeout)
        self.limits.begin()
        self._ready = True

    def state(self, after: int) -> Reading:
        """Return the first reading that is later than a time [ns], unless the driver has a fault.

        Raises:
            BenchFault: ROBOT_FAULT says what is wrong with the driver, and SENSOR_LOST that it is silent.
        """
        try:
            reading = super().state(after)
        except BenchFault as fault:
            if fault.fault is Fault.ROBOT_STOPPED:
                # What the watchdog's stop ended is no fault of the driver.
                self._trouble.clear()
            else:
                self._watch()
            raise
        self._watch()
        return reading

    def command(self, command: RobotCommand, stamp: int) -> None:
        """Send a command; the driver is checked first, where that was not done since its last fault."""
        if not self._ready:
            self.prepare()
        self._watch()
        self._record(command, stamp)
        self._moved = True
        self._send(command)

    def hold(self, command: RobotCommand, stamp: int) -> None:
        """End a motion; a robot that was not moved is left alone."""
        if self._moved:
            self._record(command, stamp)
            self._halt(command)

    def stop(self) -> None:
        """Stop where the newest reading that can be true has the robot, whoever moves it."""
        reading = self._merger.newest
        try:
            command = stop_command(self._profile, reading, self._parameters.control_period) if reading else None
        except ValueError:
            command = None  # no joint of the arm is known
        self._halt(command)

    def close(self) -> None:
        """Let the driver go, in the state in which it was found."""

    def _check(self) -> None:
        """Check the driver; nothing may move or be switched by that.

        Raises:
            BenchFault: ROBOT_FAULT, with the cure.
        """
        raise NotImplementedError

    def _prepare(self) -> None:
        """Have a driver that was checked ready for the first motion.

        Raises:
            BenchFault: ROBOT_FAULT, with the cure.
        """

    def _send(self, command: RobotCommand) -> None:
        """Send a command to the driver."""
        raise NotImplementedError

    def _halt(self, command: RobotCommand | None) -> None:
        """Stop by a command, without waiting; it is None where the robot's state is not known."""
        raise NotImplementedError

    def _problem(self) -> str:
        """Return what is wrong with the driver now; empty for nothing."""
        return ""

    def _watch(self) -> None:
        problem = self._trouble.clear() or self._problem()
        if self._ready or not self._recovers:
            problem = problem or self.limits.problem()
        if problem:
            raise self._unready(problem)

    def _unready(self, problem: str) -> BenchFault:
        """Return the fault; the driver is checked again before the next motion."""
        self._ready = False
        return robot_fault(problem)

    def _record(self, command: RobotCommand, stamp: int) -> None:
        """Publish a command for the record."""
        super().command(command, stamp)

    def _explained(self, fault: BenchFault) -> BenchFault:
        """Return why no state came, where that is known."""
        if (
            self._inbox.newest(self.topic) is None
            and fault.fault is Fault.SENSOR_LOST
            and not self._node.count_publishers(self.topic)
        ):
            return self._unready(absence(self._node, self.topic, Kind.TOPIC))
        return super()._explained(fault)
