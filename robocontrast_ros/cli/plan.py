"""`robocontrast plan`: the trials that a session would run, and their cost."""

from __future__ import annotations

import math
import shlex
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer
from rich.console import Group
from rich.live import Live
from rich.text import Text

from robocontrast_ros.analysis.tables.block import FAINT, Column, TableBlock
from robocontrast_ros.analysis.tables.terminal import Table
from robocontrast_ros.cli.options import SessionArgument, refuse_unknown, takes_overrides
from robocontrast_ros.cli.terminal import Console
from robocontrast_ros.sessions.overrides import Overrides

if TYPE_CHECKING:
    from robocontrast_ros.domain import Trial
    from robocontrast_ros.sessions.control import SessionStatus
    from robocontrast_ros.sessions.evaluation import Evaluation
    from robocontrast_ros.sessions.plan import Plan
    from robocontrast_ros.sessions.resolving import ResolvedSession

LAST = 10
"""Number of rows, the last ones, that a terminal shows during planning."""


@takes_overrides("robot", "policy", "budget", "seed", "max_trials", "repeats", "size", "strategy")
def plan(
    session: SessionArgument,
    overrides: Overrides,
    lock: Annotated[
        Path | None, typer.Option(help="File to write the plan into, with its hash, before the first trial.")
    ] = None,
) -> None:
    """Print a session's trials and their expected cost without running it.

    Every trial is expected to succeed. After a failure the scene is another one, and costs differ from the plan.
    """
    refuse_unknown(str(session), overrides)
    if lock is not None:
        from robocontrast_ros.runs.locked_plan import refuse_existing

        refuse_existing(lock)
    from robocontrast_ros.domain import Start
    from robocontrast_ros.domain.words import counted
    from robocontrast_ros.sessions.resolving import resolve

    console, resolved = Console(), resolve(str(session), overrides)
    plan = _planned(resolved.evaluation(), console)
    unit = plan.cost_unit
    rows = [
        _Row(planned.trial, planned.cost, planned.cumulative_cost, planned.within_budget) for planned in plan.trials
    ]
    console.print(_table(unit, rows))
    for base_id, perturbation, reason in plan.skipped:
        console.print(f"skipped: {perturbation} of {base_id}: {reason}", style="dim")
    back = [trial for trial in plan.within_budget if trial.trial.start is Start.GONE_BACK]
    if back:
        cost = math.fsum(trial.cost for trial in back)
        console.print(
            f"{cost:.2f} {unit} are for going back to the scene of the test instance "
            f"({counted(len(back), 'perturbed trial')}); another order of the perturbations may need less."
        )
    independent = "independent of each other" if plan.blocks_independent else "each depends on those before it"
    console.print(f"{counted(plan.blocks, 'block')} of trials, {independent}.")
    limit = "" if math.isinf(plan.budget) else f", within a budget of {plan.budget:g} {unit}"
    console.print(
        f"{len(plan.within_budget)} of {counted(len(plan.trials), 'trial')}, {plan.cost:.2f} {unit}{limit}, "
        "if every trial succeeds."
    )
    if resolved.parameters.stop_early is not None:
        console.print("`stop_early` may end the session sooner, depending on the scores.")
    if lock is not None:
        _lock(resolved, plan, lock, console)


def _lock(session: ResolvedSession, plan: Plan, file: Path, console: Console) -> None:
    """Write a plan that is locked, and print how to follow it."""
    from robocontrast_ros.runs.locked_plan import write_locked_plan
    from robocontrast_ros.sessions.locking import lock

    locked = lock(session, plan)
    write_locked_plan(locked, file)
    console.path("locked plan", file)
    console.say(f"SHA-256 {locked.sha256}")
    console.say(f"follow it: robocontrast evaluate SESSION --plan {shlex.quote(str(file))}")


def _planned(evaluation: Evaluation, console: Console) -> Plan:
    """Plan the session; meanwhile a terminal shows the last planned trials and the expected number of trials."""
    from robocontrast_ros.sessions.plan import plan_session

    if not console.is_terminal:
        return plan_session(evaluation)
    growing = _Growing(evaluation.cost_model.unit)
    with Live(get_renderable=growing.shown, console=console, transient=True):
        return plan_session(evaluation, growing.add)


class _Growing:
    """The table of a plan during planning.

    The cost of a trial in the session's loop is also its cost in the plan.
    """

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._rows: deque[_Row] = deque(maxlen=LAST)
        self._status: SessionStatus | None = None
        self._done, self._spent = 0, 0.0

    def add(self, status: SessionStatus) -> None:
        """Add the row of a trial that has been planned, by the loop's status."""
        self._status = status
        if status.trial is None or status.trials_done == self._done:
            return
        spent = status.budget.spent
        self._rows.append(_Row(status.trial, spent - self._spent, spent))
        self._done, self._spent = status.trials_done, spent

    def shown(self) -> Group | Text:
        """Return the last rows and the progress."""
        from robocontrast_ros.domain.words import counted

        status = self._status
        if status is None or not self._rows:
            return Text("planning the trials …")
        # The rows are copied, because another thread goes on planning.
        table = _table(self._unit, tuple(self._rows))
        expected = counted(max(status.trials_expected, status.trials_done), "trial")
        return Group(table, Text(f"planning: {status.trials_done} of {expected} …"))


class _Row(NamedTuple):
    trial: Trial
    cost: float
    cumulative: float
    within_budget: bool = True


def _table(unit: str, rows: Sequence[_Row]) -> Table:
    columns = [
        Column("trial", lambda row: row.trial.trial_id),
        Column("instance", lambda row: row.trial.base_id),
        Column("perturbation", lambda row: row.trial.perturbation),
        Column("instruction", lambda row: row.trial.instance.instruction.text),
        Column(f"cost [{unit}]", lambda row: row.cost, ".3f"),
        Column(f"sum [{unit}]", lambda row: row.cumulative, ".3f"),
    ]
    return Table(TableBlock(columns, rows, style=lambda row: "" if row.within_budget else FAINT))
