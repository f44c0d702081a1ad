"""Writes what a study finds: trials, curves, claims, figures and a summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
import polars as pl

from robocontrast_ros.studies.claims import Decided
from robocontrast_ros.studies.curves import curves_table
from robocontrast_ros.studies.figures import FIGURES, draw_by_measures
from robocontrast_ros.studies.parameters import Study
from robocontrast_ros.studies.results import StudyResults, analyse
from robocontrast_ros.studies.run import StudyFolder, jobs_of
from robocontrast_ros.studies.tables import (
    ERROR_WORDS,
    PERTURBATION_WORDS,
    STRATEGY_WORDS,
    claims_frame,
    errors_frame,
    perturbations_frame,
    strategies_frame,
)

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


def write_results(study: Study, folder: StudyFolder) -> StudyResults:
    """Write trials, curves, claims, figures and a summary of a study whose jobs are all done."""
    read = {job: folder.files(job).read() for job in jobs_of(study)}
    pl.concat([table for table, _ in read.values()], how="diagonal").write_parquet(folder.path / "trials.parquet")
    analysis = analyse(study, read)
    results = analysis.results
    for name, picture in analysis.pictures.items():
        for what, draw in FIGURES.items():
            draw(picture, folder.path / f"{what}_{name}")
    if study.measures_of_scenes:
        pictures = [analysis.pictures[policy] for policy in study.policies]
        draw_by_measures(pictures, study.measures_of_scenes, folder.path / "measures")
    table = curves_table(analysis.curves, results.metric, results.unit)
    table.write_parquet(folder.path / "curves.parquet")
    table.write_csv(folder.path / "curves.csv")
    if results.decided:
        write_claims(results.decided, folder.path)
    (folder.path / "summary.md").write_text(summary(study, results), encoding="utf-8")
    return results


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
    # The first and fourth of these columns hold sentences, the others a few words.
    widths = (0.24, 0.09, 0.10, 0.21, *(0.26 / (len(frame.columns) - 4) for _ in frame.columns[4:]))
    (folder / "claims.tex").write_text(
        frame.style.hide(axis="index").to_latex(
            hrules=True,
            environment="longtable",
            column_format="".join(f"p{{{width:.3f}\\linewidth}}" for width in widths),
        ),
        encoding="utf-8",
    )


def summary(study: Study, results: StudyResults) -> str:
    """Return the study's results as Markdown."""
    parameters, unit = study.parameters, results.unit
    seeds = ", ".join(map(str, parameters.seeds))
    lines = [
        f"# Study {parameters.name}",
        "",
        parameters.description,
        "",
        f"{parameters.test_set.words}; seeds {seeds}; policies {', '.join(study.policies)}. "
        f"Strategies asked for {results.asked} trials; {results.simulated} were simulated, the others were known "
        f"from another strategy. Means are of {results.metric_symbol}, costs in {unit}.",
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
            f"- {s.policy}, seed {s.seed}, {s.strategy}: {s.trials} trials, {s.void} void; {s.detail}" for s in early
        ]
        lines.append("")
    if results.decided:
        lines += ["## Claims", "", markdown(claims_frame(results.decided)), ""]
    return "\n".join(lines)


def markdown(frame: pd.DataFrame) -> str:
    """Return a table as Markdown."""
    head = [str(column) for column in frame.columns]
    body = [[str(cell).replace("|", "\\|") for cell in row] for row in frame.itertuples(index=False)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *body))


def _for_latex(text: str) -> str:
    return text.translate(_LATEX)
