"""The simulator's state: paused, playing by the wall clock, stopped, or quitting."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from simulation_interfaces.msg import SimulationState
from simulation_interfaces.srv import SetSimulationState

from robocontrast_ros.domain import nanoseconds, seconds
from robocontrast_ros.nodes.conversions.simulation import Refusal
from robocontrast_ros.worlds.mujoco.entities import ResetScope, SimulationDiverged
from robocontrast_ros.worlds.timing import TimeOfDay

if TYPE_CHECKING:
    from robocontrast_ros.worlds.engines.world import EngineWorld
    from robocontrast_ros.worlds.mujoco.world import World

PLAYING_PERIOD = 0.01
"""Longest period at which the world catches up with the wall clock while it is playing [s]."""

LONGEST_CATCH_UP = nanoseconds(0.1)
"""Greatest time that it catches up at once, if the machine is too slow for real time [ns]."""

STATES = (
    SimulationState.STATE_STOPPED,
    SimulationState.STATE_PLAYING,
    SimulationState.STATE_PAUSED,
    SimulationState.STATE_QUITTING,
)
"""States that can be requested."""


class PlayControl:
    """Lets the world play; it begins PAUSED, or in real time PLAYING.

    Attributes:
        played: simulated time that has passed while it was playing [s].
        lost: time by which it fell behind the wall clock for good, because the machine was too slow [s].
    """

    def __init__(
        self,
        node: Node,
        world: World | EngineWorld,
        publish: Callable[[], None],
        publish_period: float,
        real_time: bool,
        alone: AbstractContextManager[object] | None = None,
        take_commands: Callable[[], None] = lambda: None,
    ) -> None:
        """Take the world and its node.

        Args:
            node: its ``exit_code`` ends its process.
            world: the world that plays.
            publish: called after each period in which the world has moved; in real time also while it is paused, as a
                robot's driver goes on.
            publish_period: that period, in simulated time [s].
            real_time: whether the world plays from the start.
            alone: entered while this class moves the world by itself, if other threads may use the world.
            take_commands: applies the commands that have arrived; called before each period in which the world moves.
                Between two calls of the timer an executor delivers only one message of a topic: on a machine that is
                too slow for real time the robot would follow commands that are ever older, and swing.
        """
        self._node, self._world, self._publish, self._real_time = node, world, publish, real_time
        self._alone, self._take_commands = alone or nullcontext(), take_commands
        self._steps = max(round(publish_period / world.step_duration), 1)
        self._time_of_day = TimeOfDay()
        self.played = self.lost = 0.0
        wall = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = node.create_timer(min(PLAYING_PERIOD, publish_period), self._pass, clock=wall)
        self._enter(SimulationState.STATE_PLAYING if real_time else SimulationState.STATE_PAUSED)

    @property
    def paused(self) -> bool:
        """Whether only requests move the world."""
        return self._state == SimulationState.STATE_PAUSED

    @property
    def now(self) -> int:
        """The time of day that the world has reached [ns]; it never goes back."""
        playing = self._state == SimulationState.STATE_PLAYING
        return self._time_of_day.at(self._reached if playing else time.monotonic_ns())

    def get(self, _: Any, response: Any) -> None:
        """Answer GetSimulationState."""
        response.state.state = self._state

    def set(self, request: Any, _: Any) -> None:
        """Answer SetSimulationState; raise Refusal if the world is already in that state, or cannot enter it."""
        state, answers = request.state.state, SetSimulationState.Response
        if state == self._state:
            raise Refusal(answers.ALREADY_IN_TARGET_STATE, f"the simulation is in state {state} already")
        if state not in STATES:
            raise Refusal(answers.INCORRECT_TRANSITION, f"state {state} cannot be asked for")
        if state == SimulationState.STATE_STOPPED:
            self._world.reset(ResetScope.ALL)
        self._enter(state)

    def _enter(self, state: int) -> None:
        self._state = state
        self._timer.cancel()
        self._reached = time.monotonic_ns()
        if state == SimulationState.STATE_PLAYING or (self._real_time and self.paused):
            self._timer.reset()
        elif state == SimulationState.STATE_QUITTING:
            # The process ends when this callback has answered.
            self._node.exit_code = 0

    def _pass(self) -> None:
        with self._alone:
            if self.paused:
                self._publish()
                return
            self._catch_up()

    def _catch_up(self) -> None:
        period, behind = self._steps * nanoseconds(self._world.step_duration), time.monotonic_ns() - self._reached
        late = max(behind - LONGEST_CATCH_UP, 0)
        self._reached += late
        self.lost += seconds(late)
        if late:
            log, share = self._node.get_logger(), self.played / (self.played + self.lost)
            text = f"this machine is too slow for real time: the world goes at {share:.2f} of the wall clock's speed"
            log.warning(text, throttle_duration_sec=10.0)
        for _ in range((behind - late) // period):
            self._take_commands()
            try:
                self._world.step(self._steps)
            except SimulationDiverged as error:
                self._node.get_logger().error(str(error))
                self._enter(SimulationState.STATE_PAUSED)
                return
            self._reached += period
            self.played += seconds(period)
            self._publish()
