"""Requests of the bench to the rollout: one episode at a time, cancelled when the session is aborted."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any

from action_msgs.srv import CancelGoal
from rclpy.action import ActionClient

from robocontrast_ros.action import RunEpisode
from robocontrast_ros.domain import Fault
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.graph.parameters.episode_manager import BenchSettings
from robocontrast_ros.nodes.runtime.channel import Channel, fault_without_answer

ABORT_TIMEOUT = 5.0
"""Longest silence of a cancelled episode [s]."""

ASK_AGAIN = 5.0
"""Silence after which the result is requested again [s]: rollout keeps it for ten, and an answer can be lost."""


class EpisodeClient:
    """Runs episodes by RunEpisode."""

    def __init__(
        self,
        channel: Channel,
        settings: BenchSettings,
        aborted: Callable[[], bool],
        stopped: Callable[[], str] = lambda: "",
    ) -> None:
        """Make the client; ``stopped`` returns the reason of the robot's stop; others are arguments of ``RosBench``."""
        self._channel, self._rollout = channel, settings.rollout
        self._timeout, self._silence_timeout = settings.answer_timeout, settings.silence_timeout
        self._aborted, self._stopped = aborted, stopped
        name = f"{settings.rollout}/run_episode"
        self._cancel_all = channel.node.create_client(CancelGoal, f"{name}/_action/cancel_goal")
        self._action = ActionClient(channel.node, RunEpisode, name)
        self._last_heard = 0.0
        self.server_is_ready = self._action.server_is_ready

    def run(self, goal: RunEpisode.Goal) -> RunEpisode.Result:
        """Return the result of an episode.

        Raises:
            BenchFault: the rollout refuses the episode, or is silent.
        """
        self._hear()
        # rclpy 9.1 registers a goal a second time after it has sent it; an answer that another thread takes in between
        # is lost. So this is done on the thread that takes the answers.
        with fault_without_answer(Fault.SENSOR_LOST):
            sent = self._channel.do(lambda: self._action.send_goal_async(goal, self._hear), self._timeout)
        try:
            handle = self._wait([_answer_of(sent)], self._timeout, "accept the episode")
        except BenchFault:
            # The answer may be lost although the episode runs: the next episode must find the robot at rest.
            self._cancel_all.call_async(CancelGoal.Request())
            raise
        if not handle.accepted:
            raise BenchFault(Fault.SENSOR_LOST, f"'{self._rollout}' refused the episode")
        answers = [_answer_of(handle.get_result_async())]

        def ask_again() -> None:
            answers.append(_answer_of(handle.get_result_async()))

        what = "say anything of the running episode"
        return self._wait(answers, self._silence_timeout, what, handle.cancel_goal_async, ask_again).result

    def _wait(
        self,
        answers: list[Future[Any]],
        silence: float,
        what: str,
        cancel: Callable[[], Any] | None = None,
        ask_again: Callable[[], None] = lambda: None,
    ) -> Any:
        """Return the first answer to one request, which may be repeated; cancel it once the session is aborted."""
        asked, was_stopped = time.monotonic(), False
        while True:
            done = wait(answers, 0.1, FIRST_COMPLETED).done
            if done:
                return done.pop().result()
            aborted, stopped = self._aborted(), self._stopped()
            if aborted and cancel is not None:
                cancel()
                cancel = None
                self._hear()
            if stopped and not was_stopped:
                # The rollout ends the episode by itself, unless it hangs.
                was_stopped = True
                self._hear()
            now = time.monotonic()
            limit = ABORT_TIMEOUT if aborted or stopped else silence
            if now - self._last_heard > limit:
                if cancel is not None:
                    # The next episode waits until this one has ended.
                    cancel()
                if stopped and not aborted:
                    raise BenchFault(Fault.ROBOT_STOPPED, stopped)
                fault = Fault.ABORTED if aborted else Fault.SENSOR_LOST
                raise BenchFault(fault, f"'{self._rollout}' did not {what} for {limit:g} s")
            if now - max(self._last_heard, asked) > ASK_AGAIN:
                asked = now
                ask_again()

    def _hear(self, _: Any = None) -> None:
        self._last_heard = time.monotonic()


def _answer_of(future: Any) -> Future[Any]:
    """Return the result of a future of rclpy as a future that another thread can wait for."""
    answer: Future[Any] = Future()
    future.add_done_callback(lambda done: answer.set_result(done.result()))
    return answer
