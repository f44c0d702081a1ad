"""`robocontrast compare` with counts and files of other tools: exit codes, and files for continuous integration."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import extending_page
import pytest
from foreign_files import lerobot, robolab, table, vla_episode, vla_eval
from typer.testing import CliRunner

from robocontrast_ros.cli.main import app
from robocontrast_ros.configuration import plugin_names


def invoke(*arguments):
    return CliRunner(env={"COLUMNS": "80"}).invoke(app, ["compare", *map(str, arguments)])


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    """Files are named relative to the folder of the call, as in a repository."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)


@pytest.mark.parametrize(
    ("arguments", "word", "code"),
    [
        ("20/20 10/20", "better", 0),
        ("10/20 20/20", "worse", 1),
        ("17/20 14/20", "undecided", 3),
        ("0/0 14/20", "not comparable", 3),
        ("10/20 10/20 20/20", "undecided", 1),
        ("20/20 10/20 19/20", "better", 3),
        ("10/20 20/20 --fail-on undecided", "worse", 0),
        ("10/20 20/20 --fail-on none", "worse", 0),
        ("17/20 14/20 --fail-on worse", "undecided", 0),
        ("0/0 14/20 --fail-on worse,undecided", "not comparable", 0),
        ("90/100 88/100 --margin 0.1", "undecided", 0),
        ("90/100 88/100 --margin 0.05", "undecided", 3),
        ("900/1000 940/1000 --margin 0.1", "worse", 0),
        ("95/100 60/100 --control 80/100 --control 80/100", "better", 0),
        ("95/100 60/100 --control 95/100 --control 60/100", "undecided", 3),
    ],
)
def test_the_exit_code_is_that_of_the_worst_verdict(arguments, word, code, tmp_path):
    result = invoke(*arguments.split())
    assert result.exit_code == code, result.output
    first, second = arguments.split()[:2]
    assert result.stdout.splitlines()[0].startswith(f"{first} against {second}: {word}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("17/20", ("17/20", "two results at least")),
        ("21/20 1/2", ("21/20",)),
        ("1/2 1/2 --fail-on wors", ("--fail-on", "Did you mean 'worse'?")),
        ("1/2 1/2 --margin 2", ("--margin", "between 0 and 1")),
        ("1/2 1/2 --measure spl", ("--measure", "success or score")),
        ("1/2 1/2 --control 1/2", ("--control", "2 of them")),
        ("1/2 1/2 --sarif found.sarif", ("--sarif", "a compared file below this folder")),
        ("1/2 1/2 --junit no/such/folder.xml", ("no/such/folder.xml",)),
        ("1/2 1/2 --summary no/such/folder.md", ("no/such/folder.md",)),
        ("1/2 1/2 --format csv", ("1/2",)),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_2(arguments, words):
    result = invoke(*arguments.split())
    assert result.exit_code == 2, result.output
    (line,) = result.stderr.strip().splitlines()
    for word in ("error: ", *words):
        assert word in line


def test_files_of_different_tools_are_compared_and_what_they_do_not_prove_is_told():
    tasks = {("kitchen", 0): [True] * 10, ("kitchen", 1): [True] * 9 + [False]}
    worse = {("kitchen", 0): [False] * 9 + [True], ("kitchen", 1): [True] * 9 + [False]}
    ours, theirs = lerobot(Path("ours/eval_info.json"), tasks), lerobot(Path("theirs/eval_info.json"), worse)
    result = invoke(ours, theirs)
    assert result.exit_code == 0
    head, numbers, *more = result.stdout.splitlines()
    assert head == "ours/eval_info.json against theirs/eval_info.json: better"
    assert numbers.startswith("  success 0.95 (19 of 20) - 0.50 (10 of 20), 20 pairs: +0.45 [")
    assert "McNemar p = 0.004" in numbers
    assert more[-1].endswith("scene not proven.") and len(more) == 3, "the note is told once"
    mixed = invoke(ours, "10/20")
    assert mixed.exit_code == 0 and "unpaired" in mixed.output


def test_a_run_with_errors_of_the_infrastructure_is_not_worse_for_them():
    good = [vla_episode(i, True) for i in range(30)]
    lost = [vla_episode(i, i >= 12, **({"failure_reason": "server lost"} if i < 12 else {})) for i in range(30)]
    result = invoke(vla_eval(Path("ours.json"), lost, mean_success=0.6), vla_eval(Path("theirs.json"), good))
    assert result.exit_code == 3
    assert "ours.json: 12 of 30 trials void, neither successes nor failures (server lost)." in result.output
    assert "18 of 30 instances are in both; these are used." in result.output


def test_unequal_numbers_of_robolab_pair_by_episode_and_two_policies_of_a_file_are_chosen():
    ours, theirs = robolab(Path("ours.jsonl"), [True] * 20), robolab(Path("theirs.jsonl"), [False] * 12, policy="groot")
    assert "12 of 20 instances are in both" in invoke(ours, theirs).output
    Path("both.jsonl").write_text(Path(ours).read_text() + Path(theirs).read_text())
    assert "`both.jsonl#groot`" in invoke("both.jsonl", theirs).stderr
    assert invoke("both.jsonl#pi05", "both.jsonl#groot").exit_code == 0


@pytest.fixture
def files():
    """Four verdicts, in every form."""
    table(Path("ours.csv"), "instance,success", *(f"{i},1" for i in range(20)))
    table(Path("weak.csv"), "instance,success", *(f"{i},{int(i < 8)}" for i in range(20)))
    table(Path("odd|.csv"), "instance,success", *(f"{i},{int(i < 17)}" for i in range(20)))
    table(Path("scores.csv"), "instance,score", *(f"{i},0.5" for i in range(20)))
    options = ("--junit", "junit.xml", "--summary", "summary.md", "--sarif", "found.sarif")
    return lambda *arms: invoke(*arms, *options)


def test_a_file_that_is_named_twice_is_refused_and_counts_are_not():
    file = table(Path("r.csv"), "success", "1", "0")
    for other in (file, "./r.csv"):
        result = invoke(file, other)
        assert result.exit_code == 2 and "each result once" in result.stderr
    assert invoke("1/2", "1/2").exit_code == 3


@pytest.fixture
def page():
    return (Path(__file__).resolve().parents[3] / "docs" / "foreign_results.md").read_text(encoding="utf-8")


def test_the_page_lists_each_format(page):
    assert tuple(sorted(re.findall(r"^\| `(\w+)` \| .* \| .* \| .* \|$", page, re.MULTILINE))) == plugin_names(
        "result_formats"
    )


def test_the_format_of_the_page_is_one(monkeypatch):
    Path("lab_format.py").write_text(extending_page.blocks()["own_lab/log.py"])
    monkeypatch.syspath_prepend(".")
    Path("ours.log").write_text("".join(f"place{i} ok\n" for i in range(9)))
    Path("theirs.log").write_text("".join(f"place{i} failed\n" for i in range(9)))
    result = invoke("ours.log", "theirs.log", "--format", "lab_format:Log")
    assert result.exit_code == 0, result.output
    assert "9 pairs" in result.output and "better" in result.output


def test_junit_has_a_case_for_each_verdict(files):
    assert files("ours.csv", "weak.csv", "odd|.csv", "scores.csv").exit_code == 3
    suite = ElementTree.parse("junit.xml").getroot().find("testsuite")
    assert {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "3",
        "failures": "0",
        "errors": "1",
        "skipped": "1",
    }
    cases = {case.get("name"): case for case in suite}
    assert {case.get("classname") for case in suite} == {"ours.csv"}
    assert [child.tag for child in cases["against weak.csv"]] == ["system-out"]
    assert cases["against odd|.csv"].find("skipped").get("message") == "undecided"
    assert "their measures differ" in cases["against scores.csv"].find("error").text
    assert files("weak.csv", "ours.csv").exit_code == 1
    failure = ElementTree.parse("junit.xml").getroot().find("testsuite/testcase/failure")
    assert failure.get("type") == "worse" and "-0.60 [" in failure.text


def test_the_summary_is_appended_as_a_table_of_markdown(files):
    Path("summary.md").write_text("# Before\n")
    files("ours.csv", "weak.csv", "odd|.csv")
    text = Path("summary.md").read_text()
    assert text.startswith("# Before\n### Comparison of policies\n\n| first | second | verdict |")
    rows = [line for line in text.splitlines() if line.startswith("| ours.csv")]
    assert len(rows) == 2 and "| better | 20 pairs | 1.00 | 0.40 | +0.60 [" in rows[0]
    assert "| odd\\|.csv | undecided |" in rows[1]
    assert "```text\nours.csv against weak.csv: better\n" in text
    files("ours.csv", "weak.csv")
    assert Path("summary.md").read_text().startswith(text)


def test_sarif_has_what_github_asks_for(files):
    files("weak.csv", "ours.csv", "odd|.csv", "scores.csv")
    content = json.loads(Path("found.sarif").read_text())
    assert content["version"] == "2.1.0" and content["$schema"].endswith("sarif-schema-2.1.0.json")
    (run,) = content["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "robocontrast"
    for rule in driver["rules"]:
        assert all(rule[key]["text"] for key in ("shortDescription", "fullDescription", "help"))
    assert [result["level"] for result in run["results"]] == ["error", "error", "warning"]
    for result, name in zip(run["results"], ("ours.csv", "odd|.csv", "scores.csv"), strict=True):
        assert result["ruleId"] in {rule["id"] for rule in driver["rules"]}
        (place,) = (one["physicalLocation"] for one in result["locations"])
        assert place == {"artifactLocation": {"uri": name.replace("|", "%7C")}, "region": {"startLine": 1}}
        assert name in result["message"]["text"]
    prints = {result["partialFingerprints"]["primaryLocationLineHash"] for result in run["results"]}
    assert len(prints) == 3


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        ("20/20 10/20", "notice"),
        ("10/20 20/20", "error"),
        ("17/20 14/20", "warning"),
        ("0/0 14/20", "warning"),
        ("90/100 88/100 --margin 0.1", "notice"),
    ],
)
def test_github_gets_one_line_a_verdict_with_its_escapes(arguments, command, monkeypatch):
    plain = invoke(*arguments.split()).stdout
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    *lines, line = invoke(*arguments.split()).stdout.splitlines()
    assert "\n".join(lines) == plain.rstrip("\n")
    head, _, text = line.removeprefix("::").partition("::")
    assert head == f"{command} title=robocontrast compare"
    said = text.replace("%0A", "\n").replace("%25", "%")
    assert " ".join(said.split()) == " ".join(plain.split())
