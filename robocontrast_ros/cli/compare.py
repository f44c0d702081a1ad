"""`robocontrast compare`: the verdict about policies; of run folders also the page and the numbers side by side."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robocontrast_ros.cli.terminal import Console, refused
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.runs.run_folder import RunFolder

if TYPE_CHECKING:
    from robocontrast_ros.analysis.foreign.verdict import Verdict
    from robocontrast_ros.analysis.report.comparison_page import ReadRuns

WORDS = ("worse", "undecided", "not-comparable")
"""The verdicts for which the exit code may differ from 0."""
NEVER = "none"


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(help="Run folders, result files of other tools, counts such as 17/20; the first against each."),
    ],
    to: Annotated[Path, typer.Option(help="HTML file to write, for run folders.")] = Path("comparison.html"),
    pictures: Annotated[
        bool, typer.Option(help="Camera frames and maps on the page; without them it takes a few seconds.")
    ] = True,
    control: Annotated[
        list[str] | None,
        typer.Option(
            help="Results of the same policies without the perturbation, once for each of RUNS in their order; "
            "the verdict is then about the difference in differences."
        ),
    ] = None,
    measure: Annotated[str, typer.Option(help="success or score; by default success where all have it.")] = "",
    margin: Annotated[
        float | None,
        typer.Option(
            help="Largest loss that does not matter: no worse by it is a pass. With --carry-over also the largest "
            "difference of changes that does not matter, by default 0.1."
        ),
    ] = None,
    carry_over: Annotated[
        bool,
        typer.Option(
            help="Of run folders of one policy in different worlds, or on different robots: does what a perturbation "
            "does in the first carry over to the others?"
        ),
    ] = False,
    fail_on: Annotated[
        str, typer.Option(help=f"Verdicts with an exit code other than 0, of {', '.join(WORDS)}; or {NEVER}.")
    ] = ",".join(WORDS),
    format_: Annotated[
        str, typer.Option("--format", help="Format of all files; by default the one that fits each.")
    ] = "",
    junit: Annotated[Path | None, typer.Option(help="JUnit XML file to write.")] = None,
    summary: Annotated[
        Path | None, typer.Option(help='Markdown file to append to, such as "$GITHUB_STEP_SUMMARY".')
    ] = None,
    sarif: Annotated[Path | None, typer.Option(help="SARIF file to write, for GitHub's code scanning.")] = None,
) -> None:
    """Is the first policy better than each of the others? The verdict is better, worse, undecided or not comparable.

    Trials of the same task and instance are pairs. Of run folders alone there is also one HTML page, and CSV and JSON
    beside it; they need the same task and seed. With an oracle's run as the second, the difference in differences is
    the loss by a perturbation beyond the geometry.

    Exit codes: 0 better, or no worse by --margin; 1 worse; 2 wrong input; 3 undecided or not comparable.
    """
    failing = _failing(fail_on)
    _check(runs, control, measure, margin)
    ours = not format_ and all(RunFolder(Path(run)).session_file.is_file() for run in runs)
    if carry_over and not ours:
        raise ConfigurationError("command line", "--carry-over", ", ".join(runs), "run folders of this package")
    if not ours and len(runs) < 2:
        expected = "two results at least, or a run folder of a blind session"
        cure = "Two policies of one file are `FILE#POLICY FILE#POLICY`; `robocontrast compare -h` has more."
        raise ConfigurationError("command line", "RUNS", runs[0], expected, cure)
    from robocontrast_ros.analysis.foreign.reading import check_distinct_sources, read_arm
    from robocontrast_ros.analysis.foreign.verdict import verdicts
    from robocontrast_ros.analysis.tables.verdict import verdict_lines

    if not ours:
        check_distinct_sources(runs)
    # A file that does not fit is refused before a page is written.
    controls = [read_arm(source, format_) for source in control or ()]
    read = _read_runs(runs, to, carry_over, margin) if ours else None
    arms = read.arms if read else [read_arm(source, format_) for source in runs]
    if controls and len(controls) != len(arms):
        raise ConfigurationError(
            "command line", "--control", len(controls), f"{len(arms)} of them, one for each policy"
        )
    found, console = verdicts(arms[0], arms[1:], controls, measure, margin), Console()
    if read:
        _write_page(read, found, to, pictures)
    for verdict in found:
        for line in verdict_lines(verdict):
            console.say(line)
    if os.environ.get("GITHUB_ACTIONS") == "true":
        from robocontrast_ros.analysis.report.verdict_files import annotation

        for verdict in found:
            typer.echo(annotation(verdict))
    if junit or summary or sarif:
        from robocontrast_ros.analysis.report.verdict_files import append_summary, write_junit, write_sarif

        for file, write in ((sarif, write_sarif), (junit, write_junit), (summary, append_summary)):
            if file is not None:
                write(found, file)
    words = {one.word.value.replace(" ", "-") for one in found if not one.not_worse} & failing
    if words:
        raise typer.Exit(1 if "worse" in words else 3)


def _failing(fail_on: str) -> set[str]:
    """Return the verdicts for which the exit code is not 0."""
    words = {word.strip() for word in fail_on.split(",")} - {"", NEVER}
    for word in sorted(words - {*WORDS}):
        raise ConfigurationError.unknown("command line", "--fail-on", word, (*WORDS, NEVER), "verdict")
    return words


def _check(runs: list[str], control: list[str] | None, measure: str, margin: float | None) -> None:
    """Refuse options that do not fit, before anything is read."""
    if measure not in ("", "success", "score"):
        raise ConfigurationError("command line", "--measure", measure, "success or score")
    if margin is not None and not 0.0 < margin < 1.0:
        raise ConfigurationError("command line", "--margin", margin, "a number between 0 and 1")
    if control and len(runs) > 1 and len(control) != len(runs):
        cure = "Write `--control` before each, in the order of RUNS."
        raise ConfigurationError("command line", "--control", ", ".join(control), f"{len(runs)} of them", cure)


def _read_runs(runs: list[str], to: Path, carry_over: bool, margin: float | None) -> ReadRuns:
    """Read run folders, and print the numbers."""
    from robocontrast_ros.analysis.estimates.carry_over import MARGIN
    from robocontrast_ros.analysis.estimates.comparison import ComparisonError
    from robocontrast_ros.analysis.report.comparison_page import check_files, read_runs
    from robocontrast_ros.analysis.tables.comparison import comparison_report
    from robocontrast_ros.cli.runs import runs_of_policies

    console = Console()
    folders = [folder for run in runs for folder in runs_of_policies(RunFolder.open(Path(run)))]
    if len(folders) < 2:
        raise ConfigurationError(
            "command line",
            "RUNS",
            ", ".join(runs),
            "two run folders at least, or that of a blind session",
            "`robocontrast report RUN` shows one run.",
        )
    check_files(to)
    try:
        with console.status("reading the runs"):
            read = read_runs(folders, (MARGIN if margin is None else margin) if carry_over else None)
    except ComparisonError as error:
        raise refused(error) from None
    console.print(comparison_report(read.comparisons, read.labels, read.stopped))
    return read


def _write_page(read: ReadRuns, found: Sequence[Verdict], to: Path, pictures: bool) -> None:
    """Write the page and the numbers of run folders."""
    from robocontrast_ros.analysis.report.comparison_page import write_comparison_page
    from robocontrast_ros.analysis.tables.comparison import write_numbers

    console = Console()
    files = write_numbers(read.comparisons, to)
    write_comparison_page(read, found, to, console.track, pictures=pictures)
    console.path("comparison", to)
    for what, path in zip(("table", "numbers"), files, strict=True):
        console.path(what, path)
