"""The words that the instructions of a training say of things."""

from __future__ import annotations

from robocontrast_ros.tasks.grammar import Grammar
from robocontrast_ros.tasks.tabletop.grammar import ROLES


def object_words(grammar: Grammar) -> tuple[str, ...]:
    """Return all nouns, colours and sizes of a grammar's instructions about things, sorted; some have several words."""
    rules = (f"{role}_{part}" for role in ROLES for part in ("noun", "colour", "size"))
    ways = (alternative for rule in rules for alternative in grammar.rules.get(rule, ()))
    return tuple(sorted({" ".join(way.symbols) for way in ways}))
