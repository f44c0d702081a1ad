"""What a study leaves behind: trials, curves, claims and figures, from what its jobs have written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd
import polars as pl

from robocontrast_ros.domain import METRICS
from robocontrast_ros.statistics.estimate import Estimate
from robocontrast_ros.studies.claims import Claim, Cost, Decided, Estimator, Kind, Measure, Score
from robocontrast_ros.studies.curves import Curve, curves_table, draw_curves
from robocontrast_ros.studies.evidence import Evidence
from robocontrast_ros.studies.figures import FIGURES, Picture, Shown
from robocontrast_ros.studies.job import Job, SessionOfStudy
from robocontrast_ros.studies.parameters import Study, StudyParameters
from robocontrast_ros.studies.run import StudyFolder, jobs_of
from robocontrast_ros.studies.seed_run import Sitting

BOOTSTRAP_SEED = 0

UNITS: dict[Cost, str] = {"metres": "m", "seconds": "s"}
"""Units of costs that claims may name; that of the budget is the cost model's."""

OURS = "ours"
"""Source of a claim that no paper makes: its words are no quotation."""


@dataclass(frozen=True)
class StrategyRow:
    """What one strategy came to with one policy.

    Attributes:
        policy: name of the policy.
        strategy: label of the strategy.
        trials: of each seed.
        cost: of each seed.
        within: of each seed, trials within what the standard evaluation cost.
        ratio: trials for the cost of one trial of the standard evaluation.
        bias: mean of all trials less the test-set mean.
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
    """How far an estimator of the contrast set is off, at equal cost, on the mean over orders of the test set.

    Attributes:
        policy: name of the policy.
        estimator: ``plain``, ``base`` or ``adjusted``.
        error: its mean absolute error; None where there is none.
        standard: that of the standard evaluation's running mean.
        difference: of the one less the other.
    """

    policy: str
    estimator: Estimator
    error: float | None
    standard: float | None
    difference: Estimate


@dataclass(frozen=True)
class PerturbationRow:
    """What a perturbation of the contrast set came to with one policy.

    Attributes:
        policy: name of the policy.
        symbol: the perturbation's.
        applied: base instances that it could be applied to, all seeds together.
        refused: those that refused it.
        base_applied: mean base score of the former; None where there is none.
        base_refused: of the latter.
        selection: the difference of the two.
        change: mean score less that of the instances' own base trials.
        change_of_success: the same of success.
        beyond_control: that change of the score less the control's; empty for the control, or without one.
        beyond_control_of_success: the same of success.
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
    """What came out.

    Attributes:
        metric: the score.
        unit: of costs.
        control: name of the policy that is the control; empty where there is none.
        sessions: how each session ended.
        strategies: a row for each policy and strategy.
        errors: a row for each policy and estimator of the contrast set.
        perturbations: a row for each policy and perturbation of the contrast set.
        decided: a row for each claim and policy, by claims.
    """

    metric: str
    unit: str
    control: str
    sessions: tuple[SessionOfStudy, ...]
    strategies: tuple[StrategyRow, ...]
    errors: tuple[ErrorRow, ...]
    perturbations: tuple[PerturbationRow, ...]
    decided: tuple[Decided, ...]

    @property
    def asked(self) -> int:
        """Trials that strategies asked for."""
        return sum(session.trials for session in self.sessions)

    @property
    def simulated(self) -> int:
        """Trials that were simulated."""
        return sum(session.simulated for session in self.sessions)


@dataclass(frozen=True, eq=False)
class Analysis:
    """What the trials of a study say.

    Attributes:
        results: strategies and claims.
        curves: policy -> error and trials against the cost that the budget is of.
        pictures: the end of a file's name -> what is drawn: a policy, and another cost where claims name one.
    """

    results: StudyResults
    curves: Mapping[str, tuple[Curve, ...]]
    pictures: Mapping[str, Picture]


def write_results(study: Study, folder: StudyFolder) -> StudyResults:
    """Write trials, curves, claims, figures and a summary of a study whose jobs are all done."""
    read = {job: folder.files(job).read() for job in jobs_of(study)}
    pl.concat([table for table, _ in read.values()]).write_parquet(folder.path / "trials.parquet")
    analysis = analyse(study, read)
    results = analysis.results
    for name, picture in analysis.pictures.items():
        for what, draw in FIGURES.items():
            draw(picture, folder.path / f"{what}_{name}")
    table = curves_table(analysis.curves, results.metric, results.unit)
    table.write_parquet(folder.path / "curves.parquet")
    table.write_csv(folder.path / "curves.csv")
    if results.decided:
        write_claims(results.decided, folder.path)
    (folder.path / "summary.md").write_text(summary(study, results), encoding="utf-8")
    return results


def analyse(study: Study, read: Mapping[Job, tuple[pl.DataFrame, Sequence[SessionOfStudy]]]) -> Analysis:
    """Return what the trials of a study say.

    Args:
        study: the study.
        read: of each of its jobs, the trials and how its sessions ended (``JobFiles.read``).
    """
    parameters = study.parameters
    some = study.session(next(iter(study.policies)), parameters.contrast, parameters.seeds[0], None)
    metric, unit = some.task.metric, some.cost_model.unit
    symbols = {perturbation.name: perturbation.symbol for perturbation in some.perturbations}
    labels = [strategy.label for strategy in parameters.strategies]
    instances = _instances(read)

    def same(cost: Cost) -> Cost:
        """Return ``budget`` for the unit that the budget has."""
        return "budget" if UNITS.get(cost) == unit else cost

    costs: list[Cost] = list(dict.fromkeys(["budget", *(same(claim.measure.cost) for claim in study.claims)]))

    @cache
    def sittings(policy: str, score: Score, cost: Cost) -> list[Sitting]:
        column = metric if score == "metric" else "success"
        return [
            Sitting(table, labels, parameters.standard, column, cost, instances[job.seed])
            for job, (table, _) in read.items()
            if job.policy == policy
        ]

    @cache
    def evidence(policy: str, score: Score, cost: Cost) -> Evidence:
        control = study.control and policy != study.control
        return Evidence(
            sittings(policy, score, cost),
            parameters.bins,
            parameters.resamples,
            np.random.default_rng(BOOTSTRAP_SEED),
            evidence(study.control, score, cost) if control else None,
        )

    def drawn(policy: str, cost: Cost) -> Picture:
        shown = Shown(policy, parameters.contrast, symbols, metric, UNITS.get(cost, unit), study.control)
        curves = draw_curves(sittings(policy, "metric", cost), parameters.contrast, parameters.bins)
        controls = (
            sittings(study.control, "metric", "budget") if study.control and policy != study.control else ()
        )
        own = evidence(policy, "metric", cost)
        expected = {
            estimator: own.expected_error(parameters.contrast, estimator, parameters.standard)
            for estimator in get_args(Estimator)
        }
        return Picture(sittings(policy, "metric", cost), curves, shown, expected, controls)

    pictures = {
        policy if cost == "budget" else f"{policy}_{cost}": drawn(policy, cost)
        for cost in costs
        for policy in study.policies
    }
    decided = [
        evidence(policy, claim.measure.score, same(claim.measure.cost)).decide(
            claim, policy, policy == study.control
        )
        for claim in study.claims
        for policy in study.policies
        if policy != study.control or not claim.measure.less_control
    ]
    results = StudyResults(
        metric=metric,
        unit=unit,
        control=study.control,
        sessions=tuple(session for _, ended in read.values() for session in ended),
        strategies=tuple(
            _row(policy, label, sittings(policy, "metric", "budget"), evidence(policy, "metric", "budget"))
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
    def estimate(kind: Kind, score: Score = "metric", less_control: bool = False) -> Estimate:
        measure = Measure(
            kind=kind, of=(contrast,), perturbation=name, score=score, less_control=less_control
        )
        return evidence(policy, score, "budget").estimate(measure)

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
        selection=estimate("selection"),
        change=estimate("paired_sensitivity"),
        change_of_success=estimate("paired_sensitivity", "success"),
        beyond_control=estimate("paired_sensitivity", less_control=True),
        beyond_control_of_success=estimate("paired_sensitivity", "success", less_control=True),
    )


def _row(policy: str, label: str, sittings: Sequence[Sitting], evidence: Evidence) -> StrategyRow:
    sessions = [sitting.sessions[label] for sitting in sittings]
    ratio = Measure(kind="trials_ratio", of=(label,), against=(sittings[0].standard,))
    errors = [
        abs(float(np.mean(session.score)) - sitting.target) if len(session.score) else np.nan
        for session, sitting in zip(sessions, sittings, strict=True)
    ]
    return StrategyRow(
        policy=policy,
        strategy=label,
        trials=tuple(len(session.score) for session in sessions),
        cost=tuple(float(session.cost.sum()) for session in sessions),
        within=tuple(sitting.within(label) for sitting in sittings),
        ratio=evidence.estimate(ratio),
        bias=evidence.estimate(Measure(kind="bias", of=(label,))),
        error=float(np.mean(errors)),
    )


def in_words(estimate: Estimate) -> str:
    """Return an estimate and its interval as ``1.52 [1.44, 1.60]``; a dash where there is none."""
    if estimate.mean is None:
        return "-"
    # Draws that are all the same, as those of a strategy that is compared with itself, are no interval.
    if estimate.low is None or estimate.high is None or estimate.low == estimate.high:
        return f"{estimate.mean:.3f}"
    return f"{estimate.mean:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def write_claims(decided: Sequence[Decided], folder: Path) -> None:
    """Write the claims: ``.csv`` has a row for each claim and policy, ``.md`` and ``.tex`` one for each claim."""
    rows = [
        {
            "claim": one.claim.id,
            "source": one.claim.source,
            "says": one.claim.says,
            "read_as": one.claim.read_as,
            "found_there": one.claim.found,
            "number": one.claim.measure.words,
            "holds_where": one.claim.holds.words,
            "policy": one.policy,
            "value": one.estimate.mean,
            "low": one.estimate.low,
            "high": one.estimate.high,
            "verdict": "control" if one.control else one.verdict,
        }
        for one in decided
    ]
    pd.DataFrame(rows).to_csv(folder / "claims.csv", index=False)
    (folder / "claims.md").write_text(markdown(claims_frame(decided)) + "\n", encoding="utf-8")
    frame = claims_frame(decided).drop(columns="id").map(_for_latex).rename(columns=_for_latex)
    # What is said and how it is decided are sentences, the other columns a few words.
    widths = (0.24, 0.09, 0.10, 0.21, *(0.26 / (len(frame.columns) - 4) for _ in frame.columns[4:]))
    (folder / "claims.tex").write_text(
        frame.style.hide(axis="index").to_latex(
            hrules=True,
            environment="longtable",
            column_format="".join(f"p{{{width:.3f}\\linewidth}}" for width in widths),
        ),
        encoding="utf-8",
    )


def claims_frame(decided: Sequence[Decided]) -> pd.DataFrame:
    """Return a row for each claim: what it says, the number and where it holds, and how each policy came out."""
    rows: dict[str, dict[str, str]] = {}
    for one in decided:
        claim = one.claim
        row = rows.setdefault(
            claim.id,
            {
                "id": claim.id,
                "claim": _claimed(claim),
                "where": claim.source,
                "found there": claim.found or "-",
                "decided by": f"{claim.measure.words}: holds {claim.holds.words}",
            },
        )
        row[one.policy] = in_words(one.estimate) + ("" if one.control else f": {one.verdict}")
    # A claim that the control is taken off has nothing to say of the control.
    return pd.DataFrame(list(rows.values())).fillna("-")


def _claimed(claim: Claim) -> str:
    """Return the words of a claim, in quotation marks where they are somebody's, and how they are read."""
    words = claim.says if claim.source == OURS else f"“{claim.says}”"
    return f"{words} (read as: {claim.read_as})" if claim.read_as else words


def summary(study: Study, results: StudyResults) -> str:
    """Return the study's results as Markdown."""
    parameters, unit = study.parameters, results.unit
    seeds = ", ".join(map(str, parameters.seeds))
    lines = [
        f"# Study {parameters.name}",
        "",
        parameters.description,
        "",
        f"{parameters.test_set.size} test instances; seeds {seeds}; policies {', '.join(study.policies)}. "
        f"Strategies asked for {results.asked} trials; {results.simulated} were simulated, the others were known "
        f"from another strategy. Means are of {METRICS[results.metric]}, costs in {unit}.",
        "",
        "## Strategies",
        "",
        markdown(strategies_frame(results)),
        "",
        STRATEGY_WORDS,
        "",
        "## Error at equal cost",
        "",
        markdown(errors_frame(results)),
        "",
        ERROR_WORDS,
        "",
        "## Perturbations",
        "",
        markdown(perturbations_frame(results)),
        "",
        PERTURBATION_WORDS,
        "",
    ]
    early = [s for s in results.sessions if s.reason == "interrupted" or s.void]
    if early:
        lines += ["## Sessions that ended early, or had void attempts", ""]
        lines += [
            f"- {s.policy}, seed {s.seed}, {s.strategy}: {s.trials} trials, {s.void} void; {s.detail}"
            for s in early
        ]
        lines.append("")
    if results.decided:
        lines += ["## Claims", "", markdown(claims_frame(results.decided)), ""]
    return "\n".join(lines)


STRATEGY_WORDS = (
    "Trials, cost and trials within the cost of the standard evaluation: of each seed. Ratio: trials for the cost "
    "of one standard trial. Bias: mean of all trials at the end, less the test-set mean. Error: mean over seeds of "
    "its absolute value."
)


ERROR_WORDS = (
    "Mean absolute error of an estimate of the test-set mean from the contrast set's trials, over random orders of the "
    "test set and over costs up to that of the standard evaluation; beside it that of the standard evaluation's "
    "running mean at the same costs, and the difference: below 0 where the contrast set is nearer."
)

PERTURBATION_WORDS = (
    "Applied, refused: base instances of all seeds that the perturbation could be applied to, or not; then their mean "
    "base score, and the difference: who was selected. Families that a perturbation was never applied to are not "
    "among them. Change: mean score less that of the instances' own base trials. Less control: the same less the "
    "control's change on the same base instances, which is what the perturbation costs by geometry. Each policy's "
    "perturbed trials start in the scenes that its own trials left."
)


def errors_frame(results: StudyResults) -> pd.DataFrame:
    """Return a row for each policy and estimator, as ``ERROR_WORDS`` explains it."""
    return pd.DataFrame(
        [
            {
                "policy": row.policy,
                "estimator": row.estimator,
                "error": _number(row.error),
                "standard": _number(row.standard),
                "difference": in_words(row.difference),
            }
            for row in results.errors
        ]
    )


def perturbations_frame(results: StudyResults) -> pd.DataFrame:
    """Return a row for each policy and perturbation, as ``PERTURBATION_WORDS`` explains it."""
    rows = []
    for row in results.perturbations:
        control = row.policy == results.control
        cells = {
            "policy": f"{row.policy} (control)" if control else row.policy,
            "perturbation": row.symbol,
            "applied": str(row.applied),
            "refused": str(row.refused),
            "base of applied": _number(row.base_applied),
            "of refused": _number(row.base_refused),
            "difference": in_words(row.selection),
            "change": in_words(row.change),
            "change of success": in_words(row.change_of_success),
        }
        if results.control:
            cells["change less control"] = in_words(row.beyond_control)
            cells["of success"] = in_words(row.beyond_control_of_success)
        rows.append(cells)
    return pd.DataFrame(rows)


def strategies_frame(results: StudyResults) -> pd.DataFrame:
    """Return a row for each policy and strategy, as ``STRATEGY_WORDS`` explains it."""
    return pd.DataFrame(
        [
            {
                "policy": row.policy,
                "strategy": row.strategy,
                "trials": _of_seeds(row.trials),
                f"cost [{results.unit}]": _of_seeds(round(cost) for cost in row.cost),
                "within": _of_seeds(row.within),
                "ratio": in_words(row.ratio),
                "bias": in_words(row.bias),
                "error": f"{row.error:.3f}",
            }
            for row in results.strategies
        ]
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _of_seeds(numbers: object) -> str:
    return ", ".join(map(str, numbers))


def markdown(frame: pd.DataFrame) -> str:
    """Return a table as Markdown."""
    head = [str(column) for column in frame.columns]
    body = [[str(cell).replace("|", "\\|") for cell in row] for row in frame.itertuples(index=False)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *body))


_LATEX: Mapping[int, str] = str.maketrans(
    {
        "Δ": r"\(\Delta\)",
        "±": r"\(\pm\)",
        "“": "``",
        "”": "''",
        "…": r"\ldots{}",
        "%": r"\%",
        "&": r"\&",
        "_": r"\_",
        "#": r"\#",
        "$": r"\$",
    }
)


def _for_latex(text: str) -> str:
    return text.translate(_LATEX)
