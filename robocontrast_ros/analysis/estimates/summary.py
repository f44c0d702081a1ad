"""The summary of a run: mean scores for each perturbation with intervals, and the effort.

Intervals are 95 %. Trials of one test instance (its repeats, its perturbations) resemble each other, so test instances
are taken as independent: Wilson's interval with an effective sample size (``statistics.clusters``). A single test
instance has no interval, except for the success of one trial. Void attempts count in no mean; their number is always
given. No estimate is over the trials of more than one policy.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import polars as pl

from robocontrast_ros.analysis.data.trials import ALL
from robocontrast_ros.analysis.estimates.effort import RunEffort
from robocontrast_ros.analysis.estimates.test_set import TestSetEstimates, mean_score
from robocontrast_ros.domain import BASE, Outcome
from robocontrast_ros.statistics.clusters import paired_difference
from robocontrast_ros.statistics.estimate import NO_ESTIMATE, Estimate
from robocontrast_ros.statistics.proportions import clopper_pearson, wilson
from robocontrast_ros.statistics.unpaired import unpaired_difference


@dataclass(frozen=True)
class Selection:
    """Base trials of the instances that a perturbation could be applied to, and of those that it was refused for.

    Attributes:
        applied: mean of the session's metric over the base trials of the instances that it was applied to.
        applied_instances: number of these.
        refused: the same of those that it could not be applied to.
        refused_instances: number of these.
        difference: the first mean minus the second; where it is not near 0, easier or harder instances were selected.
    """

    applied: Estimate
    applied_instances: int
    refused: Estimate
    refused_instances: int
    difference: Estimate


@dataclass(frozen=True)
class Row:
    """The results of one perturbation's trials.

    Attributes:
        perturbation: ``base``, a perturbation's name, or ``all``.
        symbol: the paper's symbol of the perturbation; else the name.
        trials: trials that count.
        instances: test instances among them.
        skipped: test instances that the perturbation could not be applied to.
        success: share of trials that succeeded; Wilson's interval where each instance has one trial, else the
            one over instances.
        success_exact: the same with Clopper and Pearson's interval; empty where an instance has more trials.
        spl: mean success weighted by path length.
        progress: mean progress-to-goal.
        ndtw: mean nDTW, over the trials that have a reference path.
        collisions: mean number of collisions; None without a trial.
        difference: mean, over test instances, of the session's metric minus that of the instance's own base
            trials; empty for ``base`` and ``all``.
        success_difference: the same of success.
        pairs: test instances in these differences.
        policy_faults: trials that failed by a fault of the policy; they are among ``trials``.
        void: attempts that were void, or were cut off; they are not among ``trials``.
        cost: what was spent on set-ups, void attempts included, in the session's unit.
        metres: the same as metres that objects were carried [m].
        seconds: the same as time of a person [s].
        metres_per_trial: of a trial that counts [m]; None without one.
        seconds_per_trial: of a trial that counts [s]; None without one.
        policy: name of the policy that ran them (column `policy` of the table).
        selection: which instances it was applied to; None where it was refused for none.
    """

    perturbation: str
    symbol: str
    trials: int
    instances: int
    skipped: int
    success: Estimate
    success_exact: Estimate
    spl: Estimate
    progress: Estimate
    ndtw: Estimate
    collisions: float | None
    difference: Estimate
    success_difference: Estimate
    pairs: int
    policy_faults: int
    void: int
    cost: float
    metres: float
    seconds: float
    metres_per_trial: float | None
    seconds_per_trial: float | None
    policy: str
    selection: Selection | None = None

    @property
    def independent(self) -> bool:
        """Whether each test instance has one trial."""
        return self.trials == self.instances

    def score(self, metric: str) -> Estimate:
        """Return the mean of a metric: ``spl`` or ``progress``."""
        return {"spl": self.spl, "progress": self.progress}[metric]


@dataclass(frozen=True)
class Summary:
    """The summary of a run.

    Attributes:
        session: name of the session.
        robot: the robot's name in the session's parameters.
        policy: the policy's, or the names of all that were swapped for one another.
        strategy: the strategy's.
        seed: the session's seed.
        metric: the task's score that is shown, ``spl`` or ``progress``.
        cost_unit: ``m`` or ``s``.
        budget: K; None when there is none.
        ended: how the session ended, in words; empty while it has not.
        finished: whether the session ran to its end.
        rows: ``base``, each perturbation in the order of the session, ``all``; these for each policy, where there
            is more than one.
        effort: of the run, beside that of a standard evaluation.
        estimates: policy -> the test set's performance as its trials estimate it.
        delivery_unknown: trials that count of which it is unknown whether the policy received what was sent.
    """

    session: str
    robot: str
    policy: str
    strategy: str
    seed: int
    metric: str
    cost_unit: str
    budget: float | None
    ended: str
    finished: bool
    rows: tuple[Row, ...]
    effort: RunEffort
    estimates: Mapping[str, TestSetEstimates] = field(default_factory=dict)
    delivery_unknown: int = 0

    @property
    def policies(self) -> tuple[str, ...]:
        """Names of the policies, in the order in which they served."""
        return tuple(dict.fromkeys(row.policy for row in self.rows))

    def name_of(self, row: Row) -> str:
        """Return a row's symbol, with its policy where there are several."""
        return f"{row.symbol} ({row.policy})" if len(self.policies) > 1 else row.symbol

    def row(self, perturbation: str, policy: str | None = None) -> Row:
        """Return the row of a perturbation, and of a policy; that may be left out where there is one policy.

        Raises:
            KeyError: there is none.
        """
        if policy is None and len(self.policies) > 1:
            raise KeyError(f"name one of the policies {', '.join(self.policies)}")
        for row in self.rows:
            if row.perturbation == perturbation and policy in (None, row.policy):
                return row
        raise KeyError(f"no row '{perturbation}'; there are: {', '.join(r.perturbation for r in self.rows)}")


def summary_rows(
    table: pl.DataFrame,
    perturbations: dict[str, str],
    skipped: dict[str, int],
    metric: str,
    policy: str,
    refused: Mapping[str, Collection[str]] | None = None,
) -> tuple[Row, ...]:
    """Return the rows of a summary that belong to one policy.

    Args:
        table: its trials (``tables.trials_table``).
        perturbations: name -> symbol, in the order of the session, without ``base``.
        skipped: perturbation -> test instances that it could not be applied to.
        metric: the score whose differences to the base trials are taken.
        policy: its name.
        refused: perturbation -> the test instances that it could not be applied to; no row has a selection when left
            out.
    """
    base = table.filter(pl.col("perturbation") == BASE)
    rows = [_row(policy, BASE, BASE, base, skipped.get(BASE, 0))]
    for name, symbol in perturbations.items():
        perturbed = table.filter(pl.col("perturbation") == name)
        trials, of_base = perturbed.filter("counts"), base.filter("counts")
        difference, pairs = _difference(trials, of_base, metric)
        row = _row(policy, name, symbol, perturbed, skipped.get(name, 0))
        rows.append(
            replace(
                row,
                difference=difference,
                success_difference=_difference(trials, of_base, "success")[0],
                pairs=pairs,
                selection=_selection(trials, of_base, (refused or {}).get(name, ()), metric),
            )
        )
    rows.append(_row(policy, ALL, ALL, table, sum(skipped.values())))
    return tuple(rows)


def _row(
    policy: str,
    name: str,
    symbol: str,
    attempts: pl.DataFrame,
    skipped: int,
) -> Row:
    """Return a row without its differences to the base trials."""
    trials = attempts.filter("counts")
    share, independent = (
        (int(trials["success"].sum()), len(trials)),
        not trials["base_id"].is_duplicated().any(),
    )
    metres, seconds = float(attempts["setup_metres"].sum()), float(attempts["setup_seconds"].sum())
    return Row(
        perturbation=name,
        symbol=symbol,
        trials=len(trials),
        instances=trials["base_id"].n_unique(),
        skipped=skipped,
        success=wilson(*share) if independent else mean_score(trials, "success"),
        success_exact=clopper_pearson(*share) if independent else NO_ESTIMATE,
        spl=mean_score(trials, "spl"),
        progress=mean_score(trials, "progress"),
        ndtw=mean_score(trials, "ndtw"),
        collisions=float(trials["collisions"].mean()) if len(trials) else None,
        difference=NO_ESTIMATE,
        success_difference=NO_ESTIMATE,
        pairs=0,
        policy_faults=int((trials["outcome"] == Outcome.POLICY_FAULT.name).sum()),
        void=len(attempts) - len(trials),
        cost=float(attempts["setup_cost"].sum()),
        metres=metres,
        seconds=seconds,
        metres_per_trial=metres / len(trials) if len(trials) else None,
        seconds_per_trial=seconds / len(trials) if len(trials) else None,
        policy=policy,
    )


def _difference(trials: pl.DataFrame, base: pl.DataFrame, metric: str) -> tuple[Estimate, int]:
    """Return the mean paired difference to the instances' own base trials, and the number of pairs."""
    means = [t.group_by("base_id").agg(pl.col(metric).mean()) for t in (trials, base)]
    pairs = means[0].join(means[1], on="base_id", suffix="_of_base").drop_nulls().sort("base_id")
    return paired_difference(pairs[metric].to_numpy(), pairs[f"{metric}_of_base"].to_numpy()), len(pairs)


def _selection(trials: pl.DataFrame, base: pl.DataFrame, refused: Collection[str], metric: str) -> Selection | None:
    """Return which instances a perturbation was applied to; None where it was refused for none."""
    applied = set(trials["base_id"])
    groups = [base.filter(pl.col("base_id").is_in(list(ids))) for ids in (applied, set(refused) - applied)]
    means = [mean_score(group, metric) for group in groups]
    if means[1].mean is None:
        return None
    numbers = [group["base_id"].n_unique() for group in groups]
    return Selection(means[0], numbers[0], means[1], numbers[1], unpaired_difference(*means))
