"""Comparison of runs on the same test set, trial by trial and perturbation by perturbation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from robocontrast_ros.analysis.estimates.carry_over import CarryOver, adjusted, agreement, carry_over
from robocontrast_ros.analysis.estimates.observation_shift import pairs_of, pooled_of, shifting
from robocontrast_ros.analysis.estimates.profile import ComparedProfile, compared_profile
from robocontrast_ros.analysis.estimates.results import Results
from robocontrast_ros.analysis.estimates.scores import (
    draws,
    pairs_with_base,
    score_bootstrap,
    score_change_difference,
    score_difference,
    score_mean,
)
from robocontrast_ros.analysis.estimates.summary import ALL
from robocontrast_ros.domain import BASE, ScoreSpec, find_spec
from robocontrast_ros.runs.events import SessionStarted
from robocontrast_ros.statistics.change_agreement import ChangeAgreement
from robocontrast_ros.statistics.clusters import cluster_mean
from robocontrast_ros.statistics.estimate import NO_ESTIMATE, Estimate
from robocontrast_ros.statistics.multiplicity import holm

if TYPE_CHECKING:
    from robocontrast_ros.statistics.decisions import Decision

KEY = ("base_id", "perturbation", "repeat")
SAME_PATH = 1e-6
"""Difference of planned paths below which trials have the same start [m]."""


class ComparisonError(ValueError):
    """Two runs that cannot be compared; the message names both, the difference, and the cure."""


@dataclass(frozen=True)
class Adjusted:
    """The p-values of a row, adjusted by Holm's procedure for all tests of the same kind (``compare_all``).

    Each is None if nothing was tested, or if it is the only test of its family.

    Attributes:
        bootstrap: p-value of the paired bootstrap of the metric.
        success_bootstrap: p-value of the paired bootstrap of success.
        mcnemar: p-value of McNemar's test.
        boschloo: p-value of Boschloo's test.
    """

    bootstrap: float | None = None
    success_bootstrap: float | None = None
    mcnemar: float | None = None
    boschloo: float | None = None


TESTS = tuple(field.name for field in fields(Adjusted))
"""Names of the tests in ``ComparedRow`` and ``Adjusted``."""


@dataclass(frozen=True)
class ComparedChange:
    """The change of a score by a perturbation, in each of two runs, from the same instances' base trials.

    Only pairs count: trials that both runs have. Repeats of an instance are averaged.

    Attributes:
        instances: base instances that have pairs under the perturbation and as base trials.
        first: mean, over them, of the first run's perturbed score minus its base score.
        second: the same of the second run.
        difference: mean, over them, of the first run's change minus the second's: the difference in differences. With
            oracle's run as the second it is the policy's loss beyond the loss of any robot.
        carry_over: whether the first run's change carries over to the second; None unless it is asked.
    """

    instances: int
    first: Estimate
    second: Estimate
    difference: Estimate
    carry_over: CarryOver | None = None


@dataclass(frozen=True)
class ComparedShift:
    """The pooled RPD of two runs by one modification of scenes, or in chains, on the trials that both have.

    Attributes:
        perturbation: the perturbation's name, or ``chain``.
        symbol: the paper's symbol of it; else the name.
        skills: number of skills.
        pairs: number of pairs of a base trial and one in a changed scene.
        first: RPD of the first run's mean rates; empty, which is undefined, if it solves no base trial of them.
        second: the same of the second run.
    """

    perturbation: str
    symbol: str
    skills: int
    pairs: int
    first: Estimate
    second: Estimate


NO_CHANGE = ComparedChange(0, NO_ESTIMATE, NO_ESTIMATE, NO_ESTIMATE)


@dataclass(frozen=True)
class ComparedRow:
    """The comparison on the common trials of one perturbation.

    Attributes:
        perturbation: ``base``, a perturbation's name, or ``all``.
        symbol: the paper's symbol of it; else the name.
        pairs: number of trials that both runs have.
        instances: base instances among them.
        same_start: pairs whose instruction and planned path are the same; the others start in the scene that each
            policy's own previous trial left.
        first: the first run's mean of the metric over the pairs.
        second: the second run's.
        difference: mean, over the pairs, of the first minus the second.
        first_success: the first run's share of successes.
        second_success: the second's.
        success_difference: mean difference of the two.
        bootstrap: paired bootstrap of the metric; base instances are drawn whole.
        success_bootstrap: the same of success.
        mcnemar: exact test of paired success; without a p-value if pairs share base instances (``all``,
            repeats), because it takes pairs as independent.
        boschloo: exact test of success that ignores the pairing; without a p-value in the same case.
        change: change of the metric from the instances' own base trials; empty for ``base`` and ``all``.
        success_change: the same of success.
        adjusted: the p-values of the four tests, adjusted for the number of tests.
    """

    perturbation: str
    symbol: str
    pairs: int
    instances: int
    same_start: int
    first: Estimate
    second: Estimate
    difference: Estimate
    first_success: Estimate
    second_success: Estimate
    success_difference: Estimate
    bootstrap: Decision
    success_bootstrap: Decision
    mcnemar: Decision
    boschloo: Decision
    change: ComparedChange = NO_CHANGE
    success_change: ComparedChange = NO_CHANGE
    adjusted: Adjusted = Adjusted()


@dataclass(frozen=True)
class Comparison:
    """The comparison of two runs.

    Attributes:
        first: the first run's policy.
        second: the second run's.
        first_run: name of the first run's folder.
        second_run: name of the second's.
        metric: name of the score that is compared.
        metric_spec: its description.
        seed: the seed of both sessions.
        rows: ``base``, each common perturbation in the order of the first session, ``all``.
        only_first: number of the first run's trials that count and have no partner.
        only_second: the same of the second.
        shifts: one a modification of scenes, in the order of the first session, and one of chains; empty without.
        profile: both by what problems ask of a policy; None if they have no profiles.
        margin: the largest difference of changes that does not matter; None unless it is asked whether they carry over.
        agreement: how the runs' changes of the metric agree over perturbations; None unless that is asked, and with
            fewer than three.
        success_agreement: the same of success.
        first_world: the first run's robot, scene backend and pacing, in words.
        second_world: the second's.
    """

    first: str
    second: str
    first_run: str
    second_run: str
    metric: str
    metric_spec: ScoreSpec
    seed: int
    rows: tuple[ComparedRow, ...]
    only_first: int
    only_second: int
    shifts: tuple[ComparedShift, ...] = ()
    profile: ComparedProfile | None = None
    margin: float | None = None
    agreement: ChangeAgreement | None = None
    success_agreement: ChangeAgreement | None = None
    first_world: str = ""
    second_world: str = ""

    @property
    def of_success(self) -> bool:
        """Whether the metric is success, which the tables then show once."""
        return self.metric == "success"

    def row(self, perturbation: str) -> ComparedRow:
        """Return the row of a perturbation.

        Raises:
            KeyError: there is none.
        """
        for row in self.rows:
            if row.perturbation == perturbation:
                return row
        raise KeyError(f"no row '{perturbation}'; there are: {', '.join(r.perturbation for r in self.rows)}")


def check_distinct(runs: Sequence[tuple[str, SessionStarted]]) -> None:
    """Refuse a run that is named twice, for example by another path, by a link, or by a copy of its folder.

    Args:
        runs: name of each run, and the first event of its journal, which has the start time.

    Raises:
        ComparisonError: two of them are the same.
    """
    for number, (name, started) in enumerate(runs):
        for other, begun in runs[:number]:
            if started == begun:
                raise ComparisonError(
                    f"The runs {other} and {name} are the same run: both journals begin with the same session, "
                    f"started at the same time. Name two sessions; `robocontrast report {other}` shows one."
                )


def compare_all(first: Results, others: Sequence[Results], margin: float | None = None) -> tuple[Comparison, ...]:
    """Compare a run with each of the others, on the trials that both have.

    Trials are partners if base instance, perturbation and repeat are the same, and both count.

    p-values are adjusted by Holm's procedure within families. A family is one kind of test (the paired bootstrap of the
    metric, or of success, McNemar's, Boschloo's) of the base trials and of each perturbation, for all the other runs
    together. The rows ``all`` use the same trials again, one test for each other run: they are a second family.

    Args:
        first: the first run's results.
        others: the results of each other run.
        margin: the largest difference of changes that does not matter, as a share of the score's range, in (0, 1), if
            it is asked whether the first run's changes from base carry over to the others; None if not.

    Raises:
        ComparisonError: runs have different tasks, seeds, families, test sets or metrics, have no trial in common, or
            one had several policies.
    """
    return _adjusted([_compare(first, other, margin) for other in others])


def _adjusted(comparisons: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """Return the comparisons with p-values that are adjusted for their number."""
    rows = [(number, row) for number, one in enumerate(comparisons) for row in one.rows]
    found: list[list[ComparedRow]] = [[] for _ in comparisons]
    # Comparisons keep the order of their rows: `all` is the last of each.
    for overall in (False, True):
        family = [(number, row) for number, row in rows if (row.perturbation == ALL) is overall]
        columns = {test: holm([getattr(row, test).p_value for _, row in family]) for test in TESTS}
        for position, (number, row) in enumerate(family):
            values = {test: column[position] for test, column in columns.items()}
            found[number].append(replace(row, adjusted=Adjusted(**values)))
    for change in ("change", "success_change"):
        _adjust_carry_over(found, change)
    return tuple(replace(one, rows=tuple(own)) for one, own in zip(comparisons, found, strict=True))


def _adjust_carry_over(found: Sequence[list[ComparedRow]], change: str) -> None:
    """Put adjusted p-values into the rows that say whether a change carries over: one family a score."""
    asked = [
        (own, number, getattr(row, change))
        for own in found
        for number, row in enumerate(own)
        if getattr(row, change).carry_over is not None
    ]
    values = adjusted([one.carry_over for _, _, one in asked])
    for (own, number, one), value in zip(asked, values, strict=True):
        own[number] = replace(own[number], **{change: replace(one, carry_over=value)})


def _compare(a: Results, b: Results, margin: float | None) -> Comparison:
    """Return the comparison of two runs, without adjusted p-values.

    Raises:
        ComparisonError: as ``compare_all``.
    """
    check_match(a, b)
    metric, names = a.summary.metric_spec, (_name(a), _name(b))
    first, second = (_counting(r, metric) for r in (a, b))
    pairs = first.join(second, on=KEY, suffix="_of_second", maintain_order="left")
    if pairs.is_empty():
        raise _mismatch(
            names,
            "have no trial in common",
            "Run both far enough that the same test instance counts in both; "
            "`robocontrast results` lists what was run.",
        )
    base = pairs.filter(pl.col("perturbation") == BASE)
    other = base.filter(pl.col("instruction") != pl.col("instruction_of_second"))
    if len(other):
        x, one, two = other.select("base_id", "instruction", "instruction_of_second").row(0)
        raise _mismatch(
            names,
            f"have different test sets: {x} is '{one}' in the first and '{two}' in the second",
            "Run both with the same version of the task.",
        )
    symbols = {row.perturbation: row.symbol for row in (*b.summary.rows, *a.summary.rows)}
    success = find_spec(a.summary.scores, "success")
    order = (row.perturbation for row in a.summary.rows if row.perturbation not in (BASE, ALL))
    rows = [
        replace(
            _row(name, symbols[name], found, metric),
            change=NO_CHANGE if name == BASE else _change(found, base, metric, margin),
            success_change=NO_CHANGE if name == BASE else _change(found, base, success, margin),
        )
        for name in (BASE, *order)
        if len(found := pairs.filter(pl.col("perturbation") == name))
    ]
    return Comparison(
        first=a.summary.policies[0],
        second=b.summary.policies[0],
        first_run=names[0],
        second_run=names[1],
        metric=metric.name,
        metric_spec=metric,
        seed=a.summary.seed,
        rows=(*rows, _row(ALL, ALL, pairs, metric)),
        only_first=len(first) - len(pairs),
        only_second=len(second) - len(pairs),
        shifts=tuple(_shifts(first, second, symbols)),
        profile=compared_profile(a, b, KEY),
        margin=margin,
        agreement=None if margin is None else _agreement(pairs, metric),
        success_agreement=None if margin is None else _agreement(pairs, success),
        first_world=_world(a),
        second_world=_world(b),
    )


def check_match(a: Results, b: Results) -> None:
    """Refuse runs whose test sets or metrics cannot be the same, and a run of several policies.

    Raises:
        ComparisonError: a run has several policies, or they differ in task, seed, families or metric.
    """
    names = _name(a), _name(b)
    for results, name in zip((a, b), names, strict=True):
        if len(results.summary.policies) > 1:
            raise _mismatch(
                names,
                f"cannot be compared: {name} was run by {', '.join(results.summary.policies)} in turn, each on other "
                "test instances",
                "Run a session of its own for each policy.",
            )
    for what, key in (("tasks", "task"), ("seeds", "seed"), ("families of instructions", "families")):
        one, two = (_asked(results)[key] for results in (a, b))
        if one != two:
            raise _mismatch(
                names,
                f"have different {what}: {one} and {two}",
                f"Run both sessions with the same {key}; policy, strategy and the number of instances may differ.",
            )
    if a.summary.metric != b.summary.metric:
        raise _mismatch(
            names,
            f"have different metrics: {a.summary.metric} and {b.summary.metric}",
            "Run both with the same version of the task.",
        )


def _mismatch(names: tuple[str, str], what: str, cure: str) -> ComparisonError:
    return ComparisonError(f"The runs {names[0]} and {names[1]} {what}. {cure}")


def _name(results: Results) -> str:
    return results.run.name or results.summary.session


def _world(results: Results) -> str:
    recorded = results.record.recorded
    return f"{Path(recorded.robot).stem or 'unknown robot'}, {recorded.backend}, {recorded.pacing}"


def _asked(results: Results) -> dict[str, str]:
    recorded = results.record.recorded
    return {
        # A task's file may be named by its path, which differs between machines; its name does not.
        "task": recorded.task_name or recorded.task,
        "seed": str(results.summary.seed),
        "families": ", ".join(recorded.families or ()) or "all",
    }


def _counting(results: Results, metric: ScoreSpec) -> pl.DataFrame:
    return results.trials.filter(pl.col("counts") & pl.col(metric.column).is_not_null())


def _row(name: str, symbol: str, pairs: pl.DataFrame, metric: ScoreSpec) -> ComparedRow:
    # It imports scipy.stats, which takes long, and the page of one run, which imports this module, compares nothing.
    from robocontrast_ros.statistics.decisions import BOSCHLOO, MCNEMAR, Decision, boschloo, mcnemar, paired_bootstrap

    clusters = pairs["cluster"].to_numpy()
    first, second = pairs[metric.column].to_numpy(), pairs[f"{metric.column}_of_second"].to_numpy()
    succeeded, succeeded_second = pairs["success"].to_numpy(), pairs["success_of_second"].to_numpy()
    instances = pairs["base_id"].n_unique()
    same = (pl.col("instruction") == pl.col("instruction_of_second")) & (
        (pl.col("optimal_path_length_m") - pl.col("optimal_path_length_m_of_second")).abs() < SAME_PATH
    )
    success = paired_bootstrap(succeeded, succeeded_second, clusters, draws())
    independent = pairs["cluster"].n_unique() == len(pairs)
    if independent:
        exact = mcnemar(succeeded, succeeded_second)
        unpaired = boschloo(int(succeeded.sum()), len(pairs), int(succeeded_second.sum()), len(pairs))
    else:
        exact = Decision(MCNEMAR, None, success.difference, len(pairs))
        unpaired = Decision(BOSCHLOO, None, NO_ESTIMATE, 2 * len(pairs))
    return ComparedRow(
        perturbation=name,
        symbol=symbol,
        pairs=len(pairs),
        instances=instances,
        same_start=len(pairs.filter(same)),
        first=score_mean(first, clusters, metric),
        second=score_mean(second, clusters, metric),
        difference=score_difference(first, second, metric, clusters),
        first_success=cluster_mean(succeeded, clusters),
        second_success=cluster_mean(succeeded_second, clusters),
        success_difference=success.difference,
        bootstrap=score_bootstrap(first, second, clusters, metric, draws()),
        success_bootstrap=success,
        mcnemar=exact,
        boschloo=unpaired,
    )


def _shifts(first: pl.DataFrame, second: pl.DataFrame, symbols: Mapping[str, str]) -> Iterator[ComparedShift]:
    """Yield the pooled RPDs on the trials that both tables have."""
    common = (first.join(second, on=KEY, how="semi"), second.join(first, on=KEY, how="semi"))
    for name in shifting(common[0]):
        pairs = [pairs_of(trials, name) for trials in common]
        if all(map(len, pairs)):
            one, other = (pooled_of(own).rpd for own in pairs)
            yield ComparedShift(name, symbols[name], pairs[0]["skill"].n_unique(), len(pairs[0]), one, other)


def _change(perturbed: pl.DataFrame, base: pl.DataFrame, score: ScoreSpec, margin: float | None) -> ComparedChange:
    """Return the change of a score in both runs from the base pairs of the same instances."""
    first, second = score.column, f"{score.column}_of_second"
    both = pairs_with_base(perturbed, base, first, second)
    if both.is_empty():
        return NO_CHANGE
    scores = {name: both[name].to_numpy() for name in both.columns if name != "base_id"}
    changes = [scores[name] - scores[f"{name}_of_base"] for name in (first, second)]
    clusters = scores["cluster"]
    found = ComparedChange(
        instances=len(both),
        first=score_difference(scores[first], scores[f"{first}_of_base"], score, clusters),
        second=score_difference(scores[second], scores[f"{second}_of_base"], score, clusters),
        difference=score_change_difference(*changes, score, clusters),
    )
    if margin is None:
        return found
    return replace(found, carry_over=carry_over(*changes, clusters, score, margin, found.first))


def _agreement(pairs: pl.DataFrame, score: ScoreSpec) -> ChangeAgreement | None:
    """Return how the changes of a score in both runs agree over perturbations."""
    first, second = score.column, f"{score.column}_of_second"
    base = pairs.filter(pl.col("perturbation") == BASE)
    both = {
        str(name): pairs_with_base(perturbed, base, first, second)
        for (name,), perturbed in pairs.group_by("perturbation", maintain_order=True)
        if name != BASE
    }
    changes = {
        name: table.select(
            "base_id",
            "cluster",
            first=pl.col(first) - pl.col(f"{first}_of_base"),
            second=pl.col(second) - pl.col(f"{second}_of_base"),
        )
        for name, table in both.items()
        if len(table)
    }
    return agreement(changes) if changes else None
