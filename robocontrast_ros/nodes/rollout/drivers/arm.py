"""Common parts of the ports of arms: joints by name, controllers, the maker's own modes, and the hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from action_msgs.msg import GoalStatus
from geometry_msgs.msg import WrenchStamped
from std_msgs.msg import Float64MultiArray

from robocontrast_ros.domain import Fault, nanoseconds
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.nodes.conversions.driver import command_to_msgs
from robocontrast_ros.nodes.rollout.drivers.controllers import ControllerParameters, Controllers
from robocontrast_ros.nodes.rollout.drivers.faults import Kind, absence, interface, robot_fault
from robocontrast_ros.nodes.rollout.drivers.goals import Goals
from robocontrast_ros.nodes.rollout.drivers.hands import awaited, make_hand
from robocontrast_ros.nodes.rollout.drivers.robot import DriverRobot
from robocontrast_ros.nodes.rollout.drivers.universal_robots import UniversalRobotsState
from robocontrast_ros.nodes.runtime.qos import RECORDED
from robocontrast_ros.robots.commands import GripperCommand, JointTrajectoryCommand, RobotCommand
from robocontrast_ros.robots.manipulator import ManipulatorProfile
from robocontrast_ros.robots.state_estimation import JointReading, Reading

RECOVERY_TIMEOUT = 15.0
"""Time limit of a Franka's recovery from an error [s]."""


class ArmRobot(DriverRobot):
    """An arm. A derived class sets its ``_controller`` (empty for none) and moves the joints in ``_move``."""

    _controller = ""

    _profile: ManipulatorProfile

    def _connect(self) -> None:
        super()._connect()
        driver = self._profile.driver
        manager = driver.controller_manager
        self._controllers = Controllers(self._node, manager, self._timeout) if manager and self._controller else None
        self._modes = UniversalRobotsState(self._node, driver.universal_robots) if driver.universal_robots else None
        self._hand = make_hand(self._node, self._profile, self._trouble)
        self._gripper = None
        if self._profile.gripper_command is not None and self._hand is None:
            self._gripper = self._node.create_publisher(
                Float64MultiArray, self._profile.gripper_command.topic, RECORDED
            )
        if driver.wrench:
            self._inbox.subscribe(WrenchStamped, driver.wrench)
        self._recovery = None
        if driver.franka is not None and driver.franka.recover:
            kind = interface("franka_msgs/action/ErrorRecovery")
            self._recovery = Goals(self._node, kind, driver.franka.error_recovery), kind
            self._recovers = True

    def state(self, after: int) -> Reading:
        """Return the first reading later than a time [ns], with the force at the tool if the driver reports it."""
        reading = super().state(after)
        if self._driver.wrench and isinstance(reading, JointReading):
            return replace(reading, force=self._force(reading.stamp))
        return reading

    @property
    def stop_answered(self) -> bool:
        """Whether the hand has answered a stop, if there is a hand with actions."""
        return self._hand is None or self._hand.stop_answered

    def stop(self) -> None:
        """Stop the arm at its present place, and a moving hand; the hand does not let go of an object."""
        try:
            super().stop()
        finally:
            if self._hand is not None:
                self._hand.stop()

    def close(self) -> None:
        """Activate the deactivated controllers again, if the robot's file wants it."""
        if self._controllers is not None and self._driver.restore_controllers:
            self._controllers.restore()

    def _check(self) -> None:
        if self._profile.safety.force.limit is not None and not self._driver.wrench:
            raise robot_fault(
                "the robot's file limits the force (`safety.force.limit`), but nothing says what it is: name the "
                "driver's topic of geometry_msgs/WrenchStamped as `driver.wrench`"
            )
        if self._modes is not None:
            self._modes.check(self._timeout)
        if self._controllers is not None:
            self._controllers.check(self._controller)
        self._check_driver()
        if self._hand is not None:
            self._hand.check(self._timeout)

    def _prepare(self) -> None:
        if self._controllers is not None:
            self._recover()
            self._activate()
        self._start_driver()
        if self._hand is not None:
            self._hand.home()
            self._hand.forget()

    def _force(self, stamp: int) -> float:
        """Return the size [N] of the force at the tool at about a time [ns]."""
        topic, staleness = self._driver.wrench, self._driver.wrench_staleness
        try:
            message = self._inbox.wait((topic,), stamp - nanoseconds(staleness), self._parameters.sensor_timeout)[topic]
        except BenchFault as fault:
            if fault.fault is not Fault.SENSOR_LOST or self._node.count_publishers(topic):
                raise
            raise self._unready(absence(self._node, topic, Kind.TOPIC)) from None
        if (ahead := self._inbox.ahead_of(topic, self.topic, self._driver)) > staleness:
            raise self._unready(
                f"the stamps of {topic} are {ahead:.3f} s ahead of those of {self.topic}, more than "
                f"`driver.wrench_staleness` ({staleness:g} s): let one clock stamp both"
            )
        force = message.wrench.force
        return math.hypot(force.x, force.y, force.z)

    def _check_driver(self) -> None:
        """Check the part of the driver that moves the joints."""

    def _start_driver(self) -> None:
        """Start the part of the driver that moves the joints."""

    def _problem(self) -> str:
        if self._hand is not None and (since := self._hand.unanswered()) > self._timeout:
            return f"the hand has neither accepted nor rejected a goal for {since:.1f} s: restart its driver"
        return self._modes.problem() if self._modes is not None else ""

    def _send(self, command: RobotCommand) -> None:
        if isinstance(command, JointTrajectoryCommand):
            self._move(command)
        position = command.position if isinstance(command, GripperCommand) else command.gripper
        if position is None:
            return
        if self._hand is not None:
            self._hand.command(position)
        elif self._gripper is not None:
            *_, (_, message) = command_to_msgs(self._profile, command, 0)
            self._gripper.publish(message)

    def _move(self, command: JointTrajectoryCommand) -> None:
        """Send a command to the arm, without the hand."""
        raise NotImplementedError

    def _activate(self) -> None:
        try:
            self._controllers.activate(self._controller)
        except BenchFault as fault:
            if self._driver.franka is None or self._recovery is not None:
                raise
            raise robot_fault(
                f"{fault.detail}. After an error of the arm call the action {self._driver.franka.error_recovery}, or "
                "have it called by `driver.franka.recover: true`"
            ) from None

    def _recover(self) -> None:
        """Recover a Franka from an error, if the robot's file wants it and the controller is not active."""
        if self._recovery is None or self._controllers.state(self._controller) == "active":
            return
        goals, kind = self._recovery
        goals.check(self._timeout)
        status, _ = awaited(goals, kind.Goal(), RECOVERY_TIMEOUT)
        if status != GoalStatus.STATUS_SUCCEEDED:
            raise robot_fault(f"'{goals.name}' did not recover the arm: look at Desk, and unlock the arm there")

    def _measured(self, names: Sequence[str]) -> tuple[float, ...] | None:
        """Return the newest positions of joints in the order of the names [rad]; None if they are not known."""
        reading = self._merger.newest
        here = dict(zip(reading.names, reading.positions, strict=True)) if reading is not None else {}
        return tuple(here[name] for name in names) if all(name in here for name in names) else None

    def _ordered(self, parameters: ControllerParameters) -> tuple[str, ...]:
        """Return the controller's joints in its order; they must be those of the robot's file, in any order.

        Raises:
            BenchFault: ROBOT_FAULT; the controller has other joints.
        """
        (joints,) = parameters.read("joints")
        if problem := self._other_joints(joints):
            raise robot_fault(problem)
        return tuple(joints)

    def _other_joints(self, joints: Sequence[str] | None) -> str:
        """Return why the joints of a controller do not fit; empty if they do."""
        wanted = self._profile.joint_names
        if sorted(joints or ()) == sorted(wanted):
            return ""
        return (
            f"the controller '{self._controller}' moves the joints {', '.join(joints or ()) or '(unknown)'}, the "
            f"robot's file has {', '.join(wanted)}: correct `joints` there, or name another controller under `driver`"
        )
