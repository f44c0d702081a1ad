"""Mistakes of users in files and on the command line: each is one clear line with a cure, and exit code 2."""

from __future__ import annotations

import pytest
import yaml
from typer.testing import CliRunner

from robocontrast_ros.analysis.report.rendering import check_folder
from robocontrast_ros.cli.main import app
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.configuration.files import known_names

SESSION = yaml.safe_load(known_names("sessions")["tabletop_demo"].read_text())
ABSENT = object()


def invoke(*words: object) -> str:
    """Return the one line that the command says."""
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, list(map(str, words)))
    assert isinstance(result.exception, SystemExit), "no traceback"
    assert result.exit_code == 2
    (line,) = result.stderr.strip().splitlines()
    assert line.startswith("error: ")
    for ours in ("Parameters", "dictionary", "instance of", "[str", "pydantic", "parse string"):
        assert ours not in line, "no word of our code, or of a library"
    return line


def strategy(perturbations):
    return {"strategy": {"name": "contrast_set", "perturbations": perturbations}}


@pytest.mark.parametrize(
    ("changes", "key", "words"),
    [
        ({"cameras": ["top"]}, "cameras.0", "the keys name, width, height. Write `{name: top, width: …, height: …}`."),
        ({"cameras": "top"}, "cameras", "expected a list. For one write `[top]`."),
        ({"cameras": [{"name": "top", "width": "wide", "height": 99}]}, "cameras.0.width", "expected a whole number."),
        ({"recording": False}, "recording", "expected `none` for no bags, or the keys images,"),
        ({"recording": 5}, "recording", "a mapping of the keys images, compression, format, topics."),
        (strategy("L"), "strategy.perturbations", "expected a list. For one write `[L]`."),
        (strategy([5]), "strategy.perturbations.0", "expected text or a mapping of keys and values or a list."),
        (strategy([["L"]]), "strategy.perturbations", "expected two parts or more; there is one."),
        (strategy([["mask_all", "blur", "mask_all"]]), "strategy.perturbations", "each part once; 'mask_all' is there"),
        (
            strategy([["typos", "mask_all"]]),
            "strategy.perturbations",
            "got '[typos_2, mask_all]', expected parts that do not contradict each other; 'mask_all' leaves nothing of "
            "what 'typos_2' changes: the letters of words.",
        ),
        ({"strategy": "standard"}, "strategy", "Write `{name: standard}`."),
        ({"operator": {"tolerances": {"cup": 1}}}, "operator.tolerances.cup", "of the keys position, orientation."),
        ({"metric": "succes"}, "metric", "Did you mean 'success'?"),
        (
            {"metric": "speed"},
            "metric",
            "To use a score that is not the task's own, name it in the session's `scores`.",
        ),
        ({"name": "my run/1"}, "name", "letters, digits, `_`, `-` and `.` alone, a letter or digit first"),
        ({"seed": ABSENT, "sed": 1}, "seed", "Did you mean `seed` instead of `sed`?"),
        ({"seed": ABSENT}, "seed", "Add the key."),
        ({"seed": "one"}, "seed", "expected a whole number."),
        ({"budget": "much"}, "budget", "expected a number."),
        ({"fast": "maybe"}, "fast", "expected true or false."),
        ({"policy": 5}, "policy", "expected text."),
        ({"robot": "ur5e"}, "robot", "Name another task, or one of the robots franka_hand, ur5e_2f85."),
        ({"robot": "locobot"}, "robot", "Name another task, or one of the robots franka_hand, ur5e_2f85."),
    ],
)
def test_a_mistake_in_a_session_names_its_key_and_the_cure(tmp_path, changes, key, words):
    content = {name: value for name, value in {**SESSION, **changes}.items() if value is not ABSENT}
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump(content))
    line = invoke("plan", file)
    assert line.startswith(f"error: {file}: `{key}`: got ")
    assert words in line
    assert "base_position" not in line, "nobody is to edit installed files"


@pytest.mark.parametrize("name", ["LC", "LB1"])
@pytest.mark.parametrize("composed", [False, True])
def test_the_perturbations_that_are_listed_fit_the_task(tmp_path, name, composed):
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump(SESSION | strategy(["L", [name, "blur"] if composed else name])))
    line = invoke("plan", file)
    listed = line.partition(": L, ")[2].split(".")[0].split(", ")
    assert {"LB", "S", "SB"} < set(listed)
    assert not {"LB1", "SB2"} & set(listed), "those are of another task"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "got nothing: the file is empty, expected a mapping of the keys name, seed, task, robot, strategy, test"),
        ("# later\n", "got nothing: the file is empty,"),
        ("[1, 2]\n", "got [1, 2], expected a mapping of the keys name, seed, task, robot, strategy, test_set."),
    ],
)
def test_a_session_that_is_no_mapping_is_told_which_keys_it_needs(tmp_path, text, words):
    (tmp_path / "mine.yaml").write_text(text)
    assert words in invoke("plan", tmp_path / "mine.yaml")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("policy: 5\n", ["`policy`: got 5, expected a known policy: blind,", "or `module:Class` for one of your own"]),
        ("[1, 2]\n", ["got [1, 2], expected a mapping"]),
        ("", ["got nothing: the file is empty"]),
        ("polic: oracle\n", ["Did you mean `policy` instead of `polic`?"]),
        ("name: x\n", ["Write a line such as `policy: …`."]),
        ("5: x\nyes: y\nnull: z\n", ["Write a line such as `policy: …`."]),
        ("policy: pol.p\n", ["For a class of your own write `module:Class`, such as `pol:p`."]),
        ("policy: oracel\n", ["Did you mean 'oracle'?"]),
        ("policy: no_such_module:P\n", ["`PYTHONPATH=. robocontrast …`", "`pip install -e .`"]),
    ],
)
def test_a_mistake_in_a_policys_file_is_the_same_line_in_a_session_and_in_the_list(tmp_path, text, words):
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    lines = {invoke("plan", "tabletop_demo", "--policy", file), invoke("policies", file)}
    (line,) = lines
    assert line.startswith(f"error: {file}: ")
    for word in words:
        assert word in line


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("merge",), ""),
        (("evalute",), "evaluate"),
        (("serve", "nope"), ""),
        (("serve", "opnpi"), "openpi"),
        (("plan", "Tabletop_Demo"), "tabletop_demo"),
    ],
)
def test_only_a_name_that_is_near_is_taken_for_meant(words, meant):
    line = invoke(*words)
    assert ("Did you mean" in line) is bool(meant)
    assert f"Did you mean '{meant}'?" in line or not meant


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("/proc/page.html", "No file can be made there: "),
        ("nowhere/page.html", "There is no such folder."),
        ("", "Is a directory"),
    ],
)
def test_a_page_that_cannot_be_written_is_refused_before_anything_is_read(tmp_path, place, why):
    with pytest.raises(ConfigurationError, match=why):
        check_folder(tmp_path / place)
    assert list(tmp_path.iterdir()) == []


def test_a_page_in_a_folder_of_somebody_else_is_refused(tmp_path, monkeypatch):
    def denied(self, *arguments, **settings):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr("pathlib.Path.stat", denied)
    with pytest.raises(ConfigurationError, match="No file can be made there: Permission denied"):
        check_folder(tmp_path / "page.html")
