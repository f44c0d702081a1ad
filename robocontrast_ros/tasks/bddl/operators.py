"""Operators of skills, from a domain file of PDDL: parameters, preconditions and effects.

Read are typing and negative preconditions; a condition is one literal or an ``and`` of literals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.tasks.bddl.expressions import Group, Node, Symbol, Text
from robocontrast_ros.tasks.bddl.problem import Atom

SKILLS = "package://robocontrast_ros/config/kitchen/skills.pddl"
"""The operators of the kitchen."""

REQUIREMENTS = (":strips", ":typing", ":negative-preconditions")
"""What of PDDL a domain file may require."""

SECTIONS = ("domain", ":requirements", ":types", ":predicates", ":action")
OF_AN_ACTION = (":parameters", ":precondition", ":effect")

OBJECT = "object"
"""PDDL's type of everything."""


@dataclass(frozen=True)
class Literal:
    """An atom that holds, or does not.

    Attributes:
        atom: the atom; its arguments are parameters such as ``?bowl``, or names of things.
        holds: whether it holds.
    """

    atom: Atom
    holds: bool = True

    def __str__(self) -> str:
        return str(self.atom) if self.holds else f"(not {self.atom})"


@dataclass(frozen=True)
class Parameter:
    """A thing that a skill is done with.

    Attributes:
        name: with its question mark.
        type: a type of the domain.
    """

    name: str
    type: str


@dataclass(frozen=True)
class Operator:
    """What a skill needs, and what it brings about (Pre and Eff of seed 003, section III).

    Attributes:
        name: the skill.
        parameters: the things it is done with.
        preconditions: what must hold, and what must not, before it.
        effects: what holds after it, and what no longer does.
    """

    name: str
    parameters: tuple[Parameter, ...]
    preconditions: tuple[Literal, ...]
    effects: tuple[Literal, ...]

    @property
    def relevant(self) -> frozenset[Atom]:
        """The atoms of preconditions and effects: a change of any other is irrelevant to the skill."""
        return frozenset(literal.atom for literal in (*self.preconditions, *self.effects))

    def bound(self, things: Mapping[str, str]) -> Operator:
        """Return the operator of some things.

        Args:
            things: parameter -> name of a thing; parameters without one stay.
        """

        def named(literals: tuple[Literal, ...]) -> tuple[Literal, ...]:
            return tuple(
                Literal(Atom(each.atom.predicate, tuple(things.get(a, a) for a in each.atom.arguments)), each.holds)
                for each in literals
            )

        parameters = tuple(p for p in self.parameters if p.name not in things)
        return Operator(self.name, parameters, named(self.preconditions), named(self.effects))


@dataclass(frozen=True)
class Domain:
    """The operators of a file, and what they speak of.

    Attributes:
        name: of the domain.
        types: type -> the more general one; ``object`` for one that has none.
        predicates: predicate -> the types of its arguments.
        operators: name -> operator, in the file's order.
    """

    name: str
    types: Mapping[str, str]
    predicates: Mapping[str, tuple[str, ...]]
    operators: Mapping[str, Operator]

    def is_a(self, kind: str, general: str) -> bool:
        """Return whether all things of a type are of another type, too."""
        return _is_a(self.types, kind, general)


def _is_a(types: Mapping[str, str], kind: str, general: str) -> bool:
    while kind != general and kind in types:
        kind = types[kind]
    return kind == general


def read_domain(path: Path | None = None) -> Domain:
    """Return the operators of a file; those of the kitchen if None.

    Raises:
        ConfigurationError: the file cannot be read, or is wrong; the source of what is wrong is ``FILE:LINE:COLUMN``.
    """
    return _Reader(Text.of_file(path or resolve_uri(SKILLS))).domain()


def parse_domain(content: str, source: str) -> Domain:
    """Return the operators of a text; ``source`` names the text in errors.

    Raises:
        ConfigurationError: as ``read_domain``.
    """
    return _Reader(Text(source, content)).domain()


class _Reader:
    def __init__(self, text: Text) -> None:
        self._text = text
        self._types: dict[str, str] = {}
        self._predicates: dict[str, tuple[str, ...]] = {}

    def domain(self) -> Domain:
        text = self._text
        sections, actions = self._sections(text.parse())
        for item in sections.get(":requirements", ()):
            if text.word(item, ":requirements", "names of requirements").lower() not in REQUIREMENTS:
                raise text.unknown(item, ":requirements", REQUIREMENTS, "requirement")
        self._read_types(sections[":types"])
        self._read_predicates(sections[":predicates"])
        operators: dict[str, Operator] = {}
        for node in actions:
            operator = self._operator(node)
            if operator.name in operators:
                raise text.wrong(node.items[1], ":action", "a name that no other action has", "Rename one of the two.")
            operators[operator.name] = operator
        (name,) = sections["domain"]
        return Domain(text.shown(name), self._types, self._predicates, operators)

    def _sections(self, root: Group) -> tuple[dict[str, tuple[Node, ...]], list[Group]]:
        """Return the items of each section that there is once, and the actions."""
        text = self._text
        head, rest = text.headed(root, "", "(define (domain NAME) …)")
        if head.text.lower() != "define":
            raise text.wrong(head, "", "define: the text is (define (domain NAME) …)")
        sections: dict[str, tuple[Node, ...]] = {}
        actions: list[Group] = []
        for node in rest:
            word, items = text.headed(node, "", f"a section: {', '.join(SECTIONS)}, in brackets")
            name = word.text.lower()
            if name not in SECTIONS:
                raise text.unknown(word, "", SECTIONS, "section")
            if name == ":action":
                actions.append(node)
                continue
            if name in sections:
                raise text.error(node.at, name, f"{name} twice", "each section once, but :action", "Put both into one.")
            if name == "domain" and (len(items) != 1 or not isinstance(items[0], Symbol)):
                raise text.wrong(node, "domain", "(domain NAME)")
            sections[name] = items
        for name in ("domain", ":types", ":predicates"):
            if name not in sections:
                raise text.error(root.at, name, "nothing", "this section", f"Add ({name} …) within (define …).")
        if not actions:
            raise text.error(root.at, ":action", "nothing", "one action or more")
        return sections, actions

    def _read_types(self, items: tuple[Node, ...]) -> None:
        text, general = self._text, {}
        for name, above in text.typed(items, ":types", "types"):
            if name.text in self._types or name.text == OBJECT:
                raise text.wrong(name, ":types", "each type once", "Take it out.")
            self._types[name.text] = above.text
            general[name.text] = above
        for name, above in general.items():
            if above.text != OBJECT and above.text not in self._types:
                raise text.unknown(above, ":types", (OBJECT, *self._types), "type")
            chain = [name]
            while (at := self._types.get(chain[-1])) is not None:
                if at in chain:
                    circle = " - ".join((*chain, at))
                    raise text.error(general[name].at, ":types", circle, f"types that are {OBJECT} in the end")
                chain.append(at)

    def _type(self, kind: Symbol, key: str) -> str:
        if kind.text != OBJECT and kind.text not in self._types:
            raise self._text.unknown(kind, key, (OBJECT, *self._types), "type")
        return kind.text

    def _parameters(self, items: tuple[Node, ...], key: str) -> dict[str, str]:
        text, found = self._text, {}
        for name, kind in text.typed(items, key, "parameters"):
            if not name.text.startswith("?") or len(name.text) < 2:
                raise text.wrong(name, key, "a parameter, such as ?bowl", f"Write ?{name.text.lstrip('?')}.")
            if name.text in found:
                raise text.wrong(name, key, "each parameter once", "Rename one of the two.")
            found[name.text] = self._type(kind, key)
        return found

    def _read_predicates(self, nodes: tuple[Node, ...]) -> None:
        text = self._text
        for node in nodes:
            name, items = text.headed(node, ":predicates", "a predicate: (NAME ?PARAMETER - TYPE …)")
            if name.text in self._predicates:
                raise text.wrong(name, ":predicates", "each predicate once", "Take it out.")
            self._predicates[name.text] = tuple(self._parameters(items, f":predicates {name.text}").values())

    def _operator(self, node: Group) -> Operator:
        text, items = self._text, node.items[1:]
        form = "(:action NAME :parameters (…) :precondition … :effect …)"
        if not items or not isinstance(items[0], Symbol) or items[0].text.startswith(":"):
            raise text.wrong(node, ":action", form)
        key, parts = f":action {items[0].text}", {}
        for word, value in zip(items[1::2], (*items[2::2], None), strict=False):
            name = text.word(word, key, f"{', '.join(OF_AN_ACTION)}, each before its value").lower()
            if name not in OF_AN_ACTION:
                raise text.unknown(word, key, OF_AN_ACTION, "key of an action")
            if name in parts:
                raise text.error(word.at, key, f"{name} twice", "each key once", "Take one out.")
            if value is None:
                raise text.error(word.at, key, f"{name} without a value", form)
            parts[name] = value
        for name in OF_AN_ACTION:
            if name not in parts:
                raise text.error(node.at, key, "nothing", f"a {name}", f"Add {name} with its value.")
        listed = text.group(parts[":parameters"], key, "parameters in brackets: (?NAME - TYPE …)")
        parameters = self._parameters(listed, key)
        effects = self._literals(parts[":effect"], f"{key} :effect", parameters)
        if not effects:
            raise text.wrong(parts[":effect"], f"{key} :effect", "one effect or more")
        return Operator(
            items[0].text,
            tuple(Parameter(name, kind) for name, kind in parameters.items()),
            self._literals(parts[":precondition"], f"{key} :precondition", parameters),
            effects,
        )

    def _literals(self, node: Node, key: str, parameters: dict[str, str]) -> tuple[Literal, ...]:
        text, form = self._text, "(PREDICATE …), (not (PREDICATE …)), or one (and …) of such"
        items = text.group(node, key, form)
        together = bool(items) and isinstance(items[0], Symbol) and items[0].text.lower() == "and"
        nodes = items[1:] if together else (node,) if items else ()
        found: dict[Atom, bool] = {}
        for each in nodes:
            head, rest = text.headed(each, key, form)
            negated = head.text.lower() == "not"
            if negated and len(rest) != 1:
                raise text.wrong(each, key, "(not (PREDICATE …))")
            atom = self._atom(rest[0] if negated else each, key, form, parameters)
            if atom in found:
                expected = "each literal once" if found[atom] != negated else "an atom or its opposite, not both"
                raise text.wrong(each, key, expected, "Take one out.")
            found[atom] = not negated
        return tuple(Literal(atom, holds) for atom, holds in found.items())

    def _atom(self, node: Node, key: str, form: str, parameters: dict[str, str]) -> Atom:
        text = self._text
        head, rest = text.headed(node, key, form)
        if head.text not in self._predicates:
            raise text.unknown(head, key, tuple(self._predicates), "predicate")
        wanted = self._predicates[head.text]
        if len(rest) != len(wanted):
            form = f"({' '.join((head.text, *wanted))})"
            raise text.wrong(node, key, f"{form}, an argument of each of these types" if wanted else form)
        names = []
        for item, general in zip(rest, wanted, strict=True):
            name = text.word(item, key, "a parameter, such as ?bowl")
            if name not in parameters:
                raise text.unknown(item, key, tuple(parameters), "parameter")
            if not _is_a(self._types, parameters[name], general):
                expected = f"a parameter of type {general}; {name} is of type {parameters[name]}"
                raise text.wrong(item, key, expected)
            names.append(name)
        return Atom(head.text, tuple(names))
