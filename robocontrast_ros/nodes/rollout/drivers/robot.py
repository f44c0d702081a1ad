"""Common parts of the ports of real drivers: they check the driver before the first motion, and watch it afterwards."""

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

    A derived class checks its driver in ``_check``, makes it ready in ``_prepare``, sends commands in ``_send``, and
    stops in ``_halt``.

    Attributes:
        limits: the limits that slow or hold the robot from outside.
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
        """Make publishers and clients for the driver, after the subscription to the state."""

    def check(self) -> None:
        """Check the driver, without any motion or switch.

        Raises:
            BenchFault: ROBOT_FAULT, with the cure; or the driver is silent.
        """
        self._trouble.clear()
        super().check()
        self._check()
        self.limits.hear(self._timeout)
        if not self._recovers:
            self.limits.require_free(self._timeout)

    def prepare(self) -> None:
        """Check the driver, and make it ready.

        Raises:
            BenchFault: ROBOT_FAULT, with the cure; or the driver is silent.
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
            BenchFault: ROBOT_FAULT for a problem of the driver, SENSOR_LOST for its silence.
        """
        try:
            reading = super().state(after)
        except BenchFault as fault:
            if fault.fault is Fault.ROBOT_STOPPED:
                # Goals that the watchdog's stop ended are no fault of the driver.
                self._trouble.clear()
            else:
                self._watch()
            raise
        self._watch()
        return reading

    def command(self, command: RobotCommand, stamp: int) -> None:
        """Send a command; the driver is checked first, unless that was done since its last fault."""
        if not self._ready:
            self.prepare()
        self._watch()
        self._record(command, stamp)
        self._moved = True
        self._send(command)

    def hold(self, command: RobotCommand, stamp: int) -> None:
        """End a motion; do nothing to a robot that was not moved."""
        if self._moved:
            self._record(command, stamp)
            self._halt(command)

    def stop(self) -> None:
        """Stop the robot at the place of its newest possible reading, whoever moves it."""
        reading = self._merger.newest
        try:
            command = stop_command(self._profile, reading, self._parameters.control_period) if reading else None
        except ValueError:
            command = None  # no joint of the arm is known
        self._halt(command)

    def close(self) -> None:
        """Release the driver, in the state in which it was found."""

    def _check(self) -> None:
        """Check the driver, without any motion or switch.

        Raises:
            BenchFault: ROBOT_FAULT, with the cure.
        """
        raise NotImplementedError

    def _prepare(self) -> None:
        """Make a checked driver ready for the first motion.

        Raises:
            BenchFault: ROBOT_FAULT, with the cure.
        """

    def _send(self, command: RobotCommand) -> None:
        """Send a command to the driver."""
        raise NotImplementedError

    def _halt(self, command: RobotCommand | None) -> None:
        """Stop by a command, without waiting; the command is None if the robot's state is not known."""
        raise NotImplementedError

    def _problem(self) -> str:
        """Return the driver's present problem; empty for none."""
        return ""

    def _watch(self) -> None:
        problem = self._trouble.clear() or self._problem()
        if self._ready or not self._recovers:
            problem = problem or self.limits.problem()
        if problem:
            raise self._unready(problem)

    def _unready(self, problem: str) -> BenchFault:
        """Return the fault of a problem; the driver is checked again before the next motion."""
        self._ready = False
        return robot_fault(problem)

    def _record(self, command: RobotCommand, stamp: int) -> None:
        """Publish a command for the record."""
        super().command(command, stamp)

    def _explained(self, fault: BenchFault) -> BenchFault:
        """Return a fault with the reason why no state came, if that is known."""
        if (
            self._inbox.newest(self.topic) is None
            and fault.fault is Fault.SENSOR_LOST
            and not self._node.count_publishers(self.topic)
        ):
            return self._unready(absence(self._node, self.topic, Kind.TOPIC))
        return super()._explained(fault)
