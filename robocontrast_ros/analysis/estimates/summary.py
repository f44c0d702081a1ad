"""The summary of a run: mean scores for each perturbation with intervals, and the effort.

Intervals are 95 %. Trials of one test instance (its repeats, its perturbations) resemble each other, and so do the
skills of one chain, which share a scene. So test instances, or chains, are taken as independent: Wilson's interval with
an effective sample size (``statistics.clusters``). A single one has no interval, except for the success of one trial.
Void attempts count in no mean; their number is always given. No estimate is over the trials of more than one policy.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from robocontrast_ros.analysis.data.trials import ALL
from robocontrast_ros.analysis.estimates.effort import RunEffort
from robocontrast_ros.analysis.estimates.judges import Judges
from robocontrast_ros.analysis.estimates.scores import difference_to_base, mean_score
from robocontrast_ros.analysis.estimates.test_set import TestSetEstimates
from robocontrast_ros.analysis.estimates.thinking import LatencyCurve
from robocontrast_ros.domain import BASE, Outcome, ScoreSpec, find_spec
from robocontrast_ros.domain.words import counted
from robocontrast_ros.runs.events import SequentialTest, TrialCorrected
from robocontrast_ros.statistics.estimate import NO_ESTIMATE, Estimate
from robocontrast_ros.statistics.proportions import clopper_pearson, wilson
from robocontrast_ros.statistics.unpaired import unpaired_difference

SOLVED, NOT_SOLVED = "solved", "not solved"
"""Names of the rows of solved trials, and of the others that count."""

STOPPED = "†"
"""Mark of a session that ended as soon as its question was answered (``stop_early``)."""


@dataclass(frozen=True)
class Selection:
    """Base trials of the instances that a perturbation was applied to, and of those that it could not be applied to.

    Attributes:
        applied: mean of the session's metric over the base trials of the instances that it was applied to.
        applied_instances: number of these.
        refused: the same of those that it could not be applied to.
        refused_instances: number of these.
        difference: the first mean minus the second; if it is not near 0, easier or harder instances were selected.
    """

    applied: Estimate
    applied_instances: int
    refused: Estimate
    refused_instances: int
    difference: Estimate


@dataclass(frozen=True)
class SummaryRow:
    """The results of one perturbation's trials.

    Attributes:
        perturbation: ``base``, a perturbation's name, or ``all``.
        symbol: the paper's symbol of the perturbation; else the name.
        trials: number of trials that count.
        instances: test instances among them.
        skipped: number of test instances that the perturbation could not be applied to.
        scores: name of each score -> its mean over the trials that have it.
        success_exact: mean of success with Clopper and Pearson's interval; empty if an instance or a chain has several
            trials.
        difference: mean, over test instances, of the session's metric minus that of the instance's own base
            trials; empty for ``base`` and ``all``.
        success_difference: the same of success.
        pairs: test instances in these differences.
        policy_faults: number of trials that failed by a fault of the policy; they are among ``trials``.
        void: number of attempts that were void, or were cut off; they are not among ``trials``.
        cost: cost of the set-ups, void attempts included, in the session's unit.
        metres: the same as metres that objects were carried [m].
        seconds: the same as time of a person [s].
        metres_per_trial: ``metres`` over the trials that count [m]; None without one.
        seconds_per_trial: ``seconds`` over the trials that count [s]; None without one.
        policy: name of the policy that ran them (column `policy` of the table).
        selection: base scores of applied and refused instances; None if no refused instance has such a score.
    """

    perturbation: str
    symbol: str
    trials: int
    instances: int
    skipped: int
    scores: Mapping[str, Estimate]
    success_exact: Estimate
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

    def difference_of(self, score: ScoreSpec) -> Estimate:
        """Return the difference to base of one of the summary's ``shown`` scores."""
        return self.success_difference if score.name == "success" else self.difference

    @property
    def success(self) -> Estimate:
        """Share of trials that succeeded; Wilson's interval if each instance has one trial, else over instances."""
        return self.scores["success"]


@dataclass(frozen=True)
class Summary:
    """The summary of a run.

    Attributes:
        session: name of the session.
        robot: the robot's name in the session's parameters.
        policy: the policy's name, or the names of all that were swapped for one another.
        strategy: the strategy's name.
        seed: the session's seed.
        metric: name of the score that is shown.
        scores: descriptions of the session's scores, in the order of tables.
        cost_unit: ``m`` or ``s``.
        budget: K; None if there is none.
        ended: the end of the session, in words; empty before it.
        finished: whether the session ran to its end.
        rows: ``base``, each perturbation in the order of the session, ``all``; these for each policy, if there is
            more than one.
        outcomes: for each policy, the rows of all its solved trials and of all that are not solved.
        effort: the run's effort, beside that of a standard evaluation.
        estimates: policy -> the test set's performance as its trials estimate it.
        judges: agreement of the camera and the person; None if no camera judged, or no person did.
        corrections: the last correction of each trial whose judgement a person corrected.
        delivery_unknown: number of trials that count and whose delivery to the policy (instruction, images) is unknown.
        curves: success against emulated latency; empty if the session has no perturbations of several latencies.
        sequential: state of the test of ``stop_early`` when the session ended; None without one.
    """

    session: str
    robot: str
    policy: str
    strategy: str
    seed: int
    metric: str
    scores: tuple[ScoreSpec, ...]
    cost_unit: str
    budget: float | None
    ended: str
    finished: bool
    rows: tuple[SummaryRow, ...]
    effort: RunEffort
    outcomes: tuple[SummaryRow, ...] = ()
    estimates: Mapping[str, TestSetEstimates] = field(default_factory=dict)
    judges: Judges | None = None
    corrections: tuple[TrialCorrected, ...] = ()
    delivery_unknown: int = 0
    curves: tuple[LatencyCurve, ...] = ()
    sequential: SequentialTest | None = None

    @property
    def mark(self) -> str:
        """The mark at each interval of a session that its own outcomes ended; else empty."""
        return STOPPED if self.sequential is not None and self.sequential.decided else ""

    @property
    def stopped(self) -> str:
        """Meaning of the mark, with the interval to report in place of the marked ones; empty without a mark."""
        if not self.mark:
            return ""
        found = self.sequential
        minus = " minus that of the run it is compared with" if found.question == "compare_with" else ""
        return (
            f"{STOPPED} Stopped early by its own outcomes; the marked intervals hold for a number of trials that was "
            f"fixed beforehand. To report: mean {find_spec(self.scores, found.score).symbol} of base trials{minus} in "
            f"[{found.low:.2f}, {found.high:.2f}] (confidence sequence, error rate {found.error_rate:g}, "
            f"{counted(found.instances, 'test instance')})."
        )

    @property
    def metric_spec(self) -> ScoreSpec:
        """Description of the score that is shown."""
        return find_spec(self.scores, self.metric)

    @property
    def shown(self) -> tuple[ScoreSpec, ...]:
        """The scores of each row of tables: the metric, and success if that is another one."""
        return tuple({spec.name: spec for spec in (self.metric_spec, find_spec(self.scores, "success"))}.values())

    @property
    def policies(self) -> tuple[str, ...]:
        """Names of the policies, in the order in which they served."""
        return tuple(dict.fromkeys(row.policy for row in self.rows))

    def name_of(self, row: SummaryRow) -> str:
        """Return a row's symbol, with its policy if there are several."""
        return f"{row.symbol} ({row.policy})" if len(self.policies) > 1 else row.symbol

    def row(self, perturbation: str, policy: str | None = None) -> SummaryRow:
        """Return the row of a perturbation, and of a policy; that may be left out if there is one policy.

        Raises:
            KeyError: there is none, or no policy is given and there are several.
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
    scores: Sequence[ScoreSpec],
    metric: str,
    policy: str,
    refused: Mapping[str, Collection[str]] | None = None,
) -> tuple[SummaryRow, ...]:
    """Return the rows of a summary that belong to one policy.

    Args:
        table: its trials (``data.trials.trials_table``).
        perturbations: name -> symbol, in the order of the session, without ``base``.
        skipped: perturbation -> number of test instances that it could not be applied to.
        scores: the scores to take means of; those without a column are left out.
        metric: name of the score whose differences to the base trials are taken.
        policy: its name.
        refused: perturbation -> the test instances that it could not be applied to; if left out, no row has a
            selection.
    """
    scores = [spec for spec in scores if spec.column in table.columns]
    shown, success = find_spec(scores, metric), find_spec(scores, "success")
    base = table.filter(pl.col("perturbation") == BASE)
    rows = [_row(policy, BASE, BASE, base, skipped.get(BASE, 0), scores)]
    for name, symbol in perturbations.items():
        perturbed = table.filter(pl.col("perturbation") == name)
        trials, of_base = perturbed.filter("counts"), base.filter("counts")
        difference, pairs = difference_to_base(trials, of_base, shown)
        row = _row(policy, name, symbol, perturbed, skipped.get(name, 0), scores)
        rows.append(
            replace(
                row,
                difference=difference,
                success_difference=difference_to_base(trials, of_base, success)[0],
                pairs=pairs,
                selection=_selection(trials, of_base, (refused or {}).get(name, ()), shown),
            )
        )
    rows.append(_row(policy, ALL, ALL, table, sum(skipped.values()), scores))
    return tuple(rows)


def outcome_rows(table: pl.DataFrame, scores: Sequence[ScoreSpec], policy: str) -> tuple[SummaryRow, ...]:
    """Return a row of a policy's solved trials and one of those not solved, without differences to base trials.

    The arguments are those of ``summary_rows``. A row without a trial is left out; none has an estimate of success, by
    which its trials were chosen.
    """
    scores = [spec for spec in scores if spec.column in table.columns]
    solved = pl.col(find_spec(scores, "success").column).cast(pl.Float64) == 1.0
    parts = (
        (name, table.filter(pl.col("counts") & which)) for name, which in ((SOLVED, solved), (NOT_SOLVED, ~solved))
    )
    rows = (_row(policy, name, name, part, 0, scores) for name, part in parts if len(part))
    return tuple(replace(row, scores={**row.scores, "success": NO_ESTIMATE}, success_exact=NO_ESTIMATE) for row in rows)


def _row(
    policy: str,
    name: str,
    symbol: str,
    attempts: pl.DataFrame,
    skipped: int,
    scores: Sequence[ScoreSpec],
) -> SummaryRow:
    """Return a row without its differences to the base trials."""
    trials = attempts.filter("counts")
    share, independent = (
        (int(trials["success"].sum()), len(trials)),
        not trials["cluster"].is_duplicated().any(),
    )
    metres, seconds = float(attempts["setup_metres"].sum()), float(attempts["setup_seconds"].sum())
    return SummaryRow(
        perturbation=name,
        symbol=symbol,
        trials=len(trials),
        instances=trials["base_id"].n_unique(),
        skipped=skipped,
        scores={spec.name: mean_score(trials, spec) for spec in scores}
        | ({"success": wilson(*share)} if independent else {}),
        success_exact=clopper_pearson(*share) if independent else NO_ESTIMATE,
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


def _selection(
    trials: pl.DataFrame, base: pl.DataFrame, refused: Collection[str], score: ScoreSpec
) -> Selection | None:
    """Return the base scores of a perturbation's applied and refused instances; None without a score of the latter."""
    applied = set(trials["base_id"])
    groups = [base.filter(pl.col("base_id").is_in(list(ids))) for ids in (applied, set(refused) - applied)]
    means = [mean_score(group, score) for group in groups]
    if means[1].mean is None:
        return None
    numbers = [group["base_id"].n_unique() for group in groups]
    return Selection(means[0], numbers[0], means[1], numbers[1], unpaired_difference(*means))
