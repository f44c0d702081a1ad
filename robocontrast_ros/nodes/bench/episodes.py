"""The rollout as the bench asks it: one episode at a time, cancelled when the session is aborted."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any

from rclpy.action import ActionClient

from robocontrast_ros.action import RunEpisode
from robocontrast_ros.domain import Fault
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.nodes.bench.parameters import BenchParameters
from robocontrast_ros.nodes.runtime.channel import Channel, fault_without_answer

ABORT_TIMEOUT = 5.0
"""Longest silence of an episode that was cancelled [s]."""


class EpisodeClient:
    """Runs episodes by RunEpisode."""

    def __init__(
        self,
        channel: Channel,
        parameters: BenchParameters,
        aborted: Callable[[], bool],
        stopped: Callable[[], str] = lambda: "",
    ) -> None:
        """Make the client; ``stopped`` says why the robot is stopped, the other arguments are those of ``RosBench``."""
        self._channel, self._rollout = channel, parameters.rollout
        self._timeout, self._silence_timeout = parameters.answer_timeout, parameters.silence_timeout
        self._aborted, self._stopped = aborted, stopped
        self._action = ActionClient(channel.node, RunEpisode, f"{parameters.rollout}/run_episode")
        self._last_heard = 0.0
        self.wait_for_server = self._action.wait_for_server

    def run(self, goal: RunEpisode.Goal) -> RunEpisode.Result:
        """Return the result of an episode.

        Raises:
            BenchFault: the rollout refuses it, or is silent.
        """
        self._hear()
        # rclpy 9.1 registers a goal a second time after it has sent it; an answer that another thread takes in between
        # is lost. On the thread that takes the answers there is no between.
        with fault_without_answer(Fault.SENSOR_LOST):
            sent = self._channel.do(lambda: self._action.send_goal_async(goal, self._hear), self._timeout)
        handle = self._wait(sent)
        if not handle.accepted:
            raise BenchFault(Fault.SENSOR_LOST, f"'{self._rollout}' refused the episode")
        return self._wait(handle.get_result_async(), handle.cancel_goal_async).result

    def _wait(self, future: Any, cancel: Callable[[], Any] | None = None) -> Any:
        answer: Future[Any] = Future()
        future.add_done_callback(lambda done: answer.set_result(done.result()))
        was_stopped = False
        while True:
            try:
                return answer.result(0.1)
            except FutureTimeout:
                aborted, stopped = self._aborted(), self._stopped()
                if aborted and cancel is not None:
                    cancel()
                    cancel = None
                    self._hear()
                if stopped and not was_stopped:
                    # It ends the episode by itself, unless it hangs.
                    was_stopped = True
                    self._hear()
                limit = ABORT_TIMEOUT if aborted or stopped else self._silence_timeout
                if time.monotonic() - self._last_heard > limit:
                    if stopped and not aborted:
                        raise BenchFault(Fault.ROBOT_STOPPED, stopped) from None
                    fault = Fault.ABORTED if aborted else Fault.SENSOR_LOST
                    raise BenchFault(fault, f"'{self._rollout}' was silent for {limit:g} s") from None

    def _hear(self, _: Any = None) -> None:
        self._last_heard = time.monotonic()
