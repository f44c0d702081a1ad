"""A sentence with one derivation is read without Lark, which finds the same one."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from robocontrast_ros.configuration import load_configured, resolve_uri
from robocontrast_ros.tasks.grammar import Derivation, Grammar, Phrase, drawn, normal
from robocontrast_ros.tasks.language_table.grammar import GRAMMAR

SENTENCES = 300


@cache
def grammar_of(task: str) -> Grammar:
    """Return the grammar of a shipped task."""
    if task == "language_table":
        return GRAMMAR
    return load_configured(
        "tasks", resolve_uri(f"package://robocontrast_ros/config/tasks/{task}.yaml")
    ).language.grammar


def by_lark(grammar: Grammar, text: str) -> Derivation:
    """Return what Lark finds."""
    return tuple(grammar._alternatives(grammar._parser.parse(normal(text))))


@pytest.mark.parametrize("task", ["language_table", "studio_apartment", "tabletop"])
def test_what_is_read_is_what_lark_finds(task):
    grammar, rng = grammar_of(task), np.random.default_rng(0)
    for _ in range(SENTENCES):
        text, said = grammar.say(lambda alternative: True, drawn(rng))
        assert grammar.read(text) == by_lark(grammar, text) == said


def test_of_several_derivations_it_is_larks():
    grammar = Grammar(
        {"sentence": [Phrase("{a} {b}")], "a": [Phrase("x"), Phrase("x x")], "b": [Phrase("x x"), Phrase("x")]}
    )
    assert grammar.read("x x x") == by_lark(grammar, "x x x")


@pytest.mark.parametrize("text", ["", "push", "push the red", "push the red star to the blue cube now", "star red"])
def test_what_has_none_is_refused_with_what_lark_expected(text):
    with pytest.raises(ValueError, match="the grammar does not know this sentence"):
        GRAMMAR.read(text)
