"""Perturbations of what the policy is told: what each leaves as it is, on every task."""

from __future__ import annotations

import re
import string
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from language_table_instances import EIGHT
from tabletop_scenes import fresh
from vln_scenes import APARTMENT

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import Instruction, NotApplicable, Perturbed, Pose, Segment, SegmentKind, plain_text
from robocontrast_ros.images.rendering import RenderingUnavailable
from robocontrast_ros.perturbations.instructions import ELSEWHERE
from robocontrast_ros.perturbations.loading import load_perturbation
from robocontrast_ros.perturbations.tokens import Tokens
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.policies.segments import as_told, to_send
from robocontrast_ros.tasks import portraits

FEW = ("banana", "basket", "bowl", "brick", "can", "cube", "golf_ball", "mug", "plate", "soup_can", "tennis_ball")
TASKS = {"language_table": EIGHT, "navigation": APARTMENT, "tabletop": fresh(objects=FEW)}
MEANT = ("original", "paraphrase", "specific", "full_stop", "upper_case", "lower_case", "pictures")
"""Those after which the task's own grammar still understands the text."""
IMPLAUSIBLE = (
    "gobbledygook_words",
    "gobbledygook_tokens",
    "mask_words",
    "mask_referents",
    "mask_all",
    "wrong_instruction",
)
ALL = (*MEANT, *IMPLAUSIBLE, "typos", "vague")
TOKENS = Tokens()

tasks = st.sampled_from(sorted(TASKS))
seeds = st.integers(0, 5)


@cache
def drawn(name, seed):
    task = TASKS[name]
    return task.sample(np.random.default_rng([7, seed]), f"x{seed}", task.families[seed % len(task.families)])


@cache
def applied(perturbation, task, seed):
    base = drawn(task, seed)
    rng = np.random.default_rng([8, seed])
    return load_perturbation(perturbation, "test", "").apply(TASKS[task], base, base.scene, rng)


def told(perturbation, task, seed):
    answer = applied(perturbation, task, seed)
    return answer.instance.instruction if isinstance(answer, Perturbed) else None


def words(segments):
    return [word for segment in segments if not segment.refers for word in re.findall(r"[^\s,.;:!]+", segment.text)]


def referents(segments):
    return [(segment.name, segment.text, segment.entity) for segment in segments if segment.refers]


def shape(segments):
    """What stands where: each word and each referent, in order."""
    return [None if s.refers else re.sub(r"[^\s,.;:!]+", "w", s.text) for s in segments]


@given(tasks, seeds)
def test_the_segments_are_the_text_and_the_referents_are_what_the_arguments_name(name, seed):
    base = drawn(name, seed)
    segments = TASKS[name].wording.segments(base.instruction)
    assert "".join(segment.text for segment in segments) == base.instruction.text == plain_text(segments)
    named = [segment.entity for segment in segments if segment.refers]
    assert named and set(named) <= set(dict(base.instruction.arguments).values())
    assert [segment.name for segment in segments if segment.refers] == [
        f"referent_{number}" for number in range(1, len(named) + 1)
    ]
    assert not any(entity in segment.name for segment in segments for entity in named), "a name says nothing"


@given(st.sampled_from(ALL), tasks, seeds)
def test_what_is_expected_and_the_scene_stay_those_of_the_twin(perturbation, name, seed):
    base, answer = drawn(name, seed), applied(perturbation, name, seed)
    if isinstance(answer, NotApplicable):
        return
    new = answer.instance
    assert (new.scene, new.optimal_path_length, new.reference_path) == (
        base.scene,
        base.optimal_path_length,
        base.reference_path,
    )
    assert (new.instruction.family, new.instruction.arguments) == (
        base.instruction.family,
        base.instruction.arguments,
    )
    assert new.instruction.text != base.instruction.text or new.instruction.pictured
    assert plain_text(new.instruction.segments) == new.instruction.text
    assert TASKS[name].language.parse(new.instruction.words, new.scene).arguments == base.instruction.arguments


@given(st.sampled_from(MEANT), tasks, seeds)
def test_the_task_understands_what_means_the_same(perturbation, name, seed):
    instruction = told(perturbation, name, seed)
    if instruction is not None:
        assert instruction.meant == ""


@given(tasks, seeds)
def test_the_original_sentence_is_one_for_all_paraphrases_and_means_the_same(name, seed):
    base, task = drawn(name, seed), TASKS[name]
    text = task.wording.original(base.instruction)
    found = task.language.parse(text, base.scene)
    assert (found.family, found.arguments) == (base.instruction.family, base.instruction.arguments)
    assert task.wording.original(replace(base.instruction, text=text)) == text
    for number in range(3):
        other = replace(base.instruction, text=task.wording.paraphrase(base.instruction, np.random.default_rng(number)))
        assert task.wording.original(other) == text


def test_what_is_said_in_the_original_sentence_already_stays():
    base = drawn("language_table", 0)
    said = replace(base.instruction, text=EIGHT.wording.original(base.instruction), segments=())
    perturbation = load_perturbation("original", "test", "")
    answer = perturbation.apply(EIGHT, replace(base, instruction=said), base.scene, np.random.default_rng(0))
    assert isinstance(answer, NotApplicable) and answer.reason.endswith("stays as it is")


@given(st.sampled_from(["original", "paraphrase"]), tasks, seeds)
def test_other_words_keep_the_referring_ones(perturbation, name, seed):
    instruction = told(perturbation, name, seed)
    if instruction is None:
        return
    before = referents(TASKS[name].wording.segments(drawn(name, seed).instruction))
    after = referents(instruction.segments)
    assert sorted(text for _, text, _ in before) == sorted(text for _, text, _ in after)
    assert sorted(entity for _, _, entity in before) == sorted(entity for _, _, entity in after)


@given(tasks, seeds)
def test_pictures_show_each_thing_as_it_stands_and_the_words_stay(name, seed):
    base, instruction = drawn(name, seed), told("pictures", name, seed)
    before = TASKS[name].wording.segments(base.instruction)
    assert tuple(replace(segment, crop=None) for segment in instruction.segments) == before
    assert (instruction.text, instruction.meant) == (base.instruction.text, "")
    assert all((segment.crop is not None) == segment.refers for segment in instruction.segments)
    for segment in instruction.segments:
        if segment.refers:
            crop = TASKS[name].portraits.portrait(segment.entity, base.scene)
            assert segment.crop == crop and crop.pixels.shape == (32, 32, 3)
            assert len(np.unique(crop.pixels.reshape(-1, 3), axis=0)) > 2, "something is drawn"
    assert f"has pictures in place of '{referents(before)[0][1]}'" in applied("pictures", name, seed).note


@given(st.sampled_from(["mask_referents", "mask_words", "gobbledygook_words", "full_stop"]), tasks, seeds)
def test_what_is_perturbed_of_pictured_instructions_keeps_the_pictures(perturbation, name, seed):
    shown = applied("pictures", name, seed).instance
    task = TASKS[name]
    pictured = SimpleNamespace(wording=SimpleNamespace(segments=lambda instruction: instruction.segments))
    answer = load_perturbation(perturbation, "test", "").apply(
        pictured, shown, shown.scene, np.random.default_rng([8, seed])
    )
    after, before = answer.instance.instruction.segments, shown.instruction.segments
    assert [s.crop for s in after if s.refers] == [s.crop for s in before if s.refers]
    told = told_to(answer.instance.instruction, task)
    assert any(segment.crop for segment in told.segments) == (perturbation != "mask_referents")
    assert not any(words in told.text for _, words, _ in referents(before))


def told_to(instruction, task):
    """What a policy is told that takes pictures."""
    seeing = PolicyDescription("seeing", "planar_delta", 2, referents="crop")
    return as_told(instruction.text, to_send(instruction, task, seeing), seeing)


def test_the_picture_is_of_the_thing_alone_and_turns_with_it():
    base = drawn("language_table", 0)
    name = base.scene.names[0]
    portrait = EIGHT.portraits.portrait(name, base.scene)
    alone = replace(base.scene, objects=(base.scene[name],))
    assert EIGHT.portraits.portrait(name, alone) == portrait, "others are not drawn"
    x, y, z = base.scene[name].pose.position
    turned = replace(base.scene[name], pose=Pose.planar(x + 0.1, y, base.scene[name].pose.yaw + 1.0, z))
    assert EIGHT.portraits.portrait(name, replace(alone, objects=(turned,))) != portrait
    elsewhere = replace(turned, pose=Pose.planar(x + 0.1, y, base.scene[name].pose.yaw, z))
    assert EIGHT.portraits.portrait(name, replace(alone, objects=(elsewhere,))) == portrait
    assert EIGHT.portraits.portrait("top_left", base.scene) is None, "a place has no picture"


def test_without_anything_to_draw_with_there_are_no_pictures(monkeypatch):
    def fail(spec, yaw):
        raise RenderingUnavailable("no EGL")

    monkeypatch.setattr("robocontrast_ros.images.portraits.portrait", fail)
    portraits._drawn.cache_clear()
    base = drawn("language_table", 0)
    answer = load_perturbation("pictures", "test", "").apply(EIGHT, base, base.scene, np.random.default_rng(0))
    assert answer == NotApplicable("no EGL")


@given(tasks, seeds)
def test_gobbledygook_words_are_random_letters_of_the_same_lengths_and_referents_stay_in_place(name, seed):
    before = TASKS[name].wording.segments(drawn(name, seed).instruction)
    after = told("gobbledygook_words", name, seed).segments
    assert shape(before) == shape(after)
    assert referents(before) == referents(after)
    assert sorted(map(len, words(before))) == sorted(map(len, words(after)))
    assert set("".join(words(after))) <= set(string.ascii_letters)


@given(tasks, seeds)
def test_gobbledygook_tokens_are_as_many_and_none_of_the_original(name, seed):
    base = drawn(name, seed).instruction
    before, instruction = TASKS[name].wording.segments(base), told("gobbledygook_tokens", name, seed)
    assert instruction is not None
    after = instruction.segments
    assert (shape(before), referents(before)) == (shape(after), referents(after))
    assert len(TOKENS.of(base.text)) == len(TOKENS.of(instruction.text))
    assert not set(TOKENS.of(base.text)) & set(TOKENS.of(" ".join(words(after))))


@given(tasks, seeds)
def test_masks_leave_the_positions_and_take_the_words_away(name, seed):
    before = TASKS[name].wording.segments(drawn(name, seed).instruction)
    for perturbation, left in (
        ("mask_words", [s.text for s in before if s.refers]),
        ("mask_referents", [s.text for s in before if not s.refers]),
        ("mask_all", []),
    ):
        instruction = told(perturbation, name, seed)
        assert [replaced(s) for s in instruction.segments] == list(before)
        assert instruction.text.split() == [word for text in left for word in text.split()] and instruction.meant


def replaced(segment):
    return Segment(segment.kind, segment.text, segment.name, True, segment.entity)


@given(tasks, seeds)
def test_a_wrong_instruction_asks_for_something_that_does_not_fulfil_the_right_one(name, seed):
    instruction = told("wrong_instruction", name, seed)
    if instruction is None:
        return
    task, base = TASKS[name], drawn(name, seed)
    other = task.language.parse(instruction.text, base.scene)
    assert (other.family, other.arguments) != (base.instruction.family, base.instruction.arguments)
    end = task.planner.plan(other, base.scene).final_scene
    assert not task.goals.goal(base.instruction, base.scene).satisfied(end)


@given(tasks, seeds)
def test_a_vague_descriptor_fits_several_things_and_a_specific_one_means_one(name, seed):
    task, base = TASKS[name], drawn(name, seed)
    vague = told("vague", name, seed)
    if vague is not None:
        with pytest.raises(ValueError, match=r"fits|may name"):
            task.language.parse(vague.text, base.scene)
    specific = told("specific", name, seed)
    if specific is not None:
        assert len(specific.text.split()) > len(base.instruction.text.split())


@given(tasks, seeds, st.integers(1, 3))
def test_so_many_words_are_mistyped_and_each_keeps_its_first_letter(name, seed, count):
    base = drawn(name, seed)
    answer = load_perturbation({"name": "typos", "count": count}, "test", "").apply(
        TASKS[name], base, base.scene, np.random.default_rng(seed)
    )
    if isinstance(answer, NotApplicable):
        return
    before, after = base.instruction.text.split(), answer.instance.instruction.text.split()
    pairs = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    assert len(pairs) == count
    assert all(old[0] == new[0] and abs(len(old) - len(new)) <= 1 for old, new in pairs)


def test_changes_that_mean_nothing_change_nothing_else():
    base = drawn("language_table", 0).instruction.text
    assert told("upper_case", "language_table", 0).text == base.upper()
    assert told("full_stop", "language_table", 0).text == f"{base}."
    assert isinstance(applied("lower_case", "language_table", 0), NotApplicable), "it is in small letters already"
    navigation = drawn("navigation", 0).instruction.text
    assert told("lower_case", "navigation", 0).text == navigation.lower() != navigation


@pytest.mark.parametrize("perturbation", ALL)
def test_most_of_them_apply_to_every_task(perturbation):
    found = {name: sum(told(perturbation, name, seed) is not None for seed in range(6)) for name in TASKS}
    if perturbation == "vague":
        assert found.pop("navigation") == 0, "a place has nouns, each of which means it"
    if perturbation == "specific":
        assert found.pop("language_table") == 0, "every block needs its colour and its shape"
    if perturbation == "lower_case":
        found = {"navigation": found["navigation"]}
    assert all(found.values()), found


def test_they_apply_in_the_scene_of_the_test_instance_alone():
    base = drawn("language_table", 0)
    other = drawn("language_table", 1)
    answer = load_perturbation("mask_all", "test", "").apply(EIGHT, base, other.scene, np.random.default_rng(0))
    assert answer == NotApplicable(ELSEWHERE)


def test_segments_that_say_something_else_than_the_text_are_refused():
    with pytest.raises(ValueError, match="got segments that say 'push', expected the same"):
        Instruction("pull", "f", segments=(Segment(SegmentKind.TEXT, "push"),))


def test_a_file_that_is_no_tokenizer_is_one_clear_error(tmp_path):
    wrong = tmp_path / "tokenizer.json"
    wrong.write_text("none")
    with pytest.raises(ConfigurationError, match=r"tokenizer.*tokenizer\.json.*It says"):
        load_perturbation({"name": "gobbledygook_tokens", "tokenizer": str(wrong)}, "s.yaml", "strategy.perturbations")


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("gobbledygook", "Did you mean 'gobbledygook_words'"),
        ({"name": "blur", "severity": 9}, "severity.*less than or equal to 5"),
        ({"name": "permuted", "severity": 2}, "severity.*1 to 1 for 'permuted'"),
        ({"name": "latency", "camera": "front"}, "camera.*changes no images"),
        ({"name": "mask_all", "share": 0.5}, "share.*no parameters, because 'mask_all' has none"),
        ({"severity": 1}, "the name of a perturbation"),
    ],
)
def test_what_cannot_be_a_perturbation_is_one_clear_error(entry, words):
    with pytest.raises(ConfigurationError, match=words):
        load_perturbation(entry, "s.yaml", "strategy.perturbations")
