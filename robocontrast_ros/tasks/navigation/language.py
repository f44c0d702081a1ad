"""Generation and understanding of instructions to visit two places in order."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from robocontrast_ros.domain import Instruction, Scene, SegmentKind
from robocontrast_ros.tasks.grammar import Choose
from robocontrast_ros.tasks.navigation.grammar import FIRST, LAST, ROLES, plural, visit_grammar, visits
from robocontrast_ros.tasks.navigation.parameters import NavigationParameters
from robocontrast_ros.tasks.wording import GrammarLanguage

FAMILY = "visit_two_places"
"""The family of every instruction: a place to pass by, then one to stop at."""

Count = Callable[[str], int]
"""Model -> number of its objects."""


class VisitLanguage(GrammarLanguage):
    """Instructions to visit two places; it also changes them part by part.

    Attributes:
        arguments: names of the arguments that can be changed.
    """

    roles = dict.fromkeys(ROLES, SegmentKind.SCENE)
    arguments = (FIRST, LAST)

    def __init__(self, parameters: NavigationParameters) -> None:
        self._parameters = parameters
        self.grammar = visit_grammar({m: f.nouns for m, f in parameters.furniture.items() if f.place})

    def conditions(self) -> Iterator[Instruction]:
        """Enumerate every ordered pair of places once, each in its first wording."""
        there = list(self._parameters.objects.values())
        places = [m for m, f in self._parameters.furniture.items() if f.place and m in there]
        for first, last in itertools.permutations(places, 2):
            yield self._put(visit(first, last), there.count, lambda fitting: fitting[0])

    def parse(self, text: str, scene: Scene) -> Instruction:
        """Return the two places that an instruction names.

        Raises:
            ValueError: the grammar does not know the sentence, it names a place that the scene lacks, or one
                place twice.
        """
        said = {a.rule: a for a in self.grammar.read(text) if a.rule in ROLES}
        first, last = (said[role].means[role][0] for role in ROLES)
        there = self.places(scene)
        for role, place in ((FIRST, first), (LAST, last)):
            if place not in there:
                nouns = ", ".join(self._parameters.furniture[p].nouns[0] for p in there)
                words = said[role].words
                raise ValueError(f"instruction '{text}': '{words}' is not in the scene; places there: {nouns}")
        if first == last:
            raise ValueError(f"instruction '{text}': both places are the {first}; expected two different ones")
        return replace(visit(first, last), text=text)

    def places(self, scene: Scene) -> tuple[str, ...]:
        """Return the models in a scene to which an instruction can send the robot, in the task's order."""
        there = {o.model for o in scene}
        return tuple(m for m, f in self._parameters.furniture.items() if f.place and m in there)

    def called(self, place: str, scene: Scene) -> Iterator[tuple[str, bool]]:
        """Yield the nouns of a place, each of which means only that place."""
        many = _counter(scene)(place) > 1
        for noun in self._parameters.furniture[place].nouns:
            yield f"the {plural(noun) if many else noun}", True

    def _said(self, instruction: Instruction, scene: Scene, choose: Choose) -> Instruction:
        return self._put(instruction, _counter(scene), choose)

    def _put(self, instruction: Instruction, count: Count, choose: Choose) -> Instruction:
        first, last = ((p, count(p) > 1) for p in named(instruction, self._parameters.furniture))
        text, _ = self.grammar.say(visits(first, last), choose)
        return replace(instruction, text=text[0].upper() + text[1:], meant="")


def visit(first: str, last: str) -> Instruction:
    """Return the instruction to visit two places, without words."""
    return Instruction("", FAMILY, ((FIRST, first), (LAST, last)))


def named(instruction: Instruction, furniture: Mapping[str, object]) -> tuple[str, str]:
    """Return the first and the last place of an instruction.

    Args:
        instruction: to visit two places.
        furniture: the models of the task.

    Raises:
        ValueError: it does not name two places of the task.
    """
    places = [instruction.get(FIRST), instruction.get(LAST)]
    for place in places:
        if place not in furniture:
            raise ValueError(f"{instruction.family}: got the places {places}, expected two of {', '.join(furniture)}")
    return str(places[0]), str(places[1])


def _counter(scene: Scene) -> Count:
    return lambda model: sum(o.model == model for o in scene)
