"""Kitchen problems in YAML: the same as in BDDL, and each mistake with its file, key and cure."""

from __future__ import annotations

import pytest
import yaml
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from kitchen_problems import BOWL_ON_PLATE, bddl_of, problems

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.tasks.bddl import (
    parse_bddl,
    parse_yaml_problem,
    read_problem,
    read_yaml_problem,
    write_yaml_problem,
)
from robocontrast_ros.tasks.bddl.yaml_form import problem_content


@examples(100, quick=8)  # each writes a file and waits for the disk
@given(problem=problems(), language=st.text(min_size=1).filter(str.isprintable))
def test_a_problem_is_read_as_it_was_written_whatever_its_names_mean_in_yaml(tmp_path_factory, problem, language):
    path = tmp_path_factory.mktemp("problem") / "problem.yaml"
    problem = type(problem)(**{**vars(problem), "language": language})
    write_yaml_problem(path, problem)
    assert read_yaml_problem(path) == problem


@given(problems())
def test_yaml_and_bddl_say_the_same(problem):
    said = parse_bddl(bddl_of(problem), "drawn.bddl")
    assert parse_yaml_problem(problem_content(said), "drawn.yaml") == problem


def test_a_file_does_not_say_what_goes_without_saying(tmp_path):
    write_yaml_problem(tmp_path / "bowl.yaml", parse_bddl(BOWL_ON_PLATE, "bowl.bddl"))
    content = yaml.safe_load((tmp_path / "bowl.yaml").read_text())
    assert content["regions"][3] == {"name": "top_region", "target": "wooden_cabinet_1"}
    assert content["goal"] == ["On akita_black_bowl_1 plate_1"]


def changed(tmp_path, key: str, value) -> ConfigurationError:
    """The error of the problem with another value for a dotted key."""
    content = problem_content(parse_bddl(BOWL_ON_PLATE, "bowl.bddl"))
    *path, last = key.split(".")
    at = content
    for part in path:
        at = at[int(part) if isinstance(at, list) else part]
    if isinstance(at, list) and int(last) == len(at):
        at.append(value)
    else:
        at[int(last) if isinstance(at, list) else last] = value
    file = tmp_path / "bowl.yaml"
    file.write_text(yaml.safe_dump(content))
    with pytest.raises(ConfigurationError) as caught:
        read_problem(file)
    assert caught.value.source == str(file) and "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("key", "value", "at", "words"),
    [
        ("langauge", "x", "langauge", "Did you mean 'language'?"),
        ("language", "", "language", "1 character or more"),
        ("language", 3, "language", "expected text"),
        ("fixtures.top drawer", "x", "fixtures.top drawer", "a name without blanks, brackets and `;`"),
        ("objects.kitchen_table", "plate", "objects.kitchen_table", "a name that no fixture has"),
        ("objects.cup_1", "cup", "objects.cup_1", "expected a place in init, such as (On cup_1 REGION)"),
        ("regions.0.ranges", [[0.1, 0, 0, 0]], "regions.0.ranges.0", "least x, least y, greatest x, greatest y"),
        ("regions.0.ranges", [[0, 0, 0]], "regions.0.ranges.0.3", "a value for this required key"),
        ("regions.0.yaw", [1, 0], "regions.0.yaw", "the least turn, then the greatest [rad]"),
        ("regions.0.yaw", ["np.pi", 0], "regions.0.yaw.0", "got 'np.pi', expected a number"),
        ("regions.0.yaw", [float("nan"), 0], "regions.0.yaw.0", "a finite number"),
        ("regions.2.rgba", [255, 0, 0, 1], "regions.2.rgba", "four numbers from 0 to 1"),
        ("regions.2.name", "bowl_region", "regions.2", "a name that no other region of this target has"),
        ("of_interest.2", "sink", "of_interest.2", "a declared fixture, object or region (TARGET_NAME)"),
        ("init.5", "Opened wooden_cabinet_1", "init.5", "a known predicate"),
        ("init.5", "Open a b", "init.5", "expected 1 argument: (Open THING)"),
        ("init.5", "", "init.5", "a predicate and its arguments"),
        ("init.5", "Open sink", "init.5", "got 'sink', expected a declared fixture"),
        ("init.5", "Close wooden_cabinet_1_top_region", "init.5", "one of the two: they cannot both hold"),
        ("init.5", "On plate_1 kitchen_table_bowl_region", "init.5", "one place for plate_1"),
        ("init.5", ["Open", "wooden_cabinet_1"], "init.5", "expected text"),
        ("goal", [], "goal", "what shall hold at the end"),
    ],
)
def test_each_mistake_is_one_line_with_its_key_and_what_is_right(tmp_path, key, value, at, words):
    error = changed(tmp_path, key, value)
    assert error.key == at and words in str(error), str(error)


def test_a_file_with_another_ending_is_refused(tmp_path):
    with pytest.raises(
        ConfigurationError, match=r"bowl\.pddl: got '\.pddl', expected a file that ends in \.bddl or \.yaml"
    ):
        read_problem(tmp_path / "bowl.pddl")
