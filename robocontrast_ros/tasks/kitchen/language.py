"""Generation and understanding of instructions in the kitchen: those of the tabletop, and those about joints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from robocontrast_ros.domain import Instruction, Scene
from robocontrast_ros.tasks.grammar import Derivation, first
from robocontrast_ros.tasks.kitchen.library import BACKGROUND, Things
from robocontrast_ros.tasks.kitchen.parameters import FAMILIES
from robocontrast_ros.tasks.kitchen.predicates import STATES
from robocontrast_ros.tasks.tabletop.grammar import SENTENCES, WORDS, sentence_grammar, understood
from robocontrast_ros.tasks.tabletop.language import TabletopLanguage
from robocontrast_ros.tasks.tabletop.referring import MIDDLE, PLACES, Expression, Objects, expressions

_SENTENCES = {
    "open": ("open {target}", "pull {target} open"),
    "close": ("close {target}", "shut {target}", "push {target} shut"),
    "turn_on": ("turn on {target}", "turn {target} on", "switch on {target}", "switch {target} on"),
    "turn_off": ("turn off {target}", "turn {target} off", "switch off {target}", "switch {target} off"),
    "put_left": ("{put_verb} {target} to the left of {reference}", "{put_verb} {target} on the left of {reference}"),
    "put_right": ("{put_verb} {target} to the right of {reference}", "{put_verb} {target} on the right of {reference}"),
    **{family: SENTENCES[family] for family in ("stack", "put_on", "put_in")},
}

_KITCHEN_PLACES = (*PLACES, MIDDLE)


class KitchenLanguage(TabletopLanguage):
    """Instructions about things, and about the parts of things that move on joints.

    *The microwave* is its door for who is told to open it, and the whole for who is told to put something into it.
    """

    alone = "open"

    def __init__(self, things: Things, conditions: Iterable[Instruction]) -> None:
        """Take the things, and the conditions, which have names in their own scenes.

        Args:
            things: the things of the kitchen.
            conditions: an instruction for each task condition, in words.
        """
        # Whatever is not the background has a name.
        named = {
            name: replace(model, fixed=False)
            for name, model in things.models.items()
            if model.category not in BACKGROUND
        }
        super().__init__(named, lambda family: ())
        self._fixed = {name for name, model in things.models.items() if model.fixed}
        self.grammar = sentence_grammar(named.values(), _SENTENCES, WORDS, _KITCHEN_PLACES)
        # Several scenes have the same condition.
        known = {(said.family, said.arguments): said for said in conditions}
        self._conditions_in_words = tuple(known.values())
        self._joints = {name: model for name, model in named.items() if name in things.parts}
        self._places = {name: m for name, m in named.items() if name not in things.parts or m.cavity is not None}

    def conditions(self) -> Iterator[Instruction]:
        """Enumerate every task condition once."""
        return iter(self._conditions_in_words)

    def plainly(self, instruction: Instruction, scene: Scene) -> Instruction:
        """Return an instruction in the usual words: each thing by its first expression that means it alone.

        Raises:
            ValueError: something cannot be named alone in this scene.
        """
        said = {role: self._ways(name, scene)[0] for role, name in instruction.arguments}
        return self._said(instruction, said, first)

    def _expressions(self, name: str, scene: Scene) -> Iterator[Expression]:
        model = scene[name].model
        among = self._joints if model in self._joints else self._places
        if model in self._joints and model in self._places:
            among = self._objects
        # Nobody asks for a drawer as a piece of furniture.
        own = self._objects[model].nouns if model in self._fixed else ()
        return (said for said in expressions(name, scene, among, _KITCHEN_PLACES) if not own or said.noun in own)

    def _referents(self, derivation: Derivation) -> Objects:
        family, _ = understood(derivation)
        return self._joints if FAMILIES[family] in STATES else self._places
