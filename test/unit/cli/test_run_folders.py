"""A run folder that is damaged is refused in one line by every command that reads one."""

from __future__ import annotations

import shlex

import pytest
from played_runs import record_run
from typer.testing import CliRunner

from robocontrast_ros.cli.main import app
from robocontrast_ros.domain import Fault

READERS = (["results"], ["clutter-tables"], ["understanding"], ["score"], ["report"], ["evaluate", "--resume"])


def invoke(*arguments):
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, list(map(str, arguments)))


def refused(result) -> str:
    """Return the one line of a refusal."""
    assert result.exit_code == 2, result.output
    (line,) = result.stderr.strip().splitlines()
    assert line.startswith("error: ")
    return line


@pytest.fixture
def run(tmp_path):
    return record_run(tmp_path / "run", [Fault.NONE, Fault.NONE])


@pytest.mark.parametrize("command", READERS, ids=" ".join)
@pytest.mark.parametrize("damage", [b'{"event": "set_up", garb', b"\xff\xfe\x00", b"[" * 100_000], ids=len)
def test_a_damaged_line_of_a_journal_is_named_by_every_command(run, command, damage):
    journal = run / "journal.jsonl"
    first, _, *others = journal.read_bytes().split(b"\n")
    journal.write_bytes(b"\n".join([first, damage, *others]))
    line = refused(invoke(*command, run))
    assert f"{journal}, line 2: not an event of a journal of this version: Invalid JSON" in line
    assert line.endswith("Restore the file from a copy.")


@pytest.mark.parametrize("command", READERS, ids=" ".join)
def test_an_empty_journal_is_refused_by_every_command_with_one_that_can_be_pasted(run, command):
    run = run.rename(run.with_name("a b"))
    (run / "journal.jsonl").write_bytes(b"")
    line = refused(invoke(*command, run))
    assert f"{run / 'journal.jsonl'}: no event in it" in line
    pasted = line.partition("Begin it with: ")[2]
    assert shlex.split(pasted) == ["robocontrast", "evaluate", str(run / "parameters" / "session.yaml")]
