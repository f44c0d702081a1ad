"""Templates of tasks: which goal, which words in three variants, which attributes.

Words are expressions of the tabletop's grammar, so that each is known to mean what it should in its scene.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from robocontrast_ros.domain import Scene
from robocontrast_ros.objects import ObjectModel
from robocontrast_ros.tasks.suite.checks import SAID
from robocontrast_ros.tasks.tabletop import shapes
from robocontrast_ros.tasks.tabletop.referring import (
    APART_WHEN_SAID,
    CATEGORY_NOUNS,
    Expression,
    expressions,
    resolve,
)

PLURALS = {
    "fruit": "fruit",
    "vegetable": "vegetables",
    "can": "cans",
    "toy": "toys",
    "ball": "balls",
    "tool": "tools",
    "bottle": "bottles",
    "box": "boxes",
    "cup": "cups",
    "cube": "cubes",
    "brick": "bricks",
    "duck": "ducks",
    "apple": "apples",
    "tomato": "tomatoes",
    "marker": "markers",
    "spoon": "spoons",
}
"""Noun that sets are named by -> plural."""

NUMBERS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five"}

_END = {side: end for end, side in SAID.items()}


@dataclass(frozen=True)
class Draft:
    """A task that is not yet tried.

    Attributes:
        name: of the task within its scene.
        kind: its template, of which a scene has only so many.
        texts: variant -> words.
        words: expression -> all the things that it fits.
        attributes: names of attributes.
        goal: as in a file.
    """

    name: str
    kind: str
    texts: Mapping[str, str]
    words: Mapping[str, list[str]]
    attributes: list[str]
    goal: Mapping[str, Any]


def phrase(said: Expression) -> str:
    """Return an expression's words, without an article."""
    parts = (said.size, said.colour, said.noun, _END.get(said.place, ""))
    return " ".join(part for part in parts if part)


def the(said: Expression) -> str:
    """Return an expression's words with their article."""
    return f"the {phrase(said)}"


class Words:
    """Names the things of a scene."""

    def __init__(self, scene: Scene, models: Mapping[str, ObjectModel]) -> None:
        """Take the scene, and the models of all things."""
        self.scene = scene
        self._models = {name: model for name, model in models.items() if not model.fixed}
        self.things = [o.name for o in scene if o.model in self._models]

    def model(self, name: str) -> ObjectModel:
        """Return the model of a thing."""
        return self._models[self.scene[name].model]

    def ways(self, name: str) -> list[Expression]:
        """Return the expressions that mean a thing alone, those with its own names first, the shortest first."""
        model, places = self.model(name), ("left", "right", "nearest", "farthest")
        found = [e for e in expressions(name, self.scene, self._models, places) if e.noun in model.nouns]
        return sorted(
            found,
            key=lambda e: (bool(e.place) + bool(e.size) + bool(e.colour), bool(e.place), model.nouns.index(e.noun)),
        )

    def specific(self, name: str) -> Expression:
        """Return the expression that says most."""
        return max(self.ways(name), key=lambda e: (bool(e.colour), bool(e.place), bool(e.size)))

    def vague(self, name: str) -> Expression | None:
        """Return an expression by category alone; None if it does not mean the thing alone."""
        model = self.model(name)
        said = Expression(CATEGORY_NOUNS.get(model.category, model.category))
        means = resolve(said, self.scene, self._models, APART_WHEN_SAID) == (name,)
        return said if means and said.noun not in model.nouns else None

    def all_of(self, said: Expression) -> tuple[str, ...]:
        """Return the names of all the things that an expression fits."""
        return resolve(said, self.scene, self._models)


def attributes_of(*said: Expression) -> list[str]:
    """Return the attributes of what expressions say."""
    found = []
    for each in said:
        found += ["color"] * bool(each.colour) + ["size"] * bool(each.size) + ["spatial"] * bool(each.place)
    return found


def drafts(words: Words, rng: Any) -> Iterator[Draft]:
    """Yield tasks of every template that a scene can have; if something has fallen over, they are about that."""
    things = [n for n in words.things if words.ways(n)]
    held = [n for n in things if (m := words.model(n)).cavity is not None and m.size[0] > 0.14]
    flat = [n for n in things if (m := words.model(n)).top is not None and m.category == "plate"]
    small = [
        n for n in things if n not in (*held, *flat) and words.model(n).category not in ("bowl", "plate", "container")
    ]
    fallen = [n for n in small if not shapes.is_upright(words.scene[n].pose)]
    if fallen:
        yield from _uprights(words, fallen, small, held, flat)
        return
    yield from _singles(words, small, held, flat)
    yield from _sized(words, small, held, flat)
    yield from _beside(words, small)
    yield from _sets(words, small, held, flat)
    yield from _sorted(words, small, held)
    yield from _stacks(words, small)
    yield from _out(words, small, held, flat)


def _draft(
    words: Words, name: str, kind: str, texts: tuple[str, str, str], said: Any, more: list[str], goal: Any
) -> Draft:
    """Return a draft; ``said`` are the expressions in the texts, the usual ones first."""
    meant = {phrase(each): list(words.all_of(each)) for each in said}
    attributes = list(dict.fromkeys([*attributes_of(*(e for e in said if phrase(e) in texts[0])), *more]))
    return Draft(name, kind, dict(zip(("default", "vague", "specific"), texts, strict=True)), meant, attributes, goal)


def _singles(words: Words, small: list[str], held: list[str], flat: list[str]) -> Iterator[Draft]:
    for a in small:
        usual, most, least = words.ways(a)[0], words.specific(a), words.vague(a) or words.ways(a)[-1]
        semantic = ["semantics"] if usual.noun in PLURALS or words.vague(a) else []
        if phrase(most) != phrase(usual):
            texts = (
                f"pick up {the(usual)}",
                f"take {the(least)}",
                f"pick up {the(most)} and hold it in the air",
            )
            yield _draft(
                words,
                f"pick_{a}",
                "pick",
                texts,
                (usual, most, least),
                semantic,
                {"picked_up": [a]},
            )
        places = (*((h, "in", "in") for h in held if _goes_in(words, a)), *((f, "on_top_of", "on") for f in flat))
        for place, key, prep in places:
            there, best = words.ways(place)[0], words.specific(place)
            texts = (
                f"put {the(usual)} {prep} {the(there)}",
                f"put {the(least)} {_away(prep, place, held, flat, words)}",
                f"pick up {the(most)} and put it {prep} {the(best)}",
            )
            said = (usual, there, most, best, least)
            yield _draft(words, f"{a}_{prep}_{place}", f"put_{prep}", texts, said, semantic, {key: [a, place]})


def _sized(words: Words, small: list[str], held: list[str], flat: list[str]) -> Iterator[Draft]:
    for a, place in itertools.product(small, held):
        sized = [e for e in words.ways(a) if e.size and not e.place]
        if sized and _goes_in(words, a):
            usual, there, best = sized[0], words.ways(place)[0], words.specific(place)
            texts = (
                f"put {the(usual)} in {the(there)}",
                f"put {the(usual)} {_away('in', place, held, flat, words)}",
                f"look which of the things is the {phrase(usual)}, pick it up and put it in {the(best)}",
            )
            yield _draft(
                words,
                f"{_slug(phrase(usual))}_in_{place}",
                "sized",
                texts,
                (usual, there, best),
                [],
                {"in": [a, place]},
            )
            for b in small:
                if b != a:
                    other = words.ways(b)[0]
                    texts = (
                        f"put {the(usual)} next to {the(other)}",
                        f"put {the(usual)} beside {the(other)}",
                        f"look which of the things is the {phrase(usual)}, pick it up and put it near {the(other)}",
                    )
                    name = f"{_slug(phrase(usual))}_next_to_{b}"
                    yield _draft(words, name, "sized_beside", texts, (usual, other), ["spatial"], {"next_to": [a, b]})


def _beside(words: Words, small: list[str]) -> Iterator[Draft]:
    ways = {
        "left_of": ("to the left of", "left of", "on the left side of"),
        "right_of": ("to the right of", "right of", "on the right side of"),
        "in_front_of": ("in front of", "before", "on your side of"),
        "behind": ("behind", "beyond", "on the far side of"),
        "next_to": ("next to", "near", "close beside"),
    }
    for a, b in itertools.permutations(small, 2):
        one, other = words.ways(a)[0], words.ways(b)[0]
        best, beyond = words.specific(a), words.specific(b)
        for key, (usual, short, long) in ways.items():
            texts = (
                f"put {the(one)} {usual} {the(other)}",
                f"{phrase(one)} {short} {the(other)}",
                f"pick up {the(best)} and put it down {long} {the(beyond)}",
            )
            said = (one, other, best, beyond)
            yield _draft(words, f"{a}_{key}_{b}", f"beside_{key}", texts, said, ["spatial"], {key: [a, b]})


def _sets(words: Words, small: list[str], held: list[str], flat: list[str]) -> Iterator[Draft]:
    nouns = dict.fromkeys(noun for a in small for noun in (*words.model(a).nouns, words.model(a).category))
    kinds = [Expression(noun) for noun in nouns if noun in PLURALS]
    kinds += [Expression("object", colour) for colour in dict.fromkeys(words.model(a).colour for a in small) if colour]
    for place in held:
        there, best = words.ways(place)[0], words.specific(place)
        away = _away("in", place, held, flat, words)
        for kind in kinds:
            group = [name for name in words.all_of(kind) if name in small]
            if len(group) < 2 or len(group) != len(words.all_of(kind)) or not all(_goes_in(words, a) for a in group):
                continue
            many = f"{kind.colour} objects" if kind.colour else PLURALS[kind.noun]
            every = {"all": [{"in": [a, place]} for a in group]}
            if len({words.model(a).category for a in group}) > 1 or kind.colour:
                attribute = "color" if kind.colour else "semantics"
            else:
                attribute = "semantics"
            number = NUMBERS.get(len(group), "all")
            texts = (
                f"put all the {many} in {the(there)}",
                f"put the {many} {away}",
                f"pick up the {number} {many} one after the other and put each of them in {the(best)}",
            )
            more = [attribute, *(["sorting"] if len(group) > 2 else [])]
            yield _draft(
                words, f"all_{_slug(many)}_in_{place}", f"all_{len(group)}", texts, (kind, there, best), more, every
            )
            for count in range(1, len(group)):
                some = {"choose": count, "of": every["all"]}
                texts = (
                    f"put {NUMBERS[count]} of the {many} in {the(there)}",
                    f"put {NUMBERS[count]} of the {many} {away}",
                    f"put exactly {NUMBERS[count]} of the {number} {many}, no matter which, in {the(best)}",
                )
                more = [attribute, "counting"]
                yield _draft(
                    words, f"{count}_{_slug(many)}_in_{place}", f"count_{count}", texts, (kind, there, best), more, some
                )
            either = {"any": every["all"]}
            texts = (
                f"put one or more of the {many} in {the(there)}",
                f"put some of the {many} {away}",
                f"put at least one of the {number} {many} in {the(best)}",
            )
            yield _draft(words, f"any_{_slug(many)}_in_{place}", "any", texts, (kind, there, best), [attribute], either)
        for a, b in itertools.combinations([a for a in small if _goes_in(words, a)], 2):
            both = [words.ways(a)[0], words.ways(b)[0]]
            long = [words.specific(a), words.specific(b)]
            texts = (
                f"put {the(both[0])} and {the(both[1])} in {the(there)}",
                f"put {the(both[0])} and {the(both[1])} {away}",
                f"pick up {the(long[0])}, put it in {the(best)}, then do the same with {the(long[1])}",
            )
            said = (*both, there, *long, best)
            goal = {"all": [{"in": [a, place]}, {"in": [b, place]}]}
            yield _draft(words, f"{a}_and_{b}_in_{place}", "both", texts, said, ["conjunction"], goal)
            texts = (
                f"first put {the(both[0])} and then {the(both[1])} in {the(there)}",
                f"put {the(both[0])} and after it {the(both[1])} {away}",
                f"put {the(long[0])} in {the(best)} first; only after that put {the(long[1])} there",
            )
            yield _draft(
                words, f"{a}_then_{b}_in_{place}", "order", texts, said, ["conjunction"], {"sequence": goal["all"]}
            )


def _sorted(words: Words, small: list[str], held: list[str]) -> Iterator[Draft]:
    kinds = [Expression(noun) for noun in PLURALS]
    kinds += [Expression("object", colour) for colour in dict.fromkeys(words.model(a).colour for a in small) if colour]
    groups = {}
    for kind in kinds:
        group = words.all_of(kind)
        if group and all(name in small and _goes_in(words, name) for name in group) and len(group) < 4:
            groups[kind] = list(group)
    for (one, first), (two, second) in itertools.permutations(groups.items(), 2):
        if set(first) & set(second) or len(first) + len(second) < 2 or bool(one.colour) != bool(two.colour):
            continue
        for here, there in itertools.combinations(held, 2):
            many = [f"{k.colour} objects" if k.colour else PLURALS[k.noun] for k in (one, two)]
            places = [words.ways(here)[0], words.ways(there)[0]]
            best = [words.specific(here), words.specific(there)]
            texts = (
                f"sort the table: the {many[0]} in {the(places[0])}, the {many[1]} in {the(places[1])}",
                f"{many[0]}: {phrase(places[0])}, {many[1]}: {phrase(places[1])}",
                f"put every one of the {many[0]} in {the(best[0])} and every one of the {many[1]} in {the(best[1])}",
            )
            goal = {"all": [*({"in": [a, here]} for a in first), *({"in": [a, there]} for a in second)]}
            more = ["color" if one.colour else "semantics", "sorting"]
            name = f"sort_{_slug(many[0])}_and_{_slug(many[1])}"
            kind = f"sort_{len(first) + len(second)}"
            yield _draft(words, name, kind, texts, (one, two, *places, *best), more, goal)


def _stacks(words: Words, small: list[str]) -> Iterator[Draft]:
    blocks = [a for a in small if words.model(a).type == "cube"]
    for count in (2, 3, 4):
        for chosen in itertools.permutations(blocks, count):
            usual, long = [words.ways(a)[0] for a in chosen], [words.specific(a) for a in chosen]
            steps = [{"on_top_of": [upper, lower]} for lower, upper in itertools.pairwise(chosen)]
            if count == 2:
                texts = (
                    f"stack {the(usual[1])} on {the(usual[0])}",
                    f"{phrase(usual[1])} on top of {the(usual[0])}",
                    f"pick up {the(long[1])} and put it on top of {the(long[0])}",
                )
            else:
                listed = [", ".join(phrase(each) for each in names) for names in (usual, long)]
                texts = (
                    f"build a tower, from the bottom to the top: {listed[0]}",
                    f"tower: {listed[0]}",
                    f"stack these on each other, the first at the bottom and the last on top: {listed[1]}",
                )
            goal = steps[0] if count == 2 else {"sequence": steps}
            yield _draft(
                words, f"tower_{'_'.join(chosen)}", f"tower_{count}", texts, (*usual, *long), ["stacking"], goal
            )


def _out(words: Words, small: list[str], held: list[str], flat: list[str]) -> Iterator[Draft]:
    for place in (*held, *flat):
        inside = [a for a in small if words.scene[a].pose.position[2] > 0.002 and _over(words, a, place)]
        there, best = words.ways(place)[0], words.specific(place)
        prep, where = ("out of", "in") if place in held else ("off", "on")
        for a in inside:
            usual, long = words.ways(a)[0], words.specific(a)
            texts = (
                f"take {the(usual)} {prep} {the(there)}",
                f"{phrase(usual)} {prep} {the(there)}",
                f"pick up {the(long)}, which is {where} {the(best)}, and put it down on the table",
            )
            said = (usual, there, long, best)
            yield _draft(
                words, f"{a}_{_slug(prep)}_{place}", "out", texts, said, ["spatial"], {"outside_of": [a, place]}
            )
        if len(inside) > 1:
            texts = (
                f"empty {the(there)}",
                f"everything {prep} {the(there)}",
                f"take everything {prep} {the(best)} and put it down on the table beside it",
            )
            goal = {"all": [{"outside_of": [a, place]} for a in inside]}
            said = (there, best, *(words.ways(a)[0] for a in inside))
            named = " and the ".join(phrase(words.ways(a)[0]) for a in inside)
            texts = (texts[0], texts[1], f"{texts[2]}: the {named}")
            yield _draft(words, f"empty_{place}", "empty", texts, said, ["spatial"], goal)


def _uprights(words: Words, fallen: list[str], small: list[str], held: list[str], flat: list[str]) -> Iterator[Draft]:
    for a in fallen:
        usual, most, least = words.ways(a)[0], words.specific(a), words.vague(a) or words.ways(a)[-1]
        texts = (
            f"set {the(usual)} upright",
            f"{the(least)} has fallen over",
            f"pick up {the(most)}, which lies on its side, and set it upright on the table",
        )
        yield _draft(words, f"upright_{a}", "upright", texts, (usual, most, least), ["reorientation"], {"upright": [a]})
        standing = [n for n in small if n not in fallen]
        places = [*((h, "in", "in") for h in held if _goes_in(words, a)), *((f, "on_top_of", "on") for f in flat)]
        for place, key, prep in places or [(n, "next_to", "next to") for n in standing]:
            there, best = words.ways(place)[0], words.specific(place)
            texts = (
                f"set {the(usual)} upright, then put it {prep} {the(there)}",
                f"{the(least)} has fallen over; stand it {prep} {the(there)}",
                f"pick up {the(most)}, set it upright on the table, let go of it, then put it {prep} {the(best)}",
            )
            more = ["conjunction", *(["spatial"] if key == "next_to" else []), "reorientation"]
            goal = {"sequence": [{"upright": [a]}, {key: [a, place]}]}
            said = (usual, there, most, best, least)
            yield _draft(
                words, f"upright_{a}_{prep.replace(' ', '_')}_{place}", "upright_then", texts, said, more, goal
            )
    for a, b in itertools.combinations(fallen, 2):
        usual, long = [words.ways(n)[0] for n in (a, b)], [words.specific(n) for n in (a, b)]
        texts = (
            f"set {the(usual[0])} and {the(usual[1])} upright",
            f"{the(usual[0])} and {the(usual[1])} have fallen over",
            f"pick up {the(long[0])}, which lies on its side, set it upright, then do the same with {the(long[1])}",
        )
        more, goal = ["conjunction", "reorientation"], {"all": [{"upright": [a]}, {"upright": [b]}]}
        yield _draft(words, f"upright_{a}_and_{b}", "upright_both", texts, (*usual, *long), more, goal)


def _goes_in(words: Words, name: str) -> bool:
    """Return whether a thing is put into others: what is hollow itself is not."""
    return words.model(name).cavity is None


def _over(words: Words, a: str, place: str) -> bool:
    (x, y), (u, v) = words.scene[a].pose.xy, words.scene[place].pose.xy
    return (x - u) ** 2 + (y - v) ** 2 < (max(words.model(place).size[:2]) / 2) ** 2


def _away(prep: str, place: str, held: list[str], flat: list[str], words: Words) -> str:
    """Return the place in few words: *away* if there is but one."""
    return "away" if len(held) + len(flat) == 1 else f"{prep} the {words.ways(place)[0].noun}"


def _slug(text: str) -> str:
    return text.replace(" ", "_")
