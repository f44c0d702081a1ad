"""A table, described once, in a terminal of any width and in every other form."""

from __future__ import annotations

import re

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from robocontrast_ros.analysis.report.rendering import NONE, milliseconds, render_table
from robocontrast_ros.analysis.tables.block import (
    ALARM,
    SIGNED,
    TOTAL,
    Column,
    Known,
    PValue,
    TableBlock,
    difference,
    words,
)
from robocontrast_ros.analysis.tables.frames import columns_of, frame
from robocontrast_ros.analysis.tables.latex import longtable, tabular
from robocontrast_ros.analysis.tables.markdown import markdown
from robocontrast_ros.analysis.tables.terminal import Table
from robocontrast_ros.statistics.estimate import Estimate


def printed(block: TableBlock, width: int = 80) -> str:
    console = Console(width=width)
    with console.capture() as capture:
        console.print(Table(block))
    return capture.get()


def block_of(headings, rows, **more) -> TableBlock:
    """Return a table whose rows are sequences of values."""
    columns = [Column(name, lambda row, n=n: row[n]) for n, name in enumerate(headings)]
    return TableBlock(columns, rows, **more)


def squeezed(text: str) -> str:
    """Return a text without its spaces, which are where lines may be broken."""
    return re.sub(r"\s", "", text)


NAMES = st.text(st.sampled_from("abcÄΔ_漢[]:,/ \n"), min_size=1, max_size=40).filter(str.strip)
NUMBERS = st.one_of(
    st.none(),
    st.integers(-(10**6), 10**6),
    st.floats(-1e4, 1e4),
    st.builds(Estimate, *[st.floats(-9.0, 9.0)] * 3),
    st.builds(PValue, st.floats(0.0, 1.0)),
)


@st.composite
def some_blocks(draw):
    """Draw a table of names, and of columns of numbers or of words."""
    number, names = draw(st.integers(1, 5)), [NAMES, *draw(st.lists(st.sampled_from([NAMES, NUMBERS]), max_size=9))]
    rows = [[draw(values) for values in names] for _ in range(number)]
    headings = [draw(NAMES.filter(lambda name: "\n" not in name)) for _ in names]
    group = Column("group", lambda row: row[0]) if draw(st.booleans()) else None
    return block_of(headings, rows, title=draw(NAMES), note=draw(NAMES), group=group)


@given(block=some_blocks(), width=st.integers(20, 130))
@examples(200, quick=40)
def test_no_line_is_wider_than_the_terminal_and_nothing_is_cut_off(block, width):
    text = printed(block, width)
    assert max(map(cell_len, text.splitlines())) <= width
    assert "…" not in text
    headings = [one.heading for one in block.shown]
    assert len(set(headings)) == len(headings)
    # Every letter is there as often as it is needed, however lines are broken.
    shown = squeezed(text)
    for name in (block.title, block.note, *headings, *(str(row[0]) for row in block.rows)):
        assert all(shown.count(letter) >= squeezed(name).count(letter) for letter in set(squeezed(name)))


@given(
    names=st.lists(st.text(st.sampled_from("ab_"), min_size=1, max_size=60), min_size=2, max_size=6, unique=True),
    columns=st.integers(1, 8),
    width=st.integers(24, 80),
)
@examples(100, quick=30)
def test_rows_of_different_names_can_be_told_apart(names, columns, width):
    rows = [[name, *(Estimate(0.5, 0.25, 0.75) for _ in range(columns))] for name in names]
    text = printed(block_of(["", *(f"column {n}" for n in range(columns))], rows), width)
    if re.search("^column 0 ", text, re.MULTILINE):
        # A list of rows: each begins with its name, and ends with an empty line.
        starts = [part.partition("column 0")[0] for part in text.split("\n\n")]
    else:
        # A name that is broken goes on in the lines below.
        starts = [line.split(" ")[0] for line in text.splitlines()]
    found = squeezed("".join(start for start in starts if set(start) <= set("ab_ \n")))
    assert found.startswith("".join(names)) and len(found) % len("".join(names)) == 0


def test_a_table_of_numbers_that_is_too_wide_becomes_several_with_the_names_of_the_rows():
    rows = [[f"row {n}", *(Estimate(0.1 * n, 0.0, 1.0) for _ in range(6))] for n in range(3)]
    text = printed(block_of(["", *(f"score {n}" for n in range(6))], rows))
    assert [line.split() for line in text.splitlines() if line.startswith("row 1")] == [
        ["row", "1", *["0.10", "[0.00,", "1.00]"] * 4],
        ["row", "1", *["0.10", "[0.00,", "1.00]"] * 2],
    ]
    assert text.splitlines()[4] == "", "an empty line between the two"


def test_a_table_of_words_that_is_too_wide_becomes_a_list_and_an_empty_cell_no_line():
    rows = [["first", "a" * 30, "b " * 30, ""], ["second", "c" * 30, "", "d" * 30]]
    lines = printed(block_of(["name", "long", "broken", "other"], rows), 40).splitlines()
    assert lines[0].split() == ["name", "first"] and lines[1].split() == ["long", "a" * 30]
    assert lines.count("") == 1 and sum(line.startswith("broken") for line in lines) == 1
    assert not any(line.startswith("other") for line in lines[: lines.index("")])


def test_a_column_that_repeats_another_is_shown_once_and_one_that_shares_its_heading_is_numbered():
    block = block_of(["", "success", "success", "success"], [["base", 1.0, 1.0, 0.5], ["LB1", 0.0, 0.0, 0.0]])
    assert [one.heading for one in block.shown] == ["", "success", "success (2)"]


def test_a_column_that_is_read_with_the_one_before_it_keeps_its_heading_and_its_place():
    columns = [Column(name, lambda row: row, beside=name == "steps") for name in ("first", "steps", "second", "steps")]
    assert markdown(TableBlock(columns, [3])).splitlines() == [
        *("| first | steps | second | steps |", "|---|---|---|---|", "| 3 | 3 | 3 | 3 |")
    ]


def test_values_are_put_into_words():
    assert words(Estimate(0.714, 0.5, 0.881)) == "0.71 [0.50, 0.88]"
    assert words(difference(Estimate(0.714))) == words(0.714, SIGNED) == "+0.71"
    assert words(None) == words(float("nan")) == words(Estimate()) == words(PValue(None)) == "-"
    assert (words(PValue(0.0004)), words(PValue(0.04))) == ("<0.001", "0.040")
    assert words(Known(0.5, "all 3 run")) == "0.50, all 3 run"
    assert words(-0.5, none="none", minus="minus ") == "minus 0.50"


@pytest.fixture
def block():
    rows = [
        ("p", "base & <b>", 3, Estimate(-0.5, -0.75, 0.25)),
        ("p", "all", 4, Estimate()),
        ("q", "x|y", 1, Estimate(1.0)),
    ]
    return TableBlock(
        [
            Column("trials", lambda row: row[1]),
            Column("n", lambda row: row[2], roomy=True),
            Column("a - b", lambda row: row[3], SIGNED),
        ],
        rows,
        title="Title",
        note="How it is read.",
        mark="†",
        group=Column("policy", lambda row: row[0]),
        style=lambda row: {"all": TOTAL, "x|y": ALARM}.get(row[1], ""),
    )


def test_one_description_has_a_form_for_a_terminal_a_paper_a_document_and_a_page(block):
    assert printed(block).splitlines() == [
        *("Title", "trials     n               a - b†", "p", "base & <b> 3 -0.50 [-0.75, +0.25]"),
        *("all        4                    -", "q", "x|y        1                +1.00", "How it is read."),
    ]
    tex = tabular(block)
    assert tex.startswith("% Title.\n% How it is read.\n% Needs \\usepackage{booktabs}.\n\\begin{tabular}{llrl}\n")
    assert "policy & trials & n & a $-$ b$^\\dagger$ \\\\" in tex
    assert "p & base \\& <b> & 3 & $-0.50\\;[-0.75, +0.25]$ \\\\\n & all & 4 & -- \\\\" in tex
    assert markdown(block).splitlines()[0] == "| policy | trials | n | a - b† |"
    assert "| q | x\\|y | 1 | +1.00 |" in markdown(block)
    page = render_table(block)
    assert "<caption>† How it is read.</caption>" in page and "base &amp; &lt;b&gt;" in page
    assert '<tr class="total">' in page and page.count('<b class="alarm">') == 1
    assert "\N{MINUS SIGN}0.50 [\N{MINUS SIGN}0.75, +0.25]" in page and '<th scope="col" class="n roomy">n</th>' in page


def test_a_table_over_several_pages_repeats_its_heading():
    text = longtable(block_of(["what_is", "Δ"], [["“50 %” …", "±1"]]), (0.25, 0.5))
    assert text.startswith("% Needs \\usepackage{booktabs,longtable}.\n\\begin{longtable}{p{0.250\\linewidth}p{0.500")
    assert "what\\_is & $\\Delta$ \\\\\n\\midrule\n\\endhead\n" in text
    assert "``50 \\%'' \\ldots{} & $\\pm$1 \\\\" in text
    assert text.isascii() and text.endswith("\\end{longtable}\n")


def test_a_file_has_three_columns_an_estimate_with_types_and_meanings():
    columns = (
        Column("name", lambda row: row[0], meaning="of the row"),
        Column("score", lambda row: row[1], kind=Estimate, meaning="its mean"),
    )
    assert list(columns_of(columns)) == ["name", "score_mean", "score_low", "score_high"]
    assert columns_of(columns)["score_mean"][1] == "its mean"
    table = frame(columns, [("x", Estimate(0.5)), ("y", Estimate(0.5, 0.0, 1.0))])
    assert table.write_csv() == "name,score_mean,score_low,score_high\nx,0.5,,\ny,0.5,0.0,1.0\n"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(None, NONE), (0.0123, "12.3 ms"), (0.5, "500 ms"), (0.9994, "999 ms"), (0.9996, "1000 ms"), (1.234, "1234 ms")],
)
def test_a_latency_has_three_digits_or_whole_milliseconds(seconds, words):
    assert milliseconds(seconds) == words
