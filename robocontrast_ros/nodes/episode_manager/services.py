"""The services that steer a session: start, pause, resume, abort, another policy."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from rclpy.node import Node

from robocontrast_ros.analysis.rescoring.corrections import correct
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.messages.decoding import judgement_from_msg
from robocontrast_ros.runs.journal import JournalError, JournalWriter
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.sessions.control import SessionControl, SessionState
from robocontrast_ros.srv import AbortSession, CorrectTrial, PauseSession, ResumeSession, StartSession, SwapPolicy
from robocontrast_ros.system.disk import DiskError

Answer = tuple[bool, str]
"""Whether a request is accepted, and the reason of a refusal, or the next action, in words."""


class SessionServices:
    """Serves the session's services relative to the node's name.

    Attributes:
        state: the session's state; the node keeps it up to date.
    """

    def __init__(
        self, node: Node, control: SessionControl, thread: threading.Thread, journal: JournalWriter, run: RunFolder
    ) -> None:
        """Make the services of a session, which runs on ``thread`` once it is started."""
        self._control, self._thread, self._journal, self._run = control, thread, journal, run
        self.state = SessionState.IDLE
        for kind, name, answer in (
            (StartSession, "start", self._start),
            (PauseSession, "pause", self._pause),
            (ResumeSession, "resume", self._resume),
            (AbortSession, "abort", self._abort),
            (SwapPolicy, "swap_policy", self._swap),
            (CorrectTrial, "correct_trial", self._correct),
        ):
            node.create_service(kind, f"~/{name}", partial(_respond, answer))

    def _start(self, _: Any) -> Answer:
        if self._thread.ident is not None:
            return False, "the session was started already"
        self._thread.start()
        return True, "the session begins"

    def _pause(self, _: Any) -> Answer:
        if self.state is not SessionState.RUNNING:
            return False, f"the session is {self.state.name.lower()}, not running"
        self._control.pause()
        return True, "the session pauses after the present trial"

    def _resume(self, _: Any) -> Answer:
        if not self._control.paused:
            return False, "the session is not paused"
        self._control.resume()
        return True, "the session goes on"

    def _abort(self, _: Any) -> Answer:
        if not self._thread.is_alive():
            return False, "no session is running"
        self._control.abort("aborted by a service call")
        return True, f"the robot is stopped; resume with --resume {shlex.quote(str(self._run.path))}"

    def _swap(self, request: SwapPolicy.Request) -> Answer:
        if self.state not in (SessionState.RUNNING, SessionState.PAUSED):
            return False, f"the session is {self.state.name.lower()}; only a running one swaps"
        if not request.policy:
            return False, "got no policy, expected a name in config/policies/, or the path of a .yaml file"
        self._control.swap(request.policy)
        when = "at once" if self.state is SessionState.PAUSED else "after the present trial"
        return True, f"'{request.policy}' is loaded {when}; the result is in the journal"

    def _correct(self, request: CorrectTrial.Request) -> Answer:
        if not self._thread.is_alive():
            return False, "no session is running; correct it with `robocontrast correct`"
        judgement = judgement_from_msg(request.judgement)
        try:
            correct(self._run, self._journal, request.trial_id, judgement, request.reason)
        except (ConfigurationError, JournalError, DiskError) as error:
            return False, str(error)
        return True, "corrected; the results show it"


def _respond(answer: Callable[[Any], Answer], request: Any, response: Any) -> Any:
    response.accepted, response.detail = answer(request)
    return response
