"""The suite that ships: its files, words, goals, plans and pictures of difficulty."""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robocontrast_ros.configuration import ConfigurationError, load_configured, read_yaml, resolve_uri
from robocontrast_ros.domain import Pose
from robocontrast_ros.tasks.bddl import Atom
from robocontrast_ros.tasks.composed import Group, Mode
from robocontrast_ros.tasks.plans import Plan
from robocontrast_ros.tasks.suite import Suite, checks
from robocontrast_ros.tasks.suite.attributes import ATTRIBUTES
from robocontrast_ros.tasks.suite.files import VARIANTS, parse_tree, scene_content, tree_content
from robocontrast_ros.tasks.suite.predicates import WORDS

FILE = resolve_uri("package://robocontrast_ros/config/tasks/tabletop_suite.yaml")


@cache
def suite() -> Suite:
    return load_configured("tasks", FILE)


names = st.sampled_from(sorted(suite().suite))
atoms = st.builds(
    Atom, st.sampled_from(sorted(WORDS.values())), st.lists(st.sampled_from("abc"), min_size=1, max_size=2).map(tuple)
)


def groups(children: st.SearchStrategy) -> st.SearchStrategy:
    parts = st.lists(children, min_size=2, max_size=4).map(tuple)
    plain = st.builds(Group, st.sampled_from((Mode.ALL, Mode.ANY, Mode.SEQUENCE)), parts)
    return plain | parts.flatmap(
        lambda p: st.builds(Group, st.just(Mode.CHOOSE), st.just(p), st.integers(1, len(p) - 1))
    )


@given(st.recursive(atoms, groups, max_leaves=8))
def test_a_goal_that_is_written_down_is_read_back(tree):
    assert parse_tree(tree_content(tree), "file", "goal") == tree


@pytest.mark.parametrize(
    ("goal", "key"),
    [
        ({"at": ["apple", "bowl"]}, "goal"),
        ({"all": [{"in": ["apple", "bowl"]}]}, "goal.all"),
        ({"choose": 2, "of": [{"in": ["a", "b"]}, {"in": ["c", "b"]}]}, "goal.choose"),
        ({"all": [{"in": ["a", "b"]}, {"on": ["c", "b"]}]}, "goal.all.1"),
        ({"in": ["a", "b"], "upright": "a"}, "goal"),
        ([], "goal"),
        ({"in": [1]}, "goal.in"),
    ],
)
def test_a_goal_that_is_none_is_refused_by_its_key(goal, key):
    with pytest.raises(ConfigurationError) as raised:
        parse_tree(goal, "file", "goal")
    assert raised.value.key == key


def test_the_suite_is_as_large_and_as_mixed_as_it_says():
    tasks = list(suite().suite.values())
    assert len(tasks) >= 120 and len({task.file for task in tasks}) >= 30
    labels = Counter(task.difficulty.label for task in tasks)
    for label, share in (("simple", 0.53), ("moderate", 0.33), ("complex", 0.14)):
        assert abs(labels[label] / len(tasks) - share) < 0.06, labels
    attributes = Counter(name for task in tasks for name in task.attributes)
    assert min(attributes[name] for name in ATTRIBUTES) >= 6, attributes


@pytest.mark.parametrize("session", ["tabletop_suite", "tabletop_suite_words"])
def test_a_session_of_the_suite_has_each_task_once(session):
    said = read_yaml(resolve_uri(f"package://robocontrast_ros/config/sessions/{session}.yaml"))["test_set"]
    assert said == {"size": len(suite().suite), "families": ["*/*"]}


@given(names, st.sampled_from(VARIANTS))
def test_each_text_means_its_own_task_in_its_scene(name, variant):
    task = suite().suite[name]
    said = suite().language.parse(task.texts[variant], task.scene)
    assert suite().tree_of(said) == task.tree
    assert suite().premise(task.instruction(variant), task.scene) is None


@settings(max_examples=10)
@given(names)
def test_each_task_has_a_plan_after_which_its_goal_holds_and_not_before(name):
    task, planner = suite().suite[name], suite().planner
    goal = suite().goals.goal(task.instruction(), task.scene)
    plan = planner.plan(task.instruction(), task.scene)
    assert isinstance(plan, Plan) and plan.path[0] == suite().scenes.start_position
    assert not goal.satisfied(task.scene)
    assert goal.satisfied(plan.final_scene) and goal.distance(plan.final_scene) == 0.0


@settings(max_examples=5)
@given(names, st.integers(0, 2**32 - 1))
def test_a_drawn_scene_is_that_of_the_file_moved_a_little_and_the_same_seed_draws_it_again(name, seed):
    one, other = (suite().sample_of(name, np.random.default_rng(seed), "x") for _ in range(2))
    assert one == other and one.problem == name
    task, most = suite().suite[name], suite().parameters.spread.place
    for state in task.scene:
        (x, y), (u, v) = state.pose.xy, one.scene[state.name].pose.xy
        assert max(abs(x - u), abs(y - v)) <= most + 0.011
    assert checks.unclear(task, one.scene, suite().things) is None


@given(names, st.sampled_from(VARIANTS))
def test_object_words_are_those_of_expressions_that_the_text_says(name, variant):
    task = suite().suite[name]
    words, text = task.profile.object_words[variant], task.texts[variant].lower()
    assert set(words) <= {word for phrase in task.words for word in phrase.split()}
    assert all(word in text for word in words) and len(set(words)) == len(words)
    assert not {"on", "your", "left", "right", "nearest", "to", "from", "farthest", "you"} & set(words)
    for phrase, meant in task.words.items():
        # Whatever the text says of a thing, or its plural, is among them.
        noun = checks.expression(phrase, suite().things).noun
        if f" {noun} " in f" {text} " or f" {noun}s " in f" {text} ":
            said = [p for p in task.words if checks.expression(p, suite().things).noun == noun and p in text]
            assert not said or set(noun.split()) <= set(words), (phrase, meant)


def test_object_words_of_each_variant_of_a_task():
    found = suite().suite["two_balls/1_balls_in_green_basket"].profile.object_words
    assert found == {"default": ("ball", "basket"), "vague": ("ball",), "specific": ("ball", "basket", "green")}
    assert suite().suite["drawers/open_top_drawer"].profile.object_words["default"] == (), "no thing of the library"
    left = next(task for task in suite().suite.values() if "apple on your left" in task.words)
    assert "apple" in left.profile.object_words["default"]


def test_the_words_of_a_scene_with_another_thing_of_the_kind_mean_nothing_any_more():
    task = next(t for t in suite().suite.values() if any(len(meant) == 1 for meant in t.words.values()))
    phrase, (name,) = next((p, m) for p, m in task.words.items() if len(m) == 1)
    state = task.scene[name]
    twin = type(state)("twin", state.model, Pose((0.35, 0.0, 0.0)))
    crowded = type(task.scene)((*task.scene.objects, twin))
    error = checks.unclear(task, crowded, suite().things)
    assert error is not None and "twin" in str(error.got), phrase


def test_what_is_stored_is_what_is_read():
    for task in list(suite().suite.values())[:5]:
        assert scene_content(task.scene) == read_yaml(task.file)["things"]
