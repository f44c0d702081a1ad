"""Verdicts about policies as lines for a terminal, and as a table."""

from __future__ import annotations

from collections.abc import Sequence

from robocontrast_ros.analysis.foreign.verdict import Verdict, Word
from robocontrast_ros.analysis.tables.block import NONE, SIGNED, Column, PValue, TableBlock, words


def verdict_lines(verdict: Verdict) -> list[str]:
    """Return the verdict, its numbers, and what they rest on, a sentence a line; the first is the verdict."""
    head = f"{verdict.first} against {verdict.second}: {verdict.word.value}"
    if verdict.word is Word.NOT_COMPARABLE:
        return [f"{head} ({verdict.reason})", *_indented(verdict.notes)]
    return [f"{head}{_margin(verdict)}", *_indented([_numbers(verdict), *_power(verdict), *verdict.notes])]


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _margin(verdict: Verdict) -> str:
    if verdict.p_not_worse is None:
        return ""
    shown = f"p = {words(PValue(verdict.p_not_worse))}" if verdict.p_not_worse >= 0.001 else "p < 0.001"
    return f", {'and' if verdict.not_worse else 'not'} shown to be no worse by {verdict.margin:g} ({shown})"


def _numbers(verdict: Verdict) -> str:
    difference = f"{words(verdict.difference, SIGNED)}; {verdict.test}{_p(' p', verdict.p_value)}"
    if verdict.adjusted is not None:
        difference += f",{_p(' by Holm', verdict.adjusted)}"
    paired = "unpaired" if verdict.pairs is None else f"{verdict.pairs} pairs"
    sides = [_mean(verdict, side) for side in (0, 1)]
    if verdict.control.mean is not None:
        return (
            f"{verdict.measure} {sides[0]} - {sides[1]}, control {words(verdict.control, SIGNED)}, {paired}: "
            f"difference in differences {difference}"
        )
    return f"{verdict.measure} {sides[0]} - {sides[1]}, {paired}: {difference}"


def _mean(verdict: Verdict, side: int) -> str:
    mean = verdict.means[side] if verdict.means else None
    number = verdict.trials[side]
    counts = f"{verdict.successes[side]} of {number}" if verdict.successes else f"n = {number}"
    return f"{words(mean)} ({counts})"


def _p(name: str, p: float | None) -> str:
    if p is None:
        return f"{name} {NONE}"
    return f"{name} < 0.001" if p < 0.001 else f"{name} = {p:.3f}"


def _power(verdict: Verdict) -> list[str]:
    if verdict.smallest_drop is None and verdict.successes and not verdict.successes[1]:
        lines = ["The second solved none, so there is no drop to find."]
    elif verdict.smallest_drop is None:
        lines = ["So few trials find no drop, however large, with 80 % power."]
    else:
        lines = [f"Smallest drop that so many trials find with 80 % power: {words(verdict.smallest_drop)}."]
    pairs = "in pairs" if verdict.pairs is not None else "in pairs that are no more alike than by chance"
    needed = [
        f"{number} {how}"
        for number, how in ((verdict.needed.unpaired, "unpaired"), (verdict.needed.paired, pairs))
        if number is not None
    ]
    if needed:
        size = abs(verdict.difference.mean or 0.0)
        lines.append(f"Trials a side that decide a difference of {size:.2g} with 80 % power: {', '.join(needed)}.")
    return lines


def verdicts_block(verdicts: Sequence[Verdict]) -> TableBlock:
    """Return the table of verdicts, a row each."""
    return TableBlock(
        [
            Column("first"),
            Column("second"),
            Column("verdict", lambda v: v.word.value),
            Column("trials", lambda v: f"{v.trials[0]}, {v.trials[1]}" if v.pairs is None else f"{v.pairs} pairs"),
            Column("first mean", lambda v: v.means and v.means[0]),
            Column("second mean", lambda v: v.means and v.means[1]),
            Column("difference", lambda v: v.difference, SIGNED),
            Column("control", lambda v: v.control if v.control.mean is not None else None, SIGNED),
            Column("test"),
            Column("p", lambda v: PValue(v.p_value)),
            Column("Holm p", lambda v: PValue(v.adjusted)),
            Column("smallest drop", lambda v: v.smallest_drop),
            Column("trials for this difference, unpaired", lambda v: v.needed.unpaired),
            Column("in pairs", lambda v: v.needed.paired),
        ],
        verdicts,
    )
