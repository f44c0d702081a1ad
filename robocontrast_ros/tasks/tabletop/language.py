"""Generation and understanding of instructions about things on the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from robocontrast_ros.domain import Instruction, ObjectState, Pose, Scene, SegmentKind
from robocontrast_ros.objects import ObjectModel
from robocontrast_ros.tasks.grammar import Choose, Derivation, change_wording, drawn, keep_wording, means
from robocontrast_ros.tasks.tabletop.grammar import (
    ROLES,
    SENTENCES,
    WORDS,
    features,
    in_role,
    sentence_grammar,
    understood,
    words_of,
)
from robocontrast_ros.tasks.tabletop.parameters import FAMILIES
from robocontrast_ros.tasks.tabletop.referring import APART, Expression, Objects, expressions, nouns, plain, resolve
from robocontrast_ros.tasks.wording import GrammarWording, with_arguments

Conditions = Callable[[str], Iterable[Mapping[str, str]]]
"""Family -> the arguments that its instructions can have, objects by model."""


class TabletopLanguage(GrammarWording):
    """Instructions about things that are referred to by name, category, colour, size and place.

    Attributes:
        arguments: names of the arguments that can be changed.
        alone: a family of instructions with one referent.
    """

    roles = dict.fromkeys(ROLES, SegmentKind.OBJECT)
    arguments = ROLES
    alone = "pick"

    def __init__(self, objects: Objects, conditions: Conditions) -> None:
        self._objects, self._conditions = objects, conditions
        self.grammar = sentence_grammar(objects.values(), SENTENCES, WORDS)
        self._last: tuple[Scene | None, dict[str, list[Expression]]] = None, {}

    def conditions(self) -> Iterator[Instruction]:
        """Enumerate every task condition once, each thing by its usual name and its colour."""
        for family in FAMILIES:
            for arguments in self._conditions(family):
                said = {role: plain(self._objects[model]) for role, model in arguments.items()}
                yield self._said(Instruction("", family, tuple(arguments.items())), said, lambda fitting: fitting[0])

    def realise(
        self, instruction: Instruction, scene: Scene, rng: np.random.Generator, clear: bool = False
    ) -> Instruction:
        """Return the instruction in words: expressions uniform among those that mean one thing alone, then the words.

        Args:
            instruction: its structure.
            scene: in which it is given.
            rng: the only source of randomness.
            clear: whether the words stay clear even if any other things are added.

        Raises:
            ValueError: something cannot be named alone in this scene.
        """
        named = _named(instruction)
        ways = {role: self._ways(name, scene) for role, name in named.items()}
        if clear:
            models = {scene[name].model for name in scene.names}
            others = (ObjectState(model, model, Pose()) for model in self._objects if model not in models)
            every = replace(scene, objects=(*scene.objects, *others))
            # Something larger, or farther left, may always be added.
            ways = {
                role: [e for e in ways[role] if not (e.size or e.place) and e in self._ways(name, every)]
                for role, name in named.items()
            }
            for role, name in named.items():
                if not ways[role]:
                    raise ValueError(f"no words name the {name.replace('_', ' ')} alone whatever is added")
        said = {role: _draw(ways[role], rng) for role in ways}
        return self._said(instruction, said, drawn(rng))

    def parse(self, text: str, scene: Scene, apart: float = APART) -> Instruction:
        """Return the structure of an instruction text in a scene.

        Args:
            text: of the instruction.
            scene: in which it is given.
            apart: least distance that makes a place, such as ``left``, clear [m].

        Raises:
            ValueError: the grammar does not know the text, an expression names nothing or several things, or both name
                the same one.
        """
        derivation = self.grammar.read(text)
        family, said = understood(derivation)
        arguments = {role: self._meant(text, derivation, role, said[role], scene, apart) for role in said}
        if len(set(arguments.values())) < len(arguments):
            name = arguments["target"].replace("_", " ")
            raise ValueError(f"instruction '{text}': both expressions name the {name}; expected two different things")
        return Instruction(text, family, tuple(arguments.items()))

    def premise(self, instruction: Instruction, scene: Scene, apart: float = APART) -> str | None:
        """Return why the words lack their meaning in this scene; None if they have it. Arguments of ``parse``."""
        try:
            found = self.parse(instruction.words, scene, apart)
        except ValueError as error:
            return str(error)
        if found.arguments != instruction.arguments:
            return f"its words mean {dict(found.arguments)} in place of {dict(instruction.arguments)}"
        return None

    def reword(
        self, instruction: Instruction, arguments: Mapping[str, str], scene: Scene, rng: np.random.Generator
    ) -> Instruction:
        """Return the instruction about other things, in the same wording.

        A thing named already keeps its expression, in whatever role; another thing is named in the same way if that
        means it alone, else in a drawn way. The earlier expression is not used for it, although it may mean it now:
        *the one on your left*.

        Raises:
            ValueError: the instruction's words are not of the grammar, or something cannot be named alone.
        """
        before = self.grammar.read(instruction.words)
        changed = with_arguments(instruction, arguments)
        _, spoken = understood(before)
        roles = {name: role for role, name in _named(instruction).items()}
        said, wording = {}, list(before)
        for role, name in _named(changed).items():
            ways, known = self._ways(name, scene), roles.get(name, role)
            kind = spoken[role].kind(self._model(str(instruction.get(role)), scene))
            others = [e for e in ways if e != spoken[role]]
            alike = [e for e in others if e.kind(self._model(name, scene)) == kind]
            if name in roles and spoken[known] in ways:
                said[role] = spoken[known]
            elif others:
                said[role] = _draw(alike or others, rng)
            else:
                raise ValueError(f"only the words of before name the {name.replace('_', ' ')} alone in this scene")
            wording += in_role(before, known, role)
        return self._said(changed, said, keep_wording(wording, (), drawn(rng)))

    def rephrase(self, instruction: Instruction, scene: Scene, rng: np.random.Generator) -> Instruction:
        """Return the instruction with other expressions and other words, if there are any.

        Raises:
            ValueError: the instruction's words are not of the grammar, or something cannot be named alone.
        """
        before = self.grammar.read(instruction.words)
        _, spoken = understood(before)
        said = {}
        for role, name in _named(instruction).items():
            ways = self._ways(name, scene)
            said[role] = _draw([e for e in ways if e != spoken[role]] or ways, rng)
        return self._said(instruction, said, change_wording(before, drawn(rng)))

    def called(self, name: str, scene: Scene) -> Iterator[tuple[str, bool]]:
        """Yield the names that a thing can have, each with whether it means that thing alone.

        Those that do not are without a size and a place: nouns, with and without the colour.
        """
        clear = list(self._expressions(name, scene))
        model = self._model(name, scene)
        short = [Expression(noun, colour) for noun in nouns(model) for colour in dict.fromkeys(("", model.colour))]
        unclear = [e for e in short if len(resolve(e, scene, self._objects)) > 1]
        for expression in (*clear, *unclear):
            said = self.put(self.alone, {"target": expression}, lambda fitting: fitting[0])
            words = next(words for words, rule in self.grammar.parts(said, ("target",)) if rule)
            yield words, expression in clear

    def put(self, family: str, said: Mapping[str, Expression], choose: Choose) -> str:
        """Return the sentence of a family with an expression for each role."""
        text, _ = self.grammar.say(means(features(family, said)), choose)
        return text

    def _said(self, instruction: Instruction, said: Mapping[str, Expression], choose: Choose) -> Instruction:
        return replace(instruction, text=self.put(instruction.family, said, choose), meant="")

    def _ways(self, name: str, scene: Scene) -> list[Expression]:
        # Several things are named, in several ways, in one scene after the other.
        if self._last[0] is not scene:
            self._last = scene, {}
        known = self._last[1]
        if name not in known:
            known[name] = list(self._expressions(name, scene))
        ways = known[name]
        if not ways:
            raise ValueError(f"no words name the {name.replace('_', ' ')} alone in this scene")
        return ways

    def _expressions(self, name: str, scene: Scene) -> Iterator[Expression]:
        """Return the expressions that mean a thing alone in a scene."""
        return expressions(name, scene, self._objects)

    def _referents(self, derivation: Derivation) -> Objects:
        """Return the models of the things that a sentence may mean."""
        return self._objects

    def _model(self, name: str, scene: Scene) -> ObjectModel:
        return self._objects[scene[name].model]

    def _meant(self, text: str, derivation: Derivation, role: str, said: Expression, scene: Scene, apart: float) -> str:
        names = resolve(said, scene, self._referents(derivation), apart)
        if len(names) != 1:
            which = " or ".join(name.replace("_", " ") for name in names)
            found = f"may name the {which}" if names else "names nothing"
            compares = not names and (said.size or said.place)
            hint = "; a size or a place is said to tell several apart" if compares else ""
            words = words_of(derivation, role)
            raise ValueError(f"instruction '{text}': '{words}' {found} in this scene, expected one thing{hint}")
        return names[0]


def _named(instruction: Instruction) -> dict[str, str]:
    """Return role -> name of the thing."""
    return {role: name for role in ROLES if (name := instruction.get(role)) is not None}


def _draw(ways: list[Expression], rng: np.random.Generator) -> Expression:
    return ways[int(rng.integers(len(ways)))]
