"""What documents say is what their results say, and results are those of their commands."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[3]))

from scripts.documents import pictures, rendering, tables
from scripts.documents.__main__ import outdated, outdated_documents, stale_results
from scripts.documents.making import shown_trial
from scripts.documents.recipes import RECIPES, Pace
from scripts.documents.results import (
    RESULTS,
    ROOT,
    Result,
    digests,
    locked_versions,
    present_versions,
    read_result,
    rounded,
    staleness,
    statements,
    write_result,
)

MINUS = "\N{MINUS SIGN}"
LOCK = {"mujoco": {"4.0.0"}}
QUICK = [recipe for recipe in RECIPES if recipe.pace is Pace.QUICK]


def made(**changes):
    result = Result("measure it", 7, {"mujoco": "4.0.0"}, {"a.yaml": "1"}, {"columns": ["a"], "rows": [[1], [2]]})
    return dataclasses.replace(result, **changes)


def test_no_result_is_stale():
    assert stale_results() == []


@pytest.mark.long
def test_documents_and_the_figures_of_studies_say_what_the_results_say(tmp_path):
    # In one test, because both are of the same analyses, which take the longest.
    assert outdated_documents() == []
    for study in ("language_table", "navigation"):
        committed = read_result(RESULTS / f"study_{study}.json")
        packed = (RESULTS / f"study_{study}_trials.csv.gz").read_bytes()
        for name, content in pictures.of_study(committed.values, packed, tmp_path).items():
            assert pictures.difference(content, (ROOT / name).read_bytes()) < pictures.ROOT_MEAN_SQUARE, name


@pytest.mark.long
@pytest.mark.timeout(600)  # under a minute on an idle core; other tests may run beside it
@pytest.mark.parametrize("recipe", QUICK, ids=lambda recipe: recipe.name)
def test_a_quick_command_gives_the_committed_result_and_pictures_again(recipe, tmp_path):
    committed = read_result(RESULTS / f"{recipe.name}.json")
    differing = {
        package: f"{number}, not {present_versions().get(package)}"
        for package, number in committed.versions.items()
        if package != "robocontrast_ros" and present_versions().get(package) != number
    }
    if differing:
        pytest.skip(f"the result was made with other versions: {differing}")
    made = recipe.make(recipe.command, tmp_path)
    assert rounded(made.values) == committed.values
    for name, content in made.files.items():
        assert pictures.difference(content, (ROOT / name).read_bytes()) < pictures.ROOT_MEAN_SQUARE, name


def test_every_picture_of_the_documents_is_drawn_by_a_recipe():
    drawn = {picture for recipe in RECIPES for picture in recipe.pictures}
    assert drawn == {file.relative_to(ROOT).as_posix() for file in (ROOT / "docs" / "images").iterdir()}


def test_every_pattern_of_inputs_but_the_golden_digests_has_a_file():
    patterns = {pattern for recipe in RECIPES for pattern in recipe.inputs}
    assert [pattern for pattern in patterns if "golden" not in pattern and not digests((pattern,))] == []


def test_a_result_is_read_as_it_was_written_and_a_row_has_a_line_of_its_own(tmp_path):
    result = made(measured={"seconds": 3}, seed=(0, 1))
    write_result(result, tmp_path / "one.json")
    assert read_result(tmp_path / "one.json") == result
    assert "\n   [1],\n   [2]\n" in (tmp_path / "one.json").read_text()


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (made(), ""),
        (made(command="measure less"), "was made by 'measure less'"),
        (made(inputs={"a.yaml": "2"}), "before a.yaml changed"),
        (made(inputs={}), "before a.yaml came"),
        (made(inputs={"a.yaml": "1", "b.yaml": "1"}), "before b.yaml went"),
        (made(versions={"mujoco": "3.0.0"}), "was made with mujoco 3.0.0; requirements.lock has 4.0.0"),
        (made(pictures={"gone.png": "1"}), "another gone.png"),
    ],
    ids=lambda value: value.replace(" ", "-") if isinstance(value, str) else "",
)
def test_what_makes_a_result_stale_is_named(result, words, tmp_path):
    found = staleness(result, "measure it", {"a.yaml": "1"}, LOCK, tmp_path)
    assert words in found
    assert bool(words) == bool(found)


def test_a_changed_input_has_another_digest(tmp_path):
    (tmp_path / "a.yaml").write_text("x: 1")
    before = digests(("*.yaml",), tmp_path)
    (tmp_path / "a.yaml").write_text("x: 2")
    assert list(before) == ["a.yaml"] and digests(("*.yaml",), tmp_path) != before


def test_a_result_outlives_the_vocabulary_that_a_policy_declares_and_nothing_else_of_its_file(tmp_path):
    def of(folder, text):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "a.yaml").write_text(text)
        return digests((f"{folder}/*.yaml",), tmp_path)

    bare, declared = "policy: x\nname: y\n", "policy: x\nvocabulary: words.txt\nname: y\n"
    assert of("policies", bare) == of("policies", declared)
    assert of("policies", bare) != of("policies", declared.replace("name: y", "name: z"))
    assert of("tasks", bare) != of("tasks", declared)


CODE = '''"""What it is."""

from a import f  # there


def twice(x):
    """Say it."""
    return f("""# two
    lines""", x)  # why
'''


def test_a_result_outlives_a_comment_a_docstring_and_the_place_of_a_module(tmp_path):
    def of(source):
        (tmp_path / "a.py").write_text(source)
        return digests(("*.py",), tmp_path)

    assert statements(CODE) == 'def twice(x):\n    return f("""# two\n    lines""", x)'
    other = CODE.replace("from a import f  # there", "from b.c import (\n    f,\n)").replace(
        "it.", "more.\n\n    Or less.\n"
    )
    assert of(other.replace("# why", "")) == of(CODE)
    for old, new in (("# two", "# too"), ("x)  #", "x, 1)  #"), ("return", "yield")):
        assert of(CODE.replace(old, new)) != of(CODE), old


def test_the_lock_file_allows_one_version_for_each_python():
    lock = "numpy==2.2.6 ; python_full_version < '3.11' \\\n    --hash=x\nnumpy==2.3.0 ; y\nmujoco==4.0.0 \\\n"
    assert locked_versions(lock) == {"numpy": {"2.2.6", "2.3.0"}, "mujoco": {"4.0.0"}}


def write_session(folder, name, trials, policy="p"):
    """Write the result of a session: (base_id, perturbation, repeat, success) of each trial."""
    keys = ("index", "base_id", "perturbation", "repeat", "counts", "outcome", "success", "spl", "progress")
    numbers = ("ndtw", "collisions", "steps", "setup_metres", "setup_seconds", "setup_cost")
    rows = [
        [index, base, kind, repeat, True, "SUCCESS", success, success, success, None, 0, 10, 0.5, 1.0, 0.5]
        for index, (base, kind, repeat, success) in enumerate(trials)
    ]
    skipped = {"base": 0, "LB1": 0}
    session = {"metric": "spl", "policy": policy, "symbols": [["LB1", "ΔLB1"]], "skipped": skipped}
    values = {"columns": [*keys, *numbers], "rows": rows, "session": session, "effort": {}}
    write_result(made(values=values), folder / f"{name}.json")
    return values


@pytest.fixture
def demo(tmp_path, monkeypatch):
    """A folder with one session: two instances, of which ΔLB1 fails the second."""
    monkeypatch.setattr(tables.Source, "folder", tmp_path)
    trials = [("x0", "base", 0, 1.0), ("x0", "LB1", 0, 1.0), ("x1", "base", 0, 1.0), ("x1", "LB1", 0, 0.0)]
    return write_session(tmp_path, "tiny", trials)


def solved_of(solved, of=40):
    """Return base trials that are all solved, and trials under ΔLB1 of which the first are."""
    return [
        (f"x{number:02d}", kind, 0, float(kind == "base" or number < solved))
        for number in range(of)
        for kind in ("base", "LB1")
    ]


@pytest.mark.parametrize("control", ["", ', control="oracle"'], ids=["to base trials", "to the oracle's"])
def test_a_difference_is_called_a_finding_only_while_its_interval_leaves_out_zero(tmp_path, monkeypatch, control):
    monkeypatch.setattr(tables.Source, "folder", tmp_path)
    for name, solved in (("found", 15), ("gone", 38), ("better", 40), ("oracle", 39)):
        write_session(tmp_path, name, solved_of(solved))
    text = 'It is <!--{{ shortfall("{}", "LB1"{}) }}-->?<!--{{}}-->.'
    rendered = rendering.render(text.format("found", control), "README.md")
    assert f"-->{MINUS}0.6{'0' if control else '2'} ({MINUS}0." in rendered
    for name in ("gone", "better"):
        with pytest.raises(rendering.RenderingError, match=f"LB1 of {name}.* no finding; change the sentence"):
            rendering.render(text.format(name, control), "README.md")
    swapped = {"base": "LB1", "LB1": "base"}
    write_session(tmp_path, "more", [(base, swapped[kind], *rest) for base, kind, *rest in solved_of(15)])
    answers = {name: tables.answer(name, "LB1").partition(":")[0] for name in ("found", "gone", "more")}
    assert answers == {"found": "yes", "gone": "not shown", "more": "no, more often"}
    assert tables.holds_zero(tables.paired("found", "LB1")) == "leaves out 0"
    assert tables.holds_zero(tables.paired("gone", "LB1")) == "holds 0"


def test_a_control_is_taken_off_instance_by_instance(tmp_path, monkeypatch):
    monkeypatch.setattr(tables.Source, "folder", tmp_path)
    write_session(tmp_path, "learned", solved_of(15))
    # The oracle fails the same instances: what the perturbation costs, it costs whoever is asked.
    write_session(tmp_path, "oracle", solved_of(15)[10:], policy="oracle")
    assert tables.paired("learned", "LB1", control="oracle").mean == 0.0
    head, _, *lines = tables.contrast_table("learned", control="oracle").splitlines()
    assert head == "|  | base | ΔLB1 |"
    assert [line.split("|")[1].strip() for line in lines] == [
        "`p` solves",
        "difference to base",
        "… minus that of `oracle`",
        "`oracle` solves",
        "difference to base",
    ]
    assert f"| **{MINUS}0.62 (" in lines[1] and "| 0.00 (" in lines[2]


def test_what_is_solved_without_the_words_is_counted_in_the_instances_that_all_have(tmp_path, monkeypatch):
    monkeypatch.setattr(tables.Source, "folder", tmp_path)
    write_session(tmp_path, "own", solved_of(0))
    write_session(tmp_path, "own_other_words", [(f"x{n:02d}", "base", 0, float(n < 2)) for n in range(10)])
    *_, line = tables.words_table("own").splitlines()
    assert line == "| p | 10/10 (0.72 to 1.00) | 2/10 (0.06 to 0.51) | - |"


def test_solved_instances_are_told_with_whether_their_repeats_came_out_alike(tmp_path, monkeypatch):
    monkeypatch.setattr(tables.Source, "folder", tmp_path)
    trials = [(f"x{n}", "base", repeat, float(n != 1)) for n in range(3) for repeat in range(3)]
    write_session(tmp_path, "alike", trials)
    write_session(tmp_path, "mixed", [*trials[:-1], ("x2", "base", 2, 0.0)])
    assert tables.fulfilled("alike", "base") == "2 of 3 instances (the 3 repeats of each came out alike)"
    words = "1 of 3 instances in all 3 repeats, and in 2 of 3 repeats of another"
    assert tables.fulfilled("mixed", "base") == words


def write_kitchen(folder, *rows):
    """Write the result of the kitchen's skills: (robot, skill, scenes, solved, moved, steps, reasons) of each."""
    columns = ["robot", "skill", "scenes", "solved", "moved", "steps", "reasons"]
    write_result(made(values={"columns": columns, "rows": rows}, seed=(0, 9)), folder / "kitchen_skills.json")


def test_skills_of_the_kitchen_are_shown_for_each_arm_with_why_they_failed(tmp_path, monkeypatch):
    monkeypatch.setattr(tables.Source, "folder", tmp_path)
    out = ("b", "open", 10, 7, 1, 80.0, "2 no plan; 1 not within the step limit")
    write_kitchen(tmp_path, ("a", "open", 10, 10, 0, 60.0, ""), ("a", "put", 10, 10, 0, 50.0, ""), out)
    head, _, *lines = tables.kitchen_table().splitlines()
    assert head == "| skill | `a` | others moved | steps | `b` | others moved | steps | not solved |"
    assert lines == [
        "| `open` | 10/10, 100.0 % [72.2, 100.0] | 0 | 60 | 7/10, 70.0 % [39.7, 89.2] | 1 | 80 | b: 2 no plan; 1 not "
        "within the step limit |",
        "| `put` | 10/10, 100.0 % [72.2, 100.0] | 0 | 50 | - | - | - |  |",
        "| all | 20/20, 100.0 % [83.9, 100.0] | 0 | 55 | 7/10, 70.0 % [39.7, 89.2] | 1 | 80 |  |",
    ]
    assert tables.kitchen_words() == (
        "Seeds 0 to 9 of each skill, none left out: on `a` it solves 20/20 trials of 2 skills, 100.0 % [83.9, 100.0], "
        "and on `b` it solves 7/10 trials of 1 skills, 70.0 % [39.7, 89.2]; least often `open`, 7/10."
    )


def test_a_picture_shows_the_first_trial_that_fails_where_its_base_trial_is_solved(demo):
    assert shown_trial(demo, "LB1") == 3


def test_expressions_within_a_line_and_blocks_say_what_the_results_say(demo):
    text = 'It is <!--{ counts("tiny") }-->typed<!--{}-->.\n\n<!--{ contrast_table("tiny") }-->\nold\n<!--{}-->\n'
    rendered = rendering.render(text, "x.md")
    assert "-->base 2/2 and ΔLB1 1/2<!--{}-->." in rendered
    assert "-->\n\n|  | base | ΔLB1 |\n|---|---|---|\n| `p` solves | 2/2 (0.34 to 1.00) | 1/2 (" in rendered
    assert rendering.render(rendered, "x.md") == rendered


def test_a_number_that_was_typed_over_is_named_with_its_line(demo):
    text = rendering.render('One.\n\nIt is <!--{ counts("tiny") }-->?<!--{}-->.\n', "x.md")
    assert outdated(text, "x.md") == []
    (line,) = outdated(text.replace("base 2/2", "base 1/2"), "x.md")
    assert line.startswith("x.md, line 3: the results say 'It is ") and line.endswith("make docs writes it")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            'one\ntwo <!--{ counts("none") }-->1<!--{}-->',
            "x.md, line 2: there is no none.json; make docs-all makes it",
        ),
        ("a <!--{ nothing }-->1<!--{}-->", "x.md, line 1: 'nothing': UndefinedError: 'nothing' is undefined"),
        ('<!--{ counts("tiny") }-->1<!--{}-->', "got a comment that begins a line"),
        ('a <!--{ counts("tiny") }-->1', "got 1 comments <!--{ … }--> and 0 ends"),
    ],
)
def test_what_a_document_asks_for_in_vain_is_said_in_one_line(demo, text, words):
    with pytest.raises(rendering.RenderingError) as refused:
        rendering.render(text, "x.md")
    assert words in str(refused.value) and "\n" not in str(refused.value)


def test_paragraphs_are_filled_and_tables_and_lists_are_not():
    long = "word " * 40
    filled = rendering.wrapped(f"{long}\n\n| {long}|\n\n- a\n- b")
    assert max(map(len, filled.splitlines()[:2])) <= 120
    assert f"| {long}|" in filled and filled.endswith("- a\n- b")


def test_two_drawings_of_one_size_differ_by_their_pixels(tmp_path):
    from PIL import Image

    for name, size, colour in (("a", (8, 8), 0), ("b", (8, 8), 30), ("c", (8, 9), 0)):
        Image.new("RGB", size, (colour,) * 3).save(tmp_path / f"{name}.png")
    a, b, c = (pictures.compact(tmp_path / f"{name}.png") for name in "abc")
    assert (pictures.difference(a, a), pictures.difference(a, b)) == (0.0, 30.0)
    assert pictures.difference(a, c) == float("inf")


def test_results_hold_no_rounding_noise():
    assert json.dumps(rounded({"a": (0.1 + 0.2, -1e-9)})) == '{"a": [0.3, 0.0]}'
