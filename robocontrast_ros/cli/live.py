"""Show a running session from its journal: trial, instruction, outcome, budget, time left."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import BinaryIO

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from robocontrast_ros.domain import Outcome, find_spec
from robocontrast_ros.domain.words import on_one_line
from robocontrast_ros.episodes.scoring import STANDARD_SPECS
from robocontrast_ros.robots.speed_scaling import is_slowed, percent
from robocontrast_ros.runs.events import (
    Event,
    Paused,
    PolicyLoaded,
    PolicyRefused,
    Resumed,
    SessionStarted,
    SetUp,
    SpeedScalingNoted,
    TrialFinished,
    TrialSkipped,
    TrialStarted,
    TrialVoid,
    from_line,
)

_WORDS = {
    Outcome.SUCCESS: ("success     ", "green"),
    Outcome.FAILURE: ("failure     ", "red"),
    Outcome.POLICY_FAULT: ("policy fault", "red"),
}

_UNDER_A_TRIAL = " " * 6
"""Indentation of a line that is not about one trial."""


class Follower:
    """Reads the lines that are appended to a journal.

    Attributes:
        offset: bytes read so far.
    """

    def __init__(self, path: Path) -> None:
        """Begin at the start of the journal, whose file need not exist yet."""
        self._path, self.offset = path, 0
        self._file: BinaryIO | None = None

    def new_events(self) -> list[Event]:
        """Return the events that were appended since the last call; an unfinished line is returned once it is complete.

        A journal that is moved is still read, because its file is held open.
        """
        if self._file is None:
            if not self._path.exists():
                return []
            self._file = open(self._path, "rb")  # noqa: SIM115
        self._file.seek(self.offset)
        content = self._file.read()
        complete = content.rfind(b"\n") + 1
        self.offset += complete
        return [from_line(line) for line in content[:complete].splitlines()]

    def close(self) -> None:
        """Close the journal's file."""
        if self._file is not None:
            self._file.close()


class LiveView:
    """One line per trial, and below them a bar with the cost so far and the time left."""

    def __init__(self, console: Console, journal: Path, expected: int, budget: float, unit: str) -> None:
        """Prepare to show a session.

        Args:
            console: where to show it.
            journal: the journal to follow.
            expected: number of trials that the plan expects.
            budget: limit K of the cost; infinity if there is none.
            unit: of costs.
        """
        self._console, self._follower = console, Follower(journal)
        self._budget, self._unit = budget, unit
        self._spent = 0.0
        self._metric = find_spec(STANDARD_SPECS, "spl")
        self._done = 0
        self._began = time.monotonic()
        self._done_before = 0
        self._policy_loaded = False
        self._blind = False
        self._widest = len("base ")
        self._bar = Progress(
            TextColumn("[bold]{task.fields[doing]}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("trials  {task.fields[cost]}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("", total=expected, doing="starting the nodes", cost="", left="")

    def __enter__(self) -> LiveView:
        """Read the events of a resumed session, and start to show."""
        for event in self._follower.new_events():
            self._count(event)
        self._done_before = self._done
        self._bar.start()
        self._refresh("starting the nodes")
        return self

    def __exit__(self, *error: object) -> None:
        """Leave the last state on the screen."""
        self.update()
        self._follower.close()
        self._bar.stop()

    def update(self) -> None:
        """Show new events of the journal."""
        for event in self._follower.new_events():
            self._count(event)
            self._show(event)
            self._policy_loaded |= isinstance(event, PolicyLoaded)

    @property
    def began(self) -> bool:
        """Whether an event of the journal has been read."""
        return self._follower.offset > 0

    def _count(self, event: Event) -> None:
        if isinstance(event, SessionStarted):
            self._metric = find_spec(event.scores, event.metric)
            self._blind = bool(event.recorded.blind_policies)
            self._widest = max((self._widest, *map(len, event.symbols)))
        if isinstance(event, SetUp):
            self._spent += event.cost
        if isinstance(event, TrialFinished):
            self._done += 1
        if isinstance(event, TrialSkipped):
            self._done -= len(event.trials)

    def _show(self, event: Event) -> None:
        if parts := self._parts(event):
            self._console.print(Text.assemble(*parts), soft_wrap=True)
        if isinstance(event, TrialStarted):
            text = event.trial.instance.instruction.text
            self._refresh(f"{event.trial.trial_id} {event.trial.perturbation:<5} “{text}”")
        elif isinstance(event, TrialFinished):
            self._refresh("")

    def _parts(self, event: Event) -> tuple[str | tuple[str, str], ...]:
        """Return the parts of an event's line, some with a style; none if it has no line."""
        if isinstance(event, TrialFinished):
            result, score = event.result, event.result.scores.get(self._metric.name, math.nan)
            slowed = is_slowed(event.speed_scaling)
            return (
                self._begun(event),
                _WORDS[result.outcome],
                f" {self._metric.symbol} {score:4.2f}  {event.cost:5.2f} {self._unit}  ",
                f"“{on_one_line(event.trial.instance.instruction.text)}”",
                f"  {on_one_line(result.detail)}" if result.detail and not self._blind else "",
                (f"  at {percent(event.speed_scaling)} of full speed", "yellow") if slowed else "",
            )
        if isinstance(event, TrialVoid):
            why = "" if self._blind else f": {on_one_line(event.detail)}"
            return self._begun(event), ("void", "yellow"), f"  {event.fault.name}{why}"
        if isinstance(event, SpeedScalingNoted):
            return _UNDER_A_TRIAL, (on_one_line(event.detail), "yellow")
        if isinstance(event, Paused) and event.detail:
            return _UNDER_A_TRIAL, ("the session waits:", "yellow"), f" {on_one_line(event.detail)}"
        if isinstance(event, Resumed) and event.by:
            return _UNDER_A_TRIAL, (f"released by {on_one_line(event.by)}:", "green"), " the session goes on"
        if isinstance(event, PolicyLoaded) and self._policy_loaded:
            return _UNDER_A_TRIAL, ("policy", "cyan"), f" {event.name} serves: {event.file}"
        if isinstance(event, PolicyRefused):
            return _UNDER_A_TRIAL, (f"policy {event.policy} is refused:", "yellow"), f" {event.reason}"
        if isinstance(event, TrialSkipped):
            skipped = (f"skipped: {on_one_line(event.reason)}", "dim")
            return f"{_UNDER_A_TRIAL}{event.base_id}  {event.perturbation:<{self._widest}} ", skipped
        return ()

    def _begun(self, event: TrialFinished | TrialVoid) -> str:
        """Return the beginning of a trial's line."""
        trial = event.trial
        return f"{trial.trial_id}  {trial.base_id}  {trial.perturbation:<{self._widest}} "

    def _refresh(self, doing: str) -> None:
        limit = "" if math.isinf(self._budget) else f" of {self._budget:g}"
        self._bar.update(
            self._task,
            completed=self._done,
            doing=escape(on_one_line(doing, 60)),
            cost=f"{self._spent:.2f}{limit} {self._unit}",
            left=self._time_left(),
        )

    def _time_left(self) -> str:
        ran = self._done - self._done_before
        total = self._bar.tasks[0].total
        if not ran or total is None:
            return ""
        left = max(total - self._done, 0) * (time.monotonic() - self._began) / ran
        return f"{int(left // 60)} min {int(left % 60):02d} s left"
