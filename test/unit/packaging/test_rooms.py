"""The rooms of the package are those that docs/architecture.md lists, in the order that the import contract holds."""

import re
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[3]))

from scripts import spread

ROOM = re.compile(r"^      ([a-z]+)/ ", re.MULTILINE)
LAYER = re.compile(r'^  "([a-z]+)",$', re.MULTILINE)
ANSWER = re.compile(r"^\| (.+\?) \| `(.+)` \| `(.+)` \|$", re.MULTILINE)


@pytest.fixture(scope="module")
def rooms(checkout):
    house = (checkout / "docs" / "architecture.md").read_text(encoding="utf-8").partition("## The house")[2]
    return ROOM.findall(house)


def test_the_import_contract_has_one_room_a_line_in_the_documents_order(checkout, rooms):
    contract = (checkout / "pyproject.toml").read_text(encoding="utf-8").partition("layers = [")[2]
    assert LAYER.findall(contract.partition("]")[0]) == rooms[::-1]


def test_every_room_is_listed(checkout, rooms):
    folders = {path.parent.name for path in (checkout / "robocontrast_ros").glob("*/__init__.py")}
    assert folders == set(rooms)


def test_every_answer_of_contributing_is_where_it_says(checkout):
    answers = ANSWER.findall((checkout / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert len(answers) == 10
    for question, file, name in answers:
        assert re.search(rf"\b{name}\b", (checkout / file).read_text(encoding="utf-8")), question


def test_what_an_addition_touches_is_as_contributing_says(checkout):
    assert checkout == spread.ROOT
    found = spread.table()
    assert all(int(row.split("|")[-2]) > 0 for row in found.splitlines()[2:]), "each example is still there"
    assert found in (checkout / "CONTRIBUTING.md").read_text(encoding="utf-8"), found
    with pytest.raises(SystemExit, match="no-such-commit"):
        spread.table("no-such-commit")
