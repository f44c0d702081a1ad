"""Writing the results of a study: trials, curves, claims, figures and a summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from robocontrast_ros.analysis.tables.block import Column, TableBlock
from robocontrast_ros.analysis.tables.frames import frame
from robocontrast_ros.analysis.tables.latex import longtable
from robocontrast_ros.analysis.tables.markdown import markdown
from robocontrast_ros.studies.claims import Decided
from robocontrast_ros.studies.curves import curves_table
from robocontrast_ros.studies.figures import FIGURES, draw_by_measures
from robocontrast_ros.studies.parameters import Study
from robocontrast_ros.studies.results import StudyResults, analyse
from robocontrast_ros.studies.run import StudyFolder, jobs_of
from robocontrast_ros.studies.tables import claims_block, errors_block, perturbations_block, strategies_block
from robocontrast_ros.system.disk import write_file

_CLAIMS = (
    Column("claim", lambda one: one.claim.id, meaning="its name"),
    Column("source", lambda one: one.claim.source, meaning="where it is from"),
    Column("says", lambda one: one.claim.says, meaning="its words"),
    Column("read_as", lambda one: one.claim.read_as, meaning="how they are read; empty where they are clear"),
    Column("found_there", lambda one: one.claim.found, meaning="the number there; empty where there is none"),
    Column("number", lambda one: one.claim.measure.words, meaning="what is measured"),
    Column("holds_where", lambda one: one.claim.holds.words, meaning="the region in which it holds"),
    Column("policy", meaning="whose trials"),
    Column("value", lambda one: one.estimate.mean, kind=float, meaning="the estimate"),
    Column("low", lambda one: one.estimate.low, kind=float, meaning="its interval's lower end"),
    Column("high", lambda one: one.estimate.high, kind=float, meaning="its upper end"),
    Column("verdict", lambda one: "control" if one.control else one.verdict, meaning="what follows"),
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
    block = claims_block(decided)
    write_file(folder / "claims.csv", frame(_CLAIMS, decided).write_csv())
    write_file(folder / "claims.md", markdown(block) + "\n")
    columns = block.columns[1:]
    # The first and fourth of these columns hold sentences, the others a few words.
    widths = (0.24, 0.09, 0.10, 0.21, *(0.26 / (len(columns) - 4) for _ in columns[4:]))
    write_file(folder / "claims.tex", longtable(replace(block, columns=columns, title=""), widths))


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
        *_section("Strategies", strategies_block(results)),
        *_section("Error at equal cost", errors_block(results)),
        *_section("Perturbations", perturbations_block(results)),
    ]
    early = [s for s in results.sessions if s.reason == "interrupted" or s.void]
    if early:
        lines += ["## Sessions that ended early, or had void attempts", ""]
        lines += [
            f"- {s.policy}, seed {s.seed}, {s.strategy}: {s.trials} trials, {s.void} void; {s.detail}" for s in early
        ]
        lines.append("")
    if results.decided:
        lines += _section("Claims", claims_block(results.decided))
    return "\n".join(lines)


def _section(heading: str, block: TableBlock) -> list[str]:
    return [f"## {heading}", "", markdown(block), "", *([block.note, ""] if block.note else [])]
