"""What is said about things on the table means one of them alone, and is understood."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from examples import examples
from hypothesis import assume, given
from hypothesis import strategies as st
from tabletop_scenes import asked, scene, tabletop

from robocontrast_ros.domain import ObjectState, Pose, Scene
from robocontrast_ros.tasks.tabletop.grammar import understood
from robocontrast_ros.tasks.tabletop.language import TabletopLanguage
from robocontrast_ros.tasks.tabletop.parameters import FAMILIES
from robocontrast_ros.tasks.tabletop.referring import (
    APART,
    APART_WHEN_SAID,
    LARGER,
    Expression,
    expressions,
    nouns,
    resolve,
)

TASK = tabletop()
LANGUAGE, LIBRARY = TASK.language, TASK.library
MOVABLE = [name for name, model in LIBRARY.items() if not model.fixed]
seeds = st.integers(0, 2**32 - 1)


@st.composite
def scenes(draw):
    """Scenes of two to eight things, wherever; often several of a kind, and never two of one model."""
    rng = np.random.default_rng(draw(seeds))
    count = draw(st.integers(2, 8))
    types = sorted({LIBRARY[name].type for name in MOVABLE})
    few = [types[i] for i in rng.choice(len(types), size=draw(st.integers(1, 4)), replace=False)]
    models = [name for name in MOVABLE if LIBRARY[name].type in few]
    chosen = rng.permutation(models)[:count].tolist()
    chosen += [str(name) for name in rng.permutation([m for m in MOVABLE if m not in chosen])[: count - len(chosen)]]
    places = rng.uniform((0.34, -0.32), (0.62, 0.32), (count, 2)).tolist()
    return scene(oak_table=(0.5, 0.0), **{name: tuple(xy) for name, xy in zip(chosen, places, strict=True)})


def things(where: Scene) -> list[ObjectState]:
    return [o for o in where if not LIBRARY[o.model].fixed]


@given(scenes(), st.sampled_from(FAMILIES), seeds)
@examples(60)
def test_what_is_said_is_understood_as_the_same_things(where, family, seed):
    rng = np.random.default_rng(seed)
    target, reference = (o.name for o in rng.permutation(np.array(things(where), dtype=object))[:2])
    wanted = asked(family, target, "" if family == "pick" else reference)
    try:
        said = LANGUAGE.realise(wanted, where, rng)
    except ValueError:
        assert any(not list(expressions(name, where, LIBRARY)) for name in dict(wanted.arguments).values())
        return
    assert LANGUAGE.parse(said.text, where) == said == replace(wanted, text=said.text)
    assert LANGUAGE.premise(said, where) is None
    for changed in (LANGUAGE.rephrase(said, where, rng), LANGUAGE.reword(said, {}, where, rng)):
        assert LANGUAGE.parse(changed.text, where) == changed == replace(wanted, text=changed.text)


def means(said: Expression, one: ObjectState, where: Scene) -> bool:
    """Tell whether an expression means one thing alone, by its definition, written down once more."""
    model = LIBRARY[one.model]
    rivals = [o for o in things(where) if said.noun in nouns(LIBRARY[o.model]) and o is not one]
    rivals = [o for o in rivals if said.colour in ("", LIBRARY[o.model].colour)]
    if said.noun not in nouns(model) or said.colour not in ("", model.colour):
        return False
    if said.size:
        sign = {"small": 1.0, "large": -1.0}[said.size]
        ratio = {o.name: math.dist(LIBRARY[o.model].size, (0, 0, 0)) / math.dist(model.size, (0, 0, 0)) for o in rivals}
        if not rivals or any(r**sign <= 1.0 / LARGER for r in ratio.values()):
            return False
        # As large, as far as can be told, as the one that is meant; so are those that are as large as the largest.
        best = min(1.0, *(r**sign for r in ratio.values()))
        if best * LARGER <= 1.0:
            return False
        rivals = [o for o in rivals if ratio[o.name] ** sign < best * LARGER]
    if said.place:
        if not rivals:
            return False
        ahead = {
            "left": lambda a, b: a.pose.position[1] - b.pose.position[1],
            "right": lambda a, b: b.pose.position[1] - a.pose.position[1],
            "nearest": lambda a, b: math.hypot(*b.pose.xy) - math.hypot(*a.pose.xy),
            "farthest": lambda a, b: math.hypot(*a.pose.xy) - math.hypot(*b.pose.xy),
        }[said.place]
        return all(ahead(one, o) >= APART for o in rivals)
    return not rivals


@given(scenes(), st.data())
@examples(100)
def test_an_expression_is_said_only_where_it_means_one_thing_alone(where, data):
    one = data.draw(st.sampled_from(things(where)))
    for said in expressions(one.name, where, LIBRARY):
        assert resolve(said, where, LIBRARY) == (one.name,), said
        assert means(said, one, where), said
        assert not any(means(said, other, where) for other in things(where) if other is not one), said
        for part in ("size", "place"):
            if getattr(said, part):
                assert not means(replace(said, **{part: ""}), one, where) or said.place, (said, part)


@given(scenes(), st.data(), seeds)
@examples(60)
def test_what_is_said_stays_true_when_things_are_moved_by_a_centimetre(where, data, seed):
    one, rng = data.draw(st.sampled_from(things(where))), np.random.default_rng(seed)
    nudged = where
    for o in things(where):
        angle, by = rng.uniform(0.0, math.tau), 0.49 * (APART_WHEN_SAID - APART)
        x, y = o.pose.xy
        nudged = nudged.moved(o.name, Pose.planar(x + by * math.cos(angle), y + by * math.sin(angle)))
    for said in expressions(one.name, where, LIBRARY):
        assert resolve(said, nudged, LIBRARY) == (one.name,), said


@given(st.data(), st.sampled_from(FAMILIES), seeds)
@examples(200)
def test_every_expression_is_read_as_it_was_said(data, family, seed):
    def drawn():
        model = LIBRARY[data.draw(st.sampled_from(MOVABLE))]
        return Expression(
            data.draw(st.sampled_from(nouns(model))),
            data.draw(st.sampled_from(sorted({"", model.colour}))),
            data.draw(st.sampled_from(("", "small", "large"))),
            data.draw(st.sampled_from(("", "left", "right", "nearest", "farthest"))),
        )

    said = {role: drawn() for role in ("target", "reference")[: 1 if family == "pick" else 2]}
    rng = np.random.default_rng(seed)
    text = LANGUAGE.put(family, said, lambda fitting: fitting[rng.integers(len(fitting))])
    assert understood(LANGUAGE.grammar.read(text)) == (family, said)


MUGS = scene(
    red_mug=(0.4, 0.2),
    blue_mug=(0.5, 0.0),
    white_bowl=(0.5, -0.2),
    white_golf_ball=(0.6, 0.1),
    yellow_tennis_ball=(0.45, 0.11),
    banana=(0.36, -0.1),
)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("the red mug", "red_mug"),
        ("the cup on your left", "red_mug"),
        ("the mug on your right", "blue_mug"),
        ("the mug nearest to you", "red_mug"),
        ("the fruit", "banana"),
        ("the small ball", "white_golf_ball"),
        ("the big ball", "yellow_tennis_ball"),
        ("the white ball", "white_golf_ball"),
        ("the object farthest from you", "white_golf_ball"),
        ("the white object on your right", "white_bowl"),
        ("the red object", "red_mug"),
    ],
)
def test_an_expression_is_understood(words, name):
    assert LANGUAGE.parse(f"Pick up {words}.", MUGS).arguments == (("target", name),)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("pick up the mug", "'the mug' may name the red mug or blue mug in this scene, expected one thing"),
        ("pick up the knife", "'the knife' names nothing in this scene, expected one thing$"),
        ("pick up the green mug", "'the green mug' names nothing in this scene"),
        ("pick up the banana on your left", "names nothing .*; a size or a place is said to tell several apart"),
        ("pick up the ball on your left", "may name the white golf ball or yellow tennis ball"),
        ("pick up the small mug", "may name the red mug or blue mug"),
        ("put the red mug on the cup on your left", "both expressions name the red mug"),
        ("pick up the room", "got 'room'"),
        ("throw the banana", "got 'throw'"),
        ("put the banana under the bowl", "got 'under'"),
    ],
)
def test_an_instruction_that_names_nothing_or_two_things_is_refused_in_words(text, complaint):
    with pytest.raises(ValueError, match=complaint):
        LANGUAGE.parse(text, MUGS)


def test_a_thing_that_cannot_be_told_from_another_is_not_named():
    twins = Scene(tuple(ObjectState(f"cube_{k}", "red_cube", Pose.planar(0.5, y)) for k, y in enumerate((0.0, 0.02))))
    with pytest.raises(ValueError, match="no words name the cube 0 alone in this scene"):
        LANGUAGE.realise(asked("pick", "cube_0"), twins, np.random.default_rng(0))


def test_the_premise_is_false_where_the_words_mean_something_else_or_two_things():
    said = LANGUAGE.parse("pick up the mug on your left", MUGS)
    assert TASK.premise(said, MUGS) is None
    beyond = MUGS.moved("blue_mug", Pose.planar(0.5, 0.3))
    assert "its words mean {'target': 'blue_mug'} in place of {'target': 'red_mug'}" in TASK.premise(said, beyond)
    beside = MUGS.moved("blue_mug", Pose.planar(0.5, 0.19))
    assert "may name the red mug or blue mug" in TASK.premise(said, beside)
    lying = MUGS.moved("red_mug", replace(MUGS["red_mug"].pose, orientation=(math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5))))
    assert TASK.premise(said, lying) == "the red mug has fallen over"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"target": "white_golf_ball", "reference": "red_mug"}, "place the little ball next to the red mug"),
        ({"target": "blue_mug"}, "place the blue mug next to the little ball"),
        ({}, "place the red mug next to the little ball"),
    ],
)
def test_another_thing_is_named_in_the_same_way_and_what_was_named_keeps_its_words(arguments, text):
    before = LANGUAGE.parse("place the red mug next to the little ball", MUGS)
    assert LANGUAGE.reword(before, arguments, MUGS, np.random.default_rng(0)).text == text


@given(scenes(), st.data(), seeds)
@examples(50)
def test_other_words_are_other_words(where, data, seed):
    rng = np.random.default_rng(seed)
    one = data.draw(st.sampled_from(things(where)))
    assume(len(list(expressions(one.name, where, LIBRARY))) > 1)
    said = LANGUAGE.realise(asked("pick", one.name), where, rng)
    assert LANGUAGE.rephrase(said, where, rng).text != said.text


def test_every_condition_is_said_in_words_of_its_own():
    pairs = [{"target": a, "reference": b} for a, b in itertools.permutations(MOVABLE[::4], 2)]
    conditions = list(TabletopLanguage(LIBRARY, lambda family: pairs).conditions())
    assert {c.family for c in conditions} == set(FAMILIES)
    assert len(conditions) == len(FAMILIES) * len(pairs)
    assert len({c.text for c in conditions if c.family == "put_in"}) == len(pairs)
