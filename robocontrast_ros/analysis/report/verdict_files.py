"""Verdicts as files for continuous integration: JUnit, Markdown, SARIF; and as lines that GitHub shows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from robocontrast_ros import __version__
from robocontrast_ros.analysis.foreign.verdict import Verdict, Word
from robocontrast_ros.analysis.tables.markdown import markdown
from robocontrast_ros.analysis.tables.verdict import verdict_lines, verdicts_block
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.system.disk import write_file, writing

RULE = "policy-comparison"
SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {Word.BETTER: "note", Word.WORSE: "error", Word.UNDECIDED: "warning", Word.NOT_COMPARABLE: "warning"}
"""SARIF's level of each verdict."""
_OUTCOMES = {Word.WORSE: "failure", Word.UNDECIDED: "skipped", Word.NOT_COMPARABLE: "error"}
"""JUnit's element of each verdict that is no pass."""


def write_junit(verdicts: Sequence[Verdict], file: Path) -> None:
    """Write a test case for each verdict.

    Better, and shown to be no worse by the margin, are passes; worse is a failure, undecided is skipped, not comparable
    an error.

    Raises:
        DiskError: the file cannot be written.
    """
    suites = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(suites, "testsuite", name="robocontrast compare", tests=str(len(verdicts)))
    counts = dict.fromkeys(("failure", "error", "skipped"), 0)
    for verdict in verdicts:
        case = ElementTree.SubElement(
            suite, "testcase", classname=_plain(verdict.first), name=f"against {_plain(verdict.second)}", time="0"
        )
        outcome = None if verdict.not_worse else _OUTCOMES.get(verdict.word)
        text = _plain("\n".join(verdict_lines(verdict)))
        if outcome:
            counts[outcome] += 1
            found = ElementTree.SubElement(case, outcome, message=verdict.word.value)
            if outcome != "skipped":
                found.set("type", verdict.word.value)
            found.text = text
        else:
            ElementTree.SubElement(case, "system-out").text = text
    suite.attrib |= {
        "failures": str(counts["failure"]),
        "errors": str(counts["error"]),
        "skipped": str(counts["skipped"]),
    }
    ElementTree.indent(suites)
    write_file(file, ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True) + b"\n")


def _plain(text: str) -> str:
    """Return a text without the characters that XML must not have."""
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in text)


def append_summary(verdicts: Sequence[Verdict], file: Path) -> None:
    """Append the table of verdicts and their lines to a Markdown file, such as GitHub's `$GITHUB_STEP_SUMMARY`.

    Raises:
        DiskError: the file cannot be written.
    """
    fenced = "\n\n".join("\n".join(verdict_lines(verdict)) for verdict in verdicts)
    fence = "`" * max(3, 1 + max((len(run) for run in fenced.split() if set(run) == {"`"}), default=0))
    text = f"### Comparison of policies\n\n{markdown(verdicts_block(verdicts))}\n\n{fence}text\n{fenced}\n{fence}\n\n"
    with writing(file), file.open("a", encoding="utf-8") as summary:
        summary.write(text)


def write_sarif(verdicts: Sequence[Verdict], file: Path) -> None:
    """Write a result for each verdict, at the file that it compares with, which has to be a committed one for GitHub.

    Raises:
        ConfigurationError: no compared source is a file below the folder of the call.
        DiskError: the file cannot be written.
    """
    rule = {
        "id": RULE,
        "shortDescription": {"text": "A policy is compared with another"},
        "fullDescription": {
            "text": "Success, or score, of a policy against that of another, with an interval and a test"
        },
        "help": {"text": "worse: error; undecided, not comparable: warning; better: note. docs/foreign_results.md"},
    }
    driver = {"name": "robocontrast", "version": __version__, "rules": [rule]}
    content = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": [_result(verdict) for verdict in verdicts]}],
    }
    write_file(file, json.dumps(content, indent=2, allow_nan=False) + "\n")


def _result(verdict: Verdict) -> dict[str, Any]:
    named = hashlib.sha256(f"{verdict.first}\0{verdict.second}".encode()).hexdigest()[:16]
    place = {"artifactLocation": {"uri": _location(verdict)}, "region": {"startLine": 1}}
    return {
        "ruleId": RULE,
        "level": _level(verdict),
        "message": {"text": "\n".join(verdict_lines(verdict))},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"primaryLocationLineHash": f"{named}:1"},
    }


def _level(verdict: Verdict) -> str:
    return "note" if verdict.not_worse else LEVELS[verdict.word]


def annotation(verdict: Verdict) -> str:
    """Return the line that GitHub Actions shows at the summary of a run: a workflow command.

    Source: GitHub's documentation, "Workflow commands for GitHub Actions"; escapes as its toolkit's `command.ts`.
    """
    command = {"note": "notice"}.get(_level(verdict), _level(verdict))
    text = "\n".join(verdict_lines(verdict))
    for character in "%\r\n":
        text = text.replace(character, f"%{ord(character):02X}")
    return f"::{command} title=robocontrast compare::{text}"


def _location(verdict: Verdict) -> str:
    """Return the relative path of a compared file: the second's, else the first's."""
    here = Path.cwd().resolve()
    for source in (verdict.second, verdict.first):
        path = Path(source if Path(source).exists() else source.partition("#")[0])
        if path.exists() and path.resolve().is_relative_to(here):
            return quote(path.resolve().relative_to(here).as_posix())
    raise ConfigurationError(
        "command line",
        "--sarif",
        f"{verdict.first}, {verdict.second}",
        "a compared file below this folder, where the finding is shown",
        "Compare with a committed result file, and call the command in the folder of the repository.",
    )
