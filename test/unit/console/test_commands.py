"""Commands: what is read is a command, or a refusal in one line."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robocontrast_ros.console.commands import Command, Judge, Stop, Tick, read_command

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
NAMES = ("tick", "checked", "ready", "start", "reached", "judge", "undo", "next", "void", "skip", "stop", "release")
KEYS = ("id", "step", "name", "done", "overrule", "success", "progress", "stage", "tags", "note", "by", "reason")
NEARLY = st.fixed_dictionaries(
    {"command": st.sampled_from((*NAMES, "pause", "resume", "end")) | JSON},
    optional={key: JSON | st.sampled_from(["a-1", 3, 0.5, True, ["x"]]) for key in KEYS},
)


def check(content):
    try:
        command = read_command(content)
    except ValueError as error:
        words = str(error)
        assert words and len(words) <= 300 and len(words.splitlines()) == 1 and words.isprintable()
    else:
        assert isinstance(command, Command)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_command_or_refused_in_one_line(content):
    check(content)


@given(JSON)
def test_any_json_is_a_command_or_refused_in_one_line(value):
    check(json.dumps(value).encode())


@given(NEARLY, st.dictionaries(st.text(max_size=6), JSON, max_size=1))
def test_what_is_nearly_a_command_is_one_or_refused_in_one_line(fields, more):
    check(json.dumps({**fields, **more}).encode())


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe{}",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"9" * 10_000,
        b'{"command": "stop", "id": "a", "step": ' + b"9" * 10_000 + b"}",
        b'{"command": "stop", "id": "a", "x\\ny": 1}',
        b'{"command": "first\\nsecond", "id": "a"}',
        b'{"command": "' + b"x" * 10_000 + b'", "id": "a"}',
        b'{"command": "stop", "id": "a", "reason": "\\ud800"}',
        b'{"command": "stop", "id": "a", "reason": "a\\u0000b"}',
        b'{"command": "stop", "id": "a", "reason": "\\u001b[2J"}',
        b'{"command": "stop", "id": "a\\n"}',
        b'{"command": "stop", "id": ""}',
        b'{"command": "stop", "id": "' + b"a" * 65 + b'"}',
        b'{"command": "stop"}',
        b'{"command": "start", "id": "a", "step": -1}',
        b'{"command": "start", "id": "a", "step": "1"}',
        b'{"command": "start", "id": "a", "step": true}',
        b'{"command": "judge", "id": "a", "success": "no"}',
        b'{"command": "judge", "id": "a", "success": 1}',
        b'{"command": "judge", "id": "a", "success": true, "progress": NaN}',
        b'{"command": "judge", "id": "a", "success": true, "progress": 1.1}',
        b'{"command": "judge", "id": "a", "success": true, "tags": [""]}',
        b'{"command": "judge", "id": "a", "success": true, "tags": "abc"}',
        b'{"command": "void", "id": "a", "reason": "  "}',
        b'{"command": "release", "id": "a", "by": ""}',
    ],
    ids=lambda content: content[:60].decode(errors="replace"),
)
def test_what_is_no_command_is_refused_in_one_line(content):
    with pytest.raises(ValueError, match=r".") as refused:
        read_command(content)
    assert str(refused.value).isprintable() and len(str(refused.value)) <= 300


def test_commands_are_read_with_their_defaults():
    assert read_command(b'{"command": "stop", "id": "a"}') == Stop(id="a")
    assert Stop(id="a").step is None
    read = read_command(b'{"command":"judge","id":"a","step":3,"success":true,"tags":["x "],"note":"one\\ntwo"}')
    assert read == Judge(id="a", step=3, success=True, tags=("x",), note="one\ntwo")
    assert Judge(id="a", success=True).tags == () and Judge(id="a", success=False).progress == 0.0


def test_an_item_of_the_checklist_is_named_as_it_is_written_however_long():
    item = " two spaces  and a line that goes on " + "and on " * 30
    content = json.dumps({"command": "tick", "id": "a", "step": 0, "name": item}).encode()
    assert read_command(content) == Tick(id="a", step=0, name=item)
