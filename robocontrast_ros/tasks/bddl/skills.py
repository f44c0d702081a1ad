"""The skills that bring a problem's goal about, each with the things that it is done with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from robocontrast_ros.tasks.bddl.kitchen import Kitchen
from robocontrast_ros.tasks.bddl.operators import Literal, Operator
from robocontrast_ros.tasks.bddl.problem import PREDICATES, Atom, Problem


def skills_for(problem: Problem, goal: Atom, kitchen: Kitchen) -> tuple[Operator, ...]:
    """Return the operators that bring an atom about and can be done at the start, bound to the problem's things.

    Predicates that problems do not have, such as ``Clear``, are not looked at.

    Args:
        problem: the problem.
        goal: the atom, one of its goal.
        kitchen: the operators, and the kinds of things.
    """
    found = []
    for operator in kitchen.domain.operators.values():
        kinds = {parameter.name: parameter.type for parameter in operator.parameters}
        needed = [p.atom for p in operator.preconditions if p.holds and p.atom.predicate in PREDICATES]
        for effect in operator.effects:
            things = _matched(effect, goal, {}, kinds, problem, kitchen)
            if things is not None:
                found += [operator.bound(each) for each in _all_matched(needed, things, kinds, problem, kitchen)]
    return tuple(skill for skill in found if not skill.parameters and _not_excluded(skill, problem))


def _not_excluded(skill: Operator, problem: Problem) -> bool:
    return not any(p.atom in problem.init for p in skill.preconditions if not p.holds)


def _all_matched(
    needed: Sequence[Atom],
    things: Mapping[str, str],
    kinds: Mapping[str, str],
    problem: Problem,
    kitchen: Kitchen,
) -> Iterator[Mapping[str, str]]:
    """Yield the ways to find all needed atoms in what holds at the start."""
    if not needed:
        yield things
        return
    for given in problem.init:
        more = _matched(Literal(needed[0]), given, things, kinds, problem, kitchen)
        if more is not None:
            yield from _all_matched(needed[1:], more, kinds, problem, kitchen)


def _matched(
    literal: Literal,
    given: Atom,
    things: Mapping[str, str],
    kinds: Mapping[str, str],
    problem: Problem,
    kitchen: Kitchen,
) -> Mapping[str, str] | None:
    """Return the things with which a literal is an atom that is given, beside those that are chosen; None if none."""
    if not literal.holds or literal.atom.predicate != given.predicate:
        return None
    found = dict(things)
    for parameter, name in zip(literal.atom.arguments, given.arguments, strict=True):
        fits = kitchen.domain.is_a(kitchen.kind_of(problem, name), kinds[parameter])
        if not fits or found.setdefault(parameter, name) != name:
            return None
    return found
