"""The results of a study: a row for each strategy, estimator, perturbation and claim, with each policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import get_args

import numpy as np
import polars as pl

from robocontrast_ros.statistics.estimate import Estimate
from robocontrast_ros.studies.claims import Decided
from robocontrast_ros.studies.curves import Curve, draw_curves
from robocontrast_ros.studies.evidence import Evidence
from robocontrast_ros.studies.figures import Picture
from robocontrast_ros.studies.job import Job, SessionOfStudy
from robocontrast_ros.studies.measures import Bias, PairedSensitivity, Selection, TrialsRatio
from robocontrast_ros.studies.orders import Estimator
from robocontrast_ros.studies.parameters import Study, StudyParameters
from robocontrast_ros.studies.seed_run import Cost, SeedRun

BOOTSTRAP_SEED = 0

UNITS: dict[Cost, str] = {"metres": "m", "seconds": "s"}
"""Cost that claims may name -> its unit; the unit of ``budget`` is the cost model's."""


@dataclass(frozen=True)
class StrategyRow:
    """One strategy with one policy.

    Attributes:
        policy: name of the policy.
        strategy: label of the strategy.
        trials: number of trials, per seed.
        cost: cost of all set-ups, per seed.
        within: number of trials within the cost of the standard evaluation, per seed.
        ratio: trials for the cost of one trial of the standard evaluation.
        bias: mean of all trials minus the test-set mean.
        error: mean absolute error at the end, over seeds.
    """

    policy: str
    strategy: str
    trials: tuple[int, ...]
    cost: tuple[float, ...]
    within: tuple[int, ...]
    ratio: Estimate
    bias: Estimate
    error: float


@dataclass(frozen=True)
class ErrorRow:
    """Error of an estimator of the contrast set at equal cost, mean over random orders of the test set.

    Attributes:
        policy: name of the policy.
        estimator: ``plain``, ``base`` or ``adjusted``.
        error: its mean absolute error; None if it has none.
        standard: mean absolute error of the standard evaluation's running mean; None likewise.
        difference: ``error`` minus ``standard``.
    """

    policy: str
    estimator: Estimator
    error: float | None
    standard: float | None
    difference: Estimate


@dataclass(frozen=True)
class PerturbationRow:
    """One perturbation of the contrast set with one policy.

    Attributes:
        policy: name of the policy.
        symbol: symbol of the perturbation.
        applied: number of base instances to which it could be applied, all seeds together.
        refused: number of base instances to which it could not be applied.
        base_applied: mean base score of the instances in ``applied``; None if there are none.
        base_refused: mean base score of the instances in ``refused``; None if there are none.
        selection: ``base_applied`` minus ``base_refused``.
        change: mean score minus that of the instances' own base trials.
        change_of_success: ``change`` of success in place of the score.
        beyond_control: ``change`` minus that of the control; empty for the control, or without one.
        beyond_control_of_success: ``change_of_success`` minus that of the control; empty likewise.
    """

    policy: str
    symbol: str
    applied: int
    refused: int
    base_applied: float | None
    base_refused: float | None
    selection: Estimate
    change: Estimate
    change_of_success: Estimate
    beyond_control: Estimate
    beyond_control_of_success: Estimate


@dataclass(frozen=True)
class StudyResults:
    """The results of a study.

    Attributes:
        metric: name of the score.
        metric_symbol: its symbol in figures.
        unit: of costs.
        control: name of the policy that is the control; empty if there is none.
        beside: names of further policies for which no claims are decided.
        sessions: the sessions of all jobs.
        strategies: a row for each policy and strategy.
        errors: a row for each policy and estimator of the contrast set.
        perturbations: a row for each policy and perturbation of the contrast set.
        decided: a row for each claim and policy, ordered by claim.
    """

    metric: str
    metric_symbol: str
    unit: str
    control: str
    beside: tuple[str, ...]
    sessions: tuple[SessionOfStudy, ...]
    strategies: tuple[StrategyRow, ...]
    errors: tuple[ErrorRow, ...]
    perturbations: tuple[PerturbationRow, ...]
    decided: tuple[Decided, ...]

    @property
    def asked(self) -> int:
        """Number of trials that strategies asked for and that count."""
        return sum(session.trials for session in self.sessions)

    @property
    def simulated(self) -> int:
        """Number of trials that were simulated."""
        return sum(session.simulated for session in self.sessions)


@dataclass(frozen=True, eq=False)
class Analysis:
    """Results, curves and figures of a study.

    Attributes:
        results: the tables.
        curves: policy -> error and trials against the budget's cost.
        pictures: end of a file's name (policy, and the cost unless it is the budget's) -> data of the figures.
    """

    results: StudyResults
    curves: Mapping[str, tuple[Curve, ...]]
    pictures: Mapping[str, Picture]


def analyse(study: Study, read: Mapping[Job, tuple[pl.DataFrame, Sequence[SessionOfStudy]]]) -> Analysis:
    """Analyse the trials of a study.

    Args:
        study: the study.
        read: for each job, its trials and its sessions (``JobFiles.read``).
    """
    parameters = study.parameters
    some = study.session(next(iter(study.policies)), parameters.contrast, parameters.seeds[0], None)
    metric, unit = some.evaluation().metric_spec, some.cost_model.unit
    symbols = {perturbation.name: perturbation.symbol for perturbation in some.perturbations}
    labels = [strategy.label for strategy in parameters.strategies]
    columns = {score.spec.name: score.spec.column for score in some.scores} | {"metric": metric.column}
    instances, profiles = _instances(read), some.task.profiles
    difficulty = None if profiles is None else {name: float(profile.score) for name, profile in profiles.items()}

    def same(cost: Cost) -> Cost:
        """Return ``budget`` if the cost is in the budget's unit, else the cost."""
        return "budget" if UNITS.get(cost) == unit else cost

    costs: list[Cost] = list(dict.fromkeys(["budget", *(same(claim.measure.cost) for claim in study.claims)]))

    @cache
    def seed_runs(policy: str, score: str, cost: Cost) -> list[SeedRun]:
        return [
            SeedRun(table, labels, parameters.standard, columns[score], cost, instances[job.seed], difficulty)
            for job, (table, _) in read.items()
            if job.policy == policy
        ]

    @cache
    def evidence(policy: str, score: str, cost: Cost) -> Evidence:
        control = study.control and policy != study.control
        return Evidence(
            seed_runs(policy, score, cost),
            parameters.bins,
            parameters.resamples,
            np.random.default_rng(BOOTSTRAP_SEED),
            evidence(study.control, score, cost) if control else None,
            lambda other: seed_runs(other, score, cost),
        )

    def drawn(policy: str, cost: Cost) -> Picture:
        own, trials = evidence(policy, "metric", cost), seed_runs(policy, "metric", cost)
        return Picture(
            policy=policy,
            contrast=parameters.contrast,
            symbols=symbols,
            metric=metric.symbol,
            unit=UNITS.get(cost, unit),
            seed_runs=trials,
            curves=draw_curves(trials, parameters.contrast, parameters.bins),
            expected={
                estimator: own.expected_error(parameters.contrast, estimator, parameters.standard)
                for estimator in get_args(Estimator)
            },
            control=study.control,
            controls=seed_runs(study.control, "metric", "budget") if study.control and policy != study.control else (),
        )

    pictures = {
        policy if cost == "budget" else f"{policy}_{cost}": drawn(policy, cost)
        for cost in costs
        for policy in study.policies
    }
    decided = [
        claim.decide(
            evidence(policy, claim.measure.score, same(claim.measure.cost)),
            policy,
            policy in (study.control, *study.beside),
        )
        for claim in study.claims
        for policy in study.policies
        if policy != study.control or not claim.measure.needs_control
        if claim.measure.is_for(policy)
    ]
    results = StudyResults(
        metric=metric.name,
        metric_symbol=metric.symbol,
        unit=unit,
        control=study.control,
        beside=study.beside,
        sessions=tuple(session for _, ended in read.values() for session in ended),
        strategies=tuple(
            _row(policy, label, seed_runs(policy, "metric", "budget"), evidence(policy, "metric", "budget"))
            for policy in study.policies
            for label in labels
        ),
        errors=tuple(
            _errors(policy, estimator, parameters, evidence(policy, "metric", "budget"))
            for policy in study.policies
            for estimator in get_args(Estimator)
        ),
        perturbations=tuple(
            _perturbation(policy, name, symbol, parameters.contrast, evidence)
            for policy in study.policies
            for name, symbol in symbols.items()
        ),
        decided=tuple(decided),
    )
    return Analysis(results, {policy: pictures[policy].curves for policy in study.policies}, pictures)


def _instances(read: Mapping[Job, tuple[pl.DataFrame, Sequence[SessionOfStudy]]]) -> dict[int, list[str]]:
    """Return, for each seed, the base instances of all its jobs, in one order."""
    found: dict[int, dict[str, None]] = {}
    for job, (table, _) in read.items():
        found.setdefault(job.seed, {}).update(dict.fromkeys(table.filter("counts")["base_id"]))
    return {seed: list(names) for seed, names in found.items()}


def _errors(policy: str, estimator: Estimator, parameters: StudyParameters, evidence: Evidence) -> ErrorRow:
    found = evidence.expected_error(parameters.contrast, estimator, parameters.standard)
    if found.difference.mean is None:
        return ErrorRow(policy, estimator, None, None, found.difference)
    error, standard = (float(np.nanmean(errors)) for errors in (found.of, found.against))
    return ErrorRow(policy, estimator, error, standard, found.difference)


def _perturbation(
    policy: str, name: str, symbol: str, contrast: str, evidence: Callable[..., Evidence]
) -> PerturbationRow:
    def change(score: str = "metric", less_control: bool = False) -> Estimate:
        measure = PairedSensitivity(of=(contrast,), perturbation=name, score=score, less_control=less_control)
        return measure.estimate(evidence(policy, score, "budget"))

    own = evidence(policy, "metric", "budget")
    applied, refused = own.applied(contrast, name)
    base_applied, base_refused = (group.mean for group in own.base_means(contrast, name))
    return PerturbationRow(
        policy=policy,
        symbol=symbol,
        applied=applied,
        refused=refused,
        base_applied=base_applied,
        base_refused=base_refused,
        selection=Selection(of=(contrast,), perturbation=name).estimate(own),
        change=change(),
        change_of_success=change("success"),
        beyond_control=change(less_control=True),
        beyond_control_of_success=change("success", less_control=True),
    )


def _row(policy: str, label: str, seed_runs: Sequence[SeedRun], evidence: Evidence) -> StrategyRow:
    sessions = [seed_run.sessions[label] for seed_run in seed_runs]
    errors = [
        abs(float(np.mean(session.score)) - seed_run.target) if len(session.score) else np.nan
        for session, seed_run in zip(sessions, seed_runs, strict=True)
    ]
    return StrategyRow(
        policy=policy,
        strategy=label,
        trials=tuple(len(session.score) for session in sessions),
        cost=tuple(float(session.cost.sum()) for session in sessions),
        within=tuple(seed_run.within(label) for seed_run in seed_runs),
        ratio=TrialsRatio(of=(label,), against=(seed_runs[0].standard,)).estimate(evidence),
        bias=Bias(of=(label,)).estimate(evidence),
        error=float(np.mean(errors)),
    )
