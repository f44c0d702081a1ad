"""Strict YAML: every key once, few aliases, limited depth, decimal numbers."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Hashable
from functools import lru_cache
from typing import Any

import yaml
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

from robocontrast_ros.configuration.errors import ConfigurationError

MAX_ALIASES = 20
"""Aliases (``*name``) in a file. A few nested ones can expand beyond any memory."""

MAX_DEPTH = 50
"""Depth of nested mappings and lists: more than parameter files need, less than Python's recursion limit."""

MOST_KEPT = 50_000
"""Greatest length of a text whose content is kept, in characters; a parameter file is shorter."""

READ_DIFFERENTLY = frozenset("\t?!|>\ufeff")
"""Characters that let libyaml accept more than PyYAML or read it differently: `[a?]`, `- !`, a tab after a value."""

_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")


def parse_yaml(text: str, source: str, key: str = "") -> Any:
    """Return the content of a text in YAML.

    Args:
        text: the text.
        source: source of the text, for errors.
        key: its key there, for errors.

    Raises:
        ConfigurationError: the text is not YAML, has a key twice or too many aliases, is too deep, or a value does not
            suit its tag.
    """
    try:
        return _load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "something else"
        expected = error.expected if isinstance(error, _Refused) else "valid YAML"
        raise ConfigurationError(source, key, f"{problem}{where}", expected) from None


def _load(text: str) -> Any:
    """Return a new copy of the content each time; a text that is asked for several times is parsed once."""
    return _parsed(text) if len(text) > MOST_KEPT else pickle.loads(_kept(text))


@lru_cache(maxsize=128)
def _kept(text: str) -> bytes:
    return pickle.dumps(_parsed(text))


def _parsed(text: str) -> Any:
    """Return the content, read by libyaml's parser if it is installed: it is four times as fast.

    PyYAML's own parser reads a text again that libyaml refuses, for its messages, and a text that the two may read
    differently.
    """
    if _FastLoader is not None and not READ_DIFFERENTLY & set(text):
        with contextlib.suppress(yaml.YAMLError):
            return yaml.load(text, _FastLoader)
    return yaml.load(text, _Loader)


class _Refused(yaml.MarkedYAMLError):
    """Valid YAML that a parameter file may not contain."""

    def __init__(self, problem: str, at: yaml.Node | yaml.Event, expected: str) -> None:
        super().__init__(problem=problem, problem_mark=at.start_mark)
        self.expected = expected


class _Strict(Composer, SafeConstructor, Resolver):
    def __init__(self) -> None:
        Composer.__init__(self)
        SafeConstructor.__init__(self)
        Resolver.__init__(self)
        self._aliases = 0
        self._around: list[yaml.Node | None] = []

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node:
        event = self.peek_event()
        self._around.append(parent)
        if len(self._around) > MAX_DEPTH:
            raise _Refused(f"level {MAX_DEPTH + 1}", event, f"no more than {MAX_DEPTH} levels of mappings and lists")
        if isinstance(event, yaml.AliasEvent):
            self._aliases += 1
            if self._aliases > MAX_ALIASES:
                raise _Refused(f"alias {MAX_ALIASES + 1}", event, f"no more than {MAX_ALIASES} aliases")
            if any(node is self.anchors.get(event.anchor) for node in self._around):
                raise _Refused(f"*{event.anchor} within &{event.anchor}", event, "no alias of what it is in")
        node = super().compose_node(parent, index)
        self._around.pop()
        return node

    def construct_mapping(self, node: yaml.Node, deep: bool = False) -> dict[Hashable, Any]:
        # Before the base class merges (`<<`) other mappings into it, which may have the same keys.
        seen = set()
        for key_node, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            named = key_node.tag, key_node.value if isinstance(key_node, yaml.ScalarNode) else id(key_node)
            if named in seen:
                raise _Refused(f"'{key_node.value}' twice", key_node, "each key once")
            seen.add(named)
        return super().construct_mapping(node, deep)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        if node.tag in _NUMBERS and ":" in node.value:
            # PyYAML reads 1:30 as 90. Nobody means that, and other readers of YAML take it for a text.
            raise _Refused(f"'{node.value[:40]}'", node, "a decimal number, or a text in quotes")
        try:
            return super().construct_object(node, deep)
        except (ValueError, LookupError, AttributeError, OverflowError):
            # The constructors of numbers, dates and booleans raise these if the text does not suit the tag.
            kind = node.tag.rpartition(":")[2]
            raise _Refused(f"'{str(node.value)[:40]}'", node, f"what YAML can read as {kind}") from None


class _Loader(_Strict, yaml.SafeLoader):
    def __init__(self, stream: str) -> None:
        yaml.SafeLoader.__init__(self, stream)
        _Strict.__init__(self)


_FastLoader = None
if yaml.__with_libyaml__:
    from yaml.cyaml import CParser

    # If CParser came first, its own composer would be used, which has no limits.
    class _FastLoader(_Strict, CParser):  # type: ignore[no-redef]
        def __init__(self, stream: str) -> None:
            CParser.__init__(self, stream)
            _Strict.__init__(self)
