"""How two places are said and understood."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vln_scenes import APARTMENT, ARRANGEMENTS, arranged, few_seeds, instance, scene, seeds

from robocontrast_ros.tasks.grammar import meaning, normal
from robocontrast_ros.tasks.navigation.grammar import FIRST, LAST, plural, visit_grammar, visits
from robocontrast_ros.tasks.navigation.language import visit

G = APARTMENT.language.grammar
PLACES = tuple(APARTMENT.parameters.furniture)
pairs = st.sampled_from(list(itertools.permutations(PLACES, 2)))


def choices(text):
    """Return rule -> kind of the alternative in a sentence."""
    return {a.rule: a.kind for a in G.read(text)}


def places(grammar, text):
    """Return the first and the last place in a sentence."""
    found = meaning(grammar.read(text))
    return found[FIRST][0], found[LAST][0]


def everything():
    """The scene with one object of each model, and two of those that there are two of."""
    return arranged("arrangement_1").scene


@given(pairs, seeds)
def test_what_is_said_is_understood(pair, seed):
    instruction = APARTMENT.language.realise(visit(*pair), everything(), np.random.default_rng(seed))
    assert APARTMENT.language.parse(instruction.text, everything()) == instruction


def test_every_sentence_has_one_meaning():
    sentences = list(G.say_every_way(visits(("couch", False), ("plant", True))))
    assert len(sentences) > 2000
    assert len({normal(s) for s in sentences}) == len(sentences)
    # Each form with its first and last words, each noun in both roles, in all.
    step = max(len(sentences) // 300, 1)
    for text in sentences[::step]:
        assert places(G, text) == ("couch", "plant"), text


@pytest.mark.parametrize("place", PLACES)
def test_every_noun_of_a_place_is_understood_alone_and_in_the_plural(place):
    other = "lamp" if place != "lamp" else "couch"
    for noun in APARTMENT.parameters.furniture[place].nouns:
        for said in (noun, plural(noun), noun.upper()):
            text = f"Walk past the {said}, then stop at the {other}"
            assert APARTMENT.language.parse(text, everything()).arguments == visit(place, other).arguments


def test_the_papers_sentence_is_of_the_grammar():
    """Seed 000, section 6.2, with one landmark: there the first subgoal has two, the lamp and the plants."""
    text = "Go pass by the plants, keep going and stop when you reach the bookshelf"
    assert APARTMENT.language.parse(text, everything()).arguments == visit("plant", "bookshelf").arguments


def test_two_plants_are_plants_and_one_is_a_plant():
    rng = np.random.default_rng(0)
    several = APARTMENT.language.realise(visit("plant", "bed"), everything(), rng).text
    one = scene((1, 1, 0), plant_1=(2.0, 2.0, 0.0), bed=(4.0, 4.0, 0.0))
    single = APARTMENT.language.realise(visit("plant", "bed"), one, rng).text
    assert any(f" {noun}s" in several for noun in APARTMENT.parameters.furniture["plant"].nouns)
    assert not any(f" {noun}s" in single for noun in APARTMENT.parameters.furniture["plant"].nouns)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("go go past the bed, then stop at the couch", "got 'go', expected "),
        ("Walk past the bed", "got nothing more, expected then"),
        ("Walk past the fridge, then stop at the couch", "got 'fridge'"),
        ("Walk past the bed, then stop at the sofa please", "got 'please'"),
        ("", "got nothing more"),
    ],
)
def test_a_sentence_that_is_not_understood_is_answered_with_what_could_stand_there(text, says):
    with pytest.raises(ValueError, match="known places: bed, bookshelf, chair") as caught:
        APARTMENT.language.parse(text, everything())
    assert says in str(caught.value)


def test_case_and_punctuation_do_not_matter():
    for text in ("walk past the BED then stop at the sofa.", "Walk past the bed; then, stop at the sofa!"):
        assert APARTMENT.language.parse(text, everything()).arguments == visit("bed", "couch").arguments


@given(few_seeds, seeds)
def test_rephrasing_changes_form_and_nouns_and_keeps_both_places(base_seed, seed):
    base = instance(base_seed)
    said = APARTMENT.rewording.rephrase(base.instruction, base.scene, np.random.default_rng(seed))
    assert said.arguments == base.instruction.arguments
    assert APARTMENT.language.parse(said.text, base.scene) == said
    before, after = choices(base.instruction.text), choices(said.text)
    assert {"sentence", FIRST, LAST} <= set(before) & set(after)
    assert all(before[rule] != after[rule] for rule in set(before) & set(after))


@given(few_seeds, seeds, st.data())
def test_redirecting_keeps_all_words_but_the_last_noun(base_seed, seed, data):
    base = instance(base_seed)
    there = APARTMENT.neighbourhood.destinations(base.instruction, base.scene)
    destination = data.draw(st.sampled_from(there))
    said = APARTMENT.rewording.reword(base.instruction, {LAST: destination}, base.scene, np.random.default_rng(seed))
    before, after = choices(base.instruction.text), choices(said.text)
    assert {k: v for k, v in before.items() if k != LAST} == {k: v for k, v in after.items() if k != LAST}
    assert APARTMENT.planner.named(said) == (APARTMENT.planner.named(base.instruction)[0], destination)
    assert APARTMENT.language.parse(said.text, base.scene) == said


@given(few_seeds, seeds)
def test_the_same_generator_draws_the_same_words(base_seed, seed):
    base = instance(base_seed)
    for change in (APARTMENT.rewording.rephrase, APARTMENT.language.realise):
        texts = [change(base.instruction, base.scene, np.random.default_rng(seed)).text for _ in range(2)]
        assert texts[0] == texts[1]


def test_there_are_as_many_conditions_as_ordered_pairs_of_places():
    conditions = list(APARTMENT.language.conditions())
    assert len(conditions) == len(PLACES) * (len(PLACES) - 1) == 56
    assert len({c.arguments for c in conditions}) == 56
    for condition in conditions:
        assert APARTMENT.language.parse(condition.text, everything()) == condition


@pytest.mark.parametrize("name", ARRANGEMENTS)
def test_the_instructions_of_the_arrangements_are_of_different_forms(name):
    forms = {n: choices(arranged(n).instruction.text)["sentence"] for n in ARRANGEMENTS}
    assert list(forms.values()).count(forms[name]) == 1


def test_other_nouns_make_another_grammar():
    small = visit_grammar({"box": ["box", "crate"], "bench": ["bench", "pew"]})
    assert places(small, "Walk past the benches, then stop at the box") == ("bench", "box")
    with pytest.raises(ValueError, match="known places: bench, box"):
        small.read("Walk past the couch, then stop at the box")
