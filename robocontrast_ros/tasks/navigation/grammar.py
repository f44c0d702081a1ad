"""The rules of instructions to visit two places in order: sentence forms, synonyms, nouns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from robocontrast_ros.tasks.grammar import Fits, Grammar, Phrase, means, synonyms

FIRST, LAST = "first", "last"
ROLES = (FIRST, LAST)
"""The two places of an instruction, in the order in which the robot visits them."""

_RULES: dict[str, tuple[str, ...]] = {
    "sentence": (
        "go pass by {first}, keep going and {halt} when you reach {last}",
        "{go} past {first}, then {halt} at {last}",
        "{go} {up_to} {first} and then {continue} {on_to} {last}",
        "first {visit} {first}, then {continue} {up_to} {last} and {halt} there",
        "{go} {up_to} {last}, but pass by {first} on your way",
        "{halt} at {last} after {passing} {first}",
        "once you have been {near} {first}, {go} {up_to} {last}",
        "on your way {up_to} {last}, {visit} {first}",
        "starting here, {visit} {first}, and from there {go} {up_to} {last}",
    ),
    "go": ("go", "walk", "move", "drive", "head"),
    "continue": ("go on", "continue", "proceed", "carry on"),
    "up_to": ("to", "over to", "up to"),
    "on_to": ("to", "over to", "up to"),
    "halt": ("stop", "halt", "come to a stop", "wait"),
    "visit": ("pass by", "visit", "swing by", "drop by"),
    "passing": ("passing", "passing by", "visiting", "having been at"),
    "near": ("at", "by", "near", "next to"),
}


def visit_grammar(nouns: Mapping[str, Sequence[str]]) -> Grammar:
    """Return the grammar of place -> nouns, the plain one first."""
    known = ", ".join(sorted(names[0] for names in nouns.values()))
    return Grammar(
        {rule: synonyms(*words) for rule, words in _RULES.items()} | {role: _names(role, nouns) for role in ROLES},
        hint=f". It says which two places to visit in order; known places: {known}",
    )


def visits(first: tuple[str, bool], last: tuple[str, bool]) -> Fits:
    """Return a test for two places, each with whether several objects are meant."""
    return means({FIRST: first, LAST: last})


def plural(noun: str) -> str:
    """Return the regular plural of a noun."""
    return noun + ("es" if noun.endswith(("s", "sh", "ch", "x")) else "s")


def _names(role: str, nouns: Mapping[str, Sequence[str]]) -> list[Phrase]:
    """Return the names of all places; the kind of a name is the place and its position among the place's nouns."""
    return [
        Phrase(f"the {plural(noun) if many else noun}", {role: (place, many)}, f"{place} {index}")
        for place, names in nouns.items()
        for many in (False, True)
        for index, noun in enumerate(names)
    ]
