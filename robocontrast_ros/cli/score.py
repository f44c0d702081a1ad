"""`robocontrast score`: scores from bags alone, their comparison with the journal, and other thresholds."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from robocontrast_ros.analysis.tables.block import TOTAL, Column, TableBlock, Value, words
from robocontrast_ros.analysis.tables.terminal import Table
from robocontrast_ros.cli.terminal import Console

if TYPE_CHECKING:
    from robocontrast_ros.analysis.rescoring.scores_from_bags import OfflineScore
    from robocontrast_ros.analysis.rescoring.thresholds import Rescored
    from robocontrast_ros.analysis.tables.rescoring import Mean


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
    """Return the name of each trial; it includes the run if there are several."""
    runs = {score.run for score in scores}
    return {
        id(score): f"{score.run.name}/{score.trial_id}" if score.run and len(runs) > 1 else score.trial_id
        for score in scores
    }


@functools.cache
def _symbols() -> dict[str, str]:
    """Return name -> heading of each score that is shown."""
    from robocontrast_ros.domain import find_spec
    from robocontrast_ros.episodes.scoring import STANDARD_SPECS

    return {name: find_spec(STANDARD_SPECS, name).symbol for name in ("success", "spl", "progress")}


def _show_problems(scores: Sequence[OfflineScore], names: dict[int, str], console: Console) -> None:
    rows = []
    for score in scores:
        if not score.equal:
            journal, bag = (r and repr(r.scores.get("spl", math.nan)) for r in (score.journal, score.offline))
            said = "\n".join(filter(None, (score.problem, *score.differences)))
            if score.offline is not None and not score.complete:
                until = "nothing" if score.scored_until is None else f"up to stamp {score.scored_until:.3f} s"
                said += f"\nscored {until}"
            rows.append((names[id(score)], journal, bag, said))
    console.table(("trial", "SPL (journal)", "SPL (bag)", "problem"), rows)


def _show_trials(scores: Sequence[OfflineScore], names: dict[int, str], console: Console) -> None:
    # Tables import a large library, which is not needed if every bag has a journal.
    from robocontrast_ros.analysis.tables.rescoring import score_means, scores_table
    from robocontrast_ros.domain import Outcome

    rows = []
    for score in scores:
        assert score.offline is not None and score.trial is not None
        outcome = score.offline.outcome
        said = "broken" if outcome is Outcome.UNKNOWN else outcome.name.lower().replace("_", " ")
        numbers = (score.offline.scores.get(name, math.nan) for name in _symbols())
        rows.append((names[id(score)], score.trial.perturbation, said, *numbers))
    console.table(("trial", "perturbation", "outcome", *_symbols().values()), rows)
    counts = {"n": lambda mean: mean.trials, "out": lambda mean: mean.left_out}
    note = "Means. out: void or not recorded to the end, in no mean."
    _show_means(score_means(scores_table(scores)), counts, lambda mean, name: getattr(mean.low, name), note, console)


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
        rows = []
        for score in changed:
            assert score.rescored is not None and score.trial is not None
            numbers = (_before_after(score.rescored, name) for name in _symbols())
            status = score.rescored.status.replace("_", " ")
            rows.append((names[id(score)], score.trial.perturbation, *numbers, "" if status == "known" else status))
        console.table(("trial", "perturbation", *_symbols().values(), "status"), rows)
    note = (
        "Means, before -> after; from lower to upper bound where trials are censored (cens.).\n"
        "out: in no mean: void, or no test instance under the other thresholds."
    )
    counts = {"n": lambda mean: mean.trials, "cens.": lambda mean: mean.censored, "out": lambda mean: mean.left_out}
    _show_means(rescored_means(rescored_table(rescored)), counts, _before_after, note, console)
    reasons = Counter(_words(s.rescored) for s in rescored if s.rescored and s.rescored.reason)
    for reason, number in reasons.items():
        console.print(Text(f"{number} of {counted(len(rescored), 'trial')}: {reason}"))


def _show_means(
    means: Sequence[Mean],
    counts: dict[str, Callable[[Mean], int]],
    value: Callable[[Mean, str], Value],
    note: str,
    console: Console,
) -> None:
    """Show counts and the value of each score, below the names of run and policy if there are several."""
    from robocontrast_ros.analysis.data.trials import ALL

    several = len({(mean.run, mean.policy) for mean in means}) > 1
    columns = [
        Column("", lambda mean: mean.perturbation),
        *(Column(name, of) for name, of in counts.items()),
        *(Column(symbol, lambda mean, name=name: value(mean, name)) for name, symbol in _symbols().items()),
    ]
    group = Column("of", lambda mean: " · ".join(filter(None, (mean.run, mean.policy)))) if several else None
    style = {ALL: TOTAL}
    console.print(
        Table(TableBlock(columns, means, note=note, group=group, style=lambda mean: style.get(mean.perturbation, "")))
    )


def _differs(rescored: Rescored | None) -> bool:
    return rescored is not None and (
        rescored.status in ("censored", "not_run") or repr(rescored.before) != repr(rescored.low)
    )


def _words(rescored: Rescored) -> str:
    return f"{rescored.status.replace('_', ' ')}: {rescored.reason}" if rescored.reason else ""


def _before_after(of: Rescored | Mean, name: str) -> str:
    """Return ``0.71 -> 0.52``, or ``0.71 -> 0.34..0.71`` between bounds; one number if nothing changed."""
    before, low, high = (words(getattr(scores, name)) for scores in (of.before, of.low, of.high))
    after = low if low == high else f"{low}..{high}"
    return before if after == before else f"{before} -> {after}"


def _write(scores: Sequence[OfflineScore], to: Path, console: Console) -> None:
    from robocontrast_ros.analysis.tables.rescoring import write_scores

    for file in write_scores(scores, to):
        console.path("written", file)
