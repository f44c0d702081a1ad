"""The vocabulary that a policy's parameter file names: read for every kind of policy, refused if it is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from robocontrast_ros.cli.main import app
from robocontrast_ros.configuration import ConfigurationError, load_configured, resolve_uri
from robocontrast_ros.configuration.files import known_names
from robocontrast_ros.policies.loading import describe
from robocontrast_ros.policies.serving.runner import PolicyRunner
from robocontrast_ros.policies.vocabulary import FILE, declared_words, write_vocabulary
from robocontrast_ros.training.tabletop.vocabulary import object_words

POLICIES = known_names("policies")
KINDS = (
    *("film_bc_state", "kitchen_state", "prompted_early", "tabletop_camera", "openpi", "http", "lerobot"),
    *("tabletop_oracle", "random"),
)
"""A shipped file of each kind of policy, but for ``torch``, and for ``other_words``, which has none."""

MINE = """
import numpy as np

from robocontrast_ros.policies.protocol import PolicyDescription


class Mine:
    @classmethod
    def from_file(cls, path):
        return cls()

    def describe(self):
        return PolicyDescription("mine", "planar_delta", 2)

    def reset(self, instruction, seed):
        pass

    def act(self, observation):
        return np.zeros((1, 2))
"""


def declaring(folder: Path, vocabulary, shipped: str = "tabletop_state", **content) -> Path:
    """Write the file of a shipped policy, or another content, with this vocabulary."""
    file = folder / "policy.yaml"
    content = content or yaml.safe_load(POLICIES[shipped].read_text())
    file.write_text(yaml.safe_dump(content | {"vocabulary": vocabulary}))
    return file


words = st.text(st.characters(categories=("L", "N")), min_size=1, max_size=6)
expressions = st.lists(words, min_size=1, max_size=3).map(" ".join)


@given(st.lists(expressions, min_size=1, max_size=8))
def test_the_words_of_expressions_are_read_back_each_once_in_small_letters(tmp_path_factory, said):
    folder = tmp_path_factory.mktemp("policy")
    assert write_vocabulary(folder, said).name == FILE
    lines = (folder / FILE).read_text(encoding="utf-8").splitlines()
    assert lines == sorted(set(said))
    found = declared_words(declaring(folder, FILE, policy="x"))
    assert len(set(found)) == len(found)
    assert set(found) == {word for one in said for word in one.lower().split()}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_policy_can_declare_it_by_the_same_key(tmp_path, kind):
    (tmp_path / "words.txt").write_text("Red\nmilk carton\n\nred\n")
    assert describe(declaring(tmp_path, "words.txt", kind)).vocabulary == ("red", "milk", "carton")


def test_a_class_of_ones_own_declares_it_by_the_key_alone_also_where_it_serves(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "own_words.py").write_text(MINE)
    (tmp_path / "words.txt").write_text("red\ncube\n")
    file = declaring(tmp_path, "words.txt", policy="own_words:Mine")
    assert describe(file).vocabulary == ("red", "cube")
    runner = PolicyRunner(file, 5.0)
    assert runner.description.vocabulary == ("red", "cube")
    runner.close()


def test_a_policy_that_declares_none_has_none_nor_has_one_that_is_told_other_words():
    assert describe(POLICIES["tabletop_oracle"]).vocabulary == ()
    assert describe(POLICIES["tabletop_state"]).vocabulary != ()
    assert describe(POLICIES["tabletop_state_other_words"]).vocabulary == ()


def refused(tmp_path: Path, vocabulary) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as error:
        describe(declaring(tmp_path, vocabulary))
    return error.value


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("missing.txt", None, "No such file or directory"),
        ("folder", "folder", "Is a directory"),
        ("empty.txt", b"\n  \n", "has no words"),
        ("latin.txt", "grün".encode("latin-1"), "'utf-8' codec"),
    ],
)
def test_a_wrong_file_is_refused_with_file_key_value_and_cure(tmp_path, name, content, says):
    if content == "folder":
        (tmp_path / name).mkdir()
    elif content is not None:
        (tmp_path / name).write_bytes(content)
    error = refused(tmp_path, name)
    assert (error.source, error.key, error.got) == (str(tmp_path / "policy.yaml"), "vocabulary", name)
    assert says in error.cure and str(tmp_path / name) in error.cure
    assert "\n" not in str(error)


def test_words_in_the_parameter_file_itself_are_refused(tmp_path):
    error = refused(tmp_path, ["red", "cube"])
    assert error.key == "vocabulary"


def test_an_evaluation_with_a_wrong_file_is_not_started(tmp_path):
    file = declaring(tmp_path, "none.txt")
    command = ["evaluate", "tabletop_demo", "--policy", str(file), "--fast", "--output", str(tmp_path / "runs")]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 2
    (line,) = result.stderr.strip().splitlines()
    assert line.startswith(f"error: {file}: `vocabulary`: got 'none.txt', expected URI of a text file")
    assert not (tmp_path / "runs").exists()


def test_the_shipped_vocabulary_of_the_table_is_what_its_language_says_of_things(tmp_path):
    task = load_configured("tasks", resolve_uri("package://robocontrast_ros/config/tasks/tabletop.yaml"))
    written = write_vocabulary(tmp_path, object_words(task.language.grammar)).read_text()
    shipped = resolve_uri("package://robocontrast_ros/models/tabletop_bc") / FILE
    assert shipped.read_text() == written, "`write_vocabulary` of `object_words` mends it"
    for name in ("state", "camera", "state_without", "camera_without"):
        declared = describe(POLICIES[f"tabletop_{name}"]).vocabulary
        assert set(declared) == set(written.split())
    said = {word for model in task.library.values() if not model.fixed for noun in model.nouns for word in noun.split()}
    assert said <= set(declared) and {"red", "small", "little", "fruit", "object"} <= set(declared)
    assert not {"on", "left", "put", "nearest"} & set(declared), "words of things alone"
