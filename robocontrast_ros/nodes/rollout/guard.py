"""The rollout's part in stopping the robot: its heartbeat, and no command while the stop is on."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence

from rclpy.node import Node

from robocontrast_ros.domain import Fault, Pose, Segment
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.episodes.ports import Images, Pacer, PendingAnswer, PolicyConnection, RobotPort
from robocontrast_ros.episodes.watch import Phase
from robocontrast_ros.graph.parameters.rollout import RolloutParameters
from robocontrast_ros.msg import Heartbeat
from robocontrast_ros.nodes.bench.stop_monitor import StopMonitor
from robocontrast_ros.nodes.conversions.domain import time_to_msg
from robocontrast_ros.nodes.rollout.inbox import Inbox
from robocontrast_ros.nodes.runtime.qos import STATE
from robocontrast_ros.policies.protocol import Observation, PolicyDescription
from robocontrast_ros.policies.serving.runner import Answer
from robocontrast_ros.robots.commands import RobotCommand
from robocontrast_ros.robots.state_estimation import Reading
from robocontrast_ros.system.scheduling import run_before_others, run_process_sooner

PROOF_TIMEOUT = 5.0
"""Time for the watchdog to command the robot to stay, before the first motion [s]."""

PROOF_PERIODS = 3.0
"""Time for that command to arrive, in control periods."""


class Guard:
    """Sends the heartbeat from a thread of its own, listens to the watchdog, and stops the robot if that is silent.

    Attributes:
        monitor: the watchdog's reports.
        commanding: held while the robot is commanded, or stopped because the watchdog is silent.
    """

    def __init__(self, node: Node, parameters: RolloutParameters, inbox: Inbox, robot: RobotPort) -> None:
        """Make the publisher and the subscription; the heartbeat begins with ``start``."""
        self._period, self._limit = parameters.control_period, parameters.heartbeat_limit
        self._robot, self._inbox, self._watchdog = robot, inbox, parameters.watchdog
        self._publisher = node.create_publisher(Heartbeat, "heartbeat", STATE)
        self._step, self._turns, self._waiting_since = 0, 0, 0
        self._sequence, self._abandoned, self._last = 0, False, time.monotonic()
        self._refused = ""
        self._ended, self._due_now, self.commanding = False, threading.Event(), threading.Lock()
        self._phase = Phase.IDLE
        # Messages may come from here on, in another thread.
        self.monitor = StopMonitor(node, parameters.watchdog, self._phase.silence(self._limit), self._changed)
        inbox.refusal = lambda: (self._refused or self.monitor.reason) if self._phase.moves else ""
        inbox.needed = lambda: self._phase.moves
        self._thread = threading.Thread(target=self._beat_on, name="heartbeat", daemon=True)

    def start(self, timeout: float) -> None:
        """Begin the heartbeat, and wait up to a time [s] for the watchdog.

        Raises:
            BenchFault: the watchdog does not come up.
        """
        # The heartbeat needs the interpreter, which another thread of this process may hold.
        run_process_sooner()
        self._thread.start()
        if not self.monitor.wait(timeout):
            raise BenchFault(Fault.ROBOT_STOPPED, f"'{self._watchdog}' is not there after {timeout:g} s")

    def close(self) -> None:
        """End the heartbeat in order, so that the watchdog does not stop the robot; stop a robot that still moves."""
        if self._phase.moves:
            self._stop()
        self._ended = True
        self._due_now.set()
        if self._thread.is_alive():
            self._thread.join(timeout=1.0)

    @contextlib.contextmanager
    def episode(self) -> Iterator[None]:
        """Begin an episode, which ends with this context. A stopped episode stays stopped, also after a release."""
        self._step, self._abandoned, self._refused, self._waiting_since = 0, False, "", 0
        self._enter(Phase.BEGINNING)
        # The watchdog's last message may be older than is allowed while the robot moves.
        self.monitor.doubt()
        try:
            yield
        finally:
            self._waiting_since = 0
            self._enter(Phase.IDLE)

    def prove(self) -> None:
        """Before the first motion, have the watchdog command the robot to stay, which proves its way to the driver.

        Raises:
            BenchFault: the watchdog does not prove it in time.
        """
        if self.monitor.wait_proven(0.0):
            return
        before = self._phase
        self._enter(Phase.PROVING)
        try:
            if not self.monitor.wait_proven(PROOF_TIMEOUT):
                words = f"'{self._watchdog}' did not show within {PROOF_TIMEOUT:g} s that it can stop the robot"
                raise BenchFault(Fault.ROBOT_STOPPED, words)
            # The stop must arrive before any motion is commanded, because it would end the motion.
            time.sleep(PROOF_PERIODS * self._period)
        finally:
            self._enter(before)

    def running(self, step: int) -> None:
        """Record that the control loop runs, and the number of its steps."""
        self._step = step
        if self._phase is not Phase.RUNNING:
            self._enter(Phase.RUNNING)

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Record the beginning and the end of an action of the loop."""
        self._turns += 1
        try:
            yield
        finally:
            self._turns += 1

    def asked(self) -> None:
        """Record that the policy was asked."""
        self._waiting_since = time.time_ns()

    def answered(self) -> None:
        """Record that the policy's answer was taken."""
        self._waiting_since = 0

    def refusal(self) -> str:
        """Return why the robot must not be moved; empty if it may. After a standstill, wait for the watchdog."""
        if time.monotonic() - self._last > self.monitor.limit:
            self.monitor.doubt()
        reason = self._refused or self.monitor.confirmed()
        if reason and self._phase.moves:
            self._refused = reason
        return reason

    def require_free(self) -> None:
        """Refuse to move the robot if it is stopped, or the watchdog is silent.

        Raises:
            BenchFault: one of these is true.
        """
        if reason := self.refusal():
            raise BenchFault(Fault.ROBOT_STOPPED, reason)

    def _enter(self, phase: Phase) -> None:
        """Enter another phase, and send it at once."""
        self._phase = phase
        self.monitor.limit = phase.silence(self._limit)
        self._due_now.set()

    def _beat_on(self) -> None:
        run_before_others()
        due = self._last = time.monotonic()
        while True:
            if self._due_now.wait(max(due - time.monotonic(), 0.0)):
                self._due_now.clear()
                due = time.monotonic()
            if self._ended:
                break
            now = time.monotonic()
            if now - self._last > self.monitor.limit:
                # This process was suspended for so long that the watchdog may have stopped the robot.
                self.monitor.doubt()
            self._publish(self._phase)
            self._last, due = now, max(due + self._period / self._phase.beats, now)
            if self._phase.moves and not self._abandoned and self.monitor.silent:
                self._abandoned = True
                self._inbox.wake()
                with self.commanding:
                    self._stop()
        self._publish(Phase.ENDED)

    def _changed(self, reason: str) -> None:
        """React to the beginning of a stop, for a reason, or to its end."""
        if reason:
            if self._phase.moves:
                self._refused = reason
            self._robot.stop_sending()
        self._inbox.wake()

    def _stop(self) -> None:
        """Stop the robot, if its driver answers."""
        with contextlib.suppress(BenchFault):
            self._robot.stop()

    def _publish(self, phase: Phase) -> None:
        since = self._waiting_since
        self._publisher.publish(
            Heartbeat(
                stamp=time_to_msg(time.time_ns()),
                sequence=self._sequence,
                phase=int(phase),
                step=self._step,
                turns=self._turns,
                waiting_since=time_to_msg(since),
            )
        )
        self._sequence += 1


class GuardedRobot:
    """A ``RobotPort`` that commands nothing while the robot is stopped."""

    def __init__(self, robot: RobotPort, guard: Guard) -> None:
        """Take the driver's port."""
        self._robot, self._guard = robot, guard
        self.homes = robot.homes

    def prepare(self) -> None:
        """Make the driver ready, if the robot may be moved."""
        self._guard.require_free()
        with self._guard.turn():
            self._robot.prepare()

    def state(self, after: int) -> Reading:
        """Return the first reading later than a time [ns]."""
        with self._guard.turn():
            return self._robot.state(after)

    def command(self, command: RobotCommand, stamp: int) -> None:
        """Send a command, if the robot may be moved."""
        # A command that was allowed before the stop must not be sent after it.
        with self._guard.turn(), self._guard.commanding:
            self._guard.require_free()
            self._robot.command(command, stamp)

    def hold(self, command: RobotCommand, stamp: int) -> None:
        """End a motion; if the robot is stopped, the watchdog has done so; if that is silent, stop the robot."""
        with self._guard.commanding:
            if not self._guard.refusal():
                self._robot.hold(command, stamp)
                return
        self.stop()

    def way(self, start: Pose | None, after: int) -> Sequence[RobotCommand]:
        """Return the commands to the start of an episode, or to rest, if the robot may be moved."""
        self._guard.require_free()
        with self._guard.turn():
            return self._robot.way(start, after)

    def stop(self) -> None:
        """Stop the robot, unless the watchdog does it."""
        if not self._guard.refusal() or self._guard.monitor.silent:
            self._robot.stop()


class WatchedPacer:
    """A ``Pacer`` whose steps the heartbeat counts."""

    def __init__(self, pacer: Pacer, guard: Guard) -> None:
        """Take the pacer."""
        self._pacer, self._guard = pacer, guard
        self.begin: Callable[[], None] = pacer.begin
        self.answered: Callable[[PendingAnswer, bool], bool] = pacer.answered

    @property
    def errors(self) -> Sequence[float]:
        """Excess of each control period over its wanted length [s]."""
        return self._pacer.errors

    def step(self) -> None:
        """Let one control period pass."""
        with self._guard.turn():
            self._pacer.step()


class WatchedPolicy:
    """A ``PolicyConnection``; the heartbeat reports the time since which its answer is waited for."""

    def __init__(self, policy: PolicyConnection, guard: Guard) -> None:
        """Take the connection."""
        self._policy, self._guard = policy, guard
        self.shown, self.packed = policy.shown, policy.packed

    @property
    def description(self) -> PolicyDescription:
        """The inputs and actions of the serving policy."""
        return self._policy.description

    def reset(self, instruction: str, seed: int, segments: tuple[Segment, ...] = ()) -> None:
        """Begin a trial."""
        self._policy.reset(instruction, seed, segments)

    def request_actions(self, observation: Observation, images: Images) -> PendingAnswer:
        """Request actions, without waiting for them."""
        with self._guard.turn():
            pending = self._policy.request_actions(observation, images)
        self._guard.asked()
        return _WatchedAnswer(pending, self._guard)


class _WatchedAnswer:
    def __init__(self, answer: PendingAnswer, guard: Guard) -> None:
        self._answer, self._guard = answer, guard

    def arrived(self, timeout: float) -> bool:
        return self._answer.arrived(timeout)

    def result(self) -> Answer:
        try:
            return self._answer.result()
        finally:
            self._guard.answered()
