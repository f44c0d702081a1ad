"""A kitchen problem: what is there, where, what is asked for; and what is wrong with it, whatever it was written in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from robocontrast_ros.configuration.errors import nearest

ON, IN, OPEN, CLOSE, TURNON, TURNOFF = LIBEROS = ("On", "In", "Open", "Close", "Turnon", "Turnoff")
"""The predicates of LIBERO's files, as they spell them."""

STATES = (OPEN, CLOSE, TURNON, TURNOFF)
"""Those about the state of one thing."""

LEFT_OF, RIGHT_OF = SIDES = ("LeftOf", "RightOf")
"""Ours: a thing stands next to another one, on its left or its right as the robot sees it."""

PREDICATES = (*LIBEROS, *SIDES)
"""The predicates."""

ARITY = {name: 1 if name in STATES else 2 for name in PREDICATES}
"""Predicate -> number of its arguments."""

OPPOSITES = {OPEN: CLOSE, CLOSE: OPEN, TURNON: TURNOFF, TURNOFF: TURNON}
"""Predicate -> the one that cannot hold of the same thing. A drawer may be between: neither holds then."""

_SPELLING = {name.lower(): name for name in PREDICATES}

NO_TURN = (0.0, 0.0)
"""Yaw of a region that says none [rad]: LIBERO's."""

NO_COLOUR = (0.0, 0.0, 1.0, 0.0)
"""Colour of a region that says none: LIBERO's, which is not seen."""

Range = tuple[float, float, float, float]
"""Least x, least y, greatest x, greatest y [m]."""


@dataclass(frozen=True)
class Atom:
    """A predicate of things.

    Attributes:
        predicate: its name, in a problem one of ``PREDICATES``.
        arguments: names of things.
    """

    predicate: str
    arguments: tuple[str, ...]

    def __str__(self) -> str:
        return f"({' '.join((self.predicate, *self.arguments))})"


@dataclass(frozen=True)
class Region:
    """A part of a thing: places on a table, or, without ranges, a site that the thing's model has.

    Attributes:
        name: unique among the regions of its target.
        target: the fixture or object.
        ranges: rectangles, each least x, least y, greatest x, greatest y, in the frame of the target [m].
        yaw: least and greatest turn about z of a fixture that is put there [rad]. LIBERO turns objects by their models.
        rgba: colour, each from 0 to 1, and opacity.
    """

    name: str
    target: str
    ranges: tuple[Range, ...] = ()
    yaw: tuple[float, float] = NO_TURN
    rgba: tuple[float, float, float, float] = NO_COLOUR

    @property
    def full_name(self) -> str:
        """The name that atoms call it by."""
        return f"{self.target}_{self.name}"


@dataclass(frozen=True)
class Problem:
    """A scene with regions, what holds at the start, and what shall hold at the end.

    Attributes:
        name: name of the kind of problem, such as ``LIBERO_Kitchen_Tabletop_Manipulation``.
        language: the instruction.
        fixtures: what stands fast -> its type.
        objects: what can be moved -> its type.
        regions: parts of fixtures and objects.
        of_interest: fixtures, objects and regions that the instruction is about.
        init: what holds at the start.
        goal: what shall hold at the end, all of it.
    """

    name: str
    language: str
    fixtures: Mapping[str, str]
    objects: Mapping[str, str]
    regions: tuple[Region, ...] = ()
    of_interest: tuple[str, ...] = ()
    init: tuple[Atom, ...] = ()
    goal: tuple[Atom, ...] = ()

    @cached_property
    def named_regions(self) -> Mapping[str, Region]:
        """Full name -> region."""
        return {region.full_name: region for region in self.regions}

    def type_of(self, name: str) -> str:
        """Return the type of a fixture or object; empty if there is none of this name."""
        return self.fixtures.get(name) or self.objects.get(name, "")

    @property
    def held_at_start(self) -> tuple[Atom, ...]:
        """The atoms of the goal that ``init`` has word by word."""
        given = set(self.init)
        return tuple(atom for atom in self.goal if atom in given)


class Flaw(NamedTuple):
    """What is wrong with a problem.

    Attributes:
        where: section of ``Problem``, then the index or name there, then what of it.
        got: what was found.
        expected: description of a right value.
        cure: what to do, as a sentence; empty if that is plain.
    """

    where: tuple[str | int, ...]
    got: str
    expected: str
    cure: str = ""


Check = Callable[[Problem], Flaw | None]
"""Returns the first thing that is wrong with a problem in one respect; None if nothing is."""


def atom_of(words: tuple[str, ...], where: tuple[str | int, ...]) -> Atom | Flaw:
    """Return the atom of a predicate, in small or capital letters, and its arguments; what is wrong if it is none."""
    if not words:
        return Flaw(where, "nothing", f"a predicate and its arguments, such as {ON} plate_1 kitchen_table_region")
    name, arguments = _SPELLING.get(words[0].lower(), ""), tuple(words[1:])
    if not name:
        close = nearest(words[0], PREDICATES)
        cure = f"Did you mean '{close}'?" if close else ""
        return Flaw((*where, "predicate"), words[0], f"a known predicate: {', '.join(PREDICATES)}", cure)
    if len(arguments) != ARITY[name]:
        form = f"{name} THING PLACE" if ARITY[name] == 2 else f"{name} THING"
        return Flaw(where, f"({' '.join(words)})", f"{ARITY[name]} argument{'s'[: ARITY[name] - 1]}: ({form})")
    return Atom(name, arguments)


def first_flaw(problem: Problem) -> Flaw | None:
    """Return the first thing that is wrong with a problem; None if it is right."""
    return next(_flaws(problem), None)


def done_at_start(problem: Problem) -> Flaw | None:
    """Return the flaw of a goal that holds at the start, by the text alone; None if an atom of it does not."""
    held = problem.held_at_start
    if not held or len(held) < len(problem.goal):
        return None
    return Flaw(("goal",), ", ".join(map(str, held)), "a goal that does not hold at the start", "Change init or goal.")


def remarks(problem: Problem) -> tuple[str, ...]:
    """Return what is odd about a problem and harms nothing, each as a sentence without a full stop."""
    undeclared = dict.fromkeys(region.target for region in problem.regions if not problem.type_of(region.target))
    found = [f"it has regions of {name}, which is declared nowhere" for name in undeclared]
    held = problem.held_at_start
    if held and len(held) < len(problem.goal):
        found.append(f"{', '.join(map(str, held))} of the goal holds at the start")
    return tuple(found)


def _flaws(problem: Problem) -> Iterator[Flaw]:
    for name in problem.objects:
        if name in problem.fixtures:
            yield Flaw(("objects", name), name, "a name that no fixture has", "Rename one of the two.")
    yield from _flaws_of_regions(problem)
    seen: set[str] = set()
    for index, name in enumerate(problem.of_interest):
        where = ("of_interest", index)
        yield from _undeclared(problem, name, where)
        if name in seen:
            yield Flaw(where, name, "each name once", "Take it out.")
        seen.add(name)
    yield from _flaws_of_atoms(problem, "init", problem.init)
    yield from _flaws_of_places(problem)
    if not problem.goal:
        yield Flaw(("goal",), "nothing", "what shall hold at the end: one atom or more")
    yield from _flaws_of_atoms(problem, "goal", problem.goal)


def _flaws_of_regions(problem: Problem) -> Iterator[Flaw]:
    seen: set[str] = set()
    for index, region in enumerate(problem.regions):
        where, name = ("regions", index), region.full_name
        if name in seen:
            yield Flaw(where, name, "a name that no other region of this target has", "Rename one of the two.")
        if problem.type_of(name):
            yield Flaw(
                where, name, "a full name (TARGET_NAME) that no fixture and no object has", "Rename one of them."
            )
        seen.add(name)
        for number, (left, low, right, high) in enumerate(region.ranges):
            if left > right or low > high:
                got = " ".join(f"{value:g}" for value in (left, low, right, high))
                expected = "least x, least y, greatest x, greatest y, in this order [m]"
                yield Flaw((*where, "ranges", number), got, expected, "Exchange the two that are the wrong way round.")
        if region.yaw[0] > region.yaw[1]:
            got = f"{region.yaw[0]:g} {region.yaw[1]:g}"
            yield Flaw((*where, "yaw"), got, "the least turn, then the greatest [rad]", "Exchange the two.")
        if not all(0.0 <= part <= 1.0 for part in region.rgba):
            yield Flaw((*where, "rgba"), " ".join(f"{part:g}" for part in region.rgba), "four numbers from 0 to 1")


def _undeclared(problem: Problem, name: str, where: tuple[str | int, ...]) -> Iterator[Flaw]:
    """Yield the flaw of a name that nothing has, or of a region of a thing that is declared nowhere."""
    if problem.type_of(name):
        return
    region = problem.named_regions.get(name)
    if region is None:
        known = (*problem.fixtures, *problem.objects, *problem.named_regions)
        close = nearest(name, known)
        cure = f"Did you mean '{close}'?" if close else "Declare it."
        yield Flaw(where, name, "a declared fixture, object or region (TARGET_NAME)", cure)
    elif not problem.type_of(region.target):
        expected = f"a region of a declared fixture or object; it is of {region.target}"
        yield Flaw(where, name, expected, f"Declare {region.target}.")


def _flaws_of_atoms(problem: Problem, section: str, atoms: Iterable[Atom]) -> Iterator[Flaw]:
    """Yield what is wrong with single atoms, and with two of the same section."""
    seen: set[Atom] = set()
    for index, atom in enumerate(atoms):
        where, got = (section, index), str(atom)
        for number, name in enumerate(atom.arguments):
            yield from _undeclared(problem, name, (*where, number))
        yield from _unfit(problem, atom, where)
        if atom in seen:
            yield Flaw(where, got, "each atom once", "Take it out.")
        opposite = Atom(OPPOSITES[atom.predicate], atom.arguments) if atom.predicate in OPPOSITES else None
        if opposite in seen:
            yield Flaw(where, f"{got} and {opposite}", "one of the two: they cannot both hold", "Take one out.")
        seen.add(atom)


def _unfit(problem: Problem, atom: Atom, where: tuple[str | int, ...]) -> Iterator[Flaw]:
    """Yield the argument that a predicate cannot be said of; LIBERO ignores such an atom at the start."""
    first, regions = atom.arguments[0], problem.named_regions
    if atom.predicate in SIDES:
        for number, name in enumerate(atom.arguments):
            if name not in problem.objects:
                yield Flaw((*where, number), name, "an object")
        return
    if atom.predicate in STATES:
        part = regions.get(first)
        if first in problem.objects or (part is not None and (part.ranges or part.target in problem.objects)):
            yield Flaw(
                (*where, 0), first, f"a fixture that can {_CAN[atom.predicate]}, or its part: a region without ranges"
            )
        return
    place = atom.arguments[1]
    if first in regions:
        yield Flaw((*where, 0), first, f"an object or a fixture, which is {atom.predicate.lower()} something")
    if atom.predicate == IN and place not in regions:
        yield Flaw((*where, 1), place, "a region that can hold it", "Food in a bowl is written On FOOD BOWL.")
    if atom.predicate == ON and place in problem.fixtures:
        yield Flaw((*where, 1), place, "an object, or a region", f"Name a region of {place}.")


_CAN = {OPEN: "open", CLOSE: "close", TURNON: "be turned on", TURNOFF: "be turned off"}


def _flaws_of_places(problem: Problem) -> Iterator[Flaw]:
    """Yield objects with two places, with none, and those that hold each other up."""
    places: dict[str, tuple[int, Atom]] = {}
    for index, atom in enumerate(problem.init):
        if atom.predicate in (ON, IN):
            name = atom.arguments[0]
            if name in places:
                got = f"{places[name][1]} and {atom}"
                yield Flaw(("init", index), got, f"one place for {name}", "Take one of the two out.")
            places[name] = index, atom
    for name in problem.objects:
        if name not in places:
            yield Flaw(("objects", name), f"{name}, without a place", f"a place in init, such as ({ON} {name} REGION)")
    tables = {region.target for region in problem.regions if region.ranges}
    for name in problem.fixtures:
        if name not in places and name not in tables:
            expected = "a place in init, or, if it is a table, a region with ranges for something on it"
            yield Flaw(("fixtures", name), f"{name}, without a place", expected)
    for name, (index, _) in places.items():
        at, way = name, []
        while at in places and at not in way:
            way.append(at)
            place = places[at][1].arguments[1]
            at = problem.named_regions[place].target if place in problem.named_regions else place
        if at == name:
            circle = " on ".join((*way, name))
            yield Flaw(("init", index), circle, "things that stand on something else in the end")
