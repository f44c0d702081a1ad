"""`robocontrast score`: scores from bags alone, compared with the journal's, and under other thresholds."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from robocontrast_ros.cli.terminal import Console

if TYPE_CHECKING:
    from robocontrast_ros.analysis.rescoring.scores_from_bags import OfflineScore
    from robocontrast_ros.analysis.rescoring.thresholds import Rescored
    from robocontrast_ros.analysis.tables.rescoring import Mean

NONE = "-"


def score(
    paths: Annotated[list[Path], typer.Argument(help="Run folders, bags and folders of bags.", metavar="RUN|BAG…")],
    task: Annotated[
        Path | None, typer.Option(help="Also score under the thresholds of this parameter file of the task.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Also score with another threshold: a dotted key of the task's file, such as "
            "block_to_block.within=0.04. May be given several times.",
        ),
    ] = None,
    to: Annotated[Path | None, typer.Option(help="Folder for the scores, as .parquet and .csv.")] = None,
    processes: Annotated[
        int | None, typer.Option(help="Processes that score; by default one per processor.", min=1)
    ] = None,
) -> None:
    """Recompute every score from the bags alone, and compare it with the journal if there is one.

    With --task or --set, also score under other thresholds, with bounds where the recording ends too early.
    Exit codes: 0 all scores agree, 1 a score differs or a bag is missing or broken, 2 invalid input, 130 Ctrl-C.
    """
    from rich.progress import Progress

    from robocontrast_ros.analysis.rescoring.recorded_trials import find_recorded
    from robocontrast_ros.analysis.rescoring.scores_from_bags import score_recorded
    from robocontrast_ros.analysis.rescoring.thresholds import Thresholds
    from robocontrast_ros.domain.words import counted

    console, thresholds = Console(), Thresholds.parse(task, tuple(settings or ()))
    trials = find_recorded(paths)
    if not trials:
        console.print(f"No trial that counts in {', '.join(map(str, paths))}.")
        return
    if not any(trial.bag for trial in trials):
        console.print(f"{counted(len(trials), 'trial')}, none of them recorded: there is no bag to score.")
        raise typer.Exit(1)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        scoring = progress.add_task("scoring", total=len(trials))
        scores = score_recorded(
            trials,
            thresholds=thresholds,
            processes=processes,
            done=lambda: progress.advance(scoring),
        )
    names = _names(scores)
    compared = [score for score in scores if score.journal is not None]
    alone = [score for score in scores if score.journal is None and score.offline is not None]
    if thresholds is None and alone:
        _show_trials(alone, names, console)
    if not all(score.equal for score in scores):
        _show_problems(scores, names, console)
    if compared:
        equal = sum(score.equal for score in compared)
        console.print(
            f"{equal} of {counted(len(compared), 'trial')}: the scores from the bag are exactly the journal's."
        )
    if len(compared) < len(scores):
        others = counted(len(scores) - len(compared), "bag was", "bags were")
        console.print(f"{len(alone)} of {others} scored with no journal to compare with.")
    if thresholds is not None:
        _show_rescored(scores, names, console)
    if to is not None:
        _write(scores, to, console)
    if not all(score.equal for score in scores):
        raise typer.Exit(1)


def _names(scores: Sequence[OfflineScore]) -> dict[int, str]:
    """Return each trial's name, with its run where there are several."""
    runs = {score.run for score in scores}
    return {
        id(score): f"{score.run.name}/{score.trial_id}" if score.run and len(runs) > 1 else score.trial_id
        for score in scores
    }


@functools.cache
def _symbols() -> dict[str, str]:
    """Return the name of each score that is shown, with its heading."""
    from robocontrast_ros.domain import find_spec
    from robocontrast_ros.episodes.scoring import STANDARD_SPECS

    return {name: find_spec(STANDARD_SPECS, name).symbol for name in ("success", "spl", "progress")}


def _show_problems(scores: Sequence[OfflineScore], names: dict[int, str], console: Console) -> None:
    table = Table("trial", "SPL (journal)", "SPL (bag)")
    # Paths are folded, not cut: they are for copying.
    table.add_column("problem", overflow="fold")
    for score in scores:
        if not score.equal:
            results = (score.journal, score.offline)
            journal, bag = (NONE if r is None else repr(r.scores.get("spl", math.nan)) for r in results)
            words = "\n".join(filter(None, (score.problem, *score.differences)))
            if score.offline is not None and not score.complete:
                until = "nothing" if score.scored_until is None else f"up to stamp {score.scored_until:.3f} s"
                words += f"\nscored {until}"
            table.add_row(*map(Text, (names[id(score)], journal, bag, words)))
    console.print(table)


def _show_trials(scores: Sequence[OfflineScore], names: dict[int, str], console: Console) -> None:
    # Tables import a large library, which most uses of the command do not need.
    from robocontrast_ros.analysis.tables.rescoring import score_means, scores_table
    from robocontrast_ros.domain import Outcome

    table = _table("trial", "perturbation", "outcome")
    for heading in _symbols().values():
        table.add_column(Text(heading), justify="right", no_wrap=True)
    for score in scores:
        assert score.offline is not None and score.trial is not None
        outcome = score.offline.outcome
        words = "broken" if outcome is Outcome.UNKNOWN else outcome.name.lower().replace("_", " ")
        numbers = (_number(score.offline.scores.get(name, math.nan)) for name in _symbols())
        table.add_row(*map(Text, (names[id(score)], score.trial.perturbation, words, *numbers)))
    console.print(table)
    means = _table("", "n", "out")
    for heading in _symbols().values():
        means.add_column(Text(heading), justify="right", no_wrap=True)
    means.caption = Text("Means. out: void or not recorded to the end, in no mean.")
    for mean in _sections(means, score_means(scores_table(scores))):
        numbers = (_number(getattr(mean.low, name)) for name in _symbols())
        _add(means, mean, (mean.perturbation, str(mean.trials), str(mean.left_out), *numbers))
    console.print(means)


def _show_rescored(scores: Sequence[OfflineScore], names: dict[int, str], console: Console) -> None:
    from robocontrast_ros.analysis.tables.rescoring import rescored_means, rescored_table
    from robocontrast_ros.domain.words import counted

    rescored = [score for score in scores if score.rescored is not None]
    if not rescored:
        console.print("No trial could be scored, so none was scored under the other thresholds.")
        return
    changes = dict.fromkeys(change for score in rescored for change in score.rescored.changes)
    console.print(Text("thresholds: " + ("; ".join(map(str, changes)) or "the trials' own")))
    changed = [score for score in rescored if _differs(score.rescored)]
    if changed:
        table = _table("trial", "")
        for heading in _symbols().values():
            table.add_column(Text(heading), justify="right", no_wrap=True)
        table.add_column("")
        for score in changed:
            assert score.rescored is not None and score.trial is not None
            numbers = (_before_after(score.rescored, name) for name in _symbols())
            status = score.rescored.status.replace("_", " ")
            row = (names[id(score)], score.trial.perturbation, *numbers, "" if status == "known" else status)
            table.add_row(*map(Text, row))
        console.print(table)
    means = _table("", "n", "cens.", "out")
    for heading in _symbols().values():
        means.add_column(Text(heading), justify="right", no_wrap=True)
    means.caption = Text(
        "Means, before -> after; from lower to upper bound where trials are censored (cens.).\n"
        "out: in no mean: void, or no test instance under the other thresholds."
    )
    for mean in _sections(means, rescored_means(rescored_table(rescored))):
        numbers = (_before_after(mean, name) for name in _symbols())
        counts = (mean.trials, mean.censored, mean.left_out)
        _add(means, mean, (mean.perturbation, *map(str, counts), *numbers))
    console.print(means)
    reasons = Counter(_words(s.rescored) for s in rescored if s.rescored and s.rescored.reason)
    for words, number in reasons.items():
        console.print(Text(f"{number} of {counted(len(rescored), 'trial')}: {words}"))


def _sections(table: Table, means: Sequence[Mean]) -> Sequence[Mean]:
    """Put the names of run and policy above their means, where there are several."""
    several = len({(mean.run, mean.policy) for mean in means}) > 1
    before = None
    for mean in means:
        if several and (mean.run, mean.policy) != before:
            before = mean.run, mean.policy
            table.add_section()
            table.add_row(Text(" · ".join(filter(None, before))), style="italic")
        yield mean


def _add(table: Table, mean: Mean, cells: Sequence[str]) -> None:
    from robocontrast_ros.analysis.data.trials import ALL

    table.add_row(*map(Text, cells), style="bold" if mean.perturbation == ALL else None)


def _table(*headings: str) -> Table:
    return Table(*headings, box=None, padding=(0, 1, 0, 0), pad_edge=False)


def _differs(rescored: Rescored | None) -> bool:
    return rescored is not None and (
        rescored.status in ("censored", "not_run") or repr(rescored.before) != repr(rescored.low)
    )


def _words(rescored: Rescored) -> str:
    return f"{rescored.status.replace('_', ' ')}: {rescored.reason}" if rescored.reason else ""


def _before_after(of: Rescored | Mean, name: str) -> str:
    """Return ``0.71 -> 0.52``, or ``0.71 -> 0.34..0.71`` between bounds; one number where nothing changed."""
    before, low, high = (_number(getattr(scores, name)) for scores in (of.before, of.low, of.high))
    after = low if low == high else f"{low}..{high}"
    return before if after == before else f"{before} -> {after}"


def _number(value: float) -> str:
    return NONE if math.isnan(value) else f"{value:.2f}"


def _write(scores: Sequence[OfflineScore], to: Path, console: Console) -> None:
    from robocontrast_ros.analysis.tables.rescoring import write_scores

    for file in write_scores(scores, to):
        console.path("written", file)
