"""A hundred mistakes of users: each ends with code 2 and one line that names the file, the key, the value and the cure.

Nothing is simulated: all are refused before anything starts. What a policy's own code raises is in
test/unit/policies/test_own_code.py.
"""

from __future__ import annotations

import copy

import pytest
import yaml
from typer.testing import CliRunner

from robocontrast_ros.cli.main import app
from robocontrast_ros.configuration.files import known_names

ABSENT = object()


def refused(*words: object) -> str:
    """Return the one line that the command says."""
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, list(map(str, words)))
    assert isinstance(result.exception, SystemExit), f"it raised {result.exception!r}"
    assert result.exit_code == 2
    assert "Traceback" not in result.output
    (line,) = result.stderr.strip().splitlines()
    assert line.startswith("error: ")
    assert not line.startswith("error: error:")
    for word in ("pydantic", "Parameters", "dataclass", "NoneType", "Input should be", "unable to parse"):
        assert word not in line, "no word of our code, or of a library"
    return line.removeprefix("error: ")


def mistaken(folder, kind: str, name: str, key: str, value: object):
    """Write a shipped file with another value at a dotted key; return its path."""
    content = copy.deepcopy(yaml.safe_load(known_names(kind)[name].read_text()))
    *parents, last = (int(part) if part.isdecimal() else part for part in key.split("."))
    place = content
    for part in parents:
        place = place[part] if isinstance(place, list) else place.setdefault(part, {})
    if value is ABSENT:
        del place[last]
    else:
        place[last] = value
    file = folder / "mine.yaml"
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    return file


def check(line: str, file: object, key: str, value: object, words: str) -> None:
    shown = "'nothing'" if value is ABSENT else repr(value)
    assert line.startswith(f"{file}: `{key}`: got {shown}, expected "), line
    assert words in line.partition(", expected ")[2]


TABLE, ARM, ROOM = "language_table_demo", "tabletop_demo", "locobot_vln_oracle"


@pytest.mark.parametrize(
    ("session", "key", "value", "words"),
    [
        (TABLE, "name", 2026, "text."),
        (TABLE, "name", True, "text. Put the text in quotes."),
        (TABLE, "seed", -1, "greater than or equal to 0."),
        (TABLE, "seed", 1.5, "a whole number."),
        (TABLE, "seed", 2**64, "less than 9223372036854775808."),
        (TABLE, "task", "", "1 character or more."),
        (TABLE, "task", "langage_table", "Did you mean 'language_table'?"),
        (TABLE, "task", ["language_table"], "text."),
        (TABLE, "task", "my/task.yaml", "There is no file "),
        (TABLE, "robot", None, "There is nothing after the key: write a value, or leave the key out."),
        (TABLE, "robot", "frankka", "Did you mean 'franka'?"),
        (ROOM, "robot", "franka", "Name another task, or one of the robots locobot."),
        (TABLE, "policy", "", "a `policy`, or `policy_server` with `external: true`."),
        (TABLE, "policy", ABSENT, "a `policy`, or `policy_server` with `external: true`."),
        (TABLE, "policy", "./mine/none.yaml", "There is no file "),
        (TABLE, "strategy", ABSENT, "a value for this required key. Add the key."),
        (TABLE, "strategy.name", ABSENT, "a value for this required key. Add the key."),
        (TABLE, "strategy.name", "contrastset", "Did you mean 'contrast_set'?"),
        (TABLE, "strategy.perturbations", ["LB1", "LB1"], "each of the perturbations once."),
        (TABLE, "test_set", ABSENT, "a value for this required key. Add the key."),
        (TABLE, "test_set", 12, "a mapping of the keys size, families, chains, file."),
        (TABLE, "test_set.size", 0, "greater than or equal to 1."),
        (TABLE, "test_set.size", "twelve", "a whole number."),
        (TABLE, "test_set.families", "block_to_block", "a list. For one write `[block_to_block]`."),
        (TABLE, "test_set.families", [], "1 item or more."),
        (TABLE, "repeats", 0, "greater than or equal to 1."),
        (TABLE, "repeats", "three", "a whole number."),
        (TABLE, "cost", "metres", "Did you mean 'metres_moved'?"),
        (TABLE, "budget", -3, "greater than or equal to 0."),
        (TABLE, "budget", [6], "a number."),
        (TABLE, "max_trials", 0, "greater than or equal to 1."),
        (TABLE, "void_retries", -1, "greater than or equal to 0."),
        (TABLE, "compare_within", -1, "greater than or equal to 0."),
        (TABLE, "speed_scaling", "never", "'void_when_lowered', 'void_below_full' or 'mark'."),
        (TABLE, "stop_early", {}, "one of `threshold`, `compare_with` and `half_width`."),
        (TABLE, "stop_early", 0.5, "a mapping of the keys error_rate, score, threshold, compare_with, half_width."),
        (TABLE, "stop_early.threshold", 2.0, "a number between 0 and 1, the range of SPL."),
        (TABLE, "stop_early.half_width", 0.7, "less than 0.5, half of the range of SPL."),
        (TABLE, "stop_on_success", "yes please", "true or false."),
        (TABLE, "setup.position_tolerance", -0.1, "greater than or equal to 0."),
        (TABLE, "timeouts", 300, "a mapping of the keys policy, load, sensors, set_up,"),
        (TABLE, "timeouts.set_up", 0, "greater than 0."),
        (TABLE, "watchdog.rollout", 0.1, "greater than 0.2."),
        (TABLE, "operator.port", 70000, "less than or equal to 65535."),
        (TABLE, "operator.certificate", "c.pem", "`certificate` and `key`, or neither."),
        (TABLE, "operator.checklist", "lamp on", "a list. For one write `[lamp on]`."),
        (TABLE, "world", "embedded", "Write `{backend: embedded}`."),
        (TABLE, "world.backend", "gazebo", "a known backend: dart, embedded, operator,"),
        (TABLE, "world.pacing", "realtime", "a known pacer: lockstep, wall_clock."),
        (TABLE, "world.judge", "me", "For a class of your own write `module:Class`."),
        (TABLE, "composed", "everything", "true or false or 'all'."),
        (TABLE, "camera_images", "sometimes", "'every_step' or 'when_asked'."),
        (TABLE, "recording.compression", "gzip", "'zstd' or 'none'."),
        (TABLE, "recording.format", "foxy", "'jazzy' or 'humble'."),
        (TABLE, "recording.topics", "tf", "a list. For one write `[tf]`."),
        (TABLE, "output", "", "1 character or more."),
        (TABLE, "scores", "h_success", "a list. For one write `[h_success]`."),
        (TABLE, "metric", 3, "text."),
        (TABLE, "handling_times.walking_speed", 0, "greater than 0."),
    ],
)
def test_a_wrong_value_in_a_session_is_named_with_what_is_right(tmp_path, session, key, value, words):
    file = mistaken(tmp_path, "sessions", session, key, value)
    check(refused("plan", file), file, key, value, words)


@pytest.mark.parametrize(
    ("session", "key", "value", "said", "got", "words"),
    [
        (TABLE, "test_set.families", ["blok"], "test_set.families", "'blok'", "a known family of the task "),
        (TABLE, "test_set.file", "x.yaml", "test_set", "{", "`families` or `file`: a file's instances are those"),
        (TABLE, "test_set.size", ABSENT, "test_set", "{", "a `size`, or a `file` of recorded instances."),
        (TABLE, "strategy.perturbations", [], "strategy.perturbations", "'none'", "take `standard`."),
        (TABLE, "strategy.perturbations", ["blurr"], "strategy.perturbations", "'blurr'", "Did you mean 'blur'?"),
        (TABLE, "strategy.perturbations", [{"count": 3}], "strategy.perturbations.name", "'nothing'", "the name of a"),
        (
            ARM,
            "strategy.perturbations",
            ["LB1"],
            "strategy.perturbations",
            "'LB1'",
            "that task 'tabletop' supports: L,",
        ),
        (
            ARM,
            "strategy.perturbations",
            [{"name": "distractors", "count": "many"}],
            "strategy.perturbations.count",
            "'many'",
            "a whole number.",
        ),
        (
            ARM,
            "strategy.perturbations",
            [{"name": "distractors", "cuont": 3}],
            "strategy.perturbations.cuont",
            "'cuont'",
            "Did you mean 'count'?",
        ),
        (TABLE, "strategy.perturbation", ["LB1"], "strategy.perturbation", "'perturbation'", "mean 'perturbations'?"),
        (TABLE, "setup.position_tolerence", 1, "setup.position_tolerence", "'position_tolerence'", "'position_tolera"),
        (TABLE, "timeouts.setup", 300, "timeouts.setup", "'setup'", "Did you mean 'set_up'?"),
        (TABLE, "recording.image", False, "recording.image", "'image'", "Did you mean 'images'?"),
        (TABLE, "policy_server.nod", "x", "policy_server.nod", "'nod'", "Did you mean 'node'?"),
        (TABLE, "policy_server.external", True, "policy", "'film_bc_state'", "no `policy`, because a policy server"),
        (TABLE, "stop_early", {"threshold": 0.5, "half_width": 0.1}, "stop_early", "{", "one of `threshold`,"),
        (TABLE, "cameras", [{"name": "board"}], "cameras.0.width", "'nothing'", "Add the key."),
        (TABLE, "cameras", [{"name": "bord", "width": 64, "height": 64}], "cameras", "'bord'", "Did you mean 'board'?"),
        (TABLE, "cameras", [{"name": "board", "width": 8, "height": 64}], "cameras.0.width", "8", "equal to 16."),
        (TABLE, "cameras", [{"name": "board", "width": 64, "height": 64}] * 2, "cameras", "[{", "the `cameras` once."),
        (TABLE, "blind.policies", ["oracle"], "blind.policies", "['oracle']", "2 items or more."),
        (TABLE, "blind.policies", ["blind", "blind"], "blind", "{", "each of the policies once."),
        (TABLE, "scores", ["no_such"], "scores", "'no_such'", "a known score: bumped, "),
        (TABLE, "scores", ["mine:Score"], "scores", "'mine:Score'", "`PYTHONPATH=. robocontrast …`"),
        (TABLE, "speed", 3, "speed", "'speed'", "a known key: blind, budget, "),
    ],
)
def test_a_mistake_across_keys_is_told_of_the_one_to_change(tmp_path, session, key, value, said, got, words):
    line = refused("plan", file := mistaken(tmp_path, "sessions", session, key, value))
    assert line.startswith(f"{file}: `{said}`: got {got}")
    assert words in line


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name: x\n\tseed: 1\n", "(line 2, column 1)"),
        ("seed: 1\nseed: 2\n", "got \"'seed' twice (line 2, column 1)\", expected each key once."),
        ("name: a: b\n", "got 'mapping values are not allowed here (line 1, column 8)', expected valid YAML."),
        ("cameras: [top\n", "(line 2, column 1)"),
        ("name: x\n---\nname: y\n", "another document (line 2, column 1)"),
        ("name: !!python/object:os.system x\n", "expected valid YAML."),
        ("time: 1:30\n", "got \"'1:30' (line 1, column 7)\", expected a decimal number, or a text in quotes."),
        (b"\xff\xfe\x00binary", "got 'not UTF-8 text', expected valid YAML."),
    ],
)
def test_a_file_that_is_no_yaml_is_told_by_line_and_column(tmp_path, text, words):
    file = tmp_path / "mine.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    line = refused("plan", file)
    assert line.startswith(f"{file}: got ")
    assert words in line


@pytest.mark.parametrize(
    ("kind", "key", "value", "said", "got", "words"),
    [
        ("robots", "type", "arm", "type", "'arm'", "a known kind of robot: differential_drive, manipulator."),
        ("robots", "name", ABSENT, "name", "'nothing'", "Add the key."),
        ("robots", "base_position", "0 0 0", "base_position", "'0 0 0'", "a list."),
        ("robots", "joints", [], "joints", "[]", "1 item or more."),
        ("robots", "joints.0.velocity", 0, "joints.0.velocity", "0", "greater than 0."),
        ("robots", "joints.0.lower", 9.0, "joints.0", "{'lower': 9.0, 'upper': 2.7437}", "`lower` < `upper` for joint"),
        ("robots", "home", [0, 0], "home", "[0, 0]", "`home` to have one entry a joint: 7, not 2."),
        ("robots", "home.0", 99.0, "home", "[99.0,", "within the limits [-2.7437, 2.7437] of 'fr3_joint1', not 99.0."),
        ("robots", "servo.stiffness", [1], "servo.stiffness", "[1]", "one entry a joint: 7, not 1."),
        ("robots", "action_spaces.planar_dleta", {}, "action_spaces.planar_dleta", "'planar", "mean 'planar_delta'?"),
        ("robots", "colour", "red", "colour", "'colour'", "a known key: action_spaces, base, "),
        ("policies", "policy", "oracle2", "policy", "'oracle2'", "Did you mean 'oracle'?"),
        ("policies", "task", ABSENT, "task", "'nothing'", "Add the key."),
        ("policies", "pushing", "fast", "pushing", "'fast'", "Write `{free_step: fast, push_step: …, inset: …,"),
        ("policies", "pushing.free_step", -1, "pushing.free_step", "-1", "greater than 0."),
        ("policies", "pushing.fre_step", 1, "pushing.fre_step", "'fre_step'", "Did you mean 'free_step'?"),
        ("tasks", "task", "langtable", "task", "'langtable'", "Did you mean 'language_table'?"),
        ("tasks", "blocks", ["red_moon", "red_mon"], "blocks", "['red_moon', 'red_mon']", "unknown: red_mon."),
        ("tasks", "control_rate", 0, "control_rate", "0", "greater than 0."),
        ("tasks", "physics_step", 0.003, "physics_step", "0.003", "0.0030303 would do."),
        ("tasks", "step_limit", "long", "step_limit", "'long'", "a whole number."),
        ("tasks", "world", "my/none.xml", "world", "'my/none.xml'", "the URI or path of an MJCF file that exists."),
    ],
)
def test_a_mistake_in_another_file_names_that_file(tmp_path, kind, key, value, said, got, words):
    shipped = {"robots": "franka", "policies": "oracle", "tasks": "language_table"}[kind]
    file = mistaken(tmp_path, kind, shipped, key, value)
    asked = {"robots": ("plan", TABLE, "--robot", file), "tasks": ("plan", TABLE, "--set", f"task={file}")}
    line = refused(*asked.get(kind, ("policies", file)))
    assert line.startswith(f"{file}: `{said}`: got {got}")
    assert words in line


@pytest.mark.parametrize(
    ("words", "said", "cure"),
    [
        ("evaluate", "`SESSION`: got 'nothing'", "one of kitchen_c1, "),
        ("evaluate language_table_demo --seed x", "'--seed': got 'x', expected a valid integer.", "evaluate -h"),
        ("evaluate language_table_demo --max-trials 0", "`max_trials`: got 0", "greater than or equal to 1."),
        ("evaluate language_table_demo --size -1", "`test_set.size`: got -1", "greater than or equal to 1."),
        ("evaluate language_table_demo --strategy contrst", "`strategy.name`: got 'contrst'", "'contrast_set'?"),
        ("evaluate language_table_demo --set", "Option '--set' requires an argument.", ""),
        ("evaluate language_table_demo --set =3", "`--set`: got '=3'", "key=value, such as "),
        ("evaluate language_table_demo --set seed.x=3", "`seed`: got {'x': 3}", "a whole number."),
        ("evaluate language_table_demo --output /proc/x --policy oracle --fast", "`output`: got '/proc/x'", "written."),
        ("evaluate language_table_demo --resum x", "No such option: --resum.", "--resume"),
        ("evaluate language_table_demo extra", "extra argument(s) (extra)", "evaluate -h"),
        ("evaluate language_table_demo --namespace 9x", "`namespace`: got '9x'", "For instance: robot1"),
        ("plan language_table_demo --fast", "No such option: --fast.", "plan -h"),
        ("plan mine.json", "`session`: got 'mine.json'", "or the path of a .yaml file"),
        ("results", "Missing argument 'run'.", "results -h"),
        ("results .", "`run`: got '.'", "Give the folder that `robocontrast evaluate` printed."),
        ("results . --within 3", "'--within': got '3', expected less than or equal to 0.5.", "results -h"),
        ("score .", ".: neither a run folder nor a bag", "Check the path."),
        ("picture .", ".: no bag", "Check the path."),
        ("correct . 3 --by me --reason why", "Missing option '--success'.", "correct -h"),
        ("stop --release", "`--by`: got 'nothing'", "the name of the person who releases it."),
        ("serve oracl", "`policy`: got 'oracl', expected a known policy", "Did you mean 'oracle'?"),
        ("serve oracle --domain 500", "`--domain`: got 500", "0 to 232."),
        ("policies --robot frank", "`--robot`: got 'frank', expected a known robot", "Did you mean 'franka'?"),
        ("perturbations --image x.png", "`--image`: got 'x.png'", "a session, whose robot has the cameras."),
        ("study clutter_smal", "`STUDY`: got 'clutter_smal', expected a known study", "'clutter_small'?"),
        ("train prompteds", "`RECIPE`: got 'prompteds', expected a known recipe", "Did you mean 'prompted'?"),
        ("sensitivity . --bins 1", "'--bins': got '1', expected greater than or equal to 2.", "sensitivity -h"),
        ("clutter none.png", "none.png: got 'No such file or directory'", "a whole picture that can be read."),
        ("print-tags --objects tabletp", "`objects`: got 'tabletp', expected a known task", "Did you mean 'tabletop'?"),
        ("tasks lst", "No such command 'lst'.", "Did you mean 'list'?"),
        ("--versio", "No such option: --versio.", "Did you mean --version?"),
    ],
)
def test_a_mistake_on_the_command_line_names_the_option_and_the_value(tmp_path, monkeypatch, words, said, cure):
    monkeypatch.chdir(tmp_path)
    line = refused(*words.split())
    assert said in line
    assert cure in line
    assert list(tmp_path.iterdir()) == [], "nothing was begun"
