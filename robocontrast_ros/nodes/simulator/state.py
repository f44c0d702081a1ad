"""The simulator's state: paused, playing by the wall clock, stopped, or quitting."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from simulation_interfaces.msg import SimulationState
from simulation_interfaces.srv import SetSimulationState

from robocontrast_ros.nodes.conversions.simulation import Refusal
from robocontrast_ros.worlds.mujoco.entities import ResetScope, SimulationDiverged
from robocontrast_ros.worlds.mujoco.world import World

PLAYING_PERIOD = 0.01
"""How often the world catches up with the wall clock while it is playing [s]."""

LONGEST_CATCH_UP = 0.1
"""How much it catches up at once, when the machine is too slow for real time [s]."""

STATES = (
    SimulationState.STATE_STOPPED,
    SimulationState.STATE_PLAYING,
    SimulationState.STATE_PAUSED,
    SimulationState.STATE_QUITTING,
)
"""What can be asked for."""


class PlayControl:
    """Lets the world play; it begins PAUSED."""

    def __init__(self, node: Node, world: World, played: Callable[[], None]) -> None:
        """Take the node, whose ``exit_code`` ends its process, the world, and what is called after it has moved."""
        self._node, self._world, self._played = node, world, played
        self._state = SimulationState.STATE_PAUSED
        wall = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = node.create_timer(PLAYING_PERIOD, self._play, clock=wall)
        self._timer.cancel()

    @property
    def paused(self) -> bool:
        """Whether only requests move the world."""
        return self._state == SimulationState.STATE_PAUSED

    def get(self, _: Any, response: Any) -> None:
        """Answer GetSimulationState."""
        response.state.state = self._state

    def set(self, request: Any, _: Any) -> None:
        """Answer SetSimulationState; raise Refusal where it is in that state already, or cannot be."""
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
        if state == SimulationState.STATE_PLAYING:
            self._played_until = time.monotonic()
            self._timer.reset()
        elif state == SimulationState.STATE_QUITTING:
            # The process ends when this callback has answered.
            self._node.exit_code = 0

    def _play(self) -> None:
        now, duration = time.monotonic(), self._world.step_duration
        behind = min(now - self._played_until, LONGEST_CATCH_UP)
        steps = int(behind / duration)
        self._played_until = now - (behind - steps * duration)
        try:
            self._world.step(steps)
        except SimulationDiverged as error:
            self._node.get_logger().error(str(error))
            self._enter(SimulationState.STATE_PAUSED)
        self._played()
