"""One engine for the grammars of instructions: a set of rules generates sentences and parses them.

A rule is a list of alternatives. An alternative is a sequence of words and of other rules' names in braces, together
with its meaning: values of some features. Generation chooses, rule by rule, among the alternatives that fit the
meaning; parsing uses the same rules and gives the alternatives found: those of a sentence's one derivation, else those
that Lark (Earley) finds, or the words that it expected. Case and punctuation do not matter. Each rule occurs at most
once in a sentence.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from lark import Lark, Token, Tree
    from lark.exceptions import UnexpectedCharacters, UnexpectedEOF

START = "sentence"
"""The rule of whole sentences."""

_PUNCTUATION = str.maketrans(dict.fromkeys(",.;:!", " "))
_BEFORE_MARK = re.compile(r" (?=[,.;:!])")
_SYMBOL = re.compile(r"{\w+}|[^\s{}]+")
_WORD = re.compile(r"[^\s,.;:!]+")
_HINTS = 12
_KEPT_SENTENCES = 256


@dataclass(frozen=True)
class Phrase:
    """One way to say something, before it has its place among a rule's alternatives.

    Attributes:
        words: words, and names of rules in braces.
        means: feature -> value.
        kind: the way of saying, equal for different meanings said alike; it stays when the wording is kept.
    """

    words: str
    means: Mapping[str, Any] = field(default_factory=dict)
    kind: str = ""


@dataclass(frozen=True)
class Alternative:
    """One way to expand a rule.

    Attributes:
        rule: the rule of the alternative.
        index: position among the rule's alternatives; with the rule it is a symbol of the parser.
        kind: see ``Phrase``.
        symbols: words, and names of rules in braces, in order.
        means: feature -> value.
    """

    rule: str
    index: int
    kind: str
    symbols: tuple[str, ...]
    means: Mapping[str, Any] = field(hash=False)

    @property
    def words(self) -> str:
        """The symbols as a text."""
        return _text(self.symbols)

    @cached_property
    def children(self) -> tuple[str, ...]:
        """The names of the rules in it."""
        return tuple(s[1:-1] for s in self.symbols if s.startswith("{"))


Derivation = tuple[Alternative, ...]
"""The alternatives of a sentence, ordered by their first words; each rule occurs at most once."""

Choose = Callable[[Sequence[Alternative]], Alternative]
"""Picks one of the alternatives that fit."""

Fits = Callable[[Alternative], bool]
"""Returns whether an alternative fits the meaning."""


def synonyms(*words: str, **means: str) -> list[Phrase]:
    """Return phrases of one meaning; the kind of each is its position among them."""
    return [Phrase(w, means, str(position)) for position, w in enumerate(words)]


def meaning(derivation: Iterable[Alternative]) -> dict[str, Any]:
    """Return the meaning of a sentence: feature -> value."""
    found: dict[str, Any] = {}
    for alternative in derivation:
        found.update(alternative.means)
    return found


def means(wanted: Mapping[str, Any]) -> Fits:
    """Return a test for a meaning: every feature of an alternative has the wanted value."""
    return lambda alternative: alternative.means.items() <= wanted.items()


def drawn(rng: np.random.Generator) -> Choose:
    """Return a function that chooses uniformly."""
    return lambda fitting: fitting[int(rng.integers(len(fitting)))]


def first(fitting: Sequence[Alternative]) -> Alternative:
    """Return the first of the alternatives: the choice of the one sentence that represents all of its meaning."""
    return fitting[0]


def keep_wording(before: Iterable[Alternative], roles: Collection[str], otherwise: Choose) -> Choose:
    """Return a choice that keeps the wording of a sentence, and calls ``otherwise`` if it cannot.

    A thing named in one of the rules ``roles`` keeps its expression, in whatever role; everything else keeps its kind.
    """
    said = tuple(before)
    kinds = {alternative.rule: alternative.kind for alternative in said}
    spoken = {a.symbols for a in said if a.rule in roles}

    def choose(fitting: Sequence[Alternative]) -> Alternative:
        same = [a for a in fitting if a.rule in roles and a.symbols in spoken]
        same = same or [a for a in fitting if a.kind == kinds.get(a.rule)]
        return same[0] if same else otherwise(fitting)

    return choose


def change_wording(before: Derivation, otherwise: Choose) -> Choose:
    """Return a choice that takes other words than those of a sentence if there are any, by ``otherwise``."""
    said = {(alternative.rule, alternative.kind) for alternative in before}

    def choose(fitting: Sequence[Alternative]) -> Alternative:
        return otherwise([a for a in fitting if (a.rule, a.kind) not in said] or fitting)

    return choose


class Grammar:
    """Generator and parser of sentences.

    Attributes:
        rules: every rule with its alternatives.
    """

    def __init__(self, rules: Mapping[str, Iterable[Phrase]], hint: str = "") -> None:
        """Take the rules, ``sentence`` among them, and a text added to the error for an unknown sentence."""
        self.rules = {
            rule: tuple(
                Alternative(rule, index, phrase.kind, tuple(_SYMBOL.findall(phrase.words)), phrase.means)
                for index, phrase in enumerate(phrases)
            )
            for rule, phrases in rules.items()
        }
        self._hint = hint
        self._read = lru_cache(_KEPT_SENTENCES)(self._derivation)

    def say(self, fits: Fits, choose: Choose) -> tuple[str, Derivation]:
        """Put something into words.

        Args:
            fits: returns whether an alternative means it.
            choose: picks one if several fit.

        Raises:
            ValueError: the grammar has no words for it.
        """
        options = self._options(fits)
        chosen: list[Alternative] = []

        def expand(rule: str) -> Iterator[str]:
            fitting = options(rule)
            if not fitting:
                raise ValueError(f"there are no words for it (rule '{rule}')")
            alternative = fitting[0] if len(fitting) == 1 else choose(fitting)
            chosen.append(alternative)
            for symbol in alternative.symbols:
                if symbol.startswith("{"):
                    yield from expand(symbol[1:-1])
                else:
                    yield symbol

        return _text(expand(START)), tuple(chosen)

    def say_every_way(self, fits: Fits) -> Iterator[str]:
        """Enumerate every sentence that means the same."""
        options = self._options(fits)

        def expand(symbols: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
            if not symbols:
                yield ()
                return
            head, rest = symbols[0], symbols[1:]
            if not head.startswith("{"):
                heads: Iterable[tuple[str, ...]] = ((head,),)
            else:
                heads = (w for a in options(head[1:-1]) for w in expand(a.symbols))
            for words in heads:
                for tail in expand(rest):
                    yield words + tail

        for words in expand((f"{{{START}}}",)):
            yield _text(words)

    def read(self, text: str) -> Derivation:
        """Parse a sentence.

        Raises:
            ValueError: the grammar knows no such sentence; the message names the first word that does not fit and the
                expected ones.
        """
        return self._read(text)

    def parts(self, text: str, rules: Collection[str]) -> tuple[tuple[str, str], ...]:
        """Take a sentence apart.

        Args:
            text: the sentence; its joined parts are equal to it.
            rules: those whose words are a part of their own.

        Returns:
            The words of each part and its rule; parts of no such rule have an empty rule, and the blanks and marks.

        Raises:
            ValueError: as ``read``.
        """
        said = {alternative.rule: alternative for alternative in self.read(text)}

        def owners(rule: str, owner: str) -> Iterator[str]:
            for term in _terms(said[rule]):
                if term.startswith("{"):
                    yield from owners(term[1:-1], owner or (term[1:-1] if term[1:-1] in rules else ""))
                else:
                    yield owner

        parts: list[tuple[str, str]] = []
        end = 0
        spans = (match.span() for match in _WORD.finditer(text))
        for owner, group in itertools.groupby(zip(owners(START, ""), spans, strict=True), key=lambda pair: pair[0]):
            places = [span for _, span in group]
            if owner:
                parts += [(text[end : places[0][0]], ""), (text[places[0][0] : places[-1][1]], owner)]
                end = places[-1][1]
        return tuple((words, rule) for words, rule in (*parts, (text[end:], "")) if words)

    def _derivation(self, text: str) -> Derivation:
        from lark.exceptions import UnexpectedCharacters, UnexpectedEOF

        plain = normal(text)
        if (found := self._only_derivation(plain.split())) is not None:
            return found
        try:
            tree = self._parser.parse(plain)
        except (UnexpectedCharacters, UnexpectedEOF) as error:
            raise ValueError(self._complaint(text, plain, error)) from None
        return tuple(self._alternatives(tree))

    def _only_derivation(self, words: Sequence[str]) -> Derivation | None:
        """Return the derivation of a sentence that has exactly one, in a tenth of the parser's time."""

        @cache
        def expansions(rule: str, begin: int) -> list[tuple[int, Derivation]]:
            """Return every derivation of a rule from a word on, and the word after it."""
            return [(end, (own, *rest)) for own, terms in self._expanded[rule] for end, rest in follow(terms, begin)]

        def follow(terms: tuple[str, ...], begin: int) -> Iterator[tuple[int, Derivation]]:
            if not terms:
                yield begin, ()
            elif terms[0].startswith("{"):
                for middle, first in expansions(terms[0][1:-1], begin):
                    yield from ((end, first + rest) for end, rest in follow(terms[1:], middle))
            elif begin < len(words) and words[begin] == terms[0]:
                yield from follow(terms[1:], begin + 1)

        whole = [derivation for end, derivation in expansions(START, 0) if end == len(words)]
        return whole[0] if len(whole) == 1 else None

    @cached_property
    def _expanded(self) -> dict[str, list[tuple[Alternative, tuple[str, ...]]]]:
        """Rule -> its alternatives, with their symbols as the parser reads them."""
        return {rule: [(a, tuple(_terms(a))) for a in alternatives] for rule, alternatives in self.rules.items()}

    def _options(self, fits: Fits) -> Callable[[str], list[Alternative]]:
        """Return a function of a rule to those of its alternatives that fit and have words for all rules in them."""

        @cache
        def options(rule: str) -> list[Alternative]:
            return [a for a in self.rules[rule] if fits(a) and all(options(child) for child in a.children)]

        return options

    @cached_property
    def _spelling(self) -> dict[str, str]:
        """Name of a terminal -> word."""
        words = dict.fromkeys(
            word for alternatives in self.rules.values() for a in alternatives for word in _terms(a) if word[0] != "{"
        )
        return {f"WORD_{number}": word for number, word in enumerate(words)}

    @cached_property
    def _parser(self) -> Lark:
        """Lark's parser of the rules; every word is a terminal, every alternative an alias."""
        from lark import Lark

        names = {word: name for name, word in self._spelling.items()}
        lines = []
        for rule, alternatives in self.rules.items():
            expansions = (
                f"{' '.join(t[1:-1] if t[0] == '{' else names[t] for t in _terms(a))} -> {rule}__{a.index}"
                for a in alternatives
            )
            lines.append(f"{rule}: " + "\n    | ".join(expansions))
        lines += [f"{name}: /{re.escape(word)}(?![^ ])/" for name, word in self._spelling.items()]
        lines.append('%ignore " "')
        return Lark("\n".join(lines), start=START, parser="earley", lexer="dynamic", ambiguity="resolve")

    def _alternatives(self, tree: Tree[Token]) -> Iterator[Alternative]:
        from lark import Tree

        rule, _, index = str(tree.data).rpartition("__")
        yield self.rules[rule][int(index)]
        for child in tree.children:
            if isinstance(child, Tree):
                yield from self._alternatives(child)

    def _complaint(self, text: str, plain: str, error: UnexpectedCharacters | UnexpectedEOF) -> str:
        """Return the place where a sentence leaves the grammar, and the words expected there if they are few."""
        from lark.exceptions import UnexpectedEOF

        if isinstance(error, UnexpectedEOF):
            found, expected = "nothing more", error.expected
        else:
            found, expected = f"'{plain[error.pos_in_stream :].split(' ')[0]}'", error.allowed
        words = sorted({self._spelling[name] for name in expected or () if name in self._spelling})
        hint = f", expected {' or '.join(words)}" if 0 < len(words) <= _HINTS else ""
        return f"instruction '{text}': the grammar does not know this sentence; got {found}{hint}{self._hint}"


def normal(text: str) -> str:
    """Return the text in lower case, with single blanks and without punctuation."""
    return " ".join(text.lower().translate(_PUNCTUATION).split())


def _terms(alternative: Alternative) -> Iterator[str]:
    """Yield the symbols as the parser reads them."""
    for symbol in alternative.symbols:
        if symbol.startswith("{"):
            yield symbol
        else:
            yield from normal(symbol).split()


def _text(symbols: Iterable[str]) -> str:
    return _BEFORE_MARK.sub("", " ".join(symbols))
