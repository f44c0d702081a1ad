"""Perturbations of the instruction, for every task whose words can be taken apart (seed 004, section III).

The scene and the expected behaviour stay those of the test instance, so each trial has its exact twin: the base trial.
Some texts mean the same, others mean nothing: a policy that still succeeds does not act on its instruction.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from pydantic import Field

from robocontrast_ros.configuration import record
from robocontrast_ros.domain import (
    Aspect,
    Expectation,
    Instruction,
    NotApplicable,
    Perturbed,
    Scene,
    Segment,
    SegmentKind,
    TestInstance,
    plain_text,
)
from robocontrast_ros.perturbations.protocol import NamedPerturbation
from robocontrast_ros.perturbations.tokens import Tokens
from robocontrast_ros.tasks.protocol import Answer, Infeasible, Task

ELSEWHERE = "what is told and shown is perturbed in the scene of the test instance itself, as its twin has it"

Segments = tuple[Segment, ...]

_WORD = re.compile(r"[^\s,.;:!]+")
"""Marks are no words: one directly after a referring word must not become a part of that word."""

_TOLD = (Aspect.WORDS, Aspect.REFERENTS, Aspect.LETTERS, Aspect.CASE, Aspect.MARKS)

OTHER_CONDITIONS = 100
"""Number of task conditions that are tried for an instruction that asks for something else."""


@dataclass(frozen=True)
class Asked:
    """An instance whose instruction is changed.

    Attributes:
        task: its task.
        base: the instance.
        rng: the only source of randomness.
    """

    task: Task
    base: TestInstance
    rng: np.random.Generator

    @property
    def said(self) -> Instruction:
        """The instruction."""
        return self.base.instruction


class _OfInstruction(NamedPerturbation):
    """Base: the instance with another instruction, in its own scene."""

    axes, elsewhere = "L", ELSEWHERE
    acts_on = (Aspect.WORDS, Aspect.REFERENTS)

    def supports(self, task: Task) -> bool:
        """Return whether the task's words can be taken apart."""
        return task.wording is not None

    def changed(self, task: Task, base: TestInstance, scene: Scene, rng: np.random.Generator) -> Answer:
        """Give the policy another instruction."""
        said = base.instruction
        try:
            told = self._told(Asked(task, base, rng))
        except ValueError as error:
            return NotApplicable(str(error))
        if told.text == said.text and told.pictured == said.pictured:
            return NotApplicable(f"'{told.text}' stays as it is")
        return Perturbed(replace(base, instruction=told), self._note(said, told))

    def _told(self, asked: Asked) -> Instruction:
        """Return the instruction in place of the instance's.

        Raises:
            ValueError: why there is none.
        """
        raise NotImplementedError

    def _note(self, said: Instruction, told: Instruction) -> str:
        """Return the change in words."""
        return f"'{said.text}' became '{told.text}'"


class _Reworded(_OfInstruction):
    """Base: other words for everything but the referents, by the task's own sentences (seed 004, section III)."""

    plausible, expectation = True, Expectation.KEEPS_SUCCESS
    acts_on = (Aspect.WORDS,)

    def _text(self, asked: Asked) -> str:
        """Return the words.

        Raises:
            ValueError: why there are none.
        """
        raise NotImplementedError

    def _told(self, asked: Asked) -> Instruction:
        text = self._text(asked)
        found = asked.task.language.parse(text, asked.base.scene)
        if (found.family, found.arguments) != (asked.said.family, asked.said.arguments):
            raise ValueError(f"'{text}' is understood as {dict(found.arguments)}")
        told = replace(asked.said, text=text, segments=(), meant="")
        return replace(told, segments=asked.task.wording.segments(told))


class Paraphrase(_Reworded):
    """A sentence that is drawn."""

    name, symbol = "paraphrase", "ΔL paraphrase"
    description = "say it with another verb, preposition and sentence, and the same referring words"

    def _text(self, asked: Asked) -> str:
        return asked.task.wording.paraphrase(asked.said, asked.rng)


class Original(_Reworded):
    """The sentence of training without paraphrases: one for all sentences of its meaning."""

    name, symbol = "original", "ΔL original"
    description = "say it in the one sentence that training without paraphrases uses, with the same referring words"

    def _text(self, asked: Asked) -> str:
        return asked.task.wording.original(asked.said)


class _OfSegments(_OfInstruction):
    """Base: the segments of the instruction are changed.

    Attributes:
        keeps_meaning: whether the task still understands the text.
    """

    keeps_meaning: ClassVar[bool] = False

    def _told(self, asked: Asked) -> Instruction:
        said = asked.said
        # What another perturbation made of the words may be no sentence of the grammar any more.
        segments = self._changed(asked, said.segments or asked.task.wording.segments(said))
        meant = said.meant if self.keeps_meaning else said.words
        return replace(asked.said, text=plain_text(segments), segments=segments, meant=meant)

    def _changed(self, asked: Asked, segments: Segments) -> Segments:
        """Return other segments.

        Raises:
            ValueError: why there are none.
        """
        raise NotImplementedError


class Pictures(_OfSegments):
    """A picture of each thing in place of its words, if the task can draw it; the other words stay."""

    name, symbol = "pictures", "ΔL pictures"
    description = "show the things in pictures in place of their descriptors"
    acts_on = (Aspect.REFERENTS,)
    plausible, expectation = True, Expectation.KEEPS_SUCCESS
    keeps_meaning = True

    def supports(self, task: Task) -> bool:
        """Return whether the task can also draw the referents of its words."""
        return super().supports(task) and task.portraits is not None

    def _changed(self, asked: Asked, segments: Segments) -> Segments:
        # It imports MuJoCo, which a list of the perturbations does not need.
        from robocontrast_ros.images.rendering import RenderingUnavailable

        try:
            changed = tuple(
                replace(segment, crop=asked.task.portraits.portrait(segment.entity, asked.base.scene))
                if segment.refers
                else segment
                for segment in segments
            )
        except RenderingUnavailable as error:
            raise ValueError(str(error)) from None
        if changed == segments:
            raise ValueError(f"nothing that '{asked.said.text}' names can be drawn")
        return changed

    def _note(self, said: Instruction, told: Instruction) -> str:
        shown = ", ".join(f"'{segment.text}'" for segment in told.segments if segment.crop is not None)
        return f"'{said.text}' has pictures in place of {shown}"


class _Redescribed(_OfSegments):
    """Base: one of the referents has another descriptor.

    Attributes:
        clear: whether the descriptor fits only this thing.
    """

    acts_on = (Aspect.REFERENTS,)
    clear: ClassVar[bool]

    def _changed(self, asked: Asked, segments: Segments) -> Segments:
        referents = [index for index, segment in enumerate(segments) if segment.refers]
        for index in asked.rng.permutation(referents):
            segment = segments[index]
            said = len(segment.text.split())
            found = [
                words
                for words, clear in asked.task.wording.descriptors(segment, asked.base.scene)
                if clear == self.clear and (not clear or len(words.split()) > said)
            ]
            if found:
                words = found[int(asked.rng.integers(len(found)))]
                return (*segments[:index], replace(segment, text=words), *segments[index + 1 :])
        what = "says more and means one thing" if self.clear else "may mean several things"
        raise ValueError(f"no descriptor of '{asked.said.text}' {what} in this scene")


class Specific(_Redescribed):
    """A longer descriptor, such as one with the colour."""

    name, symbol = "specific", "ΔL specific"
    description = "name one of the things by a longer descriptor than is needed"
    plausible, expectation = True, Expectation.KEEPS_SUCCESS
    keeps_meaning, clear = True, True


class Vague(_Redescribed):
    """A descriptor that several things fit."""

    name, symbol = "vague", "ΔL vague"
    description = "name one of the things by a descriptor that several things fit"
    plausible, expectation = True, Expectation.UNKNOWN
    clear = False


@record
class VariantParameters:
    """Parameters of other words in a session."""

    words: str = Field(default="vague", min_length=1, description="name of the variant that is said")


class Variant(_OfInstruction):
    """The words of a problem in another of its variants (seed 002); the goal stays."""

    parameters = VariantParameters
    plausible, expectation = True, Expectation.KEEPS_SUCCESS

    def __init__(self, parameters: VariantParameters | None = None) -> None:
        """Take the session's parameters; the defaults without them."""
        self._words = words = (parameters or VariantParameters()).words
        self.name, self.symbol = self.name_of(words), f"ΔL variant {words}"
        self.description = f"say the task in its {words} words, as they are written down"

    @staticmethod
    def name_of(words: str) -> str:
        """Return the name of the perturbation to a variant."""
        return f"variant_{words}"

    def supports(self, task: Task) -> bool:
        """Return whether the task has problems with words in variants.

        Raises:
            ValueError: it has, but none of this name; the text names the expected ones.
        """
        if not task.profiles:
            return False
        usual, *others = next(iter(task.profiles.values())).texts
        if self._words not in others:
            raise ValueError(f"words of another variant than '{usual}', which instances have: {', '.join(others)}")
        return True

    def _told(self, asked: Asked) -> Instruction:
        profile = asked.task.profiles.get(asked.base.problem)
        if profile is None:
            raise ValueError(f"'{asked.said.text}' is of no problem with words in variants")
        return replace(asked.said, text=profile.texts[self._words], segments=(), meant="")


@record
class TypoParameters:
    """Parameters of typing errors in a session."""

    count: int = Field(default=2, ge=1, le=20, description="how many")


class Typos(_OfSegments):
    """Typing errors in words of four letters or more; the first letter stays."""

    acts_on, erases = (Aspect.LETTERS,), ()
    parameters = TypoParameters
    plausible, expectation = True, Expectation.KEEPS_SUCCESS

    def __init__(self, parameters: TypoParameters | None = None) -> None:
        """Take the session's parameters; the defaults without them."""
        self._count = (parameters or TypoParameters()).count
        self.name, self.symbol = f"typos_{self._count}", f"ΔL typos{self._count}"
        self.description = f"make {self._count} typing errors"

    def _changed(self, asked: Asked, segments: Segments) -> Segments:
        texts = [segment.text for segment in segments]
        places = [
            (part, match.start(), match.end())
            for part, text in enumerate(texts)
            if segments[part].visible and segments[part].crop is None
            for match in re.finditer(r"[A-Za-z]{4,}", text)
        ]
        if len(places) < self._count:
            raise ValueError(f"'{asked.said.text}' has {len(places)} words of four letters or more")
        chosen = sorted(asked.rng.choice(len(places), self._count, replace=False).tolist(), reverse=True)
        for part, start, end in (places[index] for index in chosen):
            texts[part] = texts[part][:start] + _mistyped(texts[part][start:end], asked.rng) + texts[part][end:]
        return tuple(replace(segment, text=text) for segment, text in zip(segments, texts, strict=True))


class _Styled(_OfSegments):
    """Base of changes that mean nothing."""

    acts_on = (Aspect.CASE,)
    plausible, expectation = True, Expectation.KEEPS_SUCCESS
    keeps_meaning = True
    style: ClassVar[Callable[[str], str]]

    def _changed(self, asked: Asked, segments: Segments) -> Segments:
        return tuple(replace(segment, text=type(self).style(segment.text)) for segment in segments)


class UpperCase(_Styled):
    """All letters large."""

    name, symbol, description = "upper_case", "ΔL upper", "say it in capital letters"
    style = str.upper


class LowerCase(_Styled):
    """All letters small."""

    name, symbol, description = "lower_case", "ΔL lower", "say it in small letters"
    style = str.lower


class FullStop(_OfSegments):
    """A full stop added at the end, or removed if there is one."""

    name, symbol, description = "full_stop", "ΔL stop", "end with a full stop, or without it where there is one"
    acts_on = (Aspect.MARKS,)
    plausible, expectation = True, Expectation.KEEPS_SUCCESS
    keeps_meaning = True

    def _changed(self, asked: Asked, segments: Segments) -> Segments:
        last = segments[-1]
        if last.visible and last.text.endswith("."):
            return (*segments[:-1], replace(last, text=last.text[:-1]))
        return (*segments, Segment(SegmentKind.TEXT, "."))


class GobbledygookWords(_OfSegments):
    """Random letters, as many words and of the same lengths in another order; referents stay in place."""

    name, symbol = "gobbledygook_words", "ΔL GW"
    acts_on = (Aspect.WORDS,)
    description = "random letters in place of all words but the referents"
    plausible, expectation = False, Expectation.SHOULD_FAIL

    def _changed(self, asked: Asked, segments: Segments) -> Segments:
        letters = string.ascii_letters
        words = ["".join(letters[i] for i in asked.rng.integers(len(letters), size=len(w))) for w in _words(segments)]
        return _with_words(segments, [words[i] for i in asked.rng.permutation(len(words))])


@record
class TokenParameters:
    """Parameters of a tokenizer in a session."""

    tokenizer: str = Field(
        default="", description="tokenizer.json of the policy's tokenizer; empty for that of all-MiniLM-L6-v2"
    )


class GobbledygookTokens(_OfSegments):
    """As many random tokens, none of them of the instruction, in another order; referents stay in place."""

    name, symbol = "gobbledygook_tokens", "ΔL GT"
    acts_on = (Aspect.WORDS,)
    description = "as many random tokens in place of all words but the referents"
    parameters = TokenParameters
    plausible, expectation = False, Expectation.SHOULD_FAIL

    def __init__(self, parameters: TokenParameters | None = None) -> None:
        """Take the session's parameters; the defaults without them.

        Raises:
            ConfigurationError: the tokenizer's file cannot be read.
        """
        self._file = (parameters or TokenParameters()).tokenizer
        self._tokens = Tokens(self._file) if self._file else None

    def _changed(self, asked: Asked, segments: Segments) -> Segments:
        # Loaded when it is needed: a list of perturbations needs no tokenizer.
        self._tokens = tokens = self._tokens or Tokens()
        before = tokens.of(asked.said.text)
        words = [tokens.meaningless(word, set(before), asked.rng) for word in _words(segments)]
        if None in words:
            raise ValueError(f"no tokens were found in place of those of '{asked.said.text}'")
        changed = _with_words(segments, [words[i] for i in asked.rng.permutation(len(words))])
        after = tokens.of(plain_text(changed))
        if len(after) != len(before):
            raise ValueError(f"'{plain_text(changed)}' has {len(after)} tokens in place of {len(before)}")
        return changed


class _Masked(_OfSegments):
    """Base: some segments are masked.

    Attributes:
        masks: whether a segment is one of them.
    """

    plausible, expectation = False, Expectation.SHOULD_FAIL
    masks: ClassVar[Callable[[Segment], bool]]

    def _changed(self, asked: Asked, segments: Segments) -> Segments:
        masks = type(self).masks
        return tuple(replace(segment, visible=segment.visible and not masks(segment)) for segment in segments)


class MaskWords(_Masked):
    """The policy gets only the referents."""

    name, symbol, description = "mask_words", "ΔL no words", "tell nothing but the referents"
    acts_on = (Aspect.WORDS,)
    masks = staticmethod(lambda segment: not segment.refers)


class MaskReferents(_Masked):
    """The policy gets only the words between the referents."""

    name, symbol, description = "mask_referents", "ΔL no referents", "tell nothing of the referents"
    acts_on = (Aspect.REFERENTS,)
    masks = staticmethod(lambda segment: segment.refers)


class MaskAll(_Masked):
    """The policy gets no words."""

    name, symbol, description = "mask_all", "ΔL nothing", "tell nothing"
    erases = (*_TOLD, Aspect.MEANING)
    masks = staticmethod(lambda segment: True)


class WrongInstruction(_OfInstruction):
    """Another instruction of the task, which asks for something else: chance, measured."""

    name, symbol = "wrong_instruction", "ΔL wrong"
    description = "give another instruction, and expect what the first one asks for"
    plausible, expectation = False, Expectation.SHOULD_FAIL

    def _told(self, asked: Asked) -> Instruction:
        task, said, scene = asked.task, asked.said, asked.base.scene
        if task.neighbourhood is not None:
            # Such a task may have more conditions than can be tried, few of which are about things in the scene.
            other = task.neighbourhood.redirect(asked.base, scene, asked.rng)
            if isinstance(other, NotApplicable):
                raise ValueError(other.reason)
            return _instead(asked, other.instance.instruction)
        goal = task.goals.goal(said, scene)
        conditions = list(task.language.conditions())
        for index in asked.rng.permutation(len(conditions))[:OTHER_CONDITIONS]:
            other = conditions[index]
            if (other.family, other.arguments) == (said.family, said.arguments):
                continue
            try:
                told = task.language.realise(other, scene, asked.rng)
            except (ValueError, KeyError):  # it names things that are not in this scene
                continue
            plan = task.planner.plan(told, scene)
            if isinstance(plan, Infeasible) or goal.satisfied(plan.final_scene):
                continue
            return _instead(asked, told)
        raise ValueError(f"no other instruction was found for the scene of '{said.text}'")


def _instead(asked: Asked, told: Instruction) -> Instruction:
    """Return the instruction with the words of another one."""
    return replace(asked.said, text=told.text, segments=asked.task.wording.segments(told), meant=asked.said.words)


def _words(segments: Iterable[Segment]) -> list[str]:
    return [word for segment in segments if not segment.refers for word in _WORD.findall(segment.text)]


def _with_words(segments: Iterable[Segment], words: Iterable[str]) -> Segments:
    """Return the segments with other words in place of those without a referent; blanks and marks stay."""
    left = iter(words)
    return tuple(
        segment if segment.refers else replace(segment, text=_WORD.sub(lambda match: next(left), segment.text))
        for segment in segments
    )


def _mistyped(word: str, rng: np.random.Generator) -> str:
    """Return a word with two letters swapped, one left out, one twice, or another in its place."""
    at = int(rng.integers(1, len(word) - 1))
    other = string.ascii_lowercase[rng.integers(len(string.ascii_lowercase))]
    ways = (
        word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        word[:at] + word[at + 1 :],
        word[:at] + word[at] + word[at:],
        word[:at] + other + word[at + 1 :],
    )
    changed = [way for way in ways if way != word]
    return changed[int(rng.integers(len(changed)))]
