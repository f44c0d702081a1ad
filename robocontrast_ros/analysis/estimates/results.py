"""The results of a run, computed from its journal."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from robocontrast_ros.analysis.data.effort_model import EffortModel
from robocontrast_ros.analysis.data.levels import base_instances, levels_of
from robocontrast_ros.analysis.data.serving_policies import serving_policies
from robocontrast_ros.analysis.data.trials import trials_table
from robocontrast_ros.analysis.estimates.effort import (
    StandardTrial,
    compute_effort,
    standard_evaluation,
)
from robocontrast_ros.analysis.estimates.judges import judges_of
from robocontrast_ros.analysis.estimates.summary import Summary, summary_rows
from robocontrast_ros.analysis.estimates.test_set import (
    NOT_DRAWN,
    Runnable,
    test_set_estimates,
)
from robocontrast_ros.analysis.estimates.thinking import latencies_of, latency_curves
from robocontrast_ros.configuration.files import is_path
from robocontrast_ros.domain import BASE, Delivery, PerturbationSpec, TestInstance, find_spec
from robocontrast_ros.runs.blinding import refuse_several_policies
from robocontrast_ros.runs.events import SessionFinished, TrialFinished, TrialSkipped
from robocontrast_ros.runs.journal import Journal, JournalError
from robocontrast_ros.runs.recorded_session import RecordedSession
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.tasks.levels import Levels, levels_naming


@dataclass(frozen=True)
class Results:
    """The results of a run.

    Attributes:
        summary: means and intervals.
        trials: the table of trials.
        standard: the standard evaluation that the base trials make up; empty where they do not.
        warning: one sentence when the journal's last line was cut off; else empty.
        figure: the picture, when it was written.
        run: folder of the run.
        recorded: what is read of the session's parameters.
        perturbations: perturbation's name -> what it says of itself; empty where the journal does not tell.
        instances: name -> test instance, of those whose base trials were begun.
        trained: policy -> what its training showed, where a file of config/levels/ names it.
    """

    summary: Summary
    trials: pl.DataFrame
    standard: tuple[StandardTrial, ...] = ()
    warning: str = ""
    figure: Path | None = None
    run: Path = Path()
    recorded: RecordedSession = field(default_factory=RecordedSession)
    perturbations: Mapping[str, PerturbationSpec] = field(default_factory=dict)
    instances: Mapping[str, TestInstance] = field(default_factory=dict)
    trained: Mapping[str, Levels] = field(default_factory=dict)


def compute_results(journal: Journal, test_set: Runnable | str = NOT_DRAWN) -> Results:
    """Return the results of a run from its journal.

    Args:
        journal: the journal.
        test_set: the test set that the session has (``test_set.draw_test_set``), or why it is not known.

    Raises:
        JournalError: the journal holds no session, or a blind one with the trials of all its policies.
        ConfigurationError: a file of config/levels/ does not fit.
    """
    started = journal.started
    if started is None:
        raise JournalError(f"{journal.path}: no session was started in it. Run the session first.")
    refuse_several_policies(journal)
    judged, journal = journal, journal.corrected
    serving, instances = serving_policies(journal.events), base_instances(journal.events)
    trained = {policy: found for policy in set(serving) if (found := levels_naming(policy))}
    folder = RunFolder(journal.path.parent)
    levels = {policy: levels_of(folder, instances, shown) for policy, shown in trained.items()}
    table = trials_table(journal.events, levels)
    model, metric = EffortModel(started), find_spec(started.scores, started.metric)
    standard = standard_evaluation(journal.events, model)
    recorded = started.recorded
    skips = [
        (p, e.perturbation, e.base_id)
        for e, p in zip(journal.events, serving, strict=True)
        if isinstance(e, TrialSkipped) and e.repeat == 0  # else earlier repeats count
    ]
    # The names that they tell, which their parameters are part of; older journals have names alone.
    planned = tuple(started.symbols) or recorded.perturbations
    # A journal written without a session's file names its perturbations in its trials alone.
    found = tuple(table["perturbation"].unique(maintain_order=True))
    names = tuple(name for name in dict.fromkeys((*planned, *found, *(name for _, name, _ in skips))) if name != BASE)
    symbols = {name: started.symbols.get(name, name) for name in names}
    policies = tuple(dict.fromkeys((*table["policy"], *(policy for policy, _, _ in skips)))) or serving[-1:]
    rows = []
    for policy in policies:
        refused: dict[str, list[str]] = defaultdict(list)
        for by, name, base_id in skips:
            if by == policy:
                refused[name].append(base_id)
        rows += summary_rows(
            table.filter(pl.col("policy") == policy),
            symbols,
            {name: len(ids) for name, ids in refused.items()},
            started.scores,
            started.metric,
            policy,
            refused,
        )
    latencies = latencies_of(journal.events)
    summary = Summary(
        session=started.session,
        robot=recorded.robot,
        policy=_shown(recorded.policy, policies),
        strategy=recorded.strategy,
        seed=started.seed,
        metric=started.metric,
        scores=started.scores,
        cost_unit=started.cost_unit,
        budget=started.budget if math.isfinite(started.budget) else None,
        ended=_ending(journal),
        finished=any(isinstance(event, SessionFinished) for event in journal.events),
        rows=tuple(rows),
        effort=compute_effort(journal.events, table, standard, model),
        estimates={
            policy: test_set_estimates(table.filter(pl.col("policy") == policy), test_set, metric)
            for policy in policies
        },
        judges=judges_of(
            # What the camera and the person said at first.
            (event for event in judged.events if isinstance(event, TrialFinished)),
            recorded.judge,
        ),
        corrections=tuple(judged.corrections.values()),
        delivery_unknown=len(table.filter(pl.col("delivered") == Delivery.UNKNOWN.name)),
        curves=tuple(
            curve
            for policy in policies
            for curve in latency_curves(
                table.filter(pl.col("policy") == policy), policy, latencies, find_spec(started.scores, "success")
            )
        ),
        sequential=next((e.sequential for e in reversed(journal.events) if isinstance(e, SessionFinished)), None),
    )
    return Results(
        summary,
        table,
        standard,
        journal.warning,
        run=folder.path,
        recorded=recorded,
        perturbations=started.perturbations,
        instances=instances,
        trained=trained,
    )


def _shown(named: str, policies: Sequence[str]) -> str:
    """Return what the policy is called: by its name in config/policies/, else as it describes itself.

    Not by the path of its file, which tells whose home it is in, and is wider than a table.
    """
    return ", ".join(policies) if len(policies) > 1 or not named or is_path(named) else named


def _ending(journal: Journal) -> str:
    """Return how the session ended, in words; empty while it is running, or without a final event."""
    finished = [event.detail for event in journal.events if isinstance(event, SessionFinished)]
    if finished:
        return finished[-1]
    return journal.end.detail if journal.end is not None else ""
