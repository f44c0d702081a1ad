"""`robocontrast levels`: the training data of policies, and the level of generalisation of the trials of a run."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robocontrast_ros.cli.terminal import Console
from robocontrast_ros.configuration import ConfigurationError, load_configured
from robocontrast_ros.configuration.files import find_file
from robocontrast_ros.runs.run_folder import RunFolder

if TYPE_CHECKING:
    from robocontrast_ros.tasks.levels import Level, Levels
    from robocontrast_ros.tasks.protocol import Task


def levels(
    run: Annotated[Path | None, typer.Argument(help="Run folder whose trials are sorted by level.")] = None,
    trained_on: Annotated[
        str | None,
        typer.Option(help="Training data of the run's policies: name in config/levels/, or path of a .yaml file."),
    ] = None,
) -> None:
    """List the training data of policies; with a run, count its trials by level of generalisation, L1 to L4."""
    folder = None if run is None else RunFolder.open(run)
    from robocontrast_ros.analysis.data.run_record import RunRecord
    from robocontrast_ros.domain import Outcome
    from robocontrast_ros.runs.blinding import refuse_several_policies
    from robocontrast_ros.runs.journal import read_journal
    from robocontrast_ros.tasks.levels import Level, Levels, known_levels, level_of

    shipped, console = known_levels(), Console()
    if folder is None:
        _show_shipped(shipped, console)
        return
    task: Task = load_configured("tasks", folder.parameters / "task.yaml")
    source = str(folder.path)
    if task.looks is None:
        raise ConfigurationError(source, "task", task.name, "a task whose things have a shape and a colour")
    given = None
    if trained_on is not None:
        file = find_file("levels", trained_on, "command line", "--trained-on", Path.cwd())
        given = Levels.from_file(file)
    trained: dict[str, Levels] = {}
    found: dict[tuple[str, str, Level], list[bool]] = defaultdict(list)
    journal = read_journal(folder.journal)
    refuse_several_policies(journal)
    for each in RunRecord.of(journal.events).trials:
        if not each.counts:
            continue
        policy, trial = each.policy, each.trial
        if policy not in trained:
            trained[policy] = given or _of(policy, shipped, source)
        level = level_of(trial.instance, trained[policy], task.looks)
        found[policy, trial.perturbation, level].append(each.ended.result.outcome is Outcome.SUCCESS)
    rows = []
    for policy, perturbation in dict.fromkeys((policy, perturbation) for policy, perturbation, _ in found):
        solved = (found.get((policy, perturbation, level)) for level in Level)
        rows.append((policy, perturbation, *(s and f"{sum(s)} of {len(s)}" for s in solved)))
    console.table(("policy", "perturbation", *(level.value for level in Level)), rows)
    console.print("Solved trials of each level; docs/difficulty.md says what the levels are.")


def _of(policy: str, shipped: tuple[Levels, ...], source: str) -> Levels:
    for levels in shipped:
        if policy in levels.policies:
            return levels
    known = ", ".join(sorted(name for levels in shipped for name in levels.policies))
    expected = f"a policy whose training data are described in config/levels/: {known}"
    raise ConfigurationError(source, "policy", policy, expected, "Name a file of levels with --trained-on.")


def _show_shipped(shipped: tuple[Levels, ...], console: Console) -> None:
    from robocontrast_ros.tasks.levels import Level

    rows = []
    for levels in shipped:
        tests = ("yes" if level in levels.tests else "nothing new" for level in Level)
        train, policies = levels.train, ", ".join(levels.policies) or None
        rows.append((levels.name, policies, len(train.families), len(train.looks), *tests))
    headings = ("levels", "policies trained so", "families", "things", *(level.value for level in Level))
    console.table(headings, rows)
    console.print("With a run: the level of each of its trials. docs/difficulty.md says what the levels are.")
