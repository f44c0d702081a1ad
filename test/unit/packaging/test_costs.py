"""What tests cost is written down, and why the dear ones are worth it. Nothing is timed here."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[3]))

from scripts import slowest
from scripts.slowest import Cost

COSTS = slowest.read_table()
HOW = "run it with --costs build/costs.json, then python -m scripts.slowest build/costs.json"


def test_every_file_of_tests_is_in_the_table():
    assert {name for name in COSTS if "::" not in name} == slowest.files_of_tests(), HOW


@pytest.mark.parametrize("name", [name for name in COSTS if "::" in name])
def test_a_test_of_more_than_five_seconds_is_there_and_says_why_it_is_worth_it(name, checkout):
    file, _, test = name.partition("::")
    defined = test.partition("::")[0]
    assert re.search(rf"^(def|class) {defined}\b", (checkout / file).read_text(encoding="utf-8"), re.MULTILINE)
    assert COSTS[name].reason, f"write into test/costs.csv why {name} takes {COSTS[name].seconds:.0f} s"


def test_cases_are_summed_by_test_and_by_file_with_what_is_long_apart():
    cases = [("a.py::test_x[1]", False, 1.0), ("a.py::test_x[2]", True, 2.0), ("a.py::test_y", False, 4.0)]
    assert slowest.summed(cases) == {
        "a.py": Cost(5.0, 2.0),
        "a.py::test_x": Cost(1.0, 2.0),
        "a.py::test_y": Cost(4.0, None),
    }


def test_what_was_not_run_keeps_its_row_and_what_is_gone_or_cheap_has_none():
    known = {
        "a.py": Cost(9.0, 9.0),
        "a.py::test_x": Cost(6.0, None, "it plans"),
        "a.py::test_y": Cost(6.0, None, "it draws"),
        "b.py": Cost(1.0),
        "gone.py": Cost(1.0),
        "gone.py::test_z": Cost(7.0, None, "it was slow"),
    }
    found = {"a.py": Cost(8.0), "a.py::test_x": Cost(7.0), "a.py::test_y": Cost(1.0)}
    assert slowest.merged(known, found, {"a.py", "b.py", "new.py"}) == {
        "a.py": Cost(8.0, 9.0),
        "a.py::test_x": Cost(7.0, None, "it plans"),
        "b.py": Cost(1.0),
        "new.py": Cost(),
    }


def test_a_table_is_read_as_it_was_written(tmp_path):
    costs = {"a.py": Cost(1.5, None), "a.py::test_x": Cost(None, 6.0, "it, too, plans")}
    slowest.write_table(costs, tmp_path / "costs.csv")
    assert slowest.read_table(tmp_path / "costs.csv") == costs
    assert "test_x" in slowest.printed(costs)
