"""The clock of a simulator of others, and the wait until steps that were answered have been made.

Some servers answer a request for steps before they made them (Gazebo), and some publish the clock at every other step.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from rclpy.node import Node
from rosgraph_msgs.msg import Clock

from robocontrast_ros.domain import Fault, nanoseconds, seconds
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.messages.decoding import stamp_from_msg
from robocontrast_ros.nodes.runtime.channel import becomes_true
from robocontrast_ros.nodes.runtime.offered import subscribe_as_offered
from robocontrast_ros.nodes.runtime.stream import WAITING

SLACK = 0.1
"""Share of the time of steps by which the clock may be behind, since some servers do not publish each step."""
QUIET = 0.05
"""Silence after which no message of the same steps comes any more [s]."""


class SimulatedClock:
    """Hears a clock; its waits block, and another thread receives the messages.

    Attributes:
        now: time of the newest message [ns]; 0 before the first.
    """

    def __init__(self, node: Node, topic: str, physics_step: float, timeout: float) -> None:
        """Subscribe.

        Args:
            node: the node of the subscription.
            topic: the clock.
            physics_step: time of one step [s].
            timeout: limit of the wait for steps [s].
        """
        self.now = 0
        self._step, self._timeout, self._topic = nanoseconds(physics_step), timeout, topic
        self._heard = 0.0
        subscribe_as_offered(node, Clock, topic, self._hear, WAITING)

    def stepped(self, steps: int, act: Callable[[], None]) -> None:
        """Have steps made, and wait until the clock shows them.

        Args:
            steps: their number.
            act: requests them.

        Raises:
            BenchFault: SIMULATOR_LOST; the clock stands still, or another number of steps was made.
        """
        begun = self.now
        act()
        wanted = steps * self._step
        slack = max(round(SLACK * wanted), 5 * self._step // 2)

        def made() -> bool:
            passed = self.now - begun
            return passed >= wanted - self._step // 2 or (passed >= wanted - slack and self._quiet())

        if not (becomes_true(lambda: self._heard > 0.0 and made(), self._timeout)):
            raise self._other(steps, self.now - begun)
        if begun and self.now - begun > wanted + slack:
            raise self._other(steps, self.now - begun)

    def _quiet(self) -> bool:
        return time.monotonic() - self._heard > QUIET

    def _other(self, steps: int, passed: int) -> BenchFault:
        words = f"it went on by {seconds(passed):g} s" if self._heard else "nothing came"
        return BenchFault(
            Fault.SIMULATOR_LOST,
            f"{steps} steps of {1000 * seconds(self._step):g} ms were asked for; on '{self._topic}' {words} within "
            f"{self._timeout:g} s",
        )

    def _hear(self, message: Clock) -> None:
        self.now, self._heard = stamp_from_msg(message.clock), time.monotonic()
