"""The sentences of the kitchen's problems: understood, taken apart and said otherwise."""

from __future__ import annotations

import numpy as np
import pytest
from kitchen_instances import every_kitchen, instance

from robocontrast_ros.configuration import load_plugin
from robocontrast_ros.domain import Perturbed, plain_text
from robocontrast_ros.tasks.kitchen.goals import atom_of, instruction_of

TASK = every_kitchen()


def meaning(instruction):
    return instruction.family, instruction.arguments


@pytest.fixture(scope="module")
def bases():
    return [instance(name) for name in TASK.skills]


def test_each_sentence_is_understood_in_its_scene(bases):
    for base in bases:
        assert TASK.language.parse(base.instruction.text, base.scene) == base.instruction
        assert meaning(instruction_of(atom_of(base.instruction))) == meaning(base.instruction)


def test_each_sentence_is_its_segments_and_each_referent_is_a_segment(bases):
    for base in bases:
        segments = TASK.wording.segments(base.instruction)
        assert plain_text(segments) == base.instruction.text
        referents = [segment.entity for segment in segments if segment.entity]
        assert referents == [base.instruction.get(role) for role in ("target", "reference")[: len(referents)]]
        assert len(referents) == len(base.instruction.arguments)


def test_each_referent_has_a_name_that_means_it_alone(bases):
    for base in bases:
        for segment in TASK.wording.segments(base.instruction):
            if segment.entity:
                assert any(alone for _, alone in TASK.wording.descriptors(segment, base.scene))


def test_paraphrases_and_other_expressions_mean_the_same(bases):
    for base in bases:
        rng = np.random.default_rng(0)
        for _ in range(2):
            for text in (
                TASK.wording.paraphrase(base.instruction, rng),
                TASK.rewording.rephrase(base.instruction, base.scene, rng).text,
            ):
                assert meaning(TASK.language.parse(text, base.scene)) == meaning(base.instruction)


def test_each_problem_has_a_paraphrase(bases):
    paraphrase = load_plugin("perturbations", "paraphrase", "test", "")()
    for base in bases:
        answer = paraphrase.apply(TASK, base, base.scene, np.random.default_rng(0))
        assert isinstance(answer, Perturbed)
        assert answer.instance.instruction.text != base.instruction.text


def test_a_fixture_and_its_parts_are_called_by_their_own_names(bases):
    for base in bases:
        for seed in range(3):
            text = TASK.rewording.rephrase(base.instruction, base.scene, np.random.default_rng(seed)).text
            assert "furniture" not in text


def test_a_condition_of_several_scenes_is_one():
    conditions = list(TASK.language.conditions())
    assert len({meaning(condition) for condition in conditions}) == len(conditions) < len(TASK.skills)
