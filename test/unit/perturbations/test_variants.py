"""The words of a suite's problems in other variants: what stays, what changes, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from language_table_instances import EIGHT
from suite_tasks import few_scenes

from robocontrast_ros.domain import Expectation, NotApplicable, TestInstance
from robocontrast_ros.perturbations.loading import load_perturbation

SUITE = few_scenes()
VARIANTS = ("vague", "specific")


def variant(words):
    return load_perturbation({"name": "variant", "words": words}, "test", "perturbations")


def instance_of(name):
    """Return an instance of a problem in its stored scene, without planning it."""
    task = SUITE.suite[name]
    return TestInstance("x-0", SUITE.name, task.instruction(), task.scene, 1.0, problem=name)


@given(st.sampled_from(sorted(SUITE.suite)), st.sampled_from(VARIANTS))
def test_other_words_of_a_problem_ask_for_the_same_in_the_same_scene(name, words):
    base, perturbation = instance_of(name), variant(words)
    answer = perturbation.apply(SUITE, base, base.scene, np.random.default_rng(0))
    texts = SUITE.profiles[name].texts
    if texts[words] == texts["default"]:
        assert isinstance(answer, NotApplicable)
        return
    new = answer.instance
    assert new.instruction.text == texts[words] != base.instruction.text
    assert replace(new, instruction=base.instruction, instance_id="x-0") == base
    assert SUITE.language.parse(new.instruction.words, base.scene).arguments == base.instruction.arguments
    assert SUITE.goals.goal(new.instruction, base.scene) == SUITE.goals.goal(base.instruction, base.scene)
    assert new.instance_id == f"x-0-{perturbation.name}" and texts[words] in answer.note


def test_what_it_says_of_itself_is_that_a_sound_policy_keeps_its_success():
    vague = variant("vague")
    assert (vague.name, vague.axes, vague.plausible) == ("variant_vague", "L", True)
    assert vague.expectation is Expectation.KEEPS_SUCCESS
    assert load_perturbation("variant", "test", "perturbations").name == "variant_vague"


def test_tasks_without_variants_are_not_supported_and_an_unknown_variant_is_refused_with_the_known_ones():
    assert variant("vague").supports(SUITE) is True
    assert variant("vague").supports(EIGHT) is False
    for wrong in ("default", "polite"):
        with pytest.raises(ValueError, match=r"another variant than 'default'.*: vague, specific"):
            variant(wrong).supports(SUITE)


def test_it_applies_in_the_scene_of_the_instance_alone_and_to_problems_alone():
    base = instance_of(min(SUITE.suite))
    moved = replace(base.scene, objects=base.scene.objects[1:])
    rng = np.random.default_rng(0)
    assert isinstance(variant("vague").apply(SUITE, base, moved, rng), NotApplicable)
    of_none = replace(base, problem="")
    answer = variant("vague").apply(SimpleNamespace(profiles=SUITE.profiles), of_none, base.scene, rng)
    assert "is of no problem" in answer.reason


def test_an_instance_is_of_the_problem_of_its_instruction_however_it_was_made():
    name = min(SUITE.suite)
    task = SUITE.suite[name]
    assert SUITE.make_instance("x-1", task.instruction(), task.scene).problem == name
