"""LIBERO's subset of BDDL, from text to ``Problem``; every error has a line and a column."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.tasks.bddl.expressions import Group, Node, Symbol, Text
from robocontrast_ros.tasks.bddl.problem import (
    NO_COLOUR,
    NO_TURN,
    Atom,
    Check,
    Flaw,
    Problem,
    Range,
    Region,
    atom_of,
    first_flaw,
)

DOMAIN = "robosuite"
"""The one domain of LIBERO's problems."""

REQUIRED = ("problem", ":domain", ":language", ":fixtures", ":objects", ":init", ":goal")
SECTIONS = (*REQUIRED, ":regions", ":obj_of_interest")

REGION_KEYS = (":target", ":ranges", ":yaw_rotation", ":rgba")

NO_CODE = "LIBERO runs this text as code; write the number, such as 3.141592653589793."

_FIELD_OF = {":obj_of_interest": "of_interest"}
"""Section -> field of ``Problem``, where it is not the section's name."""

_SECTION_OF = {field: section for section, field in _FIELD_OF.items()}


def read_bddl(path: Path, checks: Iterable[Check] = ()) -> Problem:
    """Return the problem of a file.

    Args:
        path: the file.
        checks: what is to be looked at after what is wrong with any problem.

    Raises:
        ConfigurationError: the file cannot be read, or the problem is wrong; the source of what is wrong is
            ``FILE:LINE:COLUMN``.
    """
    return _Reader(Text.of_file(path)).problem(checks)


def parse_bddl(content: str, source: str, checks: Iterable[Check] = ()) -> Problem:
    """Return the problem that a text describes; ``source`` names the text in errors.

    Raises:
        ConfigurationError: as ``read_bddl``.
    """
    return _Reader(Text(source, content)).problem(checks)


class _Reader:
    """Reads one text, and knows where in it each part of the problem is."""

    def __init__(self, text: Text) -> None:
        self._text = text
        self._at: dict[tuple[str | int, ...], Node] = {}

    def problem(self, checks: Iterable[Check]) -> Problem:
        sections = self._sections(self._text.parse())
        domain = self._one_word(sections, ":domain", f"(:domain {DOMAIN})")
        if domain.text != DOMAIN:
            raise self._text.wrong(domain, ":domain", f"{DOMAIN}, the domain of LIBERO's problems")
        problem = Problem(
            name=self._one_word(sections, "problem", "(problem NAME)").text,
            language=self._language(sections),
            fixtures=self._things(sections, "fixtures"),
            objects=self._things(sections, "objects"),
            regions=self._regions(sections),
            of_interest=self._interest(sections),
            init=self._atoms("init", self._items(sections, ":init")),
            goal=self._goal(sections),
        )
        for check in (first_flaw, *checks):
            flaw = check(problem)
            if flaw is not None:
                raise self._error(flaw)
        return problem

    def _error(self, flaw: Flaw) -> ConfigurationError:
        """Return a flaw as the error at the nearest part that the text has."""
        where = flaw.where
        while where[:-1] and where not in self._at:
            where = where[:-1]
        section = str(flaw.where[0])
        key = _SECTION_OF.get(section, f":{section}")
        return self._text.error(self._at[where].at, key, flaw.got, flaw.expected, flaw.cure)

    def _sections(self, root: Group) -> dict[str, Group]:
        text = self._text
        head, rest = text.headed(root, "", "(define (problem NAME) …)")
        if head.text.lower() != "define":
            raise text.wrong(head, "", "define: the text is (define (problem NAME) …)")
        sections: dict[str, Group] = {}
        for node in rest:
            word, _ = text.headed(node, "", f"a section: {', '.join(SECTIONS)}, in brackets")
            name = word.text.lower()
            if name not in SECTIONS:
                raise self._text.unknown(word, "", SECTIONS, "section")
            if name in sections:
                raise text.error(node.at, name, f"{name} twice", "each section once", "Put both into one.")
            sections[name] = node
        for name in REQUIRED:
            if name not in sections:
                raise text.error(root.at, name, "nothing", "this section", f"Add ({name} …) within (define …).")
        for name, node in sections.items():
            self._at[_FIELD_OF.get(name, name[1:]),] = node
        return sections

    def _items(self, sections: dict[str, Group], name: str) -> tuple[Node, ...]:
        return sections[name].items[1:] if name in sections else ()

    def _one_word(self, sections: dict[str, Group], name: str, form: str) -> Symbol:
        items = self._items(sections, name)
        if len(items) != 1 or not isinstance(items[0], Symbol):
            raise self._text.wrong(sections[name], name, form)
        return items[0]

    def _language(self, sections: dict[str, Group]) -> str:
        items, cure = self._items(sections, ":language"), "Brackets and ; have a meaning of their own here."
        for node in items:
            if not isinstance(node, Symbol):
                raise self._text.wrong(node, ":language", "words without brackets", cure)
        if not items:
            raise self._text.wrong(sections[":language"], ":language", "the words of the instruction")
        return " ".join(node.text for node in items)

    def _things(self, sections: dict[str, Group], section: str) -> dict[str, str]:
        things: dict[str, str] = {}
        for name, kind in self._text.typed(self._items(sections, f":{section}"), f":{section}", section):
            if name.text in things:
                raise self._text.wrong(name, f":{section}", "each name once", "Rename it, or take it out.")
            things[name.text] = kind.text
            self._at[section, name.text] = name
        return things

    def _interest(self, sections: dict[str, Group]) -> tuple[str, ...]:
        names = []
        for index, node in enumerate(self._items(sections, ":obj_of_interest")):
            names.append(self._text.word(node, ":obj_of_interest", "names of fixtures, objects and regions"))
            self._at["of_interest", index] = node
        return tuple(names)

    def _atoms(self, section: str, nodes: tuple[Node, ...]) -> tuple[Atom, ...]:
        text, key, atoms = self._text, f":{section}", []
        for index, node in enumerate(nodes):
            items = text.group(node, key, "an atom in brackets, such as (On plate_1 kitchen_table_region)")
            self._at[section, index] = node
            words = tuple(text.word(item, key, "a predicate and names, without inner brackets") for item in items)
            if items:
                self._at[section, index, "predicate"] = items[0]
            atom = atom_of(words, (section, index))
            if isinstance(atom, Flaw):
                raise self._error(atom)
            for number, item in enumerate(items[1:]):
                self._at[section, index, number] = item
            atoms.append(atom)
        return tuple(atoms)

    def _goal(self, sections: dict[str, Group]) -> tuple[Atom, ...]:
        text, items, form = self._text, self._items(sections, ":goal"), "one (And (PREDICATE THING …) …)"
        if len(items) != 1:
            raise text.wrong(sections[":goal"], ":goal", form)
        head, atoms = text.headed(items[0], ":goal", form)
        if head.text.lower() != "and":
            cure = "A goal of one atom has its And, too." if head.text.lower() not in ("or", "not", "forall") else ""
            raise text.wrong(items[0], ":goal", form, cure)
        return self._atoms("goal", atoms)

    def _regions(self, sections: dict[str, Group]) -> tuple[Region, ...]:
        regions = []
        for index, node in enumerate(self._items(sections, ":regions")):
            self._at["regions", index] = node
            regions.append(self._region(index, node))
        return tuple(regions)

    def _region(self, index: int, node: Node) -> Region:
        text = self._text
        name, attributes = text.headed(node, ":regions", "a region: (NAME (:target FIXTURE) …)")
        key, found = f":regions {name.text}", {}
        for attribute in attributes:
            word, values = text.headed(attribute, key, f"{', '.join(REGION_KEYS)}, each in brackets")
            kind = word.text.lower()
            if kind not in REGION_KEYS:
                raise self._text.unknown(word, key, REGION_KEYS, "key of a region")
            if kind in found:
                raise text.error(attribute.at, key, f"{kind} twice", "each key once", "Take one out.")
            if len(values) != 1:
                raise text.wrong(attribute, key, _FORMS[kind])
            found[kind] = values[0]
        if ":target" not in found:
            raise text.error(node.at, key, "nothing", "a :target", "Add (:target FIXTURE).")
        ranges, yaw, rgba = (), NO_TURN, NO_COLOUR
        if ":ranges" in found:
            ranges = self._ranges(index, key, found[":ranges"])
        if ":yaw_rotation" in found:
            yaw = self._yaw(index, key, found[":yaw_rotation"])
        if ":rgba" in found:
            rgba = self._numbers(found[":rgba"], key, 4, _FORMS[":rgba"])
            self._at["regions", index, "rgba"] = found[":rgba"]
        return Region(name.text, text.word(found[":target"], key, _FORMS[":target"]), ranges, yaw, rgba)

    def _ranges(self, index: int, key: str, node: Node) -> tuple[Range, ...]:
        boxes = self._text.group(node, key, _FORMS[":ranges"])
        if not boxes:
            raise self._text.wrong(node, key, _FORMS[":ranges"], "A site of the target has no :ranges at all.")
        for number, box in enumerate(boxes):
            self._at["regions", index, "ranges", number] = box
        return tuple(self._numbers(box, key, 4, _FORMS[":ranges"]) for box in boxes)

    def _yaw(self, index: int, key: str, node: Node) -> tuple[float, float]:
        pairs = self._text.group(node, key, _FORMS[":yaw_rotation"])
        if len(pairs) != 1:
            raise self._text.wrong(node, key, _FORMS[":yaw_rotation"], "LIBERO takes the last pair alone.")
        self._at["regions", index, "yaw"] = pairs[0]
        return self._numbers(pairs[0], key, 2, _FORMS[":yaw_rotation"], NO_CODE)

    def _numbers(self, node: Node, key: str, count: int, form: str, cure: str = "") -> tuple[float, ...]:
        items = self._text.group(node, key, form, cure)
        if len(items) != count:
            raise self._text.wrong(node, key, f"{count} numbers: {form}", cure)
        return tuple(self._text.number(item, key, "a number", cure) for item in items)


_FORMS = {
    ":target": "(:target FIXTURE)",
    ":ranges": "(:ranges ((X0 Y0 X1 Y1) …)), in metres",
    ":yaw_rotation": "(:yaw_rotation ((LEAST GREATEST))), in radians",
    ":rgba": "(:rgba (RED GREEN BLUE OPACITY)), from 0 to 1",
}
"""Key of a region -> how it is written."""
