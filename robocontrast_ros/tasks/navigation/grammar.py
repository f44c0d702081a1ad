"""The grammar of instructions to visit two places in order: sentence forms, synonyms, nouns.

The same rules generate sentences (``say``) and parse them (``read``, by Lark's Earley parser). Case and
punctuation do not matter.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedEOF

FIRST, LAST = "first", "last"
ROLES = (FIRST, LAST)
"""The two places of an instruction, in the order in which the robot visits them."""

_PUNCTUATION = ",.;:!"

# Each rule occurs at most once in a sentence, so that a reading is one choice per rule.
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

Choose = Callable[[str, Sequence[int]], int]
"""Picks one of a rule's alternatives, by index: (rule, indices that fit) -> index."""


@dataclass(frozen=True)
class Reading:
    """The structure of a sentence.

    Attributes:
        choices: rule -> index of the alternative; ``first`` and ``last`` are rules as well.
    """

    choices: Mapping[str, int]


@dataclass(frozen=True)
class Noun:
    """One name of a place.

    Attributes:
        words: with the article.
        place: the model that is meant.
        synonym: position among the place's nouns.
        plural: whether it refers to several objects.
    """

    words: str
    place: str
    synonym: int
    plural: bool


class Grammar:
    """The sentences about the places of one task."""

    def __init__(self, nouns: Mapping[str, Sequence[str]]) -> None:
        """Take place -> nouns, the plain one first."""
        self.nouns = tuple(
            Noun(f"the {plural(noun) if many else noun}", place, index, many)
            for place, names in nouns.items()
            for many in (False, True)
            for index, noun in enumerate(names)
        )
        self._plain = {place: names[0] for place, names in nouns.items()}

    def fitting(self, place: str, many: bool) -> tuple[int, ...]:
        """Return the indices of the nouns of a place, for several objects (``many``) or one."""
        return tuple(i for i, n in enumerate(self.nouns) if n.place == place and n.plural == many)

    def say(self, first: Sequence[int], last: Sequence[int], choose: Choose) -> str:
        """Put two places into words.

        Args:
            first: indices of nouns for the first place.
            last: those for the last one.
            choose: picks one of the alternatives.
        """
        options = {FIRST: first, LAST: last}
        text = self._expand("sentence", options, choose)
        return text[0].upper() + text[1:]

    def say_every_way(self, first: Sequence[int], last: Sequence[int]) -> Iterator[str]:
        """Enumerate every sentence with the same meaning."""
        for form in _RULES["sentence"]:
            rules = _names(form)
            options = [
                [self._words(rule, i) for i in {FIRST: first, LAST: last}.get(rule, range(len(_RULES.get(rule, ()))))]
                for rule in rules
            ]
            for words in itertools.product(*options):
                text = form.format_map(dict(zip(rules, words, strict=True)))
                yield text[0].upper() + text[1:]

    def read(self, text: str) -> Reading:
        """Parse a sentence.

        Raises:
            ValueError: the grammar knows no such sentence; the message names the first word that does not fit,
                what was expected instead, and the known places.
        """
        plain = normal(text)
        try:
            tree = self._parser.parse(plain)
        except (UnexpectedCharacters, UnexpectedEOF) as error:
            raise ValueError(self._complaint(text, plain, error)) from None
        return Reading(dict(_choices(tree)))

    def place(self, reading: Reading, role: str) -> str:
        """Return the place that a sentence names as its first or last one."""
        return self.nouns[reading.choices[role]].place

    def noun(self, reading: Reading, role: str) -> Noun:
        """Return the noun of a sentence's first or last place."""
        return self.nouns[reading.choices[role]]

    def known(self) -> str:
        """Return the plain nouns of all places, for messages."""
        return ", ".join(sorted(self._plain.values()))

    def _words(self, rule: str, index: int) -> str:
        return self.nouns[index].words if rule in ROLES else _RULES[rule][index]

    def _expand(self, rule: str, options: Mapping[str, Sequence[int]], choose: Choose) -> str:
        possible = options.get(rule) or range(len(_RULES[rule]))
        words = self._words(rule, choose(rule, possible))
        return words.format_map({name: self._expand(name, options, choose) for name in _names(words)})

    @cached_property
    def _parser(self) -> Lark:
        """Return Lark's parser of the rules; every word is a terminal, every alternative an alias."""
        vocabulary: dict[str, str] = {}
        rules = {**_RULES, **{role: tuple(noun.words for noun in self.nouns) for role in ROLES}}
        lines = []
        for rule, alternatives in rules.items():
            expansions = []
            for index, alternative in enumerate(alternatives):
                symbols = [
                    word[1:-1] if word.startswith("{") else vocabulary.setdefault(word, f"WORD_{len(vocabulary)}")
                    for word in normal(alternative).split()
                ]
                expansions.append(f"{' '.join(symbols)} -> {rule}__{index}")
            lines.append(f"{rule}: " + "\n    | ".join(expansions))
        lines += [f"{name}: /{re.escape(word)}(?![^ ])/" for word, name in vocabulary.items()]
        lines.append('%ignore " "')
        self._spelling = {name: word for word, name in vocabulary.items()}
        return Lark("\n".join(lines), start="sentence", parser="earley", lexer="dynamic", ambiguity="resolve")

    def _complaint(self, text: str, plain: str, error: UnexpectedCharacters | UnexpectedEOF) -> str:
        if isinstance(error, UnexpectedEOF):
            found, expected = "nothing more", error.expected
        else:
            found, expected = f"'{plain[error.pos_in_stream :].split(' ')[0]}'", error.allowed
        words = sorted({self._spelling[name] for name in expected or () if name in self._spelling})
        hint = f", expected {' or '.join(words)}" if 0 < len(words) <= 12 else ""
        return (
            f"instruction '{text}': the grammar does not know this sentence; got {found}{hint}. It says which "
            f"two places to visit in order; known places: {self.known()}"
        )


def normal(text: str) -> str:
    """Return the text in lower case, with single blanks and without punctuation."""
    return " ".join(text.lower().translate(str.maketrans(_PUNCTUATION, " " * len(_PUNCTUATION))).split())


def plural(noun: str) -> str:
    """Return the regular plural of a noun."""
    return noun + ("es" if noun.endswith(("s", "sh", "ch", "x")) else "s")


def _names(words: str) -> list[str]:
    return re.findall(r"{(\w+)}", words)


def _choices(tree: Tree[Token]) -> Iterator[tuple[str, int]]:
    rule, _, index = str(tree.data).rpartition("__")
    yield rule, int(index)
    for child in tree.children:
        if isinstance(child, Tree):
            yield from _choices(child)
