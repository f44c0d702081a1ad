"""A run folder that is damaged is refused in one line by every command that reads one."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from played_runs import record_run
from typer.testing import CliRunner

import robocontrast_ros
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


def test_paths_with_square_brackets_and_colons_are_printed_as_they_are(run, tmp_path):
    strange = tmp_path / "od[/b]d" / "[red]x :bug: [bold"
    strange.parent.mkdir(parents=True)
    run.rename(strange)
    for command, words in (
        (["results", strange], f"run folder: {strange}\n"),
        (["report", strange, "--to", strange / "r.html"], f"report: {strange / 'r.html'}\n"),
        (["score", strange / "bags", "--to", strange / "s"], f"written: {strange / 's' / 'scores.csv'}\n"),
        (["picture", strange / "bags" / "0000", "--to", strange / "p.png"], f"{strange / 'p.png'}\n"),
    ):
        result = invoke(*command)
        assert result.exit_code == 0, result.output
        assert words in result.output
    result = invoke("score", strange / "bags" / "0000", strange.parent / "none[/x]")
    assert f"{strange.parent / 'none[/x]'}: no such folder" in refused(result)


def test_only_one_kind_of_console_writes_to_the_terminal():
    # rich's own takes square brackets in a text for styles.
    package = Path(robocontrast_ros.__file__).parent
    made = {
        str(file.relative_to(package))
        for file in package.rglob("*.py")
        if re.search(r"from rich\.console import .*\bConsole\b", text := file.read_text())
        and re.search(r"(?<!\w)Console\(", text)
    }
    assert made == {"analysis/write_results.py"}
