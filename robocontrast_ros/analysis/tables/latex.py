r"""Tables that a paper can ``\input``; they need the package booktabs, and those over several pages also longtable."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from robocontrast_ros.analysis.tables.block import Known, TableBlock, Value, words
from robocontrast_ros.statistics.estimate import Estimate

NONE, MINUS = "--", "\N{MINUS SIGN}"

SYMBOLS = {
    "Δ": r"$\Delta$",
    MINUS: "$-$",
    "†": r"$^\dagger$",
    "±": r"$\pm$",
    "“": "``",
    "”": "''",
    "…": r"\ldots{}",
}
"""Letters of names and headings -> their LaTeX."""

_COMMANDS = {"\\": r"\textbackslash", "~": r"\textasciitilde", "^": r"\textasciicircum"}


def tabular(block: TableBlock, *comments: str) -> str:
    """Return a table with columns as wide as their content; title, note and comments are LaTeX comments above it."""
    left = (one.textual or any(isinstance(value, Estimate | Known) for value in one.values) for one in block.shown)
    columns = "".join(["l" * bool(block.group), *("l" if one else "r" for one in left)])
    return _environment("tabular", columns, block, (), ["booktabs"], comments)


def longtable(block: TableBlock, widths: Sequence[float], *comments: str) -> str:
    """Return a table that may be longer than a page.

    Args:
        block: the table.
        widths: widths of its columns, as shares of a line.
        comments: LaTeX comments above it, after its title and its note.
    """
    columns = "".join(f"p{{{width:.3f}\\linewidth}}" for width in widths)
    end = rf"\midrule \multicolumn{{{len(widths)}}}{{r}}{{Continued on next page}} \\ \midrule"
    repeated = (r"\endhead", end, r"\endfoot", r"\bottomrule", r"\endlastfoot")
    return _environment("longtable", columns, block, repeated, ["booktabs", "longtable"], comments)


def _environment(
    name: str,
    columns: str,
    block: TableBlock,
    repeated: Sequence[str],
    packages: Sequence[str],
    comments: Sequence[str],
) -> str:
    """Return an environment; ``repeated`` are the lines for the page breaks of a longtable, empty for a tabular."""
    group = [block.group.name] if block.group else []
    named = (one.heading.replace(" - ", f" {MINUS} ") for one in block.shown)
    head = [r"\toprule", _line(map(_escaped, [*group, *named])), r"\midrule"]
    body = [
        _line([*(_escaped("" if number else heading) for _ in group), *line.cells])
        for heading, lines in block.lines(_tex)
        for number, line in enumerate(lines)
    ]
    lines = [*head, *repeated, *body, *([] if repeated else [r"\bottomrule"])]
    within = "".join(f"{line}\n" for line in lines)
    text = f"\\begin{{{name}}}{{{columns}}}\n{within}\\end{{{name}}}\n"
    for symbol, latex in SYMBOLS.items():
        text = text.replace(symbol, latex)
    said = [*filter(None, [block.title and f"{block.title}.", block.note, *comments])]
    said.append(rf"Needs \usepackage{{{','.join(packages)}}}.")
    return "".join(f"% {' '.join(line.split())}\n" for line in said) + text


def _tex(value: Value, form: str) -> str:
    if isinstance(value, str):
        return _escaped(value)
    mean, space, rest = words(value, form, NONE).partition(" ")
    if mean == NONE or not isinstance(value, Estimate | Known):
        return mean + space + rest
    if isinstance(value, Known):
        return f"${mean.rstrip(',')}$, {_escaped(rest)}"
    return f"${mean}\\;{rest}$" if rest else f"${mean}$"


def _line(cells: Iterable[str]) -> str:
    return rf"{' & '.join(cells)} \\"


def _escaped(text: str) -> str:
    """Return a text as LaTeX prints it."""
    return re.sub(r"[&%$#_{}]|[\\~^] ?", _escape, text)


def _escape(found: re.Match[str]) -> str:
    sign = found[0]
    if (command := _COMMANDS.get(sign[0])) is None:
        return f"\\{sign}"
    # A space after a command only ends it, so a space of the text is also written as a command.
    return rf"{command} \space " if sign.endswith(" ") else f"{command} "
