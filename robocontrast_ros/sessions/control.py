"""Control of a session from outside (pause, resume, swap, abort), and its status."""

from __future__ import annotations

import math
import shlex
import threading
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from robocontrast_ros.domain import Budget, Fault, Trial, TrialResult
from robocontrast_ros.runs.events import SessionFinished, SessionInterrupted


class SessionState(IntEnum):
    """State of a session. The values are those of ``SessionStatus.msg``."""

    UNKNOWN = 0
    IDLE = 1
    RUNNING = 2
    PAUSED = 3
    FINISHED = 4
    INTERRUPTED = 5


@dataclass(frozen=True)
class SessionStatus:
    """Status of a session; its observer gets it at every change.

    Attributes:
        state: see SessionState.
        detail: reason for the state, or the present step, in words.
        trials_done: trials finished, void ones not counted.
        trials_expected: all trials, as far as the strategy knows, less the skipped ones.
        trials_void: void attempts so far.
        trials_skipped: perturbations that could not be applied.
        budget: its limit, and the cost spent.
        trial: the trial that is set up or running, or that has just ended; None before the first.
        result: its result; None while it is set up or running.
        time_left: estimate to the end on the wall clock [s]; NaN if unknown.
        policy: name of the policy that serves; empty if unknown.
        void_fault: why the trial's last attempt was void; ``NONE`` in the first attempt.
        void_detail: the same in words.
    """

    state: SessionState
    detail: str
    trials_done: int
    trials_expected: int
    trials_void: int
    trials_skipped: int
    budget: Budget
    trial: Trial | None = None
    result: TrialResult | None = None
    time_left: float = math.nan
    policy: str = ""
    void_fault: Fault = Fault.NONE
    void_detail: str = ""

    def ended(self, before: SessionStatus | None) -> str:
        """Return a line on the trial that has ended since an earlier status; empty if none has."""
        if self.trial is None:
            return ""
        done, void = (before.trials_done, before.trials_void) if before else (self.trials_done, self.trials_void)
        what = ""
        if self.trials_done > done and self.result is not None:
            what = self.result.outcome.name.lower().replace("_", " ")
        elif self.trials_void > void:
            what = f"void: {self.void_detail}"
        place = f"trial {self.trials_done} of {self.trials_expected}" if self.trials_done > done else "attempt"
        words = f"{self.trial.trial_id} {self.trial.perturbation} “{self.trial.instance.instruction.text}”"
        return f"{place}: {words}: {what}" if what else ""


def end_line(end: SessionFinished | SessionInterrupted, run: Path) -> str:
    """Return the log's last line: the reason, the command for the results, and how to resume an interrupted session."""
    folder = shlex.quote(str(run))
    line = f"{end.detail}; tables, figure and maps: robocontrast results {folder}"
    if isinstance(end, SessionFinished):
        return line
    launched = f"ros2 launch robocontrast_ros evaluate.launch.py resume:={folder}"
    return f"{line}; to resume: {launched}, or robocontrast evaluate --resume {folder}"


class SessionControl:
    """Pause, resume, swap the policy and abort, from any thread. A session reads these requests between trials."""

    def __init__(self) -> None:
        """Start without a request."""
        self._condition = threading.Condition()
        self._paused = False
        self._abort_reason = ""
        self._swaps: list[str] = []

    def pause(self) -> None:
        """Let the present trial end, then make the session wait."""
        with self._condition:
            self._paused = True
            self._condition.notify_all()

    def resume(self) -> None:
        """Let a paused session go on."""
        with self._condition:
            self._paused = False
            self._condition.notify_all()

    def abort(self, reason: str) -> None:
        """End the session, at the latest after the present trial; the owner of the bench cancels that trial."""
        with self._condition:
            self._abort_reason = self._abort_reason or reason
            self._condition.notify_all()

    def swap(self, policy: str) -> None:
        """Let the present trial end, then go on with another policy: a name, or the path of a parameter file."""
        with self._condition:
            self._swaps.append(policy)
            self._condition.notify_all()

    def take_swaps(self) -> tuple[str, ...]:
        """Return the policies requested since the last call, in order."""
        with self._condition:
            taken, self._swaps = tuple(self._swaps), []
            return taken

    @property
    def paused(self) -> bool:
        """Whether the session is to wait."""
        with self._condition:
            return self._paused

    @property
    def abort_reason(self) -> str:
        """Why the session is to end; empty if it is not."""
        with self._condition:
            return self._abort_reason

    def wait(self) -> None:
        """Return as soon as the session may go on, is to end, or is to swap its policy."""
        with self._condition:
            self._condition.wait_for(lambda: not self._paused or bool(self._abort_reason or self._swaps))
