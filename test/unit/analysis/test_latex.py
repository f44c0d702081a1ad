"""A run's summary as LaTeX: whole tabulars with the numbers of the summary, whatever the names are."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from line_world import LineBench, SwappingLineBench, line_evaluation

from robocontrast_ros.analysis.tables.summary import estimates_tex, summary_tex
from robocontrast_ros.analysis.write_results import write_results
from robocontrast_ros.domain import Fault
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.sessions.control import SessionControl
from robocontrast_ros.sessions.loop import run_session

SPECIAL = "50% of a_b & {c} #1 $x ~ ^ \\end"


def read_tabular(text: str) -> list[list[str]]:
    """Return the cells of a booktabs tabular, and refuse what LaTeX would."""
    comments, _, body = text.partition("\\begin{tabular}")
    assert all(line.startswith("% ") for line in comments.splitlines())
    assert text.isascii()
    columns, lines = re.fullmatch(r"\{([lr]+)\}\n(.*)\\end\{tabular\}\n", body, re.DOTALL).groups()
    top, header, middle, *rows, bottom = lines.splitlines()
    assert (top, middle, bottom) == ("\\toprule", "\\midrule", "\\bottomrule")
    cells = []
    for row in (header, *rows):
        assert row.endswith(" \\\\")
        cells.append(re.split(r"(?<!\\)&", row.removesuffix("\\\\")))
        assert len(cells[-1]) == len(columns)
        for cell in cells[-1]:
            outside, mathematics = re.split(r"(?<!\\)\$", cell)[::2], re.split(r"(?<!\\)\$", cell)[1::2]
            assert len(outside) == len(mathematics) + 1, f"mathematics does not end in {cell!r}"
            for words in outside:
                plain = re.sub(r"\\(text[a-z]+|space|[&%$#_{}~^])( |\{\})?", "", words)
                assert not re.search(r"[&%$#_{}~^\\]", plain), f"not escaped: {words!r}"
    return [[cell.strip() for cell in row] for row in cells]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = RunFolder(tmp_path_factory.mktemp("run"))
    evaluation = line_evaluation(test_set_size=5)
    run_session(evaluation, LineBench(faults={(1, 0): Fault.SENSOR_LOST}), folder.journal)
    return folder, write_results(folder)


def test_the_files_of_a_run_hold_the_summary(results):
    folder, found = results
    header, *rows = read_tabular((folder.path / "summary.tex").read_text())
    assert header == [
        "perturbation",
        "n",
        "SPL",
        "success",
        "SPL $-$ base",
        "success $-$ base",
        "void",
        "cost [m]",
    ]
    assert [row[0].replace("$\\Delta$", "Δ") for row in rows] == [row.symbol for row in found.summary.rows]
    for cells, row in zip(rows, found.summary.rows, strict=True):
        assert int(cells[1]) == row.trials
        numbers = [float(n) for n in re.findall(r"[-+]?\d+\.\d+", cells[2])]
        expected = (row.scores["spl"].mean, row.scores["spl"].low, row.scores["spl"].high)
        assert numbers == pytest.approx([n for n in expected if n is not None], abs=0.005)
    assert sum(int(cells[6]) for cells in rows[:-1]) == int(rows[-1][6]) == 1
    header, *rows = read_tabular((folder.path / "estimates.tex").read_text())
    assert header == ["test-set mean of SPL", "domain", "test set"]
    assert [row[0] for row in rows] == ["all trials", "base trials", "adjusted"]


def test_names_with_letters_that_mean_something_to_latex_are_escaped(results):
    summary = results[1].summary
    rows = tuple(
        replace(row, symbol=f"Δ{SPECIAL}", policy=policy) for policy in (SPECIAL, "other") for row in summary.rows
    )
    (estimates,) = summary.estimates.values()
    hostile = replace(
        summary,
        session=f"{SPECIAL}\n{SPECIAL}",
        rows=rows,
        estimates={SPECIAL: estimates, "other": estimates},
    )
    header, *cells = read_tabular(summary_tex(hostile))
    assert header[:2] == ["policy", "perturbation"]
    assert [row[0] != "" for row in cells] == ([True] + [False] * (len(cells) // 2 - 1)) * 2
    assert all(row[1].startswith("$\\Delta$50\\% of a\\_b \\& \\{c\\} \\#1 \\$x") for row in cells)
    assert len(read_tabular(estimates_tex(hostile))) == 1 + 2 * 3


def test_two_policies_have_rows_of_their_own(tmp_path):
    folder, control = RunFolder(tmp_path), SessionControl()
    bench = SwappingLineBench(before_trial=lambda trial: control.swap("second") if trial.index == 2 else None)
    run_session(line_evaluation(test_set_size=6), bench, folder.journal, control=control)
    write_results(folder)
    cells = read_tabular((folder.path / "summary.tex").read_text())
    assert [row[0] for row in cells if row[0]] == ["policy", "first", "second"]


@pytest.mark.parametrize("trials", ["none", "one", "void only"])
def test_a_run_that_came_to_little_has_tables_that_say_so(tmp_path, trials):
    folder = RunFolder(tmp_path)
    faults = {(0, 0): Fault.SIMULATOR_LOST} if trials == "void only" else {}
    changes = {"none": {"budget": 0.0}, "one": {"max_trials": 1}, "void only": {}}[trials]
    run_session(line_evaluation(**changes), LineBench(faults=faults), folder.journal)
    write_results(folder)
    header, *rows = read_tabular((folder.path / "summary.tex").read_text())
    assert rows[-1][0] == "all"
    assert int(rows[-1][1]) == (1 if trials == "one" else 0)
    assert rows[-1][header.index("SPL")] == "--" if trials != "one" else rows[-1][2].startswith("$")
    read_tabular((folder.path / "estimates.tex").read_text())
