"""Single modifications of a kitchen problem: the paper's Rule-based Automatic Modification Generator (seed 003, IV-A).

The rules by which the authors' code draws candidates, here enumerated: a thing of no interest goes to a free place, a
further thing comes to one, a part changes its state, or something small comes into a container of interest. ``refusal``
has the rules that the paper states and the code does not look at: the result is a problem without a contradiction in
which everything has one place, and nothing of Pre and Eff of the skill's operator has changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import Field

from robocontrast_ros.configuration import load_record, record, resolve_uri
from robocontrast_ros.tasks.bddl.kitchen import Kitchen
from robocontrast_ros.tasks.bddl.problem import (
    IN,
    ON,
    OPEN,
    OPPOSITES,
    STATES,
    TURNON,
    Atom,
    Problem,
    Region,
    first_flaw,
)
from robocontrast_ros.tasks.bddl.skills import skills_for

MOVE, ADD, TOGGLE, CONTAIN = KINDS = ("move", "add", "toggle", "contain")
"""Kinds of modifications. Move and add are the paper's type 1, toggle is type 2, contain is type 3."""

FREE_PLACE = "free"
"""A region whose name begins so is a free rectangle of the table; only things that are added come there."""

VOCABULARY = "package://robocontrast_ros/config/kitchen/modifications.yaml"
"""The types of our kitchen."""


@record
class Vocabulary:
    """The types of things that a modification is about, as config/kitchen/modifications.yaml declares them."""

    small: tuple[str, ...] = Field(description="types that are added anywhere, also into containers")
    large: tuple[str, ...] = Field(description="types that are added on places with room")
    containers: tuple[str, ...] = Field(description="types that something small is put into or on")


@dataclass(frozen=True)
class Modification:
    """One change of what holds at the start.

    Attributes:
        kind: one of ``KINDS``.
        atom: what holds afterwards.
        added: type of the thing that is added; empty if none is.
    """

    kind: str
    atom: Atom
    added: str = ""

    @property
    def subject(self) -> str:
        """The name of the thing or of the part that it changes or adds."""
        return self.atom.arguments[0]

    def __str__(self) -> str:
        return f"{self.kind} {self.atom}"


def read_vocabulary(path: Path | None = None) -> Vocabulary:
    """Return the types of a file; those of our kitchen if None.

    Raises:
        ConfigurationError: the file cannot be read, or does not fit.
    """
    return load_record(Vocabulary, path or resolve_uri(VOCABULARY))


def modifications(problem: Problem, vocabulary: Vocabulary, kitchen: Kitchen) -> tuple[Modification, ...]:
    """Return all candidates for a single modification of a problem, each once, also those without room."""
    return tuple(dict.fromkeys(_candidates(problem, vocabulary, kitchen)))


def modified(problem: Problem, modification: Modification) -> Problem:
    """Return a problem after a modification.

    Raises:
        ValueError: it holds already, or the added thing is there: a modification is made once.
    """
    atom, subject = modification.atom, modification.subject
    if atom in problem.init:
        raise ValueError(f"{atom} holds already")
    if modification.added and problem.type_of(subject):
        raise ValueError(f"'{subject}' is there already")
    changed = STATES if atom.predicate in STATES else (ON, IN)
    kept = (a for a in problem.init if a.predicate not in changed or a.arguments[0] != subject)
    objects = {**problem.objects, subject: modification.added} if modification.added else problem.objects
    return replace(problem, objects=objects, init=(*kept, atom))


def put_beside(problem: Problem, atom: Atom, table: str) -> Problem:
    """Return a problem whose goal, that a thing stands beside another, is one of a region of the table.

    Args:
        problem: of which the goal is given anew.
        atom: the goal, with a predicate of ``SIDES``.
        table: name of the table.
    """
    target, reference = atom.arguments
    region = Region(f"{reference}_side", table, ((0.0, 0.0, 0.0, 0.0),))
    goal = Atom(ON, (target, region.full_name))
    return replace(problem, regions=(*problem.regions, region), of_interest=atom.arguments, goal=(goal,))


def refusal(problem: Problem, modification: Modification, kitchen: Kitchen) -> str:
    """Return why a modification of a problem is none of observation space alone, in words; empty if it is one.

    Raises:
        ValueError: no operator brings an atom of the goal about.
    """
    try:
        after = modified(problem, modification)
    except ValueError as error:
        return str(error)
    flaw = first_flaw(after)
    if flaw is not None:
        return f"{flaw.got}: expected {flaw.expected}"
    if all(atom in after.init for atom in problem.goal):
        return "the goal holds then"
    changed = {*problem.init} ^ {*after.init}
    changed |= _made_free(changed, problem, after, kitchen)
    relevant = _relevant(problem, kitchen)
    touched = sorted(str(atom) for atom in changed & relevant)
    return f"it changes {', '.join(touched)}, which the skill needs or brings about" if touched else ""


def _relevant(problem: Problem, kitchen: Kitchen) -> frozenset[Atom]:
    """Return Pre and Eff of the skill that brings each atom of the goal about."""
    found: set[Atom] = set()
    for atom in problem.goal:
        skills = skills_for(problem, atom, kitchen)
        if not skills and atom not in problem.init:
            raise ValueError(f"no skill brings {atom} about from what holds at the start")
        found |= {atom}.union(*(skill.relevant for skill in skills))
    return frozenset(found)


def _made_free(changed: set[Atom], before: Problem, after: Problem, kitchen: Kitchen) -> set[Atom]:
    """Return the atoms ``Free`` of places for one thing that a change makes true or false."""
    places = {atom.arguments[1] for atom in changed if atom.predicate in (ON, IN)}
    spots = (place for place in places if kitchen.domain.is_a(kitchen.kind_of(after, place), "spot"))

    def is_free(problem: Problem, place: str) -> bool:
        return not any(a.predicate in (ON, IN) and a.arguments[1] == place for a in problem.init)

    return {Atom("Free", (place,)) for place in spots if is_free(before, place) != is_free(after, place)}


def _candidates(problem: Problem, vocabulary: Vocabulary, kitchen: Kitchen) -> Iterator[Modification]:
    small = [kind for kind in vocabulary.small if kind not in problem.objects.values()]
    further = [*small, *(kind for kind in vocabulary.large if kind not in problem.objects.values())]
    goals = {atom.arguments[-1] for atom in problem.goal}
    # Our own files leave out what the goal says.
    interest = problem.of_interest or tuple(name for atom in problem.goal for name in atom.arguments)

    def put(kind: str, thing: str, place: str, added: str = "") -> Modification:
        inside = kitchen.domain.is_a(kitchen.kind_of(problem, place), "container")
        return Modification(kind, Atom(IN if inside else ON, (thing, place)), added)

    def name_of(kind: str) -> str:
        return f"{kind}_1"

    # Type 1: a thing of no interest moves to a named place, or a further one comes to a place or into a container.
    for place in _open_places(problem, goals, kitchen):
        region = problem.named_regions[place]
        if not region.name.startswith(FREE_PLACE):
            for thing in problem.objects:
                if thing not in interest:
                    yield put(MOVE, thing, place)
        for kind in further:
            yield put(ADD, name_of(kind), place, kind)
    opened = [
        a.arguments[0] for a in problem.init if a.predicate == OPEN and _is_drawer(problem, a.arguments[0], kitchen)
    ]
    for container in (*opened, *(n for n, k in problem.objects.items() if k in vocabulary.containers)):
        if container in opened or container not in interest:
            for kind in small:
                yield put(ADD, name_of(kind), container, kind)
    # Type 2: a part that is not asked for changes its state.
    for part, state in _parts(problem, kitchen):
        if part not in goals:
            now = next((a.predicate for a in problem.init if a.predicate in STATES and a.arguments[0] == part), "")
            yield Modification(TOGGLE, Atom(OPPOSITES[now] if now else state, (part,)))
    # Type 3: something small comes into a container of interest.
    for container in interest:
        if problem.objects.get(container) in vocabulary.containers:
            for kind in small:
                yield put(CONTAIN, name_of(kind), container, kind)


def _open_places(problem: Problem, goals: set[str], kitchen: Kitchen) -> Iterator[str]:
    """Yield the regions that hold nothing at the start, and that the goal is not about, but for tops of cabinets."""
    taken = {atom.arguments[-1] for atom in problem.init}
    for name, region in problem.named_regions.items():
        drawer = _is_drawer(problem, name, kitchen)
        on_cabinet = _has_drawers(problem, region.target, kitchen)
        if not drawer and name not in taken and (name not in goals or on_cabinet):
            yield name


def _parts(problem: Problem, kitchen: Kitchen) -> Iterator[tuple[str, str]]:
    """Yield the parts that open or are turned on, each with the state that it has not if nothing is said."""
    for fixture, kind in problem.fixtures.items():
        known = kitchen.types.fixtures.get(kind)
        if known is not None and known.moves:
            general = kitchen.domain.is_a(kitchen.kind_of(problem, fixture), "stove")
            yield fixture, TURNON if general else OPEN
        for name, region in problem.named_regions.items():
            if region.target == fixture and _is_drawer(problem, name, kitchen):
                yield name, OPEN


def _is_drawer(problem: Problem, name: str, kitchen: Kitchen) -> bool:
    return kitchen.domain.is_a(kitchen.kind_of(problem, name), "drawer")


def _has_drawers(problem: Problem, fixture: str, kitchen: Kitchen) -> bool:
    known = kitchen.types.fixtures.get(problem.fixtures.get(fixture, ""))
    return known is not None and any(kitchen.domain.is_a(site.kind, "drawer") for site in known.sites.values())
