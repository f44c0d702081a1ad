"""Show a running session from its journal: trial, instruction, outcome, budget, time left."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import BinaryIO

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

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
    Outcome.SUCCESS: "[green]success[/]",
    Outcome.FAILURE: "[red]failure[/]",
    Outcome.POLICY_FAULT: "[red]policy fault[/]",
}

_PLAIN = {"highlight": False, "soft_wrap": True, "markup": True}


class Follower:
    """Reads the lines that are appended to a journal.

    Attributes:
        offset: bytes read so far.
    """

    def __init__(self, path: Path) -> None:
        """Begin at the journal's start; it need not be there yet."""
        self._path, self.offset = path, 0
        self._file: BinaryIO | None = None

    def new_events(self) -> list[Event]:
        """Return the events that were appended since the last call; an unfinished line waits.

        A journal that is moved is followed.
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
        """Read no more."""
        if self._file is not None:
            self._file.close()


class LiveView:
    """One line per trial, and below them a bar with the cost so far and the time left."""

    def __init__(self, console: Console, journal: Path, expected: int, budget: float, unit: str) -> None:
        """Prepare to show a session.

        Args:
            console: where to show it.
            journal: the journal to follow.
            expected: trials that the plan expects.
            budget: K; infinity when there is none.
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
        """Whether the journal had an event."""
        return self._follower.offset > 0

    def _count(self, event: Event) -> None:
        if isinstance(event, SessionStarted):
            self._metric = find_spec(event.scores, event.metric)
            self._blind = bool(event.recorded.blind_policies)
        if isinstance(event, SetUp):
            self._spent += event.cost
        if isinstance(event, TrialFinished):
            self._done += 1
        if isinstance(event, TrialSkipped):
            self._done -= len(event.trials)

    def _show(self, event: Event) -> None:
        if isinstance(event, TrialStarted):
            text = event.trial.instance.instruction.text
            self._refresh(f"{event.trial.trial_id} {event.trial.perturbation:<5} “{text}”")
        elif isinstance(event, TrialFinished):
            trial, result = event.trial, event.result
            self._console.print(
                f"{trial.trial_id}  {escape(trial.base_id)}  {trial.perturbation:<5} {_WORDS[result.outcome]:<20} "
                f"{self._metric.symbol} {result.scores.get(self._metric.name, math.nan):4.2f}  "
                f"{event.cost:5.2f} {escape(self._unit)}  “{_shown(trial.instance.instruction.text)}”"
                f"{'  ' + _shown(result.detail) if result.detail and not self._blind else ''}"
                f"{_at_speed(event.speed_scaling)}",
                **_PLAIN,
            )
            self._refresh("")
        elif isinstance(event, TrialVoid):
            self._console.print(
                f"{event.trial.trial_id}  {escape(event.trial.base_id)}  {event.trial.perturbation:<5} "
                f"[yellow]void[/]  {event.fault.name}{'' if self._blind else ': ' + _shown(event.detail)}",
                **_PLAIN,
            )
        elif isinstance(event, SpeedScalingNoted):
            self._console.print(f"      [yellow]{_shown(event.detail)}[/]", **_PLAIN)
        elif isinstance(event, Paused) and event.detail:
            self._console.print(f"      [yellow]the session waits:[/] {_shown(event.detail)}", **_PLAIN)
        elif isinstance(event, Resumed) and event.by:
            self._console.print(f"      [green]released by {_shown(event.by)}:[/] the session goes on", **_PLAIN)
        elif isinstance(event, PolicyLoaded) and self._policy_loaded:
            self._console.print(f"      [cyan]policy[/] {escape(event.name)} serves: {escape(event.file)}", **_PLAIN)
        elif isinstance(event, PolicyRefused):
            self._console.print(
                f"      [yellow]policy {escape(event.policy)} is refused:[/] {escape(event.reason)}", **_PLAIN
            )
        elif isinstance(event, TrialSkipped):
            self._console.print(
                f"      {escape(event.base_id)}  {event.perturbation:<5} [dim]skipped: {_shown(event.reason)}[/]",
                **_PLAIN,
            )

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


def _at_speed(share: float | None) -> str:
    return f"  [yellow]at {percent(share)} of full speed[/]" if is_slowed(share) else ""


def _shown(text: str) -> str:
    """Return a text of a policy, a task or a fault as it may stand in a line with markup."""
    return escape(on_one_line(text))
