"""The page of two runs or more on one test set, side by side."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from robocontrast_ros.analysis.data.serving_policies import path_ends
from robocontrast_ros.analysis.estimates.comparison import (
    KEY,
    ComparedRow,
    Comparison,
    check_distinct,
    compare_all,
)
from robocontrast_ros.analysis.estimates.results import Results, compute_results
from robocontrast_ros.analysis.estimates.test_set import draw_test_set
from robocontrast_ros.analysis.figures.charts import draw_comparison
from robocontrast_ros.analysis.foreign.formats.run import outcomes_of
from robocontrast_ros.analysis.foreign.reading import Arm
from robocontrast_ros.analysis.foreign.verdict import Verdict, verdicts
from robocontrast_ros.analysis.report.headline import Headline, headlines_of
from robocontrast_ros.analysis.report.observation_shift import Modifications, ShownRun, shown_modifications
from robocontrast_ros.analysis.report.rendering import check_folder, on_page, render, write_page
from robocontrast_ros.analysis.report.reproduction import Reproduction, reproduction_of
from robocontrast_ros.analysis.report.svg import Chart, make_chart
from robocontrast_ros.analysis.report.trials import (
    Attempt,
    Track,
    attempts_of,
    draw_maps,
    no_progress,
    symbols_of,
)
from robocontrast_ros.analysis.tables.block import SIGNED, Column, TableBlock
from robocontrast_ros.analysis.tables.comparison import (
    BEYOND,
    CARRY_OVER,
    FAMILIES,
    READ,
    carry_over_blocks,
    carry_over_notes,
    change_blocks,
    compared_blocks,
    number_files,
    write_numbers,
)
from robocontrast_ros.analysis.tables.observation_shift import compared_shifts_block
from robocontrast_ros.analysis.tables.profile import compared_profile_block
from robocontrast_ros.analysis.tables.verdict import verdict_lines, verdicts_block
from robocontrast_ros.runs.journal import read_begun
from robocontrast_ros.runs.run_folder import RunFolder


@dataclass(frozen=True)
class ComparedRun:
    """One of the compared runs.

    Attributes:
        name: name of its folder.
        label: its policy, with the end of its file's path, or the run's name, if two runs have policies of one name;
            and the mark of a run that stopped early.
        results: its results.
        headline: its estimate; None if no trial counts.
        reproduction: versions, digests, parameters and commands to run it again.
        no_maps: why maps are missing, in words; else empty.
    """

    name: str
    label: str
    results: Results
    headline: Headline | None
    reproduction: Reproduction
    no_maps: str


@dataclass(frozen=True)
class Pair:
    """Two trials of one test instance, perturbation and repeat.

    Attributes:
        name: unique on the page.
        base_id: the test instance.
        perturbation: ``base``, or the perturbation's name.
        symbol: its symbol.
        repeat: number of the repeat, from 0.
        first: the first run's trial.
        second: the second run's.
    """

    name: str
    base_id: str
    perturbation: str
    symbol: str
    repeat: int
    first: Attempt
    second: Attempt

    @property
    def discordant(self) -> bool:
        """Whether only one of the two succeeded."""
        return bool(self.first.row["success"] != self.second.row["success"])


@dataclass(frozen=True)
class Contrast:
    """The first run against another.

    Attributes:
        first: the first run.
        second: the other.
        comparison: the numbers.
        all: the row over all pairs.
        chart: means and differences for each perturbation.
        compared: the tables of means and differences.
        changes: those of the changes from base trials.
        carry_over: those of the changes that carry over; empty unless that is asked.
        carry_over_notes: lines below them.
        shifts: that of the pooled RPDs.
        profile: both by what problems ask of a policy; None if they have no profiles.
        modifications: modifications of scenes under which only one of both succeeds.
        pairs: all trials that both have, in the order of the first run; those that are discordant have pictures.
        symbols: name of each compared perturbation -> its symbol.
    """

    first: ComparedRun
    second: ComparedRun
    comparison: Comparison
    all: ComparedRow
    chart: Chart
    compared: list[TableBlock]
    changes: list[TableBlock]
    carry_over: list[TableBlock]
    carry_over_notes: list[str]
    shifts: TableBlock
    profile: TableBlock | None
    modifications: Modifications
    pairs: tuple[Pair, ...]
    symbols: dict[str, str]

    @property
    def worklist(self) -> list[Pair]:
        """The discordant pairs, by perturbation and who solved them."""
        order = {name: number for number, name in enumerate(self.symbols)}
        discordant = [pair for pair in self.pairs if pair.discordant]
        return sorted(
            discordant, key=lambda pair: (order.get(pair.perturbation, len(order)), not pair.first.row["success"])
        )

    @property
    def videos(self) -> bool:
        """Whether a trial of the worklist has a video."""
        return any(one.video for pair in self.worklist for one in (pair.first, pair.second))

    @property
    def instances(self) -> tuple[tuple[str, tuple[tuple[Pair, ...], ...]], ...]:
        """Each test instance with its pairs, one tuple a perturbation."""
        return tuple(
            (
                base_id,
                tuple(
                    tuple(p for p in self.pairs if (p.base_id, p.perturbation) == (base_id, name))
                    for name in self.symbols
                ),
            )
            for base_id in dict.fromkeys(pair.base_id for pair in self.pairs)
        )


@dataclass(frozen=True)
class ReadRuns:
    """Runs that match, with all numbers and without pictures.

    Attributes:
        folders: folders of the runs.
        results: results of each.
        labels: label of each, as ``ComparedRun.label``.
        comparisons: the first run with each of the others.
    """

    folders: tuple[RunFolder, ...]
    results: tuple[Results, ...]
    labels: tuple[str, ...]
    comparisons: tuple[Comparison, ...]

    @property
    def stopped(self) -> tuple[str, ...]:
        """Of each run that stopped early, the meaning of the mark at its label."""
        summaries = zip(self.labels, (found.summary for found in self.results), strict=True)
        return tuple(f"{label}: {summary.stopped}" for label, summary in summaries if summary.stopped)

    @property
    def arms(self) -> list[Arm]:
        """The trials of each run, to judge them like the results of other tools."""
        found = [outcomes_of(results) for results in self.results]
        return [Arm(str(run.path), own.outcomes, own.notes) for run, own in zip(self.folders, found, strict=True)]


def write_comparison(runs: Sequence[RunFolder], to: Path, track: Track = no_progress, now: float | None = None) -> None:
    """Write the page that compares the first run with each of the others, and its numbers as CSV and JSON beside it.

    Args:
        runs: two run folders at least.
        to: the page's file.
        track: iterates over its input, and may show progress.
        now: seconds since the epoch, for the page; the present if left out.

    Raises:
        ComparisonError: two of them do not match, or are the same.
        JournalError: a run's journal cannot be read, or holds no session, or a blind one with all its policies.
        ConfigurationError: there can be no such files, or a file of config/levels/ does not fit.
        DiskError: a file cannot be written.
    """
    check_files(to)
    read = read_runs(runs)
    write_numbers(read.comparisons, to)
    write_comparison_page(read, verdicts(read.arms[0], read.arms[1:]), to, track, now)


def check_files(to: Path) -> None:
    """Refuse a page whose files cannot be written, before the long work begins.

    Raises:
        ConfigurationError: the page cannot be written there, or has the name of its CSV or JSON file.
    """
    check_folder(to)
    number_files(to)


def read_runs(runs: Sequence[RunFolder], margin: float | None = None) -> ReadRuns:
    """Read two runs or more and compare the first with each of the others.

    Args:
        runs: their folders.
        margin: as ``compare_all``: if given, it is also asked whether changes from base carry over.

    Raises:
        ComparisonError: two of them do not match, or are the same.
        JournalError: a run's journal cannot be read, or holds no session, or a blind one with all its policies.
        ConfigurationError: a file of config/levels/ does not fit.
    """
    journals = tuple(read_begun(run.journal) for run in runs)
    check_distinct([(str(run.path), journal.started) for run, journal in zip(runs, journals, strict=True)])
    results = tuple(compute_results(journal, draw_test_set(run)) for run, journal in zip(runs, journals, strict=True))
    return ReadRuns(tuple(runs), results, _labels(runs, results), compare_all(results[0], results[1:], margin))


def write_comparison_page(
    read: ReadRuns,
    judged: Sequence[Verdict],
    to: Path,
    track: Track = no_progress,
    now: float | None = None,
    pictures: bool = True,
) -> None:
    """Write the page of runs that were compared.

    Args:
        read: the runs; missing maps that the page shows are drawn.
        judged: the verdict about the first run and each of the others.
        to: the file.
        track: iterates over its input, and may show progress.
        now: seconds since the epoch, for the page; the present if left out.
        pictures: whether frames and maps are on the page, and missing maps are drawn; they take most of the time.

    Raises:
        DiskError: the page or a map cannot be written.
    """
    results = read.results
    found = [_pairs_of(results[0], other) for other in results[1:]]
    # Pictures of the first run's trials are read once for all comparisons.
    wanted = [
        {index for pairs in found for index, _, differ in pairs if differ and pictures},
        *({index for _, index, differ in pairs if differ and pictures} for pairs in found),
    ]
    compared = [_compared(read, number, indices, track) for number, indices in enumerate(wanted)]
    attempts = [
        _by_index(attempts_of(run, of_run, track, indices, to.absolute().parent))
        for run, of_run, indices in zip(read.folders, results, wanted, strict=True)
    ]
    contrasts = [
        _contrast(number, compared[0], compared[number], comparison, pairs, attempts[0], attempts[number], pictures)
        for number, (comparison, pairs) in enumerate(zip(read.comparisons, found, strict=True), start=1)
    ]
    page = render(
        "comparison.html",
        runs=compared,
        contrasts=contrasts,
        metric=results[0].summary.metric_spec.symbol,
        metric_column=results[0].summary.metric_spec.column,
        task=results[0].record.recorded.task,
        families=FAMILIES,
        beyond=BEYOND,
        about_carry_over=CARRY_OVER,
        stopped=read.stopped,
        read=READ,
        overview=_overview(compared),
        verdicts=verdicts_block(judged),
        verdict_lines=["\n".join(verdict_lines(verdict)) for verdict in judged],
        pictures=pictures,
        made=time.time() if now is None else now,
    )
    write_page(page, to)


def _labels(runs: Sequence[RunFolder], results: Sequence[Results]) -> tuple[str, ...]:
    """Return the label of each run (``ComparedRun.label``)."""
    labels = [found.summary.policy for found in results]
    files = [next((loaded.file for loaded in found.record.loaded), "") for found in results]
    for name in {label for label in labels if labels.count(label) > 1}:
        group = [number for number, label in enumerate(labels) if label == name]
        ends = path_ends([files[number] for number in group])
        apart = ends if len(set(ends)) == len(group) else [runs[number].name for number in group]
        for number, words in zip(group, apart, strict=True):
            labels[number] = f"{name} ({words})"
    return tuple(f"{label}{found.summary.mark}" for label, found in zip(labels, results, strict=True))


def _compared(read: ReadRuns, number: int, wanted: set[int], track: Track) -> ComparedRun:
    run, results = read.folders[number], read.results[number]
    return ComparedRun(
        name=run.name,
        label=read.labels[number],
        results=results,
        headline=next(iter(headlines_of(results.summary)), None),
        reproduction=reproduction_of(run, results.record),
        no_maps=draw_maps(run, results.record, track, wanted),
    )


def _overview(runs: Sequence[ComparedRun]) -> TableBlock:
    """Return the table of the runs."""
    summary = runs[0].results.summary
    return TableBlock(
        [
            Column("policy", lambda run: run.label),
            Column("run", lambda run: run.name, roomy=True),
            Column("strategy", lambda run: run.results.summary.strategy, roomy=True),
            Column("trials", lambda run: run.results.summary.effort.trials),
            Column(f"mean {summary.metric_spec.symbol}", lambda run: run.headline and run.headline.estimate),
            Column("estimator", lambda run: run.headline and run.headline.estimator, roomy=True),
            Column("objects carried [m]", lambda run: run.results.summary.effort.total.metres, ".1f", roomy=True),
            Column("ended", lambda run: run.results.summary.ended or "not yet", roomy=True),
        ],
        runs,
        note="Each run over all its own trials. The sections below compare runs on the trials that both have.",
    )


def _pairs_of(first: Results, second: Results) -> list[tuple[int, int, bool]]:
    """Return, for each pair, the trials' indices in either run, and whether only one of them succeeded."""
    tables = [results.trials.filter("counts").select(*KEY, "index", "success") for results in (first, second)]
    pairs = tables[0].join(tables[1], on=KEY, suffix="_of_second", maintain_order="left")
    return [
        (row["index"], row["index_of_second"], row["success"] != row["success_of_second"])
        for row in pairs.iter_rows(named=True)
    ]


def _by_index(attempts: Sequence[Attempt]) -> dict[int, Attempt]:
    return {attempt.row["index"]: attempt for attempt in attempts if attempt.row["counts"]}


def _contrast(
    number: int,
    first: ComparedRun,
    second: ComparedRun,
    comparison: Comparison,
    pairs: Sequence[tuple[int, int, bool]],
    firsts: dict[int, Attempt],
    seconds: dict[int, Attempt],
    pictures: bool,
) -> Contrast:
    metric = comparison.metric_spec.symbol
    symbols = {**symbols_of(second.results), **symbols_of(first.results)}
    differences = ", ".join(f"{row.symbol} {on_page(row.difference, SIGNED)}" for row in comparison.rows)
    chart = make_chart(
        f"comparison-{number}",
        f"{first.label} and {second.label}, on the trials that both have",
        f"Mean {metric} of both, and the mean paired difference with its 95 % interval: {differences}.",
        lambda figure: draw_comparison(figure, comparison, first.label, second.label),
        3.0,
    )
    names = [row.perturbation for row in comparison.rows if row.perturbation in symbols]
    runs = {
        run.label: ShownRun(RunFolder(run.results.run), run.results.trials.filter("counts"), attempts)
        for run, attempts in ((first, firsts), (second, seconds))
    }
    return Contrast(
        first=first,
        second=second,
        comparison=comparison,
        all=comparison.row("all"),
        chart=chart,
        compared=compared_blocks(comparison, first.label, second.label),
        changes=change_blocks(comparison, first.label, second.label),
        carry_over=[] if comparison.margin is None else carry_over_blocks(comparison),
        carry_over_notes=[] if comparison.margin is None else carry_over_notes(comparison),
        shifts=compared_shifts_block(comparison, first.label, second.label),
        profile=comparison.profile and compared_profile_block(comparison.profile, first.label, second.label),
        modifications=shown_modifications(runs, lambda one: one.discordant, pictures),
        pairs=tuple(_pair(number, firsts[i], seconds[j]) for i, j, _ in pairs),
        symbols={name: symbols[name] for name in names},
    )


def _pair(number: int, first: Attempt, second: Attempt) -> Pair:
    row = first.row
    return Pair(
        f"trial-{number}-{first.trial_id}",
        row["base_id"],
        row["perturbation"],
        first.symbol,
        row["repeat"],
        first,
        second,
    )
