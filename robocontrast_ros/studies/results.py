"""What a study leaves behind: trials, curves, claims and figures, from what its jobs have written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl

from robocontrast_ros.domain import METRICS
from robocontrast_ros.statistics.estimate import Estimate
from robocontrast_ros.studies.claims import Decided, Measure
from robocontrast_ros.studies.curves import Curve, curves_table, draw_curves
from robocontrast_ros.studies.evidence import Evidence, Sitting
from robocontrast_ros.studies.figures import Shown, draw_estimators, draw_figure3, draw_figure6
from robocontrast_ros.studies.job import Job, SessionOfStudy
from robocontrast_ros.studies.parameters import Study
from robocontrast_ros.studies.run import StudyFolder, jobs_of

BOOTSTRAP_SEED = 0

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
class StudyResults:
    """What came out.

    Attributes:
        metric: the score.
        unit: of costs.
        sessions: how each session ended.
        strategies: a row for each policy and strategy.
        decided: a row for each claim and policy, by claims.
    """

    metric: str
    unit: str
    sessions: tuple[SessionOfStudy, ...]
    strategies: tuple[StrategyRow, ...]
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
        sittings: policy -> its trials, one a seed.
        curves: policy -> error and trials against cost.
        shown: policy -> what its figures need besides.
    """

    results: StudyResults
    sittings: Mapping[str, Sequence[Sitting]]
    curves: Mapping[str, tuple[Curve, ...]]
    shown: Mapping[str, Shown]


def write_results(study: Study, folder: StudyFolder) -> StudyResults:
    """Write trials, curves, claims, figures and a summary of a study whose jobs are all done."""
    read = {job: folder.files(job).read() for job in jobs_of(study)}
    pl.concat([table for table, _ in read.values()]).write_parquet(folder.path / "trials.parquet")
    analysis = analyse(study, read)
    results = analysis.results
    for policy, shown in analysis.shown.items():
        curves, sittings = analysis.curves[policy], analysis.sittings[policy]
        draw_figure3(sittings, curves, shown, folder.path / f"figure3_{policy}")
        draw_figure6(sittings, curves, shown, folder.path / f"figure6_{policy}")
        draw_estimators(curves, shown, folder.path / f"estimators_{policy}")
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
    sittings: dict[str, list[Sitting]] = {}
    curves: dict[str, tuple[Curve, ...]] = {}
    strategies: list[StrategyRow] = []
    decided: list[Decided] = []
    for policy in study.policies:
        own = [
            Sitting(table, labels, parameters.standard, metric)
            for job, (table, _) in read.items()
            if job.policy == policy
        ]
        rng = np.random.default_rng(BOOTSTRAP_SEED)
        evidence = Evidence(own, parameters.bins, parameters.resamples, rng)
        sittings[policy] = own
        curves[policy] = draw_curves(own, parameters.contrast, parameters.bins)
        strategies += [_row(policy, label, own, evidence) for label in labels]
        decided += [evidence.decide(claim, policy) for claim in study.claims]
    order = {claim.id: number for number, claim in enumerate(study.claims)}
    decided.sort(key=lambda one: order[one.claim.id])
    sessions = tuple(session for _, ended in read.values() for session in ended)
    return Analysis(
        StudyResults(metric, unit, sessions, tuple(strategies), tuple(decided)),
        sittings,
        curves,
        {policy: Shown(policy, parameters.contrast, symbols, metric, unit) for policy in study.policies},
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
    if estimate.low is None or estimate.high is None:
        return f"{estimate.mean:.3g}"
    return f"{estimate.mean:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def write_claims(decided: Sequence[Decided], folder: Path) -> None:
    """Write the claims: ``.csv`` has a row for each claim and policy, ``.md`` and ``.tex`` one for each claim."""
    rows = [
        {
            "claim": one.claim.id,
            "source": one.claim.source,
            "says": one.claim.says,
            "found_there": one.claim.found,
            "number": one.claim.measure.words,
            "holds_where": one.claim.holds.words,
            "policy": one.policy,
            "value": one.estimate.mean,
            "low": one.estimate.low,
            "high": one.estimate.high,
            "verdict": one.verdict,
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
                "claim": f"“{claim.says}”" if claim.source != OURS else claim.says,
                "where": claim.source,
                "found there": claim.found or "-",
                "decided by": f"{claim.measure.words}: holds {claim.holds.words}",
            },
        )
        row[one.policy] = f"{in_words(one.estimate)}: {one.verdict}"
    return pd.DataFrame(list(rows.values()))


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
