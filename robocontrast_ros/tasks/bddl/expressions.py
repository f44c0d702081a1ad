"""S-expressions: words and brackets with comments, read in one pass; every error has a line and a column."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from robocontrast_ros.configuration import ConfigurationError

_TOKEN = re.compile(r"[()]|;[^\n]*|[^\s();]+")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


class Symbol(NamedTuple):
    """A word.

    Attributes:
        text: its characters, in the case that they have in the file.
        at: offset of its first character in the text.
    """

    text: str
    at: int


class Group(NamedTuple):
    """What stands between two brackets.

    Attributes:
        items: words and groups, in their order.
        at: offset of the opening bracket in the text.
        end: offset behind the closing bracket.
    """

    items: tuple[Node, ...]
    at: int
    end: int


Node = Symbol | Group


@dataclass(frozen=True)
class Text:
    """A text of s-expressions, which knows where it is from.

    A ``;`` begins a comment, which ends with the line. Quotes are characters of words.

    Attributes:
        source: the file, for errors.
        content: the characters.
    """

    source: str
    content: str

    @classmethod
    def of_file(cls, path: Path) -> Text:
        """Return the text of a file.

        Raises:
            ConfigurationError: the file cannot be read, or is not UTF-8.
        """
        try:
            return cls(str(path), path.read_text(encoding="utf-8-sig"))
        except OSError as error:
            raise ConfigurationError(str(path), "", error.strerror, "a readable file", "Check the path.") from None
        except UnicodeDecodeError as error:
            got = f"byte {error.start + 1}, which is not UTF-8"
            raise ConfigurationError(str(path), "", got, "UTF-8 text") from None

    def parse(self) -> Group:
        """Return the one expression of the text.

        Raises:
            ConfigurationError: a bracket has no counterpart, or the text has no expression, or more than one.
        """
        around: list[tuple[list[Node], int]] = []
        items: list[Node] = []
        for match in _TOKEN.finditer(self.content):
            token, at = match.group(), match.start()
            if token == "(":
                around.append((items, at))
                items = []
            elif token == ")":
                if not around:
                    raise self.error(at, "", ")", "a ( before each )", "Take it out, or add its (.")
                group = tuple(items)
                items, start = around.pop()
                items.append(Group(group, start, at + 1))
            elif token[0] != ";":
                items.append(Symbol(token, at))
        if around:
            raise self.error(around[-1][1], "", "( without its )", "a ) for each (", "Close it where it ends.")
        if len(items) == 1 and isinstance(items[0], Group):
            return items[0]
        if not items:
            raise self.error(len(self.content), "", "the end of the text", "one expression in brackets")
        extra = items[0] if isinstance(items[0], Symbol) else items[1]
        raise self.error(extra.at, "", self.shown(extra), "one expression in brackets, and nothing beside it")

    def position(self, at: int) -> tuple[int, int]:
        """Return the line and the column of an offset, both from 1; a tab is one column."""
        return self.content.count("\n", 0, at) + 1, at - self.content.rfind("\n", 0, at)

    def shown(self, node: Node) -> str:
        """Return an expression in one line, without comments."""
        if isinstance(node, Symbol):
            return node.text
        words = (m.group() for m in _TOKEN.finditer(self.content, node.at, node.end))
        line = " ".join(word for word in words if word[0] != ";")
        return line.replace("( ", "(").replace(" )", ")")

    def error(self, at: int, key: str, got: object, expected: str, cure: str = "") -> ConfigurationError:
        """Return the error for what stands at an offset; its source is ``FILE:LINE:COLUMN``."""
        line, column = self.position(at)
        return ConfigurationError(f"{self.source}:{line}:{column}", key, got, expected, cure)

    def wrong(self, node: Node, key: str, expected: str, cure: str = "") -> ConfigurationError:
        """Return the error for an expression."""
        return self.error(node.at, key, self.shown(node), expected, cure)

    def unknown(self, node: Node, key: str, known: Iterable[str], kind: str) -> ConfigurationError:
        """Return the error for a word that is none of the known ones; ``kind`` is what they are."""
        line, column = self.position(node.at)
        return ConfigurationError.unknown(f"{self.source}:{line}:{column}", key, self.shown(node), known, kind)

    def word(self, node: Node, key: str, expected: str) -> str:
        """Return a word's characters.

        Raises:
            ConfigurationError: the expression is a group.
        """
        if isinstance(node, Symbol):
            return node.text
        raise self.wrong(node, key, expected)

    def group(self, node: Node, key: str, expected: str, cure: str = "") -> tuple[Node, ...]:
        """Return a group's items.

        Raises:
            ConfigurationError: the expression is a word.
        """
        if isinstance(node, Group):
            return node.items
        raise self.wrong(node, key, expected, cure)

    def headed(self, node: Node, key: str, expected: str, cure: str = "") -> tuple[Symbol, tuple[Node, ...]]:
        """Return the word that a group begins with, and its other items.

        Raises:
            ConfigurationError: the expression is a word, or a group that does not begin with one.
        """
        items = self.group(node, key, expected, cure)
        if items and isinstance(items[0], Symbol):
            return items[0], items[1:]
        raise self.wrong(node, key, expected, cure)

    def number(self, node: Node, key: str, expected: str = "a number", cure: str = "") -> float:
        """Return a finite decimal number.

        Raises:
            ConfigurationError: the expression is none; nothing is ever computed.
        """
        if isinstance(node, Symbol) and _NUMBER.fullmatch(node.text) and math.isfinite(value := float(node.text)):
            return value
        raise self.wrong(node, key, expected, cure)

    def typed(self, items: tuple[Node, ...], key: str, what: str) -> Iterator[tuple[Symbol, Symbol]]:
        """Yield the names of a list ``NAME… - TYPE …``, each with its type.

        Args:
            items: the list.
            key: its section, for errors.
            what: kind of the things that are named, for errors.

        Raises:
            ConfigurationError: an item is a group, or a name has no type, or a type no name.
        """
        waiting: list[Symbol] = []
        words = iter(items)
        for node in words:
            if not isinstance(node, Symbol):
                raise self.wrong(node, key, f"names of {what}, each with its type: NAME - TYPE")
            if node.text != "-":
                waiting.append(node)
                continue
            kind = next(words, None)
            if not isinstance(kind, Symbol) or kind.text == "-":
                raise self.wrong(kind or node, key, f"a type behind the -, as in `{_names(waiting)} - TYPE`")
            if not waiting:
                raise self.error(node.at, key, f"- {kind.text}", f"a name of {what} before the -")
            yield from ((name, kind) for name in waiting)
            waiting = []
        if waiting:
            raise self.error(waiting[0].at, key, _names(waiting), f"a type behind the names: {_names(waiting)} - TYPE")


def _names(symbols: list[Symbol]) -> str:
    return " ".join(symbol.text for symbol in symbols) or "NAME"
