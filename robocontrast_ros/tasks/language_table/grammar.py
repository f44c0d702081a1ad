"""The grammar of the instructions: one set of rules that generates sentences and parses them.

A rule is a list of alternatives. An alternative is a sequence of words and of other rules' names in
braces, together with its meaning: values of some features. Generation chooses, rule by rule, among the
alternatives that agree with a meaning; parsing uses the same rules (Lark, Earley) and collects the
meanings of the alternatives found. The words are the public environment's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedEOF

from robocontrast_ros.domain import Instruction
from robocontrast_ros.tasks.language_table.blocks import ALL_REFERENCES, Reference
from robocontrast_ros.tasks.language_table.goals import split_direction

Meaning = dict[str, str | Reference]

ROLES = ("source", "target")


@dataclass(frozen=True)
class Alternative:
    """One way to expand a rule.

    Attributes:
        rule: the rule it belongs to.
        index: position among the rule's alternatives; with the rule it is a symbol of the parser.
        kind: what stays when the meaning changes: the position among the synonyms of one meaning, or the
            kind of a referring expression.
        symbols: words, and names of rules in braces, in order.
        means: feature -> value.
    """

    rule: str
    index: int
    kind: str
    symbols: tuple[str, ...]
    means: Mapping[str, str | Reference] = field(hash=False)

    @property
    def children(self) -> tuple[str, ...]:
        """The names of the rules in it."""
        return tuple(s[1:-1] for s in self.symbols if s.startswith("{"))


Derivation = tuple[Alternative, ...]
"""The alternatives of a sentence, ordered by their first words; each rule occurs at most once."""

Choose = Callable[[Sequence[Alternative]], Alternative]

_SLIGHTLY = ("slightly", "a bit", "a little", "a little bit", "somewhat")

# rule -> meaning as (feature, value) pairs -> synonyms
_RULES: dict[str, list[tuple[dict[str, str], tuple[str, ...]]]] = {
    "sentence": [
        ({"family": "block_to_block"}, ("{push_verb} {source} {preposition} {target}",)),
        ({"family": "block_to_absolute_location"}, ("{push_verb} {source} {place}",)),
        (
            {"family": "block_to_relative_location", "distance": "far"},
            ("{motion_verb} {source} {course}",),
        ),
        (
            {"family": "block_to_relative_location", "distance": "near"},
            (
                "slightly {motion_verb} {source} {course}",
                "{motion_verb} {source} {slightly} {course}",
                "{motion_verb} {source} {course} {slightly}",
            ),
        ),
        ({"family": "block_to_block_relative_location"}, ("{push_verb} {source} {side} {target}",)),
        (
            {"family": "separate_blocks"},
            (
                "pull the {source} apart from the {target}",
                "move the {source} away from the {target}",
                "separate the {source} from the {target}",
            ),
        ),
    ],
    "push_verb": [({}, ("push the", "move the", "slide the", "put the"))],
    "motion_verb": [({}, ("move the", "push the", "slide the"))],
    "preposition": [({}, ("to the", "towards the", "close to the", "next to the"))],
    "slightly": [({}, _SLIGHTLY)],
    "place": [
        ({"location": "top"}, ("to the top side", "to the top", "towards your base")),
        (
            {"location": "top_left"},
            (
                "to the top left of the board",
                "to the top left",
                "to the upper left corner",
                "to the top left corner",
            ),
        ),
        (
            {"location": "top_right"},
            (
                "to the top right of the board",
                "to the top right",
                "to the upper right corner",
                "to the top right corner",
            ),
        ),
        (
            {"location": "center"},
            ("to the middle of the board", "to the center of the board", "to the center", "to the middle"),
        ),
        (
            {"location": "center_left"},
            ("to the left side of the board", "to the center left", "to the left side"),
        ),
        (
            {"location": "center_right"},
            ("to the right side of the board", "to the center right", "to the right side"),
        ),
        ({"location": "bottom"}, ("to the bottom side", "to the bottom")),
        (
            {"location": "bottom_left"},
            (
                "to the bottom left of the board",
                "to the bottom left",
                "to the lower left corner",
                "to the bottom left corner",
            ),
        ),
        (
            {"location": "bottom_right"},
            (
                "to the bottom right of the board",
                "to the bottom right",
                "to the lower right corner",
                "to the bottom right corner",
            ),
        ),
    ],
    "course": [
        ({"horizontal": ""}, ("{vertical}",)),
        ({"vertical": ""}, ("{horizontal}",)),
        (
            {},
            (
                "{vertical} and {horizontal}",
                "{vertical} and then {horizontal}",
                "diagonally {vertical} and {horizontal}",
                "{vertical} and {horizontal} diagonally",
            ),
        ),
    ],
    "vertical": [({"vertical": "up"}, ("up", "upwards")), ({"vertical": "down"}, ("down", "downwards"))],
    "horizontal": [
        ({"horizontal": "left"}, ("to the left", "left")),
        ({"horizontal": "right"}, ("to the right", "right")),
    ],
    "side": [
        (
            {"vertical": "up", "horizontal": ""},
            ("above the", "to the top side of the", "to the top of the"),
        ),
        (
            {"vertical": "down", "horizontal": ""},
            ("below the", "to the bottom side of the", "to the bottom of the"),
        ),
        (
            {"vertical": "", "horizontal": "left"},
            ("just left of the", "to the left of the", "left of the", "to the left side of the"),
        ),
        (
            {"vertical": "", "horizontal": "right"},
            ("just right of the", "to the right of the", "right of the", "to the right side of the"),
        ),
        *(
            (
                {"vertical": vertical, "horizontal": horizontal},
                (
                    f"to the {edge} {horizontal} side of the",
                    f"to the {edge} {horizontal} of the",
                    f"diagonally {vertical} and to the {horizontal} of the",
                ),
            )
            for vertical, edge in (("up", "top"), ("down", "bottom"))
            for horizontal in ("left", "right")
        ),
    ],
}


@cache
def rules() -> dict[str, tuple[Alternative, ...]]:
    """Return every rule with its alternatives."""
    table: dict[str, list[Alternative]] = {}
    for rule, groups in _RULES.items():
        table[rule] = []
        for means, synonyms in groups:
            for position, words in enumerate(synonyms):
                table[rule].append(Alternative(rule, len(table[rule]), str(position), tuple(words.split()), means))
    for role in ROLES:
        table[role] = [
            Alternative(role, index, _reference_kind(reference), tuple(reference.words.split()), {role: reference})
            for index, reference in enumerate(ALL_REFERENCES)
        ]
    return {rule: tuple(alternatives) for rule, alternatives in table.items()}


def say(meaning: Meaning, blocks: Iterable[str], choose: Choose) -> tuple[str, Derivation]:
    """Put a meaning into words.

    Args:
        meaning: feature -> value; ``source`` and ``target`` are names of blocks.
        blocks: on the table; expressions must be unambiguous among them.
        choose: picks one where several alternatives fit.

    Raises:
        ValueError: there are no words for it.
    """
    words: list[str] = []
    chosen: list[Alternative] = []
    _expand("sentence", meaning, tuple(blocks), choose, words, chosen)
    return " ".join(words), tuple(chosen)


def say_every_way(meaning: Meaning, blocks: Iterable[str]) -> Iterator[str]:
    """Enumerate every sentence that means the same."""
    table, on_table = rules(), tuple(blocks)

    def expand(symbols: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        if not symbols:
            yield ()
            return
        head, rest = symbols[0], symbols[1:]
        if not head.startswith("{"):
            heads: Iterable[tuple[str, ...]] = ((head,),)
        else:
            heads = (w for a in _fitting(table[head[1:-1]], meaning, on_table) for w in expand(a.symbols))
        for words in heads:
            for tail in expand(rest):
                yield words + tail

    for words in expand(("{sentence}",)):
        yield " ".join(words)


def read(text: str) -> Derivation:
    """Parse a sentence. Case, repeated blanks and a final full stop do not matter.

    Raises:
        ValueError: the grammar knows no such sentence; the message names the first word that does
            not fit and what was expected instead.
    """
    plain = normal(text)
    try:
        tree = _parser().parse(plain)
    except (UnexpectedCharacters, UnexpectedEOF) as error:
        raise ValueError(_complaint(plain, error)) from None
    return tuple(_alternatives(tree))


def normal(text: str) -> str:
    """Return the text in lower case, with single blanks and without a final full stop."""
    return " ".join(text.lower().split()).removesuffix(".")


def meaning_of(derivation: Derivation) -> Meaning:
    """Return the meaning of a sentence; blocks as the expressions that refer to them."""
    meaning: Meaning = {}
    for alternative in derivation:
        meaning.update(alternative.means)
    return meaning


def keep_wording(derivation: Derivation, otherwise: Choose) -> Choose:
    """Return a choice that keeps the wording of a sentence, and calls ``otherwise`` where it cannot.

    A block keeps its expression, in whatever role; everything else keeps its kind of words.
    """
    kinds = {alternative.rule: alternative.kind for alternative in derivation}
    spoken = {a.symbols for a in derivation if a.rule in ROLES}

    def choose(fitting: Sequence[Alternative]) -> Alternative:
        same = [a for a in fitting if a.rule in ROLES and a.symbols in spoken]
        same = same or [a for a in fitting if a.kind == kinds.get(a.rule)]
        return same[0] if same else otherwise(fitting)

    return choose


def change_wording(derivation: Derivation, otherwise: Choose) -> Choose:
    """Return a choice that takes other words than those of a sentence where there are any, by ``otherwise``."""
    said = {(alternative.rule, alternative.kind) for alternative in derivation}

    def choose(fitting: Sequence[Alternative]) -> Alternative:
        return otherwise([a for a in fitting if (a.rule, a.kind) not in said] or fitting)

    return choose


def to_meaning(instruction: Instruction) -> Meaning:
    """Return an instruction's structure as the grammar's features."""
    meaning: Meaning = {"family": instruction.family, **dict(instruction.arguments)}
    direction = meaning.pop("direction", None)
    if direction is not None:
        meaning["vertical"], meaning["horizontal"] = split_direction(str(direction))
    return meaning


def to_instruction(text: str, derivation: Derivation, blocks: Iterable[str]) -> Instruction:
    """Return the instruction of a sentence when these blocks are on the table.

    Raises:
        ValueError: an expression fits none or several of the blocks, or both mean the same block.
    """
    on_table = tuple(blocks)
    meaning = meaning_of(derivation)
    arguments: dict[str, str] = {}
    for feature, value in meaning.items():
        arguments[feature] = value.resolve(on_table) if isinstance(value, Reference) else value
    family = arguments.pop("family")
    vertical, horizontal = arguments.pop("vertical", ""), arguments.pop("horizontal", "")
    if vertical or horizontal:
        arguments["direction"] = "_".join(filter(None, (vertical, horizontal)))
    if arguments["source"] == arguments.get("target"):
        raise ValueError(f"'{text}': source and target are both the {arguments['source'].replace('_', ' ')}")
    return Instruction(text, family, tuple(arguments.items()))


def _expand(
    rule: str,
    meaning: Meaning,
    blocks: tuple[str, ...],
    choose: Choose,
    words: list[str],
    chosen: list[Alternative],
) -> None:
    fitting = _fitting(rules()[rule], meaning, blocks)
    if not fitting:
        said = {k: v for k, v in meaning.items() if v}
        raise ValueError(f"no words for {said} with {', '.join(blocks)} on the table (rule '{rule}')")
    alternative = fitting[0] if len(fitting) == 1 else choose(fitting)
    chosen.append(alternative)
    for symbol in alternative.symbols:
        if symbol.startswith("{"):
            _expand(symbol[1:-1], meaning, blocks, choose, words, chosen)
        else:
            words.append(symbol)


def _fitting(alternatives: Iterable[Alternative], meaning: Meaning, blocks: tuple[str, ...]) -> list[Alternative]:
    return [a for a in alternatives if _agrees(a, meaning, blocks)]


def _agrees(alternative: Alternative, meaning: Meaning, blocks: tuple[str, ...]) -> bool:
    for feature, value in alternative.means.items():
        wanted = meaning.get(feature)
        if isinstance(value, Reference):
            if value.among(blocks) != (wanted,):
                return False
        elif value != wanted:
            return False
    return all(_fitting(rules()[child], meaning, blocks) for child in alternative.children)


def _reference_kind(reference: Reference) -> str:
    return "+".join(kind for kind in ("colour", "shape") if getattr(reference, kind))


@cache
def _parser() -> Lark:
    """Return Lark's parser of the rules; every word is a terminal, every alternative an alias."""
    vocabulary: dict[str, str] = {}
    lines = []
    for rule, alternatives in rules().items():
        expansions = []
        for alternative in alternatives:
            symbols = []
            for symbol in alternative.symbols:
                if symbol.startswith("{"):
                    symbols.append(symbol[1:-1])
                else:
                    symbols.append(vocabulary.setdefault(symbol, f"WORD_{symbol.upper()}"))
            expansions.append(f"{' '.join(symbols)} -> {rule}__{alternative.index}")
        lines.append(f"{rule}: " + "\n    | ".join(expansions))
    lines += [f"{name}: /{re.escape(word)}(?![^ ])/" for word, name in vocabulary.items()]
    lines.append('%ignore " "')
    return Lark("\n".join(lines), start="sentence", parser="earley", lexer="dynamic", ambiguity="resolve")


def _alternatives(tree: Tree[Token]) -> Iterator[Alternative]:
    rule, _, index = str(tree.data).rpartition("__")
    yield rules()[rule][int(index)]
    for child in tree.children:
        if isinstance(child, Tree):
            yield from _alternatives(child)


def _complaint(text: str, error: UnexpectedCharacters | UnexpectedEOF) -> str:
    """Return where a sentence leaves the grammar, and what was expected there if that is a short list."""
    if isinstance(error, UnexpectedEOF):
        found, expected = "nothing more", error.expected
    else:
        found, expected = f"'{text[error.pos_in_stream :].split(' ')[0]}'", error.allowed
    words = sorted({name.removeprefix("WORD_").lower() for name in expected or ()})
    hint = f", expected {' or '.join(words)}" if 0 < len(words) <= 12 else ""
    return f"instruction '{text}': the grammar does not know this sentence; got {found}{hint}"
