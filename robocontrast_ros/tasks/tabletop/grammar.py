"""The rules of the instructions about things on the table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from robocontrast_ros.objects import ObjectModel
from robocontrast_ros.tasks.grammar import Alternative, Derivation, Grammar, Phrase, meaning, synonyms
from robocontrast_ros.tasks.tabletop.referring import MIDDLE, PLACES, Expression, nouns

ROLES = ("target", "reference")
PARTS = ("noun", "colour", "size", "place")
"""Parts of a referring expression."""

_SIZES = {"small": ("small", "little"), "large": ("large", "big")}

# The frame is that of the robot, which is addressed.
_PLACES = {
    "left": ("on your left", "on your left side"),
    "right": ("on your right", "on your right side"),
    "nearest": ("nearest to you", "closest to you"),
    "farthest": ("farthest from you", "furthest from you"),
    MIDDLE: ("in the middle",),
}

SENTENCES = {
    "pick": ("{pick_verb} {target}", "pick {target} up", "lift {target} up"),
    "move_near": ("{move_verb} {target} {near} {reference}",),
    "stack": ("stack {target} {upon} {reference}", "make a stack with {target} {upon} {reference}"),
    "put_on": ("{put_verb} {target} {onto} {reference}",),
    "put_in": ("{put_in_verb} {target} {into} {reference}",),
}

WORDS = {
    "pick_verb": ("pick up", "lift", "grasp", "take", "grab"),
    "move_verb": ("move", "bring", "put", "place"),
    "near": ("near", "next to", "close to", "beside"),
    "upon": ("on", "on top of"),
    "put_verb": ("put", "place", "set"),
    "onto": ("on", "onto", "on top of"),
    "put_in_verb": ("put", "place", "drop"),
    "into": ("in", "into", "inside"),
}


def sentence_grammar(
    models: Iterable[ObjectModel],
    sentences: Mapping[str, Sequence[str]],
    words: Mapping[str, Sequence[str]],
    places: Sequence[str] = PLACES,
) -> Grammar:
    """Return the grammar of sentences about things of these models.

    Args:
        models: the things; those that are fixed have no name.
        sentences: family -> its sentences.
        words: rule of the sentences -> its words.
        places: those that things are told apart by.
    """
    movable = [model for model in models if not model.fixed]
    rules: dict[str, list[Phrase]] = {
        "sentence": [p for family, ways in sentences.items() for p in synonyms(*ways, family=family)]
    }
    rules |= {rule: synonyms(*ways) for rule, ways in words.items()}
    called = sorted({noun for model in movable for noun in nouns(model)})
    colours = sorted({model.colour for model in movable} - {""})
    for role in ROLES:
        rules |= _expression_rules(role, called, colours, places)
    return Grammar(rules)


def features(family: str, said: Mapping[str, Expression]) -> dict[str, Any]:
    """Return the meaning of a sentence of a family with an expression for each role."""
    parts = {f"{role}_{part}": getattr(expression, part) for role, expression in said.items() for part in PARTS}
    return {"family": family, **parts}


def understood(derivation: Derivation) -> tuple[str, dict[str, Expression]]:
    """Return the family of a sentence, and its expression for each role that it has."""
    found = meaning(derivation)
    said = {role: Expression(*(found[f"{role}_{part}"] for part in PARTS)) for role in ROLES if f"{role}_noun" in found}
    return found["family"], said


def words_of(derivation: Derivation, role: str) -> str:
    """Return the words of the expression for a role in a sentence."""
    rules = {alternative.rule: alternative for alternative in derivation}

    def expanded(rule: str) -> str:
        return " ".join(expanded(s[1:-1]) if s.startswith("{") else s for s in rules[rule].symbols)

    return expanded(role)


def in_role(derivation: Derivation, said_as: str, role: str) -> list[Alternative]:
    """Return the alternatives of the expression for one role, converted to those of another."""
    own = (a for a in derivation if a.rule.startswith(said_as))
    return [replace(a, rule=role + a.rule.removeprefix(said_as)) for a in own]


def _expression_rules(
    role: str, called: Iterable[str], colours: Iterable[str], places: Sequence[str]
) -> dict[str, list[Phrase]]:
    """Return the rules of referring expressions for a role: size, colour, noun, place."""
    noun, colour, size, place = (f"{role}_{part}" for part in PARTS)
    rules = {
        role: [Phrase(f"{{{role}_thing}}", {place: ""}), Phrase(f"{{{role}_thing}} {{{place}}}")],
        f"{role}_thing": [
            Phrase(f"the {{{noun}}}", {size: "", colour: ""}),
            Phrase(f"the {{{colour}}} {{{noun}}}", {size: ""}),
            Phrase(f"the {{{size}}} {{{noun}}}", {colour: ""}),
            Phrase(f"the {{{size}}} {{{colour}}} {{{noun}}}"),
        ],
        noun: [Phrase(word, {noun: word}) for word in called],
        colour: [Phrase(word, {colour: word}) for word in colours],
        size: [p for value, words in _SIZES.items() for p in synonyms(*words, **{size: value})],
        place: [p for value in places for p in synonyms(*_PLACES[value], **{place: value})],
    }
    # A rule without alternatives is left out: without colours, nothing refers to one.
    if not rules[colour]:
        del rules[colour]
        rules[f"{role}_thing"] = [p for p in rules[f"{role}_thing"] if f"{{{colour}}}" not in p.words]
    return rules
