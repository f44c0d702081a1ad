r"""A run's summary as LaTeX tables that a paper can ``\input``; they need the package booktabs and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from robocontrast_ros.analysis.estimates.summary import STOPPED, Row, Summary
from robocontrast_ros.statistics.estimate import NO_ESTIMATE, Estimate

NONE = "--"

MINUS = "\N{MINUS SIGN}"

SYMBOLS = {"Δ": r"$\Delta$", MINUS: "$-$", STOPPED: r"$^\dagger$"}
"""Letters of names and headings that LaTeX has only in math mode."""


_COMMANDS = {"\\": r"\textbackslash", "~": r"\textasciitilde", "^": r"\textasciicircum"}


def summary_tex(summary: Summary) -> str:
    """Return a tabular with a row a perturbation: trials, both scores with intervals, differences to base trials."""
    metric = summary.metric_spec.heading
    headings = (
        "perturbation",
        "n",
        metric,
        "success",
        f"{metric} {MINUS} base",
        f"success {MINUS} base",
        "void",
        f"cost [{summary.cost_unit}]",
    )
    # Where success is the metric, its columns are there once.
    cells = [dict(zip(headings, _row(row, summary.metric), strict=True)) for row in summary.rows]
    columns = {name: "r" if name in ("n", "void", headings[-1]) else "l" for name in headings}
    rows = [tuple(row.values()) for row in cells]
    note = (
        "95 % intervals. n: trials that count. minus base: mean difference to the same instances' base trials. "
        "void: attempts that are in no mean."
    )
    return _tabular(summary, [row.policy for row in summary.rows], columns, rows, note)


def scores_tex(summary: Summary) -> str:
    """Return a tabular with a row a perturbation and a column a score: means with intervals."""
    columns = {"perturbation": "l", "n": "r"} | {spec.heading: "l" for spec in summary.scores}
    rows = [
        (row.symbol, str(row.trials), *(estimate_tex(row.scores[spec.name]) for spec in summary.scores))
        for row in summary.rows
    ]
    note = "95 % intervals. n: trials that count; a mean is over those that have the score."
    return _tabular(summary, [row.policy for row in summary.rows], columns, rows, note)


def estimates_tex(summary: Summary) -> str:
    """Return a tabular with a row an estimator of the test set's mean: for the domain, and for the set itself."""
    columns = {f"test-set mean of {summary.metric_spec.heading}": "l", "domain": "l", "test set": "l"}
    policies, rows = [], []
    for policy, found in summary.estimates.items():
        for name, of_domain, of_test_set in found.by_name:
            policies.append(policy)
            exact = estimate_tex(of_test_set, exact=found.no_sampling_error)
            rows.append((name, estimate_tex(of_domain), exact))
    note = "95 % intervals. domain: what the test set was drawn from."
    return _tabular(summary, policies, columns, rows, note)


def _row(row: Row, metric: str) -> tuple[str, ...]:
    return (
        row.symbol,
        str(row.trials),
        estimate_tex(row.scores[metric]),
        estimate_tex(row.success),
        estimate_tex(row.difference, "+.2f"),
        estimate_tex(row.success_difference, "+.2f"),
        str(row.void),
        f"{row.cost:.2f}",
    )


def estimate_tex(estimate: Estimate | None, form: str = ".2f", exact: str = "") -> str:
    r"""Return ``$0.71\;[0.52, 0.88]$``, where a minus is one; with exact words, if any, in the interval's place."""
    found = estimate or NO_ESTIMATE
    if found.mean is None:
        return NONE
    if exact:
        return f"${found.mean:{form}}$, {exact}"
    if found.low is None or found.high is None:
        return f"${found.mean:{form}}$"
    return f"${found.mean:{form}}\\;[{found.low:{form}}, {found.high:{form}}]$"


def _tabular(
    summary: Summary,
    policies: Sequence[str],
    columns: dict[str, str],
    rows: Sequence[Sequence[str]],
    note: str,
) -> str:
    """Return a tabular; names are escaped, and cells of numbers are LaTeX already."""
    content = [list(row) for row in rows]
    if len(set(policies)) > 1:
        columns = {"policy": "l", **columns}
        firsts = {policy: policies.index(policy) for policy in policies}
        content = [
            [p if firsts[p] == i else "", *row] for i, (p, row) in enumerate(zip(policies, content, strict=True))
        ]
    names = ("policy", "perturbation", *(name for name in columns if name.startswith("test-set")))
    title = f"{summary.session}: {summary.strategy}, {summary.policy} on {summary.robot}, seed {summary.seed}"
    # What is left-aligned and no name has an interval.
    columns = {
        f"{name}{summary.mark}" if align == "l" and name not in names else name: align
        for name, align in columns.items()
    }
    return booktabs(columns, content, names, (f"{title}.", note, *filter(None, [summary.stopped])))


def booktabs(
    columns: dict[str, str], rows: Sequence[Sequence[str]], names: Sequence[str], comments: Sequence[str]
) -> str:
    """Return a tabular.

    Args:
        columns: heading -> ``l`` or ``r``.
        rows: their cells.
        names: headings of the columns whose cells are escaped; the others are LaTeX already.
        comments: lines above it.
    """
    head = _line(map(_escaped, columns))
    body = (_line(_escaped(c) if n in names else c for n, c in zip(columns, row, strict=True)) for row in rows)
    lines = (r"\toprule", head, r"\midrule", *body, r"\bottomrule")
    within = "".join(f"{line}\n" for line in lines)
    text = f"\\begin{{tabular}}{{{''.join(columns.values())}}}\n{within}\\end{{tabular}}\n"
    for symbol, latex in SYMBOLS.items():
        text = text.replace(symbol, latex)
    said = (*comments, r"Needs \usepackage{booktabs}.")
    return "".join(f"% {' '.join(line.split())}\n" for line in said) + text


def _line(cells: Iterable[str]) -> str:
    return rf"{' & '.join(cells)} \\"


def _escaped(text: str) -> str:
    """Return a text as LaTeX prints it."""
    return re.sub(r"[&%$#_{}]|[\\~^] ?", _escape, text)


def _escape(found: re.Match[str]) -> str:
    sign = found[0]
    if (command := _COMMANDS.get(sign[0])) is None:
        return f"\\{sign}"
    # The space after a command ends it: one of the text is a command, too.
    return rf"{command} \space " if sign.endswith(" ") else f"{command} "
