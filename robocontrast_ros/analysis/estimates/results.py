"""The results of a run, computed from its journal."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from robocontrast_ros.analysis.data.effort_model import EffortModel
from robocontrast_ros.analysis.data.levels import levels_of
from robocontrast_ros.analysis.data.run_record import RunRecord
from robocontrast_ros.analysis.data.trials import trials_table
from robocontrast_ros.analysis.estimates.effort import (
    StandardTrial,
    compute_effort,
    standard_evaluation,
)
from robocontrast_ros.analysis.estimates.judges import judges_of
from robocontrast_ros.analysis.estimates.summary import Summary, outcome_rows, summary_rows
from robocontrast_ros.analysis.estimates.test_set import (
    NOT_DRAWN,
    Runnable,
    test_set_estimates,
)
from robocontrast_ros.analysis.estimates.thinking import latencies_of, latency_curves
from robocontrast_ros.configuration.files import is_path
from robocontrast_ros.domain import BASE, Delivery, find_spec
from robocontrast_ros.runs.blinding import refuse_several_policies
from robocontrast_ros.runs.journal import Journal, JournalError
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.tasks.levels import Levels, levels_naming

MODIFICATIONS = "modifications"
"""The measure of a proof that tells how many modifications a scene has (``tasks.protocol.Modifications``)."""


@dataclass(frozen=True)
class Results:
    """The results of a run.

    Attributes:
        summary: means and intervals.
        trials: the table of trials.
        standard: the standard evaluation that the base trials make up; empty if they do not.
        warning: one sentence if the journal's last line was cut off; else empty.
        figure: file of the overview picture; None before it is written.
        run: folder of the run.
        record: the content of its journal.
        trained: policy -> the content of its training, if a file of config/levels/ names it.
    """

    summary: Summary
    trials: pl.DataFrame
    standard: tuple[StandardTrial, ...] = ()
    warning: str = ""
    figure: Path | None = None
    run: Path = Path()
    record: RunRecord = field(default_factory=RunRecord)
    trained: Mapping[str, Levels] = field(default_factory=dict)

    @property
    def has_shifts(self) -> bool:
        """Whether scenes were modified in what a skill does not concern, or skills follow one another in chains."""
        trials = self.trials.filter("counts")
        return is_modified(trials).any() or (trials["after"] != "").any()

    @property
    def has_profiles(self) -> bool:
        """Whether the run has profiles of its problems: what each asks of a policy."""
        return RunFolder(self.run).profiles.is_file()


def is_modified(trials: pl.DataFrame) -> pl.Series:
    """Return which trials of a table are in a modified scene: their proofs have the measure ``modifications``."""
    found = [MODIFICATIONS in json.loads(proof) if proof else False for proof in trials["proof"]]
    return pl.Series(found, dtype=pl.Boolean)


def compute_results(journal: Journal, test_set: Runnable | str = NOT_DRAWN) -> Results:
    """Return the results of a run from its journal.

    Args:
        journal: the journal.
        test_set: the test set of the session (``test_set.draw_test_set``), or why it is unknown.

    Raises:
        JournalError: the journal holds no session, or a blind one with the trials of all its policies.
        ConfigurationError: a file of config/levels/ does not fit.
    """
    started = journal.started
    if started is None:
        raise JournalError(f"{journal.path}: no session was started in it. Run the session first.")
    refuse_several_policies(journal)
    run, recorded, folder = RunRecord.of(journal.events), started.recorded, RunFolder(journal.path.parent)
    trained = {policy: found for policy in run.policies if (found := levels_naming(policy))}
    levels = {policy: levels_of(folder, run.instances, shown) for policy, shown in trained.items()}
    table = trials_table(run, levels)
    model, metric = EffortModel(started), find_spec(started.scores, started.metric)
    standard = standard_evaluation(run, model)
    # If a later repeat was left out, those before it count.
    skips = [(policy, skip.perturbation, skip.base_id) for policy, skip in run.skips if skip.repeat == 0]
    # The names with their parameters; older journals have names alone.
    planned = tuple(started.symbols) or recorded.perturbations
    # A journal written without a session's file names its perturbations in its trials alone.
    found = tuple(table["perturbation"].unique(maintain_order=True))
    names = tuple(name for name in dict.fromkeys((*planned, *found, *(name for _, name, _ in skips))) if name != BASE)
    symbols = {name: started.symbols.get(name, name) for name in names}
    policies = tuple(dict.fromkeys((*table["policy"], *(policy for policy, _, _ in skips)))) or run.policies[-1:]
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
    latencies, end = latencies_of(run), run.end or journal.end
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
        ended=end.detail if end is not None else "",
        finished=run.end is not None,
        rows=tuple(rows),
        effort=compute_effort(run, table, standard, model),
        outcomes=tuple(
            row
            for policy in policies
            for row in outcome_rows(table.filter(pl.col("policy") == policy), started.scores, policy)
        ),
        estimates={
            policy: test_set_estimates(table.filter(pl.col("policy") == policy), test_set, metric)
            for policy in policies
        },
        # The judgements of the camera and the person before corrections.
        judges=judges_of([each.first for each in run.trials if each.counts], recorded.judge, run.cluster_of),
        corrections=tuple(run.corrections.values()),
        delivery_unknown=len(table.filter(pl.col("delivered") == Delivery.UNKNOWN.name)),
        curves=tuple(
            curve
            for policy in policies
            for curve in latency_curves(
                table.filter(pl.col("policy") == policy), policy, latencies, find_spec(started.scores, "success")
            )
        ),
        sequential=run.end.sequential if run.end is not None else None,
    )
    return Results(
        summary,
        table,
        standard,
        journal.warning,
        run=folder.path,
        record=run,
        trained=trained,
    )


def _shown(named: str, policies: Sequence[str]) -> str:
    """Return the policy's name in config/policies/, else the names of the policies that served.

    The path of its file is not shown, because it contains the user's home and is wider than a table.
    """
    return ", ".join(policies) if len(policies) > 1 or not named or is_path(named) else named
