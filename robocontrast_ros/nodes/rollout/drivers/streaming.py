"""Joint positions or velocities as a stream, for controllers that pass on each command."""

from __future__ import annotations

import contextlib

from std_msgs.msg import Float64MultiArray

from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.nodes.rollout.drivers.arm import ArmRobot
from robocontrast_ros.nodes.rollout.drivers.controllers import ControllerParameters
from robocontrast_ros.nodes.rollout.drivers.faults import await_subscriber, require_subscriber, robot_fault
from robocontrast_ros.nodes.rollout.drivers.stream import Stream, Tick
from robocontrast_ros.nodes.runtime.qos import RECORDED
from robocontrast_ros.robots.commands import JointTrajectoryCommand, RobotCommand
from robocontrast_ros.robots.manipulator import ManipulatorProfile

GAIN = 2.0
"""Additional speed of a joint for each radian of its error [1/s]: it corrects lag, and is too small for oscillation."""

SETTLE = 0.5
"""Time for which velocities make up for lag after the end of a motion, unless the next begins [s]."""


class StreamingRobot(ArmRobot):
    """The port `streaming`, for a forward_command_controller of positions or velocities.

    Positions go straight from the last position that was sent to the target. Velocities follow the same line, with a
    correction for lag. Such a controller keeps its last command for ever, so velocities are followed by zeros.
    """

    _profile: ManipulatorProfile

    def _connect(self) -> None:
        self._settings = self._profile.driver.streaming
        self._controller = self._settings.controller
        super()._connect()
        self._commands = f"{self._controller}/commands"
        self._publisher = self._node.create_publisher(Float64MultiArray, self._commands, RECORDED)
        self._parameters_of = ControllerParameters(self._node, self._controller, self._timeout)
        self._limits = {joint.name: joint.velocity for joint in self._profile.joints}
        self._order: tuple[str, ...] = ()
        self._at: list[float] | None = None
        self._stream = Stream(self._settings.rate, self._trouble)

    def stop_sending(self) -> None:
        """Stop the repeated messages between two control steps."""
        self._stream.play(None)
        self._at = None

    def close(self) -> None:
        """End the stream, and release the driver."""
        self._stream.close()
        super().close()

    def _check_driver(self) -> None:
        await_subscriber(self._node, self._commands, self._timeout)
        self._order = self._ordered(self._parameters_of)
        (interface,) = self._parameters_of.read("interface_name")
        if interface and interface != self._settings.interface:
            raise robot_fault(
                f"the controller '{self._controller}' commands the interface '{interface}', and "
                f"`driver.streaming.interface` is '{self._settings.interface}': name the other controller, or this"
            )
        self._at = None

    def _move(self, command: JointTrajectoryCommand) -> None:
        there = dict(zip(command.names, command.positions, strict=True))
        target, duration = [there[name] for name in self._order], command.duration
        start = self._at or self._measured(self._order) or target
        follow = self._positions if self._settings.interface == "position" else self._velocities
        self._stream.play(follow(start, target, duration))

    def _positions(self, start: list[float], target: list[float], duration: float) -> Tick:
        def tick(elapsed: float) -> bool:
            self._at = _between(start, target, elapsed, duration)
            self._publish(self._at)
            return elapsed < duration

        return tick

    def _velocities(self, start: list[float], target: list[float], duration: float) -> Tick:
        def tick(elapsed: float) -> bool:
            if elapsed >= duration + SETTLE:
                self._at = None
                self._publish([0.0] * len(target))
                return False
            wanted = self._at = _between(start, target, elapsed, duration)
            ahead = [(b - a) / duration if elapsed < duration else 0.0 for a, b in zip(start, target, strict=True)]
            here = self._measured(self._order) or wanted
            speeds = [v + GAIN * (w - h) for v, w, h in zip(ahead, wanted, here, strict=True)]
            fastest = max(abs(v) / self._limits[name] for v, name in zip(speeds, self._order, strict=True))
            self._publish([v / max(fastest, 1.0) for v in speeds])
            return True

        return tick

    def _halt(self, command: RobotCommand | None) -> None:
        self._stream.play(None)
        self._at = None
        if not self._order:
            # Another process requested the stop, and the order of the joints is not known yet: the next stop knows it.
            self._parameters_of.request("joints", self._learn)
            raise robot_fault(f"the order of the joints of '{self._controller}' is not known yet")
        if self._settings.interface == "velocity":
            self._publish([0.0] * len(self._order))
        elif isinstance(command, JointTrajectoryCommand) and not self._possible.refuses:
            # While readings are refused, the controller stays at its last command: the arm may be far from the place
            # of its last possible reading.
            there = dict(zip(command.names, command.positions, strict=True))
            self._publish([there[name] for name in self._order])
        require_subscriber(self._publisher, self._commands)

    def _learn(self, joints: list[str] | None) -> None:
        if not self._order and not self._other_joints(joints):
            self._order = tuple(joints)
            with contextlib.suppress(BenchFault):  # the next stop reports it
                self.stop()

    def _publish(self, values: list[float]) -> None:
        self._publisher.publish(Float64MultiArray(data=values))


def _between(start: list[float], target: list[float], elapsed: float, duration: float) -> list[float]:
    share = min(elapsed / duration, 1.0) if duration > 0.0 else 1.0
    return [a + share * (b - a) for a, b in zip(start, target, strict=True)]
