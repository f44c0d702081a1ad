"""The test set's mean score, by three estimators.

``plain`` is the paper's estimate: the mean over all trials, base and perturbed (seed 000, section 3 and appendix A).
``base`` is the mean over base trials alone. ``adjusted`` takes the base trials, and from all trials the dependence of
scores on family, path length and perturbation (``statistics.prediction``). Each estimate states its bias.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from robocontrast_ros.analysis.estimates.scores import Scale, mean_score
from robocontrast_ros.configuration import ConfigurationError, load_configured, load_record
from robocontrast_ros.domain import BASE, ScoreSpec, TestInstance
from robocontrast_ros.domain.words import counted
from robocontrast_ros.runs.run_folder import TEST_SET, RunFolder
from robocontrast_ros.sessions.evaluation import Evaluation
from robocontrast_ros.sessions.schema import SessionParameters
from robocontrast_ros.statistics.estimate import Estimate
from robocontrast_ros.statistics.prediction import adjusted_mean
from robocontrast_ros.strategies.protocol import solved_at_start
from robocontrast_ros.strategies.standard import Standard
from robocontrast_ros.tasks.protocol import Task
from robocontrast_ros.tasks.recorded import load_instances

ALL_TRIALS, BASE_TRIALS, ADJUSTED = "all trials", "base trials", "adjusted"
"""Names of the estimators."""

BIASES = {
    ALL_TRIALS: "biased where perturbed trials are harder or easier than base trials",
    BASE_TRIALS: "unbiased where they start in the scenes of their own test instances",
    ADJUSTED: "unbiased for many instances; uses perturbed trials and the rest of X",
}
"""The bias of each estimator, in words."""

NOT_DRAWN = "the test set was not drawn again"

Runnable = tuple[TestInstance, ...]
"""The instances of the test set X that can be run, in the order of X."""


@dataclass(frozen=True)
class TestSetEstimates:
    """Estimates of one policy's mean score on base instances.

    Attributes:
        metric: name of the score.
        target: the mean that is estimated, in words.
        instances: N, number of runnable instances of the test set X; None if there is no ``adjusted``.
        run: n, number of those whose base trial ran and counts.
        plain: mean over all trials; interval for the mean of such trials.
        base: mean over base trials; interval for the mean over the domain that X was drawn from.
        base_of_test_set: the same mean; interval for the mean over X itself, which is narrower, because X is finite. It
            has no width if all of X was run (``no_sampling_error``). None if there is no ``adjusted``.
        adjusted: estimate of the mean over X itself; None for the reason in ``without``.
        adjusted_of_domain: the same for the domain.
        without: why there is no ``adjusted``, in words: X is unknown, the base trials are no random sample of it, or
            the score's range is open; else empty.
    """

    __test__ = False  # not a pytest class

    metric: str
    target: str
    instances: int | None
    run: int
    plain: Estimate
    base: Estimate
    base_of_test_set: Estimate | None
    adjusted: Estimate | None
    adjusted_of_domain: Estimate | None
    without: str = ""

    @property
    def by_name(self) -> tuple[tuple[str, Estimate | None, Estimate | None], ...]:
        """Name of each estimator, its estimate for the domain, and that for X."""
        return (
            (ALL_TRIALS, self.plain, None),
            (BASE_TRIALS, self.base, self.base_of_test_set),
            (ADJUSTED, self.adjusted_of_domain, self.adjusted),
        )

    @property
    def no_sampling_error(self) -> str:
        """Words in place of the interval for the mean over X, if all of X was run; else empty."""
        return f"all {self.run} run: no sampling error" if self.run and self.run == self.instances else ""


def draw_test_set(run: RunFolder) -> Runnable | str:
    """Return the test set of a run, drawn again from the run's own parameters; else why it cannot be drawn."""
    try:
        session = load_record(SessionParameters, run.session_file)
        task: Task = load_configured("tasks", run.parameters / "task.yaml")
        recorded = load_instances(run.parameters / f"{TEST_SET}.yaml", task) if session.test_set.file else ()
    except ConfigurationError as error:
        return f"the test set cannot be drawn again: {error}"
    drawn = Evaluation(session, task, Standard(), recorded=recorded)
    return tuple(x for x in drawn.test_set() if not solved_at_start(task, x))


def test_set_estimates(trials: pl.DataFrame, test_set: Runnable | str, metric: ScoreSpec) -> TestSetEstimates:
    """Return the estimates from one policy's trials.

    Args:
        trials: the table of its trials (``data.trials.trials_table``).
        test_set: X, or why it is unknown.
        metric: the score.
    """
    known = trials.filter(pl.col("counts") & pl.col(metric.column).is_not_null())
    base = known.filter(pl.col("perturbation") == BASE)
    plain, of_base = mean_score(known, metric), mean_score(base, metric)
    run = base["base_id"].n_unique()
    without = test_set if isinstance(test_set, str) else _unfit(base, test_set)
    if (known["cluster"] != known["base_id"]).any():
        without = "the skills of a chain share a scene, and predictions need independent test instances"
    if not metric.bounded:
        without = f"the range of {metric.symbol} is open, and predictions need its two ends"
    if without:
        target = "the mean over the domain that the test set was drawn from"
        return TestSetEstimates(metric.name, target, None, run, plain, of_base, None, None, None, without)
    kinds = sorted({*known["family"], *(x.instruction.family for x in test_set)})
    perturbations = sorted({*known["perturbation"]} - {BASE})
    covariates = _covariates(
        known["family"], known["optimal_path_length_m"], known["perturbation"], kinds, perturbations
    )
    families, lengths = ([x.instruction.family for x in test_set], [x.optimal_path_length for x in test_set])
    of_all = _covariates(families, lengths, [BASE] * len(test_set), kinds, perturbations)
    scale = Scale.of(metric)
    scores, groups = scale.scaled(known[metric.column].to_numpy()), known["base_id"].to_numpy()
    is_base = (known["perturbation"] == BASE).to_numpy()
    finite, domain = (
        adjusted_mean(scores, covariates, groups, is_base, of_all, finite=finite) for finite in (True, False)
    )
    nothing = covariates[is_base][:, :0]
    base_of_test_set = adjusted_mean(
        scores[is_base], nothing, groups[is_base], is_base[is_base], of_all[:, :0], finite=True
    )
    return TestSetEstimates(
        metric.name,
        f"the mean over the {counted(len(test_set), 'instance')} of the test set",
        len(test_set),
        run,
        plain,
        of_base,
        scale.mean(base_of_test_set),
        scale.mean(finite),
        scale.mean(domain),
    )


def _unfit(base: pl.DataFrame, test_set: Runnable) -> str:
    """Return why these base trials are no random sample of that test set; empty if they are."""
    if base.is_empty():
        return "no base trial was run"
    own = {x.instance_id: x for x in test_set}
    for base_id, instruction, length in base.select("base_id", "instruction", "optimal_path_length_m").iter_rows():
        x = own.get(base_id)
        if x is None or x.instruction.text != instruction:
            return f"the test set as it is drawn now has no instance {base_id} with the run's instruction"
        if length is not None and not np.isclose(length, x.optimal_path_length, rtol=1e-6, atol=1e-9):
            return f"the base trial of {base_id} did not start in the scene of its test instance"
    order = [x.instance_id for x in test_set]
    positions = [order.index(base_id) for base_id in base["base_id"].unique()]
    if max(positions) - min(positions) >= len(positions):
        return "the instances that were run are not consecutive in the shuffled order, so no random sample of X"
    return ""


def _covariates(
    families: Iterable[str],
    lengths: ArrayLike,
    perturbations: Iterable[str],
    kinds: Sequence[str],
    names: Sequence[str],
) -> NDArray[np.float64]:
    """Return the covariates of trials, shape (n, p).

    They are a column for each of the families ``kinds``, the optimal path length [m], 0 if it is unknown, and a column
    for each of the perturbations ``names``.
    """
    length = np.nan_to_num(np.asarray(lengths, dtype=float))[:, None]
    return np.hstack([_indicators(families, kinds), length, _indicators(perturbations, names)])


def _indicators(values: Iterable[str], names: Sequence[str]) -> NDArray[np.float64]:
    rows = [[value == name for name in names] for value in values]
    return np.array(rows, dtype=float).reshape(len(rows), len(names))
