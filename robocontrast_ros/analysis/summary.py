"""What a run says about the policy: mean SPL and success for each perturbation, with intervals.

Intervals are 95 %. For success they are Wilson's, which take trials as independent. For SPL they are
bootstrap intervals over test instances: whole instances are drawn again, with all their trials, because
the trials of one instance (its repeats, its perturbations) resemble each other. One test instance alone
has no bootstrap interval. Void attempts count in no mean; their number always stands beside it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import stats

from robocontrast_ros.domain import BASE, Outcome

CONFIDENCE = 0.95
RESAMPLES = 9999
BOOTSTRAP_SEED = 0

ALL = "all"
"""Name of the row over base and perturbed trials together."""


@dataclass(frozen=True)
class Estimate:
    """A mean and its interval.

    Attributes:
        mean: None when there is no trial.
        low: lower end of the 95 % interval; None when there is none.
        high: upper end.
    """

    mean: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Row:
    """What the trials of one perturbation say.

    Attributes:
        perturbation: ``base``, a perturbation's name, or ``all``.
        trials: trials that count.
        instances: test instances among them.
        skipped: test instances that the perturbation could not be applied to.
        success: share of trials that succeeded.
        spl: mean success weighted by path length.
        difference: mean, over test instances, of SPL less that of the instance's own base trials; empty
            for ``base`` and ``all``.
        pairs: test instances in that difference.
        policy_faults: trials that failed by a fault of the policy; they are among ``trials``.
        void: attempts that were void, or were cut off; they are not among ``trials``.
        cost: what was spent on set-ups, void attempts included.
    """

    perturbation: str
    trials: int
    instances: int
    skipped: int
    success: Estimate
    spl: Estimate
    difference: Estimate
    pairs: int
    policy_faults: int
    void: int
    cost: float


@dataclass(frozen=True)
class Summary:
    """What a run says.

    Attributes:
        session: name of the session.
        robot: the robot's name in the session's parameters.
        policy: the policy's.
        strategy: the strategy's.
        seed: the session's seed.
        cost_unit: ``m`` or ``s``.
        budget: K; None when there is none.
        ended: how the session ended, in words; empty while it has not.
        finished: whether all that was asked was run.
        rows: ``base``, each perturbation in the order of the session, ``all``.
    """

    session: str
    robot: str
    policy: str
    strategy: str
    seed: int
    cost_unit: str
    budget: float | None
    ended: str
    finished: bool
    rows: tuple[Row, ...]

    def row(self, perturbation: str) -> Row:
        """Return the row of a perturbation.

        Raises:
            KeyError: there is none.
        """
        for row in self.rows:
            if row.perturbation == perturbation:
                return row
        raise KeyError(f"no row '{perturbation}'; there are: {', '.join(r.perturbation for r in self.rows)}")


def summary_rows(
    table: pl.DataFrame, perturbations: tuple[str, ...], skipped: dict[str, int]
) -> tuple[Row, ...]:
    """Return the rows of a summary.

    Args:
        table: the trials (``tables.trials_table``).
        perturbations: names in the order of the session, without ``base``.
        skipped: perturbation -> test instances that it could not be applied to.
    """
    base = table.filter(pl.col("perturbation") == BASE)
    rows = [_row(BASE, base, base, skipped.get(BASE, 0))]
    for name in perturbations:
        rows.append(_row(name, table.filter(pl.col("perturbation") == name), base, skipped.get(name, 0)))
    rows.append(_row(ALL, table, base, sum(skipped.values())))
    return tuple(rows)


def success_estimate(successes: int, trials: int) -> Estimate:
    """Return the share and Wilson's interval."""
    if not trials:
        return Estimate()
    interval = stats.binomtest(successes, trials).proportion_ci(CONFIDENCE, method="wilson")
    return Estimate(successes / trials, float(interval.low), float(interval.high))


def mean_estimate(values: NDArray[np.float64], groups: NDArray[np.str_]) -> Estimate:
    """Return the mean of the values and its bootstrap interval over the groups.

    Args:
        values: shape (n,).
        groups: the group of each value, shape (n,); groups are drawn whole.
    """
    if not len(values):
        return Estimate()
    mean = float(np.mean(values))
    _, group = np.unique(groups, return_inverse=True)
    sums, counts = np.bincount(group, values), np.bincount(group)
    if len(sums) < 2:
        return Estimate(mean)
    interval = stats.bootstrap(
        (sums, counts),
        _ratio,
        paired=True,
        vectorized=True,
        n_resamples=RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(BOOTSTRAP_SEED),
    ).confidence_interval
    return Estimate(mean, float(interval.low), float(interval.high))


def _ratio(sums: NDArray[np.float64], counts: NDArray[np.int64], axis: int = -1) -> NDArray[np.float64]:
    return np.sum(sums, axis=axis) / np.sum(counts, axis=axis)


def _row(name: str, attempts: pl.DataFrame, base: pl.DataFrame, skipped: int) -> Row:
    trials = attempts.filter("counts")
    difference, pairs = Estimate(), 0
    if name not in (BASE, ALL):
        difference, pairs = _difference(trials, base.filter("counts"))
    return Row(
        perturbation=name,
        trials=len(trials),
        instances=trials["base_id"].n_unique(),
        skipped=skipped,
        success=success_estimate(int(trials["success"].sum()), len(trials)),
        spl=mean_estimate(trials["spl"].to_numpy(), trials["base_id"].to_numpy()),
        difference=difference,
        pairs=pairs,
        policy_faults=int((trials["outcome"] == Outcome.POLICY_FAULT.name).sum()),
        void=len(attempts) - len(trials),
        cost=float(attempts["setup_cost"].sum()),
    )


def _difference(trials: pl.DataFrame, base: pl.DataFrame) -> tuple[Estimate, int]:
    """Return the mean paired difference to the instances' own base trials, and the number of pairs."""
    means = [t.group_by("base_id").agg(pl.col("spl").mean()) for t in (trials, base)]
    pairs = means[0].join(means[1], on="base_id", suffix="_of_base").sort("base_id")
    differences = (pairs["spl"] - pairs["spl_of_base"]).to_numpy()
    return mean_estimate(differences, pairs["base_id"].to_numpy()), len(pairs)


def running_estimates(table: pl.DataFrame) -> pl.DataFrame:
    """Return how the estimate of mean SPL grew with cost.

    Columns: ``cumulative_cost``, ``mean_spl`` (all trials so far), ``mean_spl_base`` (base trials so
    far; null before the first), one row a trial that counts.
    """
    trials = table.filter("counts")
    is_base = pl.col("perturbation") == BASE
    base_spl = pl.when(is_base).then(pl.col("spl")).otherwise(0.0)
    return trials.select(
        "cumulative_cost",
        (pl.col("spl").cum_sum() / pl.int_range(1, pl.len() + 1)).alias("mean_spl"),
        pl.when(is_base.cum_sum() > 0).then(base_spl.cum_sum() / is_base.cum_sum()).alias("mean_spl_base"),
    )
