"""test/PROMISES.md names tests that are there, and says by which target each is run."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TEST = Path(__file__).resolve().parents[2]
ROW = re.compile(
    r"\| \[(?P<section>.+)\]\(\.\./(?P<page>docs/\w+\.md)#(?P<anchor>[^)]+)\) \| (?P<promise>.+) "
    r"\| `(?P<file>[\w/]+\.py)::(?P<test>[\w:]+)` \| `make (?P<target>test|test-long)` \|"
)
LONG = "pytest.mark.long"


def rows() -> list[re.Match[str]]:
    """Return the rows of all tables; a line of a table that is none, and not its head, is an error."""
    lines = (TEST / "PROMISES.md").read_text(encoding="utf-8").splitlines()
    body = [line for line in lines if line.startswith("|") and not line.startswith(("| section |", "|---"))]
    found = [ROW.fullmatch(line) for line in body]
    wrong = [line for line, row in zip(body, found, strict=True) if row is None]
    assert not wrong, wrong
    return [row for row in found if row is not None]


@cache
def found_in(file: Path) -> dict[str, bool]:
    """Return the tests of a file by name, `Class::test` in a class, and whether each is marked as long."""
    module = ast.parse(file.read_text(encoding="utf-8"))
    marks = [
        node for node in module.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
    ]
    all_long = any(LONG in ast.unparse(mark.value) for mark in marks)
    return dict(_walk(module.body, "", all_long))


def _walk(body, prefix, inherited):
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            # A case that is marked by itself, in `parametrize`, leaves the others where they are.
            long = inherited or any(ast.unparse(mark) == LONG for mark in node.decorator_list)
            if isinstance(node, ast.ClassDef):
                yield from _walk(node.body, f"{prefix}{node.name}::", long)
            elif node.name.startswith("test_"):
                yield f"{prefix}{node.name}", long


@cache
def anchors_of(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_every_promise_names_a_section_of_its_page(checkout):
    for row in rows():
        assert row["anchor"] in anchors_of(checkout / row["page"]), row[0]


def test_every_promise_is_held_by_a_test_that_is_run_where_the_table_says():
    for row in rows():
        found = found_in(TEST / row["file"])
        assert row["test"] in found, f"{row['file']} has no {row['test']}"
        assert found[row["test"]] is (row["target"] == "test-long"), f"{row['test']} is not run by make {row['target']}"


@pytest.mark.parametrize("page", ["ros", "ros_nodes", "ros_topics", "ros_parameters", "safety", "operator"])
def test_the_pages_of_the_graph_have_promises(page):
    assert any(row["page"] == f"docs/{page}.md" for row in rows())


def test_marks_are_seen_wherever_they_stand(tmp_path):
    file = tmp_path / "test_x.py"
    file.write_text(
        "import pytest\n"
        "@pytest.mark.long\ndef test_long(): ...\n"
        "def test_short(): ...\n"
        "@pytest.mark.parametrize('x', [pytest.param(1, marks=pytest.mark.long), 2])\ndef test_some(x): ...\n"
        "@pytest.mark.long\nclass TestLong:\n    def test_a(self): ...\n"
    )
    assert found_in(file) == {"test_long": True, "test_short": False, "test_some": False, "TestLong::test_a": True}
    marked = tmp_path / "test_y.py"
    marked.write_text("import pytest\npytestmark = [pytest.mark.long]\ndef test_y(): ...\n")
    assert found_in(marked) == {"test_y": True}
