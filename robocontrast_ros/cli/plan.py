"""`robocontrast plan`: the trials that a session would run, and their cost."""

from __future__ import annotations

import math

from rich.console import Console
from rich.table import Table
from rich.text import Text

from robocontrast_ros.domain import Start
from robocontrast_ros.domain.words import counted
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.plan import plan_session
from robocontrast_ros.sessions.resolving import resolve


def show_plan(session: str, overrides: Overrides, console: Console) -> None:
    """Print the trials that a session would run and what they would cost.

    Raises:
        ConfigurationError: something does not fit.
    """
    resolved = resolve(session, overrides)
    plan = plan_session(resolved.evaluation())
    unit = plan.cost_unit
    table = Table("trial", "instance", "perturbation", "instruction")
    for heading in (f"cost [{unit}]", f"sum [{unit}]"):
        table.add_column(Text(heading), justify="right")
    for planned in plan.trials:
        trial = planned.trial
        table.add_row(
            trial.trial_id,
            trial.base_id,
            trial.perturbation,
            trial.instance.instruction.text,
            f"{planned.cost:.3f}",
            f"{planned.cumulative_cost:.3f}",
            style="" if planned.within_budget else "dim",
        )
    console.print(table)
    for base_id, perturbation, reason in plan.skipped:
        console.print(f"skipped: {perturbation} of {base_id}: {reason}", style="dim", highlight=False)
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
